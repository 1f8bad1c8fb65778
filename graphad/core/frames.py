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
        if not (known[file] if file in known else is_own(file)):  # called for every frame of every traced op
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
    """Add a note to an error with the user's line that raised it in a traced function; each outer function adds its line of the
    call.

    Args:
      error: The error, while it is handled.
      name: What was being traced.
      otherwise: The text where the traceback has no user's line.
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
    """Add a note to a node's error with the user's line that it was traced from; only the innermost node is named."""
    if line is not None and not any(note.startswith(_TRACED) for note in getattr(error, "__notes__", ())):
        error.add_note(_TRACED + line)


# Functions that run unconverted although they may have control flow: code -> reason.
unconverted: weakref.WeakKeyDictionary[CodeType, str] = weakref.WeakKeyDictionary()


def why_unconverted() -> str:
    """A further sentence for a message: why the control flow of the running user's function was not converted."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    reason = unconverted.get(frame.f_code) if frame is not None else None
    if frame is None or reason is None:
        return ""
    return f" AutoGraph could not transform {frame.f_code.co_name} and ran it as it is: {reason}."
