"""Axes in another order, or walked the other way: transpose, swap, reverse, roll.

Each op is a permutation of elements, so its gradient is the inverse permutation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

import graphad.kernels as kernels
from graphad.core.annotations import (
    Array,
    AxisLike,
    BatchContext,
    Cotangents,
    FoldContext,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind, constant_here
from graphad.core.blame import blamed, blaming
from graphad.core.composed import Composed
from graphad.core.convert import lift
from graphad.core.dims import Size
from graphad.core.dtypes import DType, int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, Op, define, else_eval
from graphad.core.references import ALL, entries_of, is_reference
from graphad.core.refusal import refuse
from graphad.core.registry import lookup
from graphad.core.schema import Axes, Axis, Given, IntegerSpec, Permutation
from graphad.core.shapes import format_dims, normalize_axes, normalize_axis, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.join import Concat
from graphad.ops.array.reshape import Reshape, reshape
from graphad.ops.array.shape import ElementCount
from graphad.ops.array.support import (
    INTEGERS,
    index_tensor,
    over_open_axes,
    row_beside,
    static_array,
    static_here,
)
from graphad.ops.math.arithmetic import MOD
from graphad.ops.math.cast import Cast
from graphad.ops.math.complexes import CONJ

REVERSED: Literal["reversed"] = "reversed"


def _order_was_input(attributes: dict[str, Any], inputs: int, outputs: int) -> Composed:
    """Its `perm` is the second input, a vector of integers; with `inverse`, it is the permutation that undoes that one."""
    by_input = Transpose(((ALL, 1),))
    if not attributes["inverse"]:
        return Composed([(by_input, (0, 1))])
    length, wide, order = ElementCount(int64), Cast(int64), _sorting(int64)
    return Composed([(length, (1,)), (wide, (1,)), (MOD, (3, 2)), (order, (4,)), (by_input, (0, 5))])


def _sorting(dtype: DType) -> Op:
    """The op that gives the order of a vector. Few permutations are inputs, and what sorts is imported with the first."""
    order: Op = lookup("argsort")(0, False, dtype)
    return order


@define
class Transpose(Op):
    """Axis i of the result is axis perm[i] of x; "reversed" stands for all axes in reverse order."""

    name, version = "transpose", 2
    takes_spread = carries_masks = True
    total = True
    keeps = (False, False)
    aliases = {0: 0}
    refers_to_sizes = False
    perm: Given[Permutation | Literal["reversed"]]
    composed_formerly = {"transpose_by": _order_was_input}

    @classmethod
    def upgrade(cls, version: int, attributes: dict[str, Any]) -> dict[str, Any]:
        """nil stood for all axes in reverse order"""
        return {"perm": REVERSED if attributes["perm"] is None else attributes["perm"]}

    def order(self, rank: int) -> tuple[int, ...]:
        """The axes of x in the order of the result, counted from the front."""
        if self.perm == REVERSED:
            return tuple(range(rank))[::-1]
        return tuple([axis % rank if type(axis) is int else axis for axis in self.perm])

    def infer(self, x: TensorSpec) -> TensorSpec:
        dims, perm = x.dims, self.perm
        if perm is None or perm == REVERSED:
            return x if dims is None else x.with_dims((None,) * len(dims) if perm is None else dims[::-1])
        if dims is None:
            return x.with_dims((None,) * len(perm))
        rank = len(dims)
        if len(perm) != rank:
            raise InvalidArgumentError(
                f"transpose: perm {perm} has {len(perm)} entries, x has shape {format_dims(dims)} of rank {rank}; "
                "give one entry for each axis."
            )
        named = [axis for axis in perm if axis is not None]
        if any(not -rank <= axis < rank for axis in named) or len({axis % rank for axis in named}) < len(
            named
        ):
            raise _no_permutation(perm, rank)
        return x.with_dims(tuple([None if axis is None else dims[axis] for axis in perm]))

    def eval(self, x: Array) -> Array:
        return np.transpose(x, None if self.perm == REVERSED else self.perm)

    def quick(self, x: Tensor) -> Array | None:
        data: Any = x.data
        return (
            data.transpose(None if self.perm == REVERSED else self.perm) if type(data) is np.ndarray else None
        )

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        if self.refers:
            order = _vector_of(self.perm, ctx.inputs[1:])
            undone = bind(_sorting(order.dtype), _from_front(order))
            return (bind(Transpose(((ALL, 1),)), g, undone),)
        return (bind(self if self.perm == REVERSED else Transpose(inverse(self.perm)), g),)

    def batch(self, ctx: BatchContext, x: Ranked, *given: Ranked) -> Tensor:
        if given:
            order = _from_front(_vector_of(self.perm, given))
            behind = order + lift(np.array(1, order.dtype.numpy))
            front = lift(np.zeros(1, order.dtype.numpy))
            return bind(Transpose(((ALL, 1),)), x, bind(Concat(0), front, behind))
        return bind(Transpose((0, *[i + 1 for i in self.order(len(x.dims) - 1)])), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        if axes[0] is None:
            return None
        order = self.order(len(specs[0].dims or ()))
        return order.index(axes[0]) if axes[0] in order else MIXED  # the target position is an input

    def settled(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return bind(Transpose(permutation(self.perm, len(x.dims))), x)

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.View("transpose", self.order(len(x.dims or ())))


def _vector_of(sizes: Any, given: Sequence[Tensor]) -> Tensor:
    """The inverse of `requested`: the sizes of an attribute as one integer vector."""
    whole = given[0]
    if sizes == ((ALL, 1),) or (sizes == entries_of((None,) * len(sizes)) and whole.dims == (len(sizes),)):
        return whole
    cast = Cast(whole.dtype)
    parts = []
    for size in sizes:
        if not is_reference(size):
            parts.append(lift(np.array([size], whole.dtype.numpy)))
        elif size[0] == ALL:
            parts.append(bind(cast, given[size[1] - 1]))
        else:
            x = given[size[1] - 1]
            one = x if len(size) == 2 else x[size[2]]
            parts.append(bind(Reshape((1,)), bind(cast, one)))
    return bind(Concat(0), *parts)


def _from_front(order: Tensor) -> Tensor:
    """The axes in a vector, counted from the front."""
    return bind(MOD, order, bind(ElementCount(order.dtype), order))


def _no_permutation(perm: object, rank: int) -> InvalidArgumentError:
    return InvalidArgumentError(f"transpose: perm {perm} is not a permutation of 0 to {rank - 1}.")


def permutation(perm: Any, rank: int | None) -> tuple[int, ...]:
    """A permutation with axes counted from 0. Raises: InvalidArgumentError: it is not a permutation, or has another length."""
    try:
        items = perm if type(perm) in (list, tuple) else np.ravel(perm)
        given = tuple([int(axis) for axis in items])
    except (TypeError, ValueError, OverflowError) as cause:
        refuse(cause, "transpose", "perm", perm, "a permutation of the axes is needed, integers")
    n = len(given) if rank is None else rank
    order = tuple([axis + n if axis < 0 else axis for axis in given])
    if len(given) != n or sorted(order) != list(range(n)):
        raise _no_permutation(given, n)
    return order


def inverse(perm: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes `perm`."""
    out = [0] * len(perm)
    for i, axis in enumerate(perm):
        out[axis] = i
    return tuple(out)


@define
class SwapAxes(Op):
    """x with axes a and b exchanged."""

    name = "swap_axes"
    takes_spread = carries_masks = True
    total = True
    keeps = (False, False)
    aliases = {0: 0}
    a: Axis
    b: Axis

    def infer(self, x: TensorSpec) -> TensorSpec:
        if x.dims is None:
            return x
        return Transpose(_swapped(len(x.dims), self.a, self.b, x.dims)).infer(x)

    def eval(self, x: Array) -> Array:
        return np.swapaxes(x, self.a, self.b)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(self, g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(
            Transpose((0, *[i + 1 for i in _swapped(len(x.dims) - 1, self.a, self.b, x.dims[1:])])), x
        )

    def fold(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return bind(Transpose(_swapped(len(x.dims), self.a, self.b, x.dims)), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        dims = specs[0].dims or ()
        return None if axes[0] is None else _swapped(len(dims), self.a, self.b, dims).index(axes[0])


def _swapped(rank: int, a: int, b: int, dims: tuple[Size | None, ...]) -> tuple[int, ...]:
    a = normalize_axis("swap_axes", a, rank, "x", dims)
    b = normalize_axis("swap_axes", b, rank, "x", dims)
    perm = list(range(rank))
    perm[a], perm[b] = b, a
    return tuple(perm)


def swap_axes(x: Tensor, a: int, b: int) -> Tensor:
    """`x` with two axes exchanged; works on any rank, known or not."""
    x = lift(x)
    if x.dims is None:
        return bind(SwapAxes(a, b), x)
    return bind(Transpose(_swapped(len(x.dims), a, b, x.dims)), x)


def move_axis(x: Tensor, source: int, destination: int) -> Tensor:
    """`x` with one axis moved to another place, the others in their order; the rank must be known."""
    rank = len(ranked(x.dims))
    source, destination = source % rank, destination % rank
    if source == destination:
        return x
    perm = [i for i in range(rank) if i != source]
    perm.insert(destination, source)
    return bind(Transpose(tuple(perm)), x)


def transpose(
    a: TensorLike, perm: TensorLike | None = None, conjugate: bool = False, name: str | None = None
) -> Tensor:
    """`a` with its axes in another order.

    Args:
      a: Tensor of any shape and dtype.
      perm: Axis i of the result is axis perm[i] of `a`, integers or an integer tensor; None reverses the axes.
      conjugate: Take the complex conjugate as well.
    Returns: Tensor of the same dtype.
    Raises: InvalidArgumentError: `perm` is not a permutation of the axes.
    Example:
      >>> transpose([[1, 2, 3]]).shape
      TensorShape([3, 1])
    """
    x = lift(a)
    if type(perm) in (list, tuple) and INTEGERS.issuperset(map(type, perm)):  # type: ignore[arg-type]
        values: Any = perm
    else:
        values = None if perm is None else static_array(perm)
    if perm is None:
        y = bind(Transpose(REVERSED), x)
    elif values is not None:
        y = bind(Transpose(permutation(values, None)), x)
    else:
        order = index_tensor("transpose", perm, "perm")
        if order.dims is not None and len(order.dims) != 1:
            raise InvalidArgumentError(
                f"transpose: perm has shape {format_dims(order.dims)}; a vector is needed."
            )
        rank = x.ndim if order.dims is None or order.dims[0] is None else order.dims[0]
        if rank is not None and order.dims != (rank,):
            order = reshape(order, [rank])  # fails where there are more entries than axes
        y = bind(Transpose(entries_of(None if rank is None else (None,) * rank)), x, order)
    try:
        return bind(CONJ, y) if conjugate and x.dtype.is_complex else y
    except Exception as error:  # as `blaming` does, without a further call
        raise blamed(transpose, (a, perm, conjugate), {}, error)  # noqa: B904


@blaming
def matrix_transpose(a: TensorLike, name: str | None = None, conjugate: bool = False) -> Tensor:
    """`a` with its last two axes exchanged: [..., n, m] becomes [..., m, n].

    Args:
      a: Tensor [..., n, m] of any dtype.
      conjugate: Take the complex conjugate as well.
    Returns: Tensor [..., m, n] of the same dtype.
    Raises: InvalidArgumentError: `a` has fewer than two axes.
    Example:
      >>> linalg.matrix_transpose([[1, 2, 3]]).shape
      TensorShape([3, 1])
    """
    x = lift(a)
    if x.dims is not None and len(x.dims) < 2:
        raise InvalidArgumentError(
            f"matrix_transpose: a has shape {format_dims(x.dims)}; it must have rank 2 or more."
        )
    y = swap_axes(x, -1, -2)
    return bind(CONJ, y) if conjugate and x.dtype.is_complex else y


@define
class Reverse(Op):
    """x with the order of its elements reversed along `axes`."""

    name = "reverse"
    takes_spread = carries_masks = True
    total = True
    keeps = (False, False)
    aliases = {0: 0}
    axes: Axes

    def infer(self, x: TensorSpec) -> TensorSpec:
        if x.dims is not None:
            normalize_axes("reverse", self.axes, len(x.dims), "x", x.dims)
        return x

    def eval(self, x: Array) -> Array:
        return np.flip(x, self.axes) if self.axes else x

    def quick(self, x: Tensor) -> Array | None:
        data, axes = x.data, self.axes
        if type(data) is not np.ndarray or len(axes) != 1 or not -data.ndim <= axes[0] < data.ndim:
            return None
        return data[(slice(None),) * (axes[0] % data.ndim) + (slice(None, None, -1),)]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(self, g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        rank = len(x.dims) - 1
        return bind(Reverse(tuple(axis % rank + 1 for axis in self.axes)), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return row_beside(axes[0], specs[0], *self.axes)

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        dims = ranked(x.dims)
        gone = {axis % len(dims) for axis in self.axes}
        starts = tuple(size - 1 if i in gone else 0 for i, size in enumerate(dims))
        return kernels.forms.View(
            "slice", (starts, tuple(-1 if i in gone else 1 for i in range(len(dims))), dims)
        )


def _integers(op: str, axis: object, values: Array) -> list[int]:
    """The numbers of the axes in `values`, which were given as `axis`. Raises: ArgumentTypeError, InvalidArgumentError."""
    try:
        return [int(a) for a in values.ravel()]
    except (TypeError, ValueError, OverflowError) as cause:
        refuse(cause, op, "axis", axis, "an integer or a list of integers is needed")


def reverse(tensor: TensorLike, axis: AxisLike, name: str | None = None) -> Tensor:
    """`tensor` walked backwards along the axes that `axis` names.

    Args:
      tensor: Tensor of any dtype.
      axis: The axes: a list of ints.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, or stands there twice.
    Example:
      >>> reverse([[1, 2], [3, 4]], [1]).numpy()
      array([[2, 1],
             [4, 3]], dtype=int32)
    """
    x = lift(tensor)
    values = static_here(axis)
    if values is None:
        return over_open_axes("reverse", axis, x, lambda axes: reverse(x, axes))
    axes = normalize_axes("reverse", _integers("reverse", axis, values), x.ndim, "tensor", x.dims)
    return bind(Reverse(axes or ()), x)


@define
class Roll(Op):
    """y[..., (i + shifts[k]) mod n, ...] = x[..., i, ...] for each axis axes[k], of size n; `shifts` is a vector of integers, one
    for each, or a scalar for one axis.
    """

    name = "roll"
    words = {"shifts": "shift"}
    keeps = ((1,), False)
    axes: tuple[Axis, ...]

    def infer(self, x: TensorSpec, shifts: IntegerSpec) -> TensorSpec:
        if x.dims is not None:
            for axis in self.axes:
                normalize_axis("roll", axis, len(x.dims), "x", x.dims)
        if shifts.dims is not None and shifts.dims not in ((len(self.axes),), (None,)):
            raise InvalidArgumentError(
                f"roll: shift has shape {format_dims(shifts.dims)}, axis names {len(self.axes)} axes; give one shift for each."
            )
        return x

    def eval(self, x: Array, shifts: Array) -> Array:
        if len(self.axes) != 1 or not x.size:
            return np.roll(x, tuple(int(shift) for shift in shifts), self.axes)
        axis = self.axes[0] % x.ndim
        lead, first = (slice(None),) * axis, -int(shifts[0]) % x.shape[axis]  # where the result begins in x
        return np.concatenate((x[(*lead, slice(first, None))], x[(*lead, slice(first))]), axis)

    def parts_of(
        self, whole: kernels.sites.Site, sites: Sequence[kernels.sites.Site], number: Callable[[int], Any]
    ) -> list[kernels.sites.Part] | None:
        shift = number(1)  # known for one axis only
        if shift is None or len(self.axes) != 1:
            return None
        x, axis = sites[0], self.axes[0] % len(whole.shape)
        n = whole.shape[axis]
        if type(n) is not int or n == 0:
            return None
        first = int(shift) % n  # where x begins in the result
        return [
            kernels.sites.Part(x.piece(axis, start, sizes), whole.piece(axis, to, sizes))
            for start, to, length in ((0, first, n - first), (n - first, 0, first))
            if length
            for sizes in [(*whole.shape[:axis], length, *whole.shape[axis + 1 :])]
        ]

    def expand(self, x: Ranked, shifts: Ranked) -> Tensor | None:
        """One axis after the other."""
        if len(self.axes) < 2:
            return None
        y: Tensor = x
        for k, axis in enumerate(self.axes):
            y = bind(Roll((axis,)), y, bind(lookup("slice")((k,), (1,), (1,)), shifts))
        return y

    @else_eval("its numbers say where each element goes")
    def lower(self, x: TensorSpec, shifts: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Rolled(self.axes[0] % len(x.dims or ())) if len(self.axes) == 1 else None

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(self, g, -ctx.inputs[1]), None)

    def batch(self, ctx: BatchContext, x: Ranked, shifts: Ranked) -> Tensor:
        if ctx.stacked(1):
            return ctx.rowwise(self, x, shifts)
        rank = len(x.dims) - 1
        return bind(Roll(tuple(axis % rank + 1 for axis in self.axes)), x, shifts)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        if axes[1] is not None:
            return MIXED
        return row_beside(axes[0], specs[0], *self.axes)


def roll(input: TensorLike, shift: TensorLike, axis: AxisLike, name: str | None = None) -> Tensor:
    """`input` shifted along axes: element i moves to i + shift, wrapping around at the end.

    Args:
      input: Tensor [..., n, ...] of any dtype.
      shift: An integer for each axis; may be a tensor.
      axis: The axis or axes, ints.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, or there are more or fewer shifts than axes.
    Example:
      >>> roll([1, 2, 3], 1, 0).numpy()
      array([3, 1, 2], dtype=int32)
    """
    x = lift(input)
    values = static_here(axis)
    if values is None:
        return over_open_axes("roll", axis, x, lambda axis: roll(x, shift, axis), False)
    axes = tuple(
        [normalize_axis("roll", a, x.ndim, "input", x.dims) for a in _integers("roll", axis, values)]
    )
    numbers = [shift] if type(shift) is int else shift
    if type(numbers) is list and all(type(n) is int and abs(n) < 2**31 for n in numbers):
        return bind(Roll(axes), x, constant_here(np.array(numbers, np.int32)))
    shifts = lift(shift)
    if shifts.ndim is None or shifts.ndim == 0:
        shifts = reshape(shifts, [len(axes)])
    return bind(Roll(axes), x, shifts)
