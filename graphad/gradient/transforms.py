"""The transforms of sub-graphs, handed down as an argument to the rules of call, cond, loop and custom gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphad.graph.ir import Graph

if TYPE_CHECKING:
    from graphad.gradient.reverse import Pullback


class Transforms:
    """The transforms that a rule's context offers for the op's sub-graphs."""

    def pullback_of(
        self, graph: Graph, needs: Sequence[bool], fixed: frozenset[int] = frozenset()
    ) -> Pullback:
        """The pullback for cotangents of the inputs that `needs` names; see `reverse.Pullback` for `fixed`."""
        from graphad.gradient.reverse import pullback_of  # many programs have no sub-graphs to differentiate

        return pullback_of(graph, needs, self, fixed)

    def closed(self, graph: Graph) -> Graph:
        """The graph with the Python rules of its custom gradients replaced by graphs, one level deep."""
        from graphad.gradient.closing import closed

        return closed(graph)


TRANSFORMS: Any = Transforms()
