"""How the Python rules of a graph become graphs, which only the floor above knows: it says so here."""

from __future__ import annotations

from collections.abc import Callable

from graphad.graph.ir import Graph


def _as_it_is(graph: Graph) -> Graph:
    return graph


_closed: Callable[[Graph], Graph] = _as_it_is


def set_closing(closed: Callable[[Graph], Graph]) -> None:
    """Have graphs closed in this way before they are batched."""
    global _closed
    _closed = closed


def closed(graph: Graph) -> Graph:
    """The graph without Python rules."""
    return _closed(graph)
