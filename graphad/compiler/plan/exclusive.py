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
    """The variables among the inputs that a graph writes; none if it runs user code, which may wait for anything.

    An op that takes a guard itself needs none of the call's. But a loop may carry the variable of such an op, and assign it once
    at its end; then the call holds the guards of all such ops, so that none of them waits while the call holds another one.
    """
    if not graph.effects & WRITES or any(runs_user_code(node.op) for node in graph.nodes):
        return ()
    found: dict[int, None] = {}
    single: dict[int, None] = {}
    for node in graph.nodes:
        if node.op.effects & WRITES:
            into = found if _assigns(node.op) else single
            into.update({v: None for v in node.inputs if v < len(graph.inputs) and graph.inputs[v].is_handle})
    if any(_may_carry(node.op) for node in graph.nodes):
        found.update(single)
    return tuple(found)


def _assigns(op: Op) -> bool:
    """Whether an op assigns variables whose guards the call holds."""
    if not op.effects & WRITES:
        return False
    inner = sub_graphs(op)
    if not inner:
        return not op.guarded
    return op.repeats or any(_assigns(node.op) for graph in inner for node in graph.nodes)


def _may_carry(op: Op) -> bool:
    """Whether an op has a loop that may carry the variable of an op that takes its guard itself."""
    if not op.effects & WRITES:
        return False
    nodes = [node for graph in sub_graphs(op) for node in graph.nodes]
    return any(_may_carry(node.op) or (op.repeats and _is_guarded(node.op)) for node in nodes)


def _is_guarded(op: Op) -> bool:
    inner = sub_graphs(op)
    return op.guarded or any(_is_guarded(node.op) for graph in inner for node in graph.nodes)


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
        handles = [values[place] for place in self._places]
        found = guards_of(handles)
        behind = {id(guard) for guard, handle in zip(found, handles, strict=True) if handle.within}
        ordered = sorted(set(found), key=lambda guard: (id(guard) in behind, id(guard)))
        # Variables that were first written together share one guard, which then is the context itself.
        context = ordered[0] if len(ordered) == 1 else InOrder(ordered)
        self._known = list(zip(self._places, found, strict=True)), context
        return context


class InOrder:
    """Several guards as one context.

    An interrupt may come before the first step of `__exit__`, or between a guard and the note that it is taken. So guards are
    asked whether this thread has them, and who uses the context gives them back after an error: see `run`.
    """

    __slots__ = ("_guards",)

    def __init__(self, guards: Sequence[Any]) -> None:
        self._guards = guards

    def owned(self) -> list[bool]:
        """Which of them this thread has already."""
        return [guard._is_owned() for guard in self._guards]

    def give_back(self, before: Sequence[bool]) -> None:
        """Give back those which this thread did not have before."""
        for guard, was_owned in zip(self._guards, before, strict=True):
            while not was_owned and guard._is_owned():
                guard.release()

    def __enter__(self) -> None:
        before = self.owned()
        try:
            for guard in self._guards:
                guard.acquire()
        except BaseException:  # such as Ctrl-C while waiting for a guard
            self.give_back(before)
            raise

    def __exit__(self, *error: object) -> None:
        for guard in self._guards:
            guard.release()
