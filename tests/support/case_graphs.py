"""The ops in the graphs of the cases; each graph is traced once, whoever asks."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy as np

from graphad.core.nest import flatten
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph
from graphad.trace.tracer import trace_flat
from tests.support.op_case import OpCase, spec_of


def traced(case: OpCase, specs: Sequence[TensorSpec]) -> Iterator[Graph]:
    """The graph of the call, of its gradient and of its second derivative, as far as there are these."""
    graph = case.traced(specs)
    yield graph
    bars = [spec if spec.dtype.is_differentiable else None for spec in graph.output_specs]
    if case.order and case.sources and any(bar is not None for bar in bars):
        yield case.traced_gradient(specs, bars)
        if case.order > 1 and len(bars) == 1 and bars[0] is not None:
            yield trace_flat(lambda *xs: case.second(xs), [*specs, bars[0]], "second").graph


class Graphs:
    """The ops of the graphs of a case, each of which is traced when it is first asked for.

    Attributes:
      value: The graph of the call.
    """

    def __init__(self, case: OpCase, specs: Sequence[TensorSpec] | None = None) -> None:
        self._further = traced(case, case.specs() if specs is None else specs)
        self.value = next(self._further)
        self._known = [self._both(self.value)]

    @staticmethod
    def _both(graph: Graph) -> tuple[set[str], set[str]]:
        """The ops of a graph, and the same with those of the graphs in it."""
        return {node.op.name for node in graph.nodes}, names(graph)

    def _ops(self, order: int) -> tuple[set[str], set[str]]:
        while len(self._known) <= order:
            graph = next(self._further, None)
            self._known.append((set(), set()) if graph is None else self._both(graph))
        return self._known[order]

    @property
    def of_value(self) -> set[str]:
        """The ops of the call, and of the graphs in it."""
        return self._ops(0)[1]

    @property
    def of_first(self) -> set[str]:
        """Those of the gradient, none where there is no gradient."""
        return self._ops(1)[1]

    @property
    def of_second(self) -> set[str]:
        """Those of the gradient of the gradient."""
        return self._ops(2)[1]

    @property
    def outer(self) -> set[str]:
        """The ops of all three, without those of the graphs in them."""
        return {name for order in range(3) for name in self._ops(order)[0]}


def names(graph: Graph) -> set[str]:
    """The ops of a graph and of the graphs in it."""
    found = set()
    for node in graph.nodes:
        found.add(node.op.name)
        for field in node.op.attributes:
            for inner in flatten(getattr(node.op, field))[0]:
                if isinstance(inner, Graph):
                    found |= names(inner)
    return found


def unknown(case: OpCase) -> Iterator[tuple[str, list[TensorSpec]]]:
    """The kinds of unknown shapes that a case can be traced with, and the specs of its operands then."""
    if "sizes" in case.unknown and any(np.ndim(x) for x in case.arrays):
        yield "sizes", [TensorSpec.of((None,) * np.ndim(x), spec_of(x).dtype) for x in case.arrays]
    if "rank" in case.unknown and case.arrays:
        yield "rank", [TensorSpec.of(None, spec_of(x).dtype) for x in case.arrays]


@functools.cache
def graphs_of(case: OpCase, kind: str = "known") -> Graphs:
    """The graphs with known shapes, or with those of a kind of `unknown`."""
    return Graphs(case, dict(unknown(case)).get(kind))


def op_names(case: OpCase) -> set[str]:
    """Every op in the graphs of a case, with known and with unknown shapes."""
    kinds = ["known", *[kind for kind, _ in unknown(case)]]
    return {name for kind in kinds for name in graphs_of(case, kind).outer}
