"""Bytes, text and paths as each other, and the kinds of Python's and NumPy's numbers: what old programs ask `compat` for."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from graphad.core.errors import ArgumentTypeError

bytes_or_text_types = (bytes, str)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)


def as_bytes(bytes_or_text: object, encoding: str = "utf-8") -> bytes:
    """Text as bytes. Raises: ArgumentTypeError (a TypeError): it is neither text nor bytes."""
    if isinstance(bytes_or_text, bytes | bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    raise ArgumentTypeError(
        f"as_bytes: {bytes_or_text!r} is neither bytes nor text; as_str_any takes everything."
    )


def as_text(bytes_or_text: object, encoding: str = "utf-8") -> str:
    """Bytes as text. Raises: ArgumentTypeError (a TypeError): it is neither bytes nor text."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes | bytearray):
        return bytes_or_text.decode(encoding)
    raise ArgumentTypeError(
        f"as_text: {bytes_or_text!r} is neither bytes nor text; as_str_any takes everything."
    )


def as_str_any(value: object, encoding: str = "utf-8") -> str:
    """Bytes as text, and anything else as str() gives it."""
    return as_text(value, encoding) if isinstance(value, bytes | bytearray) else str(value)


def path_to_str(path: object) -> Any:
    """A path object as text; anything else as it is."""
    return as_str_any(path.__fspath__()) if isinstance(path, os.PathLike) else path


def forward_compatible(year: int, month: int, day: int) -> bool:
    """True: files are read by the versions that say so in them, whatever the date."""
    return True
