"""Linear algebra by NumPy's names: factorisations, systems, norms. Integers become float64."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, DTypeLike, TensorLike
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops import linalg as ops
from graphad.ops.numpy import products, reductions, shapes
from graphad.ops.numpy.promotion import cast_to, inexact, promoted, rank_of, tensor_of


class EigResult(NamedTuple):
    """What `eig` gives."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """What `qr` gives."""

    Q: Any
    R: Any


class SlogdetResult(NamedTuple):
    """What `slogdet` gives."""

    sign: Any
    logabsdet: Any


class SVDResult(NamedTuple):
    """What `svd` gives."""

    U: Any
    S: Any
    Vh: Any


def _matrix(name: str, x: TensorLike) -> Any:
    x = inexact(x)
    if rank_of(name, x) < 2:
        raise InvalidArgumentError(f"{name}: x has rank {x.ndim}; matrices have rank 2 or more.")
    return x


def cholesky(x: TensorLike, /, *, upper: bool = False) -> Tensor:
    """The lower triangular L with L L^H = x of positive definite matrices, or with `upper` L^H."""
    found = ops.cholesky(_matrix("cholesky", x))
    return ops.adjoint(found) if upper else found


def det(x: TensorLike, /) -> Tensor:
    """The determinants of square matrices."""
    return ops.det(_matrix("det", x))


def slogdet(x: TensorLike, /) -> SlogdetResult:
    """The signs of determinants, and the logarithms of their absolute values."""
    return SlogdetResult(*ops.slogdet(_matrix("slogdet", x)))


def eig(x: TensorLike, /) -> EigResult:
    """The eigenvalues and eigenvectors of square matrices, complex."""
    return EigResult(*ops.eig(_matrix("eig", x)))


def eigvals(x: TensorLike, /) -> Tensor:
    """The eigenvalues of square matrices, complex."""
    return ops.eigvals(_matrix("eigvals", x))


def _lower(x: Any, UPLO: str) -> Tensor:
    if UPLO.upper() not in ("L", "U"):
        raise InvalidArgumentError(f"eigh: UPLO is {UPLO!r}; it is 'L' or 'U'.")
    return x if UPLO.upper() == "L" else ops.adjoint(x)


def eigh(x: TensorLike, /, UPLO: str = "L") -> EighResult:
    """The eigenvalues, ascending, and eigenvectors of Hermitian matrices, of which one triangle is read."""
    return EighResult(*ops.eigh(_lower(_matrix("eigh", x), UPLO)))


def eigvalsh(x: TensorLike, /, UPLO: str = "L") -> Tensor:
    """The eigenvalues, ascending, of Hermitian matrices."""
    return ops.eigvalsh(_lower(_matrix("eigvalsh", x), UPLO))


def inv(x: TensorLike, /) -> Tensor:
    """The inverses of square matrices."""
    return ops.inv(_matrix("inv", x))


def pinv(x: Any, /, *, rcond: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The Moore-Penrose inverses of matrices; singular values up to `rtol` times the largest count as 0."""
    x = _matrix("pinv", x)
    bound = rcond if rtol is None else rtol
    if bound is None:
        bound = max(x.dims[-2:]) * float(x.dtype.info.eps) if None not in x.dims[-2:] else None
    return ops.pinv(x, None if bound is None else cast_to(tensor_of(bound), x.dtype.real_dtype))


def matrix_rank(x: TensorLike, /, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Tensor:
    """How many singular values of matrices are above `tol`, or above `rtol` times the largest."""
    x = inexact(x)
    if rank_of("matrix_rank", x) < 2:
        return math.cast(reductions.any(math.not_equal(x, cast_to(0, x.dtype))), dtypes.int64)
    s: Any = svdvals(x)
    if tol is None:
        if rtol is None:
            sizes = array.shape(x)[-2:]
            rtol = math.cast(math.reduce_max(sizes), s.dtype) * cast_to(float(s.dtype.info.eps), s.dtype)
        bound = cast_to(tensor_of(rtol), s.dtype)
        top = math.reduce_max(s, -1, True) if s.dims[-1] != 0 else array.zeros([*s.dims[:-1], 1], s.dtype)
        tol = top * (bound if bound.ndim == 0 else array.expand_dims(bound, -1))
    else:
        tol = cast_to(tensor_of(tol), s.dtype)
        tol = tol if tol.ndim == 0 else array.expand_dims(tol, -1)
    return math.reduce_sum(math.cast(math.greater(s, tol), dtypes.int64), -1)


def qr(x: TensorLike, /, mode: str = "reduced") -> Any:
    """(Q, R) with Q R = x, Q with orthonormal columns, all of them with mode "complete"; R alone with mode "r"."""
    if mode not in ("reduced", "complete", "r"):
        raise InvalidArgumentError(f"qr: mode {mode!r} is unknown; it is 'reduced', 'complete' or 'r'.")
    q, r = ops.qr(_matrix("qr", x), mode == "complete")
    return r if mode == "r" else QRResult(q, r)


def svd(
    x: TensorLike, /, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """(U, S, Vh) with U diag(S) Vh = x, the singular values S descending; or S alone."""
    x = _matrix("svd", x)
    if not compute_uv:
        return svdvals(x)
    s, u, v = ops.svd(x, full_matrices, True)
    return SVDResult(u, s, ops.adjoint(v))


def svdvals(x: TensorLike, /) -> Tensor:
    """The singular values of matrices, descending."""
    return ops.svd(_matrix("svdvals", x), compute_uv=False)


def solve(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """The solutions of x1 x = x2, x2 being one vector or matrices, over leading axes that broadcast."""
    x1, x2 = promoted(inexact(x1), inexact(x2))
    if rank_of("solve", x2) == 1:
        return array.squeeze(ops.solve(x1, array.expand_dims(x2, 1)), [-1])
    return ops.solve(x1, x2)


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    """The x that makes |a x - b| smallest, of least norm; the squares of what is left over, the rank, the singular values."""
    a, b = promoted(inexact(a), inexact(b))
    column = array.expand_dims(b, 1) if rank_of("lstsq", b) == 1 else b
    rows, columns = a.dims
    bound = max(rows, columns) * float(a.dtype.info.eps) if rcond is None else rcond
    x = ops.matmul(pinv(a, rtol=bound), column)
    s = svdvals(a)
    rank = matrix_rank(a, rtol=bound)
    rest = math.reduce_sum(math.square(math.abs(ops.matmul(a, x) - column)), 0)
    if rows <= columns:
        rest = rest[:0]
    return (x[:, 0] if b.ndim == 1 else x), rest, rank, s


def matrix_power(x: Any, n: int, /) -> Tensor:
    """Square matrices multiplied n times; their inverses for a negative n."""
    x = tensor_of(x)
    if n < 0:
        x, n = inv(x), -n
    size = x.dims[-1] if isinstance(x.dims[-1], int) else array.shape(x)[-1]
    found = None
    while n:
        if n % 2:
            found = x if found is None else products.matmul(found, x)
        n //= 2
        x = products.matmul(x, x) if n else x
    if found is None:
        return array.broadcast_to(array.eye(size, dtype=x.dtype), array.shape(x))
    return found  # type: ignore[no-any-return]


def multi_dot(arrays: Any) -> Tensor:
    """The product of several matrices, in the order of the fewest multiplications; the first and the last may be vectors."""
    xs = promoted(*arrays)
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
    """Where to split each product of neighbours, by the number of multiplications."""
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


def _chain(xs: list[Tensor], sizes: list[Any], split: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return xs[i]
    k = split[i, j]
    return ops.matmul(_chain(xs, sizes, split, i, k), _chain(xs, sizes, split, k + 1, j))


def matrix_transpose(x: TensorLike, /) -> Tensor:
    """The last two axes exchanged."""
    return shapes.matrix_transpose(x)


def diagonal(x: TensorLike, /, *, offset: int = 0) -> Tensor:
    """A diagonal of the last two axes."""
    return shapes.diagonal(x, offset, -2, -1)


def trace(x: TensorLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """The sums of a diagonal of the last two axes."""
    return products.trace(x, offset, -2, -1, dtype)


def cross(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Tensor:
    """The cross products of vectors of 3 elements along an axis of both."""
    x1, x2 = tensor_of(x1), tensor_of(x2)
    for x in (x1, x2):
        if x.dims is not None and x.dims[normalize_axis("cross", axis, len(x.dims))] not in (None, 3):
            raise InvalidArgumentError(f"cross: the vectors have {x.dims[axis]} elements; they must have 3.")
    return products.cross(x1, x2, axis=axis)


def outer(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """The products of each element of a vector with each of another."""
    return products.outer(x1, x2)


def vector_norm(x: TensorLike, /, *, axis: AxisLike = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """The norms of vectors over axes, all by default.

    Args:
      x: Tensor.
      axis: The axis or axes whose elements are one vector.
      ord: 2, inf, -inf, 0 (how many elements are not 0), or another number p, for the p-th root of the sum of |x|^p.
    """
    x = inexact(x)
    if isinstance(axis, list | tuple):
        axis = list(axis)
        if not axis:
            return (
                math.abs(x)
                if ord != 0
                else math.cast(math.not_equal(x, cast_to(0, x.dtype)), x.dtype.real_dtype)
            )
    size = math.abs(x)
    if ord == np.inf:
        return (
            math.reduce_max(size, axis, keepdims)
            if 0 not in (x.dims or ())
            else math.reduce_sum(size, axis, keepdims)
        )
    if ord == -np.inf:
        return math.reduce_min(size, axis, keepdims)
    if ord == 0:
        return math.reduce_sum(math.cast(math.not_equal(x, cast_to(0, x.dtype)), size.dtype), axis, keepdims)
    if ord == 1:
        return math.reduce_sum(size, axis, keepdims)
    if ord == 2:
        squares = math.real(math.multiply(x, math.conj(x))) if x.dtype.is_complex else math.square(x)
        return math.sqrt(math.reduce_sum(squares, axis, keepdims))
    power = cast_to(float(ord), size.dtype)
    return math.pow(math.reduce_sum(math.pow(size, power), axis, keepdims), cast_to(1.0 / ord, size.dtype))


def matrix_norm(x: TensorLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norms of matrices: "fro", "nuc", 1, -1, 2, -2, inf or -inf."""
    x = _matrix("matrix_norm", x)
    if ord == "fro" or ord is None:
        return vector_norm(x, axis=[-2, -1], keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        s = svdvals(x)
        if ord == "nuc":
            found = math.reduce_sum(s, -1)
        else:
            found = s[..., 0] if ord == 2 else s[..., -1]
    elif ord in (1, -1, np.inf, -np.inf):
        sums = math.reduce_sum(math.abs(x), -2 if abs(ord) == 1 else -1)
        found = math.reduce_max(sums, -1) if ord > 0 else math.reduce_min(sums, -1)
    else:
        raise InvalidArgumentError(
            f"matrix_norm: ord {ord!r} is unknown; it is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."
        )
    return array.expand_dims(array.expand_dims(found, -1), -1) if keepdims else found


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The norm of vectors, of matrices where `axis` names two axes, or of all elements; see `vector_norm` and `matrix_norm`."""
    x = inexact(x)
    rank = rank_of("norm", x)
    if axis is None and ord is None:
        return vector_norm(x, keepdims=keepdims)
    if axis is None:
        axis = list(range(rank))
    axes = [axis] if isinstance(axis, int) else list(axis)
    if len(axes) == 1:
        return vector_norm(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise InvalidArgumentError(f"norm: axis names {len(axes)} axes; one or two are taken.")
    places = [normalize_axis("norm", k, rank) for k in axes]
    found = matrix_norm(shapes.moveaxis(x, places, [-2, -1]), ord="fro" if ord is None else ord)
    return shapes.expand_dims(found, places) if keepdims else found


def cond(x: TensorLike, p: TensorLike | None = None) -> Tensor:
    """The condition numbers of matrices: by singular values, or for another norm `p` of x and of its inverse."""
    x = _matrix("cond", x)
    if p is None or p in (2, -2):
        s = svdvals(x)
        return math.divide(s[..., 0], s[..., -1]) if p != -2 else math.divide(s[..., -1], s[..., 0])
    return math.multiply(matrix_norm(x, ord=p), matrix_norm(inv(x), ord=p))


def tensorinv(a: Any, ind: int = 2) -> Tensor:
    """The inverse of `a` as a linear map from its last axes to its first `ind` ones."""
    a = inexact(a)
    count = int(np.prod(a.dims[:ind]))
    return array.reshape(inv(array.reshape(a, [count, -1])), [*a.dims[ind:], *a.dims[:ind]])


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Tensor:
    """The x with tensordot(a, x, x.ndim) = b."""
    a, b = inexact(a), inexact(b)
    if axes is not None:
        a = shapes.moveaxis(a, list(axes), list(range(a.ndim - len(axes), a.ndim)))
    sizes = a.dims[b.ndim :]
    count = int(np.prod(b.dims))
    return array.reshape(solve(array.reshape(a, [count, count]), array.reshape(b, [-1])), sizes)
