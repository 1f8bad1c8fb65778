"""Reductions: sums, means, products, extremes, logic, log-sum-exp.

All share one convention for axes: sorted and counted from 0 when the rank is known, else as given; None for all axes of an
unknown rank. A VJP restores the reduced axes with size 1 and broadcasts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

import graphad.kernels as kernels
from graphad.core import dtypes
from graphad.core.annotations import (
    Array,
    AxisLike,
    BatchContext,
    Cotangents,
    Ranked,
    ReductionFunction,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.dims import product
from graphad.core.errors import ArgumentTypeError
from graphad.core.op import MIXED, Op, define, no_gradient
from graphad.core.registry import lookup
from graphad.core.schema import Axes
from graphad.core.shapes import normalize_axes, ranked, reduced_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.accumulate import (
    ADDED,
    ALL_TRUE,
    ANY_TRUE,
    PLAIN_SUM,
    as_dtype_of,
    by_columns,
    combined,
    has_short_rows,
    is_narrow,
    is_plain,
    log_sum_of_few,
    summed,
    wide,
    widened,
)
from graphad.ops.array.broadcast import BroadcastTo, broadcast_like
from graphad.ops.array.passing import IDENTITY
from graphad.ops.array.reshape import ExpandDims, Squeeze, reshape, reshape_like
from graphad.ops.array.support import is_open, over_open_axes
from graphad.ops.directly import directly, is_eager, is_normal
from graphad.ops.elementwise import named
from graphad.ops.math.arithmetic import ADD, DIV, MUL, SUB, scaled
from graphad.ops.math.cast import Cast, rounded_once
from graphad.ops.math.compare import EQUAL, IS_FINITE
from graphad.ops.math.complexes import conjugate
from graphad.ops.math.element_count import count_over
from graphad.ops.math.exponential import EXP, LOG
from graphad.ops.math.select import SELECT
from graphad.ops.overwrite import overwrite
from graphad.ops.rules import BOOLEAN, FLOATING, NUMERIC, REAL, require_kind, scalar_like
from graphad.ops.short import lift_of, quick_dtypes, short_way


class Reduction(Op):
    """y is x reduced over `axes`. Subclasses are made with `@define`, which adds the attributes.

    Class attributes: kinds, the dtype kinds it takes; combine, the name of its combination in kernels, None if it has no
    kernel.
    """

    total = carries_masks = True
    keeps = (False, False)
    kinds: ClassVar[frozenset[str]] = NUMERIC
    combine: ClassVar[str | None] = None
    axes: Axes | None
    keepdims: bool

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_kind(self.name, x, self.kinds)
        if x.dims is not None and self.axes is not None:
            normalize_axes(self.name, self.axes, len(x.dims), "x", x.dims)
        return TensorSpec.of(reduced_dims(x.dims, self.axes, self.keepdims), x.dtype)

    if TYPE_CHECKING:

        def eval(self, x: Array) -> Array: ...

    def quick(self, x: Tensor) -> Array | None:
        if self.axes is None and self.kinds >= FLOATING:
            data = x.data
            if data.ndim and data.dtype.char in "fd":
                return self.eval(data)
        return None

    def over(self, rank: int) -> tuple[int, ...]:
        """The axes counted from 0 and sorted."""
        return tuple(range(rank)) if self.axes is None else tuple(sorted([axis % rank for axis in self.axes]))

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        axes = tuple([axis + 1 for axis in self.over(len(x.dims) - 1)])
        return bind(type(self)(axes, self.keepdims), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        axis = axes[0]
        if axis is None:
            return None
        gone = self.over(len(specs[0].dims or ()))
        if axis in gone:
            return MIXED
        return axis if self.keepdims else axis - sum(1 for other in gone if other < axis)

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        if self.combine is None or kernels.scalars.kind_of(x.dtype) not in _KERNEL_KINDS[self.combine]:
            return None
        return kernels.forms.Reduce(
            kernels.forms.identity_map(x.dtype), self.combine, self.over(len(x.dims or ())), self.keepdims
        )

    def restored(self, ctx: VjpContext, g: Tensor) -> Tensor:
        """`g`, shaped like the output, with the reduced axes restored as axes of size 1."""
        if self.keepdims:
            return g
        dims = ctx.shape(0)
        if self.axes is None:
            return g if dims is None else bind(ExpandDims(tuple(range(len(dims)))), g) if dims else g
        return bind(ExpandDims(self.axes), g) if self.axes else g

    def touching(self, ctx: VjpContext, y_bar: Tensor) -> Tensor:
        return self.restored(ctx, y_bar)

    def spread(self, ctx: VjpContext, g: Tensor) -> Tensor:
        """`g` broadcast back to the shape of the input."""
        dims = ctx.shape(0)
        if not self.keepdims and dims is not None:
            # Leading axes are restored by broadcasting alone.
            if self.axes is None:
                return broadcast_like(g, ctx, 0)
            over = self.over(len(dims))
            return broadcast_like(g if over == tuple(range(len(over))) else bind(ExpandDims(over), g), ctx, 0)
        return broadcast_like(self.restored(ctx, g), ctx, 0)

    def spread_array(self, ctx: VjpContext, g: Array) -> Cotangents | None:
        """The same of an array of floats, not of two bytes."""
        dims = ctx.shape(0)
        if not dims or g.dtype.char not in "fd":
            return None
        if g.shape and not self.keepdims:
            over = self.over(len(dims))
            g = g.reshape([1 if k in over else size for k, size in enumerate(ranked(dims))])
        return (EagerTensor(BroadcastTo(dims).eval(g)),)


_FLOATS_INTS = frozenset({"float", "integer"})
_KERNEL_KINDS = {
    "add": _FLOATS_INTS | {"complex"},
    "mul": _FLOATS_INTS | {"complex"},
    "max": _FLOATS_INTS,
    "min": _FLOATS_INTS,
    "and": frozenset({"bool"}),
    "or": frozenset({"bool"}),
}


@define
class ReduceSum(Reduction):
    """The sum over `axes`; 0 for none."""

    name, combine = "reduce_sum", "add"
    axes: Axes | None = None
    keepdims: bool = False

    def eval(self, x: Array) -> Array:
        return summed(x, self.axes, self.keepdims)

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        (x,), axes, keepdims = specs, self.axes, self.keepdims
        dtype = x.dtype.numpy
        if not is_plain(x) or dtype.kind not in "fc":
            return None
        return lambda x: PLAIN_SUM(x, axes, dtype, None, keepdims)

    def quick_vjp(self, ctx: VjpContext, g: Array) -> Cotangents | None:
        return self.spread_array(ctx, g) if g.shape else None

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (self.spread(ctx, g),)


@define
class ReduceMean(Reduction):
    """The mean over `axes`: the sum divided by the number of elements; for integers without overflow and rounded towards 0. Of
    no elements it is NaN for floats and an error for integers.
    """

    name = "reduce_mean"
    takes_symbols = False
    axes: Axes | None = None
    keepdims: bool = False

    def eval(self, x: Array) -> Array:
        count = x.size if self.axes is None else product([x.shape[axis] for axis in self.axes])
        if x.dtype.kind in "iu":
            return _integer_mean(x, self.axes, self.keepdims, count)  # type: ignore[no-any-return]
        total = ADDED(x, self.axes, wide(x.dtype), None, self.keepdims)
        return as_dtype_of(total / total.dtype.type(count), x)

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        (x,), axes, keepdims = specs, self.axes, self.keepdims
        if not is_plain(x) or x.dtype.numpy.kind not in "fc":
            return None
        dims, dtype = ranked(x.dims), x.dtype.numpy
        count = dtype.type(product([dims[axis] for axis in self.over(len(dims))]))
        return lambda x: PLAIN_SUM(x, axes, dtype, None, keepdims) / count

    def quick_vjp(self, ctx: VjpContext, g: Array) -> Cotangents | None:
        # A scalar result, as a loss in nearly every model, is the mean over all axes, however they are given.
        if g.shape:
            if g.dtype.char not in "fd":
                return None
            sizes = ranked(ctx.shape(0))
            count = product(sizes if self.axes is None else [sizes[axis] for axis in self.axes])
            return self.spread_array(ctx, g / g.dtype.type(count))
        x_bar = np.empty(ranked(ctx.shape(0)), g.dtype)
        if not (x_bar.ndim and x_bar.size):
            return None
        x_bar.fill(g / wide(g.dtype).type(x_bar.size))
        return (EagerTensor(x_bar),)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        dtype = g.dtype
        if is_narrow(dtype.numpy):  # the dtype may not be able to hold the count
            count = count_over(self.axes, ctx.inputs[0], dtypes.float32)
            return (self.spread(ctx, bind(Cast(dtype), bind(DIV, bind(Cast(dtypes.float32), g), count))),)
        return (self.spread(ctx, bind(DIV, g, count_over(self.axes, ctx.inputs[0], dtype))),)


def _integer_mean(x: Array, axes: Sequence[int] | None, keepdims: bool, count: int) -> Any:
    """The mean rounded towards 0, from the sums of quotients and remainders, neither of which overflows."""
    if not count:
        return np.zeros_like(ADDED(x, axes, x.dtype, None, keepdims))
    word = np.uint64 if x.dtype.kind == "u" else np.int64
    n = word(count)
    quotients, remainders = np.divmod(x.astype(word), n)
    rest = ADDED(remainders, axes, None, None, keepdims)
    mean = ADDED(quotients, axes, None, None, keepdims) + rest // n
    return (mean + ((mean < 0) & (rest % n != 0))).astype(x.dtype)


class _Extreme(Reduction):
    """The largest or smallest element over axes; tied elements share the cotangent evenly."""

    keeps = (True, True)
    kinds = REAL
    formula: ClassVar[Any]  # np.maximum or np.minimum

    def eval(self, x: Array) -> Array:
        formula = type(self).formula
        if has_short_rows(x, self.axes):
            return by_columns(formula, x, self.keepdims)
        if getattr(x, "size", 1):
            return formula.reduce(x, self.axes, None, None, self.keepdims)  # type: ignore[no-any-return]
        lowest = kernels.scalars.identity_of(self.combine or "", dtypes.from_numpy(x.dtype))
        return formula.reduce(x, self.axes, None, None, self.keepdims, initial=lowest)  # type: ignore[no-any-return]

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        (x,), axes, keepdims = specs, self.axes, self.keepdims
        reduce = type(self).formula.reduce
        if not is_plain(x) or not product(ranked(x.dims)):
            return None
        return lambda x: reduce(x, axes, None, None, keepdims)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        x = ctx.inputs[0]
        found = directly(self._without_ties, x, ctx.outputs[0], g)
        if found is not None:
            return (found,)
        chosen = bind(Cast(g.dtype), bind(EQUAL, x, self.restored(ctx, ctx.outputs[0])))
        ties = bind(ReduceSum(self.axes, True), chosen)
        return (overwrite(MUL, chosen, bind(DIV, self.restored(ctx, g), ties)),)

    def _without_ties(self, x: Array, y: Array, g: Array) -> Any:
        """The cotangent of many floats where no two share an extreme: the same products, without a sum of the ties."""
        if x.size < _MANY or x.dtype.kind != "f":
            return None
        if not self.keepdims:
            over = self.over(x.ndim)
            kept = [1 if k in over else size for k, size in enumerate(x.shape)]
            y, g = y.reshape(kept), g.reshape(kept)
        is_extreme = np.equal(x, y)
        if np.count_nonzero(is_extreme) != y.size or np.isnan(y).any():
            return None
        share = is_extreme.astype(g.dtype)
        return share if (g == 1).all() else np.multiply(share, g, share)


_MANY = 2048  # elements; for fewer the ops take no longer


@define
class ReduceMax(_Extreme):
    """The largest element over `axes`, NaN if there is one; for none the lowest number of the dtype (-inf for floats)."""

    name, combine, formula = "reduce_max", "max", np.maximum
    axes: Axes | None = None
    keepdims: bool = False


@define
class ReduceMin(_Extreme):
    """The smallest element over `axes`, NaN if there is one; for none the largest number of the dtype (inf for floats)."""

    name, combine, formula = "reduce_min", "min", np.minimum
    axes: Axes | None = None
    keepdims: bool = False


@define
class ReduceProd(Reduction):
    """The product over `axes`; 1 for none."""

    name, combine = "reduce_prod", "mul"
    keeps = (True, False)
    axes: Axes | None = None
    keepdims: bool = False

    def eval(self, x: Array) -> Array:
        return combined(np.multiply, x, self.axes, self.keepdims)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        others = lookup("product_of_others")  # by name: few programs need its module
        x = ctx.inputs[0]
        dims = ctx.shape(0)
        if self.axes is None and dims is None:
            flat = reshape(x, [-1])
            g = bind(MUL, reshape(g, [1]), conjugate(bind(others(0), flat)))
            return (reshape_like(g, ctx, 0),)
        if x.dtype.itemsize >= 4 and is_eager(x) and x.data.size >= _MANY:
            # Products that are ordinary numbers are divided by their factors.
            whole = bind(ReduceProd(self.axes, True), x)
            if is_normal(whole):
                return (bind(MUL, self.restored(ctx, g), bind(DIV, whole, x)),)
        axes = (self.axes or ()) if dims is None else self.over(len(dims))
        # One axis after the other: `part` is the product over the axes so far, `factor` what multiplies the cotangent.
        factor, part = self.restored(ctx, g), x
        for axis in axes:
            factor = scaled(ctx, factor, conjugate(bind(others(axis), part)))
            part = bind(ReduceProd((axis,), True), part)
        return (factor,)


@define
class ReduceAll(Reduction):
    """Whether all elements over `axes` are true; true for none."""

    name, combine, kinds = "reduce_all", "and", BOOLEAN
    axes: Axes | None = None
    keepdims: bool = False

    def eval(self, x: Array) -> Array:
        return ALL_TRUE(x, self.axes, None, None, self.keepdims)  # type: ignore[no-any-return]

    vjp = no_gradient("a truth value is piecewise constant")


@define
class ReduceAny(Reduction):
    """Whether any element over `axes` is true; false for none."""

    name, combine, kinds = "reduce_any", "or", BOOLEAN
    axes: Axes | None = None
    keepdims: bool = False

    def eval(self, x: Array) -> Array:
        return ANY_TRUE(x, self.axes, None, None, self.keepdims)  # type: ignore[no-any-return]

    vjp = no_gradient("a truth value is piecewise constant")


@define
class ReduceLogSumExp(Reduction):
    """log(sum(exp(x))) over `axes`, without overflow; -inf for none."""

    name, kinds = "reduce_logsumexp", FLOATING
    keeps = (True, True)
    axes: Axes | None = None
    keepdims: bool = False

    def eval(self, x: Array) -> Array:
        dtype, x = x.dtype, widened(x)
        top = np.maximum.reduce(x, self.axes, keepdims=True, initial=-np.inf)
        top = np.where(np.isfinite(top), top, top.dtype.type(0))
        total = ADDED(np.exp(x - top), self.axes, None, None, True)
        y = (np.log(total) + top).astype(dtype)
        y = y if self.keepdims else np.squeeze(y, None if self.axes is None else self.axes)
        return y if y.ndim else y[()]  # type: ignore[no-any-return]

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        if not is_plain(specs[0]) or not product(ranked(specs[0].dims)):
            return None
        return log_sum_of_few(self.axes, ranked(self.infer(*specs).dims), self.eval)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        # The result is rounded relative to its own size, so for large values the shares must be normalised to sum to 1.
        share = bind(EXP, bind(SUB, ctx.inputs[0], self.restored(ctx, ctx.outputs[0])))
        total = bind(ReduceSum(self.axes, True), share)
        total = bind(SELECT, bind(IS_FINITE, total), total, scalar_like(1.0, total))
        share = bind(DIV, share, total)
        return (scaled(ctx, self.restored(ctx, g), share),)

    @rounded_once
    def expand(self, x: Ranked) -> Tensor | None:
        axes = self.over(len(x.dims))
        top = bind(ReduceMax(axes, True), x)
        top = bind(SELECT, bind(IS_FINITE, top), top, scalar_like(0.0, top))
        total = bind(ReduceSum(axes, True), bind(EXP, bind(SUB, x, top)))
        y = bind(ADD, bind(LOG, total), top)
        return y if self.keepdims or not axes else bind(Squeeze(axes), y)


# -- public functions --------------------------------------------------------------------------------------------------


def as_axes(op: str, axis: object, x: Tensor) -> tuple[int, ...] | None:
    """The `axis` argument of a public function: None, an integer, a list or tuple of them, or an eager tensor."""
    if axis is None:
        return normalize_axes(op, None, x.ndim)
    if isinstance(axis, Tensor):
        axis = axis.known
    if isinstance(axis, np.ndarray | np.generic):
        axis = axis.tolist()
    if isinstance(axis, float) or (
        not hasattr(axis, "__index__") and not isinstance(axis, list | tuple | range)
    ):
        raise ArgumentTypeError(f"{op}: axis must be None, an integer or a list of integers, got {axis!r}.")
    return normalize_axes(op, axis, x.ndim, "x", x.dims)


def _reduce(op_class: type[Reduction], x: Tensor, axis: object, keepdims: bool) -> Tensor:
    if is_open(axis):
        return over_open_axes(op_class.name, axis, x, lambda axes: _reduce(op_class, x, axes, keepdims))
    axes = as_axes(op_class.name, axis, x)
    if not axes and axes is not None:
        require_kind(op_class.name, x.spec, op_class.kinds)
        return bind(IDENTITY, x)  # nothing to reduce, but tapes must see a new tensor
    return bind(op_class(axes, bool(keepdims)), x)


_ARGUMENTS = """
    Args:
      input_tensor: Tensor [...], {kinds}.
      axis: Axis or list of axes to reduce, negative ones from the end; None for all.
      keepdims: Keep the reduced axes with size 1.
    """


_ERRORS = """
    Raises: InvalidArgumentError (a ValueError): an axis is out of range; DTypeError (a TypeError): another dtype.
    """.removeprefix("\n")


def _reduction(
    op_class: type[Reduction], first: str, kinds: str, last: str, *, example: str
) -> ReductionFunction:
    dtypes, lifted = quick_dtypes(op_class.kinds), lift_of(op_class.kinds)
    over_all: Reduction | None = None  # made when it is first used

    def quick(x: EagerTensor, axis: AxisLike, keepdims: bool) -> Tensor | None:
        nonlocal over_all
        data = x.data
        if data.dtype in dtypes:
            if axis is None and not keepdims:
                if over_all is None:
                    over_all = op_class(None, False)
                return EagerTensor(over_all.eval(data))
            if type(axis) is int and -data.ndim <= axis < data.ndim:
                y = op_class((axis % data.ndim,), bool(keepdims)).eval(data)
                return EagerTensor(y if y.ndim else y[()])
            if type(axis) in (list, tuple):
                given: Any = axis
                ndim = data.ndim
                places = {place % ndim for place in given if type(place) is int and -ndim <= place < ndim}
                if places and len(places) == len(given):
                    y = op_class(tuple(sorted(places)), bool(keepdims)).eval(data)
                    return EagerTensor(y if y.ndim else y[()])
        return None

    @short_way(quick)
    def function(
        input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
    ) -> Tensor:
        if type(input_tensor) is EagerTensor and axis is None and not keepdims and input_tensor.data.shape:
            return bind(over_all or op_class(None, False), input_tensor)
        return _reduce(op_class, lifted(input_tensor), axis, keepdims)

    returns = f"Returns: Tensor without these axes, with the dtype of the input{last}.\n"
    doc = f"{first}\n{_ARGUMENTS.format(kinds=kinds)}{returns}{_ERRORS}"
    return named(function, op_class.name, f"{doc}Example:\n      >>> {op_class.name}({example}\n    ")


reduce_sum = _reduction(
    ReduceSum,
    "The sum of the elements over axes.",
    "any numeric dtype",
    "; 0 for no elements",
    example="[[1.0, 2.0], [3.0, 4.0]], axis=0).numpy()\n      array([4., 6.], dtype=float32)",
)
reduce_mean = _reduction(
    ReduceMean,
    "The mean of the elements over axes.",
    "any numeric dtype",
    "; integers are rounded towards 0, no elements give nan",
    example="[[1.0, 2.0], [3.0, 4.0]], axis=0).numpy()\n      array([2., 3.], dtype=float32)",
)
reduce_max = _reduction(
    ReduceMax,
    "The largest element over axes.",
    "a real dtype",
    "; the lowest number for no elements. Ties share the gradient evenly",
    example="[[1.0, 2.0], [3.0, 4.0]], axis=1).numpy()\n      array([2., 4.], dtype=float32)",
)
reduce_min = _reduction(
    ReduceMin,
    "The smallest element over axes.",
    "a real dtype",
    "; the highest number for no elements. Ties share the gradient evenly",
    example="[[1.0, 2.0], [3.0, 4.0]], axis=1).numpy()\n      array([1., 3.], dtype=float32)",
)
reduce_prod = _reduction(
    ReduceProd,
    "The product of the elements over axes.",
    "any numeric dtype",
    "; 1 for no elements",
    example="[1.0, 2.0, 3.0]).numpy()\n      np.float32(6.0)",
)
reduce_all = _reduction(
    ReduceAll,
    "Whether all elements over axes are true.",
    "dtype bool",
    "; True for no elements",
    example="[True, False]).numpy()\n      np.False_",
)
reduce_any = _reduction(
    ReduceAny,
    "Whether any element over axes is true.",
    "dtype bool",
    "; False for no elements",
    example="[True, False]).numpy()\n      np.True_",
)
reduce_logsumexp = _reduction(
    ReduceLogSumExp,
    "log(sum(exp(x))) over axes without overflow.",
    "a float dtype",
    "; -inf for no elements",
    example="[1000.0, 1000.0]).numpy()\n      np.float32(1000.69315)",
)
