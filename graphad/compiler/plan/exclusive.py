"""Exclusive access to the variables that a call writes, from its first read on.

So an addition to a variable is never lost to another thread. All guards, including those of inner functions, are taken at once
and in a fixed order, so that no deadlock can occur.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.op import WRITES, Op
from graphad.core.tensor import guards_of
from graphad.graph.ir import Graph
from graphad.graph.walk import runs_user_code, sub_graphs

_NO_GUARD = object()


def written(graph: Graph) -> tuple[int, ...]:
    """The variables among the inputs that a graph writes; none if it runs user code, which may wait for anything."""
    if not graph.effects & WRITES or any(runs_user_code(node.op) for node in graph.nodes):
        return ()
    found: dict[int, None] = {}
    for node in graph.nodes:
        if _assigns(node.op):
            for value in node.inputs:
                if value < len(graph.inputs) and graph.inputs[value].is_handle:
                    found[value] = None
    return tuple(found)


def _assigns(op: Op) -> bool:
    if not op.effects & WRITES:
        return False
    inner = sub_graphs(op)
    return any(_assigns(node.op) for graph in inner for node in graph.nodes) if inner else not op.guarded


class Guards:
    """The guards of the variables among a call's values."""

    __slots__ = ("_known", "_places")

    def __init__(self, places: tuple[int, ...]) -> None:
        self._places = places
        self._known: tuple[Sequence[tuple[int, Any]], Any] = [(places[0], _NO_GUARD)], None

    def of(self, values: Sequence[Any]) -> Any:
        """A context that takes the guards for these values. That of the last call is reused while the guards are the same."""
        known, context = self._known
        for place, guard in known:
            if values[place].guard is not guard:
                return self._of_others(values)
        return context

    def _of_others(self, values: Sequence[Any]) -> Any:
        found = guards_of([values[place] for place in self._places])
        ordered = sorted(set(found), key=id)
        # Variables that were first written together share one guard, which then is the context itself.
        context = ordered[0] if len(ordered) == 1 else _InOrder(ordered)
        self._known = list(zip(self._places, found, strict=True)), context
        return context


class _InOrder:
    """Several guards as one context."""

    __slots__ = ("_acquires", "_releases")

    def __init__(self, guards: Sequence[Any]) -> None:
        self._acquires = [guard.acquire for guard in guards]
        self._releases = [guard.release for guard in guards]

    def __enter__(self) -> None:
        rest = iter(self._acquires)
        try:
            for acquire in rest:
                acquire()
        except BaseException:  # such as Ctrl-C while waiting for a guard
            held = len(self._acquires) - len(list(rest)) - 1
            for release in self._releases[:held]:
                release()
            raise

    def __exit__(self, *error: object) -> None:
        for release in self._releases:
            release()
