"""Rows of a buffer that a counted loop reads and writes near its counter become a window that moves along the buffer.

before:  loop(n, 0, x), step(i, x): i + 1, x with x[i + 1] = f(x[i])
after:   loop(n, 0, x[0]), step(i, row): i + 1, f(row); row      (the last x: the stack of the rows, the last row, the rest)

In each step the window holds the rows that the step touches. One row enters it from the first buffer, one leaves it for a stack,
the others are carried to the next step. What a step writes into a row, or adds to it, it does to the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.passes.counters import Counted, in_range, is_counted, row_access, walked
from graphad.compiler.passes.rewrite import Found, RuleTable, Sweep, sweep
from graphad.core.row_access import PUTS, SPREADS
from graphad.core.shapes import are_numbers, ranked
from graphad.core.spec import TensorSpec
from graphad.graph.builder import GraphBuilder
from graphad.graph.compose import add
from graphad.graph.ir import Graph, Node
from graphad.kernels.record import Record
from graphad.ops.array.broadcast import BroadcastTo
from graphad.ops.array.join import Concat
from graphad.ops.array.reshape import Reshape
from graphad.ops.array.strided import Slice
from graphad.ops.control.kinds import loops
from graphad.ops.control.segments import Segments
from graphad.ops.math.arithmetic import ADD

if TYPE_CHECKING:
    from graphad.core.dims import Size
    from graphad.ops.control.loop import Loop

TABLE = RuleTable()
MOST_ROWS = 8  # of a window


class _Touch(Record):
    """One access to a row of a buffer.

    Attributes:
      buffer: The value of the buffer that it reads or changes.
      start: The row that it reads or writes beside slice 0.
      row: The value that it writes; -1 for a read.
      added: What it adds to some rows: (row beside slice 0, value), or a pair of such things as a list.
    """

    buffer: int
    start: Size = 0
    row: int = -1
    added: Any = None

    @property
    def changes(self) -> bool:
        return self.row >= 0 or self.added is not None


class _Window(Record):
    """The accesses of a step to one carried buffer.

    Attributes:
      number: Which carry the buffer is.
      step: 1 or -1, the distance of rows beside neighbouring slices.
      forward: 1 or -1, the distance of rows of consecutive steps.
      first: The row that the window leaves behind beside slice 0.
      size: The number of its rows.
      touches: By the node's first output.
      skipped: Nodes that only put rows among zeros, by their output.
      adds: Whether a step adds to rows. It adds zeros to all others then, which makes 0 of -0.
      steps: How many steps there are.
    """

    number: int
    step: int
    forward: int
    first: Size
    size: int
    touches: dict[int, _Touch]
    skipped: frozenset[int]
    adds: bool
    steps: Size

    def cell(self, start: Size) -> int:
        return int((start - self.first) * self.forward)


@TABLE.rewrite(loops)
def buffers_become_windows(s: Sweep, node: Node[Loop]) -> Found:
    """A carry of which each step touches only rows at counter + constant becomes a window."""
    steps = node.op.steps
    if steps is None or not is_counted(s, node):
        return None
    counted = Counted(s, node)
    for k in node.op.operands.carries:
        window = _window(s, node, counted, k, steps)
        if window is not None:
            return _windowed(s, node, window)
    return None


def _window(s: Sweep, node: Node[Loop], counted: Counted, k: int, steps: Size) -> _Window | None:
    """The window of carry k; None if a step does anything else with it than touch such rows."""
    op = node.op
    spec = counted.body.specs[k]
    dims = s.spec(op.inputs.carries(node.inputs)[k]).dims
    if spec.is_handle or not dims or dims != spec.dims:
        return None
    found = _touches(counted, k)
    if found is None:
        return None
    places, touches, skipped = found
    ((_, step), *others) = places
    if step not in (1, -1) or any(other != step for _, other in others):
        return None
    if not all(in_range(*place, steps, dims) for place in places):
        return None
    forward = -step if op.reverse else step
    away = [(start - places[0][0]) * forward for start, _ in places]
    if not are_numbers(away):
        return None
    size = max(away) - min(away) + 1
    first = places[away.index(min(away))][0]
    if size > MOST_ROWS:
        return None
    adds = any(touch.added is not None for touch in touches.values())
    return _Window(k, step, forward, first, size, touches, skipped, adds, steps)


def _touches(
    counted: Counted, k: int
) -> tuple[list[tuple[Size, int]], dict[int, _Touch], frozenset[int]] | None:
    """The rows that a step touches of carry k, the accesses, and the nodes that only serve them; None if there are other uses,
    or if it changes none.
    """
    body = counted.body
    readers: dict[int, list[Node]] = {}
    for inner in body.nodes:
        for value in inner.inputs:
            readers.setdefault(value, []).append(inner)
    places: list[tuple[Size, int]] = []
    touches: dict[int, _Touch] = {}
    skipped = set[int]()
    buffer, last = k, body.outputs[k]
    while True:
        after = None
        for inner in readers.get(buffer, ()):
            found = _touch(counted, readers, inner, buffer, k)
            if found is None:
                return None
            touched, touch, served = found
            places += touched
            touches[inner.start] = touch
            if touch.changes:
                if after is not None:  # two different buffers come from this one
                    return None
                after = inner.start
                skipped |= served
        if body.outputs.count(buffer) != (buffer == last):
            return None
        if after is None:
            return (places, touches, frozenset(skipped)) if buffer == last != k else None
        if buffer == last:
            return None
        buffer = after


def _touch(
    counted: Counted, readers: dict[int, list[Node]], node: Node, buffer: int, k: int
) -> tuple[list[tuple[Size, int]], _Touch, set[int]] | None:
    """(rows, access, nodes that only serve it) if a node touches rows of the buffer and does nothing else with it."""
    body = counted.body
    dims = body.specs[k].dims or ()
    if node.inputs.count(buffer) != 1:
        return None
    if node.op == ADD:
        places: list[tuple[Size, int]] = []
        served = set[int]()
        added = _added(counted, readers, sum(node.inputs) - buffer, dims, places, served)
        return None if added is None else (places, _Touch(buffer, added=added), served)
    if node.inputs[0] != buffer:
        return None
    access = row_access(body, node, len(dims))
    if access is None or access.way == SPREADS:
        return None
    row = -1
    if access.way == PUTS:
        row = node.inputs[access.row]
        row = next((i for i in counted.before_reshaping(row) if body.specs[i].dims == dims[1:]), row)
    place = counted.places(node.inputs[1])
    return None if place is None else ([place], _Touch(buffer, place[0], row), set())


def _added(
    counted: Counted,
    readers: dict[int, list[Node]],
    value: int,
    dims: Sequence[Any],
    places: list[tuple[Size, int]],
    served: set[int],
) -> Any:
    """What a sum of rows among zeros adds to which rows, see `_Touch`; None if the value is anything else.

    Args:
      counted: The body.
      readers: The nodes that read each value.
      value: The sum.
      dims: The shape of the buffer.
      places: The rows are added to this list.
      served: The nodes that make the sum are added to this set.
    """
    body, maker = counted.body, counted.maker(value)
    if maker is None or len(readers[value]) != 1 or value in body.outputs or body.specs[value].dims != dims:
        return None
    served.add(value)
    if maker.op == ADD:
        parts = [_added(counted, readers, i, dims, places, served) for i in maker.inputs]
        return None if None in parts else parts
    access = row_access(body, maker, len(dims))
    if access is None or access.way != SPREADS:
        return None
    place = counted.places(maker.inputs[1])
    if place is None:
        return None
    places.append(place)
    return place[0], maker.inputs[access.row]


def _windowed(s: Sweep, node: Node[Loop], window: _Window) -> Found:
    """The results of the loop with a window instead of a buffer."""
    op = node.op
    k, n, held, steps = window.number, op.n_carry, window.size - 1, window.steps
    buffer = op.inputs.carries(node.inputs)[k]
    spec = s.spec(buffer)
    number = s.number(buffer)
    if window.adds and (number is None or number == 0):
        zero = s.constant(np.zeros((), spec.dtype.numpy))
        buffer = (
            s.bind(ADD, buffer, zero) if number is None else s.bind(BroadcastTo(tuple(spec.dims or ())), zero)
        )
        number = number if number is None else spec.dtype.numpy.type(0)
    body, enters = _body(op, window, number)
    # Stacks that only the derivative reads stand behind these.
    stacks = op.n_ys if op.uniform < 0 else op.uniform
    made = op.changed(
        body=body,
        n_carry=n - 1 + held,
        n_xs=op.n_xs + enters,
        uniform=op.uniform if op.uniform < 0 else op.uniform + 1,
    )
    last_slice = steps - 1
    first = window.first + window.step * last_slice if op.reverse else window.first  # of the first step
    given = op.inputs
    inputs = [
        *given.limit(node.inputs),
        *[x for i, x in enumerate(given.carries(node.inputs)) if i != k],
        *[_row(s, buffer, first + window.forward * j) for j in range(held)],
        *given.invariants(node.inputs),
        *given.xs(node.inputs),
    ]
    if enters:
        inputs.append(walked(s, buffer, window.first + window.forward * held, window.step, steps))
    made, kept, _ = made.pruned([True] * made.n_outputs)  # without invariants that nothing reads any more
    outputs = s.bind(made, *[inputs[i] for i in kept])
    found = Segments(carries=n - 1, held=held, count=1, ys=stacks, rows=1, residuals=op.n_ys - stacks)
    (rows,) = found.rows(outputs)
    if window.step < 0:
        rows = walked(s, rows, last_slice, -1, op.steps)
    pieces = [rows, *[s.bind(Reshape((1, *(spec.dims or ())[1:])), row) for row in found.held(outputs)]]
    after = first + window.forward * (steps - 1 + held)
    low = first if window.forward > 0 else after
    if window.forward < 0:
        pieces.reverse()
    final = _joined(s, buffer, low, steps + held, pieces)
    carries = [*found.carries(outputs)]
    carries.insert(k, final)
    return [*carries, *found.count(outputs), *found.ys(outputs), *found.residuals(outputs)]


def _body(op: Loop, window: _Window, number: Any) -> tuple[Graph, bool]:
    """The body with a window: its rows that stay are carries behind the others, the row that leaves it is a further slice; and
    whether a row of the first buffer enters, as the last slice.

    Args:
      op: The loop.
      window: The window.
      number: What all elements of the first buffer are, None if they differ.
    """
    body, k, n = op.body, window.number, op.n_carry
    builder = GraphBuilder()
    known: list[int] = [builder.add_input(spec) for spec in body.inputs]
    dims = ranked(body.inputs[k].dims)[1:]
    row_spec = TensorSpec.of(dims, body.inputs[k].dtype)
    held = [builder.add_input(row_spec) for _ in range(window.size - 1)]
    known += [builder.add_constant(array) for array in body.constants]
    if number is None:
        entering = builder.add_input(row_spec)
    else:
        entering = builder.add_constant(np.asarray(number, row_spec.dtype.numpy)[()])
        entering = add(builder, BroadcastTo(dims), entering) if dims else entering
    cells = {k: [*held, entering]}  # the rows of the window, by the value of the buffer

    def in_shape(value: int, wanted: Sequence[Any]) -> int:
        same = builder.specs[value].dims == tuple(wanted)
        return value if same else add(builder, Reshape(tuple(wanted)), value)

    def totals(added: Any) -> dict[int, int]:
        """The values that are added to the rows of the window."""
        if isinstance(added, tuple):
            return {window.cell(added[0]): in_shape(known[added[1]], dims)}
        first, second = map(totals, added)
        both = {cell: add(builder, ADD, first[cell], second[cell]) for cell in first if cell in second}
        return first | second | both

    zero = builder.add_constant(np.zeros((), row_spec.dtype.numpy)[()])
    for node in body.nodes:
        touch = window.touches.get(node.start)
        if touch is None and node.start not in window.skipped:
            start = builder.add_node(node.op, [known[i] for i in node.inputs], node.specs, node.line)
            known += range(start, start + len(node.specs))
            continue
        value = known[k]  # stands for what nothing reads any more
        if touch is not None and not touch.changes:
            value = in_shape(cells[touch.buffer][window.cell(touch.start)], node.specs[0].dims or ())
        elif touch is not None:
            rows = cells[node.start] = list(cells[touch.buffer])
            if touch.added is None:
                row = in_shape(known[touch.row], dims)
                rows[window.cell(touch.start)] = add(builder, ADD, row, zero) if window.adds else row
            else:
                for cell, row in totals(touch.added).items():
                    rows[cell] = add(builder, ADD, rows[cell], row)
        known.append(value)
    leaving, *staying = cells[body.outputs[k]]
    stacks = op.n_ys if op.uniform < 0 else op.uniform
    found, results = Segments(carries=n, ys=stacks, residuals=None), [known[i] for i in body.outputs]
    carries = [y for i, y in enumerate(found.carries(results)) if i != k]
    outputs = [*carries, *staying, *found.ys(results), leaving, *found.residuals(results)]
    enters = number is None and (
        entering in outputs or any(entering in node.inputs for node in builder.nodes)
    )
    taken, inputs = op.operands, known[: len(body.inputs)]
    kept = [x for i, x in enumerate(taken.carries(inputs)) if i != k]
    further = [entering] if enters else []
    order = [*kept, *held, *taken.invariants(inputs), *taken.xs(inputs), *further]
    return builder.finish(outputs, body.name, order)[0], enters


def _row(s: Sweep, x: int, number: Size) -> int:
    """x[number]."""
    dims = s.spec(x).dims or ()
    part = s.bind(Slice((number, *[0] * (len(dims) - 1)), (1,) * len(dims), (1, *dims[1:])), x)
    return s.bind(Reshape(tuple(dims[1:])), part)


def _joined(s: Sweep, x: int, low: Size, count: Size, pieces: list[int]) -> int:
    """x with `pieces`, together `count` rows, in place of its rows from `low` on."""
    dims = s.spec(x).dims or ()
    starts, ones = [0] * (len(dims) - 1), (1,) * len(dims)
    behind = dims[0] - low - count
    if type(low) is not int or low:
        pieces = [s.bind(Slice((0, *starts), ones, (low, *dims[1:])), x), *pieces]
    if type(behind) is not int or behind:
        pieces = [*pieces, s.bind(Slice((low + count, *starts), ones, (behind, *dims[1:])), x)]
    return pieces[0] if len(pieces) == 1 else s.bind(Concat(0), *pieces)


def run(graph: Graph, options: object = None) -> Graph:
    return sweep(graph, TABLE)
