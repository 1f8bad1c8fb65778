"""The passes of Numba's front end that a generated kernel needs: no closures, no overloads to inline, no array
expressions.

This module imports Numba; it is imported where something is compiled.
"""

from __future__ import annotations

from numba.core import typed_passes, untyped_passes
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager

PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
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
