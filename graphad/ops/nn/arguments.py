"""What the functions of convolution and pooling are given besides tensors: numbers for each axis, padding, the order of axes."""

from __future__ import annotations

import operator
from typing import Any

from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.shapes import format_dims
from graphad.ops.array.support import static_array
from graphad.ops.nn.windows import layout


def per_axis(op: str, name: str, value: Any, rank: int) -> tuple[int, ...]:
    """A positive number for each of `rank` axes, from so many, one for all, or two more with 1 at both ends; None is 1."""
    if value is None or (type(value) is int and value > 0):
        return (1 if value is None else value,) * rank
    known = static_array(value)
    if known is None:
        raise ArgumentTypeError(f"{op}: {name} must be known while tracing; give numbers.")
    if known.dtype.kind not in "iu" or known.ndim > 1:
        raise ArgumentTypeError(f"{op}: {name} {value!r} must be integers.")
    items = known.ravel().tolist()
    if len(items) == 1:
        items = items * rank
    if len(items) == rank + 2:
        if items[0] != 1 or items[-1] != 1:
            raise InvalidArgumentError(
                f"{op}: {name} {tuple(items)} moves over batch or channels; only 1 is allowed there."
            )
        items = items[1:-1]
    if len(items) != rank or min(items) < 1:
        several = "" if rank == 1 else ", one for all"
        raise InvalidArgumentError(
            f"{op}: {name} {value!r} must be {rank} positive number{'s' * (rank > 1)}{several}, or {rank + 2} with 1 at both "
            "ends."
        )
    return tuple(items)


def axes_of(op: str, name: str, value: Any) -> int:
    """How many axes numbers that are given for each of them are for."""
    known = static_array(value)
    if known is None or known.dtype.kind not in "iu" or known.ndim > 1 or not known.size:
        raise ArgumentTypeError(f"{op}: {name} {value!r} must be integers that are known while tracing.")
    return int(known.size)


def padding_of(op: str, padding: Any, rank: int, explicit: bool = True) -> Any:
    """ "SAME", "VALID", or (before, after) for each of `rank` axes."""
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise InvalidArgumentError(f"{op}: padding {padding!r} is neither 'SAME' nor 'VALID'.")
        return padding.upper()
    pads = tuple(tuple(operator.index(p) for p in side) for side in padding) if explicit else ()
    if len(pads) == rank + 2 and pads[0] == pads[-1] == (0, 0):
        pads = pads[1:-1]
    if len(pads) != rank or any(len(side) != 2 or min(side) < 0 for side in pads):
        sides = {1: "[left, right]", 2: "[top, bottom], [left, right]"}.get(
            rank, "[before, after] for each axis"
        )
        allowed = f", or [[0, 0], {sides}, [0, 0]]" if explicit else ""
        raise InvalidArgumentError(
            f"{op}: padding {padding!r} is not allowed; give 'SAME', 'VALID'{allowed}."
        )
    return pads


def require_format(op: str, data_format: str | None, rank: int) -> None:
    """Raise unless channels come last."""
    wanted = "N" + "DHW"[-rank:] + "C"
    if data_format not in (None, wanted):
        raise InvalidArgumentError(
            f"{op}: data_format {data_format!r} is not available; transpose the input to {wanted!r}."
        )


def require_axes(op: str, x: Any, rank: int) -> None:
    """Raise unless there may be `rank` axes, from 1 to 3, between batch and channels of a tensor."""
    if not 1 <= rank <= 3 or (x.ndim is not None and x.ndim != rank + 2):
        raise InvalidArgumentError(
            f"{op}: {rank} axes between batch and channels do not fit input with shape {format_dims(x.dims)}; there may be "
            f"one, {layout(1)}, two, {layout(2)}, or three, {layout(3)}."
        )
