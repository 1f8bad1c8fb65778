"""Variables that the rounds of a loop assign are carried by it, and assigned once behind it.

before:  loop(n, h, v), step(h, v): %1 = read(v);  %2 = add(%1, h);  assign(v, %2);  return %2
after:   %1 = read(v);  %2, %3 = loop(n, h, %1), step(h, x): %4 = add(x, h);  return %4, %4;  assign(v, %3)

The loop then has no effect, so that it can be native. Nobody sees the values between: a call has its variables to itself. But an
error in a round would leave what earlier rounds have assigned. So only where no node of the rounds can raise one, and the loop
does nothing else that is seen. Assignments in branches inside of the rounds become results of the branches. An op that reads and
increases a variable in one step, such as one that takes a key from a generator, says in which steps that can be done.

The rules of `AGAIN` take loops and conds that may raise too, those that check or print among them. They are for runs that are
made again, op by op and without these rules, where something raises.

So do those of a cond outside of loops, if they are small: where the branch is not taken, a variable is given a copy of its value.
Values that branches only read are read before the cond, whatever its nodes may raise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphad.compiler.passes.canonical import same_dims
from graphad.compiler.passes.rewrite import RuleTable, Sweep, sweep
from graphad.compiler.raising import cannot_raise
from graphad.core.dims import product
from graphad.core.op import IO, READS, WRITES, Op
from graphad.core.shapes import are_numbers, is_definite
from graphad.core.spec import TensorSpec
from graphad.graph.builder import GraphBuilder
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import sub_graphs
from graphad.ops.control.kinds import branches, loops
from graphad.ops.control.segments import Segments
from graphad.ops.math.arithmetic import ADD

if TYPE_CHECKING:
    from graphad.ops.control.cond import Cond
    from graphad.ops.control.loop import Loop

TABLE, AGAIN = RuleTable(), RuleTable()
_WITHIN, _WITHIN_AGAIN = RuleTable(), RuleTable()  # of what is inside of a round
COPIED = (
    1 << 15
)  # the most elements that a cond outside of loops may assign: copying them costs less than a step in Python


@TABLE.rewrite(loops)
@_WITHIN.rewrite(loops)
def carried(s: Sweep, node: Node[Loop]) -> Sequence[int] | None:
    """A loop that carries the values of the variables that it reads and assigns."""
    return _carried(s, node, False)


@AGAIN.rewrite(loops)
@_WITHIN_AGAIN.rewrite(loops)
def carried_again(s: Sweep, node: Node[Loop]) -> Sequence[int] | None:
    """As `carried`, for a loop that may raise an error."""
    return _carried(s, node, True)


def _carried(s: Sweep, node: Node[Loop], may_raise: bool) -> Sequence[int] | None:
    op = node.op
    if not (op.effects & WRITES) or not _only_assigns(op, may_raise):
        return None
    within = _WITHIN_AGAIN if may_raise else _WITHIN
    body = sweep(op.body, within)
    test = None if op.test is None else sweep(op.test, within)
    graphs = [body] if test is None else [body, test]
    places, operands = op.operands, op.passed(node.inputs)
    handles = [k for k in places.invariants if body.inputs[k].is_handle]
    assigned = _assigned(body)
    if not assigned <= set(handles) or (test is not None and _assigned(test)):
        return None
    if len({operands[k] for k in handles}) < len(handles) or not all(
        _accepts(graph, may_raise) for graph in graphs
    ):
        return None
    if not all(is_definite(body.inputs[k].dims) for k in handles):
        return None
    values = {k: _read(s, operands[k], node, graphs, k) for k in handles}
    stored, held = [k for k in handles if k in assigned], [k for k in handles if k not in assigned]
    rest = [k for k in places.invariants if k not in values]
    order = [*places.carries, *stored, *held, *rest]
    made = op.changed(
        test=None if test is None else _without_handles(test, order),
        body=_without_handles(body, [*order, *places.xs], stored, op.n_carry),
        n_carry=op.n_carry + len(stored),
        n_invariant=op.n_invariant - len(stored),
    )
    inputs = [
        *op.inputs.limit(node.inputs),
        *[values.get(k, operands[k]) for k in order],
        *places.xs(operands),
    ]
    last = [_value_spec(body.inputs[k]) for k in stored]
    before = Segments(carries=op.n_carry, rest=None)
    after = Segments(carries=op.n_carry, stored=len(stored), rest=None)
    specs = [*before.carries(node.specs), *last, *before.rest(node.specs)]
    found = s.add(made, inputs, specs, node.line)
    for k, value in zip(stored, after.stored(found), strict=True):
        s.add(_store(body, k), (operands[k], value), [s.spec(value)], node.line)
    return [*after.carries(found), *after.rest(found)]


@TABLE.rewrite(branches)
def outside(s: Sweep, node: Node[Cond]) -> Sequence[int] | None:
    """A cond outside of loops that takes the values of variables, and gives those that a branch has assigned."""
    return _given(s, node, COPIED, False)


@AGAIN.rewrite(branches)
def outside_again(s: Sweep, node: Node[Cond]) -> Sequence[int] | None:
    """The same of a cond that may raise."""
    return _given(s, node, COPIED, True)


@_WITHIN.rewrite(branches)
def given(s: Sweep, node: Node[Cond]) -> Sequence[int] | None:
    """The same in a round."""
    return _given(s, node, None, False)


@_WITHIN_AGAIN.rewrite(branches)
def given_again(s: Sweep, node: Node[Cond]) -> Sequence[int] | None:
    """The same in a round that may raise."""
    return _given(s, node, None, True)


def _given(s: Sweep, node: Node[Cond], most: int | None, may_raise: bool) -> Sequence[int] | None:
    """A cond without effects; None if it has others than reading and assigning, or may assign more than `most` elements."""
    op = node.op
    if op.depth or not op.effects & (READS | WRITES) or not _only_assigns(op, may_raise):
        return None
    within = _WITHIN_AGAIN if may_raise else _WITHIN
    may_raise = may_raise or not op.effects & WRITES
    if most is not None and _takes_guard(op):
        return None
    graphs = [sweep(graph, within) for graph in (op.then_graph, op.else_graph)]
    operands = op.passed(node.inputs)
    handles = [k for k, spec in enumerate(graphs[0].inputs) if spec.is_handle]
    assigned = _assigned(graphs[0]) | _assigned(graphs[1])
    if len({operands[k] for k in handles}) < len(handles) or not all(_accepts(g, may_raise) for g in graphs):
        return None
    if not all(is_definite(graphs[0].inputs[k].dims) for k in handles):
        return None
    stored = [k for k in handles if k in assigned]
    sizes = [product(graphs[0].inputs[k].dims or ()) for k in stored]
    if most is not None and not are_numbers(sizes):
        return None
    if most is not None and sum(sizes) > most:
        return None
    order = list(range(len(operands)))
    parts = [_without_handles(graph, order, stored, len(graph.outputs)) for graph in graphs]
    made = op.changed(then_graph=parts[0], else_graph=parts[1], kinds=(*op.kinds, *["both"] * len(stored)))
    values = [_read(s, v, node, graphs, k) if k in handles else v for k, v in enumerate(operands)]
    last = [_value_spec(graphs[0].inputs[k]) for k in stored]
    given = Segments(outputs=len(node.specs), stored=len(stored))
    predicate = op.inputs.predicate(node.inputs)
    found = s.add(made, [*predicate, *values], [*node.specs, *last], node.line)
    for k, value in zip(stored, given.stored(found), strict=True):
        graph = graphs[0] if k in _assigned(graphs[0]) else graphs[1]
        s.add(_store(graph, k), (operands[k], value), [s.spec(value)], node.line)
    return list(given.outputs(found))


def _takes_guard(op: Op) -> bool:
    """Whether an op, or one in a branch at any depth, takes a guard that the call does not hold: it does so only for loops."""
    if op.repeats:
        return False
    return bool(op.in_steps) or any(_takes_guard(node.op) for graph in sub_graphs(op) for node in graph.nodes)


def _only_assigns(op: Op, may_check: bool) -> bool:
    """Whether an op does nothing that is seen but assign, or also, with `may_check`, raise where something does not hold, and
    print."""
    if not op.effects & IO:
        return True
    inner = sub_graphs(op)
    if not may_check or not inner:
        return may_check and (op.checks or op.prints)
    return all(_only_assigns(node.op, may_check) for graph in inner for node in graph.nodes)


def _value_spec(handle: TensorSpec) -> TensorSpec:
    return TensorSpec.of(handle.dims, handle.dtype)


def _read(s: Sweep, handle: int, node: Node, graphs: Sequence[Graph], k: int) -> int:
    """The value of a variable, input k of `graphs`, in front of the node that holds these."""
    from graphad.ops.state.variables import Read  # programs without variables do without it

    steps = next((n.op.in_steps for g in graphs for n in g.nodes if n.op.in_steps and n.inputs[0] == k), None)
    (value,) = s.add(steps[0] if steps else Read(), (handle,), [_value_spec(s.spec(handle))], node.line)
    return value


def _sets(op: Op) -> bool:
    return op.stores or op.sets


def _assigned(graph: Graph) -> set[int]:
    """The values that nodes of a graph assign to."""
    return {node.inputs[0] for node in graph.nodes if _sets(node.op) or node.op.in_steps}


def _store(graph: Graph, handle: int) -> Op:
    node = next(n for n in graph.nodes if (_sets(n.op) or n.op.in_steps) and n.inputs[0] == handle)
    return node.op.in_steps[2] if node.op.in_steps else node.op


def _accepts(graph: Graph, may_raise: bool = False) -> bool:
    """Whether the nodes of a graph do nothing but compute, read and assign variables in their own shape, and, unless they
    `may_raise`, none can raise."""
    n = len(graph.inputs)
    for node in graph.nodes:
        op = node.op
        if op.loads or _sets(op) or op.in_steps:
            handle = graph.specs[node.inputs[0]]
            value = graph.specs[node.inputs[1]] if _sets(op) else node.specs[0]
            if (
                node.inputs[0] >= n
                or value.dtype is not handle.dtype
                or not same_dims(value.dims, handle.dims)
            ):
                return False
        elif any(graph.specs[i].is_handle for i in node.inputs) or (
            op.effects and not (may_raise and _only_assigns(op, True))
        ):
            return False
        elif op.branches or op.repeats:
            if not all(_accepts(inner, may_raise) for inner in sub_graphs(op)):
                return False
        elif not may_raise and not cannot_raise(graph, node):
            return False
    return True


def _without_handles(graph: Graph, order: Sequence[int], stored: Sequence[int] = (), at: int = 0) -> Graph:
    """The graph with values in place of handles, which reads and assigns nothing.

    Args:
      graph: The graph.
      order: Its inputs in their new order.
      stored: The handles whose last values are results.
      at: The place of these results.
    """
    builder = GraphBuilder()
    inputs = [builder.add_input(_value_spec(spec) if spec.is_handle else spec) for spec in graph.inputs]
    known, now = (
        [*inputs, *[builder.add_constant(array) for array in graph.constants]],
        dict(enumerate(inputs)),
    )
    for node in graph.nodes:
        if node.op.loads:
            known.append(now[node.inputs[0]])
        elif _sets(node.op):
            now[node.inputs[0]] = known[node.inputs[1]]
            known.append(known[node.inputs[1]])
        elif node.op.in_steps:
            before, (_, added, _) = now[node.inputs[0]], node.op.in_steps
            known.append(before)
            operands = before, builder.add_constant(added)
            now[node.inputs[0]] = builder.add_node(ADD, operands, node.specs, node.line)
        else:
            start = builder.add_node(node.op, [known[i] for i in node.inputs], node.specs, node.line)
            known += range(start, start + len(node.specs))
    found = Segments(before=at, behind=None)
    results = [known[i] for i in found.before(graph.outputs)]
    results += [*[now[k] for k in stored], *[known[i] for i in found.behind(graph.outputs)]]
    return builder.finish(results, graph.name, [inputs[k] for k in order])[0]
