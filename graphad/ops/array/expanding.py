"""`expand_dims`: an axis of size 1 more, even where its place is known only at run time."""

from __future__ import annotations

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, TensorLike
from graphad.core.convert import lift
from graphad.core.kinds import INTEGER, require_kind
from graphad.core.tensor import Tensor
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import expand_dims as at_known_place
from graphad.ops.array.reshape import reshape
from graphad.ops.array.sequence import range as numbers_to
from graphad.ops.array.shape import rank, shape
from graphad.ops.array.sizes import known_value
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import equal
from graphad.ops.math.select import maximum, where
from graphad.ops.state.effects import SLOT, require


def expand_dims(input: TensorLike, axis: AxisLike = 0, name: str | None = None) -> Tensor:
    """`input` with an axis of size 1 put in before `axis`, which counts in the result (-1 is the last).

    In a function whose argument is the axis, so that it is known only at run time, the sizes of the result are unknown while
    it is traced.

    Args:
      input: Tensor [...] of any dtype.
      axis: Where the new axis is in the result, -rank - 1 <= axis <= rank.
    Returns: Tensor of the same dtype, with one axis more.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range.
    Example:
      >>> expand_dims([1, 2], 0).shape
      TensorShape([1, 2])
    """
    if not isinstance(axis, Tensor) or known_value(axis) is not None:
        return at_known_place(input, axis)
    x = lift(input)
    require_kind("expand_dims", axis, INTEGER, "axis")
    place = cast(reshape(axis, []), dtypes.int32)
    old_rank = rank(x)
    place = where(place < 0, place + old_rank + 1, place)
    is_inside = (place >= 0) & (place <= old_rank)
    message = f"expand_dims: axis {SLOT} is out of range for the result, which has rank {SLOT}."
    require(is_inside, message, [cast(axis, dtypes.int32), old_rank + 1])
    axes = numbers_to(old_rank + 1)
    # The size 1 stands behind those of x, under the number of their rank.
    sizes = concat([shape(x), np.ones(1, np.int32)], 0)
    before = where(equal(axes, place), old_rank, maximum(axes - 1, 0))
    return reshape(x, gather(sizes, where(axes < place, axes, before)))
