"""Operators without elements of their own: multiples of the identity, and zeros."""

from __future__ import annotations

from typing import Any

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.convert import lift
from graphad.core.dims import Dim
from graphad.core.dtypes import as_dtype, float32, int32
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.shapes import TensorShape, broadcast_dims
from graphad.core.tensor import Handle, Tensor
from graphad.ops.array.create import fill, ones, zeros
from graphad.ops.array.identity_matrix import eye
from graphad.ops.array.join import stack
from graphad.ops.array.reshape import expand_dims
from graphad.ops.array.shape import shape as shape_of
from graphad.ops.array.support import static_array
from graphad.ops.linalg.held import Held, of_rank
from graphad.ops.linalg.operators import LinearOperator
from graphad.ops.linalg.shaped import hints_of_product, settled
from graphad.ops.math.arithmetic import abs as abs_of
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import not_equal
from graphad.ops.math.complexes import conj, real
from graphad.ops.math.exponential import log
from graphad.ops.math.power import sqrt
from graphad.ops.math.reduce import reduce_all
from graphad.ops.state.checks import assert_equal
from graphad.ops.state.effects import require


def size_of(name: str, word: str, n: Any) -> Any:
    """A size as a number, or as an integer scalar where it is known only at run time.

    Raises: ArgumentTypeError: it is a variable, or no integer; InvalidArgumentError: it is negative, or no scalar.
    """
    if isinstance(n, Handle):
        raise ArgumentTypeError(
            f"{name}: {word} is a variable; an operator keeps its size, so give an int or a tensor."
        )
    if isinstance(n, Dim):
        return n
    x = lift(n)
    if not x.dtype.is_integer:
        raise ArgumentTypeError(f"{name}: {word} has dtype {x.dtype.name}; an integer is needed.")
    if x.ndim != 0:
        raise InvalidArgumentError(f"{name}: {word} has shape {x.shape}; a scalar is needed.")
    known = static_array(x)
    if known is None:
        return x
    if int(known) < 0:
        raise InvalidArgumentError(f"{name}: {word} is {int(known)}; it must be 0 or more.")
    return int(known)


def sizes_of(name: str, word: str, sizes: Any) -> list[Any]:
    """Each of the sizes of a shape, as `size_of` gives it.

    Raises: as that; InvalidArgumentError: how many there are is not known.
    """
    if sizes is None:
        return []
    if isinstance(sizes, Handle):
        raise ArgumentTypeError(
            f"{name}: {word} is a variable; an operator keeps its shape, so give ints or a tensor."
        )
    if isinstance(sizes, TensorShape):
        sizes = sizes.as_list()
    if not isinstance(sizes, list | tuple):
        x = lift(sizes)
        if x.ndim != 1 or x.dims is None or x.dims[0] is None:
            raise InvalidArgumentError(
                f"{name}: {word} has shape {x.shape}; a list, or a vector of known length, is needed."
            )
        if not x.dtype.is_integer:
            raise ArgumentTypeError(f"{name}: {word} has dtype {x.dtype.name}; integers are needed.")
        known = static_array(x)
        sizes = [x[i] for i in range(x.dims[0])] if known is None else known.tolist()
    return [size_of(name, f"{word}[{i}]", size) for i, size in enumerate(sizes)]


def _known(sizes: list[Any]) -> list[Any]:
    return [None if isinstance(size, Tensor) else size for size in sizes]


def _tensor_of(sizes: list[Any]) -> Tensor:
    return stack([cast(lift(size), int32) for size in sizes])


class _Multiples(LinearOperator):
    """What multiples of the identity share: the number of rows, and a number for each matrix."""

    _rows: Any
    _checks = False

    @property
    def _factor_of_each(self) -> Any:
        """The numbers, [...]."""
        raise NotImplementedError(f"{type(self).__name__}._factor_of_each")

    @property
    def shape(self) -> TensorShape:
        return TensorShape([*self._factor_of_each.shape.as_list(), *_known([self._rows] * 2)])

    def _shape_tensor(self) -> Tensor:
        lead = shape_of(self._factor_of_each)
        return _joined(lead, _tensor_of([self._rows] * 2))

    def _scale(self, adjoint: bool) -> Any:
        factor = self._factor_of_each
        return expand_dims(expand_dims(conj(factor) if adjoint else factor, -1), -1)

    def _checked(self, x: Any) -> Any:
        if self._checks and self.dims[-1] is None:
            assert_equal(
                shape_of(x)[-2], cast(self._rows, int32), message=f"{self.name}: the argument has other rows."
            )
        return x

    def _matmul(self, x: Any, adjoint: bool) -> Any:
        return self._scale(adjoint) * self._checked(x)

    def _solve(self, b: Any, adjoint: bool) -> Any:
        return self._checked(b) / self._scale(adjoint)

    def to_dense(self, name: str = "to_dense") -> Tensor:
        return eye(self._rows, dtype=self.dtype) * self._scale(False)  # type: ignore[no-any-return]

    def diag_part(self, name: str = "diag_part") -> Tensor:
        return expand_dims(self._factor_of_each, -1) * ones([self._rows], self.dtype)

    def _count(self, dtype: Any) -> Tensor:
        return cast(lift(self._rows), dtype)

    def trace(self, name: str = "trace") -> Tensor:
        return self._count(self.dtype) * self._factor_of_each  # type: ignore[no-any-return]

    def determinant(self, name: str = "det") -> Tensor:
        return self._factor_of_each ** self._count(self.dtype)  # type: ignore[no-any-return]

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        return self._count(self.dtype.real_dtype) * log(abs_of(self._factor_of_each))

    def _eigvals(self) -> Tensor:
        return real(self.diag_part())

    def _cond(self) -> Tensor:
        size = abs_of(self._factor_of_each)
        return size / size  # not a number for 0, as for any matrix of zeros

    def add_to_tensor(self, mat: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """The sum of this matrix and `mat`."""
        return super().add_to_tensor(mat)

    def assert_non_singular(self, name: str = "assert_non_singular") -> None:
        require(
            reduce_all(not_equal(self._factor_of_each, lift(0, self.dtype))),
            f"{self.name}: the operator is singular: the diagonal holds a 0.",
            [],
        )


def _joined(lead: Tensor, sizes: Tensor) -> Tensor:
    return stack([*[lead[i] for i in range(lead.dims[0])], sizes[0], sizes[1]])  # type: ignore[index]


class LinearOperatorScaledIdentity(_Multiples):
    """A scalar, or one [...] for each matrix, times the identity with `num_rows` rows.

    Args:
      num_rows: The number of rows, an int or an integer scalar.
      multiplier: Tensor [...], a float or complex dtype.
      assert_proper_shapes: Whether to check the shapes again at run time, where they are not known before.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes or hints that do not fit; ArgumentTypeError (a TypeError): num_rows is no
      integer.
    """

    _sliced = (("multiplier", 0),)

    multiplier = Held()

    def __init__(
        self, num_rows: TensorLike, multiplier: TensorLike, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
        is_square: bool | None = True, assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:  # fmt: skip
        self.multiplier = of_rank(name, multiplier, 0)
        self._rows = size_of(name, "num_rows", num_rows)
        self._checks = assert_proper_shapes
        is_square = settled(name, "is_square", is_square, True, "a multiple of the identity is square")
        if not self.multiplier.dtype.is_complex:
            why = "a real multiple of the identity is self-adjoint"
            is_self_adjoint = settled(name, "is_self_adjoint", is_self_adjoint, True, why)
        super().__init__(
            self.multiplier.dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            is_square,
            name,
        )

    @property
    def _factor_of_each(self) -> Any:
        return self.multiplier

    def _with(self, multiplier: Any, **hints: Any) -> LinearOperator:
        return LinearOperatorScaledIdentity(self._rows, multiplier, **hints)

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        return self if self.is_self_adjoint else self._with(conj(self.multiplier), **self._hints())

    def inverse(self, name: str = "inverse") -> LinearOperator:
        if self.is_non_singular is False:
            return super().inverse()
        return self._with(1.0 / self.multiplier, **self._hints() | {"is_non_singular": True})

    def _factor(self) -> LinearOperator:
        return self._with(sqrt(self.multiplier), is_non_singular=True, is_self_adjoint=True)

    def _times(self, right: LinearOperator) -> LinearOperator | None:
        if not isinstance(right, LinearOperatorScaledIdentity):
            return None
        return self._with(self.multiplier * right.multiplier, **hints_of_product(self, right, commute=True))


class LinearOperatorIdentity(_Multiples):
    """The identity with `num_rows` rows, or a stack of the shape `batch_shape` of them.

    Args:
      num_rows: The number of rows, an int or an integer scalar.
      batch_shape: The leading sizes, a list or an integer vector of known length.
      dtype: The dtype, float32 by default.
      assert_proper_shapes: Whether to check the shapes again at run time, where they are not known before.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes or hints that do not fit; ArgumentTypeError (a TypeError): a size is no
      integer.
    """

    _sliced = ()
    _has_batch_shape = True

    def __init__(
        self, num_rows: TensorLike, batch_shape: Any = None, dtype: DTypeLike | None = None,
        is_non_singular: bool | None = True, is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True, is_square: bool | None = True,
        assert_proper_shapes: bool = False, name: str = "LinearOperatorIdentity",
    ) -> None:  # fmt: skip
        self._rows = size_of(name, "num_rows", num_rows)
        self._lead = sizes_of(name, "batch_shape", batch_shape)
        self._checks = assert_proper_shapes
        given = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        words = "is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square"
        for word, hint in zip(words, given, strict=True):
            settled(name, word, hint, True, "it is so for an identity")
        super().__init__(float32 if dtype is None else dtype, None, True, True, True, True, name)  # type: ignore[arg-type]

    @property
    def _factor_of_each(self) -> Any:
        return ones(self._lead, self.dtype)

    @property
    def shape(self) -> TensorShape:
        return TensorShape(_known([*self._lead, self._rows, self._rows]))

    def _shape_tensor(self) -> Tensor:
        return _tensor_of([*self._lead, self._rows, self._rows])

    def _matmul(self, x: Any, adjoint: bool) -> Any:
        return super()._matmul(x, adjoint) if self._lead else self._checked(x)

    def _solve(self, b: Any, adjoint: bool) -> Any:
        return self._matmul(b, adjoint)

    def determinant(self, name: str = "det") -> Tensor:
        return ones(self._lead, self.dtype)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        return zeros(self._lead, self.dtype.real_dtype)

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        return self

    def inverse(self, name: str = "inverse") -> LinearOperator:
        return self

    def _factor(self) -> LinearOperator:
        return self

    def _times(self, right: LinearOperator) -> LinearOperator | None:
        return self._beside(right)

    def _after(self, left: LinearOperator) -> LinearOperator | None:
        return self._beside(left)

    def _beside(self, other: LinearOperator) -> LinearOperator | None:
        """The other operator, unless this one makes more matrices of it."""
        own, lead = _known(self._lead), list(other.dims[:-2])
        if own and (
            None in own + lead or list(broadcast_dims(self.name, tuple(own), tuple(lead)) or ()) != lead
        ):
            return None
        return other


class LinearOperatorZeros(LinearOperator):
    """Zeros, [*batch_shape, num_rows, num_columns]; square by default.

    Args:
      num_rows, num_columns: The sizes, ints or integer scalars.
      batch_shape: The leading sizes, a list or an integer vector of known length.
      dtype: The dtype, float32 by default.
      assert_proper_shapes: Accepted for compatibility.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes or hints that do not fit; ArgumentTypeError (a TypeError): a size is no
      integer.
    """

    _sliced = ()
    _has_batch_shape = True

    def __init__(
        self, num_rows: TensorLike, num_columns: TensorLike | None = None, batch_shape: Any = None, dtype: Any = None,
        is_non_singular: bool | None = False, is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False, is_square: bool | None = True,
        assert_proper_shapes: bool = False, name: str = "LinearOperatorZeros",
    ) -> None:  # fmt: skip
        rows = size_of(name, "num_rows", num_rows)
        columns = rows if num_columns is None else size_of(name, "num_columns", num_columns)
        self._sizes = [*sizes_of(name, "batch_shape", batch_shape), rows, columns]
        settled(name, "is_non_singular", is_non_singular, False, "a matrix of zeros is singular")
        settled(
            name, "is_positive_definite", is_positive_definite, False, "a matrix of zeros is not definite"
        )
        given = is_square
        is_square = rows is columns or (is_square if isinstance(rows, Tensor) else rows == columns)
        if is_square:
            settled(name, "is_square", given, True, f"there are {rows} rows and columns")
            settled(
                name, "is_self_adjoint", is_self_adjoint, True, "a square matrix of zeros is self-adjoint"
            )
        own = float32 if dtype is None else as_dtype(dtype)
        super().__init__(own, None, False, bool(is_square), False, is_square, name)

    @property
    def shape(self) -> TensorShape:
        return TensorShape(_known(self._sizes))

    def _shape_tensor(self) -> Tensor:
        return _tensor_of(self._sizes)

    def _of(self, sizes: list[Any]) -> Tensor:
        if any(isinstance(size, Tensor) for size in sizes):
            return fill(_tensor_of(sizes), lift(0, self.dtype))
        return zeros(sizes, self.dtype)

    def to_dense(self, name: str = "to_dense") -> Tensor:
        return self._of(self._sizes)

    def _matmul(self, x: Any, adjoint: bool) -> Any:
        *lead, m, n = self.dims
        if None in (*self.dims, *x.dims):
            return super()._matmul(x, adjoint)
        more = broadcast_dims(self.name, tuple(lead), x.dims[:-2]) or ()
        return zeros([*more, n if adjoint else m, x.dims[-1]], self.dtype)

    def add_to_tensor(self, mat: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """The sum of this matrix and `mat`."""
        return super().add_to_tensor(mat)

    def determinant(self, name: str = "det") -> Tensor:
        self._require_square("determinant")
        return self._of(self._sizes[:-2])

    def _with(self, lead: Any, rows: Any, columns: Any) -> LinearOperator | None:
        if None in (*lead, rows, columns):
            return None
        return LinearOperatorZeros(rows, columns, list(lead), self.dtype)

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        if self.is_self_adjoint:
            return self
        *lead, rows, columns = self._sizes
        return LinearOperatorZeros(columns, rows, lead, self.dtype)

    def _times(self, right: LinearOperator) -> LinearOperator | None:
        lead = broadcast_dims(self.name, self.dims[:-2], right.dims[:-2]) or ()
        return self._with(lead, self.dims[-2], right.dims[-1])

    def _after(self, left: LinearOperator) -> LinearOperator | None:
        lead = broadcast_dims(self.name, left.dims[:-2], self.dims[:-2]) or ()
        return self._with(lead, left.dims[-2], self.dims[-1])
