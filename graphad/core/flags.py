"""Settings of the process, from the environment at import and from `graphad.config` later."""

from __future__ import annotations

import importlib
import os

JIT_MODES = AUTO, ALWAYS, NEVER = "auto", "always", "never"


class Flags:
    """One object holds them all.

    Attributes:
      filter_tracebacks: Tracebacks of errors raised in a function show the user's lines only.
      run_functions_eagerly: Functions run as Python instead of as graphs.
      jit: "auto" compiles in the background, "always" waits, "never" does not compile.
      jacobian_bytes: Limit for the largest intermediate value of a Jacobian, stacked for all rows of a chunk.
      logical_cpus: How many device names the CPU has.
      numpy_promotion: Operators on tensors of different dtypes convert them, instead of refusing them.
      numpy_mode: How operators and NumPy's functions convert dtypes: "legacy" as NumPy does, "all" and "safe" by
        `ops/numpy/modes.py`.
      prefers_float32: Python's floats are float32 to NumPy's functions, not float64.
      pool_bytes: How much memory of large results is kept for later ones.
      progress: "auto" shows bars in notebooks and terminals, "always" everywhere, "never" nowhere.
      tensor_float_32: Products of float32 on a CUDA device may round their operands to 10 bits behind the point.
      relaxed_arithmetic: Compiling may change the last bits of results.
      threads: How many threads compiled kernels share, 0 for as many as there are processors.
    """

    __slots__ = (
        "filter_tracebacks",
        "jacobian_bytes",
        "jit",
        "logical_cpus",
        "numpy_mode",
        "numpy_promotion",
        "pool_bytes",
        "prefers_float32",
        "progress",
        "relaxed_arithmetic",
        "run_functions_eagerly",
        "tensor_float_32",
        "threads",
    )

    def __init__(self) -> None:
        self.filter_tracebacks = True
        self.run_functions_eagerly = False
        self.jit = _jit_of_environment()
        self.jacobian_bytes = 2 << 20  # 1 to 4 MB measured best
        self.logical_cpus = 1
        self.numpy_promotion = False
        self.numpy_mode = "legacy"
        self.prefers_float32 = False
        self.pool_bytes = 256 << 20
        self.progress = AUTO
        self.tensor_float_32 = False
        self.threads = 0
        self.relaxed_arithmetic = switch_of_environment("GRAPHAD_RELAXED_ARITHMETIC")


def _jit_of_environment() -> str:
    mode = os.environ.get("GRAPHAD_JIT", "").strip().lower() or AUTO
    if mode not in JIT_MODES:
        _warn(f"GRAPHAD_JIT: {mode!r} is not a mode; use 'auto', 'always' or 'never'. 'auto' is used.")
        return AUTO
    return mode


def switch_of_environment(name: str, usual: bool = False) -> bool:
    """The value of an environment variable that should be 0 or 1; `usual` if it is missing or holds anything else."""
    text = os.environ.get(name, "").strip().lower()
    if text not in ("", "0", "1", "false", "true"):
        _warn(f"{name}: {text!r} is neither 0 nor 1; {int(usual)} is used.")
        return usual
    return text in ("1", "true") if text else usual


def _warn(message: str) -> None:
    importlib.import_module("graphad.core.frames").warn_user(message)


flags = Flags()
