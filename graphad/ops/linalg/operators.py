"""`LinearOperator`, triangular ones, and adjoints, inverses and products of operators: matrices with structure that
makes products and systems cheaper.

An operator is a Python object around tensors and variables; all of its results are computed by ops, so they are traced and
differentiated like any others, and follow the variables' values. It cannot be an argument of a traced function: create it inside,
or let the function capture it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from graphad.core.convert import lift, lift_like
from graphad.core.dtypes import DType, as_dtype, float32, int32
from graphad.core.errors import InvalidArgumentError, UnsupportedOptionError
from graphad.core.shapes import TensorShape, broadcast_dims, format_dims, ranked
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.create import eye
from graphad.ops.array.reshape import expand_dims
from graphad.ops.array.shape import shape as shape_of
from graphad.ops.array.squeezing import squeeze
from graphad.ops.linalg.diagonal import band_part
from graphad.ops.linalg.diagonals import diag_part
from graphad.ops.linalg.eigen import eigvalsh, svd
from graphad.ops.linalg.held import Held, MadeOf, of_rank
from graphad.ops.linalg.matmul import adjoint as adjoint_of
from graphad.ops.linalg.matmul import matmul
from graphad.ops.linalg.systems import cholesky, cholesky_solve, det, solve, triangular_solve
from graphad.ops.math.arithmetic import abs as abs_of
from graphad.ops.math.cast import cast
from graphad.ops.math.complexes import conj
from graphad.ops.math.exponential import log
from graphad.ops.math.reduce import reduce_all, reduce_max, reduce_min, reduce_prod, reduce_sum
from graphad.ops.state.checks import assert_equal
from graphad.ops.state.effects import require

if TYPE_CHECKING:
    from graphad.core.annotations import ShapeLike, TensorLike


class LinearOperator(MadeOf):
    """A matrix, or a stack of them, [..., m, n].

    A subclass of one's own defines `_shape()` and `_matmul(x, adjoint=False, adjoint_arg=False)` for x [..., n, k], and what it
    can compute faster: `_matvec(x, adjoint=False)`, `_solve(rhs, adjoint=False, adjoint_arg=False)`, `_solvevec(rhs,
    adjoint=False)`, `_to_dense()`, `_diag_part()`, `_trace()`, `_determinant()`, `_log_abs_determinant()`, `_eigvals()`,
    `_cond()`, `_add_to_tensor(x)`, and `_shape_tensor()` where sizes are known only at run time. `adjoint_arg` is False
    whenever these are called from here.

    Args:
      dtype: The dtype of the elements.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, None where unknown. They are not checked;
        `solve` uses the Cholesky factor of an operator that is self-adjoint and positive definite.
      name: The name of the operator, its class by default.
      graph_parents: Accepted for compatibility.
      parameters: What the attribute of this name holds; by default the arguments of the constructor.
    Raises: InvalidArgumentError (a ValueError), when it is used: shapes that do not fit.
    """

    def __init__(
        self,
        dtype: DType | str,
        graph_parents: Any = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        self.dtype: DType = as_dtype(dtype)
        if is_positive_definite:
            if is_non_singular is False:
                raise InvalidArgumentError(
                    f"{type(self).__name__}: a positive definite matrix is not singular; is_non_singular is False."
                )
            is_non_singular = True
        self.is_non_singular = is_non_singular
        self.is_self_adjoint = is_self_adjoint
        self.is_positive_definite = is_positive_definite
        self._is_square = is_square
        self.name = name or type(self).__name__
        self._parameters = parameters

    # -- shapes ------------------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> TensorShape:
        """[..., m, n], as far as it is known."""
        return TensorShape(self._shape())

    def _shape(self) -> ShapeLike:
        raise NotImplementedError(f"{type(self).__name__}: define `_shape`, which gives [..., m, n].")

    @property
    def dims(self) -> tuple[Any, ...]:
        """The raw shape; a rank is always known."""
        return tuple(self.shape.as_list())

    @property
    def is_square(self) -> bool | None:
        """Whether m is n, None where that is not known."""
        m, n = self.dims[-2:]
        return self._is_square if m is None or n is None else m == n

    @property
    def batch_shape(self) -> TensorShape:
        return TensorShape(self.dims[:-2])

    @property
    def domain_dimension(self) -> Any:
        """The number of columns, n."""
        return self.dims[-1]

    @property
    def range_dimension(self) -> Any:
        """The number of rows, m."""
        return self.dims[-2]

    @property
    def tensor_rank(self) -> int:
        return len(self.dims)

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """The shape as int32."""
        return lift(list(self.dims), int32) if None not in self.dims else self._shape_tensor()

    def _shape_tensor(self) -> Tensor:
        return shape_of(self.to_dense())

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        return self.shape_tensor()[:-2]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        return self.shape_tensor()[-1]

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        return self.shape_tensor()[-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        return lift(self.tensor_rank, int32)

    # -- products and systems ----------------------------------------------------------------------------------------------

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return matmul(self.to_dense(), x, adjoint_a=adjoint)

    def _solve(self, b: Tensor, adjoint: bool) -> Tensor:
        self._require_square("solve")
        if self.is_positive_definite and self.is_self_adjoint:
            factor: Any = cholesky(self.to_dense())
            dims = ranked(b.dims)
            lead = broadcast_dims("solve", factor.dims[:-2], dims[:-2]) or ()
            return cholesky_solve(
                factor, broadcast_to(b, [*lead, *dims[-2:]]) if None not in lead + dims else b
            )
        return solve(self.to_dense(), b, adjoint=adjoint)

    def _require_square(self, what: str) -> None:
        if self.is_square is False:
            raise InvalidArgumentError(
                f"{type(self).__name__}.{what}: the shape is {format_dims(self.dims)}; a square matrix is needed."
            )

    def _right(self, what: str, x: Any, adjoint: bool, adjoint_arg: bool) -> Any:
        x = lift_like(what, x, self.dtype)
        if x.ndim is None or x.ndim < 2:
            raise InvalidArgumentError(
                f"{type(self).__name__}.{what}: the argument has shape {x.shape}; a matrix of known rank is needed."
            )
        x = adjoint_of(x) if adjoint_arg else x
        m, n = self.dims[-2:]
        own = (m if adjoint else n) if what == "matmul" else (n if adjoint else m)
        if own is not None and x.dims[-2] is not None and own != x.dims[-2]:
            raise InvalidArgumentError(
                f"{type(self).__name__}.{what}: the shape is {format_dims(self.dims)}, that of the argument "
                f"{format_dims(x.dims)}; it must have {own} rows."
            )
        return x

    @overload
    def matmul(
        self, x: LinearOperator, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> LinearOperator: ...
    @overload
    def matmul(
        self, x: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Tensor: ...
    def matmul(
        self,
        x: LinearOperator | TensorLike,
        adjoint: bool = False,
        adjoint_arg: bool = False,
        name: str = "matmul",
    ) -> LinearOperator | Tensor:
        """The product with a matrix [..., n, k]; another operator gives a composed operator."""
        if isinstance(x, LinearOperator):
            return LinearOperatorComposition(
                [self.adjoint() if adjoint else self, x.adjoint() if adjoint_arg else x]
            )
        return self._matmul(self._right("matmul", x, adjoint, adjoint_arg), adjoint)

    __matmul__ = matmul

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """The product with a vector [..., n]."""
        return self._matvec(lift_like("matvec", x, self.dtype), adjoint)

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return squeeze(self.matmul(expand_dims(x, -1), adjoint=adjoint), -1)

    @overload
    def solve(
        self, rhs: LinearOperator, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> LinearOperator: ...
    @overload
    def solve(
        self, rhs: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Tensor: ...
    def solve(
        self,
        rhs: LinearOperator | TensorLike,
        adjoint: bool = False,
        adjoint_arg: bool = False,
        name: str = "solve",
    ) -> LinearOperator | Tensor:
        """Solve operator x = rhs for rhs [..., m, k]; another operator as rhs gives a composed operator."""
        if isinstance(rhs, LinearOperator):
            own = self.adjoint() if adjoint else self
            return LinearOperatorComposition([own.inverse(), rhs.adjoint() if adjoint_arg else rhs])
        if self.is_non_singular is False:
            raise InvalidArgumentError(
                f"{type(self).__name__}.solve: the operator has the hint is_non_singular=False."
            )
        return self._solve(self._right("solve", rhs, adjoint, adjoint_arg), adjoint)

    def solvevec(self, rhs: TensorLike, adjoint: bool = False, name: str = "solve") -> Tensor:
        """`solve` for a vector [..., m]."""
        return self._solvevec(lift_like("solvevec", rhs, self.dtype), adjoint)

    def _solvevec(self, rhs: Tensor, adjoint: bool = False) -> Tensor:
        return squeeze(self.solve(expand_dims(rhs, -1), adjoint=adjoint), -1)

    # -- elements and functions of the matrix
    # --------------------------------------------------------------------------------------------------------

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """All elements, [..., m, n]."""
        return self._to_dense()

    def _to_dense(self) -> Tensor:
        if type(self)._matmul is LinearOperator._matmul:
            raise NotImplementedError(
                f"{type(self).__name__}: define `_matmul`, the product with a matrix [..., n, k], or `_to_dense`."
            )
        *lead, _, n = self.dims
        if n is None:
            raise InvalidArgumentError(
                f"{type(self).__name__}.to_dense: the shape is {format_dims(self.dims)}; the number of columns must be known."
            )
        identity = eye(n, dtype=self.dtype)
        if None not in lead:
            identity = broadcast_to(identity, [*lead, *identity.dims])  # type: ignore[misc]
        return self._matmul(identity, False)

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The main diagonal."""
        return self._diag_part()

    def _diag_part(self) -> Tensor:
        return diag_part(self.to_dense())

    def trace(self, name: str = "trace") -> Tensor:
        """The sum of the main diagonal."""
        return self._trace()

    def _trace(self) -> Tensor:
        return reduce_sum(self.diag_part(), axis=-1)

    def determinant(self, name: str = "det") -> Tensor:
        self._require_square("determinant")
        return self._determinant()

    def _determinant(self) -> Tensor:
        return det(self.to_dense())

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithm of the absolute value of the determinant."""
        self._require_square("log_abs_determinant")
        return self._log_abs_determinant()

    def _log_abs_determinant(self) -> Tensor:
        if self.is_positive_definite and self.is_self_adjoint:
            return 2.0 * reduce_sum(log(abs_of(diag_part(cholesky(self.to_dense())))), axis=-1)
        return log(abs_of(self.determinant()))

    def eigvals(self, name: str = "eigvals") -> Tensor:
        """The eigenvalues of a self-adjoint operator in ascending order."""
        if not self.is_self_adjoint:
            raise UnsupportedOptionError(
                f"{type(self).__name__}.eigvals: the operator must have is_self_adjoint=True; "
                "use linalg.eigvals(operator.to_dense())."
            )
        return self._eigvals()

    def _eigvals(self) -> Tensor:
        return eigvalsh(self.to_dense())

    def cond(self, name: str = "cond") -> Tensor:
        """The condition number: the largest singular value divided by the smallest."""
        return self._cond()

    def _cond(self) -> Tensor:
        values = svd(self.to_dense(), compute_uv=False)
        return reduce_max(values, axis=-1) / reduce_min(values, axis=-1)

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """The sum of this matrix and `x`."""
        return self._add_to_tensor(lift_like("add_to_tensor", x, self.dtype))

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self.to_dense() + x

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        return self if self.is_self_adjoint else LinearOperatorAdjoint(self)

    @property
    def H(self) -> LinearOperator:
        """The adjoint."""
        return self.adjoint()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        self._require_square("inverse")
        if self.is_non_singular is False:
            raise InvalidArgumentError(
                f"{type(self).__name__}.inverse: the operator has the hint is_non_singular=False."
            )
        return LinearOperatorInversion(self)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The lower triangular factor of a self-adjoint positive definite operator."""
        if not (self.is_self_adjoint and self.is_positive_definite):
            raise InvalidArgumentError(
                f"{type(self).__name__}.cholesky: the operator must have is_self_adjoint=True and is_positive_definite=True."
            )
        return LinearOperatorLowerTriangular(cholesky(self.to_dense()), is_non_singular=True)

    # -- checks ------------------------------------------------------------------------------------------------------------

    def assert_non_singular(self, name: str = "assert_non_singular") -> None:
        """Raise if the condition number is so large that a solution has no correct digit."""
        limit = 2.0**23 if self.dtype.real_dtype is float32 else 2.0**52
        require(reduce_all(self.cond() < limit), f"{self.name}: the operator is singular or close to it.", [])

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> None:
        """Raise if the matrix differs from its adjoint."""
        dense = self.to_dense()
        assert_equal(dense, adjoint_of(dense), message=f"{self.name}: the operator is not self-adjoint.")

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> None:
        """Raise if an eigenvalue of the Hermitian part is not positive."""
        dense = self.to_dense()
        least = reduce_min(eigvalsh((dense + adjoint_of(dense)) * cast(0.5, self.dtype)), axis=-1)
        require(reduce_all(least > 0), f"{self.name}: the operator is not positive definite.", [])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} shape={self.shape} dtype={self.dtype.name}>"


class LinearOperatorLowerTriangular(LinearOperator):
    """The lower triangle of a matrix [..., n, n]; elements above the diagonal are not read.

    Args:
      tril: Tensor [..., n, n], a float or complex dtype.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    _tril = Held()

    def __init__(
        self, tril: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:  # fmt: skip
        self._tril = of_rank(name, tril, 2)
        super().__init__(
            self._tril.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    @property
    def shape(self) -> TensorShape:
        return self._tril.shape  # type: ignore[no-any-return]

    def to_dense(self, name: str = "to_dense") -> Tensor:
        return band_part(self._tril, -1, 0)

    def _solve(self, b: Tensor, adjoint: bool) -> Tensor:
        return triangular_solve(self._tril, b, lower=True, adjoint=adjoint)

    def diag_part(self, name: str = "diag_part") -> Tensor:
        return diag_part(self._tril)

    def determinant(self, name: str = "det") -> Tensor:
        return reduce_prod(self.diag_part(), axis=-1)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        return reduce_sum(log(abs_of(self.diag_part())), axis=-1)


def common_stack(name: str, operators: list[LinearOperator]) -> tuple[int, ...]:
    """The shape to which the batch shapes of several operators broadcast."""
    return broadcast_dims(name, *[op.dims[:-2] for op in operators]) or ()


def all_or_unknown(values: list[bool | None]) -> bool | None:
    """True if all are True, else None (unknown)."""
    return True if all(values) else None


class LinearOperatorAdjoint(LinearOperator):
    """The adjoint of an operator.

    Args:
      operator: The operator.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    def __init__(
        self, operator: LinearOperator, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self.operator = operator
        hints = operator.is_non_singular, operator.is_self_adjoint, operator.is_positive_definite
        given = is_non_singular, is_self_adjoint, is_positive_definite
        known: list[Any] = [b if a is None else a for a, b in zip(given, hints, strict=True)]
        super().__init__(
            operator.dtype, None, known[0], known[1], known[2], is_square, name or f"{operator.name}_adjoint"
        )

    @property
    def shape(self) -> TensorShape:
        *lead, m, n = self.operator.dims
        return TensorShape([*lead, n, m])

    def _matmul(self, x: Tensor, adjoint: bool) -> Any:
        return self.operator.matmul(x, adjoint=not adjoint)

    def _solve(self, b: Tensor, adjoint: bool) -> Tensor:
        found: Tensor = self.operator.solve(b, adjoint=not adjoint)
        return found

    def determinant(self, name: str = "det") -> Tensor:
        return conj(self.operator.determinant())

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        return self.operator.log_abs_determinant()

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        return self.operator


class LinearOperatorInversion(LinearOperator):
    """The inverse of an operator. It is never computed: its products are solutions of systems.

    Args:
      operator: The operator, square.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    def __init__(
        self, operator: LinearOperator, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        if is_non_singular is False or operator.is_non_singular is False:
            raise InvalidArgumentError(f"{type(self).__name__}: a singular operator has no inverse.")
        self.operator = operator
        own = operator.is_self_adjoint if is_self_adjoint is None else is_self_adjoint
        positive = operator.is_positive_definite if is_positive_definite is None else is_positive_definite
        super().__init__(
            operator.dtype, None, True, own, positive, is_square, name or f"{operator.name}_inverse"
        )

    @property
    def shape(self) -> TensorShape:
        return self.operator.shape

    def _matmul(self, x: Tensor, adjoint: bool) -> Any:
        return self.operator.solve(x, adjoint=adjoint)

    def _solve(self, b: Tensor, adjoint: bool) -> Tensor:
        found: Tensor = self.operator.matmul(b, adjoint=adjoint)
        return found

    def determinant(self, name: str = "det") -> Tensor:
        return 1.0 / self.operator.determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        return -self.operator.log_abs_determinant()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        return self.operator


class LinearOperatorComposition(LinearOperator):
    """The product of operators, the first one on the left.

    Args:
      operators: A list of operators whose sizes fit.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    def __init__(
        self, operators: object, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self.operators = sequence_of(type(self).__name__, operators)
        for left, right in zip(self.operators, self.operators[1:], strict=False):
            if None not in (left.dims[-1], right.dims[-2]) and left.dims[-1] != right.dims[-2]:
                raise InvalidArgumentError(
                    f"{type(self).__name__}: an operator with shape {format_dims(left.dims)} stands before one with shape "
                    f"{format_dims(right.dims)}; the inner sizes must be equal."
                )
        known = (
            all_or_unknown([op.is_non_singular for op in self.operators])
            if is_non_singular is None
            else is_non_singular
        )
        super().__init__(
            self.operators[0].dtype, None, known, is_self_adjoint, is_positive_definite, is_square,
            name or "_o_".join(op.name for op in self.operators),
        )  # fmt: skip

    @property
    def shape(self) -> TensorShape:
        lead = common_stack(self.name, self.operators)
        return TensorShape([*lead, self.operators[0].dims[-2], self.operators[-1].dims[-1]])

    def _matmul(self, x: Tensor, adjoint: bool) -> Any:
        for op in self.operators if adjoint else self.operators[::-1]:
            x = op.matmul(x, adjoint=adjoint)
        return x

    def _solve(self, b: Tensor, adjoint: bool) -> Tensor:
        for op in self.operators[::-1] if adjoint else self.operators:
            b = op.solve(b, adjoint=adjoint)
        return b

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


def sequence_of(name: str, operators: object) -> list[LinearOperator]:
    """The operators of a composed one. Raises: InvalidArgumentError: there are none, or their dtypes differ."""
    found = list(operators) if isinstance(operators, Sequence) else []
    if not found or not all(isinstance(x, LinearOperator) for x in found):
        raise InvalidArgumentError(
            f"{name}: operators is {operators!r}; a list of operators is needed, at least one."
        )
    dtypes = {x.dtype for x in found}
    if len(dtypes) > 1:
        raise InvalidArgumentError(
            f"{name}: operators have dtypes {', '.join(sorted(x.name for x in dtypes))}; all must have the same."
        )
    return found


__all__ = [
    "LinearOperator",
    "LinearOperatorAdjoint",
    "LinearOperatorComposition",
    "LinearOperatorInversion",
    "LinearOperatorLowerTriangular",
]
