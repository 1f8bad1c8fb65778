"""The user's line: the innermost frame of the call stack that is not graphad's own."""

from __future__ import annotations

import os
import sys
from types import FrameType

_OWN = tuple(
    os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), name) + os.sep
    for name in ("graphad", "serialization")
)
_OWN_FILES: dict[str, bool] = {}


def is_own(filename: str) -> bool:
    """Whether a source file belongs to graphad."""
    known = _OWN_FILES.get(filename)
    if known is None:
        known = _OWN_FILES[filename] = filename.startswith(_OWN) or filename.startswith("<graphad")
    return known


def user_line() -> str | None:
    """Where the user's code called graphad, as "file:line in function"."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_own(code.co_filename):
            return f"{code.co_filename}:{frame.f_lineno} in {code.co_name}"
        frame = frame.f_back
    return None
