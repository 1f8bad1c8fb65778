"""Source text to a cubin for one compute capability, on any machine: neither a device nor a driver is needed.

The cubin is what is cached, never PTX: an older driver refuses the PTX of a newer toolkit. The entry keeps the name
that Numba gave it, so it is stored in front of the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphad.compiler.objects import read_symbols
from graphad.compiler.source import may_contract
from graphad.core import forks
from graphad.core.errors import GraphadError, UnavailableError

_lock = forks.lock()


class CompileError(GraphadError, RuntimeError):
    """A kernel's source did not become a cubin."""


@dataclass(frozen=True)
class Cubin:
    """Device code and the name of its entry."""

    entry: str
    code: bytes

    def pack(self) -> bytes:
        """As one payload for the cache."""
        return self.entry.encode() + b"\n" + self.code

    @staticmethod
    def unpack(payload: bytes) -> Cubin:
        name, _, code = payload.partition(b"\n")
        return Cubin(name.decode(), code)


def why_unavailable() -> str | None:
    """Why nothing can be compiled for CUDA here; None when it can."""
    from importlib.util import find_spec

    for package in ("numba_cuda", "cuda"):
        if find_spec(package) is None:
            return f"the package {package} is not installed; pip install graphad[cuda]"
    return None


def compile_source(text: str, capability: tuple[int, int] = (9, 0), function: str = "kernel") -> Cubin:
    """The cubin of one function whose arguments are all int64 words.

    Raises: CompileError: it does not compile. UnavailableError: the extra `cuda` is not installed.
    """
    reason = why_unavailable()
    if reason is not None:
        raise UnavailableError(f"cuda: {reason}")
    with _lock:
        try:
            return _compile(text, capability, function)
        except GraphadError:
            raise
        except Exception as error:  # whatever the device compilers raise about generated source
            raise CompileError(f"cuda: {type(error).__name__}: {str(error).strip()[:2000]}") from error


def _compile(text: str, capability: tuple[int, int], function: str) -> Cubin:
    from cuda.core import Linker, LinkerOptions, ObjectCode
    from numba import cuda
    from numba.cuda import types

    from graphad.compiler.cuda import intrinsics

    scope: dict[str, Any] = {}
    exec(compile(text, "<graphad_kernel_source>", "exec"), scope)
    plain = scope[function]
    scope |= intrinsics.namespace(plain.__code__.co_names)
    signature = types.void(*[types.int64] * plain.__code__.co_argcount)
    code, _ = cuda.compile(plain, signature, device=False, abi="numba", cc=capability, output="ltoir")
    # Without `fma` the device's compiler rounds every product, as NumPy does; the device library has its own fused steps.
    options = LinkerOptions(
        arch=f"sm_{capability[0]}{capability[1]}", link_time_optimization=True, fma=may_contract(plain)
    )
    linked = bytes(Linker(ObjectCode.from_ltoir(code), options=options).link("cubin").code)
    entries = [name for name in read_symbols(linked).defined if function in name and not name.startswith(".")]
    if len(entries) != 1:
        raise CompileError(
            f"cuda: the cubin has the entries {', '.join(sorted(entries)) or 'none'} instead of one"
        )
    return Cubin(entries[0], linked)
