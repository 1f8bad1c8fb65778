"""Padding: with a value, or with a mirror image of the tensor."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    FoldContext,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_like
from graphad.core.dims import UNKNOWN
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import require_same_dtype
from graphad.core.op import MIXED, Op, define, no_form
from graphad.core.references import ALL, AT
from graphad.core.schema import Given
from graphad.core.shapes import format_dims, is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import as_dtype_of, widened
from graphad.ops.array.sizes import partly_known
from graphad.ops.array.slice import GetItem
from graphad.ops.array.strided import Slice
from graphad.ops.array.support import static_integers
from graphad.ops.rules import scalar_like

if TYPE_CHECKING:
    from graphad.devices.array import DeviceArray


Pairs = tuple[tuple[Any, Any], ...]


def _padded(
    op: str, dims: tuple[Any, ...] | None, pairs: Pairs | None
) -> tuple[Any | None, ...] | tuple[None, ...] | None:
    if dims is None:
        return None if pairs is None else (None,) * len(pairs)
    if pairs is None:
        return (None,) * len(dims)
    if len(dims) != len(pairs):
        raise InvalidArgumentError(
            f"{op}: paddings has {len(pairs)} rows, tensor has shape {format_dims(dims)}; "
            "give one row for each axis."
        )
    return tuple(
        [
            None if size is None or pair is None else size + pair[0] + pair[1]
            for size, pair in zip(dims, pairs, strict=True)
        ]
    )


def paddings_were_input(attributes: dict[str, Any]) -> dict[str, Any]:
    """Its `paddings` are the last input, a matrix [rank, 2] of integers."""
    return {"paddings": ((ALL, 1),)}


@define
class Pad(Op):
    """x with (before, after) elements of the scalar `value` along each axis."""

    name = "pad"
    takes_spread = carries_masks = True
    total = True
    keeps = (False, False)
    paddings: Given[Pairs]
    formerly = {"pad_to": paddings_were_input}

    def infer(self, x: TensorSpec, value: TensorSpec) -> TensorSpec:
        _require_fill(x, value)
        return x.with_dims(_padded("pad", x.dims, self.paddings))

    def parts_of(
        self, whole: kernels.sites.Site, sites: Sequence[kernels.sites.Site], number: Callable[[int], Any]
    ) -> list[kernels.sites.Part] | None:
        fill = number(1)
        if fill is None:
            return None
        offset: Any = 0
        for (low, _), stride in zip(self.paddings, whole.strides, strict=True):
            offset = offset + low * stride
        return [
            kernels.sites.Part(fill, whole),
            kernels.sites.Part(
                sites[0], kernels.sites.Site(whole.root, sites[0].shape, whole.strides, offset)
            ),
        ]

    def eval(self, x: Array, value: Array) -> Array:
        return _pad(x, value, self.paddings)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        if self.refers:
            return (bind(PadInner(self.paddings), g, *ctx.inputs[2:]), None)
        return (_inner(g, self.paddings, ctx.shape(0)), None)

    def batch(self, ctx: BatchContext, x: Ranked, value: Ranked, *given: Ranked) -> Tensor:
        if ctx.stacked(1):
            return ctx.rowwise(self, x, value, *given)
        return bind(Pad(((0, 0), *self.paddings)), x, value, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        if axes[1] is not None:
            return MIXED
        return axes[0] if axes[0] is None or self.paddings[axes[0]] == (0, 0) else MIXED


def _require_paddings(paddings: Array) -> None:
    if paddings.size and np.minimum.reduce(paddings, None) < 0:
        raise InvalidArgumentError(f"pad: Paddings must be non-negative, got {paddings.tolist()}.")


def _require_fill(x: TensorSpec, value: TensorSpec) -> None:
    require_same_dtype("pad", value, x, ("constant_values", "tensor"))
    if value.dims is not None and value.dims != ():
        raise InvalidArgumentError(
            f"pad: constant_values has shape {format_dims(value.dims)}; a scalar is needed."
        )


def _pad(x: DeviceArray | Array, value: DeviceArray | Array, pairs: tuple[tuple[int, ...], ...]) -> Array:
    dims = [size + int(low) + int(high) for size, (low, high) in zip(np.shape(x), pairs, strict=True)]
    if type(x) is np.ndarray:
        return _framed(x, value, dims, pairs)
    out = arrays.full(dims, value, x.dtype, x)
    out[
        tuple(slice(int(low), int(low) + size) for size, (low, _) in zip(np.shape(x), pairs, strict=True))
    ] = x
    return out


def _framed(
    x: Array, value: Array | DeviceArray, dims: Sequence[int], pairs: Sequence[tuple[int, ...]]
) -> np.ndarray:
    """x in an array of `value`, each element of which is written once."""
    out = np.empty(dims, x.dtype)
    inner = tuple([slice(low, low + size) for size, (low, _) in zip(x.shape, pairs, strict=True)])
    out[inner] = x
    for axis, (low, high) in enumerate(pairs):
        if low:
            out[(*inner[:axis], slice(low))] = value
        if high:
            out[(*inner[:axis], slice(low + x.shape[axis], None))] = value
    return out


def _inner(g: Tensor, pairs: Pairs, dims: tuple[Any, ...] | None) -> Tensor | None:
    """The part of g inside the padding."""
    if is_definite(dims):
        return bind(Slice(tuple(low for low, _ in pairs), (1,) * len(pairs), tuple(dims)), g)
    key = tuple(("slice", low, -high if high else None, None, None) for low, high in pairs)
    return bind(GetItem(key), g)


def _are_inside(paddings: tuple[tuple[Any, Any], ...], shape: Sequence[int]) -> bool:
    """Whether each axis is long enough to remove this much from both ends."""
    pairs = zip(np.asarray(paddings).tolist(), shape, strict=True)
    return all(low >= 0 and high >= 0 and low + high <= size for (low, high), size in pairs)


@define
class PadInner(Op):
    """What is left of x when (before, after) elements are cut off along each axis: the transpose of pad."""

    name, version = "pad_inner", 2
    keeps = (False, False)
    paddings: Given[Pairs]

    @classmethod
    def upgrade(cls, version: int, attributes: dict[str, Any]) -> dict[str, Any]:
        return paddings_were_input(attributes)

    def infer(self, x: TensorSpec) -> TensorSpec:
        cut = self.paddings if self.paddings is None else _negative(self.paddings)
        return x.with_dims(_padded(self.name, x.dims, cut))

    def eval(self, x: Array) -> Array:
        if not _are_inside(self.paddings, x.shape):
            raise InvalidArgumentError(
                f"{self.name}: x has shape {x.shape}, from which paddings {list(self.paddings)} cannot be cut off."
            )
        return x[
            tuple([slice(low, size - high) for size, (low, high) in zip(x.shape, self.paddings, strict=True)])
        ]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(Pad(self.paddings), g, lift(g.dtype.numpy.type(0)), *ctx.inputs[1:]),)

    def batch(self, ctx: BatchContext, x: Ranked, *given: Ranked) -> Tensor:
        return bind(PadInner(((0, 0), *self.paddings)), x, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return axes[0] if axes[0] is None or self.paddings[axes[0]] == (0, 0) else MIXED

    def fold(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return _inner(x, self.paddings, self.infer(x.spec).dims)


def _negative(pairs: tuple[tuple[int, ...] | None, ...]) -> tuple[Any, ...]:
    return tuple([None if pair is None else (-pair[0], -pair[1]) for pair in pairs])


@define
class MirrorPad(Op):
    """x continued by its mirror image along each axis, by (before, after) elements: "reflect" does not repeat the edge,
    "symmetric" does.
    """

    name = "mirror_pad"
    keeps = (False, False)
    paddings: Pairs
    mode: Literal["reflect", "symmetric"]
    lower = no_form("mirrored borders are written by NumPy, axis by axis")

    def infer(self, x: TensorSpec) -> TensorSpec:
        most = 1 if self.mode == "reflect" else 0
        for axis, (low, high) in enumerate(self.paddings):
            size = None if x.dims is None or len(x.dims) != len(self.paddings) else x.dims[axis]
            if size is not None and (low or high) and not (low <= size - most and high <= size - most):
                raise InvalidArgumentError(
                    f"pad: paddings ({low}, {high}) at axis {axis} are larger than mode {self.mode} allows for size {size}: "
                    f"at most {size - most}."
                )
        return x.with_dims(_padded("pad", x.dims, self.paddings))

    def eval(self, x: Array) -> Array:
        return np.pad(x, self.paddings, mode=self.mode)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(MirrorPadGrad(self.paddings, self.mode), g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(MirrorPad(((0, 0), *self.paddings), self.mode), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return axes[0] if axes[0] is None or self.paddings[axes[0]] == (0, 0) else MIXED


@define
class MirrorPadGrad(Op):
    """The transpose of mirror_pad: what lies outside is added to where it was copied from."""

    name = "mirror_pad_grad"
    keeps = (False, False)
    paddings: Pairs
    mode: Literal["reflect", "symmetric"]
    lower = no_form("mirrored borders are added by NumPy, axis by axis")

    def infer(self, g: TensorSpec) -> TensorSpec:
        if g.dims is None:
            return g.with_dims((None,) * len(self.paddings))
        if len(g.dims) != len(self.paddings):
            raise InvalidArgumentError(
                f"{self.name}: g has shape {format_dims(g.dims)}, the paddings {self.paddings} are for {len(self.paddings)} axes."
            )
        pairs = zip(g.dims, self.paddings, strict=True)
        found = g.with_dims(tuple(None if n is None else n - low - high for n, (low, high) in pairs))
        MirrorPad(self.paddings, self.mode).infer(found)  # checks the paddings that a mirror allows
        return found

    def eval(self, g: Array) -> Array:
        for axis, (low, high) in enumerate(self.paddings):
            if not low and not high:
                continue
            size = g.shape[axis] - low - high
            edge = int(self.mode == "reflect")
            wide = np.moveaxis(widened(g), axis, 0)
            y = np.zeros((*g.shape[:axis], size, *g.shape[axis + 1 :]), wide.dtype)
            out = np.moveaxis(y, axis, 0)
            out[edge : edge + low] += wide[:low][::-1]
            out += wide[low : low + size]
            out[size - edge - high : size - edge] += wide[low + size :][::-1]
            g = as_dtype_of(y, g)
        return g

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        return (bind(MirrorPad(self.paddings, self.mode), h),)

    def batch(self, ctx: BatchContext, g: Ranked) -> Tensor:
        return bind(MirrorPadGrad(((0, 0), *self.paddings), self.mode), g)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return axes[0] if axes[0] is None or self.paddings[axes[0]] == (0, 0) else MIXED


def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    constant_values: TensorLike = 0,
    name: str | None = None,
) -> Tensor:
    """`tensor` with elements put before and after it along each axis.

    Args:
      tensor: Tensor of any dtype.
      paddings: Integers [rank, 2]: how many before and after, for each axis.
      mode: "CONSTANT"; "REFLECT", the mirror image without the edge; "SYMMETRIC", with it. Case does not matter.
      constant_values: The scalar for mode CONSTANT; its gradient is None.
    Returns: Tensor of the same dtype, larger by the paddings.
    Raises: InvalidArgumentError: the paddings have another shape, are negative, or larger than a mirror allows.
    Example:
      >>> pad([1, 2], [[1, 2]]).numpy()
      array([0, 1, 2, 0, 0], dtype=int32)
    """
    x = lift(tensor)
    kind: Any = mode.lower() if isinstance(mode, str) else None
    if kind not in ("constant", "reflect", "symmetric"):
        raise InvalidArgumentError(
            f"pad: Unknown padding mode: {mode!r}; it is CONSTANT, REFLECT or SYMMETRIC."
        )
    values = static_integers(paddings)
    if values is None:
        if kind != "constant":
            mirroring = importlib.import_module("graphad.ops.array.mirroring")
            return mirroring.mirrored(x, lift(paddings), kind == "symmetric")  # type: ignore[no-any-return]
        given = lift(paddings)
        return bind(Pad(_rows_of(given)), x, _fill(constant_values, x), given)
    if not values.size:
        values = values.reshape(0, 2)
    if values.ndim != 2 or values.shape[1] != 2 or values.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"pad: paddings has shape {values.shape}; integers of shape (rank, 2) are needed."
        )
    _require_paddings(values)
    pairs = tuple([(low, high) for low, high in values.tolist()])
    if kind != "constant":
        return bind(MirrorPad(pairs, kind), x)
    return bind(Pad(pairs), x, _fill(constant_values, x))


def _rows_of(paddings: Tensor) -> Pairs:
    """Paddings that a tensor holds: the rows of which both numbers are known while tracing as numbers, references elsewhere."""
    known = partly_known(paddings)
    if known is None or known.ndim != 2 or known.shape[1] != 2 or not len(known):
        return ((ALL, 1),)
    rows: list[Any] = [
        (AT, 1, k) if low == UNKNOWN or high == UNKNOWN else (int(low), int(high))
        for k, (low, high) in enumerate(known.tolist())
    ]
    return tuple(rows)


def _fill(value: TensorLike, x: Tensor) -> Tensor:
    """The padding value as a tensor; a plain 0 fits every dtype, booleans too."""
    if isinstance(value, bool | int | float | complex) and not value:
        return scalar_like(0, x)
    return lift_like("pad", value, x.dtype)
