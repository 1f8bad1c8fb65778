"""The passes of Numba's front end that a generated kernel needs: no closures, no overloads to inline, no array expressions; no
SSA form, because each variable has one type and LLVM turns variables into registers; and no deletions, because numbers own
nothing.

This module imports Numba; it is imported where something is compiled.
"""

from __future__ import annotations

from numba.core import typed_passes, untyped_passes
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.registry import cpu_target


@register_pass(mutates_CFG=True, analysis_only=False)
class Types(typed_passes.NopythonTypeInference):  # type: ignore[misc]
    """Type inference that looks through the registries of functions once, not again for each call in the kernel."""

    _name = "graphad_types"

    def run_pass(self, state: object) -> bool:
        context = cpu_target.target_context
        context.refresh()
        context.refresh = lambda: None
        try:
            return bool(super().run_pass(state))
        finally:
            del context.refresh


PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    Types,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class Pipeline(CompilerBase):  # type: ignore[misc]
    """Bytecode to unoptimised IR."""

    def define_pipelines(self) -> list[PassManager]:
        manager = PassManager("graphad")
        for kind in PASSES:
            manager.add_pass(kind, kind.__name__)
        manager.finalize()
        return [manager]
