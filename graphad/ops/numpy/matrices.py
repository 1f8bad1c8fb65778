"""Linear algebra by NumPy's names: factorisations, systems, products. Integers become float64."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import format_dims, normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops import linalg as ops
from graphad.ops.linalg.eigen import Eigh, real_eigenvalues
from graphad.ops.numpy import products, reductions, shapes
from graphad.ops.numpy.promotion import cast_to, dims_of, inexact, promoted, rank_of, tensor_of


class EigResult(NamedTuple):
    """The result of `eig`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """The result of `eigh`."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    """The result of `qr`."""

    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    """The result of `slogdet`."""

    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def matrix_of(name: str, x: TensorLike) -> Tensor:
    x = inexact(x)
    if rank_of(name, x) < 2:
        raise InvalidArgumentError(f"{name}: x has rank {x.ndim}; matrices have rank 2 or more.")
    return x


def cholesky(x: TensorLike, /, *, upper: bool = False) -> Tensor:
    """The lower triangular L with L L^H = x for positive definite matrices, or L^H with `upper`.

    Args:
      x: Tensor [..., n, n], a float or complex dtype; integers count as float64. The lower triangle is read.
      upper: Whether to return L^H.
    Returns: Tensor [..., n, n] of that dtype.
    Raises: InvalidArgumentError (a ValueError): a matrix is not positive definite or not square.
    Example:
      >>> numpy.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]).numpy()
      array([[2., 0.],
             [1., 2.]])
    """
    found = ops.cholesky(matrix_of("cholesky", x))
    return ops.adjoint(found) if upper else found


def det(a: TensorLike) -> Tensor:
    """The determinants of square matrices.

    Args: a: Tensor [..., n, n], a float or complex dtype; integers count as float64.
    Returns: Tensor [...] of that dtype.
    Raises: InvalidArgumentError (a ValueError): the matrices are not square.
    Example:
      >>> numpy.linalg.det([[1.0, 2.0], [3.0, 4.0]]).numpy()
      np.float64(-2.0000000000000004)
    """
    return ops.det(matrix_of("det", a))


def slogdet(a: TensorLike) -> SlogdetResult:
    """The signs of determinants, and the logarithms of their absolute values.

    Args: a: Tensor [..., n, n], a float or complex dtype; integers count as float64.
    Returns: (sign, logabsdet), each [...]; for complex matrices the sign is a number of absolute value 1.
    Raises: InvalidArgumentError (a ValueError): the matrices are not square.
    Example:
      >>> [part.numpy().tolist() for part in numpy.linalg.slogdet([[2.0, 0.0], [0.0, -0.5]])]
      [-1.0, 0.0]
    """
    sign, size = ops.slogdet(matrix_of("slogdet", a))
    return SlogdetResult(sign, math.real(size))


def eig(a: TensorLike) -> EigResult:
    """The eigenvalues and eigenvectors of square matrices, complex.

    Args: a: Tensor [..., n, n], a float or complex dtype; integers count as float64.
    Returns: (eigenvalues [..., n], eigenvectors [..., n, n] in columns), complex, in LAPACK's order. The derivative assumes
      vectors of length 1; it is undefined where eigenvalues are equal.
    Raises: InvalidArgumentError (a ValueError): the matrices are not square.
    Example:
      >>> numpy.linalg.eig([[2.0, 0.0], [0.0, 3.0]]).eigenvalues.numpy()
      array([2.+0.j, 3.+0.j])
    """
    return EigResult(*ops.eig(matrix_of("eig", a)))


def eigvals(a: TensorLike) -> Tensor:
    """The eigenvalues of square matrices, complex.

    Args: a: Tensor [..., n, n], a float or complex dtype; integers count as float64.
    Returns: Complex tensor [..., n], in LAPACK's order. The derivative is undefined where eigenvalues are
      equal.
    Raises: InvalidArgumentError (a ValueError): the matrices are not square.
    """
    return ops.eigvals(matrix_of("eigvals", a))


def _lower(x: Tensor, UPLO: str) -> Tensor:
    if UPLO.upper() not in ("L", "U"):
        raise InvalidArgumentError(f"eigh: UPLO is {UPLO!r}; it is 'L' or 'U'.")
    return x if UPLO.upper() == "L" else ops.adjoint(x)


@blaming
def eigh(a: TensorLike, UPLO: str = "L") -> EighResult:
    """The eigenvalues, ascending, and eigenvectors of Hermitian matrices, of which one triangle is read.

    Args:
      a: Tensor [..., n, n], a float or complex dtype; integers count as float64.
      UPLO: "L" for the lower triangle, "U" for the upper one.
    Returns: (eigenvalues [..., n], real; eigenvectors [..., n, n] in columns). The derivative of vectors is undefined where
      eigenvalues are equal.
    Raises: InvalidArgumentError (a ValueError): the matrices are not square, or `UPLO` is unknown.
    Example:
      >>> numpy.linalg.eigh([[2.0, 0.0], [0.0, 3.0]]).eigenvalues.numpy()
      array([2., 3.])
    """
    return EighResult(*bind(Eigh(), _lower(matrix_of("eigh", a), UPLO)))


@blaming
def eigvalsh(a: TensorLike, UPLO: str = "L") -> Tensor:
    """The eigenvalues, ascending, of Hermitian matrices.

    Args:
      a: Tensor [..., n, n], a float or complex dtype; integers count as float64.
      UPLO: "L" for the lower triangle, "U" for the upper one.
    Returns: Real tensor [..., n].
    Raises: InvalidArgumentError (a ValueError): the matrices are not square, or `UPLO` is unknown.
    Example:
      >>> numpy.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]]).numpy()
      array([1., 3.])
    """
    return real_eigenvalues(_lower(matrix_of("eigvalsh", a), UPLO))


def inv(a: TensorLike) -> Tensor:
    """The inverses of square matrices.

    Args: a: Tensor [..., n, n], a float or complex dtype; integers count as float64.
    Returns: Tensor [..., n, n] of that dtype.
    Raises: InvalidArgumentError (a ValueError): a matrix is singular or not square.
    Example:
      >>> numpy.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).numpy()
      array([[0.5 , 0.  ],
             [0.  , 0.25]])
    """
    return ops.inv(matrix_of("inv", a))


def pinv(
    a: TensorLike, *, rcond: TensorLike | None = None, rtol: TensorLike | None = None, hermitian: bool = False
) -> Tensor:
    """The Moore-Penrose inverses of matrices; singular values up to `rtol` times the largest count as 0.

    Args:
      a: Tensor [..., rows, columns], a float or complex dtype; integers count as float64.
      rcond, rtol: The relative threshold, by NumPy's and by the standard's name; by default the larger size times the machine
        epsilon.
      hermitian: Accepted for compatibility; singular values are always used.
    Returns: Tensor [..., columns, rows] of that dtype.
    Raises: InvalidArgumentError (a ValueError): `a` has rank below 2, or both thresholds are given.
    Example:
      >>> numpy.linalg.pinv([[2.0, 0.0], [0.0, 0.0]]).numpy()
      array([[0.5, 0. ],
             [0. , 0. ]])
    """
    a = matrix_of("pinv", a)
    if rcond is not None and rtol is not None:
        raise InvalidArgumentError(
            f"pinv: rcond is {rcond} and rtol {rtol}, two names of one threshold; give one of them."
        )
    bound = rcond if rtol is None else rtol
    if bound is None:
        sizes = dims_of("pinv", a)[-2:]
        bound = None if None in sizes else max(sizes) * float(a.dtype.info.eps)
    return ops.pinv(a, None if bound is None else cast_to(tensor_of(bound), a.dtype.real_dtype))


def matrix_rank(
    A: TensorLike,
    tol: TensorLike | None = None,
    hermitian: bool = False,
    *,
    rtol: TensorLike | None = None,
) -> Tensor:
    """The number of singular values above `tol`, or above `rtol` times the largest.

    Args:
      A: Tensor [..., rows, columns], a float or complex dtype; the rank of a vector is 1 unless it is 0.
      tol: The absolute threshold.
      hermitian: Accepted for compatibility; singular values are always used.
      rtol: The threshold relative to the largest one; by default the larger size times the machine epsilon.
    Returns: int64 tensor [...]. No gradient.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor; InvalidArgumentError (a ValueError):
      both thresholds are given.
    Example:
      >>> numpy.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]).numpy()
      np.int64(1)
    """
    A = inexact(A)
    if tol is not None and rtol is not None:
        raise InvalidArgumentError(f"matrix_rank: tol is {tol} and rtol {rtol}; give one of them.")
    if rank_of("matrix_rank", A) < 2:
        return math.cast(reductions.any(math.not_equal(A, cast_to(0, A.dtype))), dtypes.int64)
    s: Any = svdvals(A)
    if tol is None:
        if rtol is None:
            sizes = array.shape(A)[-2:]
            rtol = math.cast(math.reduce_max(sizes), s.dtype) * cast_to(float(s.dtype.info.eps), s.dtype)
        bound = cast_to(tensor_of(rtol), s.dtype)
        top = math.reduce_max(s, -1, True) if s.dims[-1] != 0 else array.zeros([*s.dims[:-1], 1], s.dtype)
        tol = top * (bound if bound.ndim == 0 else array.expand_dims(bound, -1))
    else:
        tol = cast_to(tensor_of(tol), s.dtype)
        tol = tol if tol.ndim == 0 else array.expand_dims(tol, -1)
    return math.reduce_sum(math.cast(math.greater(s, tol), dtypes.int64), -1)


@overload
def qr(a: TensorLike, mode: Literal["reduced", "complete"] = "reduced") -> QRResult: ...
@overload
def qr(a: TensorLike, mode: Literal["r"]) -> Tensor: ...
@overload
def qr(a: TensorLike, mode: str) -> QRResult | Tensor: ...
def qr(a: TensorLike, mode: str = "reduced") -> QRResult | Tensor:
    """(Q, R) with Q R = `a` and orthonormal columns of Q; with mode "complete" Q is square, with mode "r" only R is returned.

    Args:
      a: Tensor [..., rows, columns], a float or complex dtype; integers count as float64.
      mode: "reduced", "complete" or "r".
    Returns: (Q [..., rows, k], R [..., k, columns]), k being the smaller size, or `rows` with "complete"; or R.
    Raises: InvalidArgumentError (a ValueError): `mode` is unknown, or `a` has rank below 2.
    Example:
      >>> numpy.linalg.qr([[3.0, 0.0], [4.0, 5.0]], mode="r").shape
      TensorShape([2, 2])
    """
    if mode not in ("reduced", "complete", "r"):
        raise InvalidArgumentError(f"qr: mode {mode!r} is unknown; it is 'reduced', 'complete' or 'r'.")
    q, r = ops.qr(matrix_of("qr", a), mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@overload
def svd(
    a: TensorLike, full_matrices: bool = True, compute_uv: Literal[True] = True, hermitian: bool = False
) -> SVDResult: ...
@overload
def svd(
    a: TensorLike, full_matrices: bool = True, *, compute_uv: Literal[False], hermitian: bool = False
) -> Tensor: ...
@overload
def svd(
    a: TensorLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> SVDResult | Tensor: ...
def svd(
    a: TensorLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> SVDResult | Tensor:
    """(U, S, Vh) with U diag(S) Vh = `a`, the singular values S descending; or S alone.

    Args:
      a: Tensor [..., rows, columns], a float or complex dtype; integers count as float64.
      full_matrices: Whether U and Vh are square.
      compute_uv: Whether U and Vh are returned too.
      hermitian: Accepted for compatibility.
    Returns: (U [..., rows, k], S [..., k], Vh [..., k, columns]), S real; or S. The derivative of U and Vh is undefined
      where singular
      values are equal.
    Raises: InvalidArgumentError (a ValueError): `a` has rank below 2.
    Example:
      >>> numpy.linalg.svd([[3.0, 0.0], [0.0, 4.0]]).S.numpy()
      array([4., 3.])
    """
    a = matrix_of("svd", a)
    if not compute_uv:
        return svdvals(a)
    s, u, v = ops.svd(a, full_matrices, True)
    return SVDResult(u, s, ops.adjoint(v))


def svdvals(x: TensorLike, /) -> Tensor:
    """The singular values of matrices, descending.

    Args: x: Tensor [..., rows, columns], a float or complex dtype; integers count as float64.
    Returns: Real tensor [..., min(rows, columns)].
    Raises: InvalidArgumentError (a ValueError): x has rank below 2.
    Example:
      >>> numpy.linalg.svdvals([[3.0, 0.0], [0.0, 4.0]]).numpy()
      array([4., 3.])
    """
    return ops.svd(matrix_of("svdvals", x), compute_uv=False)


def solve(a: TensorLike, b: TensorLike) -> Tensor:
    """The solutions of `a` x = b, b being one vector or matrices, over leading axes that broadcast.

    Args:
      a: Tensor [..., n, n], a float or complex dtype; integers count as float64.
      b: Tensor [n] or [..., n, columns]; both dtypes are promoted.
    Returns: Tensor of the shape of b after broadcasting.
    Raises: InvalidArgumentError (a ValueError): a matrix is singular or not square, or the sizes differ.
    Example:
      >>> numpy.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0]).numpy()
      array([1. , 0.5])
    """
    a, b = promoted(inexact(a), inexact(b))
    if rank_of("solve", b) == 1:
        return array.squeeze(ops.solve(a, array.expand_dims(b, 1)), [-1])
    return ops.solve(a, b)


@blaming
def lstsq(a: TensorLike, b: TensorLike, rcond: TensorLike | None = None) -> tuple[Any, Any, Any, Any]:
    """The x of least norm that minimises |a x - b|; the squared residuals, the rank, the singular values.

    Args:
      a: Tensor [rows, columns] of known sizes, a float or complex dtype; integers count as float64.
      b: Tensor [rows] or [rows, several]; both dtypes are promoted.
      rcond: Singular values up to this fraction of the largest count as 0; by default the larger size times the machine
        epsilon.
    Returns: (x [columns] or [columns, several], squares, empty where rows <= columns; rank, int64; singular values).
    Raises: ValueError: `a` is not a matrix; InvalidArgumentError (a ValueError): the numbers of rows differ.
    Example:
      >>> numpy.linalg.lstsq([[1.0, 0.0], [0.0, 2.0]], [1.0, 4.0])[0].numpy()
      array([1., 2.])
    """
    a, b = promoted(inexact(a), inexact(b))
    column = array.expand_dims(b, 1) if rank_of("lstsq", b) == 1 else b
    if rank_of("lstsq", a) != 2:
        raise InvalidArgumentError(f"lstsq: a has shape {format_dims(a.dims)}; a matrix is needed.")
    rows, columns = dims_of("lstsq", a)
    are_known = isinstance(rows, int) and isinstance(columns, int)
    sizes = (rows, columns) if are_known else array.unstack(array.shape(a), 2)
    bound = rcond
    if bound is None and are_known:
        bound = max(rows, columns) * float(a.dtype.info.eps)
    elif bound is None:
        most = math.cast(math.maximum(*sizes), a.dtype.real_dtype)
        bound = most * cast_to(float(a.dtype.info.eps), a.dtype.real_dtype)
    x = ops.matmul(pinv(a, rtol=bound), column)
    s = svdvals(a)
    rank = matrix_rank(a, rtol=bound)
    rest = math.reduce_sum(math.square(math.abs(ops.matmul(a, x) - column)), 0)
    if not are_known:
        none = array.zeros_like(sizes[0])
        rest = rest[: math.where(math.less_equal(*sizes), none, array.shape(rest)[0])]
    elif rows <= columns:
        rest = rest[:0]
    return (x[:, 0] if b.ndim == 1 else x), rest, rank, s


@blaming
def matrix_power(a: TensorLike, n: int) -> Tensor:
    """Square matrices raised to the power n; a negative n uses their inverses.

    Args:
      a: Tensor [..., n, n], any dtype; for a negative n a float or complex one, integers count as float64.
      n: The exponent, an int; 0 gives identities.
    Returns: Tensor of the same shape.
    Raises: InvalidArgumentError (a ValueError): the matrices are not square, or one is singular and n is negative;
      ArgumentTypeError (a TypeError): n is not an int.
    Example:
      >>> numpy.linalg.matrix_power([[1, 1], [0, 1]], 3).numpy()
      array([[1, 3],
             [0, 1]])
    """
    a = tensor_of(a)
    dims = dims_of("matrix_power", a)
    if len(dims) < 2 or (None not in dims[-2:] and dims[-1] != dims[-2]):
        raise InvalidArgumentError(
            f"matrix_power: a has shape {a.shape}; a square matrix, or a stack of these, is needed."
        )
    n = operator.index(n)
    if n < 0:
        a, n = inv(a), -n
    last = dims[-1]
    size = last if isinstance(last, int) else array.shape(a)[-1]
    found = None
    while n:
        if n % 2:
            found = a if found is None else products.matmul(found, a)
        n //= 2
        a = products.matmul(a, a) if n else a
    if found is None:
        return array.broadcast_to(array.eye(size, dtype=a.dtype), array.shape(a))
    return found


@blaming
def multi_dot(arrays: Sequence[TensorLike]) -> Tensor:
    """The product of several matrices, in the order of the fewest multiplications; the first and the last may be vectors.

    Args: arrays: Tensors [rows, columns] whose sizes fit, of any dtypes, which are promoted.
    Returns: Tensor [rows of the first, columns of the last], without the axes that vectors lack.
    Raises: InvalidArgumentError (a ValueError): sizes differ.
    Example:
      >>> numpy.linalg.multi_dot([[[1, 2]], [[1], [1]], [[3]]]).numpy()
      array([[9]])
    """
    xs = promoted(*arrays)
    if len(xs) < 2 or not all(rank_of("multi_dot", x) for x in xs):
        raise InvalidArgumentError(
            "multi_dot: two matrices or more are needed; the first and the last may be vectors."
        )
    first, last = rank_of("multi_dot", xs[0]) == 1, rank_of("multi_dot", xs[-1]) == 1
    if first:
        xs[0] = array.expand_dims(xs[0], 0)
    if last:
        xs[-1] = array.expand_dims(xs[-1], 1)
    shapes = [ranked(x.dims) for x in xs if rank_of("multi_dot", x)]
    sizes = [shapes[0][0], *(dims[1] for dims in shapes)]
    found = _chain(xs, sizes, _splits(sizes), 0, len(xs) - 1) if None not in sizes else _in_turn(xs)
    if first:
        found = found[0]
    return found[..., 0] if last else found


def _in_turn(xs: list[Tensor]) -> Tensor:
    found = xs[0]
    for x in xs[1:]:
        found = ops.matmul(found, x)
    return found


def _splits(sizes: list[Any]) -> dict[tuple[int, int], int]:
    """The optimal split of each product of adjacent matrices, by the number of multiplications."""
    count = len(sizes) - 1
    cost: dict[tuple[int, int], Any] = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = [
                cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)
            ]
            split[i, j] = i + int(np.argmin(costs))
            cost[i, j] = min(costs)
    return split


def _chain(xs: list[Tensor], sizes: list[int], split: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return xs[i]
    k = split[i, j]
    return ops.matmul(_chain(xs, sizes, split, i, k), _chain(xs, sizes, split, k + 1, j))


def matrix_transpose(x: TensorLike, /) -> Tensor:
    """The last two axes exchanged.

    Args: x: Tensor [..., rows, columns], any dtype.
    Returns: Tensor [..., columns, rows] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): x has rank below 2.
    """
    return shapes.matrix_transpose(x)


def diagonal(x: TensorLike, /, *, offset: int = 0) -> Tensor:
    """A diagonal of the last two axes.

    Args:
      x: Tensor [..., rows, columns], any dtype.
      offset: The diagonal; a positive one is above the main one.
    Returns: Tensor [..., elements] of the same dtype; empty where there is no such diagonal.
    Raises: InvalidArgumentError (a ValueError): x has rank below 2.
    Example:
      >>> numpy.linalg.diagonal([[1, 2], [3, 4]], offset=1).numpy()
      array([2])
    """
    return shapes.diagonal(x, offset, -2, -1)


def trace(x: TensorLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """The sums of a diagonal of the last two axes.

    Args:
      x: Tensor [..., rows, columns], any dtype.
      offset: The diagonal; a positive one is above the main one.
      dtype: The dtype of the sum; by default that of x, int64 or uint64 for integers and bools.
    Returns: Tensor [...].
    Raises: InvalidArgumentError (a ValueError): x has rank below 2.
    """
    return products.trace(x, offset, -2, -1, dtype)


def cross(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Tensor:
    """The cross products of vectors of 3 elements along an axis of both.

    Args:
      x1, x2: Tensors [..., 3, ...] whose other axes broadcast, numeric dtypes, which are promoted.
      axis: The axis of both.
    Returns: Tensor [..., 3, ...].
    Raises: InvalidArgumentError (a ValueError): the vectors have another size, or the axis is out of range.
    """
    x1, x2 = tensor_of(x1), tensor_of(x2)
    for x in (x1, x2):
        if x.dims is not None and x.dims[normalize_axis("cross", axis, len(x.dims))] not in (None, 3):
            raise InvalidArgumentError(f"cross: the vectors have {x.dims[axis]} elements; they must have 3.")
    return products.cross(x1, x2, axis=axis)


def outer(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """The products of each element of a vector with each of another.

    Args: x1, x2: Vectors [n] and [m] of any dtypes, which are promoted.
    Returns: Tensor [n, m].
    Raises: InvalidArgumentError (a ValueError): one is not a vector; `numpy.outer` flattens it.
    """
    x1, x2 = tensor_of(x1), tensor_of(x2)
    for x in (x1, x2):
        if x.ndim not in (None, 1):
            raise InvalidArgumentError(f"outer: an operand has shape {x.shape}; a vector is needed.")
    return products.outer(x1, x2)
