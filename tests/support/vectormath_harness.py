"""Compile the vector functions inside a loop and measure their errors.

A loop over arrays is printed around each function, optimised for a chosen processor and loaded with LLJIT;
`ulp_errors` compares the results with a reference of 50 digits or with float64.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from mpmath import mp, mpf

from graphad.compiler.cpu.vectormath import ARITY
from graphad.compiler.cpu.vectormath.recipes import function_ir, symbol

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

REAL = {"float32": "float", "float64": "double"}
_JIT: list[Any] = []


def loop_text(name: str, dtype: str) -> str:
    """The function's module with a plain loop over contiguous arrays."""
    real, size = REAL[dtype], ARITY[name]
    letters = "xy"[:size]
    pointers = ", ".join(f"ptr noalias %{c}" for c in letters)
    loads = "\n".join(
        f"  %p{c} = getelementptr inbounds {real}, ptr %{c}, i64 %i\n  %{c}i = load {real}, ptr %p{c}"
        for c in letters
    )
    arguments = ", ".join(f"{real} %{c}i" for c in letters)
    return (
        function_ir(name, dtype)
        + f"""
define void @loop({pointers}, ptr noalias %out, i64 %n) nounwind {{
entry:
  br label %body
body:
  %i = phi i64 [0, %entry], [%next, %body]
{loads}
  %r = call {real} @{symbol(name, dtype)}({arguments})
  %po = getelementptr inbounds {real}, ptr %out, i64 %i
  store {real} %r, ptr %po
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done
done:
  ret void
}}
"""
    )


def target_machine(cpu: str | None = None, features: str | None = None) -> Any:
    target = llvm.Target.from_default_triple()
    if cpu is None:
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=cpu, features=features or "", opt=3, reloc="pic", codemodel="default", jit=True
    )


def optimise(name: str, dtype: str, machine: Any, width: int | None = None) -> Any:
    """The optimised module; the function's own out-of-line body is dropped, as the kernel compiler does."""
    text = loop_text(name, dtype).replace("define weak_odr", "define private")
    if width is not None:
        text = text.replace("i64 %n) nounwind {", f'i64 %n) nounwind "prefer-vector-width"="{width}" {{')
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def native_loop(name: str, dtype: str, width: int | None = None) -> Callable[..., None]:
    """f(address of x[, of y], of out, count)."""
    if not _JIT:
        machine = target_machine()
        _JIT.extend([machine, llvm.create_lljit_compiler(machine, use_jit_link=True)])
    machine, jit = _JIT[:2]
    builder = llvm.JITLibraryBuilder().add_ir(optimise(name, dtype, machine, width)).export_symbol("loop")
    tracker = builder.link(jit, f"{name}_{dtype}_{len(_JIT)}")
    _JIT.append(tracker)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (ARITY[name] + 1), ctypes.c_int64)(tracker["loop"])


@cache
def compile_loop(name: str, dtype: str) -> Callable[..., np.ndarray]:
    """f(x[, y]) on contiguous arrays."""
    native = native_loop(name, dtype)

    def call(*arrays: np.ndarray) -> np.ndarray:
        result = np.empty_like(arrays[0])
        native(*(a.ctypes.data for a in arrays), result.ctypes.data, arrays[0].size)
        return result

    return call


def every_binade(
    dtype: str, count: int, seed: int, low: int | None = None, high: int | None = None
) -> np.ndarray:
    """Numbers of both signs with the exponent drawn uniformly, subnormals included."""
    info = np.finfo(dtype)
    rng = np.random.default_rng(seed)
    smallest = int(info.minexp) - int(info.nmant)
    exponents = rng.integers(
        smallest if low is None else low, int(info.maxexp) if high is None else high, count
    )
    significands = rng.uniform(1.0, 2.0, count) * rng.choice([-1.0, 1.0], count)
    with np.errstate(over="ignore", under="ignore"):
        drawn = np.ldexp(significands, exponents)
        return np.clip(drawn, -float(info.max), float(info.max)).astype(dtype)


def ulp_errors_exact(got: np.ndarray, reference: list[mpf]) -> np.ndarray:
    """Distances in units of the last place of the reference; both infinite counts as 0."""
    info = np.finfo(got.dtype)
    digits, lowest, top = int(info.nmant), int(info.minexp), mpf(float(info.max))
    errors = np.zeros(got.size)
    for i, (value, exact) in enumerate(zip(got.tolist(), reference, strict=True)):
        if mp.isnan(exact) or abs(exact) > top or not np.isfinite(value):
            rounded = float("nan") if mp.isnan(exact) else _round(exact, got.dtype)
            errors[i] = 0.0 if (np.isnan(rounded) and np.isnan(value)) or rounded == value else float("inf")
            continue
        exponent = max(mp.frexp(exact)[1] - 1, lowest) if exact else lowest
        errors[i] = float(abs(mpf(value) - exact) * mpf(2) ** (digits - exponent))
    return errors


def _round(exact: mpf, dtype: np.dtype) -> float:
    """To nearest, ties to even, overflow to infinity at the usual half unit."""
    info = np.finfo(dtype)
    edge = mpf(float(info.max)) * (1 + mpf(2) ** (-int(info.nmant) - 2))
    if abs(exact) >= edge:
        return float("inf") if exact > 0 else float("-inf")
    with np.errstate(over="ignore"):
        return float(np.clip(np.asarray(float(exact)), -float(info.max), float(info.max)).astype(dtype))


def ulp_errors(got: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """float32 results against float64 ones; equal infinities and NaN in both count as 0."""
    info = np.finfo(got.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = reference.astype(got.dtype)
        same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
        exponents = np.maximum(np.frexp(reference)[1] - 1, int(info.minexp))
        errors = np.abs(got.astype(np.float64) - reference) * np.exp2(float(info.nmant) - exponents)
    plain = np.isfinite(got) & np.isfinite(rounded)
    return np.where(plain, errors, np.where(same, 0.0, np.inf))
