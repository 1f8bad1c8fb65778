"""Ops that pass a tensor on: `identity`, which is another tensor to tapes, and `stop_gradient`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import graphad.kernels as kernels
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
from graphad.core.op import Op, define, no_gradient
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor


class Passing(Op):
    """The base of ops whose result is x itself, in its own storage."""

    keeps = (False, False)
    aliases = {0: 0}

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def eval(self, x: Array) -> Array:
        return x

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (g,)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(self, x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return axes[0]

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.View("reshape", x.dims)


@define
class Identity(Passing):
    """x."""

    name = "identity"
    returns_input = True
    moves = True

    def quick(self, x: Tensor) -> Array | None:
        return x.data  # type: ignore[no-any-return]


@define
class StopGradient(Passing):
    """x; its derivative is none."""

    name = "stop_gradient"
    total = True
    quick = Identity.quick
    vjp = no_gradient("stop_gradient cuts the path")


IDENTITY, STOP_GRADIENT = Identity(), StopGradient()


def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """A tensor with the value of `input` that is another tensor to tapes: each has a gradient of its own.

    Args:
      input: Tensor of any shape and dtype, a variable, which is read, or a SparseTensor or IndexedSlices.
    Returns: Tensor of the same shape and dtype, or a copy of the sparse value with such tensors.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    """
    if isinstance(input, Sparse):
        parts, again = input.apart()
        return again([identity(part) for part in parts])  # type: ignore[no-any-return] # Tensor is the declared one
    return bind(IDENTITY, lift(input))


def told_apart(xs: Sequence[Tensor]) -> list[Tensor]:
    """Arguments of a function as distinct tensor objects, so that a tape inside distinguishes a tensor that is passed twice."""
    found: list[Any] = []
    seen: set[int] = set()
    for x in xs:
        if isinstance(x, Tensor):
            if id(x) in seen:
                x = bind(IDENTITY, x)
            seen.add(id(x))
        found.append(x)
    return found


def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """`input`, a tensor or variable of any dtype, as a constant for derivatives: no gradient flows back through it.

    Args:
      input: Tensor of any shape and dtype, or a variable.
    Returns: Tensor of the same shape, dtype and value.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> grad(lambda x: x * stop_gradient(x))(3.0).numpy()
      np.float32(3.0)
    """
    return bind(STOP_GRADIENT, lift(input))
