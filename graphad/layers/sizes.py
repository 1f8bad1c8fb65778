"""Arguments that layers over images share: sizes along each axis, padding, the order of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from graphad.core.errors import InvalidArgumentError

_LAYOUTS = {
    "channels_last": ("NWC", "NHWC", "NDHWC"),
    "channels_first": ("NCW", "NCHW", "NCDHW"),
}
_T = TypeVar("_T")


def whole(value: _T) -> _T | int:
    """An integer of NumPy as one of Python, which configurations are written with; anything else as it is."""
    return int(value) if isinstance(value, np.integer) else value


def axes_of(value: int | Sequence[int]) -> list[int]:
    """One axis or several as a list."""
    value = whole(value)
    return [value] if isinstance(value, int) else [whole(axis) for axis in value]


def sizes_of(layer: str, name: str, value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """A positive integer for each of `rank` axes; one number stands for all."""
    value = whole(value)
    sizes = (value,) * rank if isinstance(value, int) else tuple([whole(size) for size in value])
    if len(sizes) != rank or not all(isinstance(size, int) and size > 0 for size in sizes):
        several = f" or {rank} of them" if rank > 1 else ""
        raise InvalidArgumentError(f"{layer}: {name} is {value!r}; it must be a positive integer{several}.")
    return sizes


def padding_of(layer: str, padding: str, allowed: tuple[str, ...]) -> str:
    """The padding in small letters."""
    found = padding.lower() if isinstance(padding, str) else padding
    if found not in allowed:
        raise InvalidArgumentError(
            f"{layer}: padding is {padding!r}; it must be one of {', '.join(allowed)}."
        )
    return found


def format_of(layer: str, data_format: str | None) -> str:
    """The order of the axes, "channels_last" where nothing is said."""
    found = "channels_last" if data_format is None else data_format
    if found not in _LAYOUTS:
        raise InvalidArgumentError(
            f'{layer}: data_format is {data_format!r}; it must be "channels_last" or "channels_first".'
        )
    return found


def channels_of(data_format: str, rank: int) -> str:
    """The order of the axes as ops name it."""
    return _LAYOUTS[data_format][rank - 1]
