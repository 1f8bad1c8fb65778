"""Windows over images [batch, height, width, channels]: padding, output sizes, and the view of all windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.dims import Dim
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import format_dims

Pads = tuple[tuple[int, int], tuple[int, int]]


def pair(op: str, name: str, value: Any) -> tuple[int, int]:
    """One number, two, or four with 1 at both ends, as (vertical, horizontal)."""
    items = [value] if isinstance(value, int) else [int(item) for item in value]
    if len(items) == 1:
        items = items * 2
    if len(items) == 4:
        if items[0] != 1 or items[3] != 1:
            raise InvalidArgumentError(f"{op}: {name} {tuple(items)} moves over batch or channels; only 1 is allowed there.")
        items = items[1:3]
    if len(items) != 2 or min(items) < 1:
        raise InvalidArgumentError(f"{op}: {name} {value!r} must be one positive number, two, or four with 1 at both ends.")
    return items[0], items[1]


def padding_name(op: str, padding: Any) -> Any:
    """ "SAME", "VALID", or explicit pads ((top, bottom), (left, right))."""
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise InvalidArgumentError(f"{op}: padding {padding!r} is neither 'SAME' nor 'VALID'.")
        return padding.upper()
    pads = [tuple(int(p) for p in side) for side in padding]
    if len(pads) == 4:
        pads = pads[1:3]
    return tuple(pads)


def pads_of(padding: Any, sizes: Sequence[int], window: Sequence[int], strides: Sequence[int]) -> Pads:
    """How many rows and columns to add before and after; SAME puts the odd one after."""
    if padding == "VALID":
        return (0, 0), (0, 0)
    if padding != "SAME":
        return padding  # type: ignore[no-any-return]
    out = []
    for size, k, s in zip(sizes, window, strides, strict=True):
        total = max((-(-size // s) - 1) * s + k - size, 0)
        out.append((total // 2, total - total // 2))
    return out[0], out[1]


def output_size(op: str, padding: Any, size: Any, window: int, stride: int, place: int) -> Any:
    """The size of the result along one axis, None where it is not known."""
    if size is None:
        return None
    if padding == "SAME":
        return size if stride == 1 else (size + (stride - 1)) // stride if not isinstance(size, Dim) else None
    extra = 0 if padding == "VALID" else sum(padding[place])
    if isinstance(size, Dim):
        return size + extra - window + 1 if stride == 1 else None
    if size + extra < window:
        raise InvalidArgumentError(f"{op}: the window of size {window} is larger than the input's {size} (padded {size + extra}).")
    return (size + extra - window) // stride + 1


def require_image(op: str, dims: Any, name: str = "input") -> None:
    """Raise unless the rank is 4 or unknown."""
    if dims is not None and len(dims) != 4:
        raise InvalidArgumentError(
            f"{op}: {name} has shape {format_dims(dims)}; [batch, height, width, channels] is needed."
        )


def padded(x: np.ndarray, pads: Pads, value: Any = 0) -> np.ndarray:
    """x with rows and columns of `value` around it."""
    if pads == ((0, 0), (0, 0)):
        return x
    (top, bottom), (left, right) = pads
    b, h, w, c = x.shape
    out = np.full((b, h + top + bottom, w + left + right, c), value, x.dtype)
    out[:, top : top + h, left : left + w] = x
    return out


def windows(x: np.ndarray, window: Sequence[int], strides: Sequence[int], dilations: Sequence[int] = (1, 1)) -> np.ndarray:
    """A view [batch, out height, out width, window height, window width, channels] of a padded image."""
    (kh, kw), (sh, sw), (dh, dw) = window, strides, dilations
    b, h, w, c = x.shape
    oh, ow = (h - (kh - 1) * dh - 1) // sh + 1, (w - (kw - 1) * dw - 1) // sw + 1
    b_, h_, w_, c_ = x.strides
    return np.lib.stride_tricks.as_strided(
        x, (b, oh, ow, kh, kw, c), (b_, h_ * sh, w_ * sw, h_ * dh, w_ * dw, c_), writeable=False
    )


def add_windows(parts: np.ndarray, shape: Sequence[int], strides: Sequence[int], dilations: Sequence[int] = (1, 1)) -> np.ndarray:
    """The transpose of `windows`: window contents added up where they came from, into an image of `shape`."""
    out = np.zeros(shape, parts.dtype)
    _, oh, ow, kh, kw, _ = parts.shape
    (sh, sw), (dh, dw) = strides, dilations
    for i in range(kh):
        for j in range(kw):
            out[:, i * dh : i * dh + (oh - 1) * sh + 1 : sh, j * dw : j * dw + (ow - 1) * sw + 1 : sw] += parts[:, :, :, i, j]
    return out


def unpadded(x: np.ndarray, pads: Pads) -> np.ndarray:
    """x without the rows and columns that `padded` added."""
    (top, bottom), (left, right) = pads
    return x[:, top : x.shape[1] - bottom, left : x.shape[2] - right]
