"""Ordering of units beyond data dependencies: effects stay in program order, and units that may raise keep their place among
them.

A check runs before the ops that it guards; output printed before a failure appears, and assignments after it do not happen.
Units whose runs are made again where they have no answer only have to come before what acts behind them: what acts before them
may wait, so that assignments between two loops that check do not keep these from being one native call.
"""

from __future__ import annotations

from graphad.core.op import IO, WRITES
from graphad.graph.ir import Graph


class Chain:
    """Collects the ordering constraints of one graph's units, by index; `is_made_again`: a run that has no answer, op by op.

    Attributes:
      links: For each unit, the units that must run before it.
    """

    def __init__(self, graph: Graph, is_made_again: bool) -> None:
        self.links: dict[int, list[int]] = {}
        self._is_made_again = is_made_again
        self._acts = bool(graph.effects & (WRITES | IO))
        self._effect: list[int] = []  # the last unit with an effect
        self._print: list[int] = []  # the last one that prints
        self._check: list[int] = []  # the last one that only checks
        self._raising: list[int] = []  # later units that may raise

    def add_effect(self, unit: int, is_check: bool = False, prints: bool = False) -> None:
        """Add a unit with an effect; `is_check`: only that of raising where something does not hold."""
        self.links[unit] = [*self._effect, *self._print, *self._check, *self._raising]
        self._effect, self._raising = [unit], []
        if is_check:
            self._check = [unit]
        if prints:
            self._print = [unit]

    def add_printing(self, unit: int) -> None:
        """Add a native unit that prints, and may raise: texts keep their order, and what might end the run comes before them.

        A run that is made again leaves out what was printed, so that this may come before assignments.
        """
        self.links[unit] = [*self._print, *self._check, *self._raising]
        self._print = self._check = [unit]
        self._raising.append(unit)

    def add_raising(self, unit: int) -> None:
        """Add a unit without effects that may raise."""
        if self._acts:
            self.links[unit] = [*self._effect, *self._check]
            self._raising.append(unit)

    def add_answering(self, unit: int, is_check: bool = False) -> None:
        """Add a unit that may have no answer.

        Where the run is made again then, it may come before what acts, but not before a check, which may be why it ends.
        """
        if not self._is_made_again:
            self.add_effect(unit, True) if is_check else self.add_raising(unit)
        elif self._acts:
            self.links[unit] = list(self._check)
            self._raising.append(unit)
            if is_check:
                self._check = [unit]
