"""The verbosity of conversion."""

from __future__ import annotations

import os
import sys
from typing import Any

_level: int | None = None
_to_stdout = False


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Set how much conversion logs.

    Args:
      level: 0 for nothing (the default, or the environment's AUTOGRAPH_VERBOSITY), 1 for what could not be converted, 3 and
        more also for
        the converted code.
      alsologtostdout: Print the messages too.
    Raises: Nothing.
    """
    global _level, _to_stdout
    _level, _to_stdout = int(level), bool(alsologtostdout)


def verbosity() -> int:
    """The current level."""
    if _level is not None:
        return _level
    given = os.environ.get("AUTOGRAPH_VERBOSITY", "0")
    return int(given) if given.isdigit() else 0


def trace(*args: object) -> None:
    """Print values while a function is traced; symbolic tensors are printed as symbols.

    Args: args: What is printed.
    Raises: Nothing.
    Example:
      >>> autograph.trace("x is", 3)
      x is 3
    """
    print(*args)


def say(level: int, message: str, *values: Any) -> None:
    """Log a message of this level."""
    if verbosity() < level:
        return
    import logging

    logging.getLogger("graphad").warning(message, *values)
    if _to_stdout:
        print(message % values, file=sys.stdout)
