"""Which units come behind which, beyond what they read: effects in program order, what may raise in its place among them.

A check comes before what it guards, what is printed before a failure is printed, and what was to be assigned behind one is not.
"""

from __future__ import annotations

from graphad.core.op import IO, WRITES
from graphad.graph.ir import Graph


class Chain:
    """The units of one graph as they come, by index.

    Attributes:
      links: For a unit, the units behind which it comes.
    """

    def __init__(self, graph: Graph) -> None:
        self.links: dict[int, list[int]] = {}
        self._acts = bool(graph.effects & (WRITES | IO))
        self._effect: list[int] = []  # the last unit with an effect
        self._raising: list[int] = []  # units after it that may raise

    def add_effect(self, unit: int) -> list[int]:
        """A unit with an effect. Returns: the units behind which it comes."""
        found = self.links[unit] = [*self._effect, *self._raising]
        self._effect, self._raising = [unit], []
        return found

    def add_raising(self, unit: int) -> list[int]:
        """A unit without effects that may raise. Returns: the units behind which it comes."""
        if not self._acts:
            return []
        found = self.links[unit] = list(self._effect)
        self._raising.append(unit)
        return found
