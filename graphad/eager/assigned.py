"""Assignments as functions of a variable, for programs older than the methods of `Variable`."""

from __future__ import annotations

from graphad.core.annotations import TensorLike
from graphad.core.errors import ArgumentTypeError
from graphad.core.tensor import Tensor
from graphad.eager.variable import Variable


def assign(
    ref: Variable | Tensor,
    value: TensorLike,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Variable:
    """Assign `value`, of the same shape, to the variable `ref` or to its part `variable[key]`; see `Variable.assign`. Returns:
    The variable."""
    written: Variable = (ref if isinstance(ref, Tensor) else _variable("assign", ref)).assign(value)
    return written


def assign_add(
    ref: Variable, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Variable:
    """Add `value` to the variable `ref`; see `Variable.assign_add`. Returns: The variable."""
    written: Variable = _variable("assign_add", ref).assign_add(value, name=name)
    return written


def assign_sub(
    ref: Variable, value: TensorLike, use_locking: bool | None = None, name: str | None = None
) -> Variable:
    """Subtract `value` from the variable `ref`; see `Variable.assign_sub`. Returns: The variable."""
    written: Variable = _variable("assign_sub", ref).assign_sub(value, name=name)
    return written


def _variable(caller: str, ref: object) -> Variable:
    if not isinstance(ref, Variable):
        raise ArgumentTypeError(
            f"{caller}: ref is {type(ref).__name__}; a tf.Variable is needed; tensors are immutable."
        )
    return ref
