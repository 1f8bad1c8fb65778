"""Where a part of an array is whose place is data (`forms.Placed`): what is known of it beforehand, in elements.

A device's step computes the rest from the numbers that it is given: it clips the bounds, and begins at their places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphad.compiler.backend import FIRST, RESULT, SECOND
from graphad.core.dtypes import as_dtype
from graphad.core.errors import InternalError
from graphad.core.light import NamedTuple
from graphad.kernels.forms import Placed
from graphad.kernels.sites import row_strides


class Given(NamedTuple):
    """A number among the operands of a step: which one, its bytes, and where it begins there."""

    operand: int
    itemsize: int
    offset: int

    @property
    def place(self) -> tuple[int, int]:
        """See `backend.Part`."""
        return self.operand, self.offset


class Bound(NamedTuple):
    """One axis along which the place is data: from and to, the size of the axis, how many of it the part has or -1 for one index,
    the step, and the elements from one to the next."""

    low: Given | int
    high: Given | int
    extent: int
    many: int
    step: int
    stride: int


class Axis(NamedTuple):
    """An axis of the part: its size, and the elements from one to the next in the whole array and in the part."""

    size: int
    in_whole: int
    in_part: int


class Spot(NamedTuple):
    """A part of `whole`, which begins at least `offset` elements behind its first; `array` and `piece` say, as in
    `backend.Part`, which operands or results the two are."""

    whole: Sequence[int]
    part: Sequence[int]
    offset: int
    bounds: list[Bound]
    axes: list[Axis]
    array: int
    piece: int


def spot(form: Placed, dtypes: Sequence[str], shapes: Sequence[Sequence[int]]) -> Spot:
    """What is known for operands and a result in C order, of these dtypes and shapes.

    Raises: InternalError: the part is outside, or has another shape than the bounds say.
    """
    whole = shapes[-1] if form.way == "spread" else shapes[0]
    part, array, piece = {
        "take": (shapes[-1], FIRST, RESULT),
        "put": (shapes[min(1, len(shapes) - 1)], RESULT, SECOND),
        "spread": (shapes[0], RESULT, FIRST),
    }[form.way]
    strides, inner = row_strides(whole), row_strides(part)
    found = Spot(whole, part, 0, [], [], array, piece)
    offset = axis = at = 0
    for bound in form.bounds:
        if bound == "new":
            at += 1
            continue
        kind, low, high, step = bound
        extent, stride = whole[axis], strides[axis]
        axis += 1
        count = -1 if kind == "index" else part[at]
        if kind == "fixed":
            if count and not 0 <= low <= low + (count - 1) * step < extent:
                raise _outside(found)
            offset += low * stride
        else:
            ends = _number(form, dtypes, low, 0), _number(form, dtypes, high, extent)
            found.bounds.append(Bound(*ends, extent, count, step, stride))
        if kind != "index":
            found.axes.append(Axis(part[at], stride * step, inner[at]))
            at += 1
    if (
        at != len(part)
        or axis != len(whole)
        or math.prod([each.size for each in found.axes]) != math.prod(part)
    ):
        raise _outside(found)
    return found._replace(offset=offset)


def _number(form: Placed, dtypes: Sequence[str], value: object, default: int) -> Given | int:
    if type(value) is not tuple:
        return default if value is None else value  # type: ignore[return-value]
    operand = form.own + value[1] - 1  # ("at", k) or ("at", k, i)
    size = as_dtype(dtypes[operand]).itemsize
    return Given(operand, size, size * (value[2] if len(value) > 2 else 0))


def _outside(found: Spot) -> InternalError:
    return InternalError(
        f"plan: a part of shape {tuple(found.part)} of an array of shape {tuple(found.whole)}"
    )
