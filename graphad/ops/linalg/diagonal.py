"""Diagonals and triangles of matrices, and the diagonal of any two axes."""

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
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import at_most, product
from graphad.core.dtypes import int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import INTEGER, require_kind, require_same_dtype
from graphad.core.memo import Memo
from graphad.core.op import MIXED, Op, define, else_eval
from graphad.core.schema import Axis, Limit, Offset
from graphad.core.shapes import are_compatible, are_numbers, format_dims, is_definite, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.create import zeros, zeros_like
from graphad.ops.array.ensure import ensure_shape
from graphad.ops.array.reshape import expand_dims
from graphad.ops.array.sequence import range as numbers
from graphad.ops.array.shape import shape
from graphad.ops.array.support import all_stacked, static_int
from graphad.ops.choice import FEW_CHOSEN, chosen
from graphad.ops.linalg.held import is_operator
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import less_equal, logical_and
from graphad.ops.math.reduce import reduce_max, reduce_sum
from graphad.ops.math.select import where
from graphad.ops.native_steps import are_few, by_step
from graphad.ops.rules import require_rank


def _two_axes(op: Diagonal | DiagonalPut, rank: int) -> tuple[int, int]:
    """The two axes of a diagonal, counted from the front. Raises: InvalidArgumentError: they are not in order."""
    first, second = op.first, op.second
    a, b = (axis + rank if axis < 0 else axis for axis in (first, second))
    if not 0 <= a < b < rank:
        raise InvalidArgumentError(
            f"{op.name}: axes {first} and {second} of {rank}; the first must come before the second."
        )
    return a, b


def _unequal(dims: tuple[Any, ...], a: int, b: int) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"diagonal: x with shape {format_dims(dims)} has sizes {dims[a]} and {dims[b]} at axes {a} and {b}; they must be equal."
    )


@define
class Diagonal(Op):
    """The elements of x whose indices along the axes `first` and `second`, of equal size, are equal; they lie along
    `first`, and `second` is removed.
    """

    name = "diagonal"
    takes_spread = carries_masks = True
    keeps = (False, False)
    first: Axis  # the axis that comes first in x
    second: Axis

    def infer(self, x: TensorSpec) -> TensorSpec:
        if x.dims is None:
            return x
        a, b = _two_axes(self, len(x.dims))
        if not are_compatible((x.dims[a],), (x.dims[b],)):
            raise _unequal(x.dims, a, b)
        size = x.dims[b] if x.dims[a] is None else x.dims[a]
        return x.with_dims((*x.dims[:a], size, *x.dims[a + 1 : b], *x.dims[b + 1 :]))

    def eval(self, x: Array) -> Array:
        a, b = _two_axes(self, x.ndim)
        if x.shape[a] != x.shape[b]:
            raise _unequal(x.shape, a, b)
        return np.moveaxis(np.diagonal(x, axis1=a, axis2=b), -1, a)

    def views(
        self, sites: Sequence[kernels.sites.Site], specs: Sequence[TensorSpec]
    ) -> list[kernels.sites.Site] | None:
        (x,) = sites
        a, b = _two_axes(self, len(x.shape))
        if not kernels.sites.same_size(x.shape[a], x.shape[b]):
            return None  # `eval` compares the sizes
        strides = list(x.strides)
        strides[a] = strides[a] + strides.pop(b)
        return [kernels.sites.Site(x.root, ranked(specs[0].dims), tuple(strides), x.offset)]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(DiagonalPut(self.first, self.second), g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        rank = len(x.dims) - 1
        return bind(Diagonal(self.first % rank + 1, self.second % rank + 1), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        if axes[0] is None:
            return None
        rank = len(specs[0].dims or ())
        a, b = self.first % rank, self.second % rank
        return MIXED if axes[0] in (a, b) else axes[0] - (axes[0] > b)


@define
class DiagonalPut(Op):
    """The transpose of diagonal: zeros with x on the diagonal of the axes `first` and `second` of the result."""

    name = "diagonal_put"
    keeps = (False, False)
    first: Axis
    second: Axis

    def infer(self, x: TensorSpec) -> TensorSpec:
        if x.dims is None:
            return x
        a, b = _two_axes(self, len(x.dims) + 1)
        return x.with_dims((*x.dims[:b], x.dims[a], *x.dims[b:]))

    def eval(self, x: Array) -> Array:
        a, b = _two_axes(self, x.ndim + 1)
        size = x.shape[a]
        out = arrays.zeros((*x.shape[:b], size, *x.shape[b:]), x.dtype, x)
        if x.ndim == 1 and type(out) is np.ndarray:
            out.reshape(-1)[:: size + 1] = x
            return out
        part = np.moveaxis(out, (a, b), (0, 1))
        part[np.arange(size), np.arange(size)] = np.moveaxis(x, a, 0)
        return out

    def parts_of(
        self, whole: kernels.sites.Site, sites: Sequence[kernels.sites.Site], number: Callable[[int], Any]
    ) -> list[kernels.sites.Part]:
        a, b = _two_axes(self, len(whole.shape))
        strides = list(whole.strides)
        strides[a] = strides[a] + strides.pop(b)
        diagonal = kernels.sites.Site(whole.root, sites[0].shape, tuple(strides))
        return [kernels.sites.Part(0, whole), kernels.sites.Part(sites[0], diagonal)]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(Diagonal(self.first, self.second), g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        rank = len(x.dims)
        return bind(DiagonalPut(self.first % rank + 1, self.second % rank + 1), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        if axes[0] is None:
            return None
        rank = len(specs[0].dims or ()) + 1
        a, b = self.first % rank, self.second % rank
        return MIXED if axes[0] == a else axes[0] + (axes[0] >= b)


def matrix_rows(specs: Sequence[TensorSpec], axes: RowAxes, kept: Sequence[int]) -> RowAxis:
    """The row axis of an op on stacks of matrices: a leading axis common to all operands, or MIXED.

    `kept` says for each operand how many trailing axes the op works on; the result has as many as the first.
    """
    places = set()
    for spec, axis, trailing in zip(specs, axes, kept, strict=True):
        if axis is not None:
            place = axis - (len(spec.dims or ()) - trailing)
            if place >= 0:
                return MIXED
            places.add(place)
    if not places:
        return None
    rank = max(len(spec.dims or ()) - trailing for spec, trailing in zip(specs, kept, strict=True))
    return places.pop() + rank if len(places) == 1 else MIXED


def _length(rows: Any, columns: Any, k: int) -> Any:
    """The length of diagonal k."""
    if rows is None or columns is None:
        return None
    high, wide = (rows + k, columns) if k < 0 else (rows, columns - k)
    least = high if high == wide or high < wide else wide
    # Of sizes that are symbols too: a diagonal outside has no elements.
    return least if at_most(0, least) or least > 0 else 0


def _line(x: kernels.sites.Site, dims: tuple[Any, ...], k: int) -> kernels.sites.Site | None:
    """Diagonal k of the last two axes of x, where that lies, with the shape `dims`. None where k is not 0 and it may have no
    elements: it would begin outside of x.
    """
    if k and not (are_numbers(dims[-1:]) and dims[-1]):
        return None
    *lead, down, right = x.strides
    first = x.offset + (k * right if k > 0 else -k * down)
    return kernels.sites.Site(x.root, dims, (*lead, down + right), first)


@define
class DiagPart(Op):
    """The diagonal j - i = k of the last two axes, as the last axis."""

    name = "diag_part"
    takes_spread = carries_masks = True
    keeps = (False, False)
    k: Offset

    def infer(self, x: TensorSpec) -> TensorSpec:
        if x.dims is None:
            return x
        require_rank("diag_part", x, 2, "input")
        return x.with_dims((*x.dims[:-2], _length(x.dims[-2], x.dims[-1], self.k)))

    def eval(self, x: Array) -> Array:
        # NumPy reads outside the array for a diagonal some 2**31 away from it; any diagonal outside has no elements.
        return np.diagonal(x, max(-x.shape[-2], min(self.k, x.shape[-1])), -2, -1)

    def views(
        self, sites: Sequence[kernels.sites.Site], specs: Sequence[TensorSpec]
    ) -> list[kernels.sites.Site] | None:
        line = _line(sites[0], ranked(specs[0].dims), self.k)
        return None if line is None else [line]

    def quick(self, x: Tensor) -> Array | None:
        data = x.data
        if data.ndim < 2:
            return None
        return data.diagonal(max(-data.shape[-2], min(self.k, data.shape[-1])), -2, -1)  # type: ignore[no-any-return]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        dims = ctx.shape(0)
        base = zeros(dims, g.dtype) if is_definite(dims) else zeros_like(ctx.inputs[0])
        return (bind(SetDiag(self.k), base, g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(self, x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return matrix_rows(specs, axes, (2,))


@define
class SetDiag(Op):
    """x with the diagonal j - i = k of its last two axes replaced by the second input."""

    name = "set_diag"
    keeps = (False, False)
    k: Offset

    def infer(self, x: TensorSpec, d: TensorSpec) -> TensorSpec:
        if x.dims is not None:
            require_rank("set_diag", x, 2, "input")
            want = (*x.dims[:-2], _length(x.dims[-2], x.dims[-1], self.k))
            if not are_compatible(want, d.dims):
                raise InvalidArgumentError(
                    f"set_diag: diagonal has shape {format_dims(d.dims)}; for input with shape {format_dims(x.dims)} "
                    f"and k = {self.k} it must be {format_dims(want)}."
                )
        require_same_dtype("set_diag", d, x, ("diagonal", "input"))
        return x

    def eval(self, x: Array, d: Array) -> Array:
        out = arrays.copy(x)
        n = d.shape[-1]
        rows, columns = out.shape[-2:]
        if type(out) is np.ndarray and out.flags.c_contiguous and 0 < n <= _length(rows, columns, self.k):
            lines = out.reshape(*out.shape[:-2], rows * columns)  # where the diagonal lies in even steps
            first = max(self.k, 0) - min(self.k, 0) * columns
            lines[..., first : first + (n - 1) * (columns + 1) + 1 : columns + 1] = d
            return out
        i = np.arange(n)
        out[..., i - min(self.k, 0), i + max(self.k, 0)] = d
        return out

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        (x, d), evaluate = specs, self.eval
        dims, count = ranked(x.dims), product(ranked(d.dims))
        if len(dims) != 2 or not count:
            return None
        columns, size = dims[1], product(dims)
        first = max(self.k, 0) - min(self.k, 0) * columns
        line = slice(first, first + (count - 1) * (columns + 1) + 1, columns + 1)

        def put(x: Array, d: Array) -> Any:
            if type(x) is type(d) is np.ndarray and x.flags.c_contiguous:
                out = x.copy()
                out.reshape(size)[line] = d
                return out
            return evaluate(x, d)

        return put

    def parts_of(
        self, whole: kernels.sites.Site, sites: Sequence[kernels.sites.Site], number: Callable[[int], Any]
    ) -> list[kernels.sites.Part] | None:
        x, d = sites
        line = _line(whole, d.shape, self.k)
        return None if line is None else [kernels.sites.Part(x, whole), kernels.sites.Part(d, line)]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        part = bind(DiagPart(self.k), g)
        return (bind(self, g, zeros_like(part)) if ctx.needs(0) else None, part if ctx.needs(1) else None)

    def batch(self, ctx: BatchContext, x: Ranked, d: Ranked) -> Tensor:
        return bind(self, *all_stacked(ctx, (x, d)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return matrix_rows(specs, axes, (2, 1))


_bands = Memo("bands", 8)
_LARGE = 1 << 20  # elements; larger masks are not kept


def _band(rows: int, columns: int, lower: int, upper: int) -> np.ndarray:
    """Which elements of a matrix lie in a band, to be read only."""
    key = rows, columns, lower, upper
    keep: np.ndarray | None = _bands.get(key)
    if keep is None:
        offset = np.arange(columns) - np.arange(rows)[:, None]
        keep = np.ones((rows, columns), bool)
        if lower >= 0:
            keep &= offset >= -lower
        if upper >= 0:
            keep &= offset <= upper
        if keep.size <= _LARGE:
            keep.flags.writeable = False
            keep = _bands.keep(key, keep)
    return keep


@define
class BandPart(Op):
    """x with zeros outside a band of its last two axes: element (i, j) stays if (lower_ < 0 or i - j <= lower_) and (upper < 0 or
    j - i <= upper).
    """

    name = "band_part"
    keeps = (False, False)
    words = {"lower_": "num_lower", "upper": "num_upper"}
    lower_: Limit
    upper: Limit

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_rank("band_part", x, 2, "input")
        return x

    def eval(self, x: Array) -> Array:
        if x.ndim > 1 and not are_few(x.size):
            found = by_step(kernels.forms.Band(self.lower_, self.upper), (x,), x.shape, x.dtype, x.size)
            if found is not None:
                return found  # type: ignore[no-any-return]
        rows, columns = x.shape[-2:]
        return chosen(_band(rows, columns, self.lower_, self.upper), x, x.dtype.type(0))

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        (x,), evaluate = specs, self.eval
        dims, dtype = ranked(x.dims), x.dtype.numpy
        if product(dims) >= FEW_CHOSEN or dtype.kind not in "iufc":
            return None
        band, zero = _band(dims[-2], dims[-1], self.lower_, self.upper), dtype.type(0)
        return lambda x: np.where(band, x, zero) if type(x) is np.ndarray else evaluate(x)

    @else_eval("which element is kept is told by its place, and a loop sees only its value")
    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Band(self.lower_, self.upper)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(self, g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(self, x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return matrix_rows(specs, axes, (2,))


def _one_integer(k: Tensor) -> Tensor:
    require_kind("band_part", k, INTEGER, "num_lower and num_upper")
    if k.ndim:
        raise InvalidArgumentError(
            f"band_part: num_lower and num_upper must be scalars, got shape {format_dims(k.dims)}."
        )
    return k if k.ndim == 0 else ensure_shape(k, ())


def _band_of(x: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """`band_part` for numbers that only the run knows."""
    if x.ndim is not None and x.ndim < 2:
        return bind(BandPart(0, 0), x)  # which says so
    sizes = shape(x, int64)
    below = expand_dims(numbers(sizes[-2]), 1) - numbers(sizes[-1])
    lower, upper = (
        where(k < 0, reduce_max(sizes), cast(k, int64)) for k in map(_one_integer, (lower, upper))
    )
    return where(logical_and(less_equal(below, lower), less_equal(-below, upper)), x, zeros_like(x))


def band_part(
    input: TensorLike, num_lower: TensorLike, num_upper: TensorLike, name: str | None = None
) -> Tensor:
    """`input` with zeros outside a band around the main diagonal of its last two axes.

    Args:
      input: Tensor [..., n, m] of any dtype.
      num_lower, num_upper: Diagonals to keep below and above the main one; negative keeps all. (-1, 0) is the lower triangle.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): it has fewer than two axes; ArgumentTypeError or DTypeError (TypeErrors): a
      number of diagonals is no integer.
    Example:
      >>> linalg.band_part([[1, 2], [3, 4]], 0, -1).numpy()
      array([[1, 2],
             [0, 4]], dtype=int32)
    """
    lower, upper = (
        static_int("band_part", num_lower, "num_lower"),
        static_int("band_part", num_upper, "num_upper"),
    )
    if lower is None or upper is None:
        return _band_of(lift(input), lift(num_lower), lift(num_upper))
    return bind(BandPart(lower, upper), lift(input))


def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """The sum of the main diagonal of the last two axes: [..., n, m] becomes [...].

    Args:
      x: Tensor [..., n, m] of any numeric dtype.
    Returns: Tensor [...] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): it has fewer than two axes.
    Example:
      >>> linalg.trace([[1, 2], [3, 4]]).numpy()
      np.int32(5)
    """
    if is_operator(x):
        return x.trace()  # type: ignore[no-any-return]
    return reduce_sum(bind(DiagPart(0), lift(x)), axis=-1)
