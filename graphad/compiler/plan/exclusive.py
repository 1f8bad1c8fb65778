"""Which variables a call has for itself: those that it gives new values, from the moment when it reads them.

So what a function adds to a variable is never lost, whatever other threads do meanwhile. Guards are taken all at once and in one
order, and those of the functions inside are among them: nobody waits in a circle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.op import WRITES, Op
from graphad.core.tensor import guards_of
from graphad.graph.ir import Graph
from graphad.graph.walk import sub_graphs

DRAWS = ("random_key", "random_set_state")  # each is one step by itself


def written(graph: Graph) -> tuple[int, ...]:
    """The inputs that are variables to which a graph gives values; none where it runs user code, which may wait for anything."""
    if not graph.effects & WRITES or _runs_user_code(graph):
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
    return (
        any(_assigns(node.op) for graph in inner for node in graph.nodes) if inner else op.name not in DRAWS
    )


def _runs_user_code(graph: Graph) -> bool:
    return any(node.op.extension or any(map(_runs_user_code, sub_graphs(node.op))) for node in graph.nodes)


class Guards:
    """The guards of the variables among a call's values, taken in one order."""

    def __init__(self, places: tuple[int, ...]) -> None:
        self._places = places
        self._known: tuple[list[Any], list[Any]] = [], []

    def taken(self, values: Sequence[Any]) -> list[Any]:
        """The guards for these values, each taken once; who calls releases them."""
        found = [values[i]._guard for i in self._places]
        known, ordered = self._known
        if found != known:  # other variables than last time
            found = guards_of([values[i] for i in self._places])
            ordered = sorted(set(found), key=id)
            self._known = found, ordered
        held = 0
        try:
            for guard in ordered:
                guard.acquire()
                held += 1
        except BaseException:  # Ctrl-C while it waits
            for guard in ordered[:held]:
                guard.release()
            raise
        return ordered
