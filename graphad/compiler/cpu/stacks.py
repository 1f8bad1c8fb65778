"""Stacks of a length that only the run knows on their way between native code and Python.

Native code finds such a stack by a cell (`compiler/rows.py`). Python gets a copy; what it gives is referenced while it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.cpu.runtime.calls import view
from graphad.core.errors import InternalError
from graphad.ops.control.stacks import closed_stack, is_ragged

if TYPE_CHECKING:
    from graphad.core.spec import TensorSpec


class Leaving:
    """Calls give a copy of the stack whose cell is `cell`; `spec` is that of a slice, and `shape` its sizes. Where it `is_nested`
    a slice is a stack too, and `shape` are the sizes of its own slices."""

    __slots__ = ("_cell", "_is_nested", "_shape", "_spec")

    def __init__(self, cell: np.ndarray, spec: TensorSpec, shape: tuple[int, ...], is_nested: bool) -> None:
        self._cell, self._spec, self._shape, self._is_nested = cell, spec, shape, is_nested

    def __call__(self) -> Any:
        address, count, long, written = self._cell.tolist()
        dtype = self._spec.dtype.numpy
        if not self._is_nested:
            return view(address, (count, *self._shape), dtype).copy()
        pairs = view(address, (count, 2), np.dtype(np.int64))
        ends = pairs.sum(axis=1)
        whole = view(long, (int(ends.max(initial=0)), *self._shape), dtype).copy()
        slices = [
            whole[first:end] for first, end in zip(pairs[:written, 0].tolist(), ends.tolist(), strict=False)
        ]
        return closed_stack(
            [*slices, *[None] * (count - len(slices))] if slices else None, count, self._spec, True
        )


class Entering:
    """Calls put a stack into `cell` and give what has to stay as long as native code reads it."""

    __slots__ = ("_cell", "_dtype", "_is_nested", "_shape")

    def __init__(
        self, cell: np.ndarray, dtype: np.dtype[Any], shape: tuple[int, ...], is_nested: bool
    ) -> None:
        self._cell, self._dtype, self._shape, self._is_nested = cell, dtype, shape, is_nested

    def __call__(self, stack: Any) -> Any:
        if not self._is_nested:
            flat = self._fitted(stack, 1)
            self._cell[:2] = flat.ctypes.data, len(flat)
            return flat
        parts = [self._fitted(y, 1) for y in stack.slices if y is not None] if is_ragged(stack) else None
        if parts is None:
            whole = self._fitted(stack, 2)
            counts = np.full(len(whole), whole.shape[1], np.int64)
            whole = (
                whole.reshape(-1, *self._shape) if whole.size else np.empty((0, *self._shape), self._dtype)
            )
        else:
            lengths = iter([len(part) for part in parts])
            counts = np.array([0 if y is None else next(lengths) for y in stack.slices], np.int64)
            whole = np.concatenate(parts) if parts else np.empty((0, *self._shape), self._dtype)
        pairs = np.stack([np.cumsum(counts) - counts, counts], axis=1)
        self._cell[:] = pairs.ctypes.data, len(pairs), whole.ctypes.data, len(pairs)
        return pairs, whole

    def _fitted(self, stack: Any, axes: int) -> np.ndarray:
        """A stack as an array in C order, whose first `axes` may have any size."""
        found = np.asarray(stack)
        if found.ndim < axes or found.shape[axes:] != self._shape or found.dtype != self._dtype:
            raise InternalError(
                f"plan: a step gave a stack of shape {found.shape} and dtype {found.dtype} where its graph says slices of "
                f"{self._shape} and {self._dtype}"
            )
        return np.require(found, requirements=["C", "A"])
