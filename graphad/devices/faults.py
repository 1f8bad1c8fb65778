"""Faults of kernels: CUDA reports one to whatever call comes next, and to every call after that, since the context is lost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from graphad.core.errors import GraphadError

FAULTS = frozenset((700, 702, 710, 714, 715, 716, 717, 718, 719))
_reported: list[str] = []  # the first fault of this process


class DeviceError(GraphadError, RuntimeError):
    """The device or its driver refused a step."""


def told(status: int, cause: object) -> str:
    """The words for a status: its cause and, of a kernel's fault, how to find out which it was. A fault is explained once."""
    if status not in FAULTS:
        return f"the device refused the step ({cause})"
    if _reported:
        return f"the device is lost since the fault that was reported before ({_reported[0]}); a new process can use it"
    _reported.append(str(cause))
    if os.environ.get("CUDA_LAUNCH_BLOCKING", "0") != "0":
        return f"the device refused the step ({cause})"
    return (
        f"the device refused the step ({cause}); if it is a kernel's fault, it may be that of an earlier step: "
        "run with CUDA_LAUNCH_BLOCKING=1 to find out"
    )


@contextmanager
def reported(what: str) -> Iterator[None]:
    """A block that waits for the device: a kernel's fault that comes to light there is a `DeviceError`."""
    try:
        yield
    except Exception as cause:  # CuPy's own
        status = getattr(cause, "status", None)
        if status not in FAULTS:
            raise
        raise DeviceError(f"{what}: {told(status, cause)}.") from cause
