"""Ordering of units beyond data dependencies: effects stay in program order, and units that may raise keep their place among
them.

A check runs before the ops that it guards; output printed before a failure appears, and assignments after it do not happen.
"""

from __future__ import annotations

from graphad.core.op import IO, WRITES
from graphad.graph.ir import Graph


class Chain:
    """Collects the ordering constraints of one graph's units, by index.

    Attributes:
      links: For each unit, the units that must run before it.
    """

    def __init__(self, graph: Graph) -> None:
        self.links: dict[int, list[int]] = {}
        self._acts = bool(graph.effects & (WRITES | IO))
        self._effect: list[int] = []  # the last unit with an effect
        self._raising: list[int] = []  # later units that may raise

    def add_effect(self, unit: int) -> list[int]:
        """Add a unit with an effect. Returns: the units that must run before it."""
        found = self.links[unit] = [*self._effect, *self._raising]
        self._effect, self._raising = [unit], []
        return found

    def add_raising(self, unit: int) -> list[int]:
        """Add a unit without effects that may raise. Returns: the units that must run before it."""
        if not self._acts:
            return []
        found = self.links[unit] = list(self._effect)
        self._raising.append(unit)
        return found
