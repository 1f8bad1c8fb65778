"""The pullback of a graph: a replay under a recorder inside a trace, split into a forward and a backward graph.

Nodes that depend on a cotangent are backward, the others forward; a forward value that backward nodes read is a residual. The
forward graph is the original one with residuals as further outputs, so nothing runs twice and no effect happens twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphad.core import forks
from graphad.core.errors import InternalError
from graphad.core.levels import entered, here
from graphad.core.op import IO, WRITES
from graphad.core.spec import TensorSpec
from graphad.gradient.backward import backward, dense
from graphad.gradient.recorder import Recorder
from graphad.graph.builder import GraphBuilder
from graphad.graph.ir import JIT_COMPILE, Graph, Node, derived_once
from graphad.graph.replay import replay
from graphad.ops.array.passing import IDENTITY
from graphad.trace.tracer import Trace

if TYPE_CHECKING:
    from graphad.core.annotations import Transforms
    from graphad.core.op import Op
    from graphad.core.tensor import Tensor


class BackwardGraph:
    """The graph from residuals and cotangents of outputs to cotangents of inputs.

    Attributes:
      graph: Its inputs are those inputs of the call that `inputs` lists, then the residuals that `residuals` lists, then the
      given cotangents.
      places: The output that is the cotangent of an input of the call, for the inputs that have one.
      masked: The inputs of the call whose cotangents are 0 where a branch was not taken.
    """

    __slots__ = ("call", "graph", "inputs", "masked", "places", "residuals")

    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[int],
        residuals: Sequence[int],
        places: Mapping[int, int],
        masked: Sequence[int],
    ) -> None:
        self.call: Op | None = None  # it calls `graph`, and is cached by users of this
        self.graph = graph
        self.inputs = inputs
        self.residuals = residuals
        self.places = places
        self.masked = masked


class Pullback:
    """The forward graph, with residuals, and the backward graphs of one graph, by which cotangents are given.

    Args:
      graph: The graph.
      needs: The inputs whose cotangents are wanted.
      transforms: The transforms of sub-graphs, for rules.
      fixed: Inputs that are the same in every step of a loop. A value computed only from them and constants is not a residual:
      each backward step recomputes it, instead of a copy being kept for each step.
    """

    def __init__(
        self,
        graph: Graph,
        needs: tuple[bool, ...],
        transforms: Transforms,
        fixed: frozenset[int] = frozenset(),
    ) -> None:
        graph = transforms.closed(graph)
        self.needs = needs
        self.call: Op | None = None  # it calls `forward`, and is cached by users of this
        self._transforms = transforms
        self._trace = Trace(f"{graph.name}_pullback")
        self._lock = forks.rlock()
        self._backward: dict[tuple[Sequence[bool], Sequence[int]], BackwardGraph | None] = {}
        trace = self._trace
        with entered(trace):
            self._xs = [trace.input(spec) for spec in graph.inputs]
            recorder = Recorder(transforms)
            trace.recorders = (recorder,)
            self._marks = [
                recorder.follow(x) if need else None for x, need in zip(self._xs, needs, strict=True)
            ]
            self._ys = replay(graph, self._xs)
            trace.recorders = ()
        self._entries = recorder.entries
        self._n_forward = len(trace.builder.nodes)
        self._fixed = fixed
        self.n_outputs = len(self._ys)
        self.differentiable = tuple([y.mark is not None and y.mark in recorder.tracked for y in self._ys])
        self._bars = [
            trace.input(TensorSpec.of(y.dims, y.dtype)) if d else None
            for y, d in zip(self._ys, self.differentiable, strict=True)
        ]
        self._input_serials = {x.index: k for k, x in enumerate(self._xs)}
        # The number of nodes examined, and the result; nodes are only added.
        bars = {bar.index for bar in self._bars if bar is not None}
        self._reached: tuple[int, set[int], set[int]] = 0, bars, set()
        self._residual_serials: list[int] = []
        full, places = self._differentiate(self.differentiable, ())
        self._freeze(full)
        self._asked = {JIT_COMPILE: graph.derived.get(JIT_COMPILE)}
        self.forward = self._forward_graph(graph.name)
        of_all = self._split(full, self.differentiable, (self._n_forward, len(trace.builder.nodes)), places)
        assert of_all is not None  # it reads only residuals
        self.full: BackwardGraph = of_all
        self._backward[self.differentiable, ()] = of_all

    def backward(
        self, given: Sequence[bool], masked: Sequence[int] = ()
    ) -> tuple[BackwardGraph, Sequence[bool]]:
        """The backward graph for cotangents of some outputs, and of which outputs it takes one.

        If a graph for the given cotangents alone would repeat an effect of the forward run, it is the graph for the cotangents of
        all outputs, and the caller passes zeros for the missing ones.

        Args:
          given: For each output, whether it has a cotangent; outputs that are not differentiable have none.
          masked: The outputs whose cotangents are 0 where a `where` outside did not take them.
        """
        taken = tuple([has and d for has, d in zip(given, self.differentiable, strict=True)])
        found = self._for(taken, tuple(masked))
        if found is not None:
            return found, taken
        return self._for(self.differentiable, tuple(masked)) or self.full, self.differentiable

    def _for(self, given: tuple[bool, ...], masked: tuple[int, ...]) -> BackwardGraph | None:
        """The backward graph for exactly these cotangents; None if it would repeat an effect of the forward run."""
        key = given, masked
        with self._lock:
            if key not in self._backward:
                start = len(self._trace.builder.nodes)
                x_bars, places = self._differentiate(*key)
                added = start, len(self._trace.builder.nodes)
                self._backward[key] = self._split(x_bars, given, added, places)
            return self._backward[key]

    def _differentiate(
        self, given: Sequence[bool], masked: Sequence[int]
    ) -> tuple[list[Tensor | None], list[int]]:
        """The cotangents of the inputs, and which of them are masked."""
        trace = self._trace
        trace.owner = here()
        with entered(trace):
            bars: dict[Any, Any] = {}
            for y, bar, has in zip(self._ys, self._bars, given, strict=True):
                if has and bar is not None:
                    before = bars.get(y.mark)
                    bars[y.mark] = bar if before is None else before + bar
            wanted = {mark for mark in self._marks if mark is not None}
            plain = {
                y.mark
                for k, (y, has) in enumerate(zip(self._ys, given, strict=True))
                if has and k not in masked
            }
            marks = {self._ys[k].mark for k in masked} - plain
            backward(self._entries, bars, wanted, self._transforms, masked=marks)
            x_bars = [None if mark is None else dense(bars.get(mark)) for mark in self._marks]
            return x_bars, [i for i, mark in enumerate(self._marks) if mark is not None and mark in marks]

    def _depends_on_bars(self) -> tuple[set[int], set[int]]:
        """The values of the backward pass, and the `start` of each of its nodes.

        They depend on a cotangent, or come from a rule that has an effect: it happens when the gradient is computed.
        """
        count, reached, starts = self._reached
        nodes = self._trace.builder.nodes
        for position in range(count, len(nodes)):
            node = nodes[position]
            if not reached.isdisjoint(node.inputs) or (position >= self._n_forward and node.op.effects):
                reached.update(node.outputs)
                starts.add(id(node))
        self._reached = len(nodes), reached, starts
        return reached, starts

    def _needed(self, x_bars: Sequence[Any], part: tuple[int, int]) -> tuple[list[Node], list[int]]:
        """The backward nodes behind `x_bars` in order, and the forward values they read.

        Args:
          x_bars: The cotangents.
          part: The range of nodes that this differentiation added; its nodes with effects are needed too.
        """
        builder = self._trace.builder
        behind, starts = self._depends_on_bars()
        wanted = {bar.index for bar in x_bars if bar is not None}
        read: dict[int, None] = {i: None for i in wanted if i not in behind}
        nodes = []
        for position in range(len(builder.nodes) - 1, -1, -1):
            node = builder.nodes[position]
            if id(node) not in starts:
                continue
            acts = node.op.effects & (WRITES | IO) and part[0] <= position < part[1]
            if acts or not wanted.isdisjoint(node.outputs):
                nodes.append(node)
                for i in node.inputs:
                    wanted.add(i)
                    if i not in behind:
                        read[i] = None
        nodes.reverse()
        return nodes, list(read)

    def _freeze(self, x_bars: Sequence[Tensor | None]) -> None:
        """Fix the residuals: the forward values that the backward graph for all cotangents reads."""
        builder = self._trace.builder
        _, read = self._needed(x_bars, (self._n_forward, len(builder.nodes)))
        again = self._from_fixed()
        kept = {
            i for i in read if i not in self._input_serials and i not in builder.values and i not in again
        }
        # Shapes are recomputed from the value: as residuals they could not be replaced by known sizes later.
        for node in builder.nodes:
            if node.op.gives_sizes and (node.inputs[0] in self._input_serials or node.inputs[0] in kept):
                kept.discard(node.start)
        self._residual_serials = sorted(kept)

    def _from_fixed(self) -> set[int]:
        """The values computed from constants and fixed inputs without an effect."""
        builder = self._trace.builder
        known = {self._xs[k].index for k in self._fixed} | builder.values.keys()
        for node in builder.nodes:
            if not node.op.effects and not node.op.structured and known.issuperset(node.inputs):
                known.update(node.outputs)
        return known

    def _forward_graph(self, name: str) -> Graph:
        builder = self._trace.builder
        outputs = [y.index for y in self._ys] + self._residual_serials
        _, starts = self._depends_on_bars()
        part = GraphBuilder()
        part.specs, part.constants, part.values = builder.specs, builder.constants, builder.values
        part.nodes = [node for node in builder.nodes if id(node) not in starts]
        graph, _ = part.finish(outputs, f"{name}_forward", [x.index for x in self._xs])
        graph.derived.update(self._asked)
        return graph

    def _split(
        self, x_bars: Sequence[Any], given: Sequence[bool], added: tuple[int, int], masked: list[int]
    ) -> BackwardGraph | None:
        builder = self._trace.builder
        nodes, read = self._needed(x_bars, added)
        available = set(self._residual_serials) | set(self._input_serials) | set(builder.values)
        again = self._recomputed([i for i in read if i not in available], available)
        if again is None:
            return None
        used = {i for node in (*again, *nodes) for i in node.inputs} | {
            bar.index for bar in x_bars if bar is not None
        }
        inputs = [i for i in self._input_serials if i in used]
        residuals = [i for i in self._residual_serials if i in used]
        bars = [bar.index for bar, has in zip(self._bars, given, strict=True) if has and bar is not None]
        part = GraphBuilder()
        part.specs, part.constants, part.values = builder.specs, builder.constants, builder.values
        part.nodes = [*again, *nodes]
        kept = {i: bar.index for i, bar in enumerate(x_bars) if bar is not None}
        graph, _ = part.finish(
            list(kept.values()), f"{self.forward.name}_backward", [*inputs, *residuals, *bars]
        )
        graph.derived.update(self._asked)
        position = {i: self.n_outputs + k for k, i in enumerate(self._residual_serials)}
        return BackwardGraph(
            graph,
            [self._input_serials[i] for i in inputs],
            [position[i] for i in residuals],
            {i: place for place, i in enumerate(kept)},
            masked,
        )

    def _twins(self, available: set[int]) -> dict[int, int]:
        """For unavailable values, equal values that are available: results of the same op on the same inputs.

        Each differentiation runs the rules again, so that the same forward value may exist under another number.
        """
        first: dict[Any, int] = {}
        same: dict[int, int] = {}
        for node in self._trace.builder.nodes:
            if node.op.effects or node.op.multiple or node.op.structured:
                continue
            key = node.op, tuple([same.get(i, i) for i in node.inputs])
            same[node.start] = first.setdefault(key, node.start)
        there = {known: i for i, known in same.items() if i in available}
        twins = {i: there[known] for i, known in same.items() if i not in available and known in there}
        return twins

    def _recomputed(self, missing: Sequence[int], available: set[int]) -> list[Node] | None:
        """The forward nodes that compute `missing` from available values; None if one of these nodes has an effect."""
        if not missing:
            return []
        wanted = set(missing)
        twins = self._twins(available)
        nodes: list[Node] = []
        for node in reversed(self._trace.builder.nodes):
            if not wanted.isdisjoint(node.outputs):
                if node.start in twins:
                    nodes.append(Node(IDENTITY, (twins[node.start],), node.start, node.specs, node.line))
                    continue
                if node.op.effects:
                    return None
                nodes.append(node)
                wanted.update(i for i in node.inputs if i not in available)
        nodes.reverse()
        return nodes


def pullback_of(
    graph: Graph, needs: Sequence[bool], transforms: Transforms, fixed: frozenset[int] = frozenset()
) -> Pullback:
    """The pullback of a graph for cotangents of the inputs that `needs` names; cached on the graph."""
    if len(needs) != len(graph.inputs):
        raise InternalError(f"pullback_of: {len(needs)} needs for {len(graph.inputs)} inputs of {graph!r}.")
    key = (Pullback, tuple(needs), fixed)
    found = graph.derived.get(key)
    if found is None:
        found = derived_once(graph, key, lambda: Pullback(graph, key[1], transforms, fixed))
    return found  # type: ignore[no-any-return]
