"""Histograms: the number of elements, or the sum of their weights, in each of several bins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import Array, TensorLike
from graphad.core.bind import constant_here
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError, OutOfRangeError
from graphad.core.ieee import unreported
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.directly import directly, is_eager
from graphad.ops.numpy import differences
from graphad.ops.numpy.choosing import searchsorted
from graphad.ops.numpy.promotion import NUMBERS, by_numpy, cast_to, inexact, joint_dtype, promoted, tensor_of


@blaming
def histogram_bin_edges(
    a: TensorLike,
    bins: TensorLike = 10,
    range: tuple[float, float] | None = None,
    weights: TensorLike | None = None,
) -> Tensor:
    """The bin edges of a histogram: equal bins over `range`, by default from the smallest to the largest element, or from
    0 to 1 where there is none.

    Args:
      a: Tensor of any shape, a real dtype; integers and bools count as float64.
      bins: The number of bins, or the edges themselves, which are returned, or the name of one of NumPy's rules for their
        number, such as "auto".
      range: The first and the last edge.
      weights: Accepted for compatibility; the edges do not depend on it.
    Returns: Vector [bins + 1] of that dtype.
    Raises: InvalidArgumentError (a ValueError): there is no bin, the edges do not ascend, the smallest or largest element is not
      finite, or a rule is named while tracing; DTypeError (a TypeError): complex numbers.
    Example:
      >>> numpy.histogram_bin_edges([0.0, 1.0, 4.0], 2).numpy()
      array([0., 2., 4.])
    """
    bins = _bins("histogram_bin_edges", a, bins, range)
    if not isinstance(bins, int | np.integer):
        return tensor_of(bins)
    a = inexact(a)
    dtype = a.dtype
    if range is not None:
        dtype = joint_dtype([dtype, *[x if type(x) in NUMBERS else tensor_of(x) for x in range]])
        low, high = (cast_to(tensor_of(bound), dtype) for bound in range)
    elif 0 in (a.dims or ()):
        low, high = (cast_to(tensor_of(bound), a.dtype) for bound in (0.0, 1.0))
    else:
        low, high = math.reduce_min(a), math.reduce_max(a)
        if is_eager(low) and is_eager(high) and not np.isfinite(low.data + high.data):
            raise InvalidArgumentError(
                f"histogram_bin_edges: the elements go from {low.data} to {high.data}; give a finite range."
            )
    same, half = math.equal(low, high), cast_to(0.5, dtype)
    low, high = math.where(same, low - half, low), math.where(same, high + half, high)
    edges = array.linspace(low, high, int(bins) + 1)
    if is_eager(edges) and edges.data.size > 2 and not (edges.data[:-1] < edges.data[1:]).all():
        raise InvalidArgumentError(
            f"histogram_bin_edges: between {low.data} and {high.data} there are not enough numbers of dtype {dtype.name} for "
            f"{bins} bins; give fewer."
        )
    return edges


def _bins_of(a: Tensor, edges: Any, is_even: bool) -> tuple[Any, Any]:
    """`_parts`, which has no derivative, by the quotient where the data is known and the bins are equal."""
    x: Any = inexact(a)
    if is_even and is_eager(x) and is_eager(edges) and type(x.data) is type(edges.data) is np.ndarray:
        found = unreported(_even_places, x.data, edges.data)
        if found is not None:
            return constant_here(found), lift(np.int64(edges.data.size - 1))
    return _parts(array.reshape(x, [-1]), edges)


def _bins(name: str, a: Any, bins: Any, range: Any) -> Any:
    """The number of bins, or their edges; a rule's name becomes the number that it gives for the data.

    Raises: InvalidArgumentError: there is no bin, edges or ends do not ascend, or data that a rule needs is not known.
    """
    if range is not None and all(type(bound) in NUMBERS for bound in range):
        if not range[0] <= range[1] or not np.isfinite(range).all():
            raise InvalidArgumentError(
                f"{name}: range is {tuple(range)}; its numbers must be finite, and the second not below the first."
            )
    if isinstance(bins, str):
        a = tensor_of(a)
        if not is_eager(a):
            raise InvalidArgumentError(
                f"{name}: bins={bins!r} needs the data, which is not known while tracing; give the number of bins."
            )
        ends = None if range is None else [float(bound) for bound in range]
        return by_numpy(name, np.histogram_bin_edges, a.data, bins, ends).size - 1
    if isinstance(bins, int | np.integer):
        if bins < 1:
            raise InvalidArgumentError(f"{name}: bins is {bins}; there must be 1 or more.")
        return bins
    edges = tensor_of(bins)
    if edges.ndim == 0:
        raise ArgumentTypeError(
            f"{name}: bins is {bins!r}; it is an integer, the number of bins, or a vector of edges."
        )
    if edges.ndim is not None and edges.ndim > 1:
        raise InvalidArgumentError(f"{name}: bins has shape {edges.shape}; edges are a vector.")
    if is_eager(edges) and not (edges.data[:-1] <= edges.data[1:]).all():
        raise InvalidArgumentError(f"{name}: the edges do not ascend.")
    return edges


def _parts(x: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
    """The index of the bin of each element, -1 for none, and the number of bins."""
    x, bounds = promoted(x, edges)
    one = lift(np.int64(1))
    last = math.cast(array.shape(bounds)[0], dtypes.int64) - one
    place = searchsorted(bounds, x, "right") - one
    place = math.where(math.equal(x, bounds[-1]), last - one, place)
    outside = math.logical_or(math.less(x, bounds[0]), math.logical_not(math.less_equal(x, bounds[-1])))
    return math.where(outside, lift(np.int64(-1)), place), last


def _even_places(x: np.ndarray, edges: np.ndarray) -> Array | None:
    """The part between neighbours of bounds that are as far apart as rounding allows in which each element lies, -1 for none.

    The part is a quotient, and one more or one less where the bounds say so. None where they are too far from even for that.
    """
    if x.dtype != edges.dtype or x.dtype.itemsize < 4 or not x.size:
        return None
    x = x.reshape(-1)
    low, high, count = float(edges[0]), float(edges[-1]), edges.size - 1
    width = (high - low) / count
    if not 0 < width < np.inf or max(abs(low), abs(high)) * float(np.finfo(edges.dtype).eps) > width / 8:
        return None
    inside = None
    if not (low <= np.min(x) and np.max(x) <= high):
        inside = (x >= edges[0]) & (x <= edges[-1])
        x = np.where(inside, x, edges[0])
    place: Array = ((x - edges.dtype.type(low)) * edges.dtype.type(1 / width)).astype(np.int64)
    np.minimum(place, count - 1, out=place)
    place -= x < edges[place]
    place += (x >= edges[place + 1]) & (place != count - 1)
    if inside is not None:
        place[~inside] = -1
    return place


def _even_counts(x: np.ndarray, edges: np.ndarray) -> Array | None:
    """How many elements lie in each of these parts."""
    place = _even_places(x, edges)
    if place is None:
        return None
    return np.bincount(place if np.min(place) >= 0 else place[place >= 0], minlength=edges.size - 1)


@blaming
def histogram(
    a: TensorLike,
    bins: TensorLike = 10,
    range: tuple[float, float] | None = None,
    density: bool | None = None,
    weights: TensorLike | None = None,
) -> tuple[Tensor, Tensor]:
    """The number of elements, or the sum of their weights, in each bin; the last bin includes its upper edge.

    Args:
      a: Tensor of any shape, a real dtype; integers and bools count as float64.
      bins: The number of bins, or the edges, in ascending order, or the name of one of NumPy's rules for their number.
      range: The first and the last edge; by default the smallest and the largest element.
      density: Whether to divide by the total and the widths, so that the integral is 1.
      weights: Tensor of as many elements as `a`.
    Returns: (counts, edges); counts are int64, or have the dtype of the weights, and a gradient only by the weights.
    Raises: InvalidArgumentError (a ValueError): the numbers of weights and elements differ, there is no bin, the edges do not
      ascend, or a rule is named while tracing; DTypeError (a TypeError): complex numbers.
    Example:
      >>> [part.numpy().tolist() for part in numpy.histogram([0.0, 1.0, 4.0], 2)]
      [[2, 1], [0.0, 2.0, 4.0]]
    """
    a = tensor_of(a)
    if weights is not None and isinstance(bins, str):
        raise ArgumentTypeError(
            f"histogram: bins={bins!r} chooses the number of bins without weights; give their number."
        )
    bins = _bins("histogram", a, bins, range)
    edges = histogram_bin_edges(a, bins, range)
    counts = None
    if weights is None and isinstance(bins, int | np.integer):
        counts = directly(_even_counts, inexact(a), edges)
    if counts is None:
        place, last = _bins_of(a, edges, isinstance(bins, int | np.integer))
        parts = array.ones_like(place) if weights is None else array.reshape(tensor_of(weights), [-1])
        counts = array.unsorted_segment_sum(parts, place, last)
    if not density:
        return counts, edges
    counts = inexact(counts)
    widths = cast_to(differences.diff(edges), counts.dtype)
    return math.divide(math.divide(counts, widths), math.reduce_sum(counts)), edges


@blaming
def histogramdd(
    sample: TensorLike,
    bins: int | Sequence[Any] = 10,
    range: Sequence[Any] | None = None,
    density: bool | None = None,
    weights: TensorLike | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """The number of points, or the sum of their weights, in each cell of a grid; the last bins include their upper edges.

    Args:
      sample: Matrix [points, axes], a real dtype, a vector [points] of one axis, or a list of a vector for each axis.
      bins: The number of bins, or for each axis their number or their edges.
      range: For each axis the first and the last edge, or None.
      density: Whether to divide by the total and the volumes, so that the integral is 1.
      weights: Vector [points].
    Returns: (counts [bins, ...], float64 or of the dtype of the weights, with a gradient only by the weights; the edges of each
    axis).
    Raises: InvalidArgumentError (a ValueError): the numbers of bins, ranges or weights do not fit.
    Example:
      >>> numpy.histogramdd(numpy.asarray([[0.0, 0.0], [1.0, 2.0]]), 2)[0].numpy()
      array([[1., 0.],
             [0., 1.]])
    """
    if isinstance(sample, list | tuple):
        columns = promoted(*[inexact(x) for x in sample]) if sample else []
        counts_of_axes = {n for n in (x.shape.num_elements() for x in columns) if n is not None}
        if len(counts_of_axes) > 1:
            raise InvalidArgumentError(
                f"histogramdd: the axes have {sorted(counts_of_axes)} coordinates; each point has one on each axis."
            )
    else:
        sample = inexact(sample)
        columns = [sample] if sample.ndim == 1 else array.unstack(sample, axis=-1)
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
        one if weights is None else inexact(weights), math.where(inside, cell, lift(np.int64(-1))), total
    )
    sizes = [array.shape(bounds, dtypes.int64)[0] - 1 for bounds in edges]
    counts = array.reshape(counts, array.stack(sizes))
    if density:
        counts = inexact(counts)
        counts = math.divide(counts, math.reduce_sum(counts))
        for k, bounds in enumerate(edges):
            widths = cast_to(differences.diff(bounds), counts.dtype)
            counts = math.divide(counts, array.reshape(widths, [-1] + [1] * (rank - 1 - k)))
    return counts, edges


@blaming
def histogram2d(
    x: TensorLike,
    y: TensorLike,
    bins: int | Sequence[Any] = 10,
    range: Sequence[Any] | None = None,
    density: bool | None = None,
    weights: TensorLike | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The number of points (x, y), or the sum of their weights, in each cell of a grid; the last bins include their upper
    edges.

    Args:
      x, y: Vectors [points], a real dtype; integers count as float64.
      bins: The number of bins of both axes, or the edges of both, or a pair of these.
      range: The first and the last edge of each axis, two pairs.
      density: Whether to divide by the total and the areas, so that the integral is 1.
      weights: Vector [points].
    Returns: (counts [bins, bins], float64 or of the dtype of the weights, with a gradient only by the weights; edges of x and
    y).
    Raises: InvalidArgumentError (a ValueError): the numbers of weights and points differ.
    Example:
      >>> numpy.histogram2d([0.0, 1.0], [0.0, 2.0], 2)[0].numpy()
      array([[1., 0.],
             [0., 1.]])
    """
    if not isinstance(bins, int | np.integer) and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, (of_x, of_y) = histogramdd([x, y], bins, range, density, weights)
    return counts, of_x, of_y
