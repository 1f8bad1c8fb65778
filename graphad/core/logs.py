"""The log to which graphad writes, and TensorFlow's names for its levels."""

from __future__ import annotations

import logging

DEBUG, INFO, WARN, ERROR, FATAL = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.FATAL


def get_logger() -> logging.Logger:
    """The logger "graphad".

    Returns: A `logging.Logger`.
    """
    return logging.getLogger("graphad")


def set_verbosity(v: int | str) -> None:
    """Log messages of this level and above: a level of `logging`, or its name."""
    get_logger().setLevel(v)


def get_verbosity() -> int:
    """The lowest level that is logged."""
    return get_logger().getEffectiveLevel()


def log(level: int, msg: str, *args: object) -> None:
    """Log `msg % args` at this level."""
    get_logger().log(level, msg, *args)


def debug(msg: str, *args: object) -> None:
    """Log a message of the level DEBUG."""
    log(DEBUG, msg, *args)


def info(msg: str, *args: object) -> None:
    """Log a message of the level INFO."""
    log(INFO, msg, *args)


def warning(msg: str, *args: object) -> None:
    """Log a message of the level WARN."""
    log(WARN, msg, *args)


def error(msg: str, *args: object) -> None:
    """Log a message of the level ERROR."""
    log(ERROR, msg, *args)


def fatal(msg: str, *args: object) -> None:
    """Log a message of the level FATAL."""
    log(FATAL, msg, *args)


warn = warning
