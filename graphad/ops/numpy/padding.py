"""Padding, with constants or with what the tensor holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.blame import blaming
from graphad.core.errors import InvalidArgumentError, UnsupportedOptionError
from graphad.core.shapes import ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.array.sorting import sorted_along
from graphad.ops.directly import directly
from graphad.ops.numpy.promotion import NUMBERS, along, by_numpy, cast_to, dims_of, rank_of, tensor_of

# The statistic of each mode; the mean and the median have no function of the same dtype.
_SUMMARIES = {"maximum": "reduce_max", "minimum": "reduce_min", "mean": "", "median": ""}
_MODES = {"reflect": "REFLECT", "symmetric": "SYMMETRIC"}


_FEW = 16  # the most copies of an edge that are concatenated as slices


def _around(x: Tensor, axis: int, size: int, low: int, high: int, wraps: bool) -> list[Any]:
    """Parts concatenated along an axis, with padding before and after."""
    if wraps:
        before, behind = [x[along(axis, slice(size - low, None))]], [x[along(axis, slice(0, high))]]
    else:
        before, behind = [x[along(axis, slice(0, 1))]] * low, [x[along(axis, slice(size - 1, None))]] * high
    return [*(before if low else ()), x, *(behind if high else ())]


def _widths(given: object, rank: int) -> np.ndarray:
    found = np.asarray(given)
    if found.size and found.dtype.kind not in "iu":
        raise TypeError(f"they have dtype {found.dtype}; integers are needed")
    return np.broadcast_to(found.astype(np.int64), (rank, 2))


def _checked(given: Any, rank: int, what: str, least: int) -> Any:
    """A number of elements for both ends of each axis.

    Raises: InvalidArgumentError: one is below `least`.
    """
    found = by_numpy("pad", _widths, given, rank)
    if found.size and found.min() < least:
        raise InvalidArgumentError(f"pad: {what} is {found.tolist()}; each number must be {least} or more.")
    return found


@blaming
def pad(array: TensorLike, pad_width: TensorLike, mode: str = "constant", **kwargs: Any) -> Tensor:
    """A tensor padded along its axes.

    Args:
      array: Tensor of any shape and dtype.
      pad_width: The numbers of elements before and after each axis: a number, a pair, a pair for each axis, or a dict of these
        by axis.
      mode: "constant" (with constant_values=), "edge", "reflect", "symmetric", "wrap", "empty" (zeros), "linear_ramp" (with
        end_values=), or "maximum", "mean", "median", "minimum" of the axis or of stat_length= elements at its end.
      kwargs: `constant_values` or `end_values`, 0 by default, and `stat_length`: a number, a pair, or a pair for each axis;
        `reflect_type`, "even" or "odd", for "reflect" and "symmetric".
    Returns: Tensor of the same dtype. The gradient of an element is the sum over all of its copies; constants and ends that are
      tensors have one too.
    Raises: UnsupportedOptionError (a ValueError): another mode or option; InvalidArgumentError (a ValueError): the mode
      needs a size that is not known while tracing.
    Example:
      >>> numpy.pad([1, 2], 1).numpy()
      array([0, 1, 2, 0])
    """
    return _padded(tensor_of(array), pad_width, mode, kwargs)


def _padded(x: Tensor, pad_width: Any, mode: str, kwargs: dict[str, Any]) -> Tensor:
    rank = rank_of("pad", x)
    if isinstance(pad_width, dict):
        pad_width = [np.broadcast_to(pad_width.get(k, pad_width.get(k - rank)) or 0, 2) for k in range(rank)]
    widths: Any = _checked(pad_width, rank, "pad_width", 0)
    value = kwargs.pop({"constant": "constant_values", "linear_ramp": "end_values"}.get(mode, ""), 0)
    counts = kwargs.pop("stat_length", None) if mode in _SUMMARIES else None
    is_odd = kwargs.pop("reflect_type", "even") == "odd" if mode in ("reflect", "symmetric") else False
    if kwargs:
        raise UnsupportedOptionError(f"pad: {', '.join(sorted(kwargs))} with mode {mode!r} is not supported.")
    if counts is not None:
        counts = _checked(counts, rank, "stat_length", 1 if mode in ("maximum", "minimum") else 0)
    if mode not in ("constant", "empty"):
        for k, size in enumerate(ranked(x.dims)):
            if size == 0 and widths[k].any():
                raise InvalidArgumentError(
                    f"pad: mode {mode!r} has nothing to take from the empty axis {k}; modes 'constant' and 'empty' need nothing."
                )
    if not rank and mode in ("constant", "empty", "edge", "wrap", "linear_ramp", *_MODES, *_SUMMARIES):
        return x
    if mode in ("constant", "empty") and type(value) in NUMBERS:
        return array.pad(x, widths.tolist(), constant_values=cast_to(tensor_of(value), x.dtype))
    if is_odd:
        for k in range(rank):
            x = _turned(x, k, widths[k].tolist(), mode)
        return x
    if mode in _MODES and all(_fits(ranked(x.dims)[k], max(widths[k]), mode) for k in range(rank)):
        return array.pad(x, widths.tolist(), _MODES[mode])
    if mode in ("constant", "linear_ramp") or mode in _SUMMARIES:
        values = array.broadcast_to(tensor_of(value), [rank, 2])
        for k in range(rank):
            near = None if counts is None else counts[k].tolist()
            x = _extended(x, k, widths[k].tolist(), mode, [values[k, 0], values[k, 1]], near)
        return x
    if mode not in ("edge", "wrap", *_MODES):
        known = ", ".join(sorted(("constant", "edge", "empty", "linear_ramp", "wrap", *_MODES, *_SUMMARIES)))
        raise UnsupportedOptionError(f"pad: mode {mode!r} is not supported; {known} are.")
    found = directly(np.pad, x, pad_width=widths, mode=mode)
    if found is not None:
        return found
    for k in range(rank):
        size = ranked(x.dims)[k]
        if not isinstance(size, int):
            raise InvalidArgumentError(
                f"pad: mode {mode!r} needs the size of axis {k}, which is not known while tracing."
            )
        low, high = (int(n) for n in widths[k])
        if not low and not high:
            continue
        if (
            mode in ("edge", "wrap")
            and max(low, high) <= (size if mode == "wrap" else _FEW)
            and size
            and low >= 0
            and high >= 0
        ):
            x = array.concat(_around(x, k, size, low, high, mode == "wrap"), k)
            continue
        places = by_numpy("pad", np.pad, np.arange(size), widths[k], mode)
        x = array.gather(x, places, axis=k)
    return x


def _turned(x: Any, axis: int, widths: list[int], mode: str) -> Any:
    """x continued beyond each end along an axis by its reflection in the point of that end, over and over."""
    size, edge = dims_of("pad", x)[axis], int(mode == "reflect")
    if not isinstance(size, int):
        raise InvalidArgumentError(
            f"pad: reflect_type 'odd' needs the size of axis {axis}, which is not known while tracing."
        )
    if size == 1:  # NumPy copies the one element
        return array.repeat(x, 1 + sum(widths), axis) if any(widths) else x
    low, high = widths
    period = size - edge
    while low > 0:  # the new end is the point of the next reflection
        step, first = min(low, period), x[along(axis, slice(0, 1))]
        turned = array.reverse(x[along(axis, slice(edge, edge + step))], [axis])
        x, low = array.concat([first + first - turned, x], axis), low - step
    while high > 0:
        step, last = min(high, period), x[along(axis, slice(-1, None))]
        stop = dims_of("pad", x)[axis] - edge
        turned = array.reverse(x[along(axis, slice(stop - step, stop))], [axis])
        x, high = array.concat([x, last + last - turned], axis), high - step
    return x


def _extended(
    x: Tensor, axis: int, widths: list[int], mode: str, ends: list[Any], near: list[int] | None
) -> Tensor:
    """x with more elements before and after along an axis, whose size is at least 1 unless they are constants.

    Args:
      ends: Of constants and ramps, the outermost element before and after.
      near: Of a statistic, how many elements it takes at each end; of all if None.
    """
    parts = [x]
    for side, width in enumerate(widths):
        end = ends[side]
        if mode == "constant":
            sizes: Any = array.shape(x)
            sizes = [width if k == axis else sizes[k] for k in range(rank_of("pad", x))]
            part = array.broadcast_to(cast_to(end, x.dtype), sizes)
        elif mode == "linear_ramp":
            edge = x[along(axis, slice(-1, None) if side else slice(0, 1))]
            steps = np.arange(width)[::-1] if side else np.arange(width)
            wide = edge if edge.dtype.is_differentiable else math.cast(edge, dtypes.float64)
            share = cast_to(tensor_of(steps / max(width, 1)), wide.dtype)
            share = array.reshape(share, [-1] + [1] * (rank_of("pad", x) - 1 - axis))
            start = cast_to(tensor_of(end), wide.dtype)
            part = start + (wide - start) * share
            if part.dtype is not x.dtype:
                part = math.cast(math.floor(part), x.dtype)
        else:
            among = x
            if near is not None:
                end_of_x = slice(-near[1], None) if side and near[1] else slice(0, near[side])
                among = x[along(axis, end_of_x)]
            part = array.repeat(_summary(among, axis, mode), width, axis)
        parts.insert(len(parts) if side else 0, part)
    return array.concat(parts, axis)


def _summary(x: Tensor, axis: int, mode: str) -> Tensor:
    name = _SUMMARIES[mode]
    if name:
        return cast_to(getattr(math, name)(x, axis, keepdims=True), x.dtype)
    wide = x if x.dtype.is_differentiable else math.cast(x, dtypes.float64)
    if mode == "mean":
        found = math.reduce_mean(wide, axis, keepdims=True)
    else:
        ordered = sorted_along(wide, axis, False, dtypes.int64)
        size = array.shape(wide)[axis]
        if ranked(wide.dims)[axis] == 0:
            return _summary(x, axis, "mean")  # NaN, as the mean of an empty axis
        middle = [array.gather(ordered, place, axis=axis) for place in ((size - 1) // 2, size // 2)]
        found = array.expand_dims((middle[0] + middle[1]) / 2, axis)
    return found if wide is x else math.cast(math.round(found), x.dtype)


def _fits(size: Any, most: int, mode: str) -> bool:
    return not isinstance(size, int) or most < size + (mode == "symmetric")
