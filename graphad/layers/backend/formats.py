"""What the functions of `keras.backend` have in common: default dtypes, and the order of axes that `data_format` names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.annotations import DTypeLike
from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import InvalidArgumentError
from graphad.core.floatx import floatx_dtype
from graphad.core.tensor import Tensor
from graphad.ops import array

LAST, FIRST = "channels_last", "channels_first"
_PADDINGS = {"same": "SAME", "valid": "VALID"}


def dtype_of(dtype: DTypeLike | None) -> DType:
    """That dtype, `floatx` for None."""
    return floatx_dtype() if dtype is None else as_dtype(dtype)


def channels_are_first(op: str, data_format: str | None) -> bool:
    """Whether the channels stand before the axes of space; they stand last by default."""
    if data_format not in (None, LAST, FIRST):
        raise InvalidArgumentError(
            f"{op}: data_format is {data_format!r}; it is {LAST!r}, {FIRST!r} or None, which is {LAST!r}."
        )
    return data_format == FIRST


def padding_of(op: str, padding: object) -> str:
    """The name that `nn` has for a padding."""
    found = _PADDINGS.get(padding) if isinstance(padding, str) else None
    if found is None:
        raise InvalidArgumentError(f"{op}: padding is {padding!r}; it is 'same' or 'valid'.")
    return found


def with_channels_last(x: Tensor) -> Tensor:
    """[batch, channels, *space] as [batch, *space, channels]."""
    rank = _rank(x)
    return array.transpose(x, [0, *range(2, rank), 1])


def with_channels_first(x: Tensor) -> Tensor:
    """[batch, *space, channels] as [batch, channels, *space]."""
    rank = _rank(x)
    return array.transpose(x, [0, rank - 1, *range(1, rank - 1)])


def _rank(x: Tensor) -> int:
    if x.ndim is None:
        raise InvalidArgumentError("data_format='channels_first' needs a tensor of known rank.")
    return x.ndim


def numbers(op: str, word: str, given: Any, count: int) -> list[int]:
    """`count` numbers: one for each axis of space, or one for all."""
    listed = [given] * count if isinstance(given, int) else list(given) if isinstance(given, Sequence) else []
    if len(listed) != count:
        raise InvalidArgumentError(f"{op}: {word} is {given!r}; one number or {count} of them are needed.")
    return listed
