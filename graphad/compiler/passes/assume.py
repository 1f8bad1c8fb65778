"""Sizes of slices whose bounds only the run knows, as they are unless a slice is clipped: x[i:i + 4] has 4 elements.

before:  %2 = add(%1, 4);  %3 = getitem(%0, [%1:%2]), of shape [?]
after:   %2 = add(%1, 4);  %3 = getitem(%0, [%1:%2 of 4]), of shape [4]

The graph is replayed, so that all shapes behind it are known too. An op checks the size that it is said to have: this graph is
for runs that are made again without it where it has another one.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from graphad.core.dims import UndecidedSize
from graphad.core.errors import GraphadError
from graphad.core.op import Op
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import sub_graphs
from graphad.ops.array.shape import SizeVector
from graphad.ops.math.arithmetic import Add, Mul, Sub
from graphad.ops.math.cast import Cast
from graphad.ops.math.select import Minimum
from graphad.trace.specialise import specialise
from graphad.trace.specialiser import Specialiser

_DEEP = 8  # ops that are looked through


def assumed(graph: Graph) -> tuple[Graph, frozenset[Op]] | None:
    """A specialised graph with assumed sizes, and the ops that check them; None where there is nothing to assume."""
    made: set[Op] = set()
    try:
        found = specialise(graph, graph.inputs, making=functools.partial(_Assuming, made))
    except (GraphadError, UndecidedSize):
        return None  # sizes that do not fit the others are not the actual ones
    return (found, frozenset(made)) if made else None


def relies(op: Op, made: frozenset[Op]) -> bool:
    """Whether an op, or one in the graphs that it holds, is one of these."""
    return op in made or any(relies(node.op, made) for graph in sub_graphs(op) for node in graph.nodes)


class _Assuming(Specialiser):
    """A replay that gives slices the size that is their bounds' difference; `made` collects the ops that rely on it."""

    def __init__(self, made: set[Op], *given: Any) -> None:
        super().__init__(*given)
        self._made = made
        self._makers: dict[int, Node] = {}
        self._numbers: dict[Any, int] = {}
        self._read = 0

    def process(self, op: Op, inputs: Sequence[Any]) -> tuple[Any, ...]:
        if op.refers:

            def difference(i: int, j: int) -> Any:
                return self._difference(self._number(inputs[i]), self._number(inputs[j]), _DEEP)

            likely = op.with_likely_sizes(difference)
            if likely is not op:
                op = likely
                self._made.add(op)
        return super().process(op, inputs)

    def _number(self, x: Any) -> Any:
        """An operand as a value of the new graph, or the size that it is."""
        known = self.known(x)
        return x.index if known is None else _Size(known[0])

    def _difference(self, x: Any, y: Any, deep: int) -> Any:
        """x - y where that is a number or a size, else None; of a minimum that of the operand which differs by one."""
        maker = self._maker(x)
        if maker is not None and deep and maker.op.op_class is Minimum:
            found = [self._difference(i, y, deep - 1) for i in maker.inputs]
            return next((size for size in found if size is not None), None)
        (a, m), (b, n) = self._affine(x, deep), self._affine(y, deep)
        return m - n if a == b else None

    def _affine(self, x: Any, deep: int) -> tuple[dict[int, int], Any]:
        """An integer as a sum of values, each with a factor, and of a number or size."""
        maker = self._maker(x)
        if type(x) is _Size:
            return {}, x.size
        data = self.builder.values.get(x)
        if data is not None and data.dtype.kind in "iu" and not data.ndim:
            return {}, int(data)
        alone: tuple[dict[int, int], Any] = ({self._number_of(x, deep): 1}, 0)
        kind = maker.op.op_class if maker is not None and deep else None
        if maker is None or kind not in (Add, Sub, Mul, Cast, SizeVector):
            return alone
        if kind is SizeVector:
            dims = maker.op.dims  # type: ignore[attr-defined]
            return ({}, dims[0]) if len(dims) == 1 else alone
        found = [self._affine(i, deep - 1) for i in maker.inputs]
        if kind is Cast:
            return found[0] if self.builder.specs[maker.inputs[0]].dtype.is_integer else alone
        (a, m), (b, n) = found
        if kind is Mul:
            if a:
                (a, m), (b, n) = (b, n), (a, m)
            if a or type(m) is not int:
                return alone
            return {k: m * factor for k, factor in b.items() if m}, m * n
        sign = 1 if kind is Add else -1
        terms = {k: a.get(k, 0) + sign * b.get(k, 0) for k in {**a, **b}}
        return {k: factor for k, factor in terms.items() if factor}, m + sign * n

    def _number_of(self, x: Any, deep: int) -> int:
        """The number of a value, the same for values that are computed alike."""
        maker = self._maker(x)
        if maker is None or not deep or maker.op.effects or maker.op.structured:
            return x  # type: ignore[no-any-return]
        key = maker.op, x - maker.start, *[self._number_of(i, deep - 1) for i in maker.inputs]
        return self._numbers.setdefault(key, x)

    def _maker(self, x: Any) -> Node | None:
        nodes = self.builder.nodes
        for node in nodes[self._read :]:
            self._makers.update(dict.fromkeys(node.outputs, node))
        self._read = len(nodes)
        return self._makers.get(x)


class _Size:
    """A number or size symbol among values."""

    def __init__(self, size: Any) -> None:
        self.size = size
