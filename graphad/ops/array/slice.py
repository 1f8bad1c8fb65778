"""Indexing: x[key] with ints, slices, Ellipsis, newaxis and scalar tensors; and its transpose, which writes into zeros.

Keys are encoded by `keys.py`. When sizes are known a key becomes starts, strides and sizes: a view.
"""

from __future__ import annotations

import builtins
import importlib
from collections.abc import Callable, Sequence
from typing import Any

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
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like, stands_for_tensor
from graphad.core.dims import Size
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError, OutOfRangeError
from graphad.core.kinds import require_same_dtype
from graphad.core.op import MIXED, Op, define, no_form
from graphad.core.references import ALL, entries_of, is_reference
from graphad.core.row_access import SPREADS, TAKES, RowAccess
from graphad.core.schema import Given
from graphad.core.shapes import Dims, are_compatible, format_dims, is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.array.adding import add_part
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.create import zeros, zeros_like
from graphad.ops.array.gather import Gather
from graphad.ops.array.keys import (
    FULL,
    Key,
    check_claims,
    encode,
    has_arrays,
    has_claims,
    has_steps,
    indexed_dims,
    indexed_rows,
    normal_key,
    only_index,
    python_key,
    spilled,
)
from graphad.ops.array.masks import boolean_mask
from graphad.ops.array.placed import Keyed, placed_form, taken_at
from graphad.ops.array.reshape import Reshape, expand_dims, reshape
from graphad.ops.array.shape import SizeVector, shape, sizes_of
from graphad.ops.array.sizes import require_sizes
from graphad.ops.array.strided import Slice, SliceGrad
from graphad.ops.array.support import all_stacked, static_array
from graphad.ops.array.transpose import move_axis
from graphad.ops.short import short_way

_SIMPLE = (int, builtins.slice, type(None), type(Ellipsis))


def _as_it_is(attributes: dict[str, Any]) -> dict[str, Any]:
    """Its `key` refers to the inputs behind x."""
    return attributes


# -- reading -----------------------------------------------------------------------------------------------------------


@define
class GetItem(Keyed):
    """The part of x at `key`."""

    name = "getitem"
    takes_spread = carries_masks = moves = eval_checks = True
    keeps = (False, False)
    aliases = {0: 0}
    pull_into = add_part
    key: Key
    formerly = {"getitem_at": _as_it_is}

    def row_access(self, rank: int) -> RowAccess:
        return RowAccess(TAKES, only_index(self.key, rank))

    def infer(self, x: TensorSpec) -> TensorSpec:
        return TensorSpec.of(indexed_dims(self.key, x.dims), x.dtype)

    def eval(self, x: Array) -> Array:
        key = self.key
        if has_claims(key):
            check_claims(key, np.shape(x))
        try:
            return arrays.as_array(x)[python_key(key)]  # type: ignore[no-any-return]
        except IndexError as cause:
            indexed_dims(self.key, np.shape(x))  # its error names the index
            raise OutOfRangeError(
                f"getitem: slice index out of bounds for shape {np.shape(x)}: {cause}."
            ) from cause

    def evaluator_given(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        return taken_at(self.key, specs, self.eval)

    def lower_given(self, x: TensorSpec, *numbers: TensorSpec) -> kernels.forms.Form | None:
        return placed_form("take", self.key, x.dims, len(numbers))

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        numbers = ctx.inputs[1:]
        dims = ctx.shape(0)
        if is_definite(dims):
            return (bind(GetItemGrad(self.key, dims), g, *numbers),)
        sizes = entries_of(dims, len(numbers) + 1)
        return (bind(GetItemGrad(self.key, sizes), g, *numbers, sizes_of(ctx.inputs[0])),)

    def batch(self, ctx: BatchContext, x: Ranked, *numbers: Ranked) -> Tensor:
        return bind(GetItem((FULL, *self.key)), x, *numbers)

    def batch_given(self, ctx: BatchContext, x: Ranked, *numbers: Ranked) -> Tensor:
        axis = only_index(self.key, len(x.dims) - ctx.stacked(0))
        if axis is None:
            return ctx.rowwise(self, x, *numbers)
        dtype = numbers[0].dtype
        index = numbers[0] % bind(SizeVector((x.dims[axis + ctx.stacked(0)],), dtype, True))
        if ctx.stacked(0):
            return bind(Gather(axis + 1, 1, False), x, index)
        return move_axis(bind(Gather(axis, 0, False), x, index), axis, 0)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return indexed_rows(self.key, specs[0].dims, axes[0])

    def fold(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        if x.dtype.is_integer and ctx.known(x) is not None:
            return None  # the specialiser runs `eval` on the sizes
        if has_claims(self.key):
            check_claims(self.key, x.dims)
        starts, strides, sizes = normal_key(self.key, x.dims)
        want = indexed_dims(self.key, x.dims)
        y = (
            x
            if sizes == x.dims and all(step == 1 for step in strides)
            else bind(Slice(starts, strides, sizes), x)
        )
        return y if want == sizes else bind(Reshape(want), y)


# -- the transpose, and writing ------------------------------------------------------------------------------------------


def sizes_were_first(attributes: dict[str, Any]) -> dict[str, Any]:
    """Its first input behind g is a vector of integers, `shape`; to the inputs behind that, counted from 1, `key` refers."""
    return {"key": _behind(attributes["key"], 1), "shape": ((ALL, 1),)}


def _behind(key: Any, n: int) -> tuple[Any, ...]:
    """A key whose references are to inputs that are `n` places further behind."""
    if is_reference(key):
        return (key[0], key[1] + n, *key[2:])
    return tuple([_behind(item, n) for item in key]) if type(key) is tuple else key


@define
class GetItemGrad(Keyed):
    """The transpose of the part at `key`: zeros of `shape` with g at the key."""

    name = "getitem_grad"
    eval_checks = True
    keeps = (False, False)
    key: Key
    shape: Given[tuple[Size, ...]]
    formerly = {"getitem_grad_to": sizes_were_first}

    def row_access(self, rank: int) -> RowAccess:
        return RowAccess(SPREADS, only_index(self.key, rank), 0)

    def infer(self, g: TensorSpec) -> TensorSpec:
        return g.with_dims(self.shape)

    def check_operands(self, specs: Sequence[TensorSpec]) -> None:
        part = indexed_dims(self.key, self.shape)
        if not are_compatible(part, specs[0].dims):
            raise self._no_part(specs[0].dims, part)

    def _no_part(self, dims: tuple[Any, ...] | None, part: Any) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"getitem_grad: g has shape {format_dims(dims)}; at {self.key} of shape {format_dims(self.shape)} "
            f"it must be {format_dims(part)}."
        )

    def eval(self, g: Array) -> Array:
        require_sizes("getitem_grad", self.shape)
        out, key = arrays.zeros(self.shape, g.dtype, g), python_key(self.key)
        try:
            part = np.shape(out[key])
        except IndexError as cause:
            raise InvalidArgumentError(
                f"getitem_grad: {self.key} is out of bounds for shape {self.shape}: {cause}."
            ) from cause
        if part != np.shape(g):  # the assignment would broadcast g
            raise self._no_part(np.shape(g), part)
        out[key] = g
        return out

    def whole(self, dims: Dims) -> Dims:
        return self.shape

    def lower_given(self, g: TensorSpec, *numbers: TensorSpec) -> kernels.forms.Form | None:
        return placed_form("spread", self.key, self.shape, len(numbers))

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        op = GetItem(self.key)
        return (bind(op, h, *ctx.inputs[1 : 1 + op.given]),)

    def batch(self, ctx: BatchContext, g: Ranked, *given: Ranked) -> Tensor:
        return bind(GetItemGrad((FULL, *self.key), (g.dims[0], *self.shape)), g, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        if axes[0] is None:
            return None
        for axis, size in enumerate(self.shape):
            if indexed_rows(self.key, self.shape, axis) == axes[0]:
                return axis if is_reference(size) or size == specs[0].dims[axes[0]] else MIXED  # type: ignore[index]
        return MIXED

    def fold(self, ctx: FoldContext, g: Ranked) -> Tensor | None:
        starts, strides, sizes = normal_key(self.key, self.shape)
        y = g if g.dims == sizes else bind(Reshape(sizes), g)
        if sizes == self.shape and all(step == 1 for step in strides):
            return y
        return bind(SliceGrad(starts, strides, self.shape), y)


@define
class SliceUpdate(Op):
    """x with the part at `key` replaced by `value`, which has the shape of that part."""

    name = "slice_update"
    eval_checks = True
    keeps = (True, False)
    key: Key
    lower = no_form("NumPy writes a part whose place the program says into a copy of the rest")

    def infer(self, x: TensorSpec, value: TensorSpec) -> TensorSpec:
        part = indexed_dims(self.key, x.dims)
        require_same_dtype("slice_update", value, x, ("value", "x"))
        if part is not None and is_definite(part) and is_definite(value.dims) and part != value.dims:
            raise _other_part(value.dims, part)
        return x

    def eval(self, x: Array, value: Array) -> Array:
        out, key = arrays.copy(x), python_key(self.key)
        try:
            part = out[key].shape
        except IndexError as cause:
            raise InvalidArgumentError(
                f"slice_update: slice index out of bounds for shape {np.shape(x)}: {cause}."
            ) from cause
        if part != np.shape(value):
            raise _other_part(np.shape(value), part)
        out[key] = value
        return out

    def lower_given(
        self, x: TensorSpec, value: TensorSpec, *numbers: TensorSpec
    ) -> kernels.forms.Form | None:
        return placed_form("put", self.key, x.dims, len(numbers))

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        numbers = ctx.inputs[2:]
        part = bind(GetItem(self.key), g, *numbers)
        x_bar = bind(self, g, zeros_like(part), *numbers) if ctx.needs(0) else None
        return (x_bar, part if ctx.needs(1) else None)

    def batch(self, ctx: BatchContext, x: Ranked, value: Ranked, *numbers: Ranked) -> Tensor:
        x, value = all_stacked(ctx, (x, value))
        return bind(SliceUpdate((FULL, *self.key)), x, value, *numbers)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        (x, value), dims = axes, specs[0].dims
        if value is None:
            return x
        for axis in range(len(dims or ())):
            if x in (None, axis) and indexed_rows(self.key, dims, axis) == value:
                return axis
        return MIXED


def _other_part(dims: tuple[Any, ...], part: tuple[Any, ...]) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"slice_update: value has shape {format_dims(dims)}, the part has shape {format_dims(part)}; they must be equal."
    )


# -- public ----------------------------------------------------------------------------------------------------------------


def _picked(x: EagerTensor, key: Any) -> Tensor | None:
    """The part at a key of Python's own."""
    kind = type(key)
    if kind in _SIMPLE or (kind is tuple and all(type(k) in _SIMPLE for k in key)):
        try:
            y = x.data[key]
        except (IndexError, TypeError):
            return None  # the usual way raises the proper error
        return EagerTensor(y if y.ndim else y[()])
    return None


@short_way(_picked)
def getitem(x: object, key: Any) -> Tensor:
    """x[key], as `Tensor.__getitem__`.

    Args:
      x: Tensor.
      key: Ints, slices, `...`, None, scalar integer tensors, arrays of integers and masks, or a tuple of these, with NumPy's
        meaning.
    Raises:
      InvalidArgumentError (a ValueError): an index is out of range, or there are too many.
      ArgumentTypeError (a TypeError): something else in the key.
    """
    kind = type(key)
    is_simple = kind in _SIMPLE or (kind is tuple and all(type(k) in _SIMPLE for k in key))
    x = lift(x)
    if kind is list and any(k is None or k is Ellipsis or type(k) is builtins.slice for k in key):
        return getitem(x, tuple(key))  # a list with entries that no index array has
    if not is_simple:
        key = _lifted(key)
        if _is_mask(key):
            return _masked(x, lift(key))
        if has_arrays(key):
            # Imported by name, since few programs need it.
            picked: Tensor = importlib.import_module("graphad.ops.array.advanced").pick(x, key, getitem)
            return picked
    if has_steps(key):
        spread: Tensor = importlib.import_module("graphad.ops.array.stepped").pick_steps(x, key, getitem)
        return spread
    given: list[Any] = []
    encoded = encode(key, given)
    if x.has_value:
        encoded = spilled(encoded, given)
    return bind(GetItem(encoded), x, *given)


def _lifted(key: Any) -> Any:
    """A key with convertible objects as tensors, so that a variable in it is read once; inner tuples are arrays, as lists are."""
    if type(key) is tuple:
        return tuple([_lifted(list(item) if type(item) is tuple else item) for item in key])
    return lift(key) if stands_for_tensor(key) else key


def _is_mask(key: Array | Tensor | tuple[Any, ...] | None) -> bool:
    if isinstance(key, Tensor):
        return bool(key.dtype.is_bool)
    return isinstance(key, np.ndarray) and key.dtype == bool


def _masked(x: Tensor, mask: Tensor) -> Tensor:
    """x[mask]: a scalar mask selects all or nothing; a mask with an axis of size 0 selects nothing, whatever the size of x
    there."""
    if mask.dims == ():
        return boolean_mask(expand_dims(x, 0), reshape(mask, [1]))
    if x.dims is not None and mask.dims is not None:
        over = x.dims[: len(mask.dims)]
        if len(over) < len(mask.dims) or not all(
            size == 0 or are_compatible((size,), (of_x,)) for of_x, size in zip(over, mask.dims, strict=True)
        ):
            raise OutOfRangeError(
                f"getitem: boolean_mask: Shapes {format_dims(over)} and {format_dims(mask.dims)} are incompatible: the mask must "
                f"have the first sizes of the tensor, whose shape is {format_dims(x.dims)}."
            )
        if 0 in mask.dims and mask.dims != over and is_definite(x.dims):
            return zeros((0, *x.dims[len(over) :]), x.dtype)
    return boolean_mask(x, mask)


def slice_update(x: TensorLike, key: object, value: TensorLike) -> Tensor:
    """`x` with the part at `key` replaced by `value`, broadcast to the part: what x[key] = value would give.

    Args:
      x: Tensor.
      key: As for x[key].
      value: Tensor or number; the gradient reaches both.
    """
    x = lift(x)
    value = lift_like("slice_update", value, x.dtype)
    given: list[Any] = []
    encoded = encode(key, given)
    part = indexed_dims(encoded, x.dims)
    if not is_definite(part):
        value = broadcast_to(value, shape(bind(GetItem(encoded), x, *given)))
    elif value.dims != part:
        try:
            value = broadcast_to(value, part)
        except InvalidArgumentError as cause:
            raise InvalidArgumentError(
                f"assign: a value with shape {format_dims(value.dims)} does not fit the slice, which has shape "
                f"{format_dims(part)}; the whole has shape {format_dims(x.dims)}."
            ) from cause
    return bind(SliceUpdate(encoded), x, value, *given)


@blaming
def strided_slice(
    input_: TensorLike,
    begin: TensorLike,
    end: TensorLike,
    strides: int | Sequence[int] | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    *,
    name: str | None = None,
) -> Tensor:
    """input_[begin:end:strides] along each axis, with bit masks for the other kinds of key entries.

    Args:
      input_: Tensor [...] of any dtype.
      begin, end, strides: One entry for each leading axis; strides are 1 by default.
      begin_mask, end_mask: Bit i: ignore begin[i] or end[i].
      ellipsis_mask, new_axis_mask, shrink_axis_mask: Bit i: entry i is `...`, a new axis, or an index.
    Returns: Tensor of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the entries do not fit each other or the rank, a stride is 0, or an index is
      out of range.
    """
    first, last = static_array(begin), static_array(end)
    for given, word in (
        (first, "begin"),
        (last, "end"),
        (static_array(strides) if strides is not None else None, "strides"),
    ):
        if given is not None and (given.ndim != 1 or (given.size and given.dtype.kind not in "iu")):
            raise ArgumentTypeError(
                f"strided_slice: {word} must be a vector of integers, got {given.dtype.name} of shape {given.shape}."
            )
    step = (
        np.ones(len(first) if first is not None else 0, np.int32)
        if strides is None
        else static_array(strides)
    )
    if first is None or last is None or step is None:
        raise ArgumentTypeError(
            "strided_slice: begin, end and strides must be known while tracing; use x[a:b] with tensors."
        )
    if not len(first) == len(last) == len(step):
        raise InvalidArgumentError(
            f"strided_slice: begin, end and strides have {len(first)}, {len(last)} and {len(step)} entries; they must have "
            "equally many."
        )
    key: list[Any] = []
    first, last, step = first.tolist(), last.tolist(), step.tolist()
    for i in range(len(first)):
        bit = 1 << i
        if ellipsis_mask & bit:
            key.append(Ellipsis)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            key.append(first[i])
        else:
            start = None if begin_mask & bit else first[i]
            stop = None if end_mask & bit else last[i]
            key.append(builtins.slice(start, stop, step[i]))
    return getitem(input_, tuple(key))
