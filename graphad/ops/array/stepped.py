"""x[::step] for a step that is unknown while tracing: the positions are a range, which `gather` takes.

The sign of the step decides at which end a slice begins and how its bounds are clipped, so this happens at run time.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from graphad.core import dtypes
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError
from graphad.core.tensor import Tensor
from graphad.ops.array.gather import gather
from graphad.ops.array.keys import REFUSED, is_stepped
from graphad.ops.array.sequence import range as spread
from graphad.ops.array.shape import shape
from graphad.ops.math.cast import cast
from graphad.ops.math.select import maximum, minimum, where


def pick_steps(x: Tensor, key: object, getitem: Callable[[Any, Any], Tensor]) -> Tensor:
    """x[key] where slices have such steps: the rest of the key first, then one axis after another."""
    items = key if type(key) is tuple else (key,)
    y = getitem(x, tuple([builtins.slice(None) if is_stepped(item) else item for item in items]))
    kept = [k for k, item in enumerate(items) if item is None or type(item) in (builtins.slice, type(...))]
    dots = next((k for k in kept if items[k] is Ellipsis), None)
    for k, item in enumerate(items):
        if is_stepped(item):
            is_late = dots is not None and dots < k
            axis = -len([j for j in kept if j >= k]) if is_late else len([j for j in kept if j < k])
            y = gather(y, _places(item, shape(y)[axis]), axis=axis)
    return y


def _places(item: builtins.slice, size: Tensor) -> Tensor:
    step = _whole(item.step)
    goes_up = step > 0
    low, high = where(goes_up, 0, -1), where(goes_up, size, size - 1)

    def clamped(bound: Tensor | None, default: Tensor) -> Tensor:
        if bound is None:
            return default
        b = _whole(bound)
        return minimum(maximum(where(b < 0, b + size, b), low), high)

    start = clamped(item.start, where(goes_up, low, high))
    stop = clamped(item.stop, where(goes_up, high, low))
    return spread(start, where(goes_up, maximum(start, stop), minimum(start, stop)), step)


def _whole(bound: Tensor) -> Tensor:
    b = lift(bound)
    if not b.dtype.is_integer or b.dims:
        raise ArgumentTypeError(f"{REFUSED}, got {bound!r}.")
    return cast(b, dtypes.int32)
