"""How variables vary together: covariances and correlations."""

from __future__ import annotations

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError, OutOfRangeError
from graphad.core.tensor import Tensor
from graphad.ops import array, linalg, math
from graphad.ops.directly import is_eager
from graphad.ops.numpy.promotion import cast_to, dims_of, inexact, promoted, rank_of, tensor_of
from graphad.ops.numpy.types import default_dtype

_WIDE = {dtypes.float16: dtypes.float32, dtypes.bfloat16: dtypes.float32}


@blaming
def cov(
    m: TensorLike, y: TensorLike | None = None, rowvar: bool = True, bias: bool = False,
    ddof: int | None = None, fweights: TensorLike | None = None, aweights: TensorLike | None = None, *,
    dtype: DTypeLike | None = None,
) -> Tensor:  # fmt: skip
    """The covariances of variables, which are the rows of `m`, and those of `y`; the columns with rowvar=False.

    Args:
      m: Matrix [variables, samples], or a vector of one variable; a float or complex dtype, integers count as float64.
      y: Further variables.
      rowvar: Whether variables are rows; columns otherwise.
      bias: Whether to divide by the number of samples; otherwise by one less.
      ddof: Subtracted from that number, overriding `bias`.
      fweights: How often each sample occurred, integers [samples].
      aweights: The relative weights of the samples [samples].
      dtype: The dtype of the computation, a float or complex one; by default the joint one of the operands.
    Returns: Tensor [variables, variables], a scalar for one variable.
    Raises:
      InvalidArgumentError (a ValueError): the numbers of samples differ, an operand has more than two axes, or weights have more
        than one or are negative.
      ArgumentTypeError (a TypeError): fweights with a fraction.
    Example:
      >>> numpy.cov([[0.0, 2.0], [1.0, 5.0]]).numpy()
      array([[2., 4.],
             [4., 8.]])
    """
    wanted = None if dtype is None else default_dtype(dtype)
    rows = [inexact(tensor_of(x, wanted)) for x in (m, y) if x is not None]
    if not rows:
        raise OutOfRangeError("cov: m is None; give a matrix [variables, samples] or a vector.")
    for x in rows:
        if rank_of("cov", x) > 2:
            raise InvalidArgumentError(
                f"cov: an operand has shape {x.shape}; a matrix [variables, samples] or a vector is needed."
            )
    rows = [
        array.expand_dims(x, 0) if rank_of("cov", x) == 1 else x if rowvar else array.transpose(x)
        for x in rows
    ]
    x = array.concat(promoted(*rows), 0) if len(rows) > 1 else rows[0]
    kept = x.dtype
    x = cast_to(x, _WIDE.get(kept, kept))  # the number of samples needs more digits than float16 has
    free = cast_to(tensor_of((0 if bias else 1) if ddof is None else ddof), x.dtype)
    given = [
        (name, tensor_of(w)) for name, w in (("fweights", fweights), ("aweights", aweights)) if w is not None
    ]
    for name, w in given:
        _require_weights(name, w, dims_of("cov", x)[-1], name == "fweights")
    weights = [cast_to(w, x.dtype) for _, w in given]
    if weights:
        w = weights[0] * weights[1] if len(weights) > 1 else weights[0]
        total = math.reduce_sum(w)
        off = x - array.expand_dims(linalg.matvec(x, w) / total, 1)
        # Relative weights (`aweights`) are no counts of samples: `ddof` is scaled by their mean square.
        count = total - free * (total if aweights is None else math.reduce_sum(w * weights[-1])) / total
        count = _at_least_none(count)
        return cast_to(array.squeeze(linalg.matmul(off * w, linalg.adjoint(off)) / count), kept)
    off = x - math.reduce_mean(x, -1, True)
    count = _at_least_none(math.cast(array.shape(x)[1], x.dtype) - free)
    found = linalg.matmul(off, linalg.adjoint(off)) / count
    return cast_to(array.squeeze(found), kept)


def _at_least_none(count: Tensor) -> Tensor:
    """A number of samples, less what is subtracted of it: 0 if that is more, so that what is divided by it is infinite."""
    return count if count.dtype.is_complex else math.maximum(count, array.zeros_like(count))


def _require_weights(name: str, w: Tensor, samples: int | None, is_count: bool) -> None:
    """Raises: InvalidArgumentError: not one for each sample, or one is negative. ArgumentTypeError: a count has a fraction."""
    dims = dims_of("cov", w)
    if len(dims) != 1 or (None not in (dims[0], samples) and dims[0] != samples):
        raise InvalidArgumentError(
            f"cov: {name} has shape {w.shape}; a vector with one number for each sample is needed, of which there are {samples}."
        )
    if is_eager(w):
        values = w.data
        if is_count and (values != np.rint(values)).any():
            raise ArgumentTypeError(
                f"cov: fweights are {values.tolist()!s:.100}, how often each sample occurred; they must be integers. "
                "Give weights with fractions as aweights."
            )
        if (values < 0).any():
            raise InvalidArgumentError(
                f"cov: {name} are {values.tolist()!s:.100}; they must not be negative."
            )


@blaming
def corrcoef(
    x: TensorLike, y: TensorLike | None = None, rowvar: bool = True, *, dtype: DTypeLike | None = None
) -> Tensor:
    """The correlation of variables, which are the rows of `x`, and those of `y`; the columns with rowvar=False.

    Args:
      x: Matrix [variables, samples], or a vector of one variable; a float or complex dtype, integers count as float64.
      y: Further variables.
      rowvar: Whether variables are rows; columns otherwise.
      dtype: The dtype of the computation, a float or complex one; by default the joint one of the operands.
    Returns: Tensor [variables, variables] of numbers from -1 to 1, a scalar for one variable; NaN for a variable that does
      not vary.
    Raises: InvalidArgumentError (a ValueError): the numbers of samples differ, or an operand has more than two axes.
    Example:
      >>> numpy.corrcoef([[0.0, 1.0, 2.0], [0.0, -2.0, -4.0]]).numpy()
      array([[ 1., -1.],
             [-1.,  1.]])
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return math.divide(c, c)
    spread = math.sqrt(math.real(linalg.diag_part(c)))
    scaled = (
        c
        / math.cast(array.expand_dims(spread, 1), c.dtype)
        / math.cast(array.expand_dims(spread, 0), c.dtype)
    )
    if c.dtype.is_complex:
        return scaled
    one = cast_to(1.0, c.dtype)
    return math.minimum(math.maximum(scaled, -one), one)
