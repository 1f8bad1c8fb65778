"""A user's function that calls itself too deeply, named in the error."""

from __future__ import annotations

import sys

from graphad.core.errors import EndlessRecursionError
from graphad.core.frames import repeated_call


def explained_recursion(error: RecursionError, caller: str, when: str, cure: str) -> RecursionError:
    """An error that names the user's function and how often it has called itself; Python's own error if no function repeats.

    Args:
      error: Python's error, while it is handled.
      caller: The function of graphad's, or the traced one.
      when: The circumstance, as in "while it is traced".
      cure: What to do instead, without a full stop.
    """
    cause = error.__cause__ if isinstance(error, EndlessRecursionError) else error
    # Each call replaces the error of the call inside of it; the outermost one sees all of the calls.
    found = repeated_call(error) if isinstance(cause, RecursionError) else None
    if found is None:
        return error
    name, count = found
    made = EndlessRecursionError(
        f"{caller}: {name} calls itself {when}, {count} calls deep, where Python's limit of {sys.getrecursionlimit()} frames "
        f"ends it; {cure}."
    ).with_traceback(error.__traceback__)
    made.__cause__ = cause
    return made


CURE = "let a Python value that changes end the recursion, or use tf.while_loop"
