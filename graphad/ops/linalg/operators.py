"""`LinearOperator`, triangular ones, and adjoints, inverses and products of operators: matrices with structure that
makes products and systems cheaper.

An operator is a Python object around tensors and variables; all of its results are computed by ops, so they are traced and
differentiated like any others, and follow the variables' values. It cannot be an argument of a traced function: create it inside,
or let the function capture it.
"""

from __future__ import annotations

from typing import Any, overload

from graphad.core.annotations import TensorLike
from graphad.core.convert import lift_like
from graphad.core.dtypes import float32
from graphad.core.errors import InvalidArgumentError, UndefinedResultError
from graphad.core.shapes import TensorShape, broadcast_dims, format_dims, ranked
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.identity_matrix import eye
from graphad.ops.array.reshape import expand_dims
from graphad.ops.array.shape import shape as shape_of
from graphad.ops.array.squeezing import squeeze
from graphad.ops.linalg.determinants import det
from graphad.ops.linalg.diagonal import band_part
from graphad.ops.linalg.diagonals import diag_part
from graphad.ops.linalg.eigen import real_eigenvalues, svd
from graphad.ops.linalg.held import Held, of_rank
from graphad.ops.linalg.matmul import adjoint as adjoint_of
from graphad.ops.linalg.matmul import matmul
from graphad.ops.linalg.operator_slices import sliced
from graphad.ops.linalg.shaped import (
    Shaped,
    common_stack,
    hints_of_all,
    require_fit,
    require_operator,
    same_hints,
    sequence_of,
    settled,
)
from graphad.ops.linalg.systems import cholesky, cholesky_solve, solve, triangular_solve
from graphad.ops.math.arithmetic import abs as abs_of
from graphad.ops.math.cast import cast
from graphad.ops.math.complexes import conj, real
from graphad.ops.math.exponential import log
from graphad.ops.math.reduce import reduce_all, reduce_max, reduce_min, reduce_prod, reduce_sum
from graphad.ops.state.checks import assert_equal
from graphad.ops.state.effects import require


class LinearOperator(Shaped):
    """A matrix, or a stack of them, [..., m, n].

    A subclass of one's own defines `_shape()` and `_matmul(x, adjoint=False, adjoint_arg=False)` for x [..., n, k], and what it
    can compute faster: `_matvec(x, adjoint=False)`, `_solve(rhs, adjoint=False, adjoint_arg=False)`, `_solvevec(rhs,
    adjoint=False)`, `_to_dense()`, `_diag_part()`, `_trace()`, `_determinant()`, `_log_abs_determinant()`, `_eigvals()`,
    `_cond()`, `_add_to_tensor(x)`, and `_shape_tensor()` where sizes are known only at run time. `adjoint_arg` is False
    whenever these are called from here.

    `matmul`, `linalg.matvec`, `solve`, `inv`, `adjoint`, `cholesky`, `det`, `logdet`, `trace` and `diag_part` take operators too
    and call their methods. Products, inverses, adjoints and factors of operators are operators, with structure where the result
    has it, like the product of diagonal ones.

    Args:
      dtype: The dtype of the elements.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, None where unknown. They are not checked;
        `solve` uses the Cholesky factor of an operator that is self-adjoint and positive definite.
      name: The name of the operator, its class by default.
      graph_parents: Accepted for compatibility.
      parameters: What the attribute of this name holds; by default the arguments of the constructor.
    Raises: InvalidArgumentError (a ValueError): hints that contradict each other; when it is used: shapes that do not fit;
      UndefinedResultError (a NotImplementedError too): a determinant or a solution with a matrix that is not square, or
      eigenvalues of one that is not self-adjoint.
    """

    # Which arguments are tensors, and how many of their axes belong to the matrix; negative for a list of tensors.
    _sliced: tuple[tuple[str, int], ...] | None = None
    _has_batch_shape = False
    __iter__ = None

    def __getitem__(self, key: Any) -> LinearOperator:
        """Those matrices of a stack that an index of its leading axes names: `operator[0]`, `operator[..., None, 1:]`."""
        found: LinearOperator = sliced(self, key)
        return found

    def _shape_tensor(self) -> Tensor:
        return shape_of(self.to_dense())

    # -- products and systems ----------------------------------------------------------------------------------------------

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return matmul(self.to_dense(), x, adjoint_a=adjoint)

    def _solve(self, b: Tensor, adjoint: bool) -> Tensor:
        if self.is_positive_definite and self.is_self_adjoint:
            factor: Any = cholesky(self.to_dense())
            dims = ranked(b.dims)
            lead = broadcast_dims("solve", factor.dims[:-2], dims[:-2]) or ()
            return cholesky_solve(
                factor, broadcast_to(b, [*lead, *dims[-2:]]) if None not in lead + dims else b
            )
        return solve(self.to_dense(), b, adjoint=adjoint)

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
        """The product with a matrix [..., n, k]. Another operator gives an operator: one with structure where that of both is
        kept, else a composed one."""
        if isinstance(x, LinearOperator):
            return product_of(self.adjoint() if adjoint else self, x.adjoint() if adjoint_arg else x)
        return self._matmul(self._right("matmul", x, adjoint, adjoint_arg), adjoint)

    __matmul__ = matmul
    __array_ufunc__ = None  # for NumPy, so that `array @ operator` asks the operator

    def __rmatmul__(self, x: TensorLike) -> Tensor:
        return adjoint_of(self.matmul(x, adjoint=True, adjoint_arg=True))

    def _times(self, right: LinearOperator) -> LinearOperator | None:
        """The product of this and another operator as one with structure; None where it has none, or where `right` knows it."""
        return None

    def _after(self, left: LinearOperator) -> LinearOperator | None:
        """The product of another operator and this one, which the other does not know."""
        return None

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
        """Solve operator x = rhs for rhs [..., m, k]; another operator as rhs gives an operator, as for `matmul`."""
        self._require_square("solve")
        if self.is_non_singular is False:
            raise UndefinedResultError(
                f"{type(self).__name__}.solve: the operator has the hint is_non_singular=False."
            )
        if isinstance(rhs, LinearOperator):
            own = self.adjoint() if adjoint else self
            return product_of(own.inverse(), rhs.adjoint() if adjoint_arg else rhs)
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
        """The eigenvalues of a self-adjoint operator: where the structure tells them, in the order of the elements that they
        are computed from, else in ascending order."""
        if not self.is_self_adjoint:
            raise UndefinedResultError(
                f"{type(self).__name__}.eigvals: the operator must have is_self_adjoint=True; "
                "use linalg.eigvals(operator.to_dense())."
            )
        return cast(self._eigvals(), self.dtype)

    def _eigvals(self) -> Tensor:
        return real_eigenvalues(self.to_dense())

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
        return self._factor()

    def _factor(self) -> LinearOperator:
        return LinearOperatorLowerTriangular(
            cholesky(self.to_dense()), is_non_singular=True, is_self_adjoint=False, is_square=True
        )

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
        least = reduce_min(real_eigenvalues((dense + adjoint_of(dense)) * cast(0.5, self.dtype)), axis=-1)
        require(reduce_all(least > 0), f"{self.name}: the operator is not positive definite.", [])


class LinearOperatorLowerTriangular(LinearOperator):
    """The lower triangle of a matrix [..., n, n]; elements above the diagonal are not read.

    Args:
      tril: Tensor [..., n, n], a float or complex dtype.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    _sliced = (("tril", 2),)
    _tril = Held()

    def __init__(
        self, tril: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:  # fmt: skip
        self._tril = of_rank(name, tril, 2)
        m, n = self._tril.dims[-2:]
        if None not in (m, n) and m != n:
            raise InvalidArgumentError(
                f"{name}: tril has shape {self._tril.shape}; square matrices are needed."
            )
        is_square = settled(name, "is_square", is_square, True, "a triangular operator is square")
        super().__init__(
            self._tril.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    @property
    def tril(self) -> Tensor:
        """The matrix that was given."""
        return self._tril  # type: ignore[no-any-return]

    @property
    def shape(self) -> TensorShape:
        return self._tril.shape  # type: ignore[no-any-return]

    def to_dense(self, name: str = "to_dense") -> Tensor:
        return band_part(self._tril, -1, 0)

    def _solve(self, b: Tensor, adjoint: bool) -> Tensor:
        return triangular_solve(self._tril, b, lower=True, adjoint=adjoint)

    def diag_part(self, name: str = "diag_part") -> Tensor:
        return diag_part(self._tril)

    def _eigvals(self) -> Tensor:
        return real(self.diag_part())

    def determinant(self, name: str = "det") -> Tensor:
        return reduce_prod(self.diag_part(), axis=-1)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        return reduce_sum(log(abs_of(self.diag_part())), axis=-1)


def product_of(left: LinearOperator, right: LinearOperator) -> LinearOperator:
    """The product of two operators: one with structure where one of them knows it, else a composed one.

    Raises: DTypeError: their dtypes differ; InvalidArgumentError: their sizes do not fit.
    """
    require_fit("matmul", [left, right])
    found = left._times(right)
    found = right._after(left) if found is None else found
    return LinearOperatorComposition([left, right]) if found is None else found


class LinearOperatorAdjoint(LinearOperator):
    """The adjoint of an operator.

    Args:
      operator: The operator.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    _sliced = ()

    def __init__(
        self, operator: LinearOperator, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self.operator = operator
        given = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        hints = same_hints(type(self).__name__, operator, given)
        super().__init__(operator.dtype, None, *hints, name or f"{operator.name}_adjoint")

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

    _sliced = ()

    def __init__(
        self, operator: LinearOperator, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        own = type(self).__name__
        require_operator(own, operator)
        if is_non_singular is False or operator.is_non_singular is False:
            raise InvalidArgumentError(
                f"{own}: a singular operator has no inverse; is_non_singular is False."
            )
        if operator.is_square is False:
            raise InvalidArgumentError(
                f"{own}: the operator has shape {format_dims(operator.dims)}; only a square matrix has an inverse."
            )
        self.operator = operator
        _, adjoint, positive, square = same_hints(
            own, operator, (None, is_self_adjoint, is_positive_definite, is_square)
        )
        super().__init__(
            operator.dtype, None, True, adjoint, positive, square, name or f"{operator.name}_inv"
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

    def _eigvals(self) -> Tensor:
        return 1.0 / self.operator.eigvals()

    def _cond(self) -> Tensor:
        return self.operator.cond()


def _is_mirrored(operators: list[LinearOperator]) -> bool:
    """Whether the second half of some operators are the adjoints of the first half in reverse."""
    half = len(operators) // 2
    return len(operators) == 2 * half and all(
        map(_are_adjoint, operators[:half], operators[: -half - 1 : -1])
    )


def _are_adjoint(a: LinearOperator, b: LinearOperator) -> bool:
    """Whether one is known to be the adjoint of the other: it was made of it, or is it and self-adjoint."""
    return (
        (a is b and a.is_self_adjoint is True)
        or (isinstance(b, LinearOperatorAdjoint) and b.operator is a)
        or (isinstance(a, LinearOperatorAdjoint) and a.operator is b)
    )


class LinearOperatorComposition(LinearOperator):
    """The product of operators, the first one on the left.

    Args:
      operators: A list of operators whose sizes fit.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    _sliced = ()

    def __init__(
        self, operators: object, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        self.operators = sequence_of(type(self).__name__, operators)
        own = type(self).__name__
        require_fit(own, self.operators)
        known = hints_of_all(own, "all operators", self.operators, {"is_non_singular": is_non_singular})[
            "is_non_singular"
        ]
        if _is_mirrored(self.operators):  # a a^H is self-adjoint, and positive definite unless it is singular
            hints = {"is_self_adjoint": is_self_adjoint}
            if known:
                hints["is_positive_definite"] = is_positive_definite
            for hint, given in hints.items():
                if given is False:
                    raise InvalidArgumentError(
                        f"{own}: {hint} is False; a product of operators and their adjoints in reverse has it."
                    )
            is_self_adjoint, is_positive_definite = True, True if known else is_positive_definite
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
