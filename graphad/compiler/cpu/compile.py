"""Source text to object code: Numba compiles and optimises, then everything but the kernel is cut away.

The object defines `graphad_kernel`, an i32 f(ptr, ptr, i64 block), and needs no symbol at all, so any process may
load it without Numba. Runs in the compile worker, or here when there is none.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from graphad.compiler.cpu import objects, target
from graphad.core.errors import GraphadError

SYMBOL = "graphad_kernel"
MARKER = "graphad_kernel_source"
_lock = threading.Lock()


class CompileError(GraphadError, RuntimeError):
    """A kernel's source did not become an object that may be loaded."""


def compile_source(text: str, function: str = "kernel") -> bytes:
    """Object code of one function of one int64 argument.

    Args:
      text: Python source that defines `function`; see `emit` for what it may use.
      function: The name of the function in the text.
    Raises: CompileError: it does not compile, or the object would need symbols of a process.
    """
    with _lock:
        try:
            return objects.check_kernel(_machine().emit_object(_trimmed(_optimised(text, function))), SYMBOL)
        except GraphadError as error:
            raise CompileError(f"compile: {error}") from error
        except Exception as error:  # whatever Numba or LLVM raise about generated source
            raise CompileError(f"compile: {type(error).__name__}: {str(error).strip()[:2000]}") from error


def prepare() -> None:
    """Pin Numba to the target of the cache keys; must come before its first import to have an effect."""
    host = target.host()
    os.environ.setdefault("NUMBA_CPU_NAME", host.cpu)
    os.environ.setdefault("NUMBA_CPU_FEATURES", host.features)


def warm_up() -> None:
    """Compile a trifle: Numba's registries fill at the first compilation, a tenth of a second before the first
    request comes."""
    compile_source(
        "def kernel(blk):\n    n = word(blk, 0)\n    o = word(blk, 1)\n    for i in range(0, n):\n"
        "        st_f32_o0(o, i, add_f32(ld_f32_o0(o, i), ld_f32_o0(o, i)))\n"
    )


@lru_cache(maxsize=1)
def _machine() -> Any:
    return target.machine(target.host())


def _optimised(text: str, function: str) -> tuple[str, str]:
    """(optimised IR, the kernel's name in it)."""
    prepare()
    from numba import njit, types

    from graphad.compiler.cpu import intrinsics

    scope: dict[str, Any] = {}
    exec(compile(text, f"<{MARKER}>", "exec"), scope)
    plain: Callable[..., Any] = scope[function]
    scope |= intrinsics.namespace(plain.__code__.co_names)
    signature = types.void(types.int64)
    made = njit(
        signature,
        error_model="numpy",
        nogil=True,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        fastmath={"contract"},
    )(plain)
    return made.inspect_llvm(signature.args), made.overloads[signature.args].fndesc.mangled_name


def _trimmed(compiled: tuple[str, str]) -> Any:
    """The module with the kernel alone, under its lasting name."""
    import llvmlite.binding as llvm

    text, name = compiled
    text = re.sub(r"^define (?:weak|linkonce)_odr .*?^}\n", "", text, flags=re.M | re.S)
    text = re.sub(r"^@_ZN08NumbaEnv\S+ = .*\n", "", text, flags=re.M)
    text = text.replace(f'"{name}"', f"@{SYMBOL}".removeprefix("@")).replace(name, SYMBOL)
    defined = re.findall(r"^define .*?@\"?([^\s\"(]+)", text, flags=re.M)
    if defined != [SYMBOL]:
        raise CompileError(f"the module defines {', '.join(defined) or 'nothing'} instead of {SYMBOL}")
    module = llvm.parse_assembly(text)
    module.verify()
    return module
