"""Sums of products of int32 numbers, exact and without a kernel of their own: in float64, by halves of 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphad.core.dims import product
from graphad.core.dtypes import float64, int32, int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import require_same_dtype
from graphad.core.shapes import format_dims, is_definite
from graphad.core.tensor import Tensor
from graphad.ops.math.bitwise import bitwise_and, right_shift
from graphad.ops.math.cast import cast


def by_halves(
    op: str, convolve: Callable[[Tensor, Tensor], Any], x: Tensor, kernel: Tensor, outputs: int = -1
) -> Tensor:
    """A convolution of int32 numbers, which wraps around as products of them do; it adds over the other axes than `outputs` of
    the filters.

    Halves of 16 bits have products of 32 bits, of which float64 adds two million without rounding.
    """
    require_same_dtype(op, kernel, x, ("filters", "input"))
    sizes = list(kernel.dims) if kernel.dims is not None and is_definite(kernel.dims) else [0]
    sizes[outputs % len(sizes)] = 1
    if product(sizes) > 2**21:
        raise InvalidArgumentError(
            f"{op}: filters with shape {format_dims(kernel.dims)} are too large for int32; use float64."
        )
    (low, high), (low_k, high_k) = (
        [cast(part, float64) for part in (bitwise_and(y, 0xFFFF), right_shift(y, 16))] for y in (x, kernel)
    )
    upper = cast(convolve(high, low_k) + convolve(low, high_k), int64)
    return cast(cast(convolve(low, low_k), int64) + upper * 0x10000, int32)
