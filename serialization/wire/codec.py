"""msgpack with a type for every field: a codec reads one kind of value and writes it.

Reading is driven by the schema: containers are entered one by one, never unpacked as a tree, so an unexpected type is detected
at its first byte, a count is checked against the remaining bytes, and a decompression bomb has no effect. A codec that fails
raises a `LoadError`; each enclosing codec adds its field while the error propagates, which costs nothing without errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import msgpack  # type: ignore[import-untyped]

from serialization.errors import CorruptModelError, LimitExceededError, LoadError, SaveError, shown
from serialization.wire.limits import DEFAULT_LIMITS, Limits
from serialization.wire.record import Record

T = TypeVar("T")
R = TypeVar("R", bound=Record)

# UnicodeDecodeError and FormatError are ValueErrors
_BROKEN = (ValueError, msgpack.exceptions.UnpackException)


class Reader:
    """A position in a msgpack body."""

    __slots__ = ("_array", "_body", "_map", "_scalar", "_tell", "depth", "limits", "totals")

    def __init__(self, body: bytes, limits: Limits = DEFAULT_LIMITS) -> None:
        # `unpack` may build only empty containers; others are entered by their headers
        unpacker = msgpack.Unpacker(
            None,
            max_buffer_size=max(len(body), 1),
            use_list=False,
            max_array_len=0,
            max_map_len=0,
            max_ext_len=0,
            max_str_len=limits.text_bytes,
            max_bin_len=limits.data_bytes,
        )
        unpacker.feed(body)
        self._body = body
        self._scalar: Callable[[], object] = unpacker.unpack
        self._array: Callable[[], int] = unpacker.read_array_header
        self._map: Callable[[], int] = unpacker.read_map_header
        self._tell: Callable[[], int] = unpacker.tell
        self.limits = limits
        self.totals: dict[str, int] = {}
        self.depth = 0

    def scalar(self) -> object:
        """The next value, which is not a container (or an empty one: callers test its type)."""
        try:
            return self._scalar()
        except _BROKEN as error:
            raise self._broken(error) from None

    def array(self, limit: str | None = None) -> int:
        """Enter an array and return its length."""
        try:
            size = self._array()
        except _BROKEN as error:
            raise self._broken(error) from None
        left = len(self._body) - self._tell()
        if size > left or (limit is not None and size > getattr(self.limits, limit)):
            raise self._too_many(size, left, limit)
        return size

    def map(self) -> int:
        """Enter a map and return how many pairs it has."""
        try:
            size = self._map()
        except _BROKEN as error:
            raise self._broken(error) from None
        left = len(self._body) - self._tell()
        if size > left:
            raise self._too_many(size, left, None)
        return size

    def at_array(self) -> bool:
        """Whether the next value is an array."""
        position = self._tell()
        if position >= len(self._body):
            return False
        first = self._body[position]
        return 0x90 <= first <= 0x9F or first == 0xDC or first == 0xDD

    def at_short_float(self) -> bool:
        """Whether the next value is a float of 32 bits, which no field takes: it would be read as another number is written."""
        position = self._tell()
        return self._body[position : position + 1] == b"\xca"

    def nil(self) -> bool:
        """Whether the next value is nil; if so, it is read."""
        position = self._tell()
        if self._body[position : position + 1] != b"\xc0":
            return False
        self._scalar()
        return True

    def finish(self) -> None:
        """Check that nothing follows."""
        left = len(self._body) - self._tell()
        if left:
            raise CorruptModelError(f"{left} bytes follow the end of the model.")

    def count(self, limit: str, amount: int) -> None:
        """Add to a total for the whole file that `limits` bounds."""
        total = self.totals.get(limit, 0) + amount
        self.totals[limit] = total
        if total > getattr(self.limits, limit):
            raise _over(limit, total, getattr(self.limits, limit))

    def _too_many(self, size: int, left: int, limit: str | None) -> LoadError:
        if limit is None or size > left:
            return CorruptModelError(f"a list of {size} entries in the {left} bytes that are left.")
        return _over(limit, size, getattr(self.limits, limit))

    def _broken(self, error: Exception) -> LoadError:
        position = self._tell()
        if isinstance(error, msgpack.exceptions.OutOfData) or position >= len(self._body):
            return CorruptModelError("the data ends in the middle of a value.")
        if isinstance(error, UnicodeDecodeError):
            return CorruptModelError("a string that is not UTF-8.")
        # the limits on strings and binaries are the only ones that msgpack itself enforces
        first = self._body[position]
        text = str(error)
        if "max_str_len" in text:
            return _over("text_bytes", None, self.limits.text_bytes)
        if "max_bin_len" in text:
            return _over("data_bytes", None, self.limits.data_bytes)
        return CorruptModelError(f"{_KINDS.get(first) or _kind(first)} is not what belongs here.")


def _over(limit: str, size: int | None, allowed: int) -> LimitExceededError:
    what = "more" if size is None else str(size)
    return LimitExceededError(
        f"{what} where the limit {limit!r} allows {allowed}; pass limits=Limits({limit}=...) if you trust the file."
    )


_KINDS = {
    0xC0: "nil",
    0xC1: "an unused code",
    0xC2: "a boolean",
    0xC3: "a boolean",
    0xCA: "a short float",
    0xCB: "a float",
}


def _kind(first: int) -> str:
    if first < 0x80 or first >= 0xE0 or 0xCC <= first <= 0xD3:
        return "an integer"
    if first < 0x90 or first in (0xDE, 0xDF):
        return "a map"
    if first < 0xA0 or first in (0xDC, 0xDD):
        return "a list"
    if first < 0xC0 or 0xD9 <= first <= 0xDB:
        return "a string"
    return "binary data" if 0xC4 <= first <= 0xC6 else "an extension type"


class Writer:
    """Collects msgpack bytes."""

    __slots__ = ("_packer", "array", "map", "scalar")

    def __init__(self) -> None:
        self._packer = msgpack.Packer(autoreset=False, use_bin_type=True)
        self.scalar: Callable[[Any], Any] = self._packer.pack
        self.array: Callable[[int], Any] = self._packer.pack_array_header
        self.map: Callable[[int], Any] = self._packer.pack_map_header

    def bytes(self) -> bytes:
        return bytes(self._packer.bytes())


class Codec(Protocol[T]):
    """Reads and writes one kind of value."""

    def read(self, reader: Reader) -> T: ...

    def write(self, writer: Writer, value: T) -> None: ...


def encode(codec: Codec[T], value: T) -> bytes:
    """`value` as msgpack."""
    writer = Writer()
    try:
        codec.write(writer, value)
    except (TypeError, ValueError, OverflowError, AttributeError, LookupError, RecursionError) as error:
        if isinstance(error, SaveError):
            raise
        raise SaveError(f"a record holds a value that the format has no place for: {error}.") from error
    return writer.bytes()


def decode(codec: Codec[T], body: bytes, limits: Limits = DEFAULT_LIMITS) -> T:
    """The value whose msgpack is `body`, all of it."""
    reader = Reader(body, limits)
    value = codec.read(reader)
    reader.finish()
    return value


class Integer:
    """An integer between two bounds, both included."""

    def __init__(self, low: int = 0, high: int = (1 << 31) - 1) -> None:
        self.low, self.high = low, high

    def read(self, reader: Reader) -> int:
        value = reader.scalar()
        if type(value) is not int:
            raise CorruptModelError(f"{shown(value)} is not an integer.")
        if not self.low <= value <= self.high:
            raise CorruptModelError(f"{value} is out of range; allowed is {self.low} to {self.high}.")
        return value

    def write(self, writer: Writer, value: int) -> None:
        if type(value) is not int:
            raise _refusal(value, int)
        writer.scalar(value)


class Text:
    """A string."""

    def read(self, reader: Reader) -> str:
        value = reader.scalar()
        if type(value) is not str:
            raise CorruptModelError(f"{shown(value)} is not a string.")
        return value

    def write(self, writer: Writer, value: str) -> None:
        if type(value) is not str:
            raise _refusal(value, str)
        writer.scalar(value)


class Choice(Text):
    """One of a few strings."""

    def __init__(self, what: str, allowed: dict[str, Any]) -> None:
        self.what, self.allowed = what, allowed

    def read(self, reader: Reader) -> str:
        value = super().read(reader)
        if value not in self.allowed:
            raise CorruptModelError(
                f"{shown(value)} is not a {self.what}; allowed are {', '.join(self.allowed)}."
            )
        return value


class Data:
    """Binary data, of a fixed length if one is given."""

    def __init__(self, size: int | None = None) -> None:
        self.size = size

    def read(self, reader: Reader) -> bytes:
        value = reader.scalar()
        if type(value) is not bytes:
            raise CorruptModelError(f"{shown(value)} is not binary data.")
        if self.size is not None and len(value) != self.size:
            raise CorruptModelError(f"{len(value)} bytes where {self.size} belong.")
        return value

    def write(self, writer: Writer, value: bytes) -> None:
        if type(value) is not bytes:
            raise _refusal(value, bytes)
        writer.scalar(value)


class Flag:
    """A boolean."""

    def read(self, reader: Reader) -> bool:
        value = reader.scalar()
        if type(value) is not bool:
            raise CorruptModelError(f"{shown(value)} is not a boolean.")
        return value

    def write(self, writer: Writer, value: bool) -> None:
        if type(value) is not bool:
            raise _refusal(value, bool)
        writer.scalar(value)


class Real:
    """A float of 64 bits."""

    def read(self, reader: Reader) -> float:
        if reader.at_short_float():
            raise CorruptModelError("a float of 32 bits where one of 64 belongs.")
        value = reader.scalar()
        if type(value) is not float:
            raise CorruptModelError(f"{shown(value)} is not a float.")
        return value

    def write(self, writer: Writer, value: float) -> None:
        if type(value) is not float:
            raise _refusal(value, float)
        writer.scalar(value)


class Maybe(Generic[T]):
    """nil, or what `codec` reads."""

    def __init__(self, codec: Codec[T]) -> None:
        self.codec = codec

    def read(self, reader: Reader) -> T | None:
        return None if reader.nil() else self.codec.read(reader)

    def write(self, writer: Writer, value: T | None) -> None:
        if value is None:
            writer.scalar(None)
        else:
            self.codec.write(writer, value)


class Many(Generic[T]):
    """A list of any length that `limit` allows; `total` bounds the sum over all such lists of a file."""

    def __init__(self, codec: Codec[T], limit: str = "items", total: str | None = None) -> None:
        self.codec, self.limit, self.total = codec, limit, total

    def read(self, reader: Reader) -> tuple[T, ...]:
        size = reader.array(self.limit)
        if not size:
            return ()
        if self.total is not None:
            reader.count(self.total, size)
        read, items = self.codec.read, []
        try:
            for _ in range(size):
                items.append(read(reader))
        except LoadError as error:
            error.within(len(items))
            raise
        return tuple(items)

    def write(self, writer: Writer, value: tuple[T, ...]) -> None:
        writer.array(len(value))
        write = self.codec.write
        for item in value:
            write(writer, item)


class Pair(Generic[T]):
    """`[name, value]` as a tuple: an item of a list of named things."""

    def __init__(self, codec: Codec[T]) -> None:
        self.codec = codec

    def read(self, reader: Reader) -> tuple[str, T]:
        _fixed(reader, 2)
        name = TEXT.read(reader)
        try:
            return name, self.codec.read(reader)
        except LoadError as error:
            error.within(shown(name))
            raise

    def write(self, writer: Writer, value: tuple[str, T]) -> None:
        writer.array(2)
        TEXT.write(writer, value[0])
        self.codec.write(writer, value[1])


class Fields(Generic[R]):
    """A record as an array of its fields in order."""

    def __init__(self, cls: type[R], **codecs: Codec[Any]) -> None:
        if tuple(codecs) != cls.fields:
            raise TypeError(f"{cls.__name__}: fields {cls.fields}, codecs {tuple(codecs)}")
        self.cls = cls
        self.size = len(codecs)
        self.empty = None if codecs else cls.of(())  # one for all: a file can ask for very many
        self.reads = tuple(codec.read for codec in codecs.values())
        self.writes = tuple(codec.write for codec in codecs.values())

    def read(self, reader: Reader) -> R:
        _fixed(reader, self.size)
        return self.read_fields(reader)

    def read_fields(self, reader: Reader) -> R:
        if self.empty is not None:
            return self.empty
        values: list[Any] = []
        try:
            for read in self.reads:
                values.append(read(reader))
        except LoadError as error:
            error.within(self.cls.fields[len(values)])
            raise
        return tuple.__new__(self.cls, values)

    def write(self, writer: Writer, value: R) -> None:
        writer.array(self.size)
        self.write_fields(writer, value)

    def write_fields(self, writer: Writer, value: R) -> None:
        if type(value) is not self.cls:
            raise _refusal(value, self.cls)
        for write, item in zip(self.writes, value, strict=True):
            write(writer, item)


class Extended(Fields[R]):
    """A tagged record whose last fields, `added` of them, are left out where they have their defaults.

    In files that do not use them it looks as it did before there were any.
    """

    def __init__(self, cls: type[R], added: int, **codecs: Codec[Any]) -> None:
        super().__init__(cls, **codecs)
        self.defaults = cls.defaults[-added:]
        self.few = self.size - added

    def read_few(self, reader: Reader) -> R:
        values: list[Any] = []
        try:
            for read in self.reads[: self.few]:
                values.append(read(reader))
        except LoadError as error:
            error.within(self.cls.fields[len(values)])
            raise
        return self.cls.of([*values, *self.defaults])

    def write_few(self, writer: Writer, value: R) -> None:
        for write, item in zip(self.writes[: self.few], value, strict=False):
            write(writer, item)


class Tagged:
    """One of several records: an array whose first item is the number of its kind."""

    def __init__(self, *kinds: Fields[Any]) -> None:
        self.kinds = kinds
        self.tags = {fields.cls: tag for tag, fields in enumerate(kinds)}

    def read(self, reader: Reader) -> Any:
        size = reader.array()
        tag = reader.scalar() if size else None
        if type(tag) is not int or not 0 <= tag < len(self.kinds):
            raise CorruptModelError(f"{shown(tag)} is no known kind; allowed are 0 to {len(self.kinds) - 1}.")
        fields = self.kinds[tag]
        if isinstance(fields, Extended) and size == fields.few + 1:
            return fields.read_few(reader)
        if size != fields.size + 1:
            raise CorruptModelError(f"{size - 1} fields where {fields.cls.__name__} has {fields.size}.")
        return fields.read_fields(reader)

    def write(self, writer: Writer, value: Record) -> None:
        tag = self.tags.get(type(value))
        if tag is None:
            raise _refusal(value, *self.tags)
        fields = self.kinds[tag]
        if isinstance(fields, Extended) and value[fields.few :] == fields.defaults:
            writer.array(fields.few + 1)
            writer.scalar(tag)
            fields.write_few(writer, value)
            return
        writer.array(fields.size + 1)
        writer.scalar(tag)
        fields.write_fields(writer, value)


class Document(Generic[R]):
    """A record as a map from the names of its fields, in their order: the outermost value of a file."""

    def __init__(self, cls: type[R], **codecs: Codec[Any]) -> None:
        self.fields = Fields(cls, **codecs)

    def read(self, reader: Reader) -> R:
        names = self.fields.cls.fields
        size = reader.map()
        if size != len(names):
            raise CorruptModelError(f"{size} sections where {len(names)} belong.")
        values: list[Any] = []
        for name, read in zip(names, self.fields.reads, strict=True):
            key = reader.scalar()
            if type(key) is not str or key != name:
                raise CorruptModelError(f"section {shown(key)} where {name!r} belongs.")
            try:
                values.append(read(reader))
            except LoadError as error:
                error.within(name)
                raise
        return self.fields.cls.of(values)

    def write(self, writer: Writer, value: R) -> None:
        if type(value) is not self.fields.cls:
            raise _refusal(value, self.fields.cls)
        writer.map(self.fields.size)
        for name, write, item in zip(type(value).fields, self.fields.writes, value, strict=True):
            writer.scalar(name)
            write(writer, item)


def _fixed(reader: Reader, size: int) -> None:
    found = reader.array()
    if found != size:
        raise CorruptModelError(f"{found} fields where {size} belong.")


def _refusal(value: object, *kinds: type) -> SaveError:
    """What is raised for a value of another class than these; a bool is not an int here, a NumPy scalar is not a float."""
    allowed = " or ".join(one.__name__ for one in kinds)
    return SaveError(f"{shown(value)} of type {type(value).__name__} where {allowed} belongs.")


TEXT = Text()
FLAG = Flag()
REAL = Real()
DATA = Data()
INDEX = Integer()
