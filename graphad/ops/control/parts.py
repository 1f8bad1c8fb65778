"""Python functions as sub-graphs of cond and loop: traced, given common operands, and without invariant nodes.

Outer values become operands of the op, variables by reference. Invariant nodes of a loop body are computed once before the loop
if that changes no derivative (the compiler moves the rest, in `passes/hoist.py`); variables are read there too, unless the loop
assigns one, or calls a Python function that may.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import Array
from graphad.core.composites import (
    flatten_composites,
    flatten_records,
    is_complete,
    is_composite,
    is_record,
    record_of,
)
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError
from graphad.core.levels import current
from graphad.core.nest import Rebuild as Rebuild
from graphad.core.nest import is_nested
from graphad.core.shapes import format_dims
from graphad.core.sparse import Sparse
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.core.tensor import Handle, Tensor
from graphad.graph.builder import GraphBuilder
from graphad.graph.compose import append, append_all, invariant_nodes, rewired, without_nodes
from graphad.graph.ir import Graph
from graphad.graph.replay import replay
from graphad.graph.walk import may_write, with_outputs
from graphad.ops.array.passing import stop_gradient

if TYPE_CHECKING:
    from graphad.eager.variable import Variable
    from graphad.ops.random.state import State


class Nest:
    """The structure of a value whose leaves are tensors or None.

    Composites such as a TensorArray are split; one whose parts are still unknown is a leaf that counts as None.

    Args:
      value: The value.
      apart: False keeps composites whole, as leaves that count as tensors.
    """

    __slots__ = ("apart", "leaves", "rebuild", "shape")

    def __init__(self, value: Any, apart: bool = True) -> None:
        self.apart = apart
        self.leaves, self.rebuild = (flatten_composites if apart else flatten_records)(value)
        self.shape = self.rebuild(
            [None if self.is_fixed(leaf) else _Place(k) for k, leaf in enumerate(self.leaves)]
        )

    def is_fixed(self, leaf: Tensor) -> bool:
        """Whether a leaf is not one of the tensors."""
        return leaf is None or (self.apart and is_composite(leaf))

    def given(self) -> list[Any]:
        """The leaves that are tensors, or become tensors."""
        return [leaf for leaf in self.leaves if not self.is_fixed(leaf)]

    def tensors(self, convert: Callable[[Any], Any] = lift) -> list[Any]:
        """The tensor leaves, as tensors."""
        return [leaf if is_composite(leaf) else convert(leaf) for leaf in self.given()]

    def build(self, tensors: Sequence[Any]) -> Any:
        """The nest rebuilt with other tensors."""
        given = iter(tensors)
        return self.rebuild([leaf if self.is_fixed(leaf) else next(given) for leaf in self.leaves])

    def __str__(self) -> str:
        """The nest with each tensor printed as dtype and shape: [float32(2, 3), {'a': int32()}]."""
        return str(self.rebuild([_Shown(leaf) for leaf in self.leaves]))


def constants(value: Any) -> Any:
    """The nest as constants for derivatives. An array of elements keeps them, which may have several shapes."""
    nest = Nest(value, apart=False)
    return nest.build([_constant(leaf) for leaf in nest.given()])


def _constant(leaf: Any) -> Any:
    if not is_composite(leaf):
        return stop_gradient(leaf)
    if hasattr(leaf, "__graphad_mapped__"):
        return leaf.__graphad_mapped__(stop_gradient)
    parts, again = leaf.__graphad_parts__()
    return again([stop_gradient(x) for x in parts])


class _Place(int):
    """The number of a leaf in the form of a nest; a class of its own, so that numbers in records differ from it."""

    is_mark = True


class _Shown:
    """A leaf as it appears in messages."""

    is_mark = True

    def __init__(self, leaf: object) -> None:
        self._leaf = leaf

    def __repr__(self) -> str:
        x = self._leaf
        if x is None:
            return "None"
        if not isinstance(x, Tensor):
            try:
                x = lift(x)
            except (TypeError, ValueError):
                return type(x).__name__
        return f"{x.dtype.name}{format_dims(x.dims)}"


def _lacking(value: object, like: object) -> list[tuple[Any, Any]]:
    """Each leaf of `value` with its counterpart in `like`, or with None unless only the counterpart has known parts; [] if there
    is nothing to compare."""
    leaves = flatten_records(value)[0]
    if not any(is_composite(leaf) for leaf in leaves):
        return []
    others = flatten_records(like)[0]
    if len(others) != len(leaves):
        return []
    return [(x, y if _lacks(x, y) else None) for x, y in zip(leaves, others, strict=True)]


def _lacks(x: Any, y: Any) -> bool:
    if not is_composite(x) or not is_composite(y) or not is_complete(y):
        return False
    claims = getattr(x, "__graphad_claims__", None)  # an operation on sizes, which another value may not have
    return not is_complete(x) or (claims is not None and type(x) is type(y) and claims(y))


def lacks(value: object, like: object) -> bool:
    """Whether `completed` would change the value."""
    return any(other is not None for _, other in _lacking(value, like))


def completed(value: Any, like: object) -> Any:
    """`value` with incomplete leaves completed like their counterparts in `like`; `value` itself if there is nothing to do."""
    if not lacks(value, like):
        return value
    pairs = _lacking(value, like)
    return flatten_records(value)[1](
        [x if other is None else x.__graphad_like__(other) for x, other in pairs]
    )


def loop_dims(value: Any) -> list[Any]:
    """The shape that each leaf of a split value has in all steps of a loop; ... if it declares none."""
    return _said_by_parts(value, "__graphad_loop_dims__", ...)


def loop_writes(value: Any) -> list[Any]:
    """The single element that a step of a loop wrote into each leaf of a split value; None if the step changed more."""
    return _said_by_parts(value, "__graphad_loop_writes__", None)


def _said_by_parts(value: Any, method: str, otherwise: Any) -> list[Any]:
    """The property that composites in `value` declare for each of their parts; `otherwise` for other leaves."""
    out: list[Any] = []
    for leaf in flatten_records(value)[0]:
        if is_composite(leaf) and is_complete(leaf):
            out += getattr(leaf, method)()
        else:
            out.append(otherwise)
    return out


def same_structure(a: Any, b: Any) -> bool:
    """Whether two nests of leaves have one structure."""
    kind = type(a)
    if isinstance(a, dict):
        return (
            isinstance(b, dict) and a.keys() == b.keys() and all(same_structure(a[key], b[key]) for key in a)
        )
    if isinstance(a, list | tuple):
        return kind is type(b) and len(a) == len(b) and all(map(same_structure, a, b))
    if isinstance(a, Sparse) or isinstance(b, Sparse):
        return kind is type(b)
    if is_record(a):
        mine, theirs = record_of(a), record_of(b) if is_record(b) else None
        if theirs is None or mine.form != theirs.form:
            return False
        return all(map(_same_field, mine.values, theirs.values))
    return not is_nested(b) and not is_record(b) and (a is None) == (b is None)


def _same_field(a: Any, b: Any) -> bool:
    """Whether fields have one structure. Values that are not tensors must be equal, also inside of lists, tuples and dicts."""
    if isinstance(a, dict):
        return type(a) is type(b) and a.keys() == b.keys() and all(_same_field(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same_field, a, b))
    if is_nested(a) or is_record(a) or isinstance(a, _Place) or a is None:
        return same_structure(a, b) and type(a) is type(b)
    return a is b or (type(a) is type(b) and bool(a == b))


class Part:
    """A traced function: a graph of its own inputs and then of outer values."""

    def __init__(
        self, op: str, function: Callable[..., Sequence[Any]], specs: Sequence[TensorSpec], name: str
    ) -> None:
        level = current()
        traced_by = getattr(level, "traced", None)
        if traced_by is None:
            raise ArgumentTypeError(
                f"{op}: a symbolic tensor was used where nothing is traced; it belongs to a function."
            )
        traced = traced_by(function, specs, name)
        self.graph: Graph = traced.graph
        self.outer: list[Any] = list(traced.captures)
        self.n_own = len(specs)
        self._trace = traced.trace
        if not self.has_rules:
            self.graph = with_outputs(self.graph, self.graph.outputs)

    @property
    def has_rules(self) -> bool:
        """Whether Python rules of custom gradients refer to values of the graph."""
        return _has_rules(self.graph)

    def _renumber(self, graph: Graph, number: dict[int, int]) -> None:
        self.graph = graph
        if self._trace.number is not None:
            self._trace.number = {
                serial: number[value] for serial, value in self._trace.number.items() if value in number
            }

    def choose(self, outputs: Sequence[TensorSpec | int]) -> None:
        """Replace the outputs: numbers select from the outputs so far, a TensorSpec becomes zeros."""
        builder = GraphBuilder()
        known = append_all(builder, self.graph, [builder.add_input(spec) for spec in self.graph.inputs])
        kept = [
            known[self.graph.outputs[i]] if isinstance(i, int) else builder.add_constant(placeholder(i))
            for i in outputs
        ]
        graph, number = builder.finish(kept, self.graph.name, keep_all=self.has_rules)
        self._renumber(graph, {i: number[serial] for i, serial in enumerate(known) if serial in number})

    def drop_inputs(self, gone: Sequence[int]) -> None:
        """Drop unused inputs of its own."""
        place = {i: k for k, i in enumerate([i for i in range(len(self.graph.inputs)) if i not in gone])}
        positions = [place.get(i, -1) for i in range(len(self.graph.inputs))]
        graph, number = rewired(self.graph, [self.graph.inputs[i] for i in place], positions)
        self.n_own -= len(gone)
        self._renumber(graph, number)

    def inline_calls(self) -> None:
        """Inline calls, so that invariant nodes in them are found too."""
        while not self.has_rules:
            if not any(_is_plain_call(node.op) for node in self.graph.nodes):
                return
            builder = GraphBuilder()
            known = [builder.add_input(spec) for spec in self.graph.inputs]
            known += [builder.add_constant(array) for array in self.graph.constants]
            for node in self.graph.nodes:
                inputs = [known[i] for i in node.inputs]
                if _is_plain_call(node.op):
                    known += append(builder, node.op.graph, inputs)  # type: ignore[attr-defined]
                else:
                    start = builder.add_node(node.op, inputs, node.specs, node.line)
                    known += range(start, start + len(node.specs))
            self._renumber(
                builder.finish([known[i] for i in self.graph.outputs], self.graph.name, keep_all=True)[0], {}
            )

    def hoist(self, reads_too: bool) -> None:
        """Compute the nodes that depend only on outer values now, so that their results become outer values."""
        gone = invariant_nodes(self.graph, self.n_own, reads_too)
        if not gone:
            return
        first, rest, number = without_nodes(self.graph, gone, self.has_rules)
        placeholders = [None] * self.n_own
        self.outer += replay(first, [*placeholders, *self.outer])
        self._renumber(rest, number)

    def with_inputs(self, specs: Sequence[TensorSpec], own: Sequence[int], place: dict[int, int]) -> Graph:
        """The graph on common operands.

        Args:
          specs: The operands.
          own: Where the part's own inputs are among them.
          place: Where each outer value is, by id.
        """
        graph, number = rewired(self.graph, specs, [*own, *[place[id(x)] for x in self.outer]])
        self._renumber(graph, number)
        return graph


def _is_plain_call(op: Any) -> bool:
    return op.inlines and not _has_rules(op.graph)


def _has_rules(graph: Graph) -> bool:
    return any(node.op.closes_over for node in graph.nodes)


def common(parts: Sequence[Part]) -> list[Tensor]:
    """The outer values of several parts, each once."""
    return list({id(x): x for part in parts for x in part.outer}.values())


def spec_of(x: State | Tensor | Variable) -> TensorSpec:
    """The spec under which an outer value becomes an operand."""
    spec = x.spec
    return HandleSpec.of(spec.dims, spec.dtype) if isinstance(x, Handle) and not spec.is_handle else spec


def prepare_for_loop(parts: Sequence[Part]) -> None:
    """Move invariant nodes out of the parts of a loop."""
    for part in parts:
        part.inline_calls()
    reads_too = not any(may_write(part.graph) for part in parts)
    for part in parts:
        part.hoist(reads_too)


def placeholder(spec: TensorSpec) -> Array:
    """Zeros of a shape that the spec allows, in place of a missing value."""
    dims = tuple([0 if size is None else size for size in spec.dims or ()])
    return np.zeros(dims, spec.dtype.numpy) if dims else spec.dtype.numpy.type(0)
