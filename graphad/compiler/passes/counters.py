"""Which values of a counted loop's body are counters: what has start + i * step beside slice i of a stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.passes.rewrite import Found, Sweep
from graphad.core.dims import Dim, UndecidedSize, at_most
from graphad.core.row_access import PUTS, TAKES, RowAccess
from graphad.core.shapes import is_definite
from graphad.graph.compose import with_given
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import constant_at
from graphad.ops.array.join import Stack
from graphad.ops.array.reshape import ExpandDims, Reshape
from graphad.ops.array.sequence import Steps
from graphad.ops.array.shape import SizeVector
from graphad.ops.array.strided import Slice
from graphad.ops.math.arithmetic import Add

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphad.core.dims import Size
    from graphad.core.shapes import Dims
    from graphad.core.spec import TensorSpec
    from graphad.ops.control.loop import Loop


def is_counted(s: Sweep, node: Node[Loop]) -> bool:
    """Whether the number of steps is known, positive, and the length of all stacks."""
    op = node.op
    if op.test is not None or op.steps is None:
        return False
    try:
        positive = at_most(1, op.steps)
    except UndecidedSize:
        return False
    return positive and _are_long(op.steps, [s.spec(x).dims for x in op.inputs.xs(node.inputs)])


def _are_long(steps: Size, shapes: Iterable[Dims]) -> bool:
    """Whether each of these shapes certainly has a row for each step, and no more."""
    try:
        return all(dims and dims[0] == steps for dims in shapes)
    except UndecidedSize:
        return False


class Counted:
    """The body of a counted loop, and which of its values are counters plus constants."""

    def __init__(self, s: Sweep, node: Node[Loop]) -> None:
        self.s, self.node, self.op = s, node, node.op
        self.body = self.op.body
        self._counters = dict(_counters(s, node))
        self._makers = {value: inner for inner in self.body.nodes for value in inner.outputs}

    def maker(self, value: int) -> Node | None:
        return self._makers.get(value)

    def places(self, value: int) -> tuple[Size, int] | None:
        """(start, step) of a value of one element that is a counter plus a constant."""
        for i in self.before_reshaping(value):
            dims = self.body.specs[i].dims
            if i in self._counters and all(n == 1 for n in dims or ()):
                return self._counters[i]
            found = _affine(self.body, i) if dims == () else None
            if found is not None and found[0] in self._counters and _is_wide(self.body.specs[i]):
                start, step = self._counters[found[0]]
                return found[1] * start + found[2], found[1] * step
        return None

    def before_reshaping(self, value: int) -> list[int]:
        """A value, and what it is a reshaped copy of."""
        found = [value]
        while value in self._makers:
            maker = self._makers[value]
            if maker.op.op_class not in (Reshape, ExpandDims, Stack) or len(maker.inputs) != 1:
                break
            value = maker.inputs[0]
            found.append(value)
        return found

    def number(self, value: int) -> Any | None:
        """The number that all elements of a value equal in each step, None if that is unknown."""
        while value in self._makers:
            maker = self._makers[value]
            if not maker.op.spreads or len(maker.inputs) != 1:
                return None
            value = maker.inputs[0]
        data = constant_at(self.body, value)
        return None if data is None or np.size(data) != 1 else np.reshape(data, ())[()]

    def with_stacks(self, stacks: Sequence[int], slices: Sequence[Sequence[int]]) -> Found:
        """The results of the loop with further stacks, each of whose slices stands for some values of the body."""
        op = self.op
        specs = [self.body.specs[values[0]] for values in slices]
        places = {value: k for k, values in enumerate(slices) for value in values}
        body = with_given(self.body, specs, places, len(self.body.inputs))
        walking = op.changed(body=body, n_xs=op.n_xs + len(stacks))
        inputs = [*self.node.inputs, *stacks]
        # Drop invariants that were only looked up.
        left, kept, _ = walking.pruned([True] * walking.n_outputs)
        return self.s.bind(left, *[inputs[k] for k in kept])


def _counters(s: Sweep, node: Node[Loop]) -> Iterator[tuple[int, tuple[Size, int]]]:
    """operand -> (start, step) for what has start + t * step beside slice t of a stack: a carry that starts at a known number and
    advances by a constant, and slices of equally spaced numbers.
    """
    op = node.op
    # Where some stacks are longer, dropping one could change the length of the ys.
    stacks = zip(op.operands.xs, op.inputs.xs(node.inputs), strict=True) if is_counted(s, node) else ()
    for k, value in stacks:
        spaced = _spaced(s, value)
        if spaced is not None:
            yield k, spaced
    if op.reverse:  # carries count from the last slice on
        return
    for k, spec in enumerate(op.operands.carries(op.body.inputs)):
        if spec.is_handle or not spec.dtype.is_integer or spec.dims != () or not _is_wide(spec):
            continue
        start, moved = _start(s, node.inputs[op.passed[k]]), _affine(op.body, op.body.outputs[k])
        if start is not None and moved is not None and moved[:2] == (k, 1) and moved[2]:
            yield k, (start, moved[2])


def _is_wide(x: TensorSpec | Steps) -> bool:
    """Whether a counter of the dtype of `x` does not begin anew: there are fewer rows than it has numbers."""
    return bool(x.dtype.itemsize >= 4)


def _spaced(s: Sweep, value: int) -> tuple[Size, int] | None:
    """(first, step) of a stack of integers with equal steps other than 0."""
    moved = s.made_by(value, Add)
    if moved is not None:  # by a size
        numbers, size = moved.inputs
        if s.spec(numbers).dims == ():
            numbers, size = size, numbers
        spaced, by = _spaced(s, numbers), _start(s, size) if s.spec(size).dims == () else None
        return None if spaced is None or by is None else (spaced[0] + by, spaced[1])
    counting = s.made_by(value, Steps)
    if counting is not None:
        op = counting.op
        counts = op.delta and op.dtype.is_integer and _is_wide(op)
        return (op.start, op.delta) if counts and type(op.start) is int and type(op.delta) is int else None
    data = s.array(value)
    if data is None or not data.ndim or data.dtype.kind not in "iu" or not 0 < data.size == len(data):
        return None
    data = data.reshape(-1)
    first = int(data[0])
    step = int(data[1]) - first if len(data) > 1 else 1
    if step == 0 or not np.array_equal(data, first + step * np.arange(len(data))):
        return None
    return first, step


def _start(s: Sweep, value: int) -> Size | None:
    sizes = s.made_by(value, SizeVector)
    if sizes is not None:
        return sizes.op.dims[0]
    number = s.number(value)
    return None if number is None else int(number)


def _affine(body: Graph, value: int) -> tuple[int, int, int] | None:
    """(input, 1 or -1, constant) if a value is an input of the body, or its opposite, plus a constant."""
    sign, total = 1, 0
    makers = {value: node for node in body.nodes if node.op.counts for value in node.outputs}
    while value in makers:
        node = makers[value]
        a, b = node.inputs
        first, second = _constant(body, a), _constant(body, b)
        if body.specs[value].dims != () or (first is None) == (second is None):
            return None
        if second is not None:
            total += sign * node.op.counts * second
            value = a
        else:
            total += sign * (first or 0)
            sign *= node.op.counts
            value = b
    return (value, sign, total) if value < len(body.inputs) else None


def _constant(body: Graph, value: int) -> int | None:
    if not len(body.inputs) <= value < body.first_node_value:
        return None
    data = body.constants[value - len(body.inputs)]
    return int(data) if np.size(data) == 1 and data.dtype.kind in "iu" else None


def looks_up(body: Graph, node: Node) -> bool:
    """Whether a node is x[i] for a scalar i that is not negative."""
    dims = body.specs[node.inputs[0]].dims if node.inputs else None
    found = None if dims is None else row_access(body, node, len(dims))
    return found is not None and found.way == TAKES and not found.coordinates


def row_access(body: Graph, node: Node, rank: int) -> RowAccess | None:
    """How a node accesses one row of a tensor of this rank; None if it does anything else."""
    found = node.op.row_access(rank) if len(node.inputs) > 1 and rank else None
    if found is None or found.axis != 0 or len(node.inputs) != (3 if found.way == PUTS else 2):
        return None
    return found if body.specs[node.inputs[1]].dims == ((1, 1) if found.coordinates else ()) else None


def in_range(start: Size, step: int, steps: Size, dims: Dims) -> bool:
    """Whether start, start + step, ... are indices below dims[0] in each of the steps; and start is at most that if there may be
    none."""
    if not is_definite(dims):
        return False
    last = start + step * (steps - 1)
    low, high = (start, last) if step > 0 else (last, start)
    try:
        inside = bool(low >= 0 and high < dims[0])
    except UndecidedSize:
        return False
    if not inside or at_most(1, steps):
        return inside
    return isinstance(steps, Dim) and at_most(0, steps) and at_most(0, start) and at_most(start, dims[0])


def walked(s: Sweep, x: int, start: Size, step: int, steps: Size) -> int:
    """x[start], x[start + step], ... as a stack."""
    dims = s.spec(x).dims or ()
    starts, strides = (start, *[0] * (len(dims) - 1)), (step, *[1] * (len(dims) - 1))
    return s.bind(Slice(starts, strides, (steps, *dims[1:])), x)
