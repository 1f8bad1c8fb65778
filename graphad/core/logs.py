"""The log to which graphad writes, and TensorFlow's names for its levels."""

from __future__ import annotations

import logging

DEBUG, INFO, WARN, ERROR, FATAL = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.FATAL


def get_logger() -> logging.Logger:
    """The logger "graphad", whose level says how much is logged.

    Returns: A `logging.Logger`.
    """
    return logging.getLogger("graphad")


def set_verbosity(v: int | str) -> None:
    """Log messages of this level and above: a level of `logging`, or its name."""
    get_logger().setLevel(v)


def get_verbosity() -> int:
    """The level from which on messages are logged."""
    return get_logger().getEffectiveLevel()
