"""Requested shapes: known sizes as numbers, the others as an integer tensor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

import numpy as np

from graphad.core.convert import lift, stands_for_tensor
from graphad.core.dims import UNKNOWN, Dim
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.kinds import INTEGER, require_kind
from graphad.core.references import AT, entries_of, is_reference
from graphad.core.refusal import members
from graphad.core.schema import too_many_axes
from graphad.core.shapes import MOST_AXES, TensorShape, is_definite, require_possible
from graphad.core.tensor import EagerTensor, Tensor


def known_value(x: Any) -> Any:
    """The NumPy value of a tensor if it is known, else None.

    That is an eager tensor, a constant of the trace it belongs to, or integers that follow from sizes known there.
    """
    return x.known if isinstance(x, Tensor) else None


def partly_known(x: Any) -> Any:
    """The same, with `UNKNOWN` for numbers that are known only at run time."""
    known = known_value(x)
    trace = getattr(x, "trace", None)
    return known if known is not None or trace is None else trace.builder.folded.get(x.index)


def whole_or_same(given: Any) -> Any:
    """A tensor of one float that is whole as an integer, as TensorFlow takes it for a size; all else as it is."""
    if type(given) is not EagerTensor or given.data.ndim or given.data.dtype.kind != "f":
        return given
    return int(given.data) if given.data == np.rint(given.data) else given


def whole_numbers(data: Any) -> Any:
    """An array of floats that are whole, or of integers of other classes, as one of integers; all else as it is."""
    kind = data.dtype.kind
    if kind == "f" and bool(np.all(data == np.rint(data)) and np.isfinite(data).all()):
        return data.astype(np.int64)
    if kind == "O":
        try:
            return np.array([index(item) for item in data.flat], np.int64).reshape(data.shape)
        except (TypeError, OverflowError):  # no integers, unknown Dimensions, or more than 64 bits hold
            return data
    return data


def is_one_size(shape: object) -> bool:
    """Whether a shape as NumPy takes it is the one size of a vector; every array has `__index__`, also one of several sizes."""
    return hasattr(shape, "__index__") and getattr(shape, "ndim", 0) == 0


def static_sizes(op: str, shape: Any) -> list[Any] | None:
    """The sizes of a requested shape as numbers, None if some are known only at run time."""
    # Mostly plain integers, so items are not checked one by one.
    if type(shape) is list or type(shape) is tuple:
        for item in shape:
            if type(item) is not int:
                break
        else:
            return list(shape)
    if isinstance(shape, TensorShape):
        return shape.as_list() if shape.is_fully_defined() else None
    if isinstance(shape, np.ndarray):
        shape = whole_numbers(shape)
    if isinstance(shape, np.ndarray) or stands_for_tensor(shape):
        is_plain = isinstance(shape, np.ndarray) and shape.dtype.kind in "iu"
        data = shape if is_plain else known_value(require_kind(op, lift(shape), INTEGER, "shape"))
        return None if data is None else [int(size) for size in np.ravel(data)]
    if not hasattr(shape, "__index__") and not isinstance(shape, Iterable):
        raise ArgumentTypeError(
            f"{op}: {shape!r} is not a shape; give integers, [3, 4], or a tensor of them."
        )
    items = [shape] if hasattr(shape, "__index__") else members(op, "shape", shape, "give integers, [3, 4]")
    out: list[Any] = []
    for item in items:
        if isinstance(item, Dim):
            out.append(item)
            continue
        data = item
        if stands_for_tensor(item):
            item = whole_or_same(item)
            data = known_value(lift(item))
            if data is None:
                return None
        if isinstance(data, list | tuple):
            raise InvalidArgumentError(
                f"{op}: {item!r} is not a size; a shape is a vector of integers, as [3, 4]."
            )
        if not hasattr(data, "__index__"):
            raise _no_size(op, repr(item))
        try:
            out.append(data.__index__())
        except TypeError as cause:  # an array of several, or of floats
            raise _no_size(op, " ".join(repr(item).split())[:60]) from cause
    return out


def _no_size(op: str, shown: str) -> ArgumentTypeError:
    cure = ""
    if shown == "None":
        cure = " None in x.shape is a size that is known at run time only: take it from tf.shape(x)"
        cure += ", or let reshape find one by -1." if op == "reshape" else "."
    return ArgumentTypeError(f"{op}: {shown} is not a size; sizes are integers.{cure}")


def requested(op: str, shape: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """A requested shape as an attribute, and the inputs that it refers to: those sizes that are not known while tracing."""
    sizes = static_sizes(op, shape)
    if sizes is not None:
        return tuple(sizes), ()
    if stands_for_tensor(shape):
        vector = lift(shape)
        found = partly_known(vector)
        if found is None or found.ndim != 1:
            dims = vector.dims
            entries = entries_of((None,) * dims[0] if dims and type(dims[0]) is int else None)
        else:
            entries = entries_of([None if size == UNKNOWN else int(size) for size in found])
        return entries, (vector,) if any(map(is_reference, entries)) else ()
    given: list[Any] = []
    listed = []
    for item in shape:
        size = _static_size(op, item)
        if size is None:
            given.append(lift(item))
        listed.append((AT, len(given)) if size is None else size)
    return tuple(listed), tuple(given)


def joined(*parts: tuple[Any, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Sizes joined from parts, as an attribute, and the inputs that it refers to.

    Args:
      parts: (what is known of some sizes, the vector that holds them).
    """
    entries: list[Any] = []
    given: list[Any] = []
    for dims, vector in parts:
        if not is_definite(dims):
            given.append(vector)
        entries += entries_of(dims, len(given))
    return tuple(entries), tuple(given)


def require_sizes(op: str, sizes: Sequence[Any], word: str = "shape") -> None:
    """Raises: InvalidArgumentError: a size is negative; one that is only known at run time (None, a symbol) passes."""
    if len(sizes) > MOST_AXES:
        raise InvalidArgumentError(f"{op}: {word} {too_many_axes(len(sizes))}.")
    for size in sizes:
        if isinstance(size, int) and size < 0:
            raise InvalidArgumentError(
                f"{op}: {word} {tuple(sizes)} has a negative size; sizes are 0 or more."
            )
    require_possible(op, tuple(sizes))


def require_count(op: str, count: object, word: str) -> None:
    """Raises: InvalidArgumentError: a number that is known is negative."""
    if isinstance(count, int) and count < 0:
        raise InvalidArgumentError(f"{op}: {word} is {count}; it must be 0 or more.")


def shape_was_claimed(attributes: dict[str, Any]) -> dict[str, Any]:
    """Its `shape` is the last input, a vector of integers; `static`, where it has one that is not nil, says what is known of it:
    a tuple with nil for each size that only the input has.
    """
    rest = {name: value for name, value in attributes.items() if name != "static"}
    return rest | {"shape": entries_of(attributes.get("static"))}


def num_was_input(attributes: dict[str, Any]) -> dict[str, Any]:
    """Its `num` is the last input, an integer scalar."""
    return {**attributes, "num": (AT, 1)}


def _static_size(op: str, item: object) -> Any:
    """A size as a number or symbol, None where it is only known at run time."""
    if isinstance(item, Dim):
        return item
    if stands_for_tensor(item):
        value = known_value(lift(item))
        return None if value is None else int(value)
    if not hasattr(item, "__index__"):
        raise _no_size(op, repr(item))
    return item.__index__()
