"""Run a graph's eval rules one after another on NumPy values: the reference answer that every compiled path must equal.

Call, cond and loop use `run` for their sub-graphs; the compiler replaces its implementation with `set_runner`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from graphad.core.frames import note_traced_line
from graphad.core.op import evaluated
from graphad.core.rule_errors import explained
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import last_uses

Runner = Callable[..., Sequence[Any]]  # called with a graph, values, and their device if that is not the CPU
Seen = Callable[[Node, Sequence[Any], Sequence[Any]], None]


def evaluate(graph: Graph, values: Sequence[Any], seen: Seen | None = None) -> list[Any]:
    """The outputs of the graph for input values (NumPy values, handles for handle inputs).

    Args:
      seen: Called with each node, its inputs and its outputs after it has run; its errors are raised.
    """
    known: list[Any] = [*values, *graph.constants]
    last = last_uses(graph)
    for position, node in enumerate(graph.nodes):
        try:
            outputs = evaluated(node.op, [known[i] for i in node.inputs], len(node.specs))
        except Exception as error:  # raised again with the op and the traced line
            error = explained(error, node.op, [known[i] for i in node.inputs])
            note_traced_line(error, node.line)
            raise error
        if seen is not None:
            seen(node, [known[i] for i in node.inputs], outputs)
        known.extend(outputs)
        for value in last[position]:
            known[value] = None
    return [known[i] for i in graph.outputs]


class Work(threading.local):
    """What this thread has computed node by node, in nodes: as many numbers as NumPy computes in the time of a node count as
    one more (`work_of`)."""

    nodes = 0


work = Work()
_NUMBERS_OF_A_NODE = 1000


def work_of(nodes: int, numbers: int) -> int:
    """The work of so many nodes, which compute so many numbers."""
    return nodes + numbers // _NUMBERS_OF_A_NODE


_runner: Runner = lambda graph, values, place=None: evaluate(graph, values)  # noqa: E731


# The function that returns the device of values: None for the CPU, "" for several devices. None until a device is used.
_place_of: Callable[[Sequence[Any]], str | None] | None = None


def run(graph: Graph, values: Sequence[Any]) -> Sequence[Any]:
    """The outputs of the graph, by the fastest available runner."""
    place = place_of(values)
    if place is None:
        return _runner(graph, values)
    return _runner(graph, values, place) if place else evaluate(graph, values)


def in_rounds(graph: Graph) -> Callable[..., Sequence[Any]]:
    """A function of values that runs the graph as `run` does, for the rounds of one loop: what is the same in all of them is
    looked at once."""
    if _in_rounds is not None and _in_rounds[0] is _runner:
        return _in_rounds[1](graph)
    return lambda *values: run(graph, values)


def place_of(values: Sequence[Any]) -> str | None:
    """The device of values that are not on the CPU; "" for several devices, None for the CPU."""
    return None if _place_of is None else _place_of(values)


def set_place_of(test: Callable[[Sequence[Any]], str | None]) -> None:
    """Have `run` look up the device of values; values on several devices are evaluated op by op, which raises the error."""
    global _place_of
    _place_of = test


_in_rounds: tuple[Runner, Callable[[Graph], Callable[..., Sequence[Any]]]] | None = None


def set_in_rounds(runner: Runner, function: Callable[[Graph], Callable[..., Sequence[Any]]]) -> None:
    """Have `in_rounds` take a function while `runner` is in place."""
    global _in_rounds
    _in_rounds = runner, function


def set_runner(runner: Runner) -> Runner:
    """Replace the runner; returns the old one. The compiler calls this once, and numeric checks while they are on."""
    global _runner
    before = _runner
    _runner = runner
    return before
