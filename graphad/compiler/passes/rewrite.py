"""The machinery of local rewrites: one forward sweep that applies rules to a fixpoint and numbers values as it goes.

before:  %2 = neg(%0);  %3 = neg(%2);  %4 = mul(%3, %1);  %5 = mul(%0, %1);  return %4, %5
after:   %2 = mul(%0, %1);  return %2, %2

A rule sees a node whose inputs are already rewritten and returns the values that replace its outputs, or None. Nodes that a rule
adds are offered to the rules again. Nodes with effects are never merged, and no node moves.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, overload

import numpy as np

from graphad.core import bind as door
from graphad.core.errors import InternalError
from graphad.core.op import Op, TupleOp, output_specs
from graphad.core.spec import TensorSpec
from graphad.graph.builder import GraphBuilder
from graphad.graph.ir import Graph, Node

if TYPE_CHECKING:
    from graphad.core.annotations import Array

P = TypeVar("P", bound=Op)
F = TypeVar("F", bound="Found")
# The result of a rule: the value, or the values, that replace the node's outputs; None keeps the node.
Found = int | Sequence[int] | None
Rule = Callable[["Sweep", Any], Found]  # of nodes with the ops that it is registered for
# What a rule matches: a class of ops, or a predicate on classes of ops.
Match = type[Op] | Callable[[type[Op]], bool]
DEPTH_LIMIT = 64
SHARED_CONSTANT = 64  # elements up to which equal constants are found and merged


class RuleTable:
    """The rules of one pass, or of several, in the order in which they are tried.

    A rule matches ops by their class, or by a trait where the class is one that a program may do without: its module is then
    not imported for the rule's sake. Rules that need such classes stand in a module of their own: `later` has the module of
    the ops and that of their rules, whose `TABLE` is asked after this one.
    """

    def __init__(
        self, rules: Iterable[tuple[Match, Rule]] = (), later: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.rules = list(rules)
        self.later = dict(later)
        self._by_class: dict[type[Op], tuple[Rule, ...]] = {}

    @overload
    def rewrite(
        self, *matches: type[P]
    ) -> Callable[[Callable[[Sweep, Node[P]], F]], Callable[[Sweep, Node[P]], F]]: ...
    @overload
    def rewrite(
        self, *matches: Callable[[type[Op]], TypeGuard[type[P]]]
    ) -> Callable[[Callable[[Sweep, Node[P]], F]], Callable[[Sweep, Node[P]], F]]: ...
    @overload
    def rewrite(
        self, *matches: Match
    ) -> Callable[[Callable[[Sweep, Node], F]], Callable[[Sweep, Node], F]]: ...
    def rewrite(self, *matches: Match) -> Callable[[Rule], Rule]:
        """Decorator: apply the rule to nodes of these ops, after the rules registered earlier."""

        def add(rule: Rule) -> Rule:
            self.rules += [(match, rule) for match in matches]
            self._by_class.clear()
            return rule

        return add

    def of(self, kind: type[Op]) -> tuple[Rule, ...]:
        """The rules for the ops of a class."""
        found = self._by_class.get(kind)
        if found is None:
            found = tuple([rule for match, rule in self.rules if _matches(match, kind)])
            if kind.__module__ in self.later:
                more: RuleTable = importlib.import_module(self.later[kind.__module__]).TABLE
                found += more.of(kind)
            self._by_class[kind] = found
        return found


def _matches(match: Match, kind: type[Op]) -> bool:
    return kind is match if isinstance(match, type) else match(kind)


def combined(tables: Iterable[RuleTable]) -> RuleTable:
    """The rules of several passes combined for one sweep."""
    tables = list(tables)
    later = {ops: rules for table in tables for ops, rules in table.later.items()}
    return RuleTable([entry for table in tables for entry in table.rules], later)


def sweep(graph: Graph, rules: RuleTable, on_constants: Sequence[Rule] = ()) -> Graph:
    """The graph after one sweep; `on_constants` are tried first on every node whose first input is a constant."""
    return Sweep(graph, rules, on_constants).run()


class Sweep:
    """One sweep in progress; values are serial numbers of the new graph, those of the old one until something changes."""

    def __init__(self, graph: Graph, rules: RuleTable, on_constants: Sequence[Rule] = ()) -> None:
        self.graph = graph
        self.specs: list[TensorSpec] = list(graph.specs[: graph.first_node_value])
        self.line: str | None = None
        self._rules_of = rules.of
        self._constant_rules = tuple(on_constants)
        self._nodes: list[Node] = []
        self._makers: dict[int, Node] = {}
        self._numbers: dict[Any, int] = {}
        self._constants: dict[int, Any] = dict(enumerate(graph.constants, len(graph.inputs)))
        self._shared: dict[Any, int] = {}
        self._changed = False
        self._depth = 0

    # the interface for rules

    def producer(self, value: int) -> Node | None:
        """The node that makes a value, None for inputs and constants."""
        return self._makers.get(value)

    def made_by(self, value: int, *kinds: type[P]) -> Node[P] | None:
        """The node that makes a value if its op is of one of these classes."""
        node = self._makers.get(value)
        return node if node is not None and node.op.op_class in kinds else None  # type: ignore[return-value]

    def array(self, value: int) -> Any | None:
        """The data of a constant, else None."""
        return self._constants.get(value)

    def number(self, value: int) -> Any | None:
        """The number that all elements of a value equal, None if that is unknown."""
        data = self._constants.get(value)
        if data is not None:
            return data[()] if not np.ndim(data) else data.flat[0] if data.size == 1 else None
        node = self._makers.get(value)
        if node is not None and node.op.spreads and node.inputs:
            return self.number(node.inputs[0])
        return None

    def spec(self, value: int) -> TensorSpec:
        return self.specs[value]

    @overload
    def bind(self, op: TupleOp, *inputs: int) -> Sequence[int]: ...  # type: ignore[overload-overlap]
    @overload
    def bind(self, op: Op, *inputs: int) -> int: ...
    def bind(self, op: Op, *inputs: int) -> int | Sequence[int]:
        """The value of an op on values of the new graph; a tuple where it has several outputs."""
        outputs = self._place(op, inputs, output_specs(op, [self.specs[i] for i in inputs]), self.line)
        return outputs if op.multiple else outputs[0]

    def add(
        self, op: Op, inputs: Sequence[int], specs: Sequence[TensorSpec], line: str | None = None
    ) -> Sequence[int]:
        """The outputs of an op with known specs, for the given user's line."""
        own, self.line = self.line, line or self.line
        try:
            return self._place(op, tuple(inputs), specs, self.line)
        finally:
            self.line = own

    def constant(self, data: Array | int, like: TensorSpec | None = None) -> int:
        """A constant, in the dtype of `like` if given; equal small ones are one value."""
        array = np.asarray(data) if like is None else np.asarray(data, like.dtype.numpy)
        array = array if array.ndim else array[()]
        key = (array.dtype.str, array.shape, array.tobytes()) if array.size <= SHARED_CONSTANT else None
        known = None if key is None else self._known_constants().get(key)
        if known is not None:
            return known
        value = len(self.specs)
        self.specs.append(TensorSpec(array.shape, array.dtype))
        self._constants[value] = array
        self._changed = True
        if key is not None:
            self._shared[key] = value
        return value

    def _known_constants(self) -> dict[Any, int]:
        if not self._shared:
            for value, array in self._constants.items():
                if array.size <= SHARED_CONSTANT:
                    self._shared.setdefault((array.dtype.str, array.shape, array.tobytes()), value)
        return self._shared

    # the sweep

    def run(self) -> Graph:
        """The graph after the sweep, the same object if nothing was found."""
        graph = self.graph
        new = list(range(graph.first_node_value))
        for node in graph.nodes:
            self.line = node.line
            new.extend(self._place(node.op, tuple([new[i] for i in node.inputs]), node.specs, node.line))
        if not self._changed:
            return graph
        return self._finish([new[i] for i in graph.outputs])

    def _place(
        self, op: Op, inputs: tuple[int, ...], specs: Sequence[TensorSpec], line: str | None
    ) -> Sequence[int]:
        rules = self._rules_of(op.op_class)
        if self._constant_rules and inputs and inputs[0] in self._constants:
            rules = (*self._constant_rules, *rules)
        if rules:
            found = self._rewritten(Node(op, inputs, -1, tuple(specs), line), rules)
            if found is not None:
                return found
        if not op.effects:
            key = (op, inputs)
            known = self._numbers.get(key)
            if known is not None:
                self._changed = True
                return range(known, known + len(specs))
            self._numbers[key] = len(self.specs)
        start = len(self.specs)
        node = Node(op, inputs, start, tuple(specs), line)
        self.specs.extend(specs)
        self._nodes.append(node)
        for k in range(len(specs)):
            self._makers[start + k] = node
        return range(start, start + len(specs))

    def _rewritten(self, node: Node, rules: Sequence[Rule]) -> Sequence[int] | None:
        if self._depth > DEPTH_LIMIT:
            return None
        self._depth += 1
        try:
            for rule in rules:
                found = rule(self, node)
                if found is not None:
                    self._changed = True
                    outputs = (found,) if isinstance(found, int) else tuple(found)
                    if door.VERIFY:
                        self._check(rule, node, outputs)
                    return outputs
        finally:
            self._depth -= 1
        return None

    def _check(self, rule: Rule, node: Node, outputs: Sequence[int]) -> None:
        for mine, theirs in zip(node.specs, outputs, strict=True):
            spec = self.specs[theirs]
            if spec.dtype is not mine.dtype or spec.dims != mine.dims:
                from graphad.graph.text import print_spec

                raise InternalError(
                    f"rewrite {rule.__name__}: {node.op!r} gives {print_spec(mine)}, it was replaced by {print_spec(spec)}."
                )

    def _finish(self, outputs: Sequence[int]) -> Graph:
        builder = GraphBuilder()
        builder.specs = self.specs
        builder.inputs = list(range(len(self.graph.inputs)))
        builder.constants = list(self._constants.items())
        builder.nodes = self._nodes
        return builder.finish(outputs, self.graph.name)[0]
