"""A bounded table of what was computed before: when it is full, the oldest entries go, and the rest stays.

Reading is a dict's own `get`. What is forgotten is computed again, so nothing depends on an entry being there.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from graphad.core import forks

_PORTION = 8  # of a full table an eighth goes at once, since finding the oldest of a dict is slow one by one
_lock = forks.rlock()  # of all tables: what runs under it is short


class Memo(dict[Any, Any]):
    """A table with a name and a limit. Put things in with `keep` only."""

    __slots__ = ("limit", "name")

    def __init__(self, name: str, limit: int) -> None:
        super().__init__()
        self.name = name
        self.limit = limit

    def keep(self, key: Any, value: Any) -> Any:
        """Keep `value` under `key`, unless another thread has kept one already; returns the value that is kept."""
        if not self.limit:
            return value
        with _lock:
            while len(self) >= self.limit and key not in self:
                for old in list(islice(self, 1 + self.limit // _PORTION)):
                    self.pop(old, None)
            return self.setdefault(key, value)
