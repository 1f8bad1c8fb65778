"""Loop-invariant code motion: nodes of a loop's body that depend only on invariants are computed once, before the loop.

before:  loop(n, h, u), step(h, u): %1 = exp(u);  %2 = add(h, %1);  return %2
after:   %1 = exp(u);  loop(n, h, %1), step(h, e): %2 = add(h, e);  return %2

This must come after differentiation: a loop without steps has zero derivative, while a node before it would have zero times its
slope, NaN at a pole. Only the body reads moved values, so a run without steps is unchanged, unless the op raises: an op that
may raise is moved only if the loop certainly runs a step and would raise there first. Invariant nodes in branches inside the
body are moved too.

A moved value stays in memory while the loop runs. So views stay in the body, and so does arithmetic in a kernel that would
become the loop's largest array or that saves the kernel neither a function call nor a read, unless it is small.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from graphad.compiler.passes.canonical import same_dims
from graphad.compiler.passes.rewrite import RuleTable, Sweep, sweep
from graphad.compiler.plain import is_instruction
from graphad.compiler.raising import cannot_raise, form_of, is_view
from graphad.core.dims import at_most, product
from graphad.core.op import Op
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.graph.builder import GraphBuilder
from graphad.graph.compose import with_given
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import runs_user_code, unchanging
from graphad.kernels import forms
from graphad.ops.control.kinds import branches, is_branch, loops
from graphad.trace.numbered import run_time_sizes

if TYPE_CHECKING:
    from graphad.core.dims import Size
    from graphad.ops.control.cond import Cond
    from graphad.ops.control.loop import Loop


TABLE = RuleTable()
SMALL = (
    1 << 14
)  # bytes of a result that is moved even if a kernel computes it at no cost, since it fits the first-level cache
MODEST = 1 << 20  # bytes that may be computed in vain if a loop runs no step


@TABLE.rewrite(loops)
def invariants_first(s: Sweep, node: Node[Loop]) -> Sequence[int] | None:
    """Move invariant nodes of body and test before the loop."""
    op = node.op
    places = op.operands
    operands = op.passed(node.inputs)
    outer = [s.spec(i) for i in operands]
    graphs = []
    for graph in [op.body] if op.test is None else [op.body, op.test]:
        inner = sweep(graph, TABLE)
        graphs.append(_without_branches(inner, _same(inner, outer, places.invariants)))
    certain = op.test is None and not op.effects and _is_positive(op.steps)
    splits = [Split(graph, _same(graph, outer, places.invariants), certain) for graph in graphs]
    new, graphs = _moved_out(s.add, s.constant, splits, operands, places.xs.start)
    if not new and all(map(operator.is_, graphs, (op.body, op.test))):
        return None
    body, test = graphs[0], graphs[1] if op.test is not None else None
    made = op.changed(test=test, body=body, n_invariant=op.n_invariant + len(new))
    given = op.inputs
    inputs = [
        *given.limit(node.inputs),
        *given.carries(node.inputs),
        *given.invariants(node.inputs),
        *new,
        *given.xs(node.inputs),
    ]
    # Drop invariants that only moved nodes have used.
    left, kept, _ = made.pruned([True] * made.n_outputs)
    return s.add(left, [inputs[k] for k in kept], node.specs, node.line)


@TABLE.rewrite(branches)
def loops_in_branches(s: Sweep, node: Node[Cond]) -> Sequence[int] | None:
    """Hoists from loops inside of branches."""
    op = node.op
    graphs = [sweep(graph, TABLE) for graph in (op.then_graph, op.else_graph)]
    if all(map(operator.is_, graphs, (op.then_graph, op.else_graph))):
        return None
    return s.add(op.changed(then_graph=graphs[0], else_graph=graphs[1]), node.inputs, node.specs, node.line)


class Split:
    """The nodes of a repeatedly run graph that can be computed once, and those that should be.

    Attributes:
      fixed: The values that never change.
      moved: The nodes to compute once, in order, including intermediate ones.
      handed: Their values that the rest reads.
    """

    def __init__(self, graph: Graph, inputs: set[int], runs: bool) -> None:
        """Split a graph, given its invariant inputs, and whether it is certain to run and has no effect."""
        self.graph = graph
        self.fixed = {*inputs, *range(len(graph.inputs), graph.first_node_value)}
        self._makers: dict[int, Node] = {}
        self.handed, self.moved = self._chosen(self._movable(runs))

    def _movable(self, runs: bool) -> list[Node]:
        first = runs  # whether a node that raises would be the first to do so

        def accepts(node: Node, is_fixed: bool) -> bool:
            nonlocal first
            safe = cannot_raise(self.graph, node)
            if runs and not safe:
                movable = first and not node.op.effects and not runs_user_code(node.op)
            else:
                movable = safe and (runs or self._has_room(node))
            moves = movable and is_fixed and not run_time_sizes(node)
            if moves:
                self._makers.update(dict.fromkeys(node.outputs, node))
            else:
                first = first and safe
            return moves

        return unchanging(self.graph, self.fixed, accepts)

    def _has_room(self, node: Node) -> bool:
        """Whether a node's results are no larger than what the loop has in memory anyway."""
        graph = self.graph
        for spec in node.specs:
            size = product(spec.dims or ())
            if not at_most(size * spec.dtype.itemsize, MODEST) and not any(
                self._fills(i, size) for i in (*range(len(graph.inputs)), *graph.outputs)
            ):
                return False
        return True

    def _chosen(self, movable: Sequence[Node]) -> tuple[list[int], list[Node]]:
        known = set(movable)
        # Value -> whether it is stored anyway.
        wanted: dict[int, bool] = dict.fromkeys(self.graph.outputs, True)
        for node in self.graph.nodes:
            if node not in known:
                stores = not _is_map(self.graph, node)
                for i in node.inputs:
                    wanted[i] = wanted.get(i, False) or stores
        handed: list[int] = []
        needed: set[int] = set()
        moved = []
        for node in reversed(movable):
            read = [value for value in node.outputs if value in wanted]
            is_stored = any(wanted[value] for value in read)
            if read and self._stays(node, is_stored):
                is_stored = is_stored and not _is_map(self.graph, node)
                for i in node.inputs:
                    wanted[i] = wanted.get(i, False) or is_stored
            else:
                handed += read
                needed.update(read)
            if any(value in needed for value in node.outputs):
                needed.update(node.inputs)
                moved.append(node)
        return handed, moved[::-1]

    def _stays(self, node: Node, is_stored: bool) -> bool:
        """Whether computing a node in each step costs no more than reading its result."""
        graph = self.graph
        if not node.inputs or is_view(node.op) or isinstance(form_of(graph, node), forms.View):
            return True
        if is_stored or not _is_map(graph, node):
            return False
        size = product(node.specs[0].dims or ())
        width = node.specs[0].dtype.itemsize
        if at_most(size * width, SMALL):
            return False
        leaves, is_heavy = self._behind(node)
        read = [graph.specs[i].dtype.itemsize for i in leaves if self._fills(i, size)]
        if not read and not any(self._fills(i, size) for i in (*range(len(graph.inputs)), *graph.outputs)):
            return True
        return not is_heavy and sum(read) <= width

    def _fills(self, value: int, size: Size) -> bool:
        """Whether a value has at least as many elements."""
        dims = self.graph.specs[value].dims
        return is_definite(dims) and at_most(size, product(dims))

    def _behind(self, node: Node) -> tuple[set[int], bool]:
        """The values that the arithmetic ending in a node reads from memory, and whether it needs more than plain
        instructions."""
        graph, leaves, is_heavy = self.graph, set[int](), False
        waiting, seen = [node], {node}
        while waiting:
            node = waiting.pop()
            form = form_of(graph, node)
            if isinstance(form, forms.Map):
                is_heavy = is_heavy or not all(is_instruction(form, statement) for statement in form.body)
            for i in node.inputs:
                maker = self._makers.get(i)
                if maker is None or not (
                    _is_map(graph, maker) or isinstance(form_of(graph, maker), forms.View)
                ):
                    leaves.add(i)
                elif maker not in seen:
                    seen.add(maker)
                    waiting.append(maker)
        return leaves, is_heavy


def _is_map(graph: Graph, node: Node) -> bool:
    """Whether a node can be part of a kernel, so that its result need not be stored."""
    return isinstance(form_of(graph, node), forms.Map)


def _is_positive(steps: Size | None) -> bool:
    return steps is not None and at_most(1, steps)


def _same(graph: Graph, outer: Sequence[TensorSpec], places: Iterable[int]) -> set[int]:
    """The inputs among `places` that are not variables and have the shape that their operands have."""
    return {
        i for i in places if not graph.inputs[i].is_handle and same_dims(graph.inputs[i].dims, outer[i].dims)
    }


def _moved_out(
    add: Callable[..., Sequence[int]],
    constant: Callable[[Any], int],
    splits: Sequence[Split],
    operands: Sequence[int],
    behind: int,
) -> tuple[list[int], list[Graph]]:
    """Compute the moved nodes of the splits outside.

    Args:
      add, constant: Add a node or a constant to the outer graph.
      splits: The splits of the sub-graphs of one op.
      operands: The outer values of their inputs.
      behind: The position of the further inputs of the sub-graphs.
    Returns: The further operands, and the remaining sub-graphs, which take them.
    """
    found: list[dict[int, int]] = []
    for part in splits:
        inputs = len(part.graph.inputs)
        known: dict[int, int] = {}
        for node in part.moved:
            for i in node.inputs:
                if i not in known:
                    known[i] = operands[i] if i < inputs else constant(part.graph.constants[i - inputs])
            outputs = add(node.op, [known[i] for i in node.inputs], node.specs, node.line)
            known.update(zip(node.outputs, outputs, strict=True))
        found.append({value: known[value] for value in part.handed})
    place: dict[int, int] = {}
    specs: list[TensorSpec] = []
    for part, values in zip(splits, found, strict=True):
        for value, outside in values.items():
            if outside not in place:
                place[outside] = len(place)
                specs.append(part.graph.specs[value])
    graphs = [
        with_given(part.graph, specs, {value: place[outside] for value, outside in values.items()}, behind)
        if place
        else part.graph
        for part, values in zip(splits, found, strict=True)
    ]
    return list(place), graphs


def _without_branches(graph: Graph, inputs: set[int]) -> Graph:
    """The body or test of a loop, with nodes in branches that depend only on the invariants `inputs` moved before the
    branches."""
    if not any(_is_branch(node) for node in graph.nodes):
        return graph
    fixed = Split(graph, inputs, False).fixed
    builder = GraphBuilder()
    known = [builder.add_input(spec) for spec in graph.inputs]
    known += [builder.add_constant(array) for array in graph.constants]

    def add(op: Op, inputs: Sequence[int], specs: Sequence[TensorSpec], line: str | None) -> Sequence[int]:
        start = builder.add_node(op, inputs, specs, line)
        return range(start, start + len(specs))

    changed = False
    for node in graph.nodes:
        op, operands = node.op, [known[i] for i in node.inputs]
        if _is_branch(node):
            branch, taken = node.op, node.op.passed(node.inputs)
            outer = [graph.specs[i] for i in taken]
            places = [k for k, i in enumerate(taken) if i in fixed]
            splits = [
                Split(side, _same(side, outer, places), False)
                for side in (branch.then_graph, branch.else_graph)
            ]
            given = branch.passed(operands)
            new, graphs = _moved_out(add, builder.add_constant, splits, given, len(outer))
            if new:
                changed = True
                op = branch.changed(then_graph=graphs[0], else_graph=graphs[1])
                operands = [*operands, *new]
        known += add(op, operands, node.specs, node.line)
    return builder.finish([known[i] for i in graph.outputs], graph.name)[0] if changed else graph


def _is_branch(node: Node) -> TypeGuard[Node[Cond]]:
    return is_branch(node) and not node.op.depth


def run(graph: Graph, options: object = None) -> Graph:
    return sweep(graph, TABLE)
