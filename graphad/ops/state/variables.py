"""Reads of and assignments to variables, which are passed by reference, as handles.

Assigning rebinds the variable's array and never writes into it, so a read costs nothing and earlier reads keep their
value. The cotangents of all reads add up on the handle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    Ranked,
    RowAxes,
    RowAxis,
    VjpContext,
)
from graphad.core.errors import FailedPreconditionError, InvalidArgumentError
from graphad.core.op import READS, WRITES, Op, define, no_batch, no_gradient
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.core.tensor import Handle, Tensor, guard_of

if TYPE_CHECKING:
    from graphad.eager.elsewhere import DeviceVariable
    from graphad.eager.variable import Variable


@define
class Read(Op):
    """The value of the variable now."""

    name = "read"
    loads = True
    keeps = (False, False)
    effects = READS

    def infer(self, handle: HandleSpec) -> TensorSpec:
        return TensorSpec.of(handle.dims, handle.dtype)

    def eval(self, handle: Handle) -> Array:
        return handle.data  # type: ignore[no-any-return]

    def quick(self, handle: DeviceVariable | Variable) -> Array | None:
        return handle.data if isinstance(handle, Handle) else None  # type: ignore[no-any-return]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (g,)

    batch = no_batch("variables are the same for all rows")

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None


@define
class Assign(Op):
    """Gives the variable a new value, which is the output."""

    name = "assign"
    stores = True
    keeps = (False, False)
    effects = WRITES

    def infer(self, handle: HandleSpec, value: TensorSpec) -> TensorSpec:
        return value

    def check_operands(self, specs: Sequence[TensorSpec]) -> None:
        require_assignable(self.name, *specs)

    def eval(self, handle: Handle, value: Array) -> Array:
        shape, spec = value.shape, handle.spec
        if shape != spec.dims and not spec.describes(shape):
            raise wrong_shape(handle, shape)
        with handle.guard or guard_of(handle):
            handle.data = arrays.where(handle.data, value)
        return value

    def quick(self, handle: DeviceVariable | Variable, value: Tensor) -> Array | None:
        return self.eval(handle, value.data)

    vjp = no_gradient("assigning is not differentiable; later reads of the variable are constants")

    def batch(self, ctx: BatchContext, handle: Ranked, value: Ranked) -> Tensor:
        raise FailedPreconditionError(
            "assign: a variable cannot be assigned a different value in every row of a vectorized computation; "
            "assign outside of vectorized_map, jacobian and batch_jacobian."
        )

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return axes[1]


def require_assignable(op: str, handle: TensorSpec, value: TensorSpec) -> None:
    """Raises: InvalidArgumentError: a variable cannot hold such a value."""
    if handle.dtype is not value.dtype or not are_compatible(handle.dims, value.dims):
        raise InvalidArgumentError(f"{op}: {handle} cannot hold {value}.")


def wrong_shape(handle: Handle | Variable, dims: tuple[Any, ...] | None) -> InvalidArgumentError:
    """The error of an assignment that the variable's shape does not allow."""
    return InvalidArgumentError(
        f"Cannot assign value to variable '{getattr(handle, 'name', '')}': Shape mismatch. The variable shape "
        f"{format_dims(handle.spec.dims)}, and the assigned value shape {format_dims(dims)} are incompatible; a variable made "
        "with shape=tf.TensorShape(None) takes any shape."
    )


READ = Read()
ASSIGN = Assign()
