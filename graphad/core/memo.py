"""A bounded table of computed values: when it is full, the oldest entries are dropped.

Reading is a dict's own `get`. A dropped value is computed again, so nothing depends on an entry.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from graphad.core import forks

_PORTION = 8  # a full table drops an eighth at once, since finding the oldest entries one by one is slow
_lock = forks.rlock()  # shared by all tables, since it is held only briefly


class Memo(dict[Any, Any]):
    """A table with a name and a limit. Entries are added by `keep` only."""

    __slots__ = ("limit", "name")

    def __init__(self, name: str, limit: int) -> None:
        super().__init__()
        self.name = name
        self.limit = limit

    def keep(self, key: object, value: object) -> Any:
        """Keep `value` under `key`, unless another thread was first; returns the value in the table."""
        if not self.limit:
            return value
        with _lock:
            while len(self) >= self.limit and key not in self:
                for old in list(islice(self, 1 + self.limit // _PORTION)):
                    self.pop(old, None)
            return self.setdefault(key, value)
