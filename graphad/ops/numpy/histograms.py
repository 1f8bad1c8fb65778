"""Histograms: how many elements, or which sum of weights, lie in each of some parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError, OutOfRangeError
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.numpy import reductions
from graphad.ops.numpy.choosing import searchsorted
from graphad.ops.numpy.promotion import cast_to, inexact, promoted, tensor_of


def histogram_bin_edges(
    a: TensorLike, bins: Any = 10, range: Any = None, weights: TensorLike | None = None
) -> Tensor:
    """The bounds of a histogram: as many equal parts of `range`, by default from the least to the largest element.

    Args:
      a: Tensor of any shape, a real dtype; integers and bools count as float64.
      bins: How many parts, or the bounds themselves, which are returned.
      range: The first and the last bound.
      weights: Is taken as NumPy takes it; the bounds do not depend on it.
    Returns: Vector [bins + 1] of that dtype.
    Raises: DTypeError (a TypeError): complex numbers.
    Example:
      >>> numpy.histogram_bin_edges([0.0, 1.0, 4.0], 2).numpy()
      array([0., 2., 4.])
    """
    if not isinstance(bins, int | np.integer):
        return tensor_of(bins)
    a = inexact(a)
    if range is not None:
        low, high = (cast_to(tensor_of(bound), a.dtype) for bound in range)
    else:
        low, high = math.reduce_min(a), math.reduce_max(a)
    same, half = math.equal(low, high), cast_to(0.5, a.dtype)
    low, high = math.where(same, low - half, low), math.where(same, high + half, high)
    return array.linspace(low, high, int(bins) + 1)


def _parts(x: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
    """In which part each element lies, -1 for none, and how many parts there are."""
    x, bounds = promoted(x, edges)
    one = lift(np.int64(1))
    last = math.cast(array.shape(bounds)[0], dtypes.int64) - one
    place = searchsorted(bounds, x, "right") - one
    place = math.where(math.equal(x, bounds[-1]), last - one, place)
    outside = math.logical_or(math.less(x, bounds[0]), math.logical_not(math.less_equal(x, bounds[-1])))
    return math.where(outside, lift(np.int64(-1)), place), last


def histogram(
    a: TensorLike, bins: Any = 10, range: Any = None, density: Any = None, weights: TensorLike | None = None
) -> tuple[Tensor, Tensor]:
    """How many elements, or which sum of weights, lie between neighbours of some bounds; the last part includes its end.

    Args:
      a: Tensor of any shape, a real dtype; integers and bools count as float64.
      bins: How many parts, or the bounds, in rising order.
      range: The first and the last bound; by default the least and the largest element.
      density: Whether to divide by the total and the widths, so that the integral is 1.
      weights: Tensor of as many elements.
    Returns: (counts, bounds); counts are int64, or of the dtype of the weights, in which alone they have a gradient.
    Raises: InvalidArgumentError (a ValueError): there are not as many weights as elements; DTypeError (a TypeError):
      complex numbers.
    Example:
      >>> [part.numpy().tolist() for part in numpy.histogram([0.0, 1.0, 4.0], 2)]
      [[2, 1], [0.0, 2.0, 4.0]]
    """
    edges = histogram_bin_edges(a, bins, range)
    place, last = _parts(array.reshape(tensor_of(a), [-1]), edges)
    parts = array.ones_like(place) if weights is None else array.reshape(tensor_of(weights), [-1])
    counts = array.unsorted_segment_sum(parts, place, last)
    if not density:
        return counts, edges
    counts = inexact(counts)
    widths = cast_to(reductions.diff(edges), counts.dtype)
    return math.divide(math.divide(counts, widths), math.reduce_sum(counts)), edges


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: TensorLike | None = None
) -> tuple[Tensor, list[Tensor]]:
    """How many points, or which sum of weights, lie in each cell of a grid; the last parts include their ends.

    Args:
      sample: Matrix [points, axes], a real dtype, or a list of a vector for each axis.
      bins: How many parts, or for each axis their number or their bounds.
      range: For each axis the first and the last bound, or None.
      density: Whether to divide by the total and the volumes, so that the integral is 1.
      weights: Vector [points].
    Returns: (counts [bins, ...], float64 or the dtype of the weights, in which alone they have a gradient; bounds of the axes).
    Raises: InvalidArgumentError (a ValueError): there are not as many bins, ranges or weights.
    Example:
      >>> numpy.histogramdd(numpy.asarray([[0.0, 0.0], [1.0, 2.0]]), 2)[0].numpy()
      array([[1., 0.],
             [0., 1.]])
    """
    if isinstance(sample, list | tuple):
        columns = promoted(*[inexact(x) for x in sample]) if sample else []
    else:
        columns = array.unstack(inexact(sample), axis=-1)
    rank = len(columns)
    if not rank:
        raise OutOfRangeError("histogramdd: sample has no axes; give points of at least one number.")
    asked = [bins] * rank if isinstance(bins, int | np.integer) else list(bins)
    ranges = [None] * rank if range is None else list(range)
    if len(asked) != rank or len(ranges) != rank:
        raise InvalidArgumentError(
            f"histogramdd: {len(asked)} bins and {len(ranges)} ranges for {rank} axes; give one for each."
        )
    edges = [histogram_bin_edges(x, b, r) for x, b, r in zip(columns, asked, ranges, strict=True)]
    cell, inside, total = lift(np.int64(0)), lift(True), lift(np.int64(1))
    for x, bounds in zip(columns, edges, strict=True):
        place, count = _parts(x, bounds)
        cell, total = cell * count + place, total * count
        inside = math.logical_and(inside, math.greater_equal(place, lift(np.int64(0))))
    one = array.ones_like(columns[0], dtypes.float64)
    counts = array.unsorted_segment_sum(
        one if weights is None else tensor_of(weights), math.where(inside, cell, lift(np.int64(-1))), total
    )
    sizes = [array.shape(bounds, dtypes.int64)[0] - 1 for bounds in edges]
    counts = array.reshape(counts, array.stack(sizes))
    if density:
        counts = inexact(counts)
        counts = math.divide(counts, math.reduce_sum(counts))
        for k, bounds in enumerate(edges):
            widths = cast_to(reductions.diff(bounds), counts.dtype)
            counts = math.divide(counts, array.reshape(widths, [-1] + [1] * (rank - 1 - k)))
    return counts, edges


def histogram2d(
    x: TensorLike,
    y: TensorLike,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: TensorLike | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """How many points (x, y), or which sum of weights, lie in each cell of a grid; the last parts include their ends.

    Args:
      x, y: Vectors [points], a real dtype; integers count as float64.
      bins: How many parts of both, or the bounds of both, or a pair of these.
      range: Two pairs, the first and the last bounds.
      density: Whether to divide by the total and the areas, so that the integral is 1.
      weights: Vector [points].
    Returns: (counts [bins, bins], float64 or the dtype of the weights, in which alone they have a gradient; bounds of x and y).
    Raises: InvalidArgumentError (a ValueError): there are not as many weights as points.
    Example:
      >>> numpy.histogram2d([0.0, 1.0], [0.0, 2.0], 2)[0].numpy()
      array([[1., 0.],
             [0., 1.]])
    """
    if not isinstance(bins, int | np.integer) and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, (of_x, of_y) = histogramdd([x, y], bins, range, density, weights)
    return counts, of_x, of_y
