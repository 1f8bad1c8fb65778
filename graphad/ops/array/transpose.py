"""Axes in another order, or walked the other way: transpose, swap, reverse, roll.

Each op is a permutation of elements, so its gradient is the inverse permutation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.op import MIXED, Op, define, no_rows
from graphad.core.registry import lookup
from graphad.core.schema import Permutation
from graphad.core.shapes import format_dims, normalize_axes, normalize_axis
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.kernels import forms
from graphad.ops.array.shape import reshape
from graphad.ops.array.support import require_index, static_array


@define
class Transpose(Op):
    """Axis i of the result is axis perm[i] of x; nil reverses the axes."""

    name = "transpose"
    total = True
    keeps = (False, False)
    aliases = {0: 0}
    perm: Permutation | None

    def infer(self, x: TensorSpec) -> TensorSpec:
        dims, perm = x.dims, self.perm
        if dims is None:
            return x if perm is None else x.with_dims((None,) * len(perm))
        if perm is None:
            return x.with_dims(dims[::-1])
        if len(perm) != len(dims):
            raise InvalidArgumentError(
                f"transpose: perm {perm} has {len(perm)} entries, x has shape {format_dims(dims)} of rank {len(dims)}; "
                "give one entry for each axis."
            )
        return x.with_dims(tuple([dims[i] for i in perm]))

    def eval(self, x: Any) -> Any:
        return np.transpose(x, self.perm)

    def vjp(self, ctx: Any, g: Any) -> Sequence[Any]:
        return (bind(self if self.perm is None else Transpose(inverse(self.perm)), g),)

    def batch(self, ctx: Any, x: Any) -> Any:
        perm = tuple(range(len(x.dims) - 1))[::-1] if self.perm is None else self.perm
        return bind(Transpose((0, *[i + 1 for i in perm])), x)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        if axes[0] is None:
            return None
        return len(specs[0].dims or ()) - 1 - axes[0] if self.perm is None else self.perm.index(axes[0])

    def lower(self, x: TensorSpec) -> Any:
        return forms.View(
            "transpose", tuple(range(len(x.dims or ())))[::-1] if self.perm is None else self.perm
        )


@define
class TransposeBy(Op):
    """Transpose by the integer vector `perm`, an input; with `inverse`, by the permutation that undoes it."""

    name = "transpose_by"
    keeps = ((1,), False)
    aliases = {0: 0}
    inverse: bool = False

    def infer(self, x: TensorSpec, perm: TensorSpec) -> TensorSpec:
        require_index("transpose", perm, "perm")
        if perm.dims is not None and len(perm.dims) != 1:
            raise InvalidArgumentError(
                f"transpose: perm has shape {format_dims(perm.dims)}; a vector is needed."
            )
        rank = perm.dims[0] if perm.dims is not None else None
        if x.dims is None:
            return x.with_dims((None,) * rank if type(rank) is int else None)
        if type(rank) is int and rank != len(x.dims):
            raise InvalidArgumentError(
                f"transpose: perm has {rank} entries, x has shape {format_dims(x.dims)}; give one entry for each axis."
            )
        return x.with_dims((None,) * len(x.dims))

    def eval(self, x: Any, perm: Any) -> Any:
        order = permutation(perm, x.ndim)
        return np.transpose(x, inverse(order) if self.inverse else order)

    def vjp(self, ctx: Any, g: Any) -> Sequence[Any]:
        return bind(TransposeBy(not self.inverse), g, ctx.inputs[1]), None

    def batch(self, ctx: Any, x: Any, perm: Any) -> Any:
        if ctx.stacked(1):
            return ctx.rowwise(self, x, perm)
        rank = len(x.dims) - 1
        behind = (
            perm % lift(np.array(rank, perm.dtype.numpy)) + lift(np.array(1, perm.dtype.numpy))
            if rank
            else perm
        )
        return bind(self, x, bind(lookup("concat")(0), lift(np.zeros(1, perm.dtype.numpy)), behind))

    rows = no_rows("where the axes go is known when it runs")

    def fold(self, ctx: Any, x: Any, perm: Any) -> Any:
        known = ctx.known(perm)
        if known is None:
            return None
        order = permutation(known, len(x.dims))
        return bind(Transpose(inverse(order) if self.inverse else order), x)


def permutation(perm: Any, rank: int | None) -> tuple[int, ...]:
    """A permutation of axes counted from 0. Raises: InvalidArgumentError: it is none, or one of another number of axes."""
    given = tuple([int(axis) for axis in np.ravel(perm)])
    n = len(given) if rank is None else rank
    order = tuple([axis + n if axis < 0 else axis for axis in given])
    if len(given) != n or sorted(order) != list(range(n)):
        raise InvalidArgumentError(f"transpose: perm {given} is no permutation of 0 to {n - 1}.")
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
    total = True
    keeps = (False, False)
    aliases = {0: 0}
    a: int
    b: int

    def infer(self, x: TensorSpec) -> TensorSpec:
        if x.dims is None:
            return x
        return Transpose(_swapped(len(x.dims), self.a, self.b, x.dims)).infer(x)

    def eval(self, x: Any) -> Any:
        return np.swapaxes(x, self.a, self.b)

    def vjp(self, ctx: Any, g: Any) -> Sequence[Any]:
        return (bind(self, g),)

    def batch(self, ctx: Any, x: Any) -> Any:
        return bind(
            Transpose((0, *[i + 1 for i in _swapped(len(x.dims) - 1, self.a, self.b, x.dims[1:])])), x
        )

    def fold(self, ctx: Any, x: Any) -> Any:
        return bind(Transpose(_swapped(len(x.dims), self.a, self.b, x.dims)), x)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        dims = specs[0].dims or ()
        return None if axes[0] is None else _swapped(len(dims), self.a, self.b, dims).index(axes[0])


def _swapped(rank: int, a: int, b: int, dims: Any) -> tuple[int, ...]:
    a = normalize_axis("swap_axes", a, rank, "x", dims)
    b = normalize_axis("swap_axes", b, rank, "x", dims)
    perm = list(range(rank))
    perm[a], perm[b] = b, a
    return tuple(perm)


def swap_axes(x: Any, a: int, b: int) -> Any:
    """`x` with two axes exchanged; works on any rank, known or not."""
    x = lift(x)
    if x.dims is None:
        return bind(SwapAxes(a, b), x)
    return bind(Transpose(_swapped(len(x.dims), a, b, x.dims)), x)


def move_axis(x: Any, source: int, destination: int) -> Any:
    """`x` with one axis moved to another place, the others in their order; the rank must be known."""
    rank = len(x.dims)
    source, destination = source % rank, destination % rank
    if source == destination:
        return x
    perm = [i for i in range(rank) if i != source]
    perm.insert(destination, source)
    return bind(Transpose(tuple(perm)), x)


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str | None = None) -> Tensor:
    """`a` with its axes in another order.

    Args:
      a: Tensor of any shape.
      perm: Axis i of the result is axis perm[i] of `a`, integers or an integer tensor; None reverses the axes.
      conjugate: Take the complex conjugate as well.
    Raises: InvalidArgumentError: `perm` is no permutation of the axes.
    Example:
      >>> transpose([[1, 2, 3]]).shape
      TensorShape([3, 1])
    """
    x = lift(a)
    order: tuple[int, ...] | None = None
    if perm is not None:
        values = static_array(perm)
        if values is not None:
            order = permutation(values, None)
    if perm is not None and order is None:
        y = bind(TransposeBy(), x, lift(perm))
    else:
        y = bind(Transpose(order), x)
    return bind(lookup("conj")(), y) if conjugate and x.dtype.is_complex else y


def matrix_transpose(a: Any, name: str | None = None, conjugate: bool = False) -> Tensor:
    """`a` with its last two axes exchanged: [..., n, m] becomes [..., m, n].

    Raises: InvalidArgumentError: `a` has fewer than two axes.
    """
    x = lift(a)
    if x.dims is not None and len(x.dims) < 2:
        raise InvalidArgumentError(
            f"matrix_transpose: a has shape {format_dims(x.dims)}; it must have rank 2 or more."
        )
    y = swap_axes(x, -1, -2)
    return bind(lookup("conj")(), y) if conjugate and x.dtype.is_complex else y  # type: ignore[no-any-return]


@define
class Reverse(Op):
    """x with the order of its elements reversed along `axes`."""

    name = "reverse"
    total = True
    keeps = (False, False)
    aliases = {0: 0}
    axes: tuple[int, ...]

    def infer(self, x: TensorSpec) -> TensorSpec:
        if x.dims is not None:
            normalize_axes("reverse", self.axes, len(x.dims), "x", x.dims)
        return x

    def eval(self, x: Any) -> Any:
        return np.flip(x, self.axes) if self.axes else x

    def vjp(self, ctx: Any, g: Any) -> Sequence[Any]:
        return (bind(self, g),)

    def batch(self, ctx: Any, x: Any) -> Any:
        rank = len(x.dims) - 1
        return bind(Reverse(tuple(axis % rank + 1 for axis in self.axes)), x)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        if axes[0] is None:
            return None
        rank = len(specs[0].dims or ())
        return MIXED if axes[0] in [axis % rank for axis in self.axes] else axes[0]

    def lower(self, x: TensorSpec) -> Any:
        dims = x.dims or ()
        gone = {axis % len(dims) for axis in self.axes}
        starts = tuple(size - 1 if i in gone else 0 for i, size in enumerate(dims))
        return forms.View("slice", (starts, tuple(-1 if i in gone else 1 for i in range(len(dims))), dims))


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """`tensor` walked backwards along the axes that `axis` names."""
    x = lift(tensor)
    values = static_array(axis)
    if values is None:
        raise ArgumentTypeError("reverse: axis must be known while tracing; give integers.")
    axes = normalize_axes("reverse", [int(a) for a in values.ravel()], x.ndim, "tensor", x.dims)
    return bind(Reverse(axes or ()), x)


@define
class Roll(Op):
    """y[..., (i + shifts[k]) mod n, ...] = x[..., i, ...] for each axis axes[k], of size n; `shifts` is a vector of integers, one
    for each, or a scalar for one axis.
    """

    name = "roll"
    keeps = ((1,), False)
    axes: tuple[int, ...]

    def infer(self, x: TensorSpec, shifts: TensorSpec) -> TensorSpec:
        require_index("roll", shifts, "shift")
        if x.dims is not None:
            for axis in self.axes:
                normalize_axis("roll", axis, len(x.dims), "x", x.dims)
        if shifts.dims is not None and shifts.dims not in ((len(self.axes),), (None,)):
            raise InvalidArgumentError(
                f"roll: shift has shape {format_dims(shifts.dims)}, axis names {len(self.axes)} axes; give one shift for each."
            )
        return x

    def eval(self, x: Any, shifts: Any) -> Any:
        return np.roll(x, tuple(int(shift) for shift in shifts), self.axes)

    def vjp(self, ctx: Any, g: Any) -> Sequence[Any]:
        return (bind(self, g, -ctx.inputs[1]), None)

    def batch(self, ctx: Any, x: Any, shifts: Any) -> Any:
        if ctx.stacked(1):
            return ctx.rowwise(self, x, shifts)
        rank = len(x.dims) - 1
        return bind(Roll(tuple(axis % rank + 1 for axis in self.axes)), x, shifts)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        if axes[1] is not None:
            return MIXED
        if axes[0] is None:
            return None
        rank = len(specs[0].dims or ())
        return MIXED if axes[0] in [axis % rank for axis in self.axes] else axes[0]


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """`input` shifted along axes: element i comes to i + shift, and what leaves at one end comes in at the other.

    Args:
      input: Tensor.
      shift: An integer for each axis; may be a tensor.
      axis: The axis or axes, ints.
    """
    x = lift(input)
    values = static_array(axis)
    if values is None:
        raise ArgumentTypeError("roll: axis must be known while tracing; give integers.")
    axes = tuple(normalize_axis("roll", int(a), x.ndim, "input", x.dims) for a in values.ravel())
    shifts = lift(shift)
    if shifts.ndim is None or shifts.ndim == 0:
        shifts = reshape(shifts, [len(axes)])
    return bind(Roll(axes), x, shifts)


__all__ = ["matrix_transpose", "reverse", "roll", "transpose"]
