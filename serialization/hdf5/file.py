"""Groups and data sets of an HDF5 file, as version 1.8 of the library and h5py write them by default.

A file is a graph of object headers, lists of messages. A group names others by a B-tree of symbol tables, or by link messages;
a data set has a type, a space and one piece of the file. Supported is what Keras writes: contiguous data, neither compressed
nor chunked. Lengths and addresses are checked against the file; limits bound the number of visits.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from serialization.errors import (
    CorruptModelError,
    LimitExceededError,
    LoadError,
    UnsupportedModelError,
    shown,
)
from serialization.hdf5.cursor import UNDEFINED, Cursor, text_of
from serialization.hdf5.types import BARE, POINTED, TEXT, Type, shape_of, type_of
from serialization.wire.arrays import DTYPES, from_bytes
from serialization.wire.limits import DEFAULT_LIMITS, Limits

SIGNATURE = b"\x89HDF\r\n\x1a\n"
_SPACE, _LINK_INFO, _TYPE, _LINK, _LAYOUT, _FILTERS, _ATTRIBUTE, _CONTINUED, _SYMBOLS = (
    1,
    2,
    3,
    6,
    8,
    11,
    12,
    16,
    17,
)
Message = tuple[int, bytes]


class File:
    """An HDF5 file whose bytes are in memory, mapped or read.

    Attributes:
      root: Its outermost group.
    """

    def __init__(self, data: Any, limits: Limits = DEFAULT_LIMITS) -> None:
        self.data = data
        self.limits = limits
        self._objects = 0
        self._bytes = 0
        cursor = Cursor(data)
        cursor.expect(SIGNATURE)
        version = cursor.number(1)
        if version in (0, 1):
            cursor.skip(4)
            sizes = cursor.number(1), cursor.number(1)
            cursor.skip(9 if version == 0 else 13)
            base = cursor.number(8)
            cursor.skip(32)
            address = cursor.number(8)
        elif version in (2, 3):
            sizes = cursor.number(1), cursor.number(1)
            cursor.skip(1)
            base = cursor.number(8)
            cursor.skip(16)
            address = cursor.number(8)
        else:
            raise UnsupportedModelError(f"it is HDF5 of version {version} of the superblock.")
        if sizes != (8, 8) or base:
            raise UnsupportedModelError(
                "its addresses are not 8 bytes long, or it has a block of the user's in front."
            )
        found = self.object_at(address)
        if not isinstance(found, Group):
            raise CorruptModelError("its root is not a group.")
        self.root = found

    def at(self, address: int) -> Cursor:
        """A cursor at an address."""
        if address >= len(self.data):
            raise CorruptModelError(f"address {address} in a file of {len(self.data)} bytes.")
        return Cursor(self.data, address)

    def count(self, size: int) -> None:
        """Count one more object or block of this many bytes, since cycles or shared blocks could make the walk endless."""
        self._objects += 1
        self._bytes += size
        if self._objects > self.limits.items or self._bytes > self.limits.manifest_bytes:
            raise LimitExceededError(
                f"its structure has more than the limits 'items' and 'manifest_bytes' allow, {self.limits.items} blocks or "
                f"{self.limits.manifest_bytes} bytes."
            )

    def object_at(self, address: int) -> Group | Dataset:
        """The object whose header is at an address."""
        messages = list(self._messages(address))
        kinds = {kind for kind, _ in messages}
        if _SPACE in kinds and _TYPE in kinds:
            return Dataset(self, messages)
        return Group(self, messages)

    def _messages(self, address: int) -> Iterator[Message]:
        cursor = self.at(address)
        if bytes(self.data[address : address + 4]) == b"OHDR":
            yield from self._newer_messages(cursor)
            return
        if cursor.number(1) != 1:
            raise CorruptModelError(f"there is no object header at {address}.")
        cursor.skip(1)
        total = cursor.number(2)
        cursor.skip(4)
        size = cursor.number(4)
        cursor.skip(4)
        blocks = [Cursor(cursor.take(size))]
        self.count(size)
        seen = 0
        while blocks:
            block = blocks.pop(0)
            while block.left >= 8 and seen < total:
                kind, size, flags = block.number(2), block.number(2), block.number(4)
                body = block.take(size)
                _require_own(kind, flags)
                seen += 1
                if kind == _CONTINUED:
                    blocks.append(self._continued(body))
                else:
                    yield kind, body

    def _newer_messages(self, cursor: Cursor) -> Iterator[Message]:
        cursor.expect(b"OHDR")
        version, flags = cursor.number(1), cursor.number(1)
        if version != 2:
            raise CorruptModelError(f"an object header of version {version}.")
        cursor.skip((16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0))
        size = cursor.number(1 << (flags & 3))
        blocks = [Cursor(cursor.take(size))]
        self.count(size)
        while blocks:
            block = blocks.pop(0)
            while block.left >= 4:
                kind, size, shared = block.number(1), block.number(2), block.number(1)
                if flags & 4:
                    block.skip(2)
                body = block.take(size)
                _require_own(kind, shared)
                if kind != _CONTINUED:
                    yield kind, body
                    continue
                inner = self._continued(body)
                inner.expect(b"OCHK")
                blocks.append(Cursor(inner.take(inner.left - 4)))  # a checksum follows

    def _continued(self, body: bytes) -> Cursor:
        cursor = Cursor(body)
        address, size = cursor.number(8), cursor.number(8)
        self.count(size)
        return Cursor(self.at(address).take(size))

    def string_in_heap(self, reference: bytes) -> str:
        """A string of variable length: its length, the address of a heap, the number of an object in it."""
        cursor = Cursor(reference)
        length, address, number = cursor.number(4), cursor.number(8), cursor.number(4)
        if length == 0 or address in (0, UNDEFINED):
            return ""
        heap = self.at(address)
        heap.expect(b"GCOL")
        heap.skip(4)
        end = address + heap.number(8)
        while heap.position + 16 <= min(end, len(self.data)):
            self.count(16)
            found = heap.number(2)
            heap.skip(6)
            size = heap.number(8)
            if found == number:
                if length > size or length > self.limits.data_bytes:
                    raise CorruptModelError(f"a string of {length} bytes in an object of {size}.")
                self.count(length)
                return text_of(heap.take(length))
            if found == 0:
                break
            heap.skip(size + -size % 8)
        raise CorruptModelError(f"string {number} is not in the heap at {address}.")


def _require_own(kind: int, flags: int) -> None:
    """Raise if a message only refers to one that is elsewhere."""
    if flags & 2 and kind in (_SPACE, _TYPE, _LAYOUT, _FILTERS):
        raise UnsupportedModelError("a data set has a type that is stored apart; write it as Keras does.")


class Object:
    """A group or a data set: something with attributes.

    Attributes:
      file: The file it is in.
    """

    def __init__(self, file: File, messages: list[Message]) -> None:
        self.file = file
        self._all = messages
        self._attributes: dict[str, list[bytes]] | None = None

    def _one(self, kind: int) -> bytes | None:
        return next((body for found, body in self._all if found == kind), None)

    def strings(self, name: str) -> list[str] | None:
        """The attribute of this name as strings, None where there is none or it holds numbers."""
        if self._attributes is None:
            self._attributes = {}
            for kind, body in self._all:
                if kind == _ATTRIBUTE:
                    self._attributes.setdefault(_attribute(Cursor(body))[0], []).append(body)
        for body in self._attributes.get(name, ()):
            found = self._strings(*_attribute(Cursor(body))[1:])
            if found is not None:
                return found
        return None

    def _strings(self, flags: int, parts: list[bytes], cursor: Cursor) -> list[str] | None:
        if flags & 3:
            return None
        kind, shape = type_of(Cursor(parts[0])), shape_of(Cursor(parts[1]), self.file.limits)
        if kind.name not in (TEXT, POINTED):
            return None
        count = 0 if shape is None else prod(shape)
        if count * kind.size > cursor.left:
            raise CorruptModelError(f"{count} strings of {kind.size} bytes in {cursor.left}.")
        out = []
        for _ in range(count if kind.size else 0):
            self.file.count(kind.size)  # an attribute may be read many times: by all who link to its object
            item = cursor.take(kind.size)
            out.append(self.file.string_in_heap(item) if kind.name == POINTED else text_of(item))
        return out


def _attribute(cursor: Cursor) -> tuple[str, int, list[bytes], Cursor]:
    """Name, flags, type and space of an attribute, and where its elements are."""
    version, flags = cursor.number(1), cursor.number(1)
    sizes = [cursor.number(2) for _ in range(3)]
    if version == 3:
        cursor.skip(1)
    elif version not in (1, 2):
        raise CorruptModelError(f"an attribute of version {version}.")
    parts = []
    for size in sizes:
        parts.append(cursor.take(size))
        if version == 1:
            cursor.skip(-size % 8)
    return text_of(parts[0]), flags, parts[1:], cursor


class Group(Object):
    """Other groups and data sets by name."""

    def items(self) -> Iterator[tuple[str, Group | Dataset]]:
        """The members of the group, opened, in the order of the file. Soft and external links are left out."""
        for name, address in self._links():
            try:
                yield name, self.file.object_at(address)
            except LoadError as error:
                error.within(shown(name))
                raise

    def _links(self) -> Iterator[tuple[str, int]]:
        for kind, body in self._all:
            if kind == _SYMBOLS:
                yield from self._symbols(Cursor(body))
            elif kind == _LINK:
                found = _link(Cursor(body))
                if found is not None:
                    yield found
            elif kind == _LINK_INFO:
                cursor = Cursor(body)
                cursor.skip(1)
                cursor.skip(8 if cursor.number(1) & 1 else 0)
                if cursor.number(8) != UNDEFINED:
                    raise UnsupportedModelError(
                        "a group is stored in the newest form of HDF5; write the file with libver='earliest'."
                    )

    def _symbols(self, cursor: Cursor) -> Iterator[tuple[str, int]]:
        tree, heap = cursor.number(8), cursor.number(8)
        header = self.file.at(heap)
        header.expect(b"HEAP")
        header.skip(4)
        size = header.number(8)
        header.skip(8)
        self.file.count(size)
        names = self.file.at(header.number(8)).take(size)
        for node in self._nodes(tree):
            node.expect(b"SNOD")
            node.skip(2)
            for _ in range(node.number(2)):
                place, address, cached = node.number(8), node.number(8), node.number(4)
                node.skip(20)
                if place >= len(names):
                    raise CorruptModelError(f"a name at {place} of {len(names)}.")
                end = names.find(b"\0", place)
                end = len(names) if end < 0 else end
                self.file.count(40 + end - place)  # many may share one name
                if cached != 2:  # a soft link
                    yield text_of(names[place:end]), address

    def _nodes(self, tree: int) -> Iterator[Cursor]:
        """The symbol tables at the leaves of a B-tree."""
        stack = [tree]
        while stack:
            cursor = self.file.at(stack.pop())
            cursor.expect(b"TREE")
            kind, level, used = cursor.number(1), cursor.number(1), cursor.number(2)
            if kind != 0:
                raise CorruptModelError("a tree of another kind.")
            cursor.skip(16)
            children = []
            for _ in range(used):
                self.file.count(16)
                cursor.skip(8)
                children.append(cursor.number(8))
            if level == 0:
                yield from (self.file.at(child) for child in children)
            else:
                stack += reversed(children)


def _link(cursor: Cursor) -> tuple[str, int] | None:
    """Name and address of a link message, None where it leads elsewhere."""
    if cursor.number(1) != 1:
        raise CorruptModelError("a link of another version.")
    flags = cursor.number(1)
    kind = cursor.number(1) if flags & 8 else 0
    cursor.skip((8 if flags & 4 else 0) + (1 if flags & 16 else 0))
    name = text_of(cursor.take(cursor.number(1 << (flags & 3))))
    return (name, cursor.number(8)) if kind == 0 else None


class Dataset(Object):
    """An array in a file.

    Attributes:
      dtype: The name of its dtype, `TEXT`, `POINTED` or `BARE`.
      shape: Its sizes.
    """

    def __init__(self, file: File, messages: list[Message]) -> None:
        super().__init__(file, messages)
        self._type: Type = type_of(Cursor(self._one(_TYPE) or b""))
        if self._type == Type(BARE, 2) and self.strings("dtype") == ["bfloat16"]:
            self._type = Type("bfloat16", 2)  # as Keras writes it
        self.dtype = self._type.name
        shape = shape_of(Cursor(self._one(_SPACE) or b""), file.limits)
        self.shape: tuple[int, ...] = (0,) if shape is None else shape
        self.size = self._type.size * prod(self.shape)

    def read(self) -> np.ndarray[Any, Any]:
        """The elements, with memory of their own."""
        if self.dtype not in DTYPES:
            kind = "bytes without a meaning" if self.dtype == BARE else "strings"
            raise UnsupportedModelError(f"it holds {kind}, not numbers.")
        name = self.dtype
        marked = self.strings("dtype")
        return from_bytes(
            "bfloat16" if marked == ["bfloat16"] and self._type.size == 2 else name, self.shape, self._bytes()
        )

    def _bytes(self) -> bytearray:
        if self._one(_FILTERS) is not None:
            raise UnsupportedModelError("it is compressed; write it as Keras does, without filters.")
        cursor = Cursor(self._one(_LAYOUT) or b"")
        version, kind = cursor.number(1), cursor.number(1)
        if version not in (3, 4) or kind not in (0, 1):
            raise UnsupportedModelError("it is stored in chunks; write it as Keras does, in one piece.")
        if kind == 0:
            found, source = cursor.number(2), cursor
        else:
            address, found = cursor.number(8), cursor.number(8)
            if self.size == 0 or address == UNDEFINED:
                if self.size:
                    raise CorruptModelError("its elements were never written.")
                return bytearray()
            source = self.file.at(address)
        if found != self.size:
            raise CorruptModelError(
                f"{found} bytes for {self.dtype} of shape {self.shape}, which needs {self.size}."
            )
        return bytearray(source.take(self.size))
