"""Custom gradients that this process has traced, by name.

A model saved without its custom gradients and loaded again in the same process still has them, since it finds them here.
"""

from __future__ import annotations

from graphad.ops.control.custom import ClosedRule

_REMEMBERED: dict[str, ClosedRule] = {}


def remember(rule: ClosedRule) -> None:
    """Keep the closed form of a rule under its name."""
    _REMEMBERED[rule.name] = rule


def recall(name: str) -> ClosedRule | None:
    """The closed form of the rule called `name`, or None."""
    return _REMEMBERED.get(name)
