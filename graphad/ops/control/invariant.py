"""The derivative of loop-invariant nodes in the body of a loop.

body:     h' = tanh(h + exp(u) @ w)
apart:    v = exp(u) @ w;  h' = tanh(h + v)

Pulling back is linear, so the cotangents of v from all steps are added up and pulled back once, after the loop. If no step ran
nothing is pulled back: zero times the slope at a pole would be NaN, and an op that raises would raise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import at_most, product
from graphad.core.op import IO, WRITES
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.graph.builder import GraphBuilder
from graphad.graph.compose import append, inputs_behind, with_inputs, without_nodes
from graphad.graph.ir import Graph, Node
from graphad.graph.replay import replay
from graphad.graph.walk import gives_result, unchanging, with_outputs
from graphad.ops.array.create import zeros, zeros_like
from graphad.ops.array.sizes import known_value
from graphad.ops.control.cond import BOTH, Cond
from graphad.ops.control.layers import add_zeros
from graphad.ops.control.segments import Segment
from graphad.ops.math.compare import LESS

if TYPE_CHECKING:
    from graphad.core.annotations import Pullback, Transforms, Value
    from graphad.core.tensor import Tensor


class Apart:
    """A body split into its invariant part and the rest.

    Attributes:
      first: The invariant values that the rest reads, as a graph of the body's inputs.
      rest: The body with these values as further inputs, after its own.
      pullback: The pullback of `first`, without residuals.
    """

    __slots__ = ("first", "pullback", "rest")

    def __init__(self, first: Graph, rest: Graph, pullback: Pullback) -> None:
        self.first = first
        self.rest = rest
        self.pullback = pullback

    @property
    def active(self) -> Sequence[bool]:
        """Which of the values have a cotangent."""
        return self.pullback.differentiable

    def joined(self, rest: Graph, outputs: Sequence[int]) -> Graph:
        """The complete body again, for a graph with the inputs of `rest`; `outputs` are inputs that it also returns."""
        builder = GraphBuilder()
        inputs = [builder.add_input(spec) for spec in self.first.inputs]
        found = append(builder, rest, [*inputs, *append(builder, self.first, inputs)])
        return builder.finish([*found, *[inputs[i] for i in outputs]], rest.name)[0]

    def values(self, which: Sequence[int]) -> tuple[Graph, list[int]]:
        """Some of the values as a graph of only the inputs that they take, and which inputs these are."""
        graph = with_outputs(self.first, [self.first.outputs[k] for k in which])
        read = sorted(inputs_behind(graph, graph.outputs))
        return with_inputs(graph, read), read

    def zeros(self, k: int, inputs: Sequence[Value]) -> Tensor:
        """Zeros with the shape of a value; of the body's inputs only invariants are read."""
        spec = self.first.output_specs[k]
        if is_definite(spec.dims):
            return zeros(spec.dims, spec.dtype)
        graph, read = self.values([k])
        return zeros_like(replay(graph, [inputs[i] for i in read])[0])

    def pull_back(
        self, count: Tensor, certain: bool, inputs: Sequence[Value], bars: dict[int, Tensor]
    ) -> dict[int, Tensor]:
        """The cotangents of invariants by those of values, added up over the steps.

        Args:
          count: How many steps there were.
          certain: Whether there was a step for certain.
          inputs: The inputs of the body, of which only invariants are read.
          bars: The cotangents of the values that have one, by number.
        Returns: The cotangents, by the number of the input.
        """
        number = known_value(count)
        if not bars or (number is not None and not certain and not number > 0):
            return {}
        backward, _ = self.pullback.backward([k in bars for k in range(len(self.active))])
        wanted = list(backward.places)
        if not wanted:
            return {}
        given = [bars[k] for k in sorted(bars)]
        if certain or number is not None:
            found = replay(backward.graph, [*[inputs[i] for i in backward.inputs], *given])
            return {i: found[place] for i, place in backward.places.items()}
        read = sorted({*backward.inputs, *wanted})
        operands = [*[inputs[i] for i in read], *given]
        builder, other = GraphBuilder(), GraphBuilder()
        sources = [builder.add_input(x.spec) for x in operands]
        place = dict(zip(read, sources, strict=False))
        found = append(builder, backward.graph, [*[place[i] for i in backward.inputs], *sources[len(read) :]])
        then_graph, _ = builder.finish([found[i] for i in backward.places.values()], backward.graph.name)
        sources = [other.add_input(x.spec) for x in operands]
        zeros = [add_zeros(other, sources[read.index(i)]) for i in wanted]
        else_graph, _ = other.finish(zeros, "no_step")
        some = bind(LESS, lift(0, count.dtype), count)
        x_bars = bind(Cond(then_graph, else_graph, (BOTH,) * len(wanted)), some, *operands)
        return dict(zip(wanted, x_bars, strict=True))


def apart(transforms: Transforms, body: Graph, invariants: Segment, needs: Sequence[bool]) -> Apart | None:
    """Split the body of a loop for its derivative; None if there is nothing to gain.

    Args:
      transforms: Gives pullbacks.
      body: The body.
      invariants: Where they are among its inputs.
      needs: Which inputs have a cotangent.
    """
    active = tuple([i in invariants and need for i, need in enumerate(needs)])
    if not any(active):
        return None
    key = (Apart, invariants.start, invariants.end, active)
    if key not in body.derived:
        body.derived.setdefault(key, _apart(transforms, body, invariants, active))
    return body.derived[key]  # type: ignore[no-any-return]


def _apart(transforms: Transforms, body: Graph, invariants: Segment, active: Sequence[bool]) -> Apart | None:
    body = transforms.closed(body)
    nodes = _nodes(body, invariants, active)
    if not nodes:
        return None
    start, rest, _ = without_nodes(body, nodes, False)
    fixed = frozenset(invariants)
    pullback = transforms.pullback_of(start, active, fixed)
    if not any(pullback.differentiable) or pullback.full.residuals:
        return None
    return Apart(start, rest, pullback)


def _nodes(body: Graph, invariants: Segment, active: Sequence[bool]) -> list[Node]:
    """The nodes to take out: pure ones that depend only on invariants and constants and lead to a value with a cotangent."""
    fixed = {*invariants, *range(len(body.inputs), body.first_node_value)}
    smooth = {i for i, need in enumerate(active) if need}
    safe = set(fixed)  # values that can be computed even if no step runs
    acts = False  # whether an effect has occurred: later nodes must not raise before it

    def accepts(node: Node, is_fixed: bool) -> bool:
        nonlocal acts
        op = node.op
        acts = acts or bool(op.effects & (WRITES | IO))
        if acts or not is_fixed or op.effects or op.structured or op.transient or op.extension or op.foreign:
            return False
        is_safe = all(i in safe for i in node.inputs) and gives_result(body, node)
        # If its size is unknown, its value is needed to create the zeros that start the sum.
        if not is_safe and not all(is_definite(spec.dims) for spec in node.specs):
            return False
        if is_safe:
            safe.update(node.outputs)
        if op.gradless is None and any(i in smooth for i in node.inputs):
            smooth.update([i for i in node.outputs if body.specs[i].dtype.is_differentiable])
        return True

    found = unchanging(body, fixed, accepts)
    return _worth_it(body, found, smooth)


def _worth_it(body: Graph, nodes: Sequence[Node], smooth: set[int]) -> list[Node]:
    """Drops nodes that lead to no cotangent, and last nodes that only enlarge, since sums of their cotangents would be
    large."""
    chosen = set(nodes)
    wanted: set[int] = set()
    read = {i for node in body.nodes if node not in chosen for i in node.inputs} | set(body.outputs)
    kept = []
    for node in reversed(nodes):
        inside = any(i in wanted for i in node.outputs)
        is_last = any(i in read and i in smooth for i in node.outputs)
        if inside or (is_last and not _only_enlarges(body, node)):
            kept.append(node)
            wanted.update(node.inputs)
        else:
            read.update(node.inputs)
    return kept[::-1]


def _only_enlarges(body: Graph, node: Node) -> bool:
    """Whether a node has more output than input elements and a derivative that needs no value."""
    specs = [body.specs[i] for i in node.inputs]
    if any(node.op.keeps) or not all(is_definite(spec.dims) for spec in (*specs, *node.specs)):
        return False
    return at_most(_elements(specs) + 1, _elements(node.specs))


def _elements(specs: Sequence[TensorSpec]) -> int:
    return sum([product(spec.dims or ()) for spec in specs])
