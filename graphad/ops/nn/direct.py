"""Convolutions and pools of NumPy arrays by native routines, where this processor has them; see decision 64.

The routines are the compiler's, since it has the products and the threads; they are imported when the first convolution is
computed. Where there are none (another processor, no LLVM and no cache), for groups of few channels, and while the worker
compiles them, NumPy computes.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.errors import NotCompiledError
from graphad.ops.linalg.direct import has_tiles

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.ops.nn.pooling_ops import Pool
    from graphad.ops.nn.windows import Windowed


@functools.lru_cache(maxsize=1)
def _routines() -> Any:
    return importlib.import_module("graphad.compiler.cpu.runtime.convolving")


@functools.lru_cache(maxsize=512)
def _sizes(op: Windowed, image: tuple[int, ...], kernel: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """What the routines need to know of a convolution, None if they do not have it; and the shape of its result."""
    return _routines().sizes_for(op, image, kernel), (*op.places(image, kernel[:-2]), kernel[-1])


@functools.lru_cache(maxsize=512)
def _pool_sizes(op: Pool, image: tuple[int, ...]) -> Any:
    return _routines().pool_sizes_for(op, image)


def _are_here(x: Any, y: Any) -> bool:
    """Whether the routines take both."""
    return type(x) is np.ndarray and type(y) is np.ndarray and x.dtype == y.dtype and has_tiles(x.dtype)


def _is_done(routine: Callable[..., None], sizes: Any, *arrays: Array) -> bool:
    """Whether a routine has written the last array, since its code has been compiled."""
    *operands, result = arrays
    try:
        routine(sizes, *map(np.ascontiguousarray, operands), result)
    except NotCompiledError:
        return False
    return True


def convolution(op: Windowed, x: Array, kernel: Array) -> Array | None:
    """The convolution of images with filters; None: by NumPy."""
    if not _are_here(x, kernel):
        return None
    sizes, dims = _sizes(op, x.shape, kernel.shape)
    if sizes is None:
        return None
    y = np.empty(dims, x.dtype)
    return y if _is_done(_routines().convolve, sizes, x, kernel, y) else None


def image_gradient(op: Windowed, dims: Sequence[int], g: Array, kernel: Array) -> Array | None:
    """The gradient by images of the shape `dims`; None: by NumPy."""
    if not _are_here(g, kernel):
        return None
    sizes, _ = _sizes(op, tuple(dims), kernel.shape)
    if sizes is None:
        return None
    x = np.empty(dims, g.dtype)
    return x if _is_done(_routines().image_gradient, sizes, g, kernel, x) else None


@functools.lru_cache(maxsize=64)
def _ones(window: tuple[int, ...], channels: int, dtype: np.dtype[Any]) -> Array:
    """Filters that add up the windows of each channel."""
    return np.ones((*window, 1, channels), dtype)


def sums(op: Pool, x: Array) -> Array | None:
    """The sum of each window and channel, element after element; None: by NumPy."""
    if type(x) is not np.ndarray or x.shape[-1] < 2:  # one channel is no groups
        return None
    return convolution(op, x, _ones(op.window, x.shape[-1], x.dtype))


def spread(op: Pool, dims: Sequence[int], g: Array) -> Array | None:
    """An image of the shape `dims` with each element of g added to all of its window; None: by NumPy."""
    if type(g) is not np.ndarray or g.shape[-1] < 2:
        return None
    return image_gradient(op, dims, g, _ones(op.window, g.shape[-1], g.dtype))


def at_maxima(op: Pool, x: Array, g: Array) -> Array | None:
    """An image of zeros with each element of g added at the first maximum of its window of x; None: by NumPy."""
    if not _are_here(x, g):
        return None
    sizes = _pool_sizes(op, x.shape)
    if sizes is None:
        return None
    made = np.zeros(x.shape, x.dtype)
    return made if _is_done(_routines().at_maxima, sizes, x, g, made) else None


def maxima(op: Pool, x: Array) -> Array | None:
    """The maximum of each window and channel; None: by NumPy."""
    if not _are_here(x, x):
        return None
    sizes = _pool_sizes(op, x.shape)
    if sizes is None:
        return None
    y = np.empty((*op.places(x.shape, op.window), x.shape[-1]), x.dtype)
    return y if _is_done(_routines().maxima, sizes, x, y) else None


def filter_gradient(op: Windowed, x: Array, dims: Sequence[int], g: Array) -> Array | None:
    """The gradient by filters of the shape `dims`; None: by NumPy."""
    if not _are_here(x, g):
        return None
    sizes, _ = _sizes(op, x.shape, tuple(dims))
    if sizes is None:
        return None
    kernel = np.empty(dims, g.dtype)
    return kernel if _is_done(_routines().filter_gradient, sizes, x, g, kernel) else None
