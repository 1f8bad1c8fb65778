"""The processor that code is made for: its name and every feature, as LLVM sees them.

Both go into the key of each cached object: code for another processor is a miss, never a crash. Numba is not
needed to ask.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

from graphad.kernels.record import Record


class Target(Record):
    """What a target machine is made from."""

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
    import llvmlite.binding as llvm

    features = ",".join(sorted(llvm.get_host_cpu_features().flatten().split(",")))
    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


def machine(target: Target) -> Any:
    """An LLVM target machine that makes small position-independent code."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="default"
    )
