"""What the traceback of an error shows: the user's lines, each once."""

from __future__ import annotations

from types import CodeType, TracebackType

from graphad.core.errors import GraphadError, InternalError
from graphad.core.flags import flags
from graphad.core.frames import is_own


def for_user(error: Exception) -> Exception:
    """An error that leaves a function, to be raised again: without graphad's own lines, unless it is graphad's own fault."""
    if not flags.filter_tracebacks or isinstance(error, InternalError):
        return error
    kept: list[TracebackType] = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_own(code.co_filename):
            if kept and _is_part(code, kept[-1].tb_frame.f_code):
                kept.pop()  # the line of the `if` or loop
            kept.append(trace)
        trace = trace.tb_next
    shorter: TracebackType | None = None
    for trace in reversed(kept):
        shorter = TracebackType(shorter, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
    return error.with_traceback(shorter)


def of_call(error: Exception) -> Exception:
    """An error that leaves an eager call, to be raised again. What is not graphad's keeps all lines."""
    return for_user(error) if isinstance(error, GraphadError) else error


def _is_part(code: CodeType, whole: CodeType) -> bool:
    """Whether conversion made this code of a branch or body of that function."""
    return code.co_qualname == whole.co_qualname and code in whole.co_consts
