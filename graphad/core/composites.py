"""Leaves of nests that consist of other values: dataclasses, attrs classes, and classes with `__graphad_parts__`, such as
`TensorArray`.

A record is an object that is equivalent to the values of its fields: a dataclass that compares by them, an attrs class, a class
with `__tf_flatten__` and `__tf_unflatten__`, or one that tells its fields by `__graphad_record__`. Modules and other objects with
children are not records. Fields that hold tensors, variables or arrays are followed; numbers, strings and other objects belong to
the form of the record and stay as they are. A record is rebuilt without calling `__init__`: its fields are set directly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core.convert import exports_array
from graphad.core.nest import Form, Rebuild, Record, flatten, flatten_tree, is_nested, only
from graphad.core.shapes import TensorShape
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Handle, Tensor
from graphad.core.trackable import Trackable

_FOLLOWED = (Tensor, Handle, TensorSpec, np.ndarray, np.generic)


# Common classes of graphad, NumPy and Python whose objects are not records.
_never: set[type] = set()


def is_record(x: object) -> bool:
    """Whether `x` is equivalent to the values of its fields."""
    kind = type(x)
    if kind in _never:
        return False
    found = _is_record(x, kind)
    if (
        not found
        and not is_nested(x)
        and kind.__module__.partition(".")[0] in ("graphad", "numpy", "builtins")
    ):
        _never.add(kind)
    return found


def _is_record(x: object, kind: Any) -> bool:
    if hasattr(kind, "__graphad_record__"):
        return True
    if hasattr(kind, "__dataclass_fields__"):
        if hasattr(kind, "__tf_flatten__"):
            return True
        return bool(kind.__dataclass_params__.eq) and not isinstance(x, Trackable | Tensor | Handle | type)
    return hasattr(kind, "__attrs_attrs__") and not isinstance(x, Trackable | type)


def is_attrs(x: object) -> bool:
    """Whether `x` is an object of an attrs class."""
    return hasattr(type(x), "__attrs_attrs__")


def has_own_way(x: object) -> bool:
    """Whether the class of `x` defines its own flattening."""
    kind = type(x)
    return hasattr(kind, "__dataclass_fields__") and hasattr(kind, "__tf_flatten__")


def record_of(x: Any) -> Record:
    """All fields of a record, and the other attributes of the object."""
    kind = type(x)
    if hasattr(kind, "__graphad_record__"):
        return x.__graphad_record__()  # type: ignore[no-any-return]
    if has_own_way(x):
        metadata, components = x.__tf_flatten__()
        names = tuple([str(k) for k in range(len(components))])

        def again(values: list[Any]) -> Any:
            return kind.__tf_unflatten__(metadata, tuple(values))

        return Record(Form((kind, metadata), names, again), list(components))
    declared = (
        [field.name for field in kind.__attrs_attrs__] if is_attrs(x) else list(kind.__dataclass_fields__)
    )
    held = getattr(x, "__dict__", {})
    names = tuple([name for name in declared if hasattr(x, name) and (name in held or _is_slot(kind, name))])
    names += tuple([name for name in held if name not in names])

    def made(values: list[Any]) -> Any:
        return made_of(kind, names, values)

    return Record(Form(kind, names, made), [getattr(x, name) for name in names])


def made_of(kind: Any, names: tuple[str, ...], values: list[Any]) -> Any:
    """An object of a record's class with these fields."""
    made = kind.__new__(kind)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def _is_slot(kind: Any, name: str) -> bool:
    return any(name in vars(base).get("__slots__", ()) for base in kind.__mro__)


def are_open(leaves: list[Any]) -> bool:
    """Whether `opened` gives each of these unchanged."""
    for leaf in leaves:  # noqa: SIM110 -- a generator would cost more than the check
        if type(leaf) is not EagerTensor and (isinstance(leaf, Sparse) or is_record(leaf)):
            return False
    return True


def opened(x: object) -> Any:
    """For `flatten_tree`: a record or sparse value as a `Record` of all its fields; other leaves unchanged."""
    if isinstance(x, Sparse):
        return x.record()
    return record_of(x) if is_record(x) else x


def _is_followed(leaf: object) -> bool:
    return (
        isinstance(leaf, _FOLLOWED)
        or is_composite(leaf)
        or hasattr(leaf, "__graphad_tensor__")
        or exports_array(leaf)
    )


def is_composite(x: object) -> bool:
    """Whether a leaf consists of tensors: its class has `__graphad_parts__`."""
    return hasattr(type(x), "__graphad_parts__")


def is_complete(x: Any) -> bool:
    """Whether the parts of a composite are known."""
    return bool(x.__graphad_complete__)


def flatten_records(x: Any) -> tuple[list[Any], Rebuild]:
    """As `flatten`, with records split into their tensor fields."""
    kind = type(x)
    if kind in _never:
        return [x], only
    if (kind is list or kind is tuple) and _never.issuperset(map(type, x)):
        return list(x), kind  # no containers or records in it, like most lists of variables
    if not is_nested(x):
        return _of_record(x) if is_record(x) else flatten(x)
    leaves, rebuild = flatten(x)
    if _never.issuperset(map(type, leaves)) or not any(map(is_record, leaves)):
        return leaves, rebuild
    return _joined(leaves, rebuild, lambda leaf: _of_record(leaf) if is_record(leaf) else None)


def keeps_shapes(x: object) -> bool:
    """Whether a record in a nest keeps the shape of its tensors in a field (`__graphad_reranked__`)."""
    return any(hasattr(type(leaf), "__graphad_reranked__") for leaf in flatten(x)[0])


def reranked(x: Any, change: Callable[[TensorShape], TensorShape]) -> Any:
    """A nest of tensors that were sliced or stacked, with `change` applied to the shapes that its records keep of them."""
    leaves, rebuild = flatten(x)
    if not any(hasattr(type(leaf), "__graphad_reranked__") for leaf in leaves):
        return x
    return rebuild(
        [
            leaf.__graphad_reranked__(change) if hasattr(type(leaf), "__graphad_reranked__") else leaf
            for leaf in leaves
        ]
    )


def of_slice(shape: TensorShape) -> TensorShape:
    """For `reranked`: the shape of one slice."""
    return shape[1:]  # type: ignore[no-any-return]


def of_stack(size: int | None) -> Callable[[TensorShape], TensorShape]:
    """For `reranked`: the shape of `size` values stacked."""
    return TensorShape([size]).concatenate


def flatten_present(value: object) -> tuple[list[Any], Rebuild]:
    """As `flatten_records`; None within a nest is no leaf and stays as it is."""
    leaves, rebuild = flatten_records(value)
    if value is None or not any(leaf is None for leaf in leaves):
        return leaves, rebuild
    absent = [leaf is None for leaf in leaves]

    def again(new: list[Any]) -> Any:
        given = iter(new)
        return rebuild([None if none else next(given) for none in absent])

    return [leaf for leaf in leaves if leaf is not None], again


def _always(leaves: list[Any], rebuild: Rebuild) -> Rebuild:
    return lambda _: rebuild(list(leaves))


def _of_record(x: Any) -> tuple[list[Any], Rebuild]:
    """The tensors of a record. Records in it without tensors are rebuilt too: fields that they computed from numbers may be
    tensors of the current trace."""
    record = record_of(x)
    flat: list[Any] = []
    pieces: list[tuple[int, Rebuild] | None] = []
    for value in record.values:
        leaves, rebuild = flatten_records(value)
        if any(map(_is_followed, leaves)):
            flat += leaves
            pieces.append((len(leaves), rebuild))
        elif is_record(value) or (is_nested(value) and any(map(is_record, flatten(value)[0]))):
            pieces.append((0, _always(leaves, rebuild)))
        else:
            pieces.append(None)

    def again(new: list[Any]) -> Any:
        values, start = [], 0
        for value, piece in zip(record.values, pieces, strict=True):
            if piece is None:
                values.append(value)
            else:
                values.append(piece[1](list(new[start : start + piece[0]])))
                start += piece[0]
        return record.form.make(values)

    return flat, again


def flatten_composites(x: object) -> tuple[list[Any], Rebuild]:
    """As `flatten`, with composite leaves split into their tensors.

    `__graphad_parts__()` returns the parts and a function that rebuilds the value from other parts. While
    `__graphad_complete__` is false the parts are unknown, and the value stays a leaf.
    """
    leaves, rebuild = flatten_records(x)
    if not any(map(is_composite, leaves)):
        return leaves, rebuild

    def parts_of(leaf: Any) -> Any:
        return leaf.__graphad_parts__() if is_composite(leaf) and is_complete(leaf) else None

    return _joined(leaves, rebuild, parts_of)


def _joined(leaves: list[Any], rebuild: Rebuild, parts_of: Callable[[Any], Any]) -> tuple[list[Any], Rebuild]:
    """The leaves, with some of them replaced by their parts."""
    flat: list[Any] = []
    pieces: list[tuple[int, Rebuild]] = []
    for leaf in leaves:
        found = parts_of(leaf)
        if found is None:
            flat.append(leaf)
            pieces.append((1, only))
        else:
            flat += found[0]
            pieces.append((len(found[0]), found[1]))

    def rebuilt(new: list[Any]) -> Any:
        out, start = [], 0
        for count, again in pieces:
            out.append(again(list(new[start : start + count])))
            start += count
        return rebuild(out)

    return flat, rebuilt


def flatten_fields(x: object) -> tuple[list[Any], Rebuild, Any]:
    """As `flatten_tree`, with all fields of records as leaves."""
    return flatten_tree(x, opened)
