"""Run a loop as compiled code, and as the same text in plain Python, over NumPy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler import oracle
from graphad.compiler.cpu import build
from graphad.compiler.cpu.emit import emit
from graphad.core.dtypes import DType
from graphad.kernels import forms
from graphad.kernels.block import block_layout
from graphad.kernels.collapse import Loop

SCRATCH = (ctypes.c_int64 * 2)()


def call(address: int, block: np.ndarray) -> int:
    """One call of a kernel; returns its status."""
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)
    scratch = ctypes.addressof(SCRATCH)
    return function(scratch, scratch + 8, block.ctypes.data)


def run_native(
    loop: Loop,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    scalars: Sequence[Any] = (),
    ranges: Sequence[tuple[int, int]] | None = None,
) -> None:
    """Fill the outputs; with `ranges`, in pieces."""
    kernel = loop.kernel
    layout = block_layout(kernel)
    patterns = [forms.scalar_word(value, dtype) for value, dtype in zip(scalars, kernel.scalars)]
    block = np.array(loop.words(scalars=patterns), np.int64)
    for word, array in zip((*layout.inputs, *layout.outputs), (*inputs, *outputs)):
        block[word] = array.ctypes.data
    workspace = np.full(loop.workspace() // 8 + 1, np.nan)
    block[layout.workspace] = workspace.ctypes.data
    address = build.build(kernel)
    for lo, hi in ranges if ranges is not None else [(0, int(block[layout.hi]))]:
        block[layout.lo], block[layout.hi] = lo, hi
        assert call(address, block) == 0


def run_oracle(
    loop: Loop,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    scalars: Sequence[Any] = (),
    ranges: Sequence[tuple[int, int]] | None = None,
) -> None:
    """The same by Python; arrays are flat buffers."""
    kernel = loop.kernel
    layout = block_layout(kernel)
    block: list[Any] = list(loop.words(scalars=[0] * len(kernel.scalars)))
    for word, array in zip((*layout.inputs, *layout.outputs), (*inputs, *outputs)):
        block[word] = array.reshape(-1)
    for word, value, dtype in zip(layout.scalars, scalars, kernel.scalars):
        block[word] = np.asarray(value).astype(dtype.numpy)[()]
    block[layout.workspace] = [None] * (loop.workspace() // 8 + 1)
    for lo, hi in ranges if ranges is not None else [(0, block[layout.hi])]:
        block[layout.lo], block[layout.hi] = lo, hi
        oracle.run(emit(kernel).text, block)


def values(dtype: DType, count: int, seed: int = 0) -> np.ndarray:
    """Ordinary and awkward values of a dtype."""
    rng = np.random.default_rng(seed)
    if dtype.is_bool:
        return rng.random(count) < 0.5
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        special = np.array([0, 1, 2, 3, info.max, info.min, info.max - 1, 7], dtype.numpy)
        plain = rng.integers(max(info.min, -100), min(info.max, 100), count).astype(dtype.numpy)
    else:
        with np.errstate(over="ignore"):
            special = np.array(
                [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 0.5, -0.5, 1.5, 2.5, 1e-40, 6e-8, 3e4, 1e38]
            ).astype(dtype.numpy)
        plain = (rng.standard_normal(count) * 3).astype(dtype.numpy)
    where = rng.integers(0, 2, count) == 0
    return np.where(where, special[rng.integers(0, len(special), count)], plain).astype(dtype.numpy)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal element by element, NaN equal to NaN."""
    if a.dtype.kind in "fV":
        a, b = a.astype(np.float64), b.astype(np.float64)
        return bool(np.all((a == b) | (np.isnan(a) & np.isnan(b))))
    return bool(np.all(a == b))
