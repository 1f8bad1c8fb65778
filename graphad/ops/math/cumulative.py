"""Running sums and products along one axis.

The derivative of a running product is a linear recurrence, y[k] = b[k] + a[k] * y[k - 1], whose own derivative is the same
recurrence in the other direction. So derivatives of every order are exact, zeros included, and each costs one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    AxisLike,
    BatchContext,
    Cotangents,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import Op, define, else_eval, no_form
from graphad.core.schema import Axis
from graphad.core.shapes import are_compatible, are_numbers, format_dims, normalize_axis
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import as_dtype_of, running, widened
from graphad.ops.array.support import is_open, over_open_axes, row_beside, same_row
from graphad.ops.directly import directly
from graphad.ops.math.arithmetic import ADD, MUL, MUL_ZERO, SUB
from graphad.ops.math.compare import IS_FINITE, NOT_EQUAL, TAKEN
from graphad.ops.math.complexes import conjugate
from graphad.ops.math.exponential import EXP
from graphad.ops.math.select import MINIMUM, SELECT
from graphad.ops.native_steps import by_step, recurrence_by_loop
from graphad.ops.rules import (
    FLOATING,
    INEXACT,
    OF_A_SOLUTION,
    broadcast_specs,
    require_kind,
    require_numeric,
    same_dtype,
    scalar_like,
)


def _check_axis(op: str, axis: int, x: TensorSpec) -> TensorSpec:
    if x.dims is not None:
        normalize_axis(op, axis, len(x.dims), "x", x.dims)
    return x


def _behind(axis: int, x: Ranked) -> int:
    """The axis of a row, as counted in the stack x, whose first axis is the loop axis."""
    return axis % (len(x.dims) - 1) + 1


def shifted(x: Array, axis: int, fill: float) -> Array:
    """x shifted by one along the axis: `fill` enters at the front, the last element is dropped."""
    y = np.empty_like(x)
    into, start, out = [slice(None)] * x.ndim, [slice(None)] * x.ndim, [slice(None)] * x.ndim
    into[axis], start[axis], out[axis] = slice(1, None), slice(0, 1), slice(0, -1)
    y[tuple(into)] = x[tuple(out)]
    y[tuple(start)] = fill
    return y


def _counted(y_bar: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    """For each place along the axis how many elements up to there are not 0."""
    zero, one = scalar_like(0, y_bar), scalar_like(1, y_bar)
    ones = bind(SELECT, bind(NOT_EQUAL, y_bar, zero), one, zero)
    return bind(CumSum(axis, exclusive, reverse), ones)


_CONTINUES = "each element continues the one before it, and the steps of a loop hand nothing on"


class _Running(Op):
    """The base of running sums and products."""

    total = carries_masks = True
    axis: Axis
    exclusive: bool
    reverse: bool

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_numeric(self.name, x)
        _check_axis(self.name, self.axis, x)
        return TensorSpec.of(x.dims, x.dtype)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(type(self)(_behind(self.axis, x), self.exclusive, self.reverse), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return row_beside(same_row(axes), specs[0], self.axis)

    def touching(self, ctx: VjpContext, y_bar: Tensor) -> Tensor:
        return _counted(y_bar, self.axis, self.exclusive, not self.reverse)

    def by_step(self, x: Array, way: str) -> Array | None:
        form = kernels.forms.Running(way, self.axis % x.ndim, self.exclusive, self.reverse)
        return by_step(form, (x,), x.shape, x.dtype, x.size)  # type: ignore[no-any-return]

    def accumulate(self, x: Array, formula: np.ufunc, fill: float) -> Array:
        x = np.flip(x, self.axis) if self.reverse else x
        y = running(formula, x, self.axis)
        y = shifted(y, self.axis, fill) if self.exclusive else y
        return arrays.copy(np.flip(y, self.axis)) if self.reverse else y


@define
class CumSum(_Running):
    """y[..., i, ...] is the sum of x[..., :i + 1, ...] along `axis`; with `exclusive` of x[..., :i, ...], an empty sum being 0;
    with `reverse` from the end.
    """

    name = "cumsum"
    keeps = (False, False)
    axis: Axis
    exclusive: bool = False
    reverse: bool = False

    def eval(self, x: Array) -> Array:
        found = self.by_step(x, "add")
        return self.accumulate(x, np.add, 0) if found is None else found

    @else_eval(_CONTINUES)
    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Running("add", self.axis, self.exclusive, self.reverse)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(CumSum(self.axis, self.exclusive, not self.reverse), g),)


@define
class CumProd(_Running):
    """y[..., i, ...] is the product of x[..., :i + 1, ...] along `axis`; with `exclusive` of x[..., :i, ...], an empty product
    being 1; with `reverse` from the end.
    """

    name = "cumprod"
    keeps = (True, True)
    axis: Axis
    exclusive: bool = False
    reverse: bool = False

    def eval(self, x: Array) -> Array:
        found = self.by_step(x, "mul")
        return self.accumulate(x, np.multiply, 1) if found is None else found

    @else_eval(_CONTINUES)
    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Running("mul", self.axis, self.exclusive, self.reverse)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        x = conjugate(ctx.inputs[0])
        # y[i] = x[0] ... x[i], so x_bar[k] = x[0] ... x[k - 1] * (g[k] + x[k + 1] * (g[k + 1] + ...)).
        before: Any = conjugate(ctx.outputs[0]) if self.exclusive else directly(self._before, ctx.outputs[0])
        if before is None:
            before = bind(CumProd(self.axis, True, self.reverse), x)
        if ctx.is_masked:  # what only elements read that were not taken does not reach the others
            read = _counted(g, self.axis, self.exclusive, not self.reverse)
            kept = bind(TAKEN, bind(NOT_EQUAL, read, scalar_like(0, read)), bind(IS_FINITE, x))
            x = bind(SELECT, kept, x, scalar_like(0, x))
        if self.exclusive:
            return (_exclusive_bar(x, g, before, self.axis, self.reverse),)
        return (bind(MUL, before, bind(Recurrence(self.axis, self.reverse, True), x, g)),)

    def _before(self, y: Array) -> Array | None:
        """The exclusive products of floats, by the products with each element itself."""
        if y.dtype.kind != "f" or type(y) is not np.ndarray:
            return None
        return (
            np.flip(shifted(np.flip(y, self.axis), self.axis, 1), self.axis)
            if self.reverse
            else shifted(y, self.axis, 1)
        )


@define
class ProductOfOthers(Op):
    """For each element of x the product of all others along `axis`, 1 where there is none: of halves of the axis, of halves of
    these, and so on, so that a zero is exact and few products are rounded one after the other.
    """

    name = "product_of_others"
    carries_masks = True
    keeps = (True, False)
    axis: Axis
    lower = no_form("an element depends on all others along the axis")

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_numeric("product_of_others", x)
        return _check_axis("product_of_others", self.axis, x)

    def eval(self, x: Array) -> Array:
        y = np.moveaxis(_others(np.moveaxis(widened(x), self.axis, 0)), 0, self.axis)
        return arrays.contiguous(as_dtype_of(y, x))

    def touching(self, ctx: VjpContext, y_bar: Tensor) -> Tensor:
        return bind(ADD, *[_counted(y_bar, self.axis, True, reverse) for reverse in (False, True)])

    def expanded(self, x: Ranked) -> Tensor | None:
        return bind(MUL, *self._sides(x))

    def _sides(self, x: Tensor) -> list[Tensor]:
        """The products of all elements before each one, and of all behind it."""
        return [bind(CumProd(self.axis, True, reverse), x) for reverse in (False, True)]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        x = conjugate(ctx.inputs[0])
        before, behind = self._sides(x)
        bars = [
            _exclusive_bar(x, bind(MUL, g, other), side, self.axis, reverse)
            for side, other, reverse in ((before, behind, False), (behind, before, True))
        ]
        return (bind(ADD, *bars),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(ProductOfOthers(_behind(self.axis, x)), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return row_beside(same_row(axes), specs[0], self.axis)


_SHORT = 64  # elements


def _others(x: Any) -> Any:
    """The products of others along the first axis."""
    n = len(x)
    if n < 2:
        return np.ones_like(x)
    if n < _SHORT:
        x = arrays.contiguous(x)  # NumPy's loops then run over what lies beside the axis
    half = n // 2
    first, second, rest = x[:half], x[half : 2 * half], x[2 * half :]
    pairs = np.empty_like(x[half:])
    np.multiply(first, second, pairs[:half])
    pairs[half:] = rest
    above = _others(pairs)
    y = np.empty_like(x)
    np.multiply(above[:half], second, y[:half])
    np.multiply(above[:half], first, y[half : 2 * half])
    y[2 * half :] = above[half:]
    return y


def _exclusive_bar(x: Tensor, g: Tensor, before: Tensor, axis: int, reverse: bool) -> Tensor:
    """The cotangent of x, conjugated, by that of its exclusive products, which are `before`.

    The last element is in none of them: it is multiplied by nothing, since it may be infinite, and its own cotangent is 0.
    """
    sums = bind(Recurrence(axis, reverse, True), bind(Shift(axis, reverse), x), g)
    return bind(MUL_ZERO, bind(Shift(axis, not reverse), sums), before)


@define
class Shift(Op):
    """y[i] = x[i - 1] along `axis` and y[0] = 0; with `reverse` y[i] = x[i + 1], and 0 at the end."""

    name = "shift_by_one"
    carries_masks = True
    keeps = (False, False)
    axis: Axis
    reverse: bool = False

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_numeric("shift_by_one", x)
        return TensorSpec.of(_check_axis("shift_by_one", self.axis, x).dims, x.dtype)

    def eval(self, x: Array) -> Array:
        if not self.reverse:
            return shifted(x, self.axis, 0)
        return arrays.contiguous(np.flip(shifted(np.flip(x, self.axis), self.axis, 0), self.axis))

    def parts_of(
        self, whole: kernels.sites.Site, sites: Sequence[kernels.sites.Site], number: Callable[[int], Any]
    ) -> list[kernels.sites.Part] | None:
        axis, dims = self.axis % len(whole.shape), list(whole.shape)
        if not are_numbers(dims[axis : axis + 1]):
            return None
        zeros = kernels.sites.Part(0, whole)
        if not dims[axis]:
            return [zeros]
        dims[axis] -= 1
        source = sites[0].piece(axis, int(self.reverse), dims)
        target = whole.piece(axis, int(not self.reverse), dims)
        return [zeros, kernels.sites.Part(source, target)]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(Shift(self.axis, not self.reverse), g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(Shift(_behind(self.axis, x), self.reverse), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return row_beside(same_row(axes), specs[0], self.axis)


@define
class Recurrence(Op):
    """y[k] = b[k] + a[k] * y[k - 1] along `axis`, with y[-1] = 0; if `transposed`, y[k] = b[k] + a[k + 1] * y[k + 1], with 0
    after the end. With `reverse`, a and b are reversed along the axis first and the result is reversed back.
    """

    name = "linear_recurrence"
    carries_masks = True
    keeps, keeps_alone = ((0,), True), OF_A_SOLUTION
    axis: Axis
    reverse: bool = False
    transposed: bool = False

    def infer(self, a: TensorSpec, b: TensorSpec) -> TensorSpec:
        dtype = same_dtype("linear_recurrence", (a, b))
        require_kind("linear_recurrence", a, INEXACT)
        out = broadcast_specs("linear_recurrence", (a, b), dtype)
        if not are_compatible(a.dims, b.dims):
            raise InvalidArgumentError(
                f"linear_recurrence: a has shape {format_dims(a.dims)}, b {format_dims(b.dims)}; they must be equal."
            )
        return _check_axis("linear_recurrence", self.axis, out)

    def eval(self, a: Array, b: Array) -> Array:
        backwards = self.reverse != self.transposed
        if a.shape != b.shape:
            raise InvalidArgumentError(
                f"linear_recurrence: a has shape {a.shape}, b {b.shape}; they must be equal."
            )
        found = recurrence_by_loop(a, b, self.axis, backwards, self.transposed)
        if found is not None:
            return found
        a, b = (np.moveaxis(arrays.here(x, "recurrence"), self.axis, 0) for x in (a, b))
        if backwards:
            a, b = a[::-1], b[::-1]
        dtype = b.dtype
        # Rows that lie together: the loop takes one after the other.
        a, b = (np.ascontiguousarray(widened(z)) for z in (a, b))
        y = np.empty(b.shape, b.dtype)
        if len(b):
            y[0] = b[0]
        factors = a[:-1] if self.transposed else a[1:]
        if y.ndim > 1:
            multiply, add = np.multiply, np.add
            for factor, before, row, added in zip(factors, y, y[1:], b[1:], strict=False):
                multiply(factor, before, row)
                add(row, added, row)
        else:
            for k, (factor, added) in enumerate(zip(factors, b[1:], strict=False)):
                y[k + 1] = added + factor * y[k]
        y = y[::-1] if backwards else y
        return np.ascontiguousarray(np.moveaxis(y, 0, self.axis), dtype)

    @else_eval(_CONTINUES)
    def lower(self, a: TensorSpec, b: TensorSpec) -> kernels.forms.Form | None:
        if not are_compatible(a.dims, b.dims):
            return None  # the eval says so
        return kernels.forms.Recurrent(self.axis, self.reverse != self.transposed, self.transposed)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        b_bar = bind(Recurrence(self.axis, self.reverse, not self.transposed), conjugate(ctx.inputs[0]), g)
        if not ctx.needs(0):
            return None, b_bar
        y = ctx.outputs[0]
        if self.transposed:
            a_bar = bind(MUL, bind(Shift(self.axis, self.reverse), b_bar), conjugate(y))
        else:
            a_bar = bind(MUL, b_bar, conjugate(bind(Shift(self.axis, self.reverse), y)))
        return a_bar, b_bar

    def touching(self, ctx: VjpContext, y_bar: Tensor) -> Tensor:
        return _counted(y_bar, self.axis, False, self.reverse == self.transposed)

    def batch(self, ctx: BatchContext, a: Ranked, b: Ranked) -> Tensor:
        a = a if ctx.stacked(0) else ctx.stack(a)
        b = b if ctx.stacked(1) else ctx.stack(b)
        return bind(Recurrence(_behind(self.axis, b), self.reverse, self.transposed), a, b)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return row_beside(same_row(axes), specs[0], self.axis)


@define
class CumLogSumExp(_Running):
    """y[..., i, ...] is log(sum(exp(x[..., :i + 1, ...]))) along `axis`, with `exclusive` of x[..., :i, ...], -inf for no
    elements; with `reverse` from the end.
    """

    name = "cumulative_logsumexp"
    lower = no_form(_CONTINUES)
    keeps = (True, True)
    axis: Axis
    exclusive: bool = False
    reverse: bool = False

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_kind(self.name, x, FLOATING)
        return super().infer(x)

    def eval(self, x: Array) -> Array:
        return self.accumulate(x, np.logaddexp, -np.inf)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        x, y = ctx.inputs[0], ctx.outputs[0]
        if self.exclusive:
            g = bind(Shift(self.axis, not self.reverse), g)
            y = bind(CumLogSumExp(self.axis, False, self.reverse), x)
        # x_bar[k] = exp(x[k] - y[k]) * s[k] with s[k] = g[k] + exp(y[k] - y[k + 1]) * s[k + 1]; no exponent is positive.
        ratio = bind(SUB, bind(Shift(self.axis, self.reverse), y), y)
        ratio = bind(EXP, bind(MINIMUM, ratio, scalar_like(0.0, ratio)))
        s = bind(Recurrence(self.axis, self.reverse, True), ratio, g)
        return (bind(MUL, bind(EXP, bind(SUB, x, y)), s),)


def _along(op_class: type[Any], x: Tensor, axis: object, exclusive: bool, reverse: bool) -> Tensor:
    def along(axis: object) -> Tensor:
        place = normalize_axis(op_class.name, axis, x.ndim, "x", x.dims)
        found: Tensor = bind(op_class(place, bool(exclusive), bool(reverse)), x)
        return found

    return over_open_axes(op_class.name, axis, x, along, False) if is_open(axis) else along(axis)


@blaming
def cumsum(
    x: TensorLike, axis: AxisLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The running sum of `x` along one axis.

    Args:
      x: Tensor [..., n, ...], any numeric dtype.
      axis: Axis to sum along, -rank <= axis < rank.
      exclusive: Leave out the element itself, so that the first result is 0.
      reverse: Sum from the end.
    Returns: Tensor with the shape and dtype of `x`.
    Raises: InvalidArgumentError: `axis` is out of range.
    Example:
      >>> cumsum([1.0, 2.0, 3.0], exclusive=True).numpy()
      array([0., 1., 3.], dtype=float32)
    """
    return _along(CumSum, lift(x), axis, exclusive, reverse)


@blaming
def cumprod(
    x: TensorLike, axis: AxisLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The running product of `x` along one axis.

    Args:
      x: Tensor [..., n, ...], any numeric dtype.
      axis: Axis to multiply along, -rank <= axis < rank.
      exclusive: Leave out the element itself, so that the first result is 1.
      reverse: Multiply from the end.
    Returns: Tensor with the shape and dtype of `x`. The gradient is exact where elements are 0.
    Raises: InvalidArgumentError: `axis` is out of range.
    Example:
      >>> math.cumprod([1.0, 2.0, 3.0]).numpy()
      array([1., 2., 6.], dtype=float32)
    """
    return _along(CumProd, lift(x), axis, exclusive, reverse)


@blaming
def cumulative_logsumexp(
    x: TensorLike, axis: AxisLike = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """The running log(sum(exp(x))) of `x` along one axis, without overflow.

    Args:
      x: Tensor [..., n, ...], a float dtype.
      axis: Axis to sum along, -rank <= axis < rank.
      exclusive: Leave out the element itself; the first result is -inf.
      reverse: Sum from the end.
    Returns: Tensor with the shape and dtype of `x`.
    Raises: InvalidArgumentError: `axis` is out of range.
    """
    return _along(CumLogSumExp, lift(x), axis, exclusive, reverse)
