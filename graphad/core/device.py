"""`device`: where ops run. The CPU always exists; a CUDA device is requested by name and refused with a reason."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from graphad.core.errors import InvalidArgumentError, UnavailableError
from graphad.core.flags import flags
from graphad.core.levels import chain
from graphad.core.nest_functions import flatten
from graphad.core.tensor import CPU, Tensor

TWO_DEVICES = "graphad_two_devices"  # an attribute of the error about operands on two devices
_NAME = r"^(?:/job:\w+)?(?:/replica:\d+)?(?:/task:\d+)?/?(?:device:)?(cpu|gpu|cuda)(?::(\d+))?$"


def parse(name: str) -> tuple[str, int]:
    """("cpu" or "cuda", index) for names such as "cuda:1", "/GPU:0", "CPU", "/job:localhost/replica:0/task:0/device:CPU:0".

    Raises: InvalidArgumentError: the name is not a device.
    """
    match = re.match(_NAME, name, re.IGNORECASE) if isinstance(name, str) else None
    if match is None:
        raise InvalidArgumentError(
            f"device: {name!r} is not a device; use 'cpu' or 'cuda', with ':1' for the second one."
        )
    kind = match.group(1).lower()
    return ("cuda" if kind == "gpu" else kind), int(match.group(2) or 0)


def require_cpu(op: str, name: object) -> None:
    """Raises: InvalidArgumentError: `name` is neither None nor the device where tensors live."""
    if name is not None and parse(str(name)) != ("cpu", 0):
        raise InvalidArgumentError(f"{op}: device is {name!r}; tensors live on {CPU!r}.")


@contextmanager
def device(device_name: str | None) -> Iterator[str]:
    """Run the block's ops on a device.

    Args:
      device_name: "cpu", "cuda", "cuda:1", or TensorFlow's "/GPU:0"; None or "" for the device that would be used without the
      block.
    Returns: A context manager, whose value is the device's name.
    Raises: UnavailableError (a RuntimeError): there is no such device, or this release does not run ops on it.
    """
    kind, index = parse(device_name or "cpu")
    if kind == "cuda":
        with importlib.import_module("graphad.devices.level").on(f"cuda:{index}"):
            yield f"cuda:{index}"
        return
    if index >= flags.logical_cpus:
        devices = "one device" if flags.logical_cpus == 1 else f"{flags.logical_cpus} devices"
        raise UnavailableError(
            f"device: there is no 'cpu:{index}'; the CPU is {devices}. "
            "config.set_logical_device_configuration gives it more names."
        )
    if any(getattr(level, "is_place", False) for level in chain()):  # inside a block of another device
        with importlib.import_module("graphad.devices.level").on(CPU):
            yield f"{kind}:{index}"
        return
    yield f"{kind}:{index}"


def along(x: Any) -> AbstractContextManager[Any]:
    """A block in which ops run on the device of a tensor or variable, if that is not the CPU."""
    return device(x.location) if x.away else nullcontext()


def common_device(given: Any) -> str | None:
    """The device, other than the CPU, on which all tensors among the arguments are; None if they are on several devices or on the
    CPU.

    Numbers and positions on the CPU, which may stand beside tensors of a device, do not count.
    """
    leaves = [x for x in flatten(given, expand_composites=True) if isinstance(x, Tensor) and x.has_value]
    places = {
        x.location for x in leaves if x.away or (x.dims and x.dtype.kind not in ("int", "uint", "bool"))
    }
    return places.pop() if len(places) == 1 and CPU not in places else None
