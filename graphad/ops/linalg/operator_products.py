"""Operators composed of operators: block diagonals, Kronecker products, low-rank updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import TensorShape, broadcast_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.join import concat
from graphad.ops.array.shape import broadcast_to, reshape
from graphad.ops.array.slice import getitem
from graphad.ops.array.transpose import transpose
from graphad.ops.linalg.matmul import matmul
from graphad.ops.linalg.operators import LinearOperator, all_or_unknown, common_stack, of_rank, sequence_of
from graphad.ops.linalg.structured import LinearOperatorDiag
from graphad.ops.linalg.systems import det, solve
from graphad.ops.math.arithmetic import abs as abs_of
from graphad.ops.math.cast import cast
from graphad.ops.math.complexes import conj
from graphad.ops.math.exponential import log

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphad.core.annotations import TensorLike


class LinearOperatorBlockDiag(LinearOperator):
    """The block diagonal matrix of operators. Its products take and return one matrix.

    Args:
      operators: A list of operators.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    def __init__(
        self, operators: object, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = True, name: str | None = None,
    ) -> None:  # fmt: skip
        self.operators = sequence_of(type(self).__name__, operators)
        hints: list[Any] = [
            all_or_unknown([getattr(op, word) for op in self.operators]) if given is None else given
            for word, given in (
                ("is_non_singular", is_non_singular),
                ("is_self_adjoint", is_self_adjoint),
                ("is_positive_definite", is_positive_definite),
            )
        ]
        if any(None in op.dims[-2:] for op in self.operators):
            raise InvalidArgumentError(f"{type(self).__name__}: the sizes of all operators must be known.")
        super().__init__(
            self.operators[0].dtype,
            None,
            hints[0],
            hints[1],
            hints[2],
            is_square,
            name or "_ds_".join(op.name for op in self.operators),
        )

    @property
    def shape(self) -> TensorShape:
        sizes = [sum(op.dims[axis] for op in self.operators) for axis in (-2, -1)]
        return TensorShape([*common_stack(self.name, self.operators), *sizes])

    def _by_block(self, x: object, axis: int, function: Callable[[Any, Any], Any]) -> Tensor:
        """`function` of each operator and its rows of x, concatenated along the rows."""
        parts, start = [], 0
        for op in self.operators:
            stop = start + op.dims[axis]
            parts.append(function(op, getitem(x, (..., slice(start, stop), slice(None)))))
            start = stop
        lead = broadcast_dims(self.name, *[part.dims[:-2] for part in parts]) or ()
        return concat([broadcast_to(part, [*lead, *part.dims[-2:]]) for part in parts], -2)

    def _matmul(self, x: object, adjoint: bool) -> Any:
        return self._by_block(x, -2 if adjoint else -1, lambda op, part: op.matmul(part, adjoint=adjoint))

    def _solve(self, b: object, adjoint: bool) -> Any:
        return self._by_block(b, -1 if adjoint else -2, lambda op, part: op.solve(part, adjoint=adjoint))

    def diag_part(self, name: str = "diag_part") -> Tensor:
        if not all(op.is_square for op in self.operators):
            return super().diag_part()
        lead = common_stack(self.name, self.operators)
        return concat([broadcast_to(op.diag_part(), [*lead, op.dims[-1]]) for op in self.operators], -1)

    def determinant(self, name: str = "det") -> Tensor:
        if not all(op.is_square for op in self.operators):
            return super().determinant()
        found: Any = self.operators[0].determinant()
        for op in self.operators[1:]:
            found = found * op.determinant()
        return found  # type: ignore[no-any-return]

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        if not all(op.is_square for op in self.operators):
            return super().log_abs_determinant()
        return sum(
            [op.log_abs_determinant() for op in self.operators[1:]], self.operators[0].log_abs_determinant()
        )


class LinearOperatorKronecker(LinearOperator):
    """The Kronecker product of operators whose sizes are known.

    Args:
      operators: A list of operators.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    def __init__(
        self, operators: object, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self.operators = sequence_of(type(self).__name__, operators)
        if any(None in op.dims for op in self.operators):
            raise InvalidArgumentError(f"{type(self).__name__}: the sizes of all operators must be known.")
        hints: list[Any] = [
            all_or_unknown([getattr(op, word) for op in self.operators]) if given is None else given
            for word, given in (
                ("is_non_singular", is_non_singular),
                ("is_self_adjoint", is_self_adjoint),
                ("is_positive_definite", is_positive_definite),
            )
        ]
        super().__init__(
            self.operators[0].dtype,
            None,
            hints[0],
            hints[1],
            hints[2],
            is_square,
            name or "_x_".join(op.name for op in self.operators),
        )

    @property
    def shape(self) -> TensorShape:
        m = n = 1
        for op in self.operators:
            m, n = m * op.dims[-2], n * op.dims[-1]
        return TensorShape([*common_stack(self.name, self.operators), m, n])

    def _each(self, x: Any, axis: int, function: Callable[[Any, Any], Any]) -> Any:
        """Each operator applied along its own axis of the rows of x, which are numbered with the first operator's axis
        outermost."""
        lead = broadcast_dims(self.name, common_stack(self.name, self.operators), x.dims[:-2]) or ()
        columns, before = x.dims[-1], 1
        x = broadcast_to(x, [*lead, *x.dims[-2:]])
        after = x.dims[-2]
        for op in self.operators:
            own = op.dims[axis]
            after //= own or 1
            # [lead, before, own, after, columns], with the operator's own axis moved to the front of the rows.
            split = reshape(x, [*lead, before, own, after * columns])
            k = len(lead)
            turn = [*range(k), k + 1, k, k + 2]
            rows = function(op, reshape(transpose(split, turn), [*lead, own, before * after * columns]))
            new = rows.dims[-2]
            back = transpose(reshape(rows, [*lead, new, before, after * columns]), turn)
            x = reshape(back, [*lead, before * new * after, columns])
            before *= new
        return x

    def _matmul(self, x: Tensor, adjoint: bool) -> Any:
        return self._each(x, -2 if adjoint else -1, lambda op, part: op.matmul(part, adjoint=adjoint))

    def _solve(self, b: object, adjoint: bool) -> Any:
        return self._each(b, -1 if adjoint else -2, lambda op, part: op.solve(part, adjoint=adjoint))

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        if not all(op.is_square for op in self.operators):
            return super().log_abs_determinant()
        n = self.dims[-1]
        first, *rest = [(n / op.dims[-1]) * op.log_abs_determinant() for op in self.operators]
        return sum(rest, first)  # type: ignore[no-any-return]

    def determinant(self, name: str = "det") -> Tensor:
        if not all(op.is_square for op in self.operators):
            return super().determinant()
        n = self.dims[-1]
        found: Any = None
        for op in self.operators:
            part = op.determinant() ** (n // op.dims[-1])
            found = part if found is None else found * part
        return found  # type: ignore[no-any-return]


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

    def __init__(
        self, base_operator: LinearOperator, u: Tensor, diag_update: TensorLike | None = None, v: TensorLike | None = None,
        is_diag_update_positive: bool | None = None, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
        is_square: bool | None = None, name: str = "LinearOperatorLowRankUpdate",
    ) -> None:  # fmt: skip
        self.base_operator = base_operator
        self.u = of_rank(name, u, 2, base_operator.dtype)
        self.v = self.u if v is None else of_rank(name, v, 2, base_operator.dtype)
        self.diag_update = None if diag_update is None else of_rank(name, diag_update, 1, base_operator.dtype)
        if (
            v is None
            and base_operator.is_self_adjoint
            and is_self_adjoint is None
            and not self.u.dtype.is_complex
        ):
            is_self_adjoint = True
        is_raised = diag_update is None or is_diag_update_positive
        if v is None and is_raised and base_operator.is_positive_definite and is_positive_definite is None:
            is_positive_definite = True
        super().__init__(
            base_operator.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    @property
    def diag_operator(self) -> LinearOperator:
        """D."""
        one = cast(self.u[..., :1, :] * 0 + 1, self.dtype)[..., 0, :]
        return LinearOperatorDiag(one if self.diag_update is None else self.diag_update)

    @property
    def shape(self) -> TensorShape:
        lead = (
            broadcast_dims(self.name, self.base_operator.dims[:-2], self.u.dims[:-2], self.v.dims[:-2]) or ()
        )
        return TensorShape([*lead, *self.base_operator.dims[-2:]])

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


__all__ = [
    "LinearOperatorBlockDiag",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
]
