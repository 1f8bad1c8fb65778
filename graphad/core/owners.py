"""Whether an array has other owners than the one that asks: by Python's count of references, where that can be trusted."""

from __future__ import annotations

import sys
from typing import Any

# Without a GIL the count is not exact.
COUNTS_ARE_EXACT = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()


def _count(owner: Any, attribute: str) -> int:
    """The references to an attribute, those of this call included: how many those are depends on Python's version."""
    return sys.getrefcount(getattr(owner, attribute))


class _Owner:
    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data = object()


_ALONE = _count(_Owner(), "data")


def is_alone(owner: Any, attribute: str = "data") -> bool:
    """Whether nothing refers to the object in an attribute but `owner`."""
    return COUNTS_ARE_EXACT and _count(owner, attribute) == _ALONE
