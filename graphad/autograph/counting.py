"""Loops that count through a range instead of walking along it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.convert import lift
from graphad.core.tensor import Tensor
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.sizes import known_value, partly_known
from graphad.ops.control.while_loop import NO_LIMIT
from graphad.ops.control.written import maker_of
from graphad.ops.math import ceil, maximum, minimum, not_equal
from graphad.ops.math.cast import cast
from graphad.ops.state.effects import require


class Counter:
    """The element of a range whose length is long or not known, as a variable of the loop: the range is not made.

    Attributes:
      first: What the range starts with.
    """

    name = "the counter of the loop"

    def __init__(self, first: Tensor, limit: Tensor, step: Tensor) -> None:
        self.first = first
        self._limit, self._step = limit, step
        # Floats are not summed up: element i is first + i * step, as in the range.
        self.value = first if first.dtype.is_integer else lift(np.int32(0))

    def read(self) -> Tensor:
        return self.value

    def write(self, value: Tensor) -> None:
        self.value = value

    def element(self, slices: Sequence[Tensor]) -> Tensor:
        """The element of a step; the next one becomes that of the step behind it."""
        number, dtype = self.value, self.first.dtype
        if dtype.is_integer:
            step = known_value(self._step)
            self.value = number + (self._step if step is None else step)
            return number
        self.value = number + 1
        wide = dtypes.float64
        return cast(cast(number, wide) * cast(self._step, wide) + cast(self.first, wide), dtype)

    def rows(self) -> Tensor | None:
        """The range 0, 1, ... itself, empty for a negative limit; None for another range."""
        first, step = known_value(self.first), known_value(self._step)
        is_simple = first is not None and first == 0 and step is not None and step == 1
        return range_of(maximum(self._limit, 0)) if is_simple and self.first.dtype.is_integer else None

    def length(self) -> Tensor:
        """The number of elements, of int32: 0 if the step leads away from the limit, as in TensorFlow."""
        step = known_value(self._step)
        if step is None or step == 0:
            require(
                not_equal(self._step, 0),
                "range: Requires delta != 0; give a step that leads from start to limit.",
                [],
            )
        if not self.first.dtype.is_integer:
            # In the dtype of the limits, in which 0.3 / 0.1 may be 3.
            return _counted(cast(ceil((self._limit - self.first) / self._step), dtypes.float64))
        if step in (1, -1):
            low, high = (self.first, self._limit) if step > 0 else (self._limit, self.first)
            return _distance(low, high)
        first, limit, by = [cast(x, dtypes.int64) for x in (self.first, self._limit, self._step)]
        return _counted(-((first - limit) // by))


def _distance(low: Tensor, high: Tensor) -> Tensor:
    """The number of integers from `low` to below `high`. If they certainly fit their dtype, it is computed by sums, which keep
    sizes known."""
    start, end = known_value(low), known_value(high)
    if start is not None and end is not None:
        return lift(np.int32(min(max(end.item() - start.item(), 0), NO_LIMIT)))
    if start is not None and start >= -1 and (low.dtype is dtypes.int32 or partly_known(high) is not None):
        return cast(maximum(high, low) - low, dtypes.int32)
    low, high = [cast(x, dtypes.int64) for x in (low, high)]
    return _counted(high - low)


def _counted(number: Tensor) -> Tensor:
    """A number of steps within the limits of a loop."""
    return cast(minimum(maximum(number, 0), NO_LIMIT), dtypes.int32)


def counter_of(tensors: Sequence[Any]) -> Counter | None:
    """The counter of a range of unknown length, or of one that is long; None for other elements."""
    x = tensors[0]
    if len(tensors) > 1 or x.dtype is dtypes.uint64:
        return None
    node = maker_of(x)
    if node is None or node.op.evenly is None:
        return None
    first, step = node.op.evenly
    (limit,) = set(range(len(node.inputs))) - {first, step}
    specs = x.trace.builder.specs
    return Counter(*[type(x)(x.trace, node.inputs[k], specs[node.inputs[k]]) for k in (first, limit, step)])
