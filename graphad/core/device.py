"""`device`: where ops run. The CPU is always there; a CUDA device is asked for by name and refused with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from graphad.core.errors import InvalidArgumentError, UnavailableError

_NAME = r"^/?(?:device:)?(cpu|gpu|cuda)(?::(\d+))?$"


def parse(name: str) -> tuple[str, int]:
    """("cpu" or "cuda", index) for names such as "cuda:1", "/GPU:0", "CPU".

    Raises: InvalidArgumentError: it names no device.
    """
    match = re.match(_NAME, name, re.IGNORECASE)
    if match is None:
        raise InvalidArgumentError(
            f"device: {name!r} names no device; use 'cpu' or 'cuda', with ':1' for the second one."
        )
    kind = match.group(1).lower()
    return ("cuda" if kind == "gpu" else kind), int(match.group(2) or 0)


@contextmanager
def device(device_name: str) -> Iterator[str]:
    """Run the block's ops on a device.

    Args:
      device_name: "cpu", "cuda", "cuda:1", or TensorFlow's "/GPU:0".
    Raises: UnavailableError (a RuntimeError): there is no such device, or this release does not run ops on it.
    """
    kind, index = parse(device_name)
    if kind == "cuda":
        raise UnavailableError(
            f"device: 'cuda:{index}' cannot run ops in this release: kernels are generated and compiled for CUDA "
            "(graphad.compiler.cuda), but tensors live on the CPU only. Use device('cpu')."
        )
    if index:
        raise UnavailableError(f"device: there is no 'cpu:{index}'; the CPU is one device, 'cpu'.")
    yield f"{kind}:{index}"
