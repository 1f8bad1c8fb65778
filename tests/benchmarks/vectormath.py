"""ns per element of each vector function in a loop of its own, against NumPy; `python -m tests.benchmarks.vectormath`."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.compiler.cpu.vectormath import ARITY, SUPPORTED
from tests.support.vectormath_harness import native_loop


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


PEERS: dict[str, Callable[..., np.ndarray]] = {
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "erf": np.abs,
    "erfc": np.abs,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "pow": np.power,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}
INSIDE = {
    "log": (0.1, 10.0),
    "log2": (0.1, 10.0),
    "log10": (0.1, 10.0),
    "log1p": (-0.9, 10.0),
    "asin": (-1.0, 1.0),
    "acos": (-1.0, 1.0),
    "atanh": (-1.0, 1.0),
    "acosh": (1.0, 10.0),
    "pow": (0.1, 5.0),
}


def ns_per_element(run: Callable[..., object], arguments: tuple[Any, ...], count: int) -> float:
    """The best of seven batches."""
    run(*arguments)
    repeats, best = max(1, 400_000 // count), math.inf
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(repeats):
            run(*arguments)
        best = min(best, time.perf_counter() - start)
    return best / repeats / count * 1e9


def main() -> None:
    print("| function | f32 1e4 | NumPy | f32 1e6 | NumPy | f64 1e4 | NumPy | f64 1e6 | NumPy |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in sys.argv[1:] or SUPPORTED:
        row = []
        for dtype in SUPPORTED[name]:
            function, peer = native_loop(name, dtype), PEERS.get(name) or getattr(np, name)
            for count in (10_000, 1_000_000):
                low, high = INSIDE.get(name, (-5.0, 5.0))
                drawn = [np.random.default_rng(i).uniform(low, high, count) for i in range(ARITY[name])]
                arrays = tuple(values.astype(dtype) for values in drawn)
                out = np.empty_like(arrays[0])
                addresses = (*(a.ctypes.data for a in arrays), out.ctypes.data, count)
                row.append(f"{ns_per_element(function, addresses, count):.2f}")
                slow = name in ("erf", "erfc")  # NumPy has neither
                row.append("-" if slow else f"{ns_per_element(peer, arrays, count):.2f}")
        print(f"| {name} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
