"""Values of op attributes, signatures, structured outputs and defaults.

Plain Python values are stored as such. Others are records, so that a file can refer to a dtype, a graph or a tensor without
naming a class.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from serialization.errors import CorruptModelError, LimitExceededError, SaveError, shown
from serialization.wire.arrays import DTYPES
from serialization.wire.codec import (
    DATA,
    INDEX,
    REAL,
    TEXT,
    Choice,
    Fields,
    Integer,
    Many,
    Maybe,
    Reader,
    Tagged,
    Writer,
)
from serialization.wire.limits import LARGEST_DIM
from serialization.wire.record import Record

Dim: TypeAlias = "int | str | None"

# arrays of up to this many bytes are kept in the manifest itself
INLINE_BYTES = 256


class SpecRecord(Record):
    """An abstract value. A dim is a size, None, or a name shared by equal unknown sizes; shape None is unknown rank."""

    dtype: str
    shape: tuple[Dim, ...] | None
    name: str | None = None
    kind: int = 0  # TENSOR or HANDLE


TENSOR, HANDLE = 0, 1


class InlineArray(Record):
    """An array kept in the manifest: little-endian elements in C order."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


class StoredArray(Record):
    """An array kept in a payload under a name."""

    tensor: str


ArrayRecord: TypeAlias = InlineArray | StoredArray


class ListValue(Record):
    """A list."""

    items: tuple[Value, ...]


class DictValue(Record):
    """A dict in order."""

    items: tuple[tuple[Value, Value], ...]


class StructValue(Record):
    """A named tuple, whose name is a label; or what stands for a tensor by some of its values.

    The latter is named by its kind and has the tensors that it consists of as fields, then the known part of its shape.
    """

    kind: int
    name: str
    names: tuple[str, ...]
    items: tuple[Value, ...]


NAMED_TUPLE, SPARSE = 0, 1


class DTypeValue(Record):
    """A dtype."""

    name: str


class GraphValue(Record):
    """A graph of the table: the body of a call, branch or loop."""

    graph: int


class RuleValue(Record):
    """A custom gradient of the table."""

    rule: int


class SpecValue(Record):
    """A tensor goes here: an index into the table of specs."""

    spec: int


class OutputValue(Record):
    """Output number `output` of the graph goes here."""

    output: int


Value: TypeAlias = (
    "bool | int | float | complex | str | bytes | tuple[Value, ...] | ListValue | DictValue | StructValue"
    " | DTypeValue | GraphValue | RuleValue | SpecValue | OutputValue | InlineArray | None"
)

_SCALARS = frozenset((type(None), bool, int, float, str, bytes))
_KEYS = frozenset((type(None), bool, int, float, str))
_TUPLE, _LIST, _DICT, _COMPLEX = 0, 1, 2, 9


class DimCodec:
    """A size, None, or a name."""

    def read(self, reader: Reader) -> Dim:
        value = reader.scalar()
        if value is None or type(value) is str:
            return value
        if type(value) is not int or not 0 <= value <= LARGEST_DIM:
            raise CorruptModelError(f"{shown(value)} is not a size; allowed are 0 to 2**47, nil and names.")
        return value

    def write(self, writer: Writer, value: Dim) -> None:
        if type(value) not in (int, str, type(None)):
            raise SaveError(f"{shown(value)} of type {type(value).__name__} is not a size.")
        writer.scalar(value)


class _Items:
    """The items of a container value, one level deeper."""

    def read(self, reader: Reader) -> tuple[Value, ...]:
        return VALUES.read(reader)

    def write(self, writer: Writer, value: tuple[Value, ...]) -> None:
        VALUES.write(writer, value)


class ValueCodec:
    """Any value. Scalars as they are, everything else as an array that starts with its tag."""

    def read(self, reader: Reader) -> Value:
        if not reader.at_array():
            if reader.at_short_float():
                return REAL.read(reader)
            value = reader.scalar()
            if type(value) not in _SCALARS:
                raise CorruptModelError(f"{shown(value)} is not a value.")
            return value  # type: ignore[return-value]
        reader.depth += 1
        if reader.depth > reader.limits.nesting:
            raise LimitExceededError(
                f"values nested more than the limit 'nesting' = {reader.limits.nesting} deep."
            )
        size = reader.array("items")
        tag = reader.scalar() if size else None
        if type(tag) is not int or not 0 <= tag <= _LAST_TAG:
            raise CorruptModelError(f"{shown(tag)} is no known kind of value; allowed are 0 to {_LAST_TAG}.")
        value = self._tagged(reader, tag, size - 1)
        reader.depth -= 1
        return value

    def _tagged(self, reader: Reader, tag: int, size: int) -> Value:
        fields = _BY_TAG.get(tag)
        if fields is not None:
            if size != fields.size:
                raise CorruptModelError(f"{size} fields where {fields.cls.__name__} has {fields.size}.")
            record: Value = fields.read_fields(reader)
            return record
        if tag == _COMPLEX:
            if size != 2:
                raise CorruptModelError(f"a complex number of {size} parts.")
            return complex(REAL.read(reader), REAL.read(reader))
        items = tuple([self.read(reader) for _ in range(size)])
        if tag == _TUPLE:
            return items
        if tag == _LIST:
            return ListValue(items)
        if size % 2:
            raise CorruptModelError("a dict with a key that has no value.")
        pairs = tuple(zip(items[::2], items[1::2], strict=True))
        _check_keys(pairs)
        return DictValue(pairs)

    def write(self, writer: Writer, value: Value) -> None:
        kind = type(value)
        if kind in _SCALARS:
            writer.scalar(value)
        elif kind is tuple:
            self._container(writer, _TUPLE, value)  # type: ignore[arg-type]
        elif isinstance(value, ListValue):
            self._container(writer, _LIST, value.items)
        elif isinstance(value, DictValue):
            self._container(writer, _DICT, tuple(part for pair in value.items for part in pair))
        elif isinstance(value, complex):
            writer.array(3)
            writer.scalar(_COMPLEX)
            writer.scalar(value.real)
            writer.scalar(value.imag)
        elif kind in _TAGS:
            tag = _TAGS[kind]
            writer.array(_BY_TAG[tag].size + 1)
            writer.scalar(tag)
            _BY_TAG[tag].write_fields(writer, value)
        else:
            raise SaveError(f"{kind.__name__} is not a kind of value that a file can hold.")

    def _container(self, writer: Writer, tag: int, items: tuple[Value, ...]) -> None:
        writer.array(len(items) + 1)
        writer.scalar(tag)
        for item in items:
            self.write(writer, item)


def _check_keys(pairs: tuple[tuple[Value, Value], ...]) -> None:
    seen = set()
    for key, _ in pairs:
        if not is_key(key):
            raise CorruptModelError("a dict key that is neither a plain value nor a tuple of such.")
        if key != key or key in seen:
            raise CorruptModelError(f"dict key {shown(key)} is there twice, or not equal to itself.")
        seen.add(key)


def is_key(key: Value) -> bool:
    """Whether a dict in a file may have this key."""
    return type(key) in _KEYS or (type(key) is tuple and all(type(part) in _KEYS for part in key))


VALUE = ValueCodec()
VALUES: Many[Any] = Many(VALUE)
DTYPE = Choice("dtype", DTYPES)
DIM = DimCodec()
SIZES = Many(Integer(0, LARGEST_DIM), "rank")
SHAPE = Maybe(Many(DIM, "rank"))

SPEC = Fields(SpecRecord, dtype=DTYPE, shape=SHAPE, name=Maybe(TEXT), kind=Integer(0, 1))
INLINE_ARRAY = Fields(InlineArray, dtype=DTYPE, shape=SIZES, data=DATA)
STORED_ARRAY = Fields(StoredArray, tensor=TEXT)
ARRAY = Tagged(INLINE_ARRAY, STORED_ARRAY)

_BY_TAG: dict[int, Fields[Any]] = {
    3: Fields(StructValue, kind=Integer(0, 1), name=TEXT, names=Many(TEXT), items=_Items()),
    4: Fields(DTypeValue, name=DTYPE),
    5: Fields(GraphValue, graph=INDEX),
    6: Fields(RuleValue, rule=INDEX),
    7: Fields(SpecValue, spec=INDEX),
    8: Fields(OutputValue, output=INDEX),
    10: INLINE_ARRAY,
}
_TAGS: dict[type, int] = {fields.cls: tag for tag, fields in _BY_TAG.items()}
_LAST_TAG = max(_BY_TAG)
