"""A report on this machine and installation, with checks of everything that graphad needs.

It names no user, no host and no path but that of the cache, with the home directory as `~`.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.flags import flags
from graphad.core.tree import in_bytes
from graphad.core.version import VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from graphad.core.annotations import TensorLike


_PACKAGES = (
    "numpy numba llvmlite msgpack optree scipy ml_dtypes matplotlib tqdm numba-cuda cupy-cuda13x".split()
)
_FEATURES = "sse4.2 avx avx2 fma avx512f avx512bf16 amx-tile neon sve".split()


def report(compiles: bool = True) -> tuple[list[str], bool]:
    """The lines of the page, and whether all is well.

    Args:
      compiles: Whether to compile a small function, which takes a few seconds where the cache is empty.
    """
    lines = [
        f"graphad {VERSION}",
        f"Python {platform.python_version()} ({sys.implementation.name}), {platform.platform()}",
    ]
    lines += ["", "packages"] + [f"  {name} {_version(name)}" for name in _PACKAGES]
    lines += ["", "processor", *_processor(), "", "threads", *_threads(), "", "BLAS", *_blas()]
    lines += [
        "",
        "cache of compiled code",
        *[f"  {line}" for line in cache_lines()],
        "",
        "GPU",
        f"  {_gpu()}",
    ]
    lines += ["", "settings", f"  jit {flags.jit}, relaxed_arithmetic {flags.relaxed_arithmetic}"]
    lines += [f"  {name}={value}" for name, value in sorted(os.environ.items()) if _is_setting(name)]
    checks = [("eager add", _adds), ("gradient", _differentiates)]
    checks += [("compiled function", _compiles)] if compiles else []
    lines += ["", "checks"]
    well = True
    for name, check in checks:
        start = time.perf_counter()
        try:
            said = check()
        except Exception as error:  # any error goes into the report
            said, well = f"FAILED: {type(error).__name__}: {error}", False
        lines.append(f"  {name}: {said} ({1000 * (time.perf_counter() - start):.1f} ms)")
    return lines, well


def cache_lines() -> list[str]:
    """Where compiled code is kept, and how much of it there is."""
    from graphad.compiler.cache import default_cache

    cache = default_cache()
    if cache.path is None:
        return ["in memory only: there is no home directory and no GRAPHAD_CACHE_DIR"]
    entries = cache.entries()
    size = sum(entry.size for entry in entries)
    writable = os.access(cache.path if cache.path.exists() else _nearest(cache.path), os.W_OK)
    lines = [
        str(_short(cache.path)),
        f"{len(entries)} files, {in_bytes(size)} of at most {in_bytes(cache.limit)}",
    ]
    if entries:
        lines.append(f"oldest from {_day(entries[0].modified)}, newest from {_day(entries[-1].modified)}")
    return lines if writable else [*lines, "it cannot be written: what is compiled is kept in memory only"]


def clear_cache() -> list[str]:
    """Remove the compiled code that is kept on disk."""
    from graphad.compiler.cache import default_cache

    cache = default_cache()
    size = sum(entry.size for entry in cache.entries())
    return [f"removed {cache.clear()} files, {in_bytes(size)}"]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> Iterator[str]:
    yield f"  {_model()}, {platform.machine()}"
    try:
        from graphad.compiler.cpu.target import host

        target = host()
        on = {feature[1:] for feature in target.features.split(",") if feature.startswith("+")}
        yield f"  compiled for {target.cpu} ({target.triple}): {', '.join(f for f in _FEATURES if f in on) or 'no extensions'}"
    except Exception as error:  # the report must work on broken installations too
        yield f"  compiled code: {type(error).__name__}: {error}"


def _model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown model"


def _threads() -> Iterator[str]:
    from graphad.compiler.cpu.runtime.pool import thread_count

    given = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield f"  {thread_count()} for compiled loops; {given} of {os.cpu_count()} processors are given to this process"


def _blas() -> Iterator[str]:
    info: Any = np.show_config(mode="dicts")
    found = (info or {}).get("Build Dependencies", {}).get("blas", {})
    yield f"  {found.get('name', 'unknown')} {found.get('version', '')}".rstrip()
    if found.get("openblas configuration"):
        yield f"  {found['openblas configuration']}"


def _gpu() -> str:
    import ctypes

    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return "no CUDA driver; ops run on the CPU"
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or not count.value:
        return "a CUDA driver, and no device; ops run on the CPU"
    name = ctypes.create_string_buffer(100)
    driver.cuDeviceGetName(name, 100, 0)
    first = name.value.decode(errors="replace")
    return f"{count.value} CUDA device(s), the first {first}; ops run there in blocks of device('cuda')"


def _is_setting(name: str) -> bool:
    limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return (name.startswith("GRAPHAD_") and name != "GRAPHAD_CACHE_DIR") or name in limits


def _adds() -> str:
    from graphad.ops.array import constant

    total = constant([1.0, 2.0]) + 1.0
    return _expected(total.numpy().tolist(), [2.0, 3.0])


def _differentiates() -> str:
    from graphad.gradient.tape import GradientTape
    from graphad.ops.array import constant

    x = constant(3.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return _expected(float(tape.gradient(y, x)), 6.0)


def _compiles() -> str:
    from graphad.function.decorator import function
    from graphad.ops.array import constant
    from graphad.tools.explain import explain

    f = function(lambda x: x * x + 1.0)
    x = constant([1.0, 2.0, 3.0])
    said = _expected(f(x).numpy().tolist(), [2.0, 5.0, 10.0])
    tier = explain(f)(x).tier
    if not tier.startswith("native"):
        raise RuntimeError(f"it runs on {tier}")
    return f"{said}, {tier}"


def _expected(found: TensorLike, wanted: TensorLike) -> str:
    if found != wanted:
        raise RuntimeError(f"it gives {found} in place of {wanted}")
    return "ok"


def _short(path: object) -> str:
    home = os.path.expanduser("~")
    text = str(path)
    return "~" + text[len(home) :] if text.startswith(home + os.sep) else text


def _nearest(path: Path) -> Path:
    """The directory in which `path` would be made."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(seconds))
