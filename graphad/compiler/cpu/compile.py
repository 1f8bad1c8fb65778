"""Source text to object code: Numba's front end types and prints it as IR, LLVM optimises that and makes the code.

The object defines `graphad_kernel`, an i32 f(ptr, ptr, i64 block), and needs no symbol at all, so any process may
load it without Numba. Runs in the compile worker, or here when there is none.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

from graphad.compiler import objects
from graphad.compiler.cpu import target
from graphad.compiler.source import CompileError, may_contract
from graphad.core import forks
from graphad.core.errors import GraphadError

if TYPE_CHECKING:
    import llvmlite.binding as llvm

SYMBOL = "graphad_kernel"
_INFIX = {ast.Add: "add_i64", ast.Sub: "sub_i64", ast.Mult: "mul_i64"}
_lock = forks.awaited()


def compile_for(text: str, kind: str) -> bytes:
    """Object code for the worker, of the text of a kernel, or of one of the `runtime`."""
    if kind == "runtime":
        from graphad.compiler.cpu.runtime.native import compile_text  # most workers compile kernels only

        return _guarded(compile_text, text)
    return compile_source(text)


def compile_source(text: str) -> bytes:
    """Object code of one function of one int64 argument.

    Args:
      text: Python source that defines `kernel`; see `emit` for what it may use.
    Raises: CompileError: it does not compile, or the object would need symbols of a process.
    """
    return _guarded(_kernel, text)


def _kernel(text: str) -> bytes:
    return objects.check_kernel(_machine().emit_object(_optimised(_printed(text))), SYMBOL)


def _guarded(compiled: Callable[[str], bytes], text: str) -> bytes:
    with _lock:
        try:
            return compiled(text)
        except GraphadError as error:
            raise CompileError(f"compile: {error}") from error
        except Exception as error:  # any error of Numba or LLVM on generated source
            raise CompileError(f"compile: {type(error).__name__}: {str(error).strip()[:2000]}") from error


def prepare() -> None:
    """Pin Numba to the target of the cache keys; it has an effect only before the first import of Numba."""
    host = target.host()
    os.environ.setdefault("NUMBA_CPU_NAME", host.cpu)
    os.environ.setdefault("NUMBA_CPU_FEATURES", host.features)


def warm_up() -> None:
    """Compile a trivial kernel: the first compilation fills Numba's registries, which takes a tenth of a second."""
    compile_source(
        "def kernel(blk):\n    n = word(blk, 0)\n    o = word(blk, 1)\n    for i in range(0, n):\n"
        "        st_f32_o0(o, i, add_f32(ld_f32_o0(o, i), ld_f32_o0(o, i)))\n"
    )


@lru_cache(maxsize=1)
def _machine() -> llvm.TargetMachine:
    return target.machine(target.host())


def _printed(text: str) -> str:
    """The IR that Numba prints for the function, named `SYMBOL`, before any optimisation.

    Only Numba's front end runs, with the few passes that plain loops need. Its back end would run the optimiser twice and the
    code generator once more for an engine of its own: a third of the time, and all of the memory that it never frees.
    """
    prepare()
    from numba import types
    from numba.core import compiler
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    from graphad.compiler.cpu import intrinsics, pipeline

    scope: dict[str, Any] = {}
    tree = ast.fix_missing_locations(_Calls().visit(ast.parse(text)))
    exec(compile(tree, "<graphad_kernel_source>", "exec"), scope)
    plain: FunctionType = scope["kernel"]
    scope |= intrinsics.namespace(plain.__code__.co_names)
    flags = compiler.Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.release_gil = True
    flags.error_model = "numpy"
    flags.fastmath = {"contract"} if may_contract(plain) else set()
    with global_compiler_lock:
        library = cpu_target.target_context.codegen().create_library("kernel")
        library._optimize_functions = lambda module: None  # optimisation comes after linking
        made = compiler.compile_extra(
            cpu_target.typing_context,
            cpu_target.target_context,
            plain,
            (types.int64,),
            types.void,
            flags,
            {},
            library=library,
            pipeline_class=pipeline.Pipeline,
        )
        return str(made.library._final_module).replace(made.fndesc.mangled_name, SYMBOL)


class _Calls(ast.NodeTransformer):
    """Turns arithmetic of indices into calls of intrinsics.

    Numba infers the type of an operator by trying all of its overloads, a tenth of the time of its front end.
    """

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        name = _INFIX.get(type(node.op))
        return ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], []) if name else node


def _optimised(text: str) -> llvm.ModuleRef:
    """The optimised module, reduced to the kernel."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    for thing in (*module.functions, *module.global_variables):
        # LLVM's own lists keep what only the loop vectoriser will call
        if not thing.is_declaration and thing.name != SYMBOL and not thing.name.startswith("llvm."):
            thing.linkage = "internal"
    machine = _machine()
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization, options.slp_vectorization = True, False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    module.verify()
    return module
