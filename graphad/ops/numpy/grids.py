"""Identity and triangular matrices, coordinate grids, and indices of triangles and diagonals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.bind import constant_here
from graphad.core.blame import blaming
from graphad.core.convert import lift, stands_for_tensor
from graphad.core.device import require_cpu
from graphad.core.errors import InvalidArgumentError
from graphad.core.refusal import check_function, members
from graphad.core.shapes import ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.directly import directly
from graphad.ops.numpy.choosing import nonzero
from graphad.ops.numpy.creation import given_dtype
from graphad.ops.numpy.promotion import by_numpy, cast_to, known_sizes, rank_of, tensor_of, usual_float
from graphad.ops.numpy.types import default_dtype


def eye(
    N: int | Tensor,
    M: int | Tensor | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
) -> Tensor:
    """A matrix with ones on diagonal `k` and zeros elsewhere, of dtype float64 unless `dtype` is given.

    Args:
      N: How many rows.
      M: How many columns; as many by default.
      k: The diagonal; a positive one is above the main one.
      dtype: The dtype.
      device: "cpu" or None.
    Returns: Tensor [N, M] of that dtype.
    Raises: ValueError: a size is negative.
    Example:
      >>> numpy.eye(2).numpy()
      array([[1., 0.],
             [0., 1.]])
    """
    require_cpu("eye", device)
    return constant_here(by_numpy("eye", np.eye, N, M, k, given_dtype(dtype, usual_float()).numpy))


def identity(n: int, dtype: DTypeLike | None = None) -> Tensor:
    """A square matrix with ones on its diagonal.

    Args:
      n: How many rows and columns.
      dtype: The dtype; float64 by default.
    Returns: Tensor [n, n] of that dtype.
    Raises: ValueError: `n` is negative.
    """
    return eye(n, dtype=dtype)


@blaming
def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """A matrix with ones at and below diagonal `k`, and zeros above.

    Args:
      N: How many rows.
      M: How many columns; as many by default.
      k: The diagonal; a positive one is above the main one.
      dtype: The dtype; float64 by default.
    Returns: Tensor [N, M] of that dtype.
    Raises: TypeError: a size is not an int.
    Example:
      >>> numpy.tri(3).numpy()
      array([[1., 0., 0.],
             [1., 1., 0.],
             [1., 1., 1.]])
    """
    return constant_here(by_numpy("tri", np.tri, N, M, k, given_dtype(dtype, usual_float()).numpy))


def _band(name: str, x: Tensor, k: int, lower: bool) -> Tensor:
    sizes: Any = array.shape(x)
    rank = rank_of(name, x)
    if not rank:
        raise InvalidArgumentError(
            f"{name}: m is a scalar; a matrix is needed, or a vector, whose copies are its rows."
        )
    if rank == 1:
        sizes = [sizes[0], sizes[0]]
        x = array.broadcast_to(x, sizes)
    rows = array.expand_dims(array.range(sizes[-2]), 1)
    columns = array.range(sizes[-1]) - k
    kept = math.greater_equal(rows, columns) if lower else math.less_equal(rows, columns)
    return math.where(kept, x, array.zeros_like(x))


def _triangle(x: Any, of: Any, k: int) -> Any:
    return of(x, k) if x.ndim > 1 else None


@blaming
def tril(m: TensorLike, k: int = 0) -> Tensor:
    """The lower triangle of the last two axes, up to diagonal `k`, and zeros elsewhere.

    Args:
      m: Tensor [..., rows, columns], any dtype; a vector stands for as many copies of it, as rows.
      k: The highest diagonal that is kept.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): m is a scalar.
    Example:
      >>> numpy.tril([[1, 2], [3, 4]]).numpy()
      array([[1, 0],
             [3, 4]])
    """
    m = tensor_of(m)
    found = directly(_triangle, m, of=np.tril, k=k)
    return _band("tril", m, k, True) if found is None else found


@blaming
def triu(m: TensorLike, k: int = 0) -> Tensor:
    """The upper triangle of the last two axes, from diagonal `k`, and zeros elsewhere.

    Args:
      m: Tensor [..., rows, columns], any dtype; a vector stands for as many copies of it, as rows.
      k: The lowest diagonal that is kept.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): m is a scalar.
    Example:
      >>> numpy.triu([[1, 2], [3, 4]]).numpy()
      array([[1, 2],
             [0, 4]])
    """
    m = tensor_of(m)
    found = directly(_triangle, m, of=np.triu, k=k)
    return _band("triu", m, k, False) if found is None else found


def ix_(*args: TensorLike) -> tuple[Tensor, ...]:
    """Vectors reshaped to index together: vector k lies along axis k. A vector of bools stands for the indices where it is
    True.

    Args: args: Vectors of integers or bools.
    Returns: A tuple of integer tensors that broadcast together.
    Raises: InvalidArgumentError (a ValueError): one is not a vector.
    Example:
      >>> [list(x.shape) for x in numpy.ix_([0, 2], [1, 3, 4])]
      [[2, 1], [1, 3]]
    """
    found = []
    for k, vector in enumerate(args):
        x = tensor_of(vector)
        if rank_of("ix_", x) != 1:
            raise InvalidArgumentError(f"ix_: argument {k} has shape {x.shape}; a vector is needed.")
        x = array.reshape(math.where(x), [-1]) if x.dtype.is_bool else x
        if x.dims == (0,) and not stands_for_tensor(vector):
            x = math.cast(x, dtypes.int64)  # an empty list is float64 to NumPy
        found.append(array.reshape(x, [1] * k + [-1] + [1] * (len(args) - 1 - k)))
    return tuple(found)


@blaming
def meshgrid(
    *arrays: TensorLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Tensor, ...]:
    """Coordinate grids from coordinate vectors, one grid for each.

    Args:
      arrays: Vectors; scalars count as vectors of one element.
      copy: Without effect: tensors are not written to.
      sparse: Give each grid the size 1 along all axes but its own; they broadcast to the grids.
      indexing: "xy", where the first vector varies along axis 1 and the second along axis 0, or "ij", each along its own.
    Returns: A tuple of tensors of one shape, or with `sparse` of one rank, each of its vector's dtype.
    Raises: InvalidArgumentError (a ValueError): `indexing` is unknown.
    Example:
      >>> [x.numpy().tolist() for x in numpy.meshgrid([1, 2], [3, 4, 5])]
      [[[1, 2], [1, 2], [1, 2]], [[3, 3], [4, 4], [5, 5]]]
    """
    if indexing not in ("xy", "ij"):
        raise InvalidArgumentError(f"meshgrid: indexing is {indexing!r}; it must be 'xy' or 'ij'.")
    vectors = [tensor_of(x) for x in arrays]
    if not sparse:
        return tuple(array.meshgrid(*vectors, indexing=indexing)) if vectors else ()
    places = list(range(len(vectors)))
    if indexing == "xy":
        places[:2] = places[:2][::-1]
    return tuple(
        array.reshape(x, [-1 if axis == place else 1 for axis in range(len(vectors))])
        for x, place in zip(vectors, places, strict=True)
    )


@blaming
def vander(x: TensorLike, N: int | None = None, increasing: bool = False) -> Tensor:
    """A matrix whose columns are powers of x, descending unless `increasing`.

    Args:
      x: Vector [rows] of a numeric dtype.
      N: How many columns; as many as rows by default.
      increasing: Whether the first column is the power 0.
    Returns: Tensor [rows, N] of the dtype of x; integers and bools become int64, and uint64 float64.
    Raises: InvalidArgumentError (a ValueError): x is not a vector.
    Example:
      >>> numpy.vander([2.0, 3.0], 3).numpy()
      array([[4., 2., 1.],
             [9., 3., 1.]])
    """
    x = tensor_of(x)
    if rank_of("vander", x) != 1:
        raise InvalidArgumentError(f"vander: x has rank {x.ndim}; it is a vector.")
    if not x.dtype.is_differentiable:
        x = math.cast(x, dtypes.as_dtype(np.promote_types(x.dtype.numpy, np.int64)))
    count = ranked(x.dims)[0] if N is None else N
    if isinstance(count, int) and 0 < count <= 16:
        columns = [array.ones_like(x)]
        for _ in range(count - 1):
            columns.append(math.multiply(columns[-1], x) if len(columns) > 1 else x)
        return array.stack(columns if increasing else columns[::-1], 1)
    if isinstance(count, int):
        powers = lift(np.arange(count) if increasing else np.arange(count)[::-1])
    else:
        powers = array.range(array.shape(x)[0] if count is None else count)
        powers = powers if increasing else array.reverse(powers, [0])
    return math.pow(array.expand_dims(x, 1), cast_to(powers, x.dtype))


@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = int, sparse: Literal[False] = False
) -> Tensor: ...
@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = int, *, sparse: Literal[True]
) -> tuple[Tensor, ...]: ...
@blaming
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = int, sparse: bool = False
) -> Tensor | tuple[Tensor, ...]:
    """The index along each axis of each element of a grid: [rank, *dimensions].

    Args:
      dimensions: The sizes of the grid.
      dtype: The dtype; int64 by default.
      sparse: Whether to return a tensor for each axis, of size 1 along the others.
    Returns: Tensor [rank, *dimensions] of that dtype; with `sparse` a tuple of tensors that broadcast together.
    Raises: ValueError: a size is negative.
    Example:
      >>> numpy.indices([2, 2]).numpy().tolist()
      [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    sizes = members("indices", "dimensions", dimensions, "give a list of sizes")
    found = by_numpy("indices", np.indices, sizes, default_dtype(dtype).numpy, bool(sparse))
    return tuple([constant_here(part) for part in found]) if sparse else constant_here(found)


@blaming
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """The indices of the lower triangle of an n by m matrix, up to diagonal `k`.

    Args:
      n: The number of rows.
      k: The highest diagonal of the triangle.
      m: The number of columns; as many as rows by default.
    Returns: Two int64 vectors: rows and columns.
    Raises: TypeError: a size is not an int.
    Example:
      >>> [x.numpy().tolist() for x in numpy.tril_indices(2)]
      [[0, 1, 1], [0, 0, 1]]
    """
    return tuple([constant_here(found) for found in by_numpy("tril_indices", np.tril_indices, n, k, m)])


@blaming
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """The indices of the upper triangle of an n by m matrix, from diagonal `k`.

    Args:
      n: The number of rows.
      k: The lowest diagonal of the triangle.
      m: The number of columns; as many as rows by default.
    Returns: Two int64 vectors: rows and columns.
    Raises: TypeError: a size is not an int.
    Example:
      >>> [x.numpy().tolist() for x in numpy.triu_indices(2)]
      [[0, 0, 1], [0, 1, 1]]
    """
    return tuple([constant_here(found) for found in by_numpy("triu_indices", np.triu_indices, n, k, m)])


def mask_indices(n: int, mask_func: Callable[..., Any], k: TensorLike = 0) -> tuple[Tensor, ...]:
    """The indices at which a function of a matrix of ones, such as `triu`, leaves something else than 0.

    Args:
      n: The number of rows and of columns.
      mask_func: A function of a matrix [n, n] and `k`.
      k: The second argument of that function.
    Returns: Two int64 vectors: rows and columns.
    Raises: TypeError: the size is not an int.
    Example:
      >>> [x.numpy().tolist() for x in numpy.mask_indices(2, numpy.tril)]
      [[0, 1, 1], [0, 0, 1]]
    """
    check_function("mask_indices", mask_func)
    ones = constant_here(by_numpy("mask_indices", np.ones, (n, n), np.int64))
    return nonzero(mask_func(ones, k))


@blaming
def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The indices of the diagonal of a tensor whose `ndim` axes have size n.

    Args:
      n: The size.
      ndim: How many axes.
    Returns: As many equal int64 vectors [n] as there are axes.
    Raises: TypeError: a size is not an int.
    Example:
      >>> [x.numpy().tolist() for x in numpy.diag_indices(2)]
      [[0, 1], [0, 1]]
    """
    return tuple([constant_here(found) for found in by_numpy("diag_indices", np.diag_indices, n, ndim)])


def _sizes(name: str, arr: TensorLike) -> tuple[int, ...]:
    x = tensor_of(arr)
    rank_of(name, x)
    return known_sizes(name, ranked(x.dims), f"the sizes of shape {x.shape}")


def _matrix_sizes(name: str, arr: TensorLike) -> tuple[int, ...]:
    sizes = _sizes(name, arr)
    if len(sizes) != 2:
        raise InvalidArgumentError(f"{name}: the tensor has rank {len(sizes)}; it must be a matrix.")
    return sizes


@blaming
def tril_indices_from(arr: TensorLike, k: int = 0) -> tuple[Tensor, ...]:
    """The indices of the lower triangle of a matrix, up to diagonal `k`.

    Args:
      arr: Matrix of known sizes.
      k: The highest diagonal of the triangle.
    Returns: Two int64 vectors: rows and columns.
    Raises: InvalidArgumentError (a ValueError): `arr` is not a matrix, or its sizes are not known while tracing.
    Example:
      >>> [x.numpy().tolist() for x in numpy.tril_indices_from([[1, 2], [3, 4]])]
      [[0, 1, 1], [0, 0, 1]]
    """
    rows, columns = _matrix_sizes("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


@blaming
def triu_indices_from(arr: TensorLike, k: int = 0) -> tuple[Tensor, ...]:
    """The indices of the upper triangle of a matrix, from diagonal `k`.

    Args:
      arr: Matrix of known sizes.
      k: The lowest diagonal of the triangle.
    Returns: Two int64 vectors: rows and columns.
    Raises: InvalidArgumentError (a ValueError): `arr` is not a matrix, or its sizes are not known while tracing.
    Example:
      >>> [x.numpy().tolist() for x in numpy.triu_indices_from([[1, 2], [3, 4]])]
      [[0, 0, 1], [0, 1, 1]]
    """
    rows, columns = _matrix_sizes("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def diag_indices_from(arr: TensorLike) -> tuple[Tensor, ...]:
    """The indices of the diagonal of a tensor whose axes all have the same size.

    Args: arr: Tensor of rank 2 or more, of equal, known sizes.
    Returns: As many equal int64 vectors as there are axes.
    Raises: InvalidArgumentError (a ValueError): the sizes differ, or are not known while tracing.
    Example:
      >>> [x.numpy().tolist() for x in numpy.diag_indices_from([[1, 2], [3, 4]])]
      [[0, 1], [0, 1]]
    """
    sizes = _sizes("diag_indices_from", arr)
    if len(sizes) < 2 or len(set(sizes)) != 1:
        raise InvalidArgumentError(
            f"diag_indices_from: the shape is {sizes}; at least two equal sizes are needed."
        )
    return diag_indices(sizes[0], len(sizes))
