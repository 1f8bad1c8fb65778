"""Whether each row of a target depends only on the same row of the source, for `batch_jacobian`.

The `rows` rules decide it for a graph with known or symbolic sizes. What they cannot prove is tested with numbers where there
are some: cotangents that differ in some rows must not change the result in other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.convert import lift
from graphad.core.dims import Dim, UndecidedSize
from graphad.core.errors import InvalidArgumentError, RuleError
from graphad.core.levels import current
from graphad.core.op import MIXED, output_specs
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Mark
from graphad.gradient.backward import backward, dense
from graphad.gradient.closing import UnclosedRuleError, closed_or_refused
from graphad.gradient.recorder import mark_of
from graphad.gradient.transforms import TRANSFORMS
from graphad.graph.builder import GraphBuilder
from graphad.graph.ir import Graph, Node
from graphad.ops.control.custom import ClosedCustom, ClosedRule
from graphad.ops.control.rows import node_rows, rows_within
from graphad.trace.known import KNOWN_LIMIT
from graphad.trace.size_class import literal_sizes
from graphad.trace.specialise import specialise
from graphad.trace.tracer import SymbolicTensor, Trace

if TYPE_CHECKING:
    from graphad.core.annotations import Array, DTypeLike, Value
    from graphad.core.tensor import Tensor
    from graphad.gradient.backward import Bars, Entry


class Mixing:
    """The op that mixes rows: its public name, the user's line, and whether the finding is certain."""

    __slots__ = ("is_certain", "line", "name")

    def __init__(self, name: str, line: str | None, is_certain: bool) -> None:
        self.name = name
        self.line = line
        self.is_certain = is_certain


def mixing_op(entries: list[Entry], source: Value, target: Tensor) -> Mixing | None:
    """The first op on the way from source to target that mixes rows; None if nothing shows that rows mix."""
    if type(target) is EagerTensor and current() is None:
        found = _found_eagerly(entries, source, target)
        return found if found is not None and _rows_really_mix(entries, target, mark_of(source)) else None
    trace = current()
    if _is_of(target, trace) and _is_of(source, trace):
        found = _found_in_trace(trace, source, target)
    else:
        found = _found(*_graph_of(entries, source, target))
    return found if found is not None and found.is_certain else None


def _is_of(x: Value, trace: object) -> bool:
    return isinstance(trace, Trace) and (
        x.trace is trace if type(x) is SymbolicTensor else trace.serial_if_known(x) is not None
    )


def _found_eagerly(entries: list[Entry], source: Value, target: Tensor) -> Mixing | None:
    graph, start = _graph_of(entries, source, target)
    if not any(node.op.structured for node in graph.nodes):
        return _found(graph, start)
    return _found_in_known(graph, graph.inputs)


def _graph_of(entries: list[Entry], source: Value, target: Tensor) -> tuple[Graph, int]:
    """The entries as a graph that returns source and target, and the value number of the source."""
    builder = GraphBuilder()
    start = builder.add_input(source.spec)
    number = {mark_of(source): start}
    for op, inputs, outputs, marks, out_marks in entries:
        serials = []
        for x, mark in zip(inputs, marks, strict=True):
            serial = number.get(mark) if mark is not None else None
            if serial is None:
                data = x.data if type(x) is EagerTensor else None
                is_size = data is not None and data.dtype.kind in "iu" and data.size <= KNOWN_LIMIT
                serial = builder.add_constant(data) if is_size else builder.add_input(x.spec)
                if mark is not None:
                    number[mark] = serial
            serials.append(serial)
        line = next((line for y in (*outputs, *inputs) if (line := getattr(y, "line", None))), None)
        out_specs = [y.spec for y in outputs]
        if not out_specs:  # the tape keeps no outputs that no rule reads
            out_specs = list(output_specs(op, [builder.specs[i] for i in serials]))
        first = builder.add_node(op, serials, out_specs, line)
        for k, mark in enumerate(out_marks):
            if mark is not None and mark != mark_of(source):
                number[mark] = first + k
    end = number.get(mark_of(target), start)
    graph, numbers = builder.finish([start, end])
    return graph, numbers[start]


def _found_in_trace(trace: Trace, source: Value, target: Tensor) -> Mixing | None:
    """In a trace all nodes before the target are available, shape arithmetic too; unknown sizes become symbols."""
    ends = [x.index if type(x) is SymbolicTensor else trace.serial_if_known(x) for x in (source, target)]
    before = trace.number
    graph, trace.number = trace.builder.finish([end for end in ends if end is not None], keep_all=True)
    try:
        graph = closed_or_refused(graph)
    except UnclosedRuleError:  # its gradient function raises again if it is on the way from source to target
        return None
    finally:
        trace.number = before
    for shared in (True, False):
        try:
            return _found_in_known(graph, _named(graph.inputs, shared))
        except _UnansweredError:
            continue
    # Sizes that are tried must occur in the graph. Rows that are independent for one choice are not reported as mixing.
    mixing = None
    for size in sorted(literal_sizes(graph))[:_MOST_SIZES]:
        for first, other in ((None, size), (size, None)):
            try:
                found = _found_in_known(graph, _named(graph.inputs, True, first, other))
            except _UnansweredError:
                continue
            if found is None:
                return None
            mixing = mixing or found
    return mixing


class _UnansweredError(Exception):
    """No call of the graph has the sizes that were tried, or the result depends on their numbers."""


_MOST_SIZES = 8


def _named(
    specs: Sequence[TensorSpec], shared: bool, first: int | None = None, other: int | None = None
) -> list[TensorSpec]:
    """The specs with symbols for unknown sizes, or numbers if given; first sizes are one symbol if `shared`."""
    named = []
    for i, spec in enumerate(specs):
        if spec.dims is not None and None in spec.dims:
            dims: list[Any] = []
            for k, size in enumerate(spec.dims):
                if size is None:
                    size = other if k else first
                if size is None:
                    size = Dim.symbol("rows" if shared and k == 0 else f"size_{i}_{k}")
                dims.append(size)
            spec = spec.with_dims(tuple(dims))
        named.append(spec)
    return named


def _found_in_known(graph: Graph, specs: Sequence[TensorSpec]) -> Mixing | None:
    """The result of `_found` for inputs of these specs. Raises: _UnansweredError."""
    try:
        done = specialise(graph, specs, expanding=False, keeps_rules=True)
        return _found(done, done.outputs[0])
    except RuleError:
        raise
    except (InvalidArgumentError, UndecidedSize) as cause:
        raise _UnansweredError from cause


def _found(graph: Graph, source: int) -> Mixing | None:
    axes: list[Any] = [None] * (len(graph.inputs) + len(graph.constants))
    blame: dict[int, Mixing] = {}
    target = graph.outputs[1]
    if source < len(axes):
        axes[source] = 0
    for node in graph.nodes:
        mine = [axes[i] for i in node.inputs]
        first = len(axes)
        specs = [graph.specs[i] for i in node.inputs]
        axes.extend(node_rows(graph, _with_rule_at_hand(node, specs), mine))
        is_certain = not hasattr(node.op.rows, "reason") and all(
            is_definite(spec.dims) for spec, axis in zip(specs, mine, strict=True) if axis is not None
        )
        if MIXED in axes[first:]:
            known = next((blame[i] for i in node.inputs if i in blame), None)
            if known is None:
                op, line = rows_within(node.op, specs, mine, node.line)
                known = Mixing(op.known_as or op.name, line or node.line, is_certain)
            blame.update((i, known) for i in range(first, len(axes)) if axes[i] == MIXED)
        if first <= source < len(axes):
            axes[source] = 0
            blame.pop(source, None)
    end = axes[target]
    if end is None or end == 0:
        return None
    if end == MIXED:
        return blame[target]
    last = next((node for node in graph.nodes if target in node.outputs), None)
    return None if last is None else Mixing(last.op.known_as or last.op.name, last.line, True)


def _with_rule_at_hand(node: Node, specs: Sequence[TensorSpec]) -> Node:
    """The node of a custom gradient with its rule traced for these sizes and its calls inlined. Only its values are examined."""
    op: Any = node.op
    if not isinstance(op, ClosedCustom):
        return node
    places = op.inputs
    graph = specialise(op.rule.graph, [*places.ys(specs), *places.closed(specs)], expanding=False)
    if graph is op.rule.graph:
        return node
    rule = ClosedRule(op.rule.name, graph, op.rule.positions)
    return Node(ClosedCustom(rule, op.n_inputs, op.n_outputs), node.inputs, node.start, node.specs, node.line)


# -- trying it with numbers ----------------------------------------------------------------------------------------------


def _rows_really_mix(entries: list[Entry], target: EagerTensor, source: Mark) -> bool:
    """Pull back a random cotangent, and the same with random row weights: they differ by the weights if rows are independent.

    A custom gradient need not be linear. So where they differ otherwise, rows are exchanged between two random cotangents.
    """
    generator = np.random.default_rng(20)
    dtype = target.data.dtype
    data = generator.standard_normal(target.dims).astype(dtype)
    weights = generator.uniform(0.5, 2.0, target.dims[0]).astype(dtype)
    plain = _pulled(entries, target, source, data)
    weighted = _pulled(entries, target, source, data * _column(weights, data))
    if plain is None or weighted is None:
        return False
    return _differ(weighted, plain * _column(weights, plain), dtype) and _rows_reach_others(
        entries, target, source, data, plain, generator
    )


def _rows_reach_others(
    entries: list[Entry],
    target: Tensor,
    source: Mark,
    data: Array,
    plain: Array,
    generator: np.random.Generator,
) -> bool:
    """Any two row numbers differ in some bit, so each pair of rows is separated by one of the exchanges."""
    other = generator.standard_normal(target.dims).astype(data.dtype)
    others = _pulled(entries, target, source, other)
    rows = np.arange(len(data))
    for bit in range(max(1, len(data) - 1).bit_length()):
        chosen = (rows >> bit & 1).astype(bool)
        mixed = _pulled(entries, target, source, np.where(_column(chosen, data), data, other))
        if mixed is None or others is None:
            return True
        if _differ(mixed, np.where(_column(chosen, plain), plain, others), data.dtype):
            return True
    return False


def _column(values: Array, x: Array) -> Array:
    return values.reshape(-1, *[1] * (x.ndim - 1))


def _differ(found: Array, expected: Array, dtype: DTypeLike) -> bool:
    scale = float(np.max(np.abs(expected), initial=0.0)) + 1e-30
    tolerance = 1e-8 if dtype == np.float64 else 1e-3
    return bool(np.max(np.abs(found - expected), initial=0.0) > tolerance * scale)


def _pulled(entries: list[Entry], target: Tensor, source: Mark, bar: np.ndarray) -> Array | None:
    bars: Bars = {mark_of(target): lift(bar)}
    backward(entries, bars, {source}, TRANSFORMS)
    found = dense(bars.get(source))
    return None if found is None else found.data
