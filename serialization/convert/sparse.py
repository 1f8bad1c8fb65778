"""Values that stand for a tensor by some of its elements, `SparseTensor` and `IndexedSlices`: as records of a file, and back.

A record has the tensors as fields, then the known part of the shape. As an argument such a value is compared by its tensors only,
so that it is restored as a named tuple of them; as a result it is itself again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from graphad.core.indexed_slices import IndexedSlices
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec
from serialization.errors import CorruptModelError, shown
from serialization.schema.values import SPARSE, StructValue

_SHAPE = "shape"


@functools.cache
def _kinds() -> dict[str, type[Sparse]]:
    """By their names; asked for by a record, since the import of sparse ops takes longer than a small model."""
    from graphad.ops.sparse.tensor import SparseTensor

    return {kind.title: kind for kind in (IndexedSlices, SparseTensor)}


def record_of(x: Sparse, record: Callable[[Any], Any]) -> StructValue:
    """The record of a sparse value; `record` gives that of each of its tensors."""
    fields = x.record()
    dims = x.fixed_dims
    shape = None if dims is None else tuple([size if type(size) is int else None for size in dims])
    items = (*map(record, fields.values), shape)
    return StructValue(SPARSE, x.title, (*fields.form.names, _SHAPE), items)


def parts_of(record: StructValue) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """The names and the records of the tensors. Raises: CorruptModelError: the record is of no known kind."""
    kind = _kinds().get(record.name)
    if kind is None:
        raise CorruptModelError(
            f"{shown(record.name)} is no kind of sparse value; known: {', '.join(_kinds())}."
        )
    names, last = record.names[:-1], record.names[-1:]
    if last != (_SHAPE,) or names not in kind.forms():
        raise CorruptModelError(
            f"{', '.join(map(shown, record.names))} are not the fields of a {record.name}."
        )
    return names, record.items[:-1]


def result_of(record: StructValue, parts: Sequence[Any], specs: Sequence[TensorSpec]) -> Sparse:
    """The sparse value that a result is, of its parts, which the graph describes by `specs`."""
    kind = _kinds()[record.name]
    dims: Any = record.items[-1]
    if dims is not None and not (
        type(dims) is tuple and all(size is None or (type(size) is int and size >= 0) for size in dims)
    ):
        raise CorruptModelError(f"{shown(dims)} is not the shape of a {record.name}.")
    for name, spec in zip(record.names, specs, strict=False):
        rank = kind.ranks.get(name)
        if (
            spec.is_handle
            or (rank is not None and spec.dims is not None and len(spec.dims) != rank)
            or (name != "values" and not spec.dtype.is_integer)
        ):
            raise CorruptModelError(f"{spec} cannot be the {name} of a {record.name}.")
    return kind.made(parts, dims)
