"""Bitwise comparison of results, and which plans must give exact bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.compiler.plain import has_plain
from graphad.compiler.plan.executable import Executable
from graphad.compiler.source import code_of
from graphad.compiler.units import GEMM, Partition
from graphad.kernels.forms import Kernel
from graphad.kernels.stages import Stages


def same_bits(found: Any, want: Any) -> np.ndarray:
    """Elementwise: the same bits, signs of zeros included; any NaN equals any other. Shapes and dtypes have to agree."""
    found, want = np.asarray(found), np.asarray(want)
    assert found.shape == want.shape, f"shape {found.shape} instead of {want.shape}"
    assert found.dtype == want.dtype, f"dtype {found.dtype} instead of {want.dtype}"
    if want.dtype.kind == "c":
        parts = f"f{want.dtype.itemsize // 2}"
        twins = [np.ascontiguousarray(x).reshape(*x.shape, 1).view(parts) for x in (found, want)]
        return np.all(same_bits(*twins), axis=-1)  # type: ignore[no-any-return]
    unsigned = f"u{want.dtype.itemsize}"
    is_same = np.ascontiguousarray(found).view(unsigned) == np.ascontiguousarray(want).view(unsigned)
    if want.dtype.kind in "fV":
        wide = np.float64 if want.dtype.itemsize == 8 else np.float32
        is_same |= np.isnan(found.astype(wide)) & np.isnan(want.astype(wide))
    return is_same.reshape(want.shape)


def assert_same_bits(found: Any, want: Any, what: str = "") -> None:
    """Raise where results differ in a bit."""
    wrong = np.flatnonzero(~same_bits(found, want))
    shown = [(int(i), np.asarray(want).flat[i], np.asarray(found).flat[i]) for i in wrong[:4]]
    assert not len(wrong), f"{what}: {len(wrong)} of {np.size(want)} differ; (place, wanted, found): {shown}"


def rounds_exactly(kernel: Kernel | Stages) -> bool:
    """Whether every step of a kernel has exactly one correct result: no vector function, and no sum in unspecified order."""
    if isinstance(kernel, Stages):
        return all(rounds_exactly(stage.kernel) for stage in kernel.stages)
    for statement in kernel.body:
        operand = kernel.dtype_of(statement.args[1 if statement.fn == "select" else 0])
        if not has_plain(statement.fn, code_of(operand)):
            return False
    sums = [store for store in kernel.outputs if store.combine in ("add", "mul")]
    return not any(store.access.dtype.is_floating for store in sums)


def is_exact(part: Partition) -> bool:
    """Whether every native step of a partition has exactly one correct result."""
    if any(unit.kind == GEMM for unit in part.units):
        return False
    inner = [p for unit in part.units if unit.repeat is not None for p in unit.repeat.partitions]
    return all(rounds_exactly(loop.kernel) for loop in part.loops) and all(map(is_exact, inner))


def exact_natively(executable: Executable, values: Any) -> bool:
    """Whether the native code for these values must give NumPy's bits."""
    compilation = executable.sizes_of(values).size_class.compilation
    return compilation.schedule is not None and is_exact(compilation.schedule.partition)
