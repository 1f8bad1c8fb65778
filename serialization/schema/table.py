"""`Table`: numbers for equal records, in order of first use.

Records are compared by their encoded bytes, since as tuples axis 1 and axis True would be the same op.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from serialization.wire.codec import Codec, encode

T = TypeVar("T")


class Table(Generic[T]):
    """A growing table of records."""

    def __init__(self, codec: Codec[T]) -> None:
        self._codec = codec
        self._numbers: dict[bytes, int] = {}
        self._entries: list[T] = []

    def number(self, record: T) -> int:
        """The number of `record`, new or not."""
        key = encode(self._codec, record)
        number = self._numbers.setdefault(key, len(self._entries))
        if number == len(self._entries):
            self._entries.append(record)
        return number

    def entries(self) -> tuple[T, ...]:
        return tuple(self._entries)
