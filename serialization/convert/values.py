"""Python values of signatures and attributes as records, and back."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from graphad.core.composites import has_own_way, is_record, record_of
from graphad.core.dtypes import DType, as_dtype
from graphad.core.memo import Memo
from graphad.core.nest import Record
from graphad.core.shapes import TensorShape
from graphad.core.sparse import Sparse
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.core.tensor import EagerTensor
from serialization.convert import sparse
from serialization.convert.claims import check_spec
from serialization.errors import CorruptModelError, SaveError
from serialization.schema.values import (
    HANDLE,
    INLINE_BYTES,
    NAMED_TUPLE,
    SPARSE,
    TENSOR,
    DictValue,
    DTypeValue,
    InlineArray,
    ListValue,
    OutputValue,
    SpecRecord,
    SpecValue,
    StoredArray,
    StructValue,
    is_key,
)
from serialization.wire.arrays import dtype_name, from_bytes

LONGEST_NAME = 200  # bytes of a tensor's name that comes from attribute names


class Unsavable(Exception):
    """A Python value that a file cannot hold."""


def spec_record(spec: TensorSpec) -> SpecRecord:
    """The record of a spec."""
    dims: Any = None if spec.dims is None else tuple(spec.dims)
    return SpecRecord(spec.dtype.name, dims, spec.name, HANDLE if spec.is_handle else TENSOR)


def spec_of(record: SpecRecord) -> TensorSpec:
    """The spec that a record describes."""
    if record.shape is not None and any(type(size) is str for size in record.shape):
        raise CorruptModelError("a spec with named sizes; this release knows sizes and nil.")
    spec = (HandleSpec if record.kind == HANDLE else TensorSpec)(record.shape, record.dtype, record.name)
    check_spec(spec)
    return spec


class ArrayWriter:
    """Collects the arrays that are too large for the manifest.

    Attributes:
      stored: The arrays by name, in the order in which they were met.
    """

    def __init__(self) -> None:
        self.stored: dict[str, Any] = {}
        self._names: dict[Any, str] = {}

    def record(self, array: Any, prefix: str = "constants") -> InlineArray | StoredArray:
        """The record of a constant: inline if it is small, else by name; the same memory is stored once."""
        value = np.asarray(array)
        if value.nbytes <= INLINE_BYTES:
            return InlineArray(dtype_name(value.dtype), value.shape, np.ascontiguousarray(value).tobytes())
        key = (value.__array_interface__["data"][0], value.shape, value.strides, value.dtype.str)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = self.store(f"{prefix}.{len(self.stored)}", value)
        return StoredArray(name)

    def store(self, name: str, array: np.ndarray) -> str:
        """Store an array under `name` or, if that is taken or not allowed, under a similar one."""
        if not name or len(name.encode()) > LONGEST_NAME or name.startswith("__"):
            name = f"tensor.{len(self.stored)}"
        free, count = name, 1
        while free in self.stored:
            count += 1
            free = f"{name}#{count}"
        self.stored[free] = array
        return free


def array_of(record: InlineArray | StoredArray, arrays: Any) -> Any:
    """The array of a record; a NumPy scalar for rank 0."""
    if isinstance(record, StoredArray):
        value = arrays[record.tensor]
    else:
        value = from_bytes(record.dtype, record.shape, record.data)
    if value.ndim:
        return value
    return value[()]


def value_record(x: Any, leaf: Callable[[Any], Any]) -> Any:
    """The record of a Python value; `leaf` turns other values into records or raises Unsavable."""
    kind = type(x)
    if x is None or kind in (bool, int, float, complex, str, bytes):
        if kind is int and not -(2**63) <= x < 2**64:
            raise Unsavable(f"the integer {x}")
        return x
    if kind is list:
        return ListValue(tuple([value_record(item, leaf) for item in x]))
    if kind is tuple or (isinstance(x, tuple) and not hasattr(x, "_fields")):
        return tuple([value_record(item, leaf) for item in x])
    if isinstance(x, tuple):
        items = tuple([value_record(item, leaf) for item in x])
        return StructValue(NAMED_TUPLE, kind.__name__, tuple(kind._fields), items)
    if isinstance(x, dict):
        return DictValue(tuple([(_key(key), value_record(item, leaf)) for key, item in x.items()]))
    if isinstance(x, list):
        return ListValue(tuple([value_record(item, leaf) for item in x]))
    if isinstance(x, DType):
        return DTypeValue(x.name)
    if isinstance(x, TensorShape):
        if x.rank is None:
            raise Unsavable("a TensorShape of unknown rank")
        return tuple(x.as_list())
    if isinstance(x, np.generic):
        return value_record(x.item(), leaf)
    if isinstance(x, EagerTensor | np.ndarray):
        array = np.asarray(x.data if isinstance(x, EagerTensor) else x)
        if array.nbytes > INLINE_BYTES:
            raise Unsavable(f"an array of {array.nbytes} bytes as a default")
        return InlineArray(dtype_name(array.dtype), array.shape, np.ascontiguousarray(array).tobytes())
    if isinstance(x, Sparse):
        return sparse.record_of(x, lambda part: value_record(part, leaf))
    if has_own_way(x):
        raise Unsavable(f"a {type(x).__name__}, whose __tf_flatten__ names no fields")
    if is_record(x):  # saved as a tuple with names, since a file has no classes
        record = record_of(x)
        items = tuple([value_record(item, leaf) for item in record.values])
        return StructValue(NAMED_TUPLE, _class_name(x), record.form.names, items)
    return leaf(x)


def _class_name(x: Any) -> str:
    """The name of the class of a record; of a spec of records, that of their class, as functions are called with them."""
    kind = type(x)
    owner = getattr(kind, "value_type", None)
    if isinstance(owner, type) and getattr(owner, "Spec", None) is kind:
        kind = owner
    given = vars(kind).get("__name__")  # by which an extension type is known to files
    return given if isinstance(given, str) else kind.__name__


def _key(key: str) -> str:
    if not is_key(key):
        raise Unsavable(f"the dict key {key!r}")
    return key


def value_of(
    record: object,
    leaf: Callable[[Any], Any],
    whole: Callable[[StructValue, list[Any]], Any] | None = None,
) -> Any:
    """The Python value of a record.

    Args:
      record: The record.
      leaf: Turns the records that are not plain values into objects.
      whole: Makes a sparse value of its record and its parts; without it, it is a named tuple of them.
    """
    if record is None or type(record) in (bool, int, float, complex, str, bytes):
        return record
    if type(record) is tuple:
        return tuple([value_of(item, leaf, whole) for item in record])
    if isinstance(record, ListValue):
        return [value_of(item, leaf, whole) for item in record.items]
    if isinstance(record, DictValue):
        return {value_of(key, leaf, whole): value_of(item, leaf, whole) for key, item in record.items}
    if isinstance(record, StructValue):
        names, items = sparse.parts_of(record) if record.kind == SPARSE else (record.names, record.items)
        values = [value_of(item, leaf, whole) for item in items]
        if record.kind == SPARSE and whole is not None:
            return whole(record, values)
        return restored_tuple(record.name, names, values)
    if isinstance(record, DTypeValue):
        return as_dtype(record.name)
    if isinstance(record, InlineArray):
        return EagerTensor(array_of(record, {}))
    return leaf(record)


_TUPLES = Memo("named tuples", 1000)  # (name, fields) -> class


def title_of(kind: type) -> str | None:
    """The name in the file of a class that `restored_tuple` made; None for other classes."""
    return getattr(kind, "_graphad_title", None)


def restored_tuple(name: str, names: tuple[str, ...], items: list[Any]) -> Any:
    """A named tuple for items with names, created without generating source text."""
    key = (name, names)
    found = _TUPLES.get(key)
    if found is None:
        body: dict[str, Any] = {field: property(itemgetter(i)) for i, field in enumerate(names)}
        body |= {
            "_fields": names,
            "__slots__": (),
            "_graphad_title": name,
            "_asdict": lambda self: dict(zip(names, self, strict=True)),
        }
        body["__repr__"] = lambda self: (
            f"{name}({', '.join(f'{f}={v!r}' for f, v in zip(names, self, strict=True))})"
        )
        body["__new__"] = lambda cls, *values: tuple.__new__(cls, values)
        body["_make"] = classmethod(lambda cls, values: tuple.__new__(cls, values))
        body["_replace"] = lambda self, **new: type(self)(
            *[new.pop(f, v) for f, v in zip(names, self, strict=True)]
        )
        title = name if all(part.isidentifier() for part in name.split(".")) else "Restored"
        return _TUPLES.keep(key, type(title, (tuple,), body))(*items)
    return found(*items)


def with_restored_tuples(x: Any) -> Any:
    """Arguments with every named tuple converted to the restored class of the same name and fields.

    In a file, subclasses of dict and list are plain ones, and shapes are tuples.
    """
    try:
        return _with_restored_tuples(x)
    except RecursionError:
        return x  # the classification of arguments raises the error for deep nesting


def _with_restored_tuples(x: Any) -> Any:
    kind = type(x)
    if kind is tuple:
        return tuple([_with_restored_tuples(item) for item in x])
    if isinstance(x, list):
        return [_with_restored_tuples(item) for item in x]
    if isinstance(x, dict):
        return {key: _with_restored_tuples(item) for key, item in x.items()}
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return restored_tuple(kind.__name__, tuple(x._fields), [_with_restored_tuples(item) for item in x])
    if isinstance(x, Sparse) or is_record(x):
        title, record = _titled(x)
        return restored_tuple(
            title, record.form.names, [_with_restored_tuples(item) for item in record.values]
        )
    if isinstance(x, TensorShape) and x.rank is not None:
        return tuple(x.as_list())
    return x


def _titled(x: Any) -> tuple[str, Record]:
    """The name and the fields of a record."""
    return (x.title, x.record()) if isinstance(x, Sparse) else (_class_name(x), record_of(x))


def spec_leaf(add_spec: Callable[[TensorSpec], int]) -> Callable[[Any], Any]:
    """A `leaf` for `value_record` that knows specs."""

    def leaf(x: TensorSpec) -> SpecValue:
        if isinstance(x, TensorSpec):
            return SpecValue(add_spec(x))
        raise Unsavable(f"{type(x).__name__} objects")

    return leaf


def output_leaf(x: Output) -> OutputValue:
    """A `leaf` for `value_record` that knows positions of outputs."""
    if isinstance(x, Output):
        return OutputValue(x.number)
    raise SaveError(f"a function returns a {type(x).__name__}, which a file cannot hold.")


class Output:
    """Represents output number `number` in the structure of a function's results."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number
