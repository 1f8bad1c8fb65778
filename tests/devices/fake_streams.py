"""Streams of the fake device."""

from __future__ import annotations

import itertools
import threading
from typing import Any

_numbers = itertools.count(1)


class Stream:
    """A stream; CuPy's default one has the address 0."""

    def __init__(self, null: bool = False, non_blocking: bool = False) -> None:
        self.ptr = 0 if null else next(_numbers) << 8

    def __enter__(self) -> Stream:
        _local.chosen.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _local.chosen.pop()

    def record(self) -> Any:
        return object()

    def synchronize(self) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass


class _Local(threading.local):
    def __init__(self) -> None:
        self.chosen: list[Stream] = []


DEFAULT = Stream(null=True)
_local = _Local()


def current() -> Stream:
    """The stream of a thread."""
    return _local.chosen[-1] if _local.chosen else DEFAULT
