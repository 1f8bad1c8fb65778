"""The user's line: the innermost frame of the call stack that is not graphad's own."""

from __future__ import annotations

import os
import sys
import warnings
import weakref
from types import CodeType, FrameType

_OWN = tuple(
    os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), name) + os.sep
    for name in ("graphad", "serialization")
)
_OWN_FILES: dict[str, bool] = {}
_NOTES = 5


def is_own(filename: str) -> bool:
    """Whether a source file belongs to graphad."""
    known = _OWN_FILES.get(filename)
    if known is None:
        known = _OWN_FILES[filename] = filename.startswith(_OWN) or filename.startswith("<graphad")
    return known


def user_line() -> str | None:
    """Where the user's code called graphad, as "file:line in function"."""
    frame: FrameType | None = sys._getframe(1)
    known = _OWN_FILES
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if not (
            known[file] if file in known else is_own(file)
        ):  # asked for every frame of every op that is traced
            return f"{code.co_filename}:{frame.f_lineno} in {code.co_name}"
        frame = frame.f_back
    return None


def warn_user(message: str) -> None:
    """Warn, with the user's line as the place."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    warnings.warn(message, stacklevel=level)


def note_user_line(error: Exception, name: str, otherwise: str = "an unknown place") -> None:
    """Note on an error where in a traced function it came up; each function around it adds where it was called.

    Args:
      error: The error, while it is handled.
      name: What was being traced.
      otherwise: Said where no line of the user's is on the way.
    """
    notes = [note for note in getattr(error, "__notes__", ()) if "while tracing" in note]
    if len(notes) >= _NOTES:
        return
    lines = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_own(code.co_filename):
            lines.append(f"{code.co_filename}:{trace.tb_lineno} in {code.co_name}")
        trace = trace.tb_next
    where = (lines[0] if notes else lines[-1]) if lines else otherwise
    error.add_note(f"{'called from' if notes else 'in user code:'} {where}, while tracing {name}")


_TRACED = "in the traced line "


def note_traced_line(error: Exception, line: str | None) -> None:
    """Note on an error of a node which line of the user's it came from; the node furthest inside is the one to name."""
    if line is not None and not any(note.startswith(_TRACED) for note in getattr(error, "__notes__", ())):
        error.add_note(_TRACED + line)


# Functions that run as they are although they may have control flow: their code and why.
unconverted: weakref.WeakKeyDictionary[CodeType, str] = weakref.WeakKeyDictionary()


def why_unconverted() -> str:
    """Why the control flow of the user's function that runs now was not converted, as a further sentence of a message."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    reason = unconverted.get(frame.f_code) if frame is not None else None
    if frame is None or reason is None:
        return ""
    return f" AutoGraph could not transform {frame.f_code.co_name} and ran it as it is: {reason}."
