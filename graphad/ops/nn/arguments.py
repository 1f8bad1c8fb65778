"""The arguments of convolution and pooling besides tensors: numbers for each axis, padding, the order of axes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.bind import bind
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.sizes import whole_numbers
from graphad.ops.array.support import static_array
from graphad.ops.array.transpose import Transpose, move_axis
from graphad.ops.nn.windows import layout

if TYPE_CHECKING:
    from graphad.core.annotations import TensorLike


def _numbers(value: object) -> Any:
    """An argument whose value is known now as an array; floats that are whole count as integers, as in TensorFlow."""
    known = static_array(value)
    return None if known is None else whole_numbers(known)


def per_axis(op: str, name: str, value: object, rank: int, first: bool = False) -> tuple[int, ...]:
    """A positive number for each of `rank` axes, given as `rank` numbers, as one for all, or with 1 for batch and channels too;
    None is 1.

    Args:
      first: Whether channels follow the batch.
    """
    if value is None or (type(value) is int and value > 0):
        return (1 if value is None else value,) * rank
    known = _numbers(value)
    if known is None:
        raise ArgumentTypeError(f"{op}: {name} must be known while tracing; give numbers.")
    if known.dtype.kind not in "iu" or known.ndim > 1:
        raise ArgumentTypeError(f"{op}: {name} {value!r} must be integers.")
    items = known.ravel().tolist()
    if len(items) == 1:
        items = items * rank
    if len(items) == rank + 2:
        others, items = _apart(items, first)
        if others != [1, 1]:
            raise InvalidArgumentError(
                f"{op}: {name} {tuple(known.ravel().tolist())} is not 1 for batch and channels; only 1 is allowed there."
            )
    if len(items) != rank or min(items) < 1:
        several = "" if rank == 1 else ", one for all"
        raise InvalidArgumentError(
            f"{op}: {name} {value!r} must be {rank} positive number{'s' * (rank > 1)}{several}, or {rank + 2} with 1 "
            "for batch and channels."
        )
    return tuple(items)


def across_channels(window: object) -> int:
    """How many channels a window [batch, height, width, channels] covers; 1 for windows given in other ways."""
    known = None if type(window) is int else _numbers(window)
    if known is None or known.dtype.kind not in "iu" or known.shape != (4,):
        return 1
    return int(known[3])


def _apart(items: Sequence[TensorLike], first: bool) -> tuple[Any, Any]:
    """The values for batch and channels, and those for the axes between or after them."""
    return (items[:2], items[2:]) if first else ([items[0], items[-1]], items[1:-1])


def axes_of(op: str, name: str, value: object) -> int:
    """The number of axes for which numbers are given, one for each."""
    known = _numbers(value)
    if known is None or known.dtype.kind not in "iu" or known.ndim > 1 or not known.size:
        raise ArgumentTypeError(f"{op}: {name} {value!r} must be integers that are known while tracing.")
    return int(known.size)


def padding_of(op: str, padding: Any, rank: int, explicit: bool = True, first: bool = False) -> Any:
    """ "SAME", "VALID", or (before, after) for each of `rank` axes."""
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise InvalidArgumentError(f"{op}: padding {padding!r} is neither 'SAME' nor 'VALID'.")
        return padding.upper()
    known = static_array(padding) if explicit else None
    if explicit and (known is None or known.ndim != 2 or known.dtype.kind not in "iu"):
        shown = " ".join(repr(padding).split())
        raise ArgumentTypeError(
            f"{op}: padding must be 'SAME', 'VALID' or pairs of integers, got {shown[:60]}."
        )
    pads = tuple(tuple(operator.index(p) for p in side) for side in padding) if explicit else ()
    if len(pads) == rank + 2:
        others, inner = _apart(pads, first)
        pads = inner if set(others) == {(0, 0)} else pads
    if len(pads) != rank or any(len(side) != 2 or min(side) < 0 for side in pads):
        sides = {1: "[left, right]", 2: "[top, bottom], [left, right]"}.get(
            rank, "[before, after] for each axis"
        )
        pairs = f"[0, 0], [0, 0], {sides}" if first else f"[0, 0], {sides}, [0, 0]"
        allowed = f", or [{pairs}]" if explicit else ""
        raise InvalidArgumentError(
            f"{op}: padding {padding!r} is not allowed; give 'SAME', 'VALID'{allowed}."
        )
    return pads


def channels_first(op: str, data_format: str | None, rank: int) -> bool:
    """Whether channels follow the batch, before the `rank` axes. Raises: InvalidArgumentError: it is neither order."""
    between = "DHW"[-rank:]
    last, first = f"N{between}C", f"NC{between}"
    if data_format not in (None, last, first):
        raise InvalidArgumentError(f"{op}: data_format {data_format!r} is neither {last!r} nor {first!r}.")
    return data_format == first


def in_order(
    op: str, f: Callable[[Tensor], Tensor], x: Tensor, rank: int, first: bool, batches: bool = False
) -> Tensor:
    """`f`, which takes and returns images with channels last, adapted to images with channels before the `rank` axes if
    `first`.

    Args:
      op: The name in messages, which show the shape that was given.
      batches: Whether there may be several batch axes.
    """
    if not first:
        return f(x)
    if x.ndim is None:
        x = bind(Transpose((0, *range(2, rank + 2), 1)), x)
    else:
        if x.ndim < rank + 2 or (x.ndim > rank + 2 and not batches):
            raise InvalidArgumentError(
                f"{op}: input has shape {format_dims(x.dims)}; {layout(rank, True)} is needed."
            )
        x = move_axis(x, -1 - rank, -1)
    y = f(x)
    return move_axis(y, -1, -1 - rank)


def require_axes(op: str, x: Tensor, rank: int) -> None:
    """Raise unless the tensor has `rank` axes, from 1 to 3, between batch and channels."""
    if not 1 <= rank <= 3 or (x.ndim is not None and x.ndim != rank + 2):
        raise InvalidArgumentError(
            f"{op}: {rank} axes between batch and channels do not fit input with shape {format_dims(x.dims)}; there may be "
            f"one, {layout(1)}, two, {layout(2)}, or three, {layout(3)}."
        )
