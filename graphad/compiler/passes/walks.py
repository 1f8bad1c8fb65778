"""Slices that a counted loop looks up or writes by its counter become slices of stacks that it iterates over.

before:  loop(n, 0, x), step(i, x): ... x[i + 1] ...; i + 1
after:   loop(n, 0, x[1:n + 1]), step(i, slice): ... slice ...; i + 1

before:  loop(n, 0, x), step(i, x): i + 1, x with x[i] = row     (x is not read, and has n rows)
after:   loop(n, 0), step(i): i + 1; row                         (the stack of the rows is the last x)

A general index must be checked at each use; a counting index is a moving pointer. Only if every index is certainly in range and
not negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.passes.rewrite import Found, RuleTable, Sweep, sweep
from graphad.core.dims import UndecidedSize
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.graph.builder import GraphBuilder
from graphad.graph.compose import add, append_all, with_given
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import with_outputs
from graphad.ops.array.gather import GatherGrad, GatherNd
from graphad.ops.array.join import Stack
from graphad.ops.array.keys import only_index
from graphad.ops.array.reshape import ExpandDims, Reshape
from graphad.ops.array.scatter import TensorScatterUpdate
from graphad.ops.array.sequence import Steps
from graphad.ops.array.shape import SizeVector
from graphad.ops.array.slice import GetItemGrad, Slice
from graphad.ops.math.arithmetic import ADD

if TYPE_CHECKING:
    from graphad.ops.control.loop import Loop


TABLE = RuleTable()
MOST_NUMBERS = 1 << 16  # of a counter that are stored


@TABLE.rewrite(lambda kind: kind.repeats)
def slices_by_counter(s: Sweep, node: Node) -> Found:
    """Reads of an invariant at counter + constant become slices of a further stack."""
    op: Any = node.op
    if op.test is not None or op.steps is None:
        return None
    counters = dict(_counters(s, node))
    walks: dict[tuple[int, Any, int], list[int]] = {}  # (invariant, first index, step) -> values of the body
    for read, (value, start, step) in _reads(op, counters):
        if _in_range(start, step, op.steps, op.body.inputs[value].dims):
            walks.setdefault((value, start, step), []).append(read)
    if not walks:
        return None
    slices = {read: k for k, reads in enumerate(walks.values()) for read in reads}
    specs = [_slice_spec(op.body.inputs[value]) for value, _, _ in walks]
    walking = op.changed(
        body=with_given(op.body, specs, slices, len(op.body.inputs)), n_xs=op.n_xs + len(walks)
    )
    stacks = [_walked(s, node.inputs[value + 1], start, step, op.steps) for value, start, step in walks]
    inputs = [*node.inputs, *stacks]
    # Drop invariants that were only looked up.
    left, places, _ = walking.pruned([True] * walking.n_outputs)
    return s.bind(left, *[inputs[k] for k in places])  # type: ignore[no-any-return]


@TABLE.rewrite(lambda kind: kind.repeats)
def rows_by_counter(s: Sweep, node: Node) -> Found:
    """A carry whose rows are written one after the other, and not read, becomes the stack of these rows; so does one of zeros to
    whose rows something is added, as a derivative does.
    """
    op: Any = node.op
    if not _is_counted(s, node):
        return None
    counters = dict(_counters(s, node))
    rows, added = {}, set()
    for k in op.operands.carries:
        row = _row_written(s, node, k, counters)
        if row is None:
            row = _row_added(s, node, k, counters)
            if row is not None:
                added.add(k)
        if row is not None:
            rows[k] = row
    if not rows:
        return None
    graph = op.body
    if added:
        graph, sums = _with_sums(op.body, [rows[k] for k in added])
        rows |= dict(zip(added, sums, strict=True))
    # Behind `uniform` stand the stacks that only the derivative reads.
    n, at = op.n_carry, op.n_ys if op.uniform < 0 else op.uniform
    outputs, uniform = graph.outputs, op.uniform if op.uniform < 0 else at + len(rows)
    body = with_outputs(graph, [*outputs[: n + at], *rows.values(), *outputs[n + at :]], keep_all=True)
    writing = op.changed(body=body, uniform=uniform)
    left, places, kept = writing.pruned([k not in rows for k in range(writing.n_outputs)])
    made = dict(zip(kept, s.bind(left, *[node.inputs[k] for k in places]), strict=True))
    first = n + 1 + at  # the number of the first of the stacks
    for j, k in enumerate(rows):
        made[k] = made[first + j]
    return [made[k if k < first else k + len(rows)] for k in range(op.n_outputs)]


@TABLE.rewrite(lambda kind: kind.repeats)
def rows_read_before_they_are_written(s: Sweep, node: Node) -> Found:
    """Reads of row i of a carry by steps that write row i, each of another i, become slices of the first carry."""
    op: Any = node.op
    if not _is_counted(s, node):
        return None
    body, counters = op.body, dict(_counters(s, node))
    makers = _makers(body)
    stacks: list[int] = []
    specs: list[TensorSpec] = []
    slices: dict[int, int] = {}
    for k in op.operands.carries:
        write = _write(body, makers, k)
        if write is None:
            continue
        counted = _counted(body, makers, write.inputs[1], counters)
        reads = [inner for inner in body.nodes if inner is not write and k in inner.inputs]
        if (
            counted is None
            or not reads
            or not all(_reads_row(body, makers, read, k, counted, counters) for read in reads)
            or not _in_range(*counted, op.steps, s.spec(node.inputs[k + 1]).dims)
        ):
            continue
        stack = _walked(s, node.inputs[k + 1], *counted, op.steps)
        for read in reads:
            dims = body.specs[read.start].dims
            slices[read.start] = len(specs)
            specs.append(body.specs[read.start])
            stacks.append(s.bind(Reshape((op.steps, *dims)), stack))
    if not specs:
        return None
    made = op.changed(body=with_given(body, specs, slices, len(body.inputs)), n_xs=op.n_xs + len(specs))
    left, places, _ = made.pruned([True] * made.n_outputs)
    inputs = [*node.inputs, *stacks]
    return s.bind(left, *[inputs[k] for k in places])  # type: ignore[no-any-return]


@TABLE.rewrite(lambda kind: kind.repeats)
def counted_stacks(s: Sweep, node: Node) -> Found:
    """A stack of the counter's values is a constant."""
    op: Any = node.op
    if not _is_counted(s, node) or type(op.steps) is not int or op.steps > MOST_NUMBERS:
        return None
    body, counters = op.body, dict(_counters(s, node))
    makers, numbers = _makers(body), {}
    for k, value in zip(op.outputs.ys, op.results.ys(body.outputs), strict=True):
        spec = body.specs[value]
        counted = _counted(body, makers, value, counters) if spec.dtype.is_integer else None
        if counted is None:
            continue
        data = counted[0] + counted[1] * np.arange(op.steps)
        stack = data.astype(spec.dtype.numpy)
        if np.array_equal(stack, data):
            numbers[k] = s.constant(stack.reshape(op.steps, *spec.dims))
    if not numbers:
        return None
    left, places, kept = op.pruned([k not in numbers for k in range(op.n_outputs)])
    made = dict(zip(kept, s.bind(left, *[node.inputs[k] for k in places]), strict=True)) | numbers
    return [made[k] for k in range(op.n_outputs)]


def _is_counted(s: Sweep, node: Node) -> bool:
    """Whether the number of steps is known, positive, and the length of all stacks."""
    op: Any = node.op
    if op.test is not None or op.steps is None:
        return False
    try:
        return bool(op.steps > 0) and all(
            dims and dims[0] == op.steps for dims in (s.spec(x).dims for x in op.inputs.xs(node.inputs))
        )
    except UndecidedSize:
        return False


def _makers(body: Graph) -> dict[int, Node]:
    return {value: node for node in body.nodes for value in node.outputs}


def _write(body: Graph, makers: dict[int, Node], k: int) -> Node | None:
    """The write of one row that makes the next value of carry k, if nothing else reads that."""
    after = body.outputs[k]
    write = makers.get(after)
    if write is None or write.op != TensorScatterUpdate():
        return None
    if write.inputs[0] != k or body.specs[write.inputs[1]].dims != (1, 1) or not body.specs[k].dims:
        return None
    read = [*[i for inner in body.nodes for i in inner.inputs], *body.outputs[:k], *body.outputs[k + 1 :]]
    return None if after in read or k in (*write.inputs[1:], *body.outputs) else write


def _row_written(s: Sweep, node: Node, k: int, counters: dict[int, tuple[Any, int]]) -> int | None:
    """The value that a step writes into row i of carry k, i = 0, 1, ...; None unless the steps write all rows and read none."""
    op: Any = node.op
    body = op.body
    makers = _makers(body)
    write = _write(body, makers, k)
    if write is None or any(inner is not write and k in inner.inputs for inner in body.nodes):
        return None
    rows = _before_reshaping(makers, write.inputs[2])
    row = next((i for i in rows if body.specs[i].dims == body.specs[k].dims[1:]), None)
    if row is None or _counted(body, makers, write.inputs[1], counters) != (0, 1):
        return None
    return row if _has_row_for_each_step(s, node, k) else None


def _has_row_for_each_step(s: Sweep, node: Node, k: int) -> bool:
    op: Any = node.op
    try:
        return all(
            dims and dims[0] == op.steps for dims in (s.spec(node.inputs[k + 1]).dims, op.body.specs[k].dims)
        )
    except UndecidedSize:
        return False


def _row_added(s: Sweep, node: Node, k: int, counters: dict[int, tuple[Any, int]]) -> int | None:
    """As `_row_written` for what a step adds to row i of zeros: zeros with a row are made and added to all rows."""
    op: Any = node.op
    body = op.body
    makers, after = _makers(body), body.outputs[k]
    total = makers.get(after)
    if total is None or total.op != ADD or list(total.inputs).count(k) != 1:
        return None
    other = sum(total.inputs) - k
    transpose = makers.get(other)
    read = [*[i for inner in body.nodes for i in inner.inputs], *body.outputs]
    if transpose is None or any(read.count(i) != 1 for i in (k, other, after)):
        return None
    if not _puts_back(body, transpose) or not _has_row_for_each_step(s, node, k):
        return None
    if body.specs[other].dims != body.specs[k].dims or body.specs[other].dtype is not body.specs[k].dtype:
        return None
    first = s.number(node.inputs[k + 1])
    if first is None or first != 0 or np.signbit(first.real):
        return None
    is_counted = _counted(body, makers, transpose.inputs[1], counters) == (0, 1)
    return transpose.inputs[0] if is_counted else None


def _puts_back(body: Graph, node: Node) -> bool:
    """Whether a node is the transpose of x[i] for a scalar i: zeros with a row."""
    op: Any = node.op
    if len(node.inputs) != 2 or body.specs[node.inputs[1]].dims != ():
        return False
    if op.op_class is GetItemGrad:
        return only_index(op.key, len(op.shape)) == 0
    return op.op_class is GatherGrad and not op.batch_dims and op.axis % len(op.shape) == 0


def _with_sums(body: Graph, rows: Sequence[int]) -> tuple[Graph, list[int]]:
    """The body with 0 + row for each of the rows, as adding to zeros gives it: -0 becomes 0."""
    builder = GraphBuilder()
    known = append_all(builder, body, [builder.add_input(spec) for spec in body.inputs])
    sums = []
    for row in rows:
        zero = builder.add_constant(np.zeros((), body.specs[row].dtype.numpy)[()])
        sums.append(add(builder, ADD, known[row], zero))
    made, _ = builder.finish(
        [*[known[i] for i in body.outputs], *sums], body.name, builder.inputs, keep_all=True
    )
    return with_outputs(made, made.outputs[: len(body.outputs)], keep_all=True), list(
        made.outputs[len(body.outputs) :]
    )


def _reads_row(
    body: Graph,
    makers: dict[int, Node],
    read: Node,
    k: int,
    counted: Any,
    counters: dict[int, tuple[Any, int]],
) -> bool:
    """Whether a node reads the row of carry k that has the counted number."""
    if len(read.inputs) != 2 or read.inputs[0] != k or read.inputs[1] == k:
        return False
    if read.op == GatherNd():
        is_row = body.specs[read.inputs[1]].dims == (1, 1)
    else:
        is_row = _looks_up(body, read)
    return is_row and _counted(body, makers, read.inputs[1], counters) == counted


def _counted(
    body: Graph, makers: dict[int, Node], value: int, counters: dict[int, tuple[Any, int]]
) -> tuple[Any, int] | None:
    """(start, step) of a value of one element that is a counter plus a constant."""
    for i in _before_reshaping(makers, value):
        if i in counters and all(n == 1 for n in body.specs[i].dims or ()):
            return counters[i]
        found = _affine(body, i) if body.specs[i].dims == () else None
        if found is not None and found[0] in counters:
            start, step = counters[found[0]]
            return start + found[1], step
    return None


def _before_reshaping(makers: dict[int, Node], value: int) -> list[int]:
    """A value, and what it is a reshaped copy of."""
    found = [value]
    while value in makers:
        maker = makers[value]
        if maker.op.op_class not in (Reshape, ExpandDims, Stack) or len(maker.inputs) != 1:
            break
        value = maker.inputs[0]
        found.append(value)
    return found


def _counters(s: Sweep, node: Node) -> Iterator[tuple[int, tuple[Any, int]]]:
    """operand -> (start, step) for what has start + t * step beside slice t of a stack: a carry that starts at a known number and
    advances by a constant, and slices of equally spaced numbers.
    """
    op: Any = node.op
    # Where some stacks are longer, dropping one could change the length of the ys.
    stacks = zip(op.operands.xs, op.inputs.xs(node.inputs), strict=True) if _is_counted(s, node) else ()
    for k, value in stacks:
        spaced = _spaced(s, value)
        if spaced is not None:
            yield k, spaced
    if op.reverse:  # carries count from the last slice on
        return
    for k, spec in enumerate(op.operands.carries(op.body.inputs)):
        if spec.is_handle or not spec.dtype.is_integer or spec.dims != ():
            continue
        start, moved = _start(s, node.inputs[k + 1]), _affine(op.body, op.body.outputs[k])
        if start is not None and moved is not None and moved[0] == k and moved[1]:
            yield k, (start, moved[1])


def _spaced(s: Sweep, value: int) -> tuple[int, int] | None:
    """(first, step) of a stack of integers with equal steps other than 0."""
    counting: Any = s.made_by(value, Steps)
    if counting is not None:
        op = counting.op
        is_wide = op.delta and op.dtype.is_integer and op.dtype.itemsize >= 4  # narrow ones may begin anew
        return (op.start, op.delta) if is_wide and type(op.start) is int and type(op.delta) is int else None
    data = s.array(value)
    if data is None or not data.ndim or data.dtype.kind not in "iu" or not 0 < data.size == len(data):
        return None
    data = data.reshape(-1)
    first = int(data[0])
    step = int(data[1]) - first if len(data) > 1 else 1
    if step == 0 or not np.array_equal(data, first + step * np.arange(len(data))):
        return None
    return first, step


def _start(s: Sweep, value: int) -> Any:
    sizes: Any = s.made_by(value, SizeVector)
    if sizes is not None:
        return sizes.op.dims[0]
    number = s.number(value)
    return None if number is None else int(number)


def _affine(body: Graph, value: int) -> tuple[int, int] | None:
    """(input, constant) if a value is an input of the body plus a constant."""
    total = 0
    makers = {value: node for node in body.nodes if node.op.counts for value in node.outputs}
    while value in makers:
        node = makers[value]
        a, b = node.inputs
        known = _constant(body, b)
        if known is None and node.op.counts > 0:
            a, known = b, _constant(body, a)
        if known is None or body.specs[value].dims != ():
            return None
        total += node.op.counts * known
        value = a
    return (value, total) if value < len(body.inputs) else None


def _constant(body: Graph, value: int) -> int | None:
    if not len(body.inputs) <= value < body.first_node_value:
        return None
    data = body.constants[value - len(body.inputs)]
    return int(data) if np.size(data) == 1 and data.dtype.kind in "iu" else None


def _reads(op: Loop, counters: dict[int, tuple[Any, int]]) -> Iterator[tuple[int, tuple[int, Any, int]]]:
    """(value of the body, (invariant, first index, step)) for lookups along axis 0 by a counter plus a constant."""
    fixed = op.operands.invariants
    for node in op.body.nodes:
        if not _looks_up(op.body, node) or node.inputs[0] not in fixed:
            continue
        found = _affine(op.body, node.inputs[1])
        if found is not None and found[0] in counters:
            start, step = counters[found[0]]
            yield node.start, (node.inputs[0], start + found[1], step)


def _looks_up(body: Graph, node: Node) -> bool:
    """Whether a node is x[i] for a scalar i that is not negative."""
    dims = body.specs[node.inputs[0]].dims if node.inputs else None
    if dims is None or len(node.inputs) != 2 or body.specs[node.inputs[1]].dims != ():
        return False
    return node.op.index_axis(len(dims)) == 0


def _in_range(start: Any, step: int, steps: Any, dims: Any) -> bool:
    if not is_definite(dims):
        return False
    last = start + step * (steps - 1)
    low, high = (start, last) if step > 0 else (last, start)
    try:
        return bool(steps > 0 and low >= 0 and high < dims[0])
    except UndecidedSize:
        return False


def _slice_spec(spec: TensorSpec) -> TensorSpec:
    return spec.with_dims(tuple((spec.dims or ())[1:]))


def _walked(s: Sweep, x: int, start: Any, step: int, steps: Any) -> int:
    """x[start], x[start + step], ... as a stack."""
    dims = s.spec(x).dims or ()
    starts, strides = (start, *[0] * (len(dims) - 1)), (step, *[1] * (len(dims) - 1))
    return s.bind(Slice(starts, strides, (steps, *dims[1:])), x)


def run(graph: Graph, options: object = None) -> Graph:
    return sweep(graph, TABLE)
