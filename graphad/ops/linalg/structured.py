"""Operators for full and structured matrices: diagonal, tridiagonal, Householder, permutation and Toeplitz."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.dtypes import float32, int32
from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.core.kinds import INEXACT, require_kind
from graphad.core.shapes import TensorShape, broadcast_dims
from graphad.core.tensor import Handle, Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.create import ones_like, zeros
from graphad.ops.array.gather import gather
from graphad.ops.array.reshape import expand_dims
from graphad.ops.array.sorting import argsort
from graphad.ops.array.support import static_array
from graphad.ops.linalg.banded import compact_diagonals, tridiagonal_matmul, tridiagonal_solve, turned
from graphad.ops.linalg.diagonal import band_part
from graphad.ops.linalg.diagonals import diag, diag_part
from graphad.ops.linalg.held import Held, of_rank
from graphad.ops.linalg.identities import LinearOperatorScaledIdentity
from graphad.ops.linalg.matmul import adjoint as adjoint_of
from graphad.ops.linalg.matmul import matmul
from graphad.ops.linalg.operators import LinearOperator, LinearOperatorLowerTriangular
from graphad.ops.linalg.shaped import hints_of_product, settled
from graphad.ops.math.arithmetic import abs as abs_of
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import not_equal
from graphad.ops.math.complexes import conj, real
from graphad.ops.math.composed import invert_permutation
from graphad.ops.math.exponential import log
from graphad.ops.math.power import sqrt
from graphad.ops.math.reduce import reduce_all, reduce_prod, reduce_sum
from graphad.ops.state.effects import require


class LinearOperatorFullMatrix(LinearOperator):
    """A dense matrix [..., m, n].

    Args:
      matrix: Tensor [..., m, n], a float or complex dtype.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    _sliced = (("matrix", 2),)
    _matrix = Held()

    def __init__(
        self, matrix: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:  # fmt: skip
        self._matrix = require_kind(name, of_rank(name, matrix, 2), INEXACT, "matrix")
        super().__init__(
            self._matrix.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    @property
    def shape(self) -> TensorShape:
        return self._matrix.shape  # type: ignore[no-any-return]

    def to_dense(self, name: str = "to_dense") -> Tensor:
        return self._matrix  # type: ignore[no-any-return]


class LinearOperatorDiag(LinearOperator):
    """The square matrix with the main diagonal [..., n] and zeros elsewhere.

    Args:
      diag: Tensor [..., n], a float or complex dtype.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    _sliced = (("diag", 1),)
    _diag = Held()

    def __init__(
        self, diag: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:  # fmt: skip
        self._diag = of_rank(name, diag, 1)
        is_square = settled(name, "is_square", is_square, True, "a diagonal operator is square")
        if not self._diag.dtype.is_complex:
            why = "a real diagonal operator is self-adjoint"
            is_self_adjoint = settled(name, "is_self_adjoint", is_self_adjoint, True, why)
        super().__init__(
            self._diag.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    @property
    def diag(self) -> Tensor:
        return self._diag  # type: ignore[no-any-return]

    @property
    def shape(self) -> TensorShape:
        return TensorShape([*self._diag.shape.as_list(), self._diag.shape.as_list()[-1]])

    def to_dense(self, name: str = "to_dense") -> Tensor:
        return diag(self._diag)

    def _column(self, adjoint: bool) -> Tensor:
        return expand_dims(conj(self._diag) if adjoint else self._diag, -1)

    def _matmul(self, x: Tensor, adjoint: bool) -> Any:
        return self._column(adjoint) * x

    def _solve(self, b: Tensor, adjoint: bool) -> Any:
        return b / self._column(adjoint)

    def diag_part(self, name: str = "diag_part") -> Tensor:
        return self._diag  # type: ignore[no-any-return]

    def determinant(self, name: str = "det") -> Tensor:
        return reduce_prod(self._diag, axis=-1)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        return reduce_sum(log(abs_of(self._diag)), axis=-1)

    def _eigvals(self) -> Tensor:
        return real(self.diag_part())

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        return self if self.is_self_adjoint else LinearOperatorDiag(conj(self._diag), **self._hints())

    def inverse(self, name: str = "inverse") -> LinearOperator:
        if self.is_non_singular is False:
            return super().inverse()
        return LinearOperatorDiag(1.0 / self._diag, **self._hints() | {"is_non_singular": True})

    def _factor(self) -> LinearOperator:
        return LinearOperatorDiag(sqrt(self._diag), is_non_singular=True, is_self_adjoint=True)

    def _times(self, right: LinearOperator) -> LinearOperator | None:
        if isinstance(right, LinearOperatorDiag):
            hints = hints_of_product(self, right, commute=True)
            return LinearOperatorDiag(self._diag * right.diag, **hints)
        if isinstance(right, LinearOperatorScaledIdentity):
            hints = hints_of_product(self, right, commute=True)
            return LinearOperatorDiag(self._diag * expand_dims(right.multiplier, -1), **hints)
        if isinstance(right, LinearOperatorLowerTriangular):
            rows = expand_dims(self._diag, -1) * right.tril
            return LinearOperatorLowerTriangular(rows, **hints_of_product(self, right))
        return None

    def _after(self, left: LinearOperator) -> LinearOperator | None:
        if isinstance(left, LinearOperatorScaledIdentity):
            hints = hints_of_product(left, self, commute=True)
            return LinearOperatorDiag(expand_dims(left.multiplier, -1) * self._diag, **hints)
        if isinstance(left, LinearOperatorLowerTriangular):
            columns = left.tril * expand_dims(self._diag, -2)
            return LinearOperatorLowerTriangular(columns, **hints_of_product(left, self))
        return None

    def assert_non_singular(self, name: str = "assert_non_singular") -> None:
        require(
            reduce_all(not_equal(self._diag, lift(0, self.dtype))),
            f"{self.name}: the operator is singular: the diagonal holds a 0.",
            [],
        )


class LinearOperatorTridiag(LinearOperator):
    """A tridiagonal matrix, with diagonals as for `linalg.tridiagonal_solve`.

    Args:
      diagonals: As for `linalg.tridiagonal_solve`.
      diagonals_format: "compact", "sequence" or "matrix".
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    _diagonals = Held()
    _lists = frozenset(["diagonals"])

    def __init__(
        self, diagonals: Any, diagonals_format: str = "compact", is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
        is_square: bool | None = None, name: str = "LinearOperatorTridiag",
    ) -> None:  # fmt: skip
        is_list = diagonals_format == "sequence" and isinstance(diagonals, list | tuple)
        self._sliced = (("diagonals", -1 if diagonals_format == "sequence" else 2),)
        self._diagonals = [_as_held(x) for x in diagonals] if is_list else _as_held(diagonals)
        self._form = diagonals_format
        rows: Tensor = of_rank(name, compact_diagonals(name, self._diagonals, self._form), 2)
        is_square = settled(name, "is_square", is_square, True, "a tridiagonal operator is square")
        super().__init__(
            rows.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    @property
    def _rows(self) -> Any:
        """The diagonals as rows, at each use: a variable may have another value, a tape may follow them from now on."""
        return compact_diagonals(self.name, self._diagonals, self._form)

    @property
    def shape(self) -> TensorShape:
        *lead, _, n = self._rows.shape.as_list()
        return TensorShape([*lead, n, n])

    def _matmul(self, x: Any, adjoint: bool) -> Any:
        return tridiagonal_matmul(turned(self._rows, 1, 1) if adjoint else self._rows, x)

    def _solve(self, b: Any, adjoint: bool) -> Any:
        if b.ndim == self._rows.ndim - 1:
            b = b[None]
        return tridiagonal_solve(turned(self._rows, 1, 1) if adjoint else self._rows, b)

    def to_dense(self, name: str = "to_dense") -> Tensor:
        return diag(self._rows, k=(-1, 1), align="LEFT_RIGHT")

    def diag_part(self, name: str = "diag_part") -> Tensor:
        return self._rows[..., 1, :]  # type: ignore[no-any-return]


def _as_held(x: Any) -> Any:
    """A variable as it is, anything else as a tensor."""
    return x if isinstance(x, Handle) else lift(x)


class LinearOperatorHouseholder(LinearOperator):
    """The reflection x - 2 v v^H x along v, which is [..., n] scaled to length 1.

    Args:
      reflection_axis: Tensor [..., n], a float or complex dtype.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    Source: Householder, Unitary triangularization of a nonsymmetric matrix, 1958.
    """

    _sliced = (("reflection_axis", 1),)

    reflection_axis = Held()

    def __init__(
        self, reflection_axis: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:  # fmt: skip
        self.reflection_axis = of_rank(name, reflection_axis, 1)
        settled(name, "is_self_adjoint", is_self_adjoint, True, "a reflection is self-adjoint")
        settled(name, "is_positive_definite", is_positive_definite, False, "a reflection is not definite")
        settled(name, "is_non_singular", is_non_singular, True, "a reflection is its own inverse")
        settled(name, "is_square", is_square, True, "a reflection is square")
        super().__init__(self.reflection_axis.dtype, None, True, True, False, True, name)

    @property
    def _unit(self) -> Any:
        """The axis as a column of length 1, at each use: a tape may follow the axis from now on."""
        axis = self.reflection_axis
        size = reduce_sum(abs_of(axis) * abs_of(axis), axis=-1, keepdims=True)
        return expand_dims(axis / cast(size**0.5, axis.dtype), -1)

    @property
    def shape(self) -> TensorShape:
        sizes = self.reflection_axis.shape.as_list()
        return TensorShape([*sizes, sizes[-1]])

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        unit: Tensor = self._unit
        return x - cast(2.0, self.dtype) * unit * matmul(unit, x, adjoint_a=True)

    def _solve(self, b: Tensor, adjoint: bool) -> Tensor:
        return self._matmul(b, adjoint)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        return self

    def determinant(self, name: str = "det") -> Tensor:
        return -ones_like(self.reflection_axis[..., 0])

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        return abs_of(self.reflection_axis[..., 0]) * 0.0


class LinearOperatorPermutation(LinearOperator):
    """The permutation matrix of perm [..., n]: row i of its product with x is x[perm[i]].

    Args:
      perm: Integer tensor [..., n]: the numbers from 0 to n - 1, in any order.
      dtype: The dtype of the elements.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    _sliced = (("perm", 1),)

    perm = Held()

    def __init__(
        self, perm: Any, dtype: Any = float32, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
        is_square: bool | None = None, name: str = "LinearOperatorPermutation",
    ) -> None:  # fmt: skip
        self.perm = of_rank(name, perm, 1)
        if not self.perm.dtype.is_integer:
            raise DTypeError(f"{name}: perm has dtype {self.perm.dtype.name}; integers are needed.")
        known = None if isinstance(perm, Handle) else static_array(self.perm)
        if known is not None and not np.array_equal(
            np.sort(known, -1), np.broadcast_to(np.arange(known.shape[-1]), known.shape)
        ):
            raise InvalidArgumentError(
                f"{name}: perm is {known.tolist()}; it must hold each number from 0 to {known.shape[-1] - 1} once."
            )
        settled(name, "is_non_singular", is_non_singular, True, "a permutation has an inverse")
        settled(name, "is_square", is_square, True, "a permutation is square")
        super().__init__(dtype, None, True, is_self_adjoint, is_positive_definite, True, name)

    @property
    def shape(self) -> TensorShape:
        return TensorShape([*self.perm.shape.as_list(), self.perm.shape.as_list()[-1]])

    def _matmul(self, x: Any, adjoint: bool) -> Any:
        if self.perm.ndim == 1:
            return gather(x, invert_permutation(self.perm) if adjoint else self.perm, axis=-2)
        places: Any = argsort(self.perm, axis=-1) if adjoint else self.perm
        lead = broadcast_dims(self.name, places.dims[:-1], x.dims[:-2]) or ()
        x, places = (
            broadcast_to(x, [*lead, *x.dims[-2:]]),
            broadcast_to(places, [*lead, places.dims[-1]]),
        )
        return gather(x, places, axis=-2, batch_dims=len(lead))

    def _solve(self, b: object, adjoint: bool) -> Any:
        return self._matmul(b, not adjoint)


class LinearOperatorToeplitz(LinearOperator):
    """The matrix with constant diagonals, the first column `col` and the first row `row`, both [..., n].

    Args:
      col, row: Tensors [..., n], a float or complex dtype.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    _sliced = (("col", 1), ("row", 1))

    col = Held()
    row = Held()

    def __init__(
        self, col: Any, row: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:  # fmt: skip
        self.col, self.row = of_rank(name, col, 1), of_rank(name, row, 1)
        n = self.col.dims[-1]
        is_square = settled(name, "is_square", is_square, True, "a Toeplitz operator is square")
        if n is None or self.row.dims[-1] != n:
            raise InvalidArgumentError(
                f"{name}: col has shape {self.col.shape} and row {self.row.shape}; their last sizes must be known and equal."
            )
        super().__init__(
            self.col.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

    @property
    def shape(self) -> TensorShape:
        lead = broadcast_dims(self.name, self.col.dims[:-1], self.row.dims[:-1]) or ()
        return TensorShape([*lead, self.col.dims[-1], self.col.dims[-1]])

    def diag_part(self, name: str = "diag_part") -> Tensor:
        if None in self.dims:
            return super().diag_part()
        return broadcast_to(self.col[..., :1], self.dims[:-1])

    def to_dense(self, name: str = "to_dense") -> Tensor:
        n = self.col.dims[-1]
        low = band_part(_shifted(self.col, n), -1, 0)
        high = _shifted(self.row, n)
        return low + adjoint_of(conj(band_part(high, -1, 0) - diag(diag_part(high))))


def _shifted(x: Tensor, n: int) -> Tensor:
    """y[..., i, j] = x[..., (i - j) mod n]."""
    places = [[(i - j) % n for j in range(n)] for i in range(n)]
    return gather(x, lift(places if n else zeros([0, 0], int32), int32), axis=-1)
