"""Which graphs have been compiled before, by a mark in the cache of compiled code.

A graph whose loops NumPy walks round by round may be planned in a part of the time that this takes, and run at once if its
kernels are in the cache; then a call waits for the plan. Whether they are there only the plan tells. A mark tells it beforehand.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphad.compiler import cache
from graphad.compiler.source import named_key, version_parts
from graphad.graph.digest import digest
from graphad.graph.walk import sub_graphs

if TYPE_CHECKING:
    from graphad.compiler.pipeline import Options
    from graphad.graph.ir import Graph

NODES = 400  # which NumPy computes in the time in which one node of a graph is planned
FIRST = 100_000  # the same for what the first plan of a process imports
_PLANNER = "graphad.compiler.partition"
_MOST_BYTES = 1 << 20  # of constants, which are part of a mark


def is_worth_a_plan(graph: Graph, work: int) -> bool:
    """Whether a plan of the graph takes less time than a call in which NumPy computes so many nodes."""
    return work >= NODES * _count(graph) + (0 if _PLANNER in sys.modules else FIRST)


def is_marked(graph: Graph, options: Options, place: str) -> bool:
    """Whether a graph has been compiled before, as far as is known."""
    key = _key(graph, options, place)
    return key is not None and cache.default_cache().get(key) is not None


def mark(graph: Graph, options: Options, place: str) -> None:
    """Note that there is code for all of a graph that repeats a part of it."""
    if any(node.op.repeats for node in graph.nodes):
        key = _key(graph, options, place)
        store = cache.default_cache()
        if key is not None and store.get(key) is None:
            store.put(key, b"planned")


def _key(graph: Graph, options: Options, place: str) -> str | None:
    if _bytes(graph) > _MOST_BYTES:
        return None
    return named_key({**version_parts(), "planned": digest(graph), "options": options, "place": place})


def _count(graph: Graph) -> int:
    """The nodes of a graph and of all graphs within it."""
    return len(graph.nodes) + sum([_count(inner) for inner in _inner(graph)])


def _bytes(graph: Graph) -> int:
    return sum([array.nbytes for array in graph.constants]) + sum([_bytes(inner) for inner in _inner(graph)])


def _inner(graph: Graph) -> list[Graph]:
    return [inner for node in graph.nodes if node.op.structured for inner in sub_graphs(node.op)]
