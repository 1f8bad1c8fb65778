"""Graphs and ops of a size class with their symbols replaced by numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphad.core.dims import Dim, evaluate, is_run_time
from graphad.core.memo import Memo
from graphad.core.op import Op
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph, Node

_concrete = Memo("ops with numbers", 8192)  # (op, numbers) -> op
_symbolic_ops = Memo("symbols of ops", 8192)  # op -> the symbols in its attributes
_SIZES_PER_GRAPH = 32


def symbols_of(op: Op) -> frozenset[str]:
    """The size symbols in the attributes of an op."""
    found: frozenset[str] = frozenset()
    for field in op.attributes:
        found |= _symbols(getattr(op, field))
    return found


def run_time_sizes(node: Node) -> frozenset[str]:
    """The symbols of sizes that only the run finds in what a node computes."""
    names = symbols_of(node.op).union(*[_symbols(spec.dims) for spec in node.specs])
    return frozenset(filter(is_run_time, names))


def _symbols(x: object) -> frozenset[str]:
    if isinstance(x, Dim):
        return x.symbols
    if isinstance(x, Graph):
        found: frozenset[str] | None = x.derived.get(_symbols)
        if found is None:
            parts = [symbols_of(node.op) for node in x.nodes] + [_symbols(spec.dims) for spec in x.specs]
            found = x.derived[_symbols] = frozenset().union(*parts)
        return found
    if type(x) is tuple:
        out: frozenset[str] = frozenset()
        for item in x:
            out |= _symbols(item)
        return out
    return frozenset()


def with_sizes(op: Op, numbers: Mapping[str, int]) -> Op:
    """The op with every size in its attributes a number."""
    names = _symbolic_ops.get(op)
    if names is None:
        names = tuple(sorted(symbols_of(op)))
        if op.structured or op.transient:
            # It holds graphs or a user's objects, which this table must not keep alive.
            return op if not names else type(op)(*[_numbered(getattr(op, f), numbers) for f in op.attributes])
        _symbolic_ops.keep(op, names)
    if not names:
        return op
    key = (op, tuple([numbers[name] for name in names]))
    found: Op | None = _concrete.get(key)
    if found is None:
        made = type(op)(*[_numbered(getattr(op, field), numbers) for field in op.attributes])
        _concrete.keep(key, made)
        return made
    return found


def _numbered(x: object, numbers: Mapping[str, int]) -> Any:
    if isinstance(x, Dim):
        return evaluate(x, numbers)
    if isinstance(x, Graph):
        names = _symbols(x)
        return x if not names else _numbered_graph(x, {name: numbers[name] for name in names})
    return tuple([_numbered(item, numbers) for item in x]) if type(x) is tuple else x


def _numbered_graph(graph: Graph, numbers: Mapping[str, int]) -> Graph:
    known = graph.derived.get(_numbered_graph)
    if known is None:
        known = graph.derived.setdefault(_numbered_graph, Memo("graph with numbers", _SIZES_PER_GRAPH))
    key = tuple(sorted(numbers.items()))
    found: Graph | None = known.get(key)
    if found is None:
        nodes = [
            Node(
                with_sizes(node.op, numbers),
                node.inputs,
                node.start,
                tuple([with_numbers(spec, numbers) for spec in node.specs]),
                node.line,
            )
            for node in graph.nodes
        ]
        inputs = [with_numbers(spec, numbers) for spec in graph.inputs]
        found = known.keep(key, Graph(inputs, graph.constants, nodes, graph.outputs, graph.name))
    return found


def with_numbers(spec: TensorSpec, numbers: Mapping[str, int]) -> TensorSpec:
    """The spec with every size a number."""
    return spec.with_dims(_numbered(spec.dims, numbers)) if _symbols(spec.dims) else spec
