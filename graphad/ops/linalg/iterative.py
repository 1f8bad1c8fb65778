"""Conjugate gradients: solve with a self-adjoint positive definite operator by its products alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from graphad.core.convert import lift, lift_like
from graphad.core.dtypes import int32
from graphad.core.errors import InvalidArgumentError
from graphad.ops.array.create import zeros_like
from graphad.ops.control.while_loop import while_loop
from graphad.ops.linalg.operators import LinearOperator
from graphad.ops.math.complexes import conj, real
from graphad.ops.math.reduce import reduce_any, reduce_sum
from graphad.ops.math.statistics import norm

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor


class CGState(NamedTuple):
    """The result of `conjugate_gradient`: the steps taken, solution, residual, next direction, and the inner product of
    the residual with the preconditioned residual."""

    i: Tensor
    x: Tensor
    r: Tensor
    p: Tensor
    gamma: Tensor


def conjugate_gradient(
    operator: LinearOperator,
    rhs: object,
    preconditioner: LinearOperator | None = None,
    x: object = None,
    tol: float = 1e-5,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> CGState:
    """Solve operator x = rhs for vectors rhs [..., n].

    Args:
      operator: Self-adjoint and positive definite.
      rhs: Tensor [..., n] of the dtype of the operator.
      preconditioner: An operator close to the inverse, self-adjoint and positive definite.
      x: The initial guess; 0 by default.
      tol: The iteration stops when the norm of every residual is at most `tol` times that of its right-hand side.
      max_iter: The maximum number of steps.
    Returns: (i, x, r, p, gamma) of the last step.
    Raises: InvalidArgumentError (a ValueError): sizes differ; DTypeError (a TypeError): the dtypes differ.
    Source: Hestenes and Stiefel, Methods of conjugate gradients for solving linear systems, 1952.
    """
    if not isinstance(operator, LinearOperator) or not (
        operator.is_self_adjoint and operator.is_positive_definite
    ):
        raise InvalidArgumentError(
            f"conjugate_gradient: operator is {operator!r}; one with is_self_adjoint=True and is_positive_definite=True is "
            "needed."
        )
    b = lift_like("conjugate_gradient", rhs, operator.dtype)
    start = zeros_like(b) if x is None else lift_like("conjugate_gradient", x, operator.dtype)
    residual = b if x is None else b - operator.matvec(start)
    limit = tol * real(norm(b, axis=-1))

    def shaped(r: Tensor) -> Tensor:
        return r if preconditioner is None else preconditioner.matvec(r)

    def dot(u: Tensor, v: Tensor) -> Tensor:
        return reduce_sum(conj(u) * v, axis=-1)

    def goes_on(i: Tensor, x: Tensor, r: Tensor, p: Tensor, gamma: Tensor) -> Tensor:
        return reduce_any(real(norm(r, axis=-1)) > limit)

    def step(i: Tensor, x: Tensor, r: Tensor, p: Tensor, gamma: Tensor) -> tuple[Tensor, ...]:
        z = operator.matvec(p)
        alpha = (gamma / dot(p, z))[..., None]
        x, r = x + alpha * p, r - alpha * z
        q = shaped(r)
        after = dot(r, q)
        return i + 1, x, r, q + (after / gamma)[..., None] * p, after

    first = shaped(residual)
    state = (lift(0, int32), start, residual, first, dot(residual, first))
    return CGState(*while_loop(goes_on, step, state, maximum_iterations=max_iter))
