"""Operators for full and structured matrices: diagonal, tridiagonal, Householder, permutation and Toeplitz."""

from __future__ import annotations

from typing import Any

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.convert import lift
from graphad.core.dtypes import float32, int32
from graphad.core.errors import InvalidArgumentError, UnsupportedOptionError
from graphad.core.shapes import TensorShape, broadcast_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.create import ones_like, zeros
from graphad.ops.array.gather import gather
from graphad.ops.array.reshape import expand_dims
from graphad.ops.linalg.banded import compact_diagonals, tridiagonal_matmul, tridiagonal_solve, turned
from graphad.ops.linalg.diagonal import band_part
from graphad.ops.linalg.diagonals import diag, diag_part
from graphad.ops.linalg.held import Held, computed, of_rank
from graphad.ops.linalg.matmul import adjoint as adjoint_of
from graphad.ops.linalg.matmul import matmul
from graphad.ops.linalg.operators import LinearOperator
from graphad.ops.math.arithmetic import abs as abs_of
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import not_equal
from graphad.ops.math.complexes import conj
from graphad.ops.math.composed import invert_permutation
from graphad.ops.math.exponential import log
from graphad.ops.math.reduce import reduce_all, reduce_prod, reduce_sum
from graphad.ops.state.effects import require


def _count(name: str, n: Any) -> int:
    if isinstance(n, Tensor):
        raise UnsupportedOptionError(f"{name}: num_rows is a tensor; an int is needed.")
    if int(n) < 0:
        raise InvalidArgumentError(f"{name}: num_rows is {n}; it must be 0 or more.")
    return int(n)


class LinearOperatorFullMatrix(LinearOperator):
    """A dense matrix [..., m, n].

    Args:
      matrix: Tensor [..., m, n], a float or complex dtype.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    _matrix = Held()

    def __init__(
        self, matrix: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:  # fmt: skip
        self._matrix = of_rank(name, matrix, 2)
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

    _diag = Held()

    def __init__(
        self, diag: TensorLike, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:  # fmt: skip
        self._diag = of_rank(name, diag, 1)
        if not self._diag.dtype.is_complex and is_self_adjoint is None:
            is_self_adjoint = True
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

    def inverse(self, name: str = "inverse") -> LinearOperator:
        return LinearOperatorDiag(1.0 / self._diag, is_non_singular=True)

    def assert_non_singular(self, name: str = "assert_non_singular") -> None:
        require(
            reduce_all(not_equal(self._diag, lift(0, self.dtype))),
            f"{self.name}: the diagonal holds a 0.",
            [],
        )


class LinearOperatorScaledIdentity(LinearOperatorDiag):
    """A scalar, or one [...] for each matrix, times the identity with `num_rows` rows.

    Args:
      num_rows: The number of rows, an int.
      multiplier: Tensor [...], a float or complex dtype.
      assert_proper_shapes: Whether to check the shapes again at run time.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    multiplier = Held()

    def __init__(
        self, num_rows: int, multiplier: Tensor, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
        is_square: bool | None = True, assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:  # fmt: skip
        self.multiplier = of_rank(name, multiplier, 0)
        rows = _count(name, num_rows)
        wide = computed(
            lambda: broadcast_to(expand_dims(self.multiplier, -1), [*self.multiplier.dims, rows]), multiplier
        )
        super().__init__(wide, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)

    def add_to_tensor(self, mat: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """The sum of this matrix and `mat`."""
        return super().add_to_tensor(mat)


class LinearOperatorIdentity(LinearOperatorScaledIdentity):
    """The identity with `num_rows` rows, or a stack of the shape `batch_shape` of them.

    Args:
      num_rows: The number of rows, an int.
      batch_shape: The leading sizes.
      dtype: The dtype, float32 by default.
      assert_proper_shapes: Whether to check the shapes again at run time.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    def __init__(
        self, num_rows: int, batch_shape: Any = None, dtype: DTypeLike | None = None, is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True, is_positive_definite: bool | None = True,
        is_square: bool | None = True, assert_proper_shapes: bool = False, name: str = "LinearOperatorIdentity",
    ) -> None:  # fmt: skip
        ones = ones_like(
            zeros([] if batch_shape is None else batch_shape, float32 if dtype is None else dtype)
        )
        super().__init__(
            num_rows, ones, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name=name
        )

    def _matmul(self, x: Any, adjoint: bool) -> Any:
        return x if not self._diag.dims[:-1] else super()._matmul(x, adjoint)

    def _solve(self, b: Tensor, adjoint: bool) -> Any:
        return self._matmul(b, adjoint)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        return self


class LinearOperatorZeros(LinearOperator):
    """Zeros, [*batch_shape, num_rows, num_columns]; square by default.

    Args:
      num_rows, num_columns: The sizes, ints.
      batch_shape: The leading sizes.
      dtype: The dtype, float32 by default.
      assert_proper_shapes: Whether to check the shapes again at run time.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    def __init__(
        self, num_rows: int, num_columns: int | None = None, batch_shape: Any = None, dtype: Any = None,
        is_non_singular: bool | None = False, is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False, is_square: bool | None = True,
        assert_proper_shapes: bool = False, name: str = "LinearOperatorZeros",
    ) -> None:  # fmt: skip
        rows = _count(name, num_rows)
        columns = rows if num_columns is None else _count(name, num_columns)
        self._sizes = TensorShape([*TensorShape(batch_shape or ()).as_list(), rows, columns])
        is_self_adjoint = is_self_adjoint if rows == columns else False
        super().__init__(
            float32 if dtype is None else dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    @property
    def shape(self) -> TensorShape:
        return self._sizes

    def to_dense(self, name: str = "to_dense") -> Tensor:
        return zeros(self.dims, self.dtype)

    def add_to_tensor(self, mat: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """The sum of this matrix and `mat`."""
        return super().add_to_tensor(mat)

    def determinant(self, name: str = "det") -> Tensor:
        self._require_square("determinant")
        return zeros(self.dims[:-2], self.dtype)


class LinearOperatorTridiag(LinearOperator):
    """A tridiagonal matrix, with diagonals as for `linalg.tridiagonal_solve`.

    Args:
      diagonals: As for `linalg.tridiagonal_solve`.
      diagonals_format: "compact", "sequence" or "matrix".
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    _rows = Held()

    def __init__(
        self, diagonals: Any, diagonals_format: str = "compact", is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
        is_square: bool | None = None, name: str = "LinearOperatorTridiag",
    ) -> None:  # fmt: skip
        parts = diagonals if isinstance(diagonals, list | tuple) else [diagonals]
        self._rows = of_rank(
            name, computed(lambda: compact_diagonals(name, diagonals, diagonals_format), *parts), 2
        )
        super().__init__(
            self._rows.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )

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


class LinearOperatorHouseholder(LinearOperator):
    """The reflection x - 2 v v^H x along v, which is [..., n] scaled to length 1.

    Args:
      reflection_axis: Tensor [..., n], a float or complex dtype.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    Source: Householder, Unitary triangularization of a nonsymmetric matrix, 1958.
    """

    reflection_axis = Held()
    _unit = Held()

    def __init__(
        self, reflection_axis: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:  # fmt: skip
        self.reflection_axis = of_rank(name, reflection_axis, 1)
        self._unit = computed(self._scaled, reflection_axis)
        super().__init__(self.reflection_axis.dtype, None, True, True, is_positive_definite, is_square, name)

    def _scaled(self) -> Any:
        """The axis as a column of length 1."""
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

    def determinant(self, name: str = "det") -> Tensor:
        return -ones_like(self.reflection_axis[..., 0])

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        return abs_of(self.reflection_axis[..., 0]) * 0.0


class LinearOperatorPermutation(LinearOperator):
    """The permutation matrix of perm [n]: row i of its product with x is x[perm[i]].

    Args:
      perm: Integer vector [n].
      dtype: The dtype of the elements.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    perm = Held()

    def __init__(
        self, perm: Any, dtype: Any = float32, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
        is_square: bool | None = None, name: str = "LinearOperatorPermutation",
    ) -> None:  # fmt: skip
        self.perm = of_rank(name, perm, 1)
        if self.perm.ndim != 1 or not self.perm.dtype.is_integer:
            raise InvalidArgumentError(
                f"{name}: perm has shape {self.perm.shape} and dtype {self.perm.dtype.name}; a vector of integers is needed."
            )
        super().__init__(dtype, None, True, is_self_adjoint, is_positive_definite, is_square, name)

    @property
    def shape(self) -> TensorShape:
        return TensorShape([*self.perm.shape.as_list(), *self.perm.shape.as_list()])

    def _matmul(self, x: Any, adjoint: bool) -> Any:
        return gather(x, invert_permutation(self.perm) if adjoint else self.perm, axis=-2)

    def _solve(self, b: object, adjoint: bool) -> Any:
        return self._matmul(b, not adjoint)


class LinearOperatorToeplitz(LinearOperator):
    """The matrix with constant diagonals, the first column `col` and the first row `row`, both [..., n].

    Args:
      col, row: Tensors [..., n], a float or complex dtype.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not fit.
    """

    col = Held()
    row = Held()

    def __init__(
        self, col: Any, row: Any, is_non_singular: bool | None = None, is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None, is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:  # fmt: skip
        self.col, self.row = of_rank(name, col, 1), of_rank(name, row, 1)
        n = self.col.dims[-1]
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

    def to_dense(self, name: str = "to_dense") -> Tensor:
        n = self.col.dims[-1]
        lead = self.dims[:-2]
        low = band_part(_shifted(broadcast_to(self.col, [*lead, n]), n), -1, 0)
        high = _shifted(broadcast_to(self.row, [*lead, n]), n)
        return low + adjoint_of(conj(band_part(high, -1, 0) - diag(diag_part(high))))


def _shifted(x: Tensor, n: int) -> Tensor:
    """y[..., i, j] = x[..., (i - j) mod n]."""
    places = [[(i - j) % n for j in range(n)] for i in range(n)]
    return gather(x, lift(places if n else zeros([0, 0], int32), int32), axis=-1)


__all__ = [
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorHouseholder",
    "LinearOperatorIdentity",
    "LinearOperatorPermutation",
    "LinearOperatorScaledIdentity",
    "LinearOperatorToeplitz",
    "LinearOperatorTridiag",
    "LinearOperatorZeros",
]
