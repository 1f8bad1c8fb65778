"""Arrays of all cases in one small file: one flat array per dtype, and references [dtype, offset, shape] into them.

A thousand separate arrays would cost more in headers than in numbers. None stays None.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent / "data"
Reference = list[Any] | None


def arrays_of(volume: str) -> Path:
    """The file with the arrays of a volume, whose cases stand in `<volume>.json`."""
    return DATA / ("arrays.npz" if volume == "index" else f"{volume}.npz")


class Writer:
    def __init__(self) -> None:
        self._parts: dict[str, list[np.ndarray]] = {}
        self._sizes: dict[str, int] = {}

    def put(self, value: Any) -> Reference:
        if value is None:
            return None
        x = np.asarray(value)
        dtype = x.dtype.name
        offset = self._sizes.get(dtype, 0)
        self._parts.setdefault(dtype, []).append(x.ravel())
        self._sizes[dtype] = offset + x.size
        return [dtype, offset, list(x.shape)]

    def write(self, path: Path) -> None:
        np.savez_compressed(path, **{dtype: np.concatenate(parts) for dtype, parts in self._parts.items()})


class Reader:
    def __init__(self, path: Path) -> None:
        with np.load(path, allow_pickle=False) as file:
            self._flat = {dtype: file[dtype] for dtype in file.files}

    def get(self, reference: Reference) -> np.ndarray | None:
        if reference is None:
            return None
        dtype, offset, shape = reference
        size = int(np.prod(shape, dtype=np.int64))
        return self._flat[dtype][offset : offset + size].reshape(shape)
