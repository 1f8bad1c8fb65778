"""Elements of a data set: nests of tensors for the user, and of NumPy arrays between steps.

Tuples, named tuples, dicts and records (dataclasses, extension types) are nests; anything else, lists too, is one tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.composites import flatten_records, is_record
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor

if TYPE_CHECKING:
    from graphad.core.annotations import Array, NestLike


def mapped(function: Callable[..., Any], x: NestLike, *others: NestLike) -> Any:
    """The nest of `function` applied to the leaves of `x` and the corresponding leaves of the others."""
    if isinstance(x, dict):
        parts = {key: mapped(function, x[key], *[other[key] for other in others]) for key in x}
        return parts if type(x) is dict else type(x)(parts)
    if isinstance(x, tuple):
        items = [mapped(function, *parts) for parts in zip(x, *others, strict=True)]
        return type(x)(*items) if hasattr(x, "_fields") else tuple(items)
    if is_record(x) and not isinstance(x, DatasetSpec):
        fields, rebuild = flatten_records(x)
        rows = [flatten_records(other)[0] for other in others]
        return rebuild([function(*parts) for parts in zip(fields, *rows, strict=True)])
    return function(x, *others)


def leaves(x: NestLike) -> list[Any]:
    """The leaves of the nest in order."""
    found: list[Any] = []
    mapped(found.append, x)
    return found


@dataclass(frozen=True)
class DatasetSpec:
    """The spec of a window, which is a data set.

    Args: element_spec: The specs of its elements.
    Raises: TypeError: it is missing.
    Example:
      >>> data.Dataset.range(6).window(3).element_spec.element_spec
      TensorSpec(shape=(), dtype=tf.int64, name=None)
    """

    element_spec: Any


def _is_window(leaf: object) -> bool:
    return hasattr(leaf, "__graphad_stream__")


def on_host(x: NestLike) -> Any:
    """The nest with an array for each leaf that is no window."""
    return mapped(lambda leaf: leaf if _is_window(leaf) else np.asarray(lift(leaf).numpy()), x)


def shown(x: NestLike) -> Any:
    """A nest of arrays and windows as a nest of tensors and windows."""
    return mapped(lambda leaf: leaf if _is_window(leaf) else lift(leaf), x)


def called(function: Callable[..., Any], element: NestLike) -> Any:
    """`function` of an element, whose parts are its arguments if it is a tuple."""
    x = shown(element)
    return function(*x) if type(x) is tuple else function(x)


def at(i: int, x: NestLike) -> Any:
    """The slice of number `i` of each leaf."""
    return mapped(lambda array: array[i], x)


def stacked(elements: Sequence[Any]) -> Any:
    """Elements of one shape, stacked. Raises: InvalidArgumentError: the shapes differ."""

    def stack(*rows: NestLike) -> Array:
        odd = next((row for row in rows if row.shape != rows[0].shape), None)
        if odd is not None:
            raise InvalidArgumentError(
                f"batch: the elements have shapes {rows[0].shape} and {odd.shape}; padded_batch fills up the smaller ones."
            )
        return np.stack(rows)

    return mapped(stack, elements[0], *elements[1:])


def padded(elements: Sequence[Any], shapes: NestLike, values: NestLike) -> Any:
    """Elements of several shapes, each padded to the largest or the given sizes, and stacked."""

    first = elements[0]
    asked_for = iter(zip(_beside(first, shapes), _beside(first, values), strict=True))

    def fill(*rows: NestLike) -> Array:
        shape, value = next(asked_for)
        largest = [max(sizes) for sizes in zip(*[row.shape for row in rows], strict=True)]
        if shape is not None:
            asked = [None if size in (None, -1) else int(size) for size in shape]
            largest = [most if size is None else size for most, size in zip(largest, asked, strict=True)]
        out = np.full([len(rows), *largest], 0 if value is None else value, rows[0].dtype)
        for i, row in enumerate(rows):
            if any(size > most for size, most in zip(row.shape, largest, strict=True)):
                raise InvalidArgumentError(
                    f"padded_batch: an element has shape {row.shape}, padded_shapes says {tuple(largest)}."
                )
            place: Any = (i, *map(slice, row.shape))
            out[place] = row
        return out

    return mapped(fill, *elements)


def _beside(element: NestLike, given: NestLike) -> list[Any]:
    """An argument for each leaf of an element, in order; a single one is used for all leaves.

    A tuple may hold those for the fields of a record.
    """
    count = len(leaves(element))
    if not isinstance(given, tuple | dict):
        return [given] * count
    if isinstance(element, dict) and isinstance(given, dict) and element.keys() == given.keys():
        return [x for key in element for x in _beside(element[key], given[key])]
    if isinstance(element, tuple) and isinstance(given, tuple) and len(given) == len(element):
        return [x for part, own in zip(element, given, strict=True) for x in _beside(part, own)]
    if count == 1:  # its sizes
        return [given]
    if is_record(element) and isinstance(given, tuple) and len(given) == count:
        return list(given)
    raise InvalidArgumentError(f"padded_batch: {given!r} has another structure than the elements.")


def spec_of(x: NestLike) -> Any:
    """The specs of an element of arrays, tensors or specs."""
    return mapped(
        lambda leaf: (
            leaf
            if isinstance(leaf, TensorSpec)
            else DatasetSpec(leaf.element_spec)
            if _is_window(leaf)
            else TensorSpec(leaf.shape, leaf.dtype)
            if isinstance(leaf, Tensor)
            else TensorSpec(np.shape(leaf), np.asarray(leaf).dtype)
        ),
        x,
    )
