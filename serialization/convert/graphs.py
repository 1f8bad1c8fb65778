"""Graphs with their sub-graphs and custom gradients as records, and back.

Writing closes the Python rules of custom gradients first. Reading checks every node by its op's own `infer`, so that a graph
from a file is as sound as one that was traced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphad.core.dtypes import DType
from graphad.core.errors import GraphadError
from graphad.core.op import Op
from graphad.core.registry import find
from graphad.core.shapes import are_compatible
from graphad.core.spec import TensorSpec
from graphad.gradient.closing import closed
from graphad.gradient.rules_in_process import recall
from graphad.graph.ir import Graph, Node
from graphad.ops.control.custom import ClosedCustom, ClosedRule, CustomGradient, UnsavedCustom
from serialization.convert.values import Unsavable, array_of, array_record, spec_of, spec_record, value_of, value_record
from serialization.errors import CorruptModelError, LoadError, SaveError, UnsafeModelError, UnsupportedModelError, shown
from serialization.schema.graph import GraphRecord, NodeRecord, OpRecord, RuleRecord
from serialization.schema.values import GraphValue, RuleValue

# Calls that carry residuals for a tape hold live objects; a file holds the plain call of the same graphs.
PLAIN = {"call_forward": "call", "cond_forward": "cond", "loop_forward": "loop"}


class GraphWriter:
    """Collects the tables of graphs, ops, specs, rules and source lines.

    Args:
      with_rules: Save custom gradients as graphs.
      stored: Arrays too large for the manifest are put here by name.
    """

    def __init__(self, with_rules: bool, stored: dict[str, Any]) -> None:
        self.with_rules = with_rules
        self.stored = stored
        self.graphs: list[GraphRecord] = []
        self.ops: list[OpRecord] = []
        self.specs: list[Any] = []
        self.rules: list[Any] = []
        self.lines: list[str] = []
        self._graph_numbers: dict[int, int] = {}
        self._op_numbers: dict[Any, int] = {}
        self._spec_numbers: dict[Any, int] = {}
        self._line_numbers: dict[str, int] = {}
        self._rule_numbers: dict[str, int] = {}
        self._alive: list[Any] = []
        self._rule_uses: list[set[int]] = []

    def add_spec(self, spec: TensorSpec) -> int:
        """The number of a spec in the table."""
        record = spec_record(spec)
        number = self._spec_numbers.get(record)
        if number is None:
            number = self._spec_numbers[record] = len(self.specs)
            self.specs.append(record)
        return number

    def add_graph(self, graph: Graph) -> int:
        """The number of a graph in the table; the graphs it calls come before it."""
        known = self._graph_numbers.get(id(graph))
        if known is not None:
            return known
        self._alive.append(graph)
        whole = self._closed(graph)
        nodes = [self._node(node, whole) for node in whole.nodes]
        record = GraphRecord(
            name=whole.name,
            inputs=tuple([self.add_spec(spec) for spec in whole.inputs]),
            constants=tuple([array_record(array, self.stored) for array in whole.constants]),
            nodes=tuple(nodes),
            outputs=whole.outputs,
        )
        self.graphs.append(record)
        number = self._graph_numbers[id(graph)] = len(self.graphs) - 1
        return number

    def _closed(self, graph: Graph) -> Graph:
        if not any(isinstance(node.op, CustomGradient) for node in graph.nodes):
            return graph
        try:
            found = closed(graph)
        except Exception as cause:
            if not self.with_rules:
                return graph  # it cannot be traced and need not be
            names = {node.op.rule.name for node in graph.nodes if isinstance(node.op, CustomGradient)}
            raise SaveError(
                f"Error when tracing gradients for SavedModel. The custom gradient of {', '.join(sorted(names))} in "
                f"{graph.name!r} cannot be traced: {cause} Make it traceable, or save with "
                "SaveOptions(experimental_custom_gradients=False)."
            ) from cause
        self._alive.append(found)
        return found

    def _node(self, node: Node, graph: Graph) -> NodeRecord:
        line = None
        if node.line is not None:
            line = self._line_numbers.get(node.line)
            if line is None:
                line = self._line_numbers[node.line] = len(self.lines)
                self.lines.append(node.line)
        return NodeRecord(
            self._op(node.op, graph), node.inputs, tuple([self.add_spec(spec) for spec in node.specs]), line
        )

    def _op(self, op: Op, graph: Graph) -> int:
        known = self._op_numbers.get(op)
        if known is not None:
            return known
        name = PLAIN.get(op.name, op.name)
        op_class: Any = find(name)
        if isinstance(op, CustomGradient):
            name, op_class = "closed_custom", ClosedCustom
            rule = self._unsaved_rule(op.rule.name)
            attributes: list[tuple[str, Any]] = [("rule", RuleValue(rule))]
            attributes += [("n_inputs", op.n_inputs), ("n_outputs", -1)]
        elif isinstance(op, UnsavedCustom):
            name, op_class = "closed_custom", ClosedCustom
            attributes = [("rule", RuleValue(self._unsaved_rule(op.rule_name)))]
            attributes += [("n_inputs", op.n_inputs), ("n_outputs", op.n_outputs)]
        else:
            attributes = []
            for field in op_class.attributes:
                try:
                    attributes.append((field, value_record(getattr(op, field), self._attribute)))
                except Unsavable as cause:
                    raise SaveError(
                        f"{graph.name}: op {op.name!r} holds {cause} as {field!r}, which a file cannot hold."
                    ) from cause
        self._alive.append(op)
        number = self._op_numbers[op] = len(self.ops)
        self.ops.append(OpRecord(name, op_class.version, tuple(attributes)))
        return number

    def _attribute(self, x: Any) -> Any:
        if isinstance(x, Graph):
            return GraphValue(self.add_graph(x))
        if isinstance(x, ClosedRule):
            number = self._add_rule(x) if self.with_rules else self._unsaved_rule(x.name)
            for uses in self._rule_uses:
                uses.add(number)
            return RuleValue(number)
        raise Unsavable(f"a {type(x).__name__}")

    def _unsaved_rule(self, name: str) -> int:
        number = self._rule_numbers.get(name)
        if number is None:
            number = self._rule_numbers[name] = len(self.rules)
            self.rules.append(RuleRecord(name, None))
        return number

    def _add_rule(self, rule: ClosedRule) -> int:
        number = self._rule_numbers.get(rule.name)
        if number is not None:
            return number
        number = self._rule_numbers[rule.name] = len(self.rules)
        self.rules.append(None)  # known by its number before its graph, which may refer to it
        assert rule.graph is not None
        before, self._rule_uses = self._rule_uses, [set()]
        graph = self.add_graph(rule.graph)
        used = self._rule_uses[0]
        self._rule_uses = before
        self.rules[number] = RuleRecord(
            rule.name,
            graph,
            counts=(("outputs", len(rule.graph.outputs)),),
            present=tuple([position >= 0 for position in rule.positions]),
            rules=tuple(sorted(used)),
        )
        return number


class GraphReader:
    """Makes graphs of the tables of a model, each once and only when asked for."""

    def __init__(self, model: Any, arrays: Any) -> None:
        self._model = model
        self._arrays = arrays
        self._graphs: dict[int, Graph] = {}
        self._specs: dict[int, TensorSpec] = {}
        self._ops: dict[int, Op] = {}
        self._rules: dict[int, ClosedRule] = {}
        self.unsaved: set[str] = set()

    def spec(self, number: int) -> TensorSpec:
        """Spec number `number` of the table."""
        if number not in self._specs:
            self._specs[number] = spec_of(self._model.specs[number])
        return self._specs[number]

    def graph(self, number: int) -> Graph:
        """Graph number `number` of the table, checked node by node."""
        if number not in self._graphs:
            # Callees come first in the table, so nothing recurses deeper than one level.
            for callee in self._callees(number):
                self.graph(callee)
            try:
                self._graphs[number] = self._read(self._model.graphs[number])
            except LoadError as error:
                error.within(number)
                error.within("graphs")
                raise
        return self._graphs[number]

    def _callees(self, number: int) -> list[int]:
        """The graphs below graph `number` that are not made yet, lowest first."""
        found: set[int] = set()
        stack = [number]
        while stack:
            record = self._model.graphs[stack.pop()]
            for op in {node.op for node in record.nodes}:
                for _, value in self._model.ops[op].attributes:
                    if isinstance(value, GraphValue) and value.graph not in found and value.graph not in self._graphs:
                        found.add(value.graph)
                        stack.append(value.graph)
        return sorted(found)

    def _read(self, record: GraphRecord) -> Graph:
        inputs = [self.spec(i) for i in record.inputs]
        constants = [array_of(array, self._arrays) for array in record.constants]
        graph = Graph(inputs, constants, (), (), record.name or "graph")
        specs = list(graph.specs)
        nodes = []
        for position, item in enumerate(record.nodes):
            try:
                node = self._node(item, specs)
            except LoadError as error:
                error.within(position)
                error.within("nodes")
                raise
            nodes.append(node)
            specs.extend(node.specs)
        return Graph(inputs, constants, nodes, record.outputs, record.name or "graph")

    def _node(self, record: NodeRecord, specs: list[TensorSpec]) -> Node:
        op = self.op(record.op)
        given = tuple([self.spec(i) for i in record.specs])
        if isinstance(op, UnsavedCustom) and op.n_outputs < 0:
            op = UnsavedCustom(op.rule_name, op.n_inputs, len(given))
        inner = [specs[i] for i in record.inputs]
        try:
            inferred = op.infer(*inner)
        except (GraphadError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, LookupError) as cause:
            raise CorruptModelError(f"op {shown(op.name)} does not take its inputs: {shown(str(cause))}.") from cause
        wanted = tuple(inferred) if op.multiple else (inferred,)
        if len(wanted) != len(given):
            raise CorruptModelError(f"op {shown(op.name)} has {len(wanted)} outputs, the file says {len(given)}.")
        for mine, theirs in zip(given, wanted, strict=True):
            if mine.dtype is not theirs.dtype or not are_compatible(mine.dims, theirs.dims):
                raise CorruptModelError(f"op {shown(op.name)} gives {theirs}, the file says {mine}.")
        line = None if record.line is None else self._model.lines[record.line]
        start = len(specs)
        return Node(op, record.inputs, start, given, line)

    def op(self, number: int) -> Op:
        """Op number `number` of the table."""
        if number not in self._ops:
            try:
                self._ops[number] = self._make_op(self._model.ops[number])
            except LoadError as error:
                error.within(number)
                error.within("ops")
                raise
        return self._ops[number]

    def _make_op(self, record: OpRecord) -> Op:
        op_class = find(record.name)
        if op_class is None:
            raise UnsupportedModelError(
                f"there is no op {shown(record.name)} in this release; upgrade graphad, or import the code that defines it."
            )
        if record.name in PLAIN or record.name == "custom_gradient":
            raise UnsafeModelError(f"op {shown(record.name)} holds live objects and cannot come from a file.")
        if record.version > op_class.version:
            raise UnsupportedModelError(
                f"op {shown(record.name)} is version {record.version}, this release has {op_class.version}; upgrade graphad."
            )
        given = dict(record.attributes)
        if len(given) != len(record.attributes) or set(given) != set(op_class.attributes):
            raise CorruptModelError(
                f"op {shown(record.name)} has attributes {', '.join(op_class.attributes)}, the file gives others."
            )
        if op_class is ClosedCustom:
            return self._custom(given)
        values = [value_of(given[field], self._attribute) for field in op_class.attributes]
        _check_attributes(op_class, values)
        return op_class(*values)  # type: ignore[no-any-return]

    def _attribute(self, record: Any) -> Any:
        if isinstance(record, GraphValue):
            return self._graphs[record.graph]
        raise CorruptModelError(f"a {type(record).__name__} cannot be an attribute of an op.")

    def _custom(self, given: dict[str, Any]) -> Op:
        rule, n_inputs, n_outputs = given["rule"], given["n_inputs"], given["n_outputs"]
        if not isinstance(rule, RuleValue) or type(n_inputs) is not int or type(n_outputs) is not int or n_inputs < 0:
            raise CorruptModelError("a custom gradient needs a rule and two counts.")
        record = self._model.rules[rule.rule]
        if record.graph is None:
            known = recall(record.name)
            if known is not None and n_outputs >= 0:
                return ClosedCustom(known, n_inputs, n_outputs)
            self.unsaved.add(record.name)
            return UnsavedCustom(record.name, n_inputs, n_outputs)
        return ClosedCustom(self.rule(rule.rule), n_inputs, n_outputs)

    def rule(self, number: int) -> ClosedRule:
        """Rule number `number`; its graph follows with `finish_rules`, since rules may refer to each other."""
        if number not in self._rules:
            record = self._model.rules[number]
            places = iter(range(len(record.present)))
            positions = tuple([next(places) if has else -1 for has in record.present])
            self._rules[number] = ClosedRule(record.name, None, positions)
        return self._rules[number]

    def finish_rules(self) -> None:
        """Give every rule that was asked for its graph."""
        done: set[int] = set()
        while len(done) < len(self._rules):
            for number in [n for n in self._rules if n not in done]:
                record = self._model.rules[number]
                self._rules[number].graph = self.graph(record.graph)
                done.add(number)


_SCALARS: dict[str, Callable[[Any], bool]] = {
    "None": lambda x: x is None,
    "int": lambda x: type(x) is int,
    "bool": lambda x: type(x) is bool,
    "float": lambda x: type(x) is float,
    "str": lambda x: type(x) is str,
    "DType": lambda x: isinstance(x, DType),
    "Graph": lambda x: isinstance(x, Graph),
}


def _check_attributes(op_class: Any, values: list[Any]) -> None:
    """Raise unless every attribute has the type that the op declares."""
    for field, value in zip(op_class.attributes, values, strict=True):
        declared = op_class.declared[field]
        if not _fits(declared, value):
            raise CorruptModelError(
                f"attribute {field!r} of op {shown(op_class.name)} is {shown(value)}, which is no {declared}."
            )


def _fits(declared: str, value: Any) -> bool:
    """Whether a value has a type written as in an annotation: names, unions with |, and tuples."""
    options = _split(declared, "|")
    if len(options) > 1:
        return any(_fits(option, value) for option in options)
    declared = declared.strip()
    if declared in _SCALARS:
        return _SCALARS[declared](value)
    if declared.startswith("tuple[") and declared.endswith("]"):
        if type(value) is not tuple:
            return False
        items = [item.strip() for item in _split(declared[len("tuple[") : -1], ",")]
        if len(items) == 2 and items[1] == "...":
            return all(_fits(items[0], item) for item in value)
        return len(items) == len(value) and all(map(_fits, items, value))
    return True  # Any, or an alias: infer checks what it means


def _split(text: str, separator: str) -> list[str]:
    """The parts of an annotation at a separator that stands outside of all brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
