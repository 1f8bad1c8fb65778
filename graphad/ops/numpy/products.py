"""Products of vectors, matrices and tensors."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.errors import InvalidArgumentError, OutOfRangeError
from graphad.core.shapes import is_definite, normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, linalg, math
from graphad.ops.directly import directly
from graphad.ops.linalg import contraction
from graphad.ops.math.convolved import VectorConvolution
from graphad.ops.math.sum_of_products import sum_of_products
from graphad.ops.numpy.promotion import by_numpy, cast_to, dims_of, known_sizes, promoted, rank_of, tensor_of
from graphad.ops.numpy.reductions import sum as sum_of
from graphad.ops.numpy.shapes import diagonal, moveaxis, ravel

if TYPE_CHECKING:
    from graphad.core.annotations import Array


def _of_bools(function: Callable[..., Tensor], *xs: Tensor) -> Tensor:
    """A product of bools, computed with integers; a nonzero result is True."""
    found = function(*[math.cast(x, dtypes.int32) for x in xs])
    return math.not_equal(found, cast_to(0, dtypes.int32))


def matmul(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """The matrix product over leading axes that broadcast; a vector counts as a row on the left, as a column on the right.

    Args:
      x1: Tensor [..., rows, inner] or [inner], any dtype.
      x2: Tensor [..., inner, columns] or [inner], any dtype; both dtypes are promoted.
    Returns: Tensor [..., rows, columns] without the axes that vectors lack.
    Raises: InvalidArgumentError (a ValueError): one is a scalar, or the inner sizes differ.
    Example:
      >>> numpy.matmul([[1, 2], [3, 4]], [1, 1]).numpy()
      array([3, 7])
    """
    x1, x2 = promoted(x1, x2)
    ranks = rank_of("matmul", x1), rank_of("matmul", x2)
    if 0 in ranks:
        raise InvalidArgumentError("matmul: a scalar is not a matrix; use multiply.")
    if x1.dtype.is_bool:
        return _of_bools(matmul, x1, x2)
    if ranks == (1, 1):
        return linalg.tensordot(x1, x2, 1)
    if ranks[1] == 1:
        return linalg.matvec(x1, x2)
    if ranks[0] == 1:
        return array.squeeze(linalg.matmul(array.expand_dims(x1, 0), x2), [-2])
    return linalg.matmul(x1, x2)


def dot(a: TensorLike, b: TensorLike) -> Tensor:
    """The sum of products over the last axis of `a` and the last but one (or only) axis of `b`; for scalars the product.

    Args: a, b: Tensors of any shapes and dtypes; both dtypes are promoted.
    Returns: Tensor of the other axes of `a`, then those of `b`.
    Raises: InvalidArgumentError (a ValueError): the sizes differ.
    Example:
      >>> numpy.dot([1, 2], [3, 4]).numpy()
      np.int64(11)
    """
    a, b = promoted(a, b)
    if a.dtype.is_bool:
        return _of_bools(dot, a, b)
    found = directly(_of_vectors, a, b)
    if found is not None:
        return found
    ranks = rank_of("dot", a), rank_of("dot", b)
    if 0 in ranks:
        return math.multiply(a, b)
    if ranks == (2, 2):
        return linalg.matmul(a, b)
    return linalg.tensordot(a, b, [[ranks[0] - 1], [max(ranks[1] - 2, 0)]])


def _of_vectors(a: Array, b: Array) -> Any:
    """The product of two vectors by the routine that the product of a row and a column comes to; None for other shapes."""
    if a.ndim != 1 or a.shape != b.shape or a.dtype.char not in "fd":
        return None
    return a.dot(b)


def vdot(a: TensorLike, b: TensorLike) -> Tensor:
    """The sum of the products of all elements, those of `a` conjugated.

    Args: a, b: Tensors of as many elements, of any shapes and dtypes; both dtypes are promoted.
    Returns: Scalar of that dtype.
    Raises: InvalidArgumentError (a ValueError): the numbers of elements differ.
    Example:
      >>> numpy.vdot([1j, 2], [1j, 1]).numpy()
      np.complex128(3+0j)
    """
    a, b = promoted(a, b)
    a, b = (x if x.ndim == 1 else ravel(x) for x in (a, b))
    return dot(math.conj(a) if a.dtype.is_complex else a, b)


def inner(a: TensorLike, b: TensorLike) -> Tensor:
    """The sum of products over the last axes of both; for scalars the product.

    Args: a, b: Tensors [..., size], any dtypes; both dtypes are promoted.
    Returns: Tensor of the other axes of `a`, then those of `b`.
    Raises: InvalidArgumentError (a ValueError): the sizes differ.
    Example:
      >>> numpy.inner([1, 2], [3, 4]).numpy()
      np.int64(11)
    """
    a, b = promoted(a, b)
    if a.dtype.is_bool:
        return _of_bools(inner, a, b)
    found = directly(_of_vectors, a, b)
    if found is not None:
        return found
    ranks = rank_of("inner", a), rank_of("inner", b)
    return math.multiply(a, b) if 0 in ranks else linalg.tensordot(a, b, [[ranks[0] - 1], [ranks[1] - 1]])


def vecdot(x1: TensorLike, x2: TensorLike, /, axis: int = -1) -> Tensor:
    """The products of vectors along an axis of both, x1 conjugated, over other axes that broadcast.

    Args:
      x1, x2: Tensors [..., size, ...], any dtypes; both dtypes are promoted.
      axis: The axis.
    Returns: Tensor of the other axes.
    Raises: InvalidArgumentError (a ValueError): the sizes differ, or the axis is out of range.
    Example:
      >>> numpy.vecdot([[1, 2], [3, 4]], [1, 1]).numpy()
      array([3, 7])
    """
    x1, x2 = promoted(x1, x2)
    if (
        type(axis) is int
        and axis == -1
        and x1.dtype.is_floating
        and x1.dims
        and is_definite(x1.dims)
        and x1.dims == x2.dims
    ):
        return sum_of_products(x1, x2, -1)
    sizes = []
    for x in (x1, x2):
        normalize_axis("vecdot", axis, rank_of("vecdot", x))
        sizes.append(dims_of("vecdot", x)[axis])
    if all(isinstance(size, int) for size in sizes) and sizes[0] != sizes[1]:
        raise InvalidArgumentError(
            f"vecdot: the vectors have {sizes[0]} and {sizes[1]} elements; the numbers must be equal."
        )
    if x1.dtype.is_bool:
        return _of_bools(lambda a, b: vecdot(a, b, axis=axis), x1, x2)
    if x1.dtype.is_complex:
        x1 = math.conj(x1)
    if axis != -1:
        x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    if x1.dtype.is_floating:
        return sum_of_products(x1, x2, -1)
    return sum_of(math.multiply(x1, x2), -1, x1.dtype)


def outer(a: TensorLike, b: TensorLike) -> Tensor:
    """The products of each element of one with each of another, as a matrix.

    Args: a, b: Tensors of any shapes and dtypes, which are flattened; both dtypes are promoted.
    Returns: Tensor [elements of a, elements of b].
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> numpy.outer([1, 2], [3, 4]).numpy()
      array([[3, 4],
             [6, 8]])
    """
    a, b = promoted(a, b)
    multiply = math.logical_and if a.dtype.is_bool else math.multiply
    return multiply(array.reshape(a, [-1, 1]), array.reshape(b, [1, -1]))


@blaming
def tensordot(a: TensorLike, b: TensorLike, axes: int | Sequence[Any] = 2) -> Tensor:
    """The sum of products over pairs of axes: the last of `a` and the first of b, or given ones.

    Args:
      a, b: Tensors of any shapes and dtypes; both dtypes are promoted.
      axes: The number of axes, or a pair of axes or lists of axes.
    Returns: Tensor of the other axes of `a`, then those of b.
    Raises: InvalidArgumentError (a ValueError): sizes differ, or an axis is out of range.
    Example:
      >>> numpy.tensordot([[1, 2], [3, 4]], [1, 1], 1).numpy()
      array([3, 7])
    """
    a, b = promoted(a, b)
    if a.dtype.is_bool:
        return _of_bools(lambda a, b: tensordot(a, b, axes=axes), a, b)
    if isinstance(axes, int | np.integer):
        axes = int(axes)
        if axes == 0:
            return _all_with_all(a, b)
        return linalg.tensordot(a, b, axes)
    first, second = ([k] if isinstance(k, int) else list(k) for k in axes)
    pairs = (_counted(first, a), _counted(second, b))
    return linalg.tensordot(a, b, [*pairs]) if first else _all_with_all(a, b)


def _counted(axes: list[Any] | list[int], x: Tensor) -> list[int]:
    """Axes counted from 0."""
    return [normalize_axis("tensordot", int(k), rank_of("tensordot", x)) for k in axes]


def _all_with_all(x1: TensorLike, x2: Tensor) -> Tensor:
    for _ in range(rank_of("tensordot", x2)):
        x1 = array.expand_dims(x1, -1)
    return math.multiply(x1, x2)


def matvec(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """The products of matrices and vectors, over leading axes that broadcast.

    Args:
      x1: Tensor [..., rows, columns], any dtype.
      x2: Tensor [..., columns], any dtype; both dtypes are promoted.
    Returns: Tensor [..., rows].
    Raises: InvalidArgumentError (a ValueError): the sizes differ, or an operand has too few axes.
    Example:
      >>> numpy.matvec([[1, 2], [3, 4]], [1, 1]).numpy()
      array([3, 7])
    """
    x1, x2 = _with_axes("matvec", x1, x2, (2, 1))
    return array.squeeze(matmul(x1, array.expand_dims(x2, -1)), [-1])


def vecmat(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """The products of vectors, conjugated, and matrices, over leading axes that broadcast.

    Args:
      x1: Tensor [..., rows], a numeric dtype.
      x2: Tensor [..., rows, columns], any dtype; both dtypes are promoted.
    Returns: Tensor [..., columns].
    Raises: InvalidArgumentError (a ValueError): the sizes differ, or an operand has too few axes.
    Example:
      >>> numpy.vecmat([1, 1], [[1, 2], [3, 4]]).numpy()
      array([4, 6])
    """
    x1, x2 = _with_axes("vecmat", x1, x2, (1, 2))
    return array.squeeze(matmul(array.expand_dims(math.conj(x1), -2), x2), [-2])


def _with_axes(name: str, x1: TensorLike, x2: TensorLike, least: tuple[int, int]) -> list[Tensor]:
    """Operands as tensors with the axes of a matrix or a vector at least."""
    xs = [tensor_of(x) for x in (x1, x2)]
    for k, (x, axes) in enumerate(zip(xs, least, strict=True), 1):
        if x.dims is not None and len(x.dims) < axes:
            raise InvalidArgumentError(f"{name}: x{k} has rank {len(x.dims)}; it must be {axes} or more.")
    return xs


_LETTERS = string.ascii_uppercase + string.ascii_lowercase  # in alphabetical order


def _in_letters(given: list[Any]) -> tuple[str, tuple[Any, ...]]:
    """The subscripts and operands for operands and lists of integers in turn."""
    lists = given[1::2] if len(given) % 2 == 0 else [*given[1::2], given[-1]]
    lists = [x.tolist() if isinstance(x, np.ndarray) else x for x in lists]
    if len(given) < 2 or not all(isinstance(axes, list | tuple | range) for axes in lists):
        raise InvalidArgumentError(
            "einsum: subscripts must be a string, such as 'ij,jk->ik', or each operand is followed by a list of integers."
        )
    words = []
    for axes in lists:
        if not all(
            axis is Ellipsis or (isinstance(axis, int | np.integer) and 0 <= axis < 52) for axis in axes
        ):
            raise InvalidArgumentError(
                f"einsum: subscripts are {list(axes)}; they are integers from 0 to 51, or ...."
            )
        words.append("".join("..." if axis is Ellipsis else _LETTERS[axis] for axis in axes))
    n = len(given) // 2
    return ",".join(words[:n]) + (f"->{words[n]}" if len(words) > n else ""), tuple(given[: 2 * n : 2])


def einsum(subscripts: Any, /, *operands: Any, optimize: object = None) -> Tensor:
    """Sums of products by Einstein's convention, such as "ij,jk->ik".

    Args:
      subscripts: A letter for each axis of each operand, and of the result; without "->" the result has the letters that occur
        once, in order. Or the first operand, followed by a list of integers for its axes, in place of letters.
      operands: Tensors of any shapes and dtypes; the dtypes are promoted. After the form with integers an operand and a list in
        turn, and at last a list for the result, if one is given.
      optimize: Accepted for compatibility; the order of the products is chosen by their cost.
    Returns: Tensor with the axes after "->".
    Raises: InvalidArgumentError (a ValueError): the letters do not fit the operands, or sizes under one letter differ, none of
      them 1.
    Example:
      >>> numpy.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 1]).numpy()
      array([3, 7])
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _in_letters([subscripts, *operands])
    if not operands:
        raise InvalidArgumentError(
            f"einsum: subscripts are {subscripts!r}, and there are no operands; give at least one tensor."
        )
    return contraction.einsum(*_without_ones(subscripts, promoted(*operands)))


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "greedy") -> tuple[list[Any], str]:
    """In which order NumPy's `einsum` contracts operands of these sizes, and a text that says what each step costs.

    Args:
      subscripts, operands: As in `einsum`; of the operands only the shapes are read.
      optimize: "greedy" or "optimal", a pair of one of these and the size of the largest intermediate, False for one step, or a
        path.
    Returns: (path, text): "einsum_path" and for each step the numbers of the operands that it contracts; the text as NumPy
      writes it.
    Raises: InvalidArgumentError (a ValueError): the letters do not fit the operands, or a size is not known while tracing;
      ArgumentTypeError (a TypeError): an order that is none of these.
    Example:
      >>> numpy.einsum_path("ij,jk,kl->il", numpy.ones((2, 9)), numpy.ones((9, 9)), numpy.ones((9, 3)))[0]
      ['einsum_path', (0, 1), (0, 1)]
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _in_letters([subscripts, *operands])
    if not operands:
        raise InvalidArgumentError(
            f"einsum_path: subscripts are {subscripts!r}, and there are no operands; give at least one tensor."
        )
    shapes = [
        known_sizes("einsum_path", dims_of("einsum_path", tensor_of(x)), "all sizes of the operands")
        for x in operands
    ]
    empty = np.zeros(())
    return by_numpy(  # type: ignore[no-any-return]
        "einsum_path",
        partial(np.einsum_path, optimize=optimize),
        subscripts,
        *[np.broadcast_to(empty, shape) for shape in shapes],
    )


def _without_ones(subscripts: str, xs: Sequence[Tensor]) -> tuple[Any, ...]:
    """The subscripts and operands without axes of size 1 whose letter has another size elsewhere: NumPy broadcasts them."""
    before, arrow, after = "".join(subscripts.split()).partition("->")
    terms = before.split(",")
    sizes: list[dict[str, Any]] = [_sizes_of(term, x) for term, x in zip(terms, xs, strict=False)]
    wide = {c for found in sizes for c, size in found.items() if type(size) is int and size > 1}
    if len(terms) != len(xs) or not any(
        c in wide and size == 1 for found in sizes for c, size in found.items()
    ):
        return (subscripts, *xs)
    if not arrow:
        once = sorted(c for c in set(before) if c.isalpha() and before.count(c) == 1)
        after = ("..." if "..." in before else "") + "".join(once)
    kept = []
    for k, (x, found) in enumerate(zip(xs, sizes, strict=True)):
        for c in [c for c, size in found.items() if size == 1 and c in wide]:
            while c in terms[k]:
                head, tail = terms[k].split(c, 1)
                axis = len(head) if "..." not in head else -1 - len(tail)
                if ranked(x.dims)[axis] != 1:
                    break
                x = array.squeeze(x, [axis])
                terms[k] = head + tail
        kept.append(x)
    return (",".join(terms) + "->" + after, *kept)


def _sizes_of(term: str, x: Tensor) -> dict[str, Any]:
    """The size under each letter of a term, where the rank is known and fits."""
    head, dots, tail = term.partition("...")
    dims = x.dims
    if dims is None or (len(dims) < len(head) + len(tail) if dots else len(dims) != len(term)):
        return {}
    behind = dims[len(dims) - len(tail) :]
    return dict(zip(head + tail, (*dims[: len(head)], *behind), strict=True))


def _blocks(a: Any, b: Any) -> Any:
    """What `kron` computes, of arrays: each product is rounded once, in whatever order."""
    rank = max(a.ndim, b.ndim)
    of_a, of_b = ((1,) * (rank - x.ndim) + x.shape for x in (a, b))
    wide_a = a.reshape([size for m in of_a for size in (m, 1)])
    wide_b = b.reshape([size for n in of_b for size in (1, n)])
    return np.multiply(wide_a, wide_b).reshape([m * n for m, n in zip(of_a, of_b, strict=True)])


def kron(a: TensorLike, b: TensorLike) -> Tensor:
    """The Kronecker product: blocks of b scaled by the elements of a.

    Args: a, b: Tensors of any shapes and dtypes; both dtypes are promoted.
    Returns: Tensor whose sizes are the products of theirs.
    Raises: InvalidArgumentError (a ValueError): a rank is not known while tracing.
    Example:
      >>> numpy.kron([1, 10], [1, 2]).numpy()
      array([ 1,  2, 10, 20])
    """
    a, b = promoted(a, b)
    direct = directly(_blocks, a, b)
    if direct is not None:
        return direct
    rank = max(rank_of("kron", a), rank_of("kron", b))
    for _ in range(rank - rank_of("kron", a)):
        a = array.expand_dims(a, 0)
    for _ in range(rank - rank_of("kron", b)):
        b = array.expand_dims(b, 0)
    of_a, of_b = dims_of("kron", a), dims_of("kron", b)
    sizes = (
        array.shape(a) * array.shape(b)
        if None in (*of_a, *of_b)
        else [m * n for m, n in zip(of_a, of_b, strict=True)]
    )
    for k in range(rank):
        a, b = array.expand_dims(a, 2 * k + 1), array.expand_dims(b, 2 * k)
    multiply = math.logical_and if a.dtype.is_bool else math.multiply
    return array.reshape(multiply(a, b), sizes)


def cross(
    a: TensorLike, b: TensorLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """The cross products of vectors of 3 or 2 elements along an axis of both, over other axes that broadcast.

    Args:
      a, b: Tensors [..., 3, ...] or [..., 2, ...], numeric dtypes, which are promoted. A vector of 2 elements lies in the plane
        whose third coordinate is 0.
      axisa, axisb, axisc: The axes of `a`, of `b` and of the result.
      axis: One axis for all three.
    Returns: Tensor [..., 3, ...]; of two vectors of 2 elements the third coordinate alone, without that axis.
    Raises: InvalidArgumentError (a ValueError): the vectors have another size, or an axis is out of range.
    Example:
      >>> numpy.cross([1, 0, 0], [0, 1, 0]).numpy()
      array([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = promoted(a, b)
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    sizes = [dims_of("cross", x)[-1] for x in (a, b)]
    for size in sizes:
        if isinstance(size, int) and size not in (2, 3):
            raise InvalidArgumentError(f"cross: the vectors have {size} elements; they must have 3, or 2.")
    if sizes == [2, 2]:
        (x, y), (u, v) = array.unstack(a, 2, -1), array.unstack(b, 2, -1)
        return math.subtract(x * v, y * u)
    a, b = (_in_space(x) if size == 2 else x for x, size in zip((a, b), sizes, strict=True))
    found = directly(_crossed, a, b, axis=axisc) if not a.dtype.is_complex else None
    if found is not None:
        return found
    xs, ys = array.unstack(a, 3, -1), array.unstack(b, 3, -1)
    parts = [math.subtract(xs[i] * ys[j], xs[j] * ys[i]) for i, j in ((1, 2), (2, 0), (0, 1))]
    return moveaxis(array.stack(parts, -1), -1, axisc)


def _in_space(x: Tensor) -> Tensor:
    """Vectors of 2 elements with a third, 0."""
    return array.concat([x, array.zeros_like(x[..., :1])], -1)


def _crossed(a: Any, b: Any, axis: int) -> Array | None:
    if a.shape[-1] != 3 or b.shape[-1] != 3 or a.dtype.kind == "b":
        return None
    return np.cross(a, b, axisc=axis)


@blaming
def trace(
    a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None
) -> Tensor:
    """The sum of a diagonal over two axes.

    Args:
      a: Tensor of rank 2 or more, any dtype.
      offset: The diagonal; a positive one is above the main one.
      axis1, axis2: The axes of its rows and columns.
      dtype: The dtype of the sum; by default that of `a`, int64 or uint64 for integers and bools.
    Returns: Tensor of the other axes.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range.
    Example:
      >>> numpy.trace([[1, 2], [3, 4]]).numpy()
      np.int64(5)
    """
    return sum_of(diagonal(a, offset, axis1, axis2), -1, dtype)


@blaming
def convolve(a: TensorLike, v: TensorLike, mode: str = "full") -> Tensor:
    """The convolution of two vectors: "full", "same" (the size of the longer one), or "valid" (only complete overlap).

    Args:
      a, v: Vectors of known sizes, not 0, or numbers, of numeric dtypes, which are promoted.
      mode: "full", "same" or "valid".
    Returns: Vector of that dtype: [n + m - 1], [max(n, m)] or [max(n, m) - min(n, m) + 1].
    Raises: InvalidArgumentError (a ValueError): one is not a vector or is empty, a size is not known while tracing, or `mode` is
      unknown.
    Example:
      >>> numpy.convolve([1, 2, 3], [1, 1]).numpy()
      array([1, 3, 5, 3])
    """
    a, v = promoted(a, v)
    a, v = (array.reshape(x, [1]) if x.ndim == 0 else x for x in (a, v))
    if rank_of("convolve", a) != 1 or rank_of("convolve", v) != 1:
        raise InvalidArgumentError(f"convolve: a has rank {a.ndim}, v {v.ndim}; both must be vectors.")
    n, m = dims_of("convolve", a)[0], dims_of("convolve", v)[0]
    if not isinstance(n, int) or not isinstance(m, int) or not n or not m:
        raise InvalidArgumentError(
            "convolve: the sizes of both vectors must be known while tracing, and not 0."
        )
    if a.dtype.is_bool:
        return _of_bools(partial(convolve, mode=mode), a, v)
    if n < m:
        a, v, n, m = v, a, m, n
    if mode == "valid":
        return bind(VectorConvolution(True), a, array.reverse(v, [0]))
    if mode in ("full", "same"):
        full: Any = bind(VectorConvolution(), a, v)
        start = (m - 1) // 2
        return full if mode == "full" else full[start : start + n]  # type: ignore[no-any-return]
    raise InvalidArgumentError(f"convolve: mode {mode!r} is unknown; it is 'full', 'same' or 'valid'.")


@blaming
def correlate(a: TensorLike, v: TensorLike, mode: str = "valid") -> Tensor:
    """The cross-correlation: sums of products of `a` and the shifted conjugate of `v`; see `convolve`.

    Args:
      a, v: Vectors of known sizes, not 0, or numbers, of numeric dtypes, which are promoted.
      mode: "full", "same" or "valid".
    Returns: Vector of that dtype: [n + m - 1], [max(n, m)] or [max(n, m) - min(n, m) + 1].
    Raises: InvalidArgumentError (a ValueError): one is not a vector or is empty, a size is not known while tracing, or `mode` is
      unknown.
    Example:
      >>> numpy.correlate([1, 2, 3], [1, 1]).numpy()
      array([3, 5])
    """
    a, v = promoted(a, v)
    if a.dtype.is_bool:
        return _of_bools(partial(correlate, mode=mode), a, v)
    for name, x in (("a", a), ("v", v)):
        if x.dims == ():
            raise OutOfRangeError(f"correlate: {name} has shape []; a vector is needed.")
    n, m = dims_of("correlate", a)[0], dims_of("correlate", v)[0]
    swapped = n is not None and m is not None and n < m
    if mode == "valid" and not swapped and type(n) is type(m) is int and n and m:
        return bind(VectorConvolution(True), a, math.conj(v))
    found = convolve(a, array.reverse(math.conj(v), [0]), mode)
    if mode == "same" and swapped and n % 2 == 0:
        full = convolve(a, array.reverse(math.conj(v), [0]), "full")
        return full[n // 2 : n // 2 + m]
    return found
