"""A user's function that calls itself too deeply, or whose branches stand too deeply within each other, named in the error."""

from __future__ import annotations

import sys

from graphad.core.errors import EndlessRecursionError
from graphad.core.frames import deepest_own, repeated_call


def explained_recursion(error: RecursionError, caller: str, when: str, cure: str) -> RecursionError:
    """An error that names the user's function and how often it has called itself; that of `explained_nesting` if no function
    repeats.

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
        return explained_nesting(error, caller, when)
    name, count = found
    made = EndlessRecursionError(
        f"{caller}: {name} calls itself {when}, {count} calls deep, where Python's limit of {sys.getrecursionlimit()} frames "
        f"ends it; {cure}."
    ).with_traceback(error.__traceback__)
    made.__cause__ = cause
    return made


def explained_nesting(error: RecursionError, caller: str, when: str) -> RecursionError:
    """An error that says how deeply the branches, loops and calls of a function stand within each other; Python's own error if
    that is not the cause."""
    count = None if repeated_call(error) is not None else deepest_own(error)
    if count is None:
        return error
    made = EndlessRecursionError(
        f"{caller}: its branches, loops and calls stand more than {count} deep within each other {when}, where Python's limit of "
        f"{sys.getrecursionlimit()} frames ends it. Each `elif` stands within the branch before it: use tf.switch_case, or "
        "tf.case with pairs of predicates and functions."
    ).with_traceback(error.__traceback__)
    made.__cause__ = error
    return made


CURE = "let a Python value that changes end the recursion, or use tf.while_loop"
