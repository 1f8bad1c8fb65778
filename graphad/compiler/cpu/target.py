"""The target processor: its name and features, as LLVM reports them.

Both go into the key of each cached object: code for another processor is a miss, never a crash. This does not need Numba, and
LLVM only once: the answer is cached by what the system reports about the processor.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from functools import lru_cache
from typing import Any

from graphad.compiler.cache import default_cache
from graphad.compiler.source import named_key, version_parts
from graphad.kernels.record import Record


class Target(Record):
    """The parameters of a target machine."""

    triple: str
    cpu: str
    features: str

    @property
    def parts(self) -> dict[str, str]:
        """The named parts that a cache key takes."""
        return {
            "triple": self.triple,
            "cpu": self.cpu,
            "features": hashlib.sha256(self.features.encode()).hexdigest(),
        }


@lru_cache(maxsize=1)
def host() -> Target:
    """This machine."""
    identity, cache = _identity(), default_cache()
    record = cache.get(identity) if identity is not None else None
    if record is not None:
        with contextlib.suppress(ValueError, TypeError):
            return Target(*record.decode().split("\n"))
    import llvmlite.binding as llvm

    features = ",".join(sorted(llvm.get_host_cpu_features().flatten().split(",")))
    found = Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)
    if identity is not None:
        cache.put(identity, "\n".join(found.values).encode())
    return found


def _identity() -> str | None:
    """The key of LLVM's answer for this machine: processor model and feature flags as Linux lists them, the system and LLVM's
    version. None if the system does not list them.
    """
    try:
        with open("/sys/devices/system/cpu/modalias", "rb") as stream:
            processor = stream.read()
        system = os.uname()
    except (OSError, AttributeError):
        return None
    parts = {
        "processor": processor,
        "system": (system.release, system.version, system.machine),
        **version_parts(),
    }
    return named_key(parts) if processor.strip() else None


def machine(target: Target) -> Any:
    """An LLVM target machine that makes small position-independent code."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="default"
    )
