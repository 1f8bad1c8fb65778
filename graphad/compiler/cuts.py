"""Where to cut loops that grow too large: at the same places as earlier ones, so that equal parts of a long graph give equal
kernels.

Compiling a kernel costs about as much as its statements weigh, and a long chain is cut into hundreds of loops. If each were
filled to the limit, the cuts would drift over the chain's pattern and hardly two loops would be equal. So a loop that is half
full also ends where the surrounding ops equal those of an earlier cut; after a few loops the cuts follow the pattern.
"""

from __future__ import annotations

from graphad.compiler.plain import is_instruction
from graphad.graph.ir import Graph
from graphad.kernels.forms import Map

WEIGHT_LIMIT = 100  # of the statements of one loop
FUNCTION_WEIGHT = 7  # of a statement that is not a plain instruction but a polynomial and more
LONG = 4 * WEIGHT_LIMIT  # weight from which graphs are cut at repeated places


class Cuts:
    """The cuts of one graph."""

    def __init__(self, graph: Graph) -> None:
        self._weights: dict[Map, int] = {}
        self._seen: set[int] = set()
        self._around = _surroundings(graph) if len(graph.nodes) * FUNCTION_WEIGHT > LONG else None

    @property
    def is_long(self) -> bool:
        """Whether loops may end before they are full."""
        return self._around is not None

    def weight(self, body: Map) -> int:
        """The weight that a node adds to its loop."""
        found = self._weights.get(body)
        if found is None:
            found = 0
            for statement in body.body:
                found += 1 if is_instruction(body, statement) else FUNCTION_WEIGHT
            self._weights[body] = found
        return found

    def ends(self, value: int, weight: int, more: int) -> bool:
        """Whether a loop of this weight ends before the node that makes `value` and adds the weight `more`."""
        around = self._around
        if weight + more > WEIGHT_LIMIT:
            if around is not None and value < len(around):
                self._seen.add(around[value])
            return True
        return (
            around is not None
            and 2 * weight >= WEIGHT_LIMIT
            and value < len(around)
            and around[value] in self._seen
        )


def _surroundings(graph: Graph) -> list[int]:
    """For each value the ops that it comes from, three steps back, as a number."""
    near = [0] * graph.first_node_value
    far, farther = [*near], [*near]
    for node in graph.nodes:
        op, inputs = node.op, node.inputs
        here = hash(op)
        wide = hash((here, *[near[i] for i in inputs]))
        wider = hash((here, *[far[i] for i in inputs]))
        count = len(node.specs)
        near += [here] * count
        far += [wide] * count
        farther += [wider] * count
    return farther
