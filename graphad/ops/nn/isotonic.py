"""Isotonic regression: the nearest sequence that never rises, or never falls.

It is constant on segments, where it is the mean of the input (Best and Chakravarti, 1990). The segments are piecewise constant
in the input, so the derivative is that of the means. Where elements are equal, that is a choice: they are segments of their own,
as long as nothing falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, RowAxes, RowAxis, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dtypes import float32, float64, int32
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import FLOATING, REAL, require_kind
from graphad.core.op import MIXED, Op, define, no_form, no_gradient
from graphad.core.shapes import format_dims, normalize_axis
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.array.create import ones_like
from graphad.ops.array.gather import gather
from graphad.ops.array.reshape import reshape
from graphad.ops.array.scatter import unsorted_segment_sum
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import shape
from graphad.ops.array.transpose import transpose
from graphad.ops.math.arithmetic import NEG
from graphad.ops.math.cast import cast
from graphad.ops.math.select import maximum


@define
class IsotonicSegments(Op):
    """For each element of x [..., n] the number of its segment in its row, int32, counted from 0. On a segment the nearest
    non-decreasing sequence, in the sum of squares, is constant. Neighbours are in one segment only if x falls there: equal
    elements are segments of their own. SciPy's `isotonic_regression` finds them.
    """

    name = "isotonic_segments"
    total = False
    keeps = (False, False)
    lower = no_form("which neighbours are pooled is known after others have been")

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_kind(self.name, x, FLOATING)
        if x.dims == ():
            raise InvalidArgumentError(f"{self.name}: x has shape (); an axis is needed.")
        return TensorSpec.of(x.dims, int32)

    def eval(self, x: Array) -> Array:
        x = arrays.here(x, "scipy.optimize.isotonic_regression")
        segments = np.zeros(x.shape, np.int32)
        if not x.size:
            return segments
        if np.isnan(x).any():
            raise InvalidArgumentError(f"{self.name}: x holds NaN, which cannot be ordered.")
        fit = library.optimize().isotonic_regression
        for place in np.ndindex(x.shape[:-1]):
            segments[place] = _starts(np.asarray(x[place], np.float64), fit)
        return np.cumsum(segments, axis=-1, dtype=np.int32) - np.int32(1)

    vjp = no_gradient("the end of a segment is piecewise constant")

    def batch(self, ctx: object, x: Any) -> Tensor:
        return bind(self, x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        axis = axes[0]
        return axis if axis is None or axis < len(specs[0].dims or ()) - 1 else MIXED


def _starts(x: np.ndarray, fit: Any) -> Any:
    """Which elements of a row begin a segment. SciPy puts segments of equal means into one block: that ends wherever the elements
    up to there have the mean of all of it."""
    is_new = np.concatenate([[True], x[1:] != x[:-1]])
    runs = np.flatnonzero(is_new)
    ends = np.append(runs[1:], len(x))
    firsts = fit(x[runs], weights=ends - runs).blocks
    starts, stops = runs[firsts[:-1]], ends[firsts[1:] - 1]
    n = stops - starts
    place = np.arange(len(x)) - np.repeat(starts, n)
    with np.errstate(all="ignore"):  # infinite elements
        sums = _sums_within(x, place, n.max(initial=0))
        before = np.where(place > 0, np.roll(sums, 1), 0.0)
        total = np.repeat(sums[stops - 1], n)
        has_mean = (before * np.repeat(n, n) == total * place) & np.isfinite(total)
    alone = np.repeat(np.diff(firsts) == 1, n)  # equal elements, whatever their sums round to
    return has_mean | alone | (place == 0)


def _sums_within(x: np.ndarray, place: np.ndarray, most: int) -> np.ndarray:
    """For each element the sum of those of its block up to it, without a digit lost to other blocks: of twice as many in each
    round. `place` tells how many stand before it in its block, which has `most` elements at most."""
    sums, step = x.copy(), 1
    while step < most:
        sums[step:] += np.where(place[step:] >= step, sums[:-step], 0.0)
        step *= 2
    return sums


@blaming
def isotonic_regression(inputs: TensorLike, decreasing: bool = True, axis: int = -1) -> tuple[Tensor, Tensor]:
    """The nearest sequences that never rise, or never fall, along `axis`.

    Args:
      inputs: Real tensor of rank 1 or more.
      decreasing: Whether the result never rises; otherwise it never falls.
      axis: The axis of the sequences.
    Returns: (tensor of the same shape, floats for integers; int32 tensor of the same shape: for each element the number of its
      segment, on which the result is constant). The second has no derivative.
    Raises: InvalidArgumentError (a ValueError): a scalar, an axis out of range, or NaN; DTypeError (a TypeError): another dtype.
    Example:
      >>> nn.isotonic_regression([3.0, 1.0, 2.0])[0].numpy()
      array([3. , 1.5, 1.5], dtype=float32)
    """
    op = "isotonic_regression"
    x = lift(inputs)
    require_kind(op, x, REAL, "inputs")
    if x.dtype.is_integer:
        x = cast(x, float64 if x.dtype.size > 2 else float32)
    if x.ndim is None or x.ndim == 0:
        raise InvalidArgumentError(
            f"{op}: inputs have shape {format_dims(x.dims)}; a known rank of 1 or more is needed."
        )
    own = normalize_axis(op, axis, x.ndim, "inputs", x.dims)
    order = [k for k in range(x.ndim) if k != own] + [own]
    back = [order.index(k) for k in range(x.ndim)]
    turned = x if own == x.ndim - 1 else transpose(x, order)
    segments = bind(IsotonicSegments(), bind(NEG, turned) if decreasing else turned)
    fitted = _means(turned, segments)
    if own == x.ndim - 1:
        return fitted, segments
    return transpose(fitted, back), transpose(segments, back)


def _means(x: Tensor, segments: Tensor) -> Tensor:
    """For each element the mean over its segment, [..., n]."""
    sizes = shape(x)
    flat, own = reshape(x, [-1]), reshape(segments, [-1])
    length: Any = sizes[-1]
    row: Any = range_of(shape(flat)[0]) // maximum(length, 1)
    place = row * length + own
    sums = unsorted_segment_sum(flat, place, shape(flat)[0])
    counts = unsorted_segment_sum(ones_like(flat), place, shape(flat)[0])
    return reshape(gather(sums / maximum(counts, 1), place), sizes)
