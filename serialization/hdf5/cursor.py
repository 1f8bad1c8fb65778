"""Reads little-endian numbers from a buffer, with bounds checks."""

from __future__ import annotations

from typing import Any

from serialization.errors import CorruptModelError

UNDEFINED = (1 << 64) - 1  # HDF5's undefined address


class Cursor:
    """A position in some bytes."""

    __slots__ = ("data", "position")

    def __init__(self, data: Any, position: int = 0) -> None:
        self.data = data
        self.position = position

    @property
    def left(self) -> int:
        return len(self.data) - self.position

    def take(self, size: int) -> bytes:
        """The next bytes."""
        start = self.position
        self.skip(size)
        return bytes(self.data[start : start + size])

    def number(self, size: int) -> int:
        """The next number, without a sign."""
        return int.from_bytes(self.take(size), "little")

    def skip(self, size: int) -> None:
        """Go on without a copy: many may skip one large piece."""
        if size < 0 or size > self.left:
            raise CorruptModelError(f"{size} bytes at {self.position} of {len(self.data)}.")
        self.position += size

    def expect(self, signature: bytes) -> None:
        """Raise unless these bytes are the next ones."""
        start = self.position
        if self.take(len(signature)) != signature:
            raise CorruptModelError(f"{signature.decode('ascii', 'replace')!r} is not at {start}.")


def text_of(data: bytes) -> str:
    """A string, up to its first zero byte."""
    try:
        return data.split(b"\0", 1)[0].decode()
    except UnicodeDecodeError:
        raise CorruptModelError("a string that is not UTF-8.") from None
