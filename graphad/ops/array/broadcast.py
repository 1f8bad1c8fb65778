"""Broadcasting, and its transpose, the sum over the axes along which something was repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    FoldContext,
    Ranked,
    RowAxes,
    RowAxis,
    ShapeLike,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import Dim, Size, is_one, product, run_time_symbols
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, Op, define
from graphad.core.references import is_reference
from graphad.core.schema import Given
from graphad.core.shapes import RawSize, are_numbers, format_dims, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import PLAIN_SUM, is_plain, summed
from graphad.ops.array.reshape import ExpandDims, Reshape
from graphad.ops.array.shape import shape_of
from graphad.ops.array.sizes import (
    requested,
    require_sizes,
    shape_was_claimed,
)

_FEW_TIMES, _FEWER_TIMES, _WIDE = 64, 8, 512
_FEW = 1024  # numbers, which NumPy writes as quickly as others look how they lie


@define
class BroadcastTo(Op):
    """x broadcast to `shape`."""

    name = "broadcast_to"
    copies = total = spreads = takes_spread = True
    keeps = (False, False)
    shape: Given[tuple[Size, ...]]
    formerly = {"broadcast_to_shape": shape_was_claimed}

    def infer(self, x: TensorSpec) -> TensorSpec:
        if x.dims is not None and self.shape is not None:
            _check_broadcast(x.dims, self.shape)
            return TensorSpec.of(_filled_in(self.shape, x.dims), x.dtype)
        return TensorSpec.of(self.shape, x.dtype)

    def eval(self, x: Array) -> Array:
        if type(x) is np.ndarray and 0 < x.ndim == len(self.shape) and 1 < self.shape[-1] <= _FEW_TIMES:
            if x.shape == (*self.shape[:-1], 1):  # not by a loop of its own for each element
                if self.shape[-1] > _FEWER_TIMES:
                    return np.repeat(x, self.shape[-1], -1)
                wide = np.empty(self.shape, x.dtype)
                for k in range(self.shape[-1]):
                    wide[..., k] = x[..., 0]
                return wide
        out = arrays.empty(self.shape, x.dtype, x)
        if (
            type(out) is np.ndarray
            and 1 < x.size <= _FEW_TIMES < out.size
            and x.shape[-1] == x.size == out.shape[-1]
        ):
            _repeat(x.reshape(-1), out.reshape(-1, x.size))
        else:
            out[...] = x
        return out

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        x, shape, evaluate = specs[0], self.shape, self.eval
        dtype = x.dtype.numpy
        if not shape or not are_numbers(shape) or product(shape) > _FEW or dtype.kind not in "biufc":
            return None

        def filled(x: Any) -> Any:
            if isinstance(x, np.generic) or type(x) is np.ndarray:
                out = np.empty(shape, dtype)
                out[...] = x
                return out
            return evaluate(x)

        return filled

    def quick(self, x: Tensor) -> Array | None:
        data = x.data
        if data.shape:
            return None
        out = np.empty(self.shape, data.dtype)
        out.fill(data)
        return out if self.shape else None

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (sum_to_input(ctx, 0, g),)

    def batch(self, ctx: BatchContext, x: Ranked, *given: Ranked) -> Tensor:
        missing = len(self.shape) - (len(x.dims) - 1)
        wide = bind(ExpandDims(tuple(range(1, 1 + missing))), x) if missing > 0 else x
        return bind(BroadcastTo((x.dims[0], *self.shape)), wide, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        (axis,), dims = axes, specs[0].dims
        if axis is None or dims is None:
            return None if axis is None else MIXED
        place = axis + len(self.shape) - len(dims)
        kept = self.shape[place] == dims[axis] or (
            is_reference(self.shape[place]) and not _is_one(dims[axis])
        )
        return place if kept else MIXED

    def settled(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return x if x.dims == self.shape else None

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.View("broadcast", self.shape)


def _repeat(row: np.ndarray, out: np.ndarray) -> None:
    """Write a short row to all of many rows, several side by side: NumPy starts a loop of its own for each."""
    fold = max(1, min(_WIDE // row.size, len(out)))
    whole = len(out) - len(out) % fold
    out[:whole].reshape(-1, fold * row.size)[...] = np.concatenate([row] * fold)
    out[whole:] = row


def _filled_in(want: Sequence[RawSize], have: Sequence[RawSize]) -> tuple[RawSize, ...]:
    """The sizes `want`, and where one is unknown that of `have`, from which it can only differ if that is 1."""
    if None not in want:
        return tuple(want)
    last = len(want) - len(have)
    return tuple(
        [
            have[k - last] if size is None and k >= last and not _may_be_one(have[k - last]) else size
            for k, size in enumerate(want)
        ]
    )


def _may_be_one(size: RawSize) -> bool:
    return bool(run_time_symbols([size])) or is_one(size)


def _check_broadcast(have: Sequence[RawSize], want: Sequence[RawSize]) -> None:
    fits = len(have) <= len(want)
    for mine, theirs in zip(reversed(have), reversed(want), strict=False):
        fits = fits and (mine is None or theirs is None or mine == theirs or is_one(mine))
    if not fits:
        raise InvalidArgumentError(
            f"broadcast_to: Incompatible shapes: x with shape {format_dims(tuple(have))} does not broadcast to "
            f"{format_dims(tuple(want))}."
        )


def broadcast_to(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """`input` broadcast to `shape` by NumPy's rules.

    Args:
      input: Tensor of any dtype.
      shape: Sizes: a list, a shape, or an integer tensor.
    Returns: Tensor of that shape and the dtype of `input`.
    Raises: InvalidArgumentError: it does not broadcast.
    Example:
      >>> broadcast_to([1.0, 2.0], [3, 2]).shape
      TensorShape([3, 2])
    """
    return broadcast_for("broadcast_to", lift(input), shape)


def broadcast_for(op: str, x: Tensor, shape: Any) -> Tensor:
    """`broadcast_to` with the caller's name in messages."""
    sizes, given = requested(op, shape)
    require_sizes(op, sizes)
    return bind(BroadcastTo(sizes), x, *given)


@define
class SumTo(Op):
    """The transpose of broadcasting `shape` to that of x: x summed over the axes along which it was repeated."""

    name = "sum_to"
    total = carries_masks = True
    keeps = (False, False)
    shape: Given[tuple[Size, ...]]
    formerly = {"sum_to_shape": shape_was_claimed}

    def infer(self, x: TensorSpec) -> TensorSpec:
        if x.dims is not None and self.shape is not None:
            _check_broadcast(self.shape, x.dims)
        return TensorSpec.of(self.shape, x.dtype)

    def eval(self, x: Array) -> Array:
        want = self.shape
        y: Any = summed(x, summed_axes(x.shape, want))
        if type(y) is not Dim:  # a symbol, where x holds sizes
            y = y.reshape(want)
        return y  # type: ignore[no-any-return]

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        x, want = specs[0], self.shape
        dims, dtype = ranked(x.dims), x.dtype.numpy
        if not are_numbers(want) or not is_plain(x) or dtype.kind not in "fc":
            return None
        axes = summed_axes(dims, want)
        if len(dims) - len(axes) == len(want):
            return lambda x: PLAIN_SUM(x, axes, dtype, None, False)
        return lambda x: PLAIN_SUM(x, axes, dtype, None, False).reshape(want)

    def quick(self, x: Tensor) -> Array | None:
        data = x.data
        if data.ndim and data.shape[1:] == self.shape and data.dtype.char in "fd":
            return summed(data, (0,))
        lead = data.ndim - len(self.shape)
        if lead >= 0 and data.dtype.char in "fd":
            for kept, size in zip(self.shape, data.shape[lead:], strict=True):
                if kept != size and kept != 1:
                    return None
            y = self.eval(data)
            return y if y.ndim else y[()]
        return None

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (broadcast_like(g, ctx, 0),)

    def batch(self, ctx: BatchContext, x: Ranked, *given: Ranked) -> Tensor:
        missing = len(x.dims) - 1 - len(self.shape)
        y = bind(SumTo((x.dims[0], *(1,) * missing, *self.shape)), x, *given)
        return bind(Reshape((x.dims[0], *self.shape)), y, *given) if missing else y

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        axis, dims = axes[0], specs[0].dims
        if axis is None:
            return None
        at = axis - (len(dims) - len(self.shape))  # type: ignore[arg-type]
        return at if at >= 0 and self.shape[at] == dims[axis] else MIXED  # type: ignore[index]

    def settled(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return x if x.dims == self.shape else None

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        axes = summed_axes(x.dims, self.shape)  # type: ignore[arg-type]
        return kernels.forms.Reduce(kernels.forms.identity_map(x.dtype), "add", axes, False)


def summed_axes(have: Sequence[RawSize], want: Sequence[RawSize]) -> tuple[int, ...]:
    """The axes of an array of shape `have` to sum so that `want` is left (but for axes of size 1)."""
    extra = len(have) - len(want)
    kept = [extra + i for i, size in enumerate(want) if _is_one(size) and not _is_one(have[extra + i])]
    return (*range(extra), *kept)


def _is_one(size: RawSize) -> bool:
    """Whether a size is the number 1; broadcasting has decided this before."""
    return type(size) is int and size == 1


def sum_to_input(ctx: VjpContext, i: int, g: Tensor) -> Tensor:
    """`g` summed to the shape of input i."""
    want, given = shape_of(ctx, i)
    return g if not given and g.dims == want else bind(SumTo(want), g, *given)


def broadcast_like(g: Tensor, ctx: VjpContext, i: int) -> Tensor:
    """`g` broadcast to the shape of input i."""
    want, given = shape_of(ctx, i)
    return g if not given and g.dims == want else bind(BroadcastTo(want), g, *given)
