"""Operators that are updated by a product of low rank."""

from __future__ import annotations

from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import TensorShape, broadcast_dims, format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.shape import shape as shape_of
from graphad.ops.linalg.determinants import det
from graphad.ops.linalg.held import Held, of_rank
from graphad.ops.linalg.identities import LinearOperatorIdentity
from graphad.ops.linalg.matmul import matmul
from graphad.ops.linalg.operators import LinearOperator
from graphad.ops.linalg.shaped import implied
from graphad.ops.linalg.structured import LinearOperatorDiag
from graphad.ops.linalg.systems import solve
from graphad.ops.math.arithmetic import abs as abs_of
from graphad.ops.math.complexes import conj
from graphad.ops.math.exponential import log


class LinearOperatorLowRankUpdate(LinearOperator):
    """base + u D v^H for u [..., m, r], v [..., n, r], by default u itself, and a diagonal D [..., r], by default ones.

    Systems are solved by the Woodbury identity: one with the base and one with r unknowns.

    Args:
      base_operator: The operator that is updated.
      u, v: Tensors [..., m, r] and [..., n, r] of its dtype.
      diag_update: Tensor [..., r].
      is_diag_update_positive: Whether D is known to be positive.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    Source: Woodbury, Inverting modified matrices, 1950.
    """

    _sliced = (("u", 2), ("diag_update", 1), ("v", 2))

    u = Held()
    v = Held()
    diag_update = Held()

    def __init__(
        self, base_operator: LinearOperator, u: Tensor, diag_update: TensorLike | None = None, v: TensorLike | None = None,
        is_diag_update_positive: bool | None = None, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
        is_square: bool | None = None, name: str = "LinearOperatorLowRankUpdate",
    ) -> None:  # fmt: skip
        self.base_operator = base_operator
        left = of_rank(name, u, 2, base_operator.dtype)
        self.u, self.v = left, left if v is None else of_rank(name, v, 2, base_operator.dtype)
        self.diag_update = None if diag_update is None else of_rank(name, diag_update, 1, base_operator.dtype)
        self.is_diag_update_positive = diag_update is None or is_diag_update_positive
        self._require_shapes(name)
        own_side = v is None and (diag_update is None or not self.diag_update.dtype.is_complex)
        is_self_adjoint = implied(
            name, "is_self_adjoint", is_self_adjoint, own_side and base_operator.is_self_adjoint,
            "the base operator is self-adjoint, and so is u D u^H",
        )  # fmt: skip
        is_raised = own_side and bool(self.is_diag_update_positive)
        is_positive_definite = implied(
            name, "is_positive_definite", is_positive_definite, is_raised and base_operator.is_positive_definite,
            "the base operator is positive definite, and u D u^H has no negative eigenvalue",
        )  # fmt: skip
        super().__init__(
            base_operator.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    def _require_shapes(self, name: str) -> None:
        """Raise if the shapes of what it is made of do not fit."""
        m, n = self.base_operator.dims[-2:]
        rank = self.u.dims[-1]
        for word, x, wanted in (("u", self.u, [m, rank]), ("v", self.v, [n, rank])):
            self._require_sizes(name, word, list(x.dims[-2:]), wanted, x)
        if self.diag_update is not None:
            self._require_sizes(name, "diag_update", [self.diag_update.dims[-1]], [rank], self.diag_update)
        self._stack()

    def _require_sizes(self, name: str, word: str, found: list[Any], wanted: list[Any], x: Any) -> None:
        if any(None not in pair and pair[0] != pair[1] for pair in zip(found, wanted, strict=True)):
            raise InvalidArgumentError(
                f"{name}: {word} has shape {x.shape}; with a base operator of shape {format_dims(self.base_operator.dims)} "
                f"and u of shape {self.u.shape} it must end in {wanted}."
            )

    def _stack(self) -> tuple[Any, ...]:
        """The batch shape of all together."""
        rows = () if self.diag_update is None else self.diag_update.dims[:-1]
        own = self.base_operator.dims[:-2]
        return broadcast_dims(self.__class__.__name__, own, self.u.dims[:-2], self.v.dims[:-2], rows) or ()

    @property
    def diag_operator(self) -> LinearOperator:
        """D."""
        if self.diag_update is not None:
            return LinearOperatorDiag(self.diag_update, is_positive_definite=self.is_diag_update_positive)
        return LinearOperatorIdentity(shape_of(self.u)[-1], dtype=self.dtype)

    @property
    def shape(self) -> TensorShape:
        return TensorShape([*self._stack(), *self.base_operator.dims[-2:]])

    def _matmul(self, x: Any, adjoint: bool) -> Any:
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        inner = self.diag_operator.matmul(matmul(right, x, adjoint_a=True), adjoint=adjoint)
        return self.base_operator.matmul(x, adjoint=adjoint) + matmul(left, inner)

    def _small(self, adjoint: bool) -> Tensor:
        """The capacitance matrix, of the system with r unknowns: D^-1 + v^H base^-1 u."""
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        middle = matmul(right, self.base_operator.solve(left, adjoint=adjoint), adjoint_a=True)
        own = self.diag_operator.inverse().to_dense()
        return (conj(own) if adjoint else own) + middle

    def _solve(self, b: Any, adjoint: bool) -> Any:
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        first = self.base_operator.solve(b, adjoint=adjoint)
        inner = solve(self._small(adjoint), matmul(right, first, adjoint_a=True))
        return first - self.base_operator.solve(matmul(left, inner), adjoint=adjoint)

    def determinant(self, name: str = "det") -> Tensor:
        self._require_square("determinant")
        rest = self.diag_operator.determinant() * self.base_operator.determinant()
        return det(self._small(False)) * rest

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        self._require_square("log_abs_determinant")
        rest = self.diag_operator.log_abs_determinant() + self.base_operator.log_abs_determinant()
        return log(abs_of(det(self._small(False)))) + rest
