"""The stacks that a loop writes: one array, or a list of slices if these differ in shape.

Residuals of a loop may differ in shape from step to step, for instance the stacks of an inner loop with varying numbers of
steps. Loops that walk such a stack see a list of slices; other ops see an array padded with zeros. The stack of a loop without
steps, whose slice sizes or rank are unknown, is of this kind too: its slices are None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.errors import InvalidArgumentError
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor

if TYPE_CHECKING:
    from graphad.core.annotations import Array, DTypeLike
    from graphad.core.tensor import Tensor


class RaggedStack(np.ndarray):
    """Slices of several shapes, padded; `slices` has the original ones, None for unknown ones.

    The result of an op on such a stack is an ordinary array, except for a transpose (a loop over rows exchanges the axes of
    rows and steps), for zeros like it, and for sums of two: the cotangents of a stack have its slices.
    """

    slices: list[Any] | None = None
    axis = 0  # the axis of the slices
    has_rank = True  # False if no step ran and the rank of a slice is unknown

    def transpose(self, *axes: Any) -> Any:
        stack = super().transpose(*axes)
        given = axes[0] if len(axes) == 1 else axes
        if self.slices is not None:
            order = [i % self.ndim for i in given] if given else list(range(self.ndim))[::-1]
            within = [i - (i > self.axis) for i in order if i != self.axis]
            stack.slices = [None if y is None else _moved(y, within) for y in self.slices]
            stack.axis = order.index(self.axis)
        return stack

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is np.add and method == "__call__" and not options:
            a, b = inputs
            if _has_slices(a) and _has_slices(b) and a.axis == b.axis and len(a.slices) == len(b.slices):
                slices = [_sum(x, y) for x, y in zip(a.slices, b.slices, strict=True)]
                has_rank = a.has_rank or b.has_rank
                return _with_slices(np.add(np.asarray(a), np.asarray(b)), slices, a.axis, has_rank)
        if "out" in options:
            options["out"] = tuple(map(_plain, options["out"]))
        return getattr(ufunc, method)(*map(_plain, inputs), **options)

    def known_shape(self) -> tuple[int | None, ...] | None:
        """The shape as far as all slices share it."""
        return known_shape(self)

    def full_like(self, value: Any, dtype: Any) -> RaggedStack | np.ndarray:
        """The same number everywhere, in slices of the same shapes."""
        whole = np.full(self.shape, value, dtype)
        if self.slices is None:
            return whole
        slices = [None if y is None else full_like(y, value, dtype) for y in self.slices]
        return _with_slices(whole, slices, self.axis, self.has_rank)


def _plain(x: Array | RaggedStack) -> Array:
    return np.asarray(x) if isinstance(x, RaggedStack) else x


def _has_slices(x: object) -> bool:
    return type(x) is RaggedStack and x.slices is not None


def _with_slices(whole: Array, slices: list[Any], axis: int, has_rank: bool) -> RaggedStack:
    stack = whole.view(RaggedStack)
    stack.slices, stack.axis, stack.has_rank = slices, axis, has_rank
    return stack


def _sum(x: Array, y: Array) -> Any:
    return y if x is None else x if y is None else np.add(x, y)


def full_like(x: Array, value: int, dtype: DTypeLike | None) -> Any:
    """An array with the shape of `x`, slices included, and the same number everywhere."""
    return x.full_like(value, dtype) if type(x) is RaggedStack else np.full(np.shape(x), value, dtype)


def _moved(y: Any, order: Sequence[int]) -> Any:
    """A slice with its axes permuted. A slice that no step has written may have fewer axes."""
    return y.transpose(order) if y.ndim == len(order) else y


def is_ragged(stack: Array) -> bool:
    """Whether it is a ragged stack with slices along the first axis."""
    return type(stack) is RaggedStack and stack.slices is not None and not stack.axis


def known_shape(x: Array | RaggedStack) -> tuple[int | None, ...] | None:
    """The shape of a value as far as all slices share it, None for an unknown rank; padded sizes are unknown."""
    if type(x) is not RaggedStack or x.slices is None:
        return x.shape
    if not x.has_rank:
        return None
    shapes = {known_shape(y) for y in x.slices if y is not None and y.ndim == x.ndim - 1} - {None}
    sizes = [found[0] if len(set(found)) == 1 else None for found in zip(*shapes, strict=True)]
    # Without slices, a nonzero size is one that all slices would have; see `closed_stack`.
    sizes = sizes or [size or None for size in (*x.shape[: x.axis], *x.shape[x.axis + 1 :])]
    return (*sizes[: x.axis], len(x.slices), *sizes[x.axis :])


def known_spec(x: Any) -> TensorSpec:
    """The spec of a tensor as far as all slices share it."""
    if type(x) is EagerTensor and type(x.data) is RaggedStack:
        return TensorSpec.of(known_shape(x.data), x.dtype)
    return x.spec  # type: ignore[no-any-return]  # of a variable too, or of a generator's state


def known_dims(x: Tensor) -> tuple[Any, ...] | None:
    """The shape of a tensor as far as all slices share it."""
    return known_shape(x.data) if type(x) is EagerTensor and type(x.data) is RaggedStack else x.dims


def walked(stack: Any) -> Any:
    """The sequence that step i of a loop indexes with i."""
    return stack.slices if is_ragged(stack) else stack


def new_stack(length: int, written: int, y: Array) -> Array | list[None]:
    """Memory for all slices; zeros if not all will be written."""
    if is_ragged(y):
        return [None] * length
    return (np.empty if length == written else np.zeros)((length, *y.shape), y.dtype)


def put(stack: Any, i: int, y: Any, may_differ: bool) -> Any:
    """Write slice i; returns the stack, which becomes a list at the first slice of another shape."""
    if type(stack) is not list:
        if stack.shape[1:] == y.shape and not is_ragged(y):
            stack[i] = y
            return stack
        if not may_differ:
            raise _differs(i, y.shape, stack.shape[1:])
        stack = list(stack)
    stack[i] = y
    return stack


def apart_from(y: Any) -> Any:
    """A slice that waits for the others, copied where it would hold the memory of something larger."""
    whole = getattr(y, "base", None)
    return y.copy() if type(y) is np.ndarray and type(whole) is np.ndarray and whole.size > y.size else y


def closed_stack(slices: Any, length: int, spec: TensorSpec, may_differ: bool) -> Array | RaggedStack:
    """The stack of the collected slices; without steps, zeros with the known sizes."""
    if slices is None or not len(slices):
        dims = tuple([0 if size is None else size for size in spec.dims or ()])
        stack = np.zeros((max(length, 0), *dims), spec.dtype.numpy)
        if may_differ and (spec.dims is None or None in spec.dims):
            # No step ran, so the sizes of a slice are unknown.
            return _with_slices(stack, [None] * len(stack), 0, spec.dims is not None)
        return stack
    if type(slices) is np.ndarray:
        return slices
    dtype = spec.dtype.numpy
    if any(y is None for y in slices):
        empty = np.zeros_like(next(y for y in slices if y is not None))
        slices = [empty if y is None else y for y in slices]
    first = slices[0].shape
    ragged = any(is_ragged(y) for y in slices)
    for i, y in enumerate(slices):
        if y.shape != first:
            if not may_differ:
                raise _differs(i, y.shape, first)
            ragged = True
    return _padded(slices, dtype) if ragged else np.array(slices, dtype)


def _padded(slices: Sequence[Any], dtype: np.dtype[Any]) -> RaggedStack:
    rank = max(y.ndim for y in slices)
    like = [y.shape for y in slices if y.ndim == rank]
    stack = np.zeros(
        (len(slices), *map(max, *like)) if len(like) > 1 else (len(slices), *like[0]), dtype
    ).view(RaggedStack)
    for i, y in enumerate(slices):
        if y.ndim == rank:
            place: tuple[Any, ...] = (i, *[slice(size) for size in y.shape])
            stack[place] = y
    stack.slices = list(slices)
    return stack


def _differs(i: int, shape: object, other: object) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"loop: a value that is collected has shape {shape} in step {i} and {other} in another; "
        "what a loop collects must have one shape in all steps."
    )
