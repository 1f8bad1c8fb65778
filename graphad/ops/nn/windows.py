"""Windows over images [batch, height, width, channels]: padding, output sizes, the view of all windows, and two ops.

`Patches` lays all windows out beside each other and `PatchesGrad` adds them up where they came from. Both are linear and each
is the transpose of the other, so what is made of them has derivatives of every order.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.bind import bind
from graphad.core.dims import Size
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.op import MIXED, Op, define
from graphad.core.shapes import format_dims, is_definite
from graphad.core.spec import TensorSpec
from graphad.ops.accumulate import as_dtype_of, wide
from graphad.ops.array.shape import Reshape, expand_dims
from graphad.ops.array.support import require_gradient, static_array
from graphad.ops.rules import scalar_like

Pads = tuple[tuple[int, int], tuple[int, int]]
Padding = Any  # "SAME", "VALID", or Pads: the type of attributes that say how images are padded


def pair(op: str, name: str, value: Any) -> tuple[int, int]:
    """One number, two, or four with 1 at both ends, as (vertical, horizontal)."""
    known = static_array(value)
    if known is None:
        raise ArgumentTypeError(f"{op}: {name} must be known while tracing; give numbers.")
    if known.dtype.kind not in "iu" or known.ndim > 1:
        raise ArgumentTypeError(f"{op}: {name} {value!r} must be integers.")
    items = known.ravel().tolist()
    if len(items) == 1:
        items = items * 2
    if len(items) == 4:
        if items[0] != 1 or items[3] != 1:
            raise InvalidArgumentError(
                f"{op}: {name} {tuple(items)} moves over batch or channels; only 1 is allowed there."
            )
        items = items[1:3]
    if len(items) != 2 or min(items) < 1:
        raise InvalidArgumentError(
            f"{op}: {name} {value!r} must be one positive number, two, or four with 1 at both ends."
        )
    return items[0], items[1]


def numbers(op: str, name: str, value: Any, count: int | None) -> tuple[int, ...]:
    """`count` positive integers (one or two where it is None); one stands for all."""
    known = static_array(value)
    if known is None or known.dtype.kind not in "iu" or known.ndim > 1:
        raise ArgumentTypeError(f"{op}: {name} {value!r} must be integers that are known while tracing.")
    items = known.ravel().tolist()
    if count is not None and len(items) == 1:
        items = items * count
    if len(items) not in ((1, 2) if count is None else (count,)) or min(items) < 1:
        wanted = "one or two" if count is None else str(count)
        raise InvalidArgumentError(f"{op}: {name} {value!r} must be {wanted} positive numbers.")
    return tuple(items)


def as_image(op: str, x: Any, axes: int, padding: Any, data_format: str | None) -> tuple[Any, int, Any]:
    """A tensor [batch, width, channels] as an image of height 1, how many axes were added, and its padding."""
    if axes not in (1, 2) or (x.ndim is not None and x.ndim != axes + 2):
        raise InvalidArgumentError(
            f"{op}: {axes} axes between batch and channels do not fit input with shape {format_dims(x.dims)}; there may be "
            "one, [batch, width, channels], or two, [batch, height, width, channels]."
        )
    formats = ("NWC",) if axes == 1 else ("NHWC",)
    if data_format is not None and data_format not in formats:
        raise InvalidArgumentError(
            f"{op}: data_format {data_format!r} is not available; transpose the input to {formats[0]!r}."
        )
    if axes == 2:
        return x, 0, padding
    return expand_dims(x, 1), 1, padding if isinstance(padding, str) else [[0, 0], [0, 0], *list(padding)[1:]]


def padding_name(op: str, padding: Any, explicit: bool = True) -> Any:
    """ "SAME", "VALID", or explicit pads ((top, bottom), (left, right))."""
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise InvalidArgumentError(f"{op}: padding {padding!r} is neither 'SAME' nor 'VALID'.")
        return padding.upper()
    pads = tuple(tuple(operator.index(p) for p in side) for side in padding) if explicit else ()
    if len(pads) == 4 and pads[0] == pads[3] == (0, 0):
        pads = pads[1:3]
    if len(pads) != 2 or any(len(side) != 2 or min(side) < 0 for side in pads):
        allowed = ", or [[0, 0], [top, bottom], [left, right], [0, 0]]" if explicit else ""
        raise InvalidArgumentError(
            f"{op}: padding {padding!r} is not allowed; give 'SAME', 'VALID'{allowed}."
        )
    return pads


def require_nhwc(op: str, data_format: str | None) -> None:
    """Raise unless images are [batch, height, width, channels]."""
    if data_format not in (None, "NHWC"):
        raise InvalidArgumentError(
            f"{op}: data_format {data_format!r} is not available; transpose the input to 'NHWC'."
        )


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


def span(size: Any, dilation: int) -> Any:
    """How many elements a window of `size` covers."""
    return (size - 1) * dilation + 1


def output_size(op: str, padding: Any, size: Any, window: Any, stride: int, place: int) -> Any:
    """The size of the result along one axis, None where it is not known; `window` is the window's span."""
    if size is None or window is None:
        return None
    if padding == "SAME":
        return size if stride == 1 else (size + (stride - 1)) // stride
    size = size if padding == "VALID" else size + sum(padding[place])
    if size < window:
        if window >= size + 2 * stride:
            raise InvalidArgumentError(
                f"{op}: the window covers {window} elements, the input has only {size} (padding included)."
            )
        return 0  # no window fits
    return size - window + 1 if stride == 1 else (size - window) // stride + 1


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


def windows(
    x: np.ndarray, window: Sequence[int], strides: Sequence[int], dilations: Sequence[int] = (1, 1)
) -> np.ndarray:
    """A view [batch, out height, out width, window height, window width, channels] of a padded image."""
    (kh, kw), (sh, sw), (dh, dw) = window, strides, dilations
    b, h, w, c = x.shape
    oh, ow = max((h - span(kh, dh)) // sh + 1, 0), max((w - span(kw, dw)) // sw + 1, 0)
    b_, h_, w_, c_ = x.strides
    return np.lib.stride_tricks.as_strided(
        x, (b, oh, ow, kh, kw, c), (b_, h_ * sh, w_ * sw, h_ * dh, w_ * dw, c_), writeable=False
    )


def place(i: int, size: int, stride: int, dilation: int = 1) -> slice:
    """Where element i of each of `size` windows lies along one axis of the padded image."""
    return slice(i * dilation, i * dilation + (size - 1) * stride + 1, stride)


def add_windows(
    parts: np.ndarray, shape: Sequence[int], strides: Sequence[int], dilations: Sequence[int] = (1, 1)
) -> np.ndarray:
    """The transpose of `windows`: window contents added up where they came from, into an image of `shape`."""
    out = np.zeros(shape, wide(parts.dtype))
    _, oh, ow, kh, kw, _ = parts.shape
    if parts.size:
        for i in range(kh):
            for j in range(kw):
                rows, columns = place(i, oh, strides[0], dilations[0]), place(j, ow, strides[1], dilations[1])
                out[:, rows, columns] += parts[:, :, :, i, j]
    return as_dtype_of(out, parts)  # type: ignore[no-any-return]


def unpadded(x: np.ndarray, pads: Pads) -> np.ndarray:
    """x without the rows and columns that `padded` added."""
    (top, bottom), (left, right) = pads
    return np.ascontiguousarray(x[:, top : x.shape[1] - bottom, left : x.shape[2] - right])


def padded_shape(shape: Sequence[int], pads: Pads) -> tuple[int, int, int, int]:
    """The shape of an image after `padded`."""
    b, h, w, c = shape
    return b, h + sum(pads[0]), w + sum(pads[1]), c


# What batch rules do to stacks of images. They only see definite shapes, whose sizes may be symbols.


def fold_rows(x: Any) -> Any:
    """[rows, batch, ...] to [rows * batch, ...]."""
    return bind(Reshape((x.dims[0] * x.dims[1], *x.dims[2:])), x)


def unfold_rows(y: Any, rows: Any, batch: Any) -> Any:
    """[rows * batch, ...] to [rows, batch, ...]."""
    return bind(Reshape((rows, batch, *y.dims[1:])), y)


def image_rows(axes: Sequence[Any]) -> Any:
    """The row axis of ops on images in which the batches of all operands correspond."""
    found = {axis for axis in axes if axis is not None}
    return None if not found else 0 if found == {0} else MIXED


class Shaped(Op):
    """An op whose last input only gives the shape of the result, as long as the attribute `dims` does not."""

    dims: Any

    def result(self, like: TensorSpec) -> TensorSpec:
        """The spec of the result."""
        return like if self.dims is None else TensorSpec.of(self.dims, like.dtype)

    def result_shape(self, like: Any) -> tuple[int, ...]:
        """The shape of the result, from the value of the last input."""
        return like.shape if self.dims is None else self.dims  # type: ignore[no-any-return]

    def with_dims(self, dims: Any) -> Any:
        """The same op with the result's shape as attribute."""
        return type(self)(
            *[getattr(self, field) for field in self.attributes if field != "dims"], tuple(dims)
        )

    def fold(self, ctx: Any, *xs: Any) -> Any:
        return None if self.dims is not None else shaped(self, xs[:-1], xs[-1].dims, xs[-1])


def shaped(op: Any, xs: Sequence[Any], dims: Any, like: Any) -> Any:
    """A `Shaped` op bound; where `dims` is definite, `like` itself need not live on."""
    if is_definite(dims):
        return bind(op.with_dims(dims), *xs, scalar_like(0, xs[0]))
    return bind(op, *xs, like)


@define
class Patches(Op):
    """y[b, i, j, p, q, c] is element (p, q) of window (i, j) of the padded image x[b, ..., c]."""

    name = "patches"
    keeps = (False, False)
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding
    dilations: tuple[int, int]

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_image("patches", x.dims)
        if x.dims is None:
            return TensorSpec.of((None, None, None, *self.window, None), x.dtype)
        spans = self._spans()
        sizes = [
            output_size("patches", self.padding, x.dims[1 + k], spans[k], self.strides[k], k) for k in (0, 1)
        ]
        return TensorSpec.of((x.dims[0], *sizes, *self.window, x.dims[3]), x.dtype)

    def _spans(self) -> list[Any]:
        return [span(k, d) for k, d in zip(self.window, self.dilations, strict=True)]

    def pads(self, shape: Sequence[int]) -> Pads:
        """The padding of an image of this shape."""
        return pads_of(self.padding, shape[1:3], self._spans(), self.strides)

    def eval(self, x: Any) -> Any:
        return np.ascontiguousarray(
            windows(padded(x, self.pads(x.shape)), self.window, self.strides, self.dilations)
        )

    def vjp(self, ctx: Any, g: Any) -> Sequence[Any]:
        op = PatchesGrad(self.window, self.strides, self.padding, self.dilations)
        return (shaped(op, [g], ctx.shape(0), ctx.inputs[0]),)

    def batch(self, ctx: Any, x: Any) -> Any:
        return unfold_rows(bind(self, fold_rows(x)), ctx.size, x.dims[1])

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return image_rows(axes)


@define
class PatchesGrad(Shaped):
    """The transpose of patches: windows added up where they came from, into an image of the shape `dims`, or of that of
    `like`, whose values do not matter.
    """

    name = "patches_grad"
    keeps = (False, False)
    by_value = (0,)
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding
    dilations: tuple[int, int]
    dims: tuple[Size, ...] | None = None

    def infer(self, g: TensorSpec, like: TensorSpec) -> TensorSpec:
        like = self.result(like)
        require_gradient(self.name, g, self._windows().infer(like))
        return like

    def eval(self, g: Any, like: Any) -> Any:
        shape = self.result_shape(like)
        pads = self._windows().pads(shape)
        return unpadded(add_windows(g, padded_shape(shape, pads), self.strides, self.dilations), pads)

    def _windows(self) -> Any:
        return Patches(self.window, self.strides, self.padding, self.dilations)

    def vjp(self, ctx: Any, h: Any) -> Sequence[Any]:
        return bind(self._windows(), h), None

    def batch(self, ctx: Any, g: Any, like: Any) -> Any:
        dims = row_shape(ctx, self, 1, like)
        if not ctx.stacked(0):
            return ctx.unstacked(shaped(self, [g], dims, None))
        return unfold_rows(
            shaped(self, [fold_rows(g)], (ctx.size * dims[0], *dims[1:]), None), ctx.size, dims[0]
        )

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return image_rows(axes[:1])


def row_shape(ctx: Any, op: Any, last: int, like: Any) -> tuple[Any, ...]:
    """What shape the result of a `Shaped` op has in one row."""
    if op.dims is not None:
        return op.dims  # type: ignore[no-any-return]
    return tuple(like.dims[1:] if ctx.stacked(last) else like.dims)
