"""Mirror images around a tensor, as many elements as a tensor says that only the run knows."""

from __future__ import annotations

from graphad.core.bind import bind
from graphad.core.dtypes import int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.gather import gather
from graphad.ops.array.reshape import Squeeze, expand_dims
from graphad.ops.array.sequence import range as numbers
from graphad.ops.array.shape import shape
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import greater_equal, less, less_equal
from graphad.ops.math.reduce import reduce_all
from graphad.ops.math.select import maximum, where
from graphad.ops.state.effects import require


def mirrored(x: Tensor, paddings: Tensor, has_edge: bool) -> Tensor:
    """x with mirror images before and after it along each axis, without the edges, or with them if `has_edge`.

    Args:
      paddings: Integers [rank, 2], how many before and after.
    Raises: InvalidArgumentError: the rank of x is unknown, or the paddings have another shape; at run time: they are negative, or
      larger than a mirror allows.
    """
    rank = x.ndim
    known = paddings.dims
    if rank is None or not paddings.dtype.is_integer or (known is not None and known not in _shapes(rank)):
        raise InvalidArgumentError(
            f"pad: paddings has shape {format_dims(known)} and x the shape {format_dims(x.dims)}; a mirror needs integers "
            "[rank, 2], and a known rank."
        )
    pairs, sizes = cast(paddings, int64), shape(x, int64)
    most = sizes if has_edge else maximum(sizes - 1, 0)
    fits = reduce_all(greater_equal(pairs, 0)) & reduce_all(less_equal(pairs, most[:, None]))
    least = "the size" if has_edge else "the size - 1"
    require(
        fits,
        f"pad: paddings must be from 0 to {least} of each axis, and are \x00 for sizes \x00.",
        [pairs, sizes],
    )
    x = expand_dims(x, 0)  # the derivative of a lookup along the first axis would be slices
    for axis in range(rank):
        n = sizes[axis]
        places = numbers(-pairs[axis, 0], n + pairs[axis, 1])
        before = -1 - places if has_edge else -places
        after = (2 * n - 1 if has_edge else 2 * n - 2) - places
        places = where(less(places, 0), before, where(greater_equal(places, n), after, places))
        x = gather(x, places, axis=axis + 1)
    return bind(Squeeze((0,)), x)


def _shapes(rank: int) -> list[tuple[int | None, ...]]:
    return [(m, n) for m in (rank, None) for n in (2, None)]
