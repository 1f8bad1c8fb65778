"""Operators for circulant matrices and blocks of them: circular convolutions of signals of one to three axes."""

from __future__ import annotations

from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.dims import product
from graphad.core.dtypes import DType, complex64
from graphad.core.shapes import TensorShape
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import expand_dims, reshape
from graphad.ops.array.shape import shape as shape_of
from graphad.ops.array.transpose import matrix_transpose
from graphad.ops.linalg.held import Held, of_rank
from graphad.ops.linalg.operators import LinearOperator
from graphad.ops.linalg.shaped import hints_of_product, settled
from graphad.ops.math.arithmetic import abs as abs_of
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import not_equal
from graphad.ops.math.complexes import conj, imag, real
from graphad.ops.math.exponential import log
from graphad.ops.math.reduce import reduce_all, reduce_max, reduce_min, reduce_prod, reduce_sum
from graphad.ops.signal.fourier import fftnd, ifftnd
from graphad.ops.state.effects import require


class LinearOperatorCirculant(LinearOperator):
    """The matrix of a circular convolution, given by its complex eigenvalues `spectrum` [..., n].

    Args:
      spectrum: The Fourier transform of the first column.
      input_output_dtype: The dtype of operands and results; for a real one the imaginary part is dropped.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes or hints that do not fit.
    """

    _sliced = (("spectrum", 1),)
    _depth = 1

    spectrum = Held()

    def __init__(
        self, spectrum: TensorLike, input_output_dtype: DType = complex64, is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None, is_positive_definite: bool | None = None,
        is_square: bool | None = True, name: str | None = None,
    ) -> None:  # fmt: skip
        name = name or type(self).__name__
        self.spectrum = of_rank(name, spectrum, self._depth)
        is_square = settled(name, "is_square", is_square, True, "a circulant operator is square")
        if not self.spectrum.dtype.is_complex:
            why = "a real spectrum is that of a self-adjoint matrix"
            is_self_adjoint = settled(name, "is_self_adjoint", is_self_adjoint, True, why)
        super().__init__(
            input_output_dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name
        )
        self._wide = "complex128" if self.dtype.name in ("float64", "complex128") else "complex64"
        self._axes = tuple(range(-self._depth, 0))

    @property
    def block_depth(self) -> int:
        """The number of axes of the signal."""
        return self._depth

    @property
    def block_shape(self) -> TensorShape:
        """The shape of the signal."""
        return self.spectrum.shape[-self._depth :]  # type: ignore[no-any-return]

    def block_shape_tensor(self) -> Tensor:
        return shape_of(self.spectrum)[-self._depth :]

    @property
    def shape(self) -> TensorShape:
        sizes: list[Any] = self.spectrum.shape.as_list()
        return TensorShape([*sizes[: -self._depth], self._size, self._size])

    @property
    def _size(self) -> int | None:
        sizes = self.block_shape.as_list()
        return None if None in sizes else int(product(sizes))

    def _filtered(self, x: Tensor, factor: Tensor) -> Tensor:
        """The columns of x as signals, their transforms times the factor, transformed back."""
        rows = cast(matrix_transpose(x), self._wide)
        signals = reshape(rows, concat([shape_of(rows)[:-1], self.block_shape_tensor()], 0))
        factor = expand_dims(cast(factor, self._wide), -self._depth - 1)
        wide = ifftnd(fftnd(signals, axes=self._axes) * factor, axes=self._axes)
        return cast(matrix_transpose(self._flat(wide)), self.dtype)

    def _flat(self, x: Any) -> Any:
        """The axes of the signal as one."""
        return reshape(x, concat([shape_of(x)[: -self._depth], [-1]], 0)) if self._depth > 1 else x

    def _matmul(self, x: Tensor, adjoint: bool) -> Any:
        return self._filtered(x, conj(self.spectrum) if adjoint else self.spectrum)

    def _solve(self, b: Tensor, adjoint: bool) -> Any:
        return self._filtered(b, 1.0 / (conj(self.spectrum) if adjoint else self.spectrum))

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """The signal whose Fourier transform is the spectrum, of the dtype of the operator."""
        return cast(ifftnd(cast(self.spectrum, self._wide), axes=self._axes), self.dtype)

    def determinant(self, name: str = "det") -> Tensor:
        return cast(reduce_prod(self.spectrum, axis=self._axes), self.dtype)

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        return cast(reduce_sum(log(abs_of(self.spectrum)), axis=self._axes), self.dtype)

    def trace(self, name: str = "trace") -> Tensor:
        return cast(reduce_sum(self.spectrum, axis=self._axes), self.dtype)

    def diag_part(self, name: str = "diag_part") -> Tensor:
        spread = expand_dims(self.trace(), -1) / cast(self.domain_dimension_tensor(), self.dtype)
        return broadcast_to(spread, self.shape_tensor()[:-1])

    def cond(self, name: str = "cond") -> Tensor:
        """The largest absolute eigenvalue divided by the smallest."""
        sizes = abs_of(self.spectrum)
        return reduce_max(sizes, axis=self._axes) / reduce_min(sizes, axis=self._axes)

    def _eigvals(self) -> Tensor:
        return real(self._flat(self.spectrum))

    def _with(self, spectrum: Any, **hints: Any) -> LinearOperator:
        return type(self)(spectrum, self.dtype, **hints)

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        return self if self.is_self_adjoint else self._with(conj(self.spectrum), **self._hints())

    def inverse(self, name: str = "inverse") -> LinearOperator:
        if self.is_non_singular is False:
            return super().inverse()
        return self._with(1.0 / self.spectrum, **self._hints() | {"is_non_singular": True})

    def _times(self, right: LinearOperator) -> LinearOperator | None:
        if not (
            isinstance(right, LinearOperatorCirculant)
            and type(right) is type(self)
            and right.block_shape == self.block_shape
        ):
            return None
        left, other = self.spectrum, right.spectrum
        if left.dtype.is_complex is not other.dtype.is_complex:
            left, other = cast(left, self._wide), cast(other, self._wide)
        return self._with(left * other, **hints_of_product(self, right, commute=True))

    def assert_non_singular(self, name: str = "assert_non_singular") -> None:
        require(
            reduce_all(not_equal(self.spectrum, lift(0, self.spectrum.dtype))),
            f"{self.name}: the spectrum holds a 0.",
            [],
        )

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> None:
        """Raise if an eigenvalue of the Hermitian part is not positive."""
        if self.dtype.is_complex:  # then they are known to the last bit, 0 among them
            eigenvalues = self.spectrum
        else:
            eigenvalues = fftnd(cast(self.convolution_kernel(), self._wide), axes=self._axes)
        is_positive = reduce_all(real(eigenvalues) > 0)
        require(is_positive, f"{self.name}: the operator is not positive definite.", [])

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> None:
        """Raise if the matrix is not real."""
        kernel = ifftnd(cast(self.spectrum, self._wide), axes=self._axes)
        wrong = reduce_max(abs_of(imag(kernel))) / reduce_max(abs_of(kernel))
        limit = 1e-5 if self._wide == "complex64" else 1e-13
        require(wrong <= limit, f"{self.name}: the matrix is not real.", [])


class LinearOperatorCirculant2D(LinearOperatorCirculant):
    """The matrix of a circular convolution of images: circulant blocks, placed as in a circulant matrix.

    Args:
      spectrum: The Fourier transform [..., m, n] of the image that the first column holds, row after row.
      input_output_dtype: The dtype of operands and results; for a real one the imaginary part is dropped.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes or hints that do not fit.
    """

    _sliced = (("spectrum", 2),)
    _depth = 2


class LinearOperatorCirculant3D(LinearOperatorCirculant):
    """The matrix of a circular convolution of volumes: blocks as of `LinearOperatorCirculant2D`, placed as in a circulant matrix.

    Args:
      spectrum: The Fourier transform [..., l, m, n] of the volume that the first column holds, row after row.
      input_output_dtype: The dtype of operands and results; for a real one the imaginary part is dropped.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: Hints, as for `LinearOperator`.
    Raises: InvalidArgumentError (a ValueError): shapes or hints that do not fit.
    """

    _sliced = (("spectrum", 3),)
    _depth = 3
