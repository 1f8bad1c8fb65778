"""Custom gradients that this process has traced, by name.

A model saved without its custom gradients and loaded again in the same process still has them, since it finds them here.
"""

from __future__ import annotations

from typing import Any

_REMEMBERED: dict[str, Any] = {}


def remember(name: str, closed_op: Any) -> None:
    """Keep the closed form of a rule under its name; the latest one counts."""
    _REMEMBERED[name] = closed_op


def recall(name: str) -> Any | None:
    """The closed form of the rule called `name`, or None."""
    return _REMEMBERED.get(name)
