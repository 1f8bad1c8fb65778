"""Copying a tensor to another device, as an op: derivatives are copied back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    DualContext,
    Ranked,
    RowAxes,
    RowAxis,
    VjpContext,
)
from graphad.core.bind import EagerLevel, bind
from graphad.core.device import parse
from graphad.core.errors import InvalidArgumentError, ResourceExhaustedError
from graphad.core.levels import current
from graphad.core.op import Op, define
from graphad.core.schema import Text
from graphad.core.spec import TensorSpec
from graphad.core.tensor import CPU, EagerTensor, Tensor
from graphad.devices.array import device_array
from graphad.devices.library import require
from graphad.devices.tensor import DeviceTensor


@define
class Transfer(Op):
    """x with its data on a device. In a graph it is the identity: a graph runs on the device of its call's operands.

    Attributes:
      device: As "cpu:0" or "cuda:1".
    """

    name = "transfer"
    returns_input = True
    moves = True
    live = True
    keeps = (False, False)
    device: Text

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def eval(self, x: Array) -> Array:
        return x

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (copied(g, ctx.inputs[0].location or CPU),)

    def jvp(self, ctx: DualContext, x_dots: Sequence[Tensor | None]) -> Cotangents:
        (dot,) = x_dots  # which a rule made of the one above would leave where it is
        return (None if dot is None else copied(dot, self.device),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return copied(x, self.device)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return axes[0]


def copied(x: Any, place: str) -> Tensor:
    """A tensor copied to a device, "cpu:0" or "cuda:1"; the tensor itself if it is there already.

    Raises: UnavailableError: there is no such device. InvalidArgumentError: it has no tensors of this dtype.
      ResourceExhaustedError: it has too little memory.
    """
    level: Any = current()
    while getattr(level, "is_place", False):
        level = level.below
    if not (level is None or type(level) is EagerLevel) or not x.has_value:
        return bind(Transfer(place), x)
    if x.location == place:
        return x  # type: ignore[no-any-return]
    y = moved(x.here() if x.away else x, place)
    for recorder in () if level is None else level.recorders:
        recorder.record(Transfer(place), (x,), (y,))
    return y


def moved(x: EagerTensor, place: str) -> Tensor:
    """A CPU tensor copied to a device."""
    if place == CPU:
        return x
    index = parse(place)[1]
    require(index)
    try:
        return DeviceTensor(device_array(x.data, index))
    except TypeError as cause:
        raise InvalidArgumentError(f"device: {cause}; keep such tensors on the CPU.") from cause
    except MemoryError as cause:  # CuPy's own, after it has given back what it keeps for later
        raise ResourceExhaustedError(
            f"device: {place!r} has no room for a tensor of shape {x.dims} and dtype {x.dtype.name} ({cause})."
        ) from cause
