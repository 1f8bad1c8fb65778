"""A slot for closing graphs (Python rules become graphs), which the floor above fills."""

from __future__ import annotations

from collections.abc import Callable

from graphad.graph.ir import Graph


def _as_it_is(graph: Graph) -> Graph:
    return graph


_closed: Callable[[Graph], Graph] = _as_it_is


def set_closing(closed: Callable[[Graph], Graph]) -> None:
    """Set the function that closes graphs before they are batched."""
    global _closed
    _closed = closed


def closed(graph: Graph) -> Graph:
    """The graph without Python rules."""
    return _closed(graph)
