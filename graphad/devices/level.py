"""The level of a block of `device`: it copies operands to the block's device, and runs ops without operands there.

The eager level below runs the ops on the device of their operands, and its recorders see the copies as ops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from graphad.core.bind import EagerLevel, bind_all
from graphad.core.device import parse
from graphad.core.errors import FailedPreconditionError
from graphad.core.levels import chain, current, entered, here, make_top
from graphad.core.op import Op
from graphad.core.tensor import CPU, EagerTensor, Handle, Tensor
from graphad.devices.library import require
from graphad.devices.run import common_place
from graphad.devices.transfer import copied, moved

if TYPE_CHECKING:
    from graphad.core.annotations import Array


class DeviceLevel:
    """See the module's docstring.

    Attributes:
      place: The device, as "cuda:0".
      is_default: Whether it was set by `set_default_device` and outlives all blocks.
    """

    is_place = True
    line: str | None = None

    def __init__(self, place: str, below: DeviceLevel | EagerLevel | None, is_default: bool = False) -> None:
        self.place = place
        self.is_default = is_default
        self.below = EagerLevel() if below is None else below
        self.recorders: tuple[Any, ...] = ()
        self.owner = here()
        self.entries = 0

    def process(self, op: Op, inputs: Sequence[Any]) -> tuple[Any, ...]:
        with entered(self.below):
            if op.stores and isinstance(inputs[0], Handle) and not inputs[0].away:
                # Lists and arrays were put on the device before it was known where they go.
                inputs = [inputs[0], *[x.here() if x.away and x.has_value else x for x in inputs[1:]]]
            if all(map(self._may_come, inputs)):
                inputs = [self._brought(x) for x in inputs]
            else:
                common_place(op, inputs)  # operands on two devices are refused, not copied
                if not any(isinstance(x, Handle) for x in inputs):
                    inputs = [self._brought(x) for x in inputs]
            outputs = bind_all(op, inputs)
            if op.loads or op.stores or op.gives_sizes:
                return outputs
            return tuple([self._brought(y, True) for y in outputs])

    def alone(self) -> DeviceLevel:
        """The same device with nothing around it."""
        return DeviceLevel(self.place, None)

    def constant(self, data: Array) -> Tensor:
        return moved(EagerTensor(data), self.place)

    def _may_come(self, x: Any) -> bool:
        """Whether an operand is on the block's device, or on the CPU and no variable, which stays where it is."""
        if isinstance(x, Handle):
            return x.location == self.place
        return not x.has_value or not x.away or x.location == self.place

    def _brought(self, x: Any, result: bool = False) -> Any:
        """An operand, or the result of an op without operands, on the device of the block."""
        if isinstance(x, Handle) or not x.has_value or x.location == self.place:
            return x
        if not result and not x.away and not x.data.shape:
            return x
        return copied(x, self.place)


@contextmanager
def on(place: str) -> Iterator[None]:
    """Run the block's ops on a device."""
    kind, index = parse(place)
    if kind == "cuda":
        require(index)
    level = current()
    if not (level is None or isinstance(level, EagerLevel | DeviceLevel)):
        yield  # a traced op runs on the device of the call's operands
        return
    with entered(DeviceLevel(place, level)):
        yield


def set_default_device(device: str | None) -> None:
    """Run the following ops of this thread on a device, as a block of `device` around them would.

    Args:
      device: As for `device`; None or "cpu" for the CPU.
    Raises:
      UnavailableError (a RuntimeError): there is no such device.
      FailedPreconditionError (a RuntimeError): called in a block of `device`, of a tape or of a function that is traced.
    """
    kind, index = parse(device or "cpu")
    level = current()
    if not (
        level is None or (isinstance(level, DeviceLevel) and level.is_default and not level.below.recorders)
    ):
        raise FailedPreconditionError(
            "set_default_device: called in a block of device, of a tape or of a function being traced; call it before."
        )
    if kind == "cuda":
        require(index)
        make_top(DeviceLevel(f"cuda:{index}", None, is_default=True))
    else:
        make_top(None)


def get_default_device() -> str:
    """The device of ops without operands.

    Returns: "cpu:0", or another one in a block of `device` or after `set_default_device`.
    Example:
      >>> config.get_default_device()
      'cpu:0'
    """
    return next((level.place for level in chain() if isinstance(level, DeviceLevel)), CPU)
