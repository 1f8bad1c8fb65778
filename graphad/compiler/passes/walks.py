"""Slices that a counted loop looks up or writes by its counter become slices of stacks that it iterates over.

before:  loop(n, 0, x), step(i, x): ... x[i + 1] ...; i + 1
after:   loop(n, 0, x[1:n + 1]), step(i, slice): ... slice ...; i + 1

before:  loop(n, 0, x), step(i, x): i + 1, x with x[i] = row     (x is not read, and has n rows)
after:   loop(n, 0), step(i): i + 1; row                         (the stack of the rows is the last x)

A general index must be checked at each use; a counting index is a moving pointer. Only if every index is certainly in range and
not negative.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from graphad.compiler.passes.rewrite import Found, RuleTable, Sweep, sweep
from graphad.core.dims import UndecidedSize
from graphad.core.shapes import is_definite
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

TABLE = RuleTable()
MOST_NUMBERS = 1 << 16  # of a counter that are stored


@TABLE.rewrite(lambda kind: kind.repeats)
def slices_by_counter(s: Sweep, node: Node) -> Found:
    """Reads of an invariant at counter + constant become slices of a further stack."""
    op: Any = node.op
    if op.test is not None or op.steps is None:
        return None
    counted = _Counted(s, node)
    walks: dict[tuple[int, Any, int], list[int]] = {}  # (invariant, first index, step) -> values of the body
    for read in op.body.nodes:
        if not _looks_up(op.body, read) or read.inputs[0] not in op.operands.invariants:
            continue
        value, places = read.inputs[0], counted.places(read.inputs[1])
        if places is not None and _in_range(*places, op.steps, op.body.inputs[value].dims):
            walks.setdefault((value, *places), []).append(read.start)
    if not walks:
        return None
    stacks = [_walked(s, node.inputs[value + 1], start, step, op.steps) for value, start, step in walks]
    return counted.with_stacks(stacks, list(walks.values()))


@TABLE.rewrite(lambda kind: kind.repeats)
def rows_by_counter(s: Sweep, node: Node) -> Found:
    """A carry whose rows are written one after the other, and not read, becomes the stack of these rows; so does one of zeros to
    whose rows something is added, as a derivative does.
    """
    op: Any = node.op
    if not _is_counted(s, node):
        return None
    counted = _Counted(s, node)
    written = {k: counted.row_written(k) for k in op.operands.carries}
    added = {k: counted.row_added(k) for k in op.operands.carries if written[k] is None}
    rows = {k: row for k, row in (written | added).items() if row is not None}
    if not rows:
        return None
    body = _with_rows(op.body, [(row, k in added) for k, row in rows.items()])
    # Behind `uniform` stand the stacks that only the derivative reads.
    n, n_new = len(op.body.outputs), len(rows)
    first = op.n_carry + (op.n_ys if op.uniform < 0 else op.uniform)
    body = with_outputs(
        body, [*body.outputs[:first], *body.outputs[n:], *body.outputs[first:n]], keep_all=True
    )
    writing = op.changed(body=body, uniform=op.uniform if op.uniform < 0 else op.uniform + n_new)
    made = _without(s, writing, node.inputs, rows)
    first += 1  # behind the carries stands the count
    made |= {k: made[first + j] for j, k in enumerate(rows)}
    return [made[k if k < first else k + n_new] for k in range(op.n_outputs)]


@TABLE.rewrite(lambda kind: kind.repeats)
def rows_read_before_they_are_written(s: Sweep, node: Node) -> Found:
    """Reads of row i of a carry by steps that write row i, each of another i, become slices of the first carry."""
    op: Any = node.op
    if not _is_counted(s, node):
        return None
    counted = _Counted(s, node)
    stacks: list[int] = []
    slices: list[list[int]] = []
    for k in op.operands.carries:
        write = counted.write(k)
        places = None if write is None else counted.places(write.inputs[1])
        reads = [inner for inner in op.body.nodes if inner is not write and k in inner.inputs]
        if places is None or not all(counted.reads_row(read, k, places) for read in reads):
            continue
        x = node.inputs[k + 1]
        if not reads or not _in_range(*places, op.steps, s.spec(x).dims):
            continue
        stack = _walked(s, x, *places, op.steps)
        for read in reads:
            stacks.append(s.bind(Reshape((op.steps, *(read.specs[0].dims or ()))), stack))
            slices.append([read.start])
    return counted.with_stacks(stacks, slices) if stacks else None


@TABLE.rewrite(lambda kind: kind.repeats)
def counted_stacks(s: Sweep, node: Node) -> Found:
    """A stack of the counter's values is a constant."""
    op: Any = node.op
    if not _is_counted(s, node) or type(op.steps) is not int or op.steps > MOST_NUMBERS:
        return None
    counted, numbers = _Counted(s, node), {}
    for k, value in zip(op.outputs.ys, op.results.ys(op.body.outputs), strict=True):
        spec = op.body.specs[value]
        places = counted.places(value) if spec.dtype.is_integer else None
        if places is None:
            continue
        data = places[0] + places[1] * np.arange(op.steps)
        stack = data.astype(spec.dtype.numpy)
        if np.array_equal(stack, data):
            numbers[k] = s.constant(stack.reshape(op.steps, *spec.dims))
    if not numbers:
        return None
    made = _without(s, op, node.inputs, numbers) | numbers
    return [made[k] for k in range(op.n_outputs)]


def _is_counted(s: Sweep, node: Node) -> bool:
    """Whether the number of steps is known, positive, and the length of all stacks."""
    op: Any = node.op
    if op.test is not None or op.steps is None:
        return False
    try:
        positive = bool(op.steps > 0)
    except UndecidedSize:
        return False
    return positive and _are_long(op.steps, [s.spec(x).dims for x in op.inputs.xs(node.inputs)])


def _are_long(steps: Any, shapes: Sequence[Any]) -> bool:
    """Whether each of these shapes certainly has a row for each step, and no more."""
    try:
        return all(dims and dims[0] == steps for dims in shapes)
    except UndecidedSize:
        return False


def _without(s: Sweep, op: Any, inputs: Sequence[int], dropped: Collection[int]) -> dict[int, int]:
    """The values of a loop's outputs by number, without some that nothing needs."""
    left, places, kept = op.pruned([k not in dropped for k in range(op.n_outputs)])
    return dict(zip(kept, s.bind(left, *[inputs[k] for k in places]), strict=True))


def _with_rows(body: Graph, rows: Sequence[tuple[int, bool]]) -> Graph:
    """The body with rows as further outputs; those that are added to zeros as 0 + row, which is 0 for -0."""
    builder = GraphBuilder()
    known = append_all(builder, body, [builder.add_input(spec) for spec in body.inputs])
    outputs = [known[i] for i in body.outputs]
    for row, is_added in rows:
        value = known[row]
        if is_added:
            zero = builder.add_constant(np.zeros((), body.specs[row].dtype.numpy)[()])
            value = add(builder, ADD, value, zero)
        outputs.append(value)
    return builder.finish(outputs, body.name, builder.inputs, keep_all=True)[0]


class _Counted:
    """The body of a counted loop, and which of its values are counters plus constants."""

    def __init__(self, s: Sweep, node: Node) -> None:
        self.s, self.node, self.op = s, node, node.op
        self.body: Graph = self.op.body  # type: ignore[attr-defined]
        self._counters = dict(_counters(s, node))
        self._makers = {value: inner for inner in self.body.nodes for value in inner.outputs}

    def places(self, value: int) -> tuple[Any, int] | None:
        """(start, step) of a value of one element that is a counter plus a constant."""
        for i in self._before_reshaping(value):
            dims = self.body.specs[i].dims
            if i in self._counters and all(n == 1 for n in dims or ()):
                return self._counters[i]
            found = _affine(self.body, i) if dims == () else None
            if found is not None and found[0] in self._counters:
                start, step = self._counters[found[0]]
                return start + found[1], step
        return None

    def _before_reshaping(self, value: int) -> list[int]:
        """A value, and what it is a reshaped copy of."""
        found = [value]
        while value in self._makers:
            maker = self._makers[value]
            if maker.op.op_class not in (Reshape, ExpandDims, Stack) or len(maker.inputs) != 1:
                break
            value = maker.inputs[0]
            found.append(value)
        return found

    def write(self, k: int) -> Node | None:
        """The write of one row that makes the next value of carry k, if nothing else reads that."""
        body, after = self.body, self.body.outputs[k]
        write = self._makers.get(after)
        if write is None or write.op != TensorScatterUpdate():
            return None
        if write.inputs[0] != k or body.specs[write.inputs[1]].dims != (1, 1) or not body.specs[k].dims:
            return None
        read = [*[i for inner in body.nodes for i in inner.inputs], *body.outputs]
        return None if read.count(after) != 1 or k in (*write.inputs[1:], *body.outputs) else write

    def row_written(self, k: int) -> int | None:
        """The value that a step writes into row i of carry k, i = 0, 1, ...; None unless the steps write all rows and read
        none.
        """
        write, body = self.write(k), self.body
        if write is None or any(inner is not write and k in inner.inputs for inner in body.nodes):
            return None
        row_dims = (body.specs[k].dims or ())[1:]
        row = next(
            (i for i in self._before_reshaping(write.inputs[2]) if body.specs[i].dims == row_dims), None
        )
        return row if self.places(write.inputs[1]) == (0, 1) and self._has_a_row_for_each_step(k) else None

    def row_added(self, k: int) -> int | None:
        """As `row_written` for what a step adds to row i of zeros: zeros with a row are made and added to all rows."""
        body, after = self.body, self.body.outputs[k]
        total = self._makers.get(after)
        if total is None or total.op != ADD or total.inputs.count(k) != 1:
            return None
        other = sum(total.inputs) - k
        transpose = self._makers.get(other)
        read = [*[i for inner in body.nodes for i in inner.inputs], *body.outputs]
        if transpose is None or any(read.count(i) != 1 for i in (k, other, after)):
            return None
        if not _puts_back(body, transpose) or self.places(transpose.inputs[1]) != (0, 1):
            return None
        if body.specs[other].dims != body.specs[k].dims or not self._has_a_row_for_each_step(k):
            return None
        first = self.s.number(self.node.inputs[k + 1])
        is_zero = first is not None and first == 0 and not np.signbit(first.real)
        return transpose.inputs[0] if is_zero else None

    def _has_a_row_for_each_step(self, k: int) -> bool:
        shapes = [self.s.spec(self.node.inputs[k + 1]).dims, self.body.specs[k].dims]
        return _are_long(self.op.steps, shapes)  # type: ignore[attr-defined]

    def reads_row(self, read: Node, k: int, places: tuple[Any, int]) -> bool:
        """Whether a node reads the row of carry k with the number that `places` says."""
        if len(read.inputs) != 2 or read.inputs[0] != k or read.inputs[1] == k:
            return False
        if read.op == GatherNd():
            is_row = self.body.specs[read.inputs[1]].dims == (1, 1)
        else:
            is_row = _looks_up(self.body, read)
        return is_row and self.places(read.inputs[1]) == places

    def with_stacks(self, stacks: Sequence[int], slices: Sequence[Sequence[int]]) -> Found:
        """The results of the loop with further stacks, each of whose slices stands for some values of the body."""
        op: Any = self.op
        specs = [self.body.specs[values[0]] for values in slices]
        places = {value: k for k, values in enumerate(slices) for value in values}
        body = with_given(self.body, specs, places, len(self.body.inputs))
        walking = op.changed(body=body, n_xs=op.n_xs + len(stacks))
        inputs = [*self.node.inputs, *stacks]
        # Drop invariants that were only looked up.
        left, kept, _ = walking.pruned([True] * walking.n_outputs)
        return self.s.bind(left, *[inputs[k] for k in kept])  # type: ignore[no-any-return]


def _puts_back(body: Graph, node: Node) -> bool:
    """Whether a node is the transpose of x[i] for a scalar i: zeros with a row."""
    op: Any = node.op
    if len(node.inputs) != 2 or body.specs[node.inputs[1]].dims != ():
        return False
    if op.op_class is GetItemGrad:
        return only_index(op.key, len(op.shape)) == 0
    return op.op_class is GatherGrad and not op.batch_dims and op.axis % len(op.shape) == 0


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


def _walked(s: Sweep, x: int, start: Any, step: int, steps: Any) -> int:
    """x[start], x[start + step], ... as a stack."""
    dims = s.spec(x).dims or ()
    starts, strides = (start, *[0] * (len(dims) - 1)), (step, *[1] * (len(dims) - 1))
    return s.bind(Slice(starts, strides, (steps, *dims[1:])), x)


def run(graph: Graph, options: object = None) -> Graph:
    return sweep(graph, TABLE)
