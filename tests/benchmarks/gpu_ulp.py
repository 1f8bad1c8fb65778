"""How exact the functions of a CUDA device's kernels are, in units in the last place.

    python -m tests.benchmarks.gpu_ulp values FILE     where there is a device: float32 is judged there, float64 goes to a file
    python -m tests.benchmarks.gpu_ulp judge FILE      anywhere: the float64 values of the file against 50 digits

Functions of one float32 number are measured at all 2^32 of them, against the same function in float64.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import graphad as gd
from graphad.compiler.cpu.vectormath import ARITY
from graphad.devices.array import DeviceArray
from graphad.devices.library import library, require
from graphad.devices.streams import on
from graphad.devices.tensor import DeviceTensor
from tests.support.vectormath_points import EXACT, judged, points

CHUNK = 1 << 27  # of 2^32 numbers of float32
COUNT = 20_000  # numbers of float64
HOMES = (gd.math, gd.nn, gd.numpy)


def compiled(name: str) -> Any:
    """The function of a kernel of its own."""
    home = next(home for home in HOMES if hasattr(home, name))
    function = getattr(home, name)
    return gd.function(lambda *xs: function(*xs), jit_compile=True)


def given(held: Any) -> DeviceTensor:
    with on(0):
        return DeviceTensor(DeviceArray(held, 0))


def widened(held: Any) -> Any:
    """As float64, by a kernel of graphad's: CuPy's own take subnormal numbers of float32 for 0."""
    return _WIDE(given(held)).array.held


_WIDE = gd.function(lambda x: gd.cast(x, gd.float64), jit_compile=True)
_NEAREST = gd.function(lambda x: gd.cast(gd.cast(x, gd.float32), gd.float64), jit_compile=True)


def worst_of_float32(name: str) -> tuple[float, float, float]:
    """The largest error, where it is, and the mean over finite results; an infinity or NaN where there should be none counts."""
    lib, f = library(), compiled(name)
    most, place, total, count = 0.0, 0.0, 0.0, 0
    for start in range(0, 1 << 32, CHUNK):
        x = lib.arange(start, start + CHUNK, dtype=lib.uint32).view(lib.float32)
        y, z = widened(f(given(x)).array.held), f(given(widened(x))).array.held
        near = _NEAREST(given(z)).array.held
        exponent = lib.maximum(lib.frexp(z)[1] - 1, -126)
        error = lib.ldexp(lib.abs(y - z), 23 - exponent)
        is_plain = lib.isfinite(y) & lib.isfinite(near)
        is_same = (y == near) | (lib.isnan(y) & lib.isnan(near))
        error = lib.where(is_plain, error, lib.where(is_same, 0.0, lib.inf))
        at = int(error.argmax())
        if float(error[at]) > most:
            most, place = float(error[at]), float(x[at : at + 1].get()[0])
        total += float(lib.where(lib.isfinite(error), error, 0).sum())
        count += int(is_plain.sum())
    return most, place, total / count


def values(path: str) -> None:
    require(0)
    kept = {}
    for name in EXACT:
        started = time.perf_counter()
        if ARITY[name] == 1:
            most, place, mean = worst_of_float32(name)
        else:
            arguments = points(name, "float32", 4_000_000)
            y = compiled(name)(*[given(library().asarray(a)) for a in arguments]).numpy()
            errors = judged(name, arguments, y)
            most, place, mean = (
                float(errors.max()),
                float(arguments[0][errors.argmax()]),
                float(errors.mean()),
            )
        print(f"{name:9} float32 {most:6.2f} at {place:.9g}, mean {mean:.3f}", end="")
        print(f"   ({time.perf_counter() - started:.1f} s)", flush=True)
        arguments = points(name, "float64", COUNT)
        y = compiled(name)(*[given(library().asarray(a)) for a in arguments]).numpy()
        kept |= {f"{name}.{k}": a for k, a in enumerate((y, *arguments))}
    np.savez_compressed(path, **kept)


def judge(path: str) -> None:
    with np.load(path) as kept:
        for name in EXACT:
            y, *arguments = (kept[f"{name}.{k}"] for k in range(ARITY[name] + 1))
            errors = judged(name, tuple(arguments), y)
            at = int(errors.argmax())
            where = ", ".join(f"{a[at]:.17g}" for a in arguments)
            print(f"{name:9} float64 {errors[at]:6.2f} at {where}, mean {errors.mean():.3f}", flush=True)


if __name__ == "__main__":
    {"values": values, "judge": judge}[sys.argv[1]](sys.argv[2])
