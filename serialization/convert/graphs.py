"""Graphs with their sub-graphs and custom gradients as records, and back.

Writing closes the Python rules of custom gradients first. Reading checks every node by its op's own `infer`, so that a graph
from a file is as sound as a traced one; no op is evaluated.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.composed import Composed
from graphad.core.dtypes import int64
from graphad.core.errors import GraphadError
from graphad.core.op import Op, output_specs
from graphad.core.registry import find, successor
from graphad.core.schema import schema_of
from graphad.core.spec import TensorSpec
from graphad.gradient.rules_in_process import recall
from graphad.graph.digest import digest
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import sub_graphs
from graphad.ops.array.shape import Shape
from graphad.ops.control.custom import ClosedCustom, ClosedRule, CustomGradient, UnsavedCustom
from serialization.convert.claims import CALL_DEPTH, asked, check_attributes, check_operands, sound_spec
from serialization.convert.values import (
    ArrayWriter,
    Unsavable,
    array_of,
    spec_of,
    spec_record,
    value_of,
    value_record,
)
from serialization.errors import (
    CorruptModelError,
    LimitExceededError,
    LoadError,
    SaveError,
    UnsafeModelError,
    UnsupportedModelError,
    shown,
)
from serialization.schema.graph import OP, GraphRecord, NodeRecord, OpRecord, RuleRecord
from serialization.schema.table import Table
from serialization.schema.values import SPEC, GraphValue, RuleValue
from serialization.wire.codec import TEXT

if TYPE_CHECKING:
    from serialization.saved_model.save import _Given
    from serialization.storage.read import LoadedArrays


_DIRECTORIES = r"^.*[\\/](?=[^\\/]*:\d+ in )"  # of a source line, compiled by the first save


class GraphWriter:
    """Collects the tables of graphs, ops, specs, rules and source lines.

    Args:
      with_rules: Whether to save custom gradients as graphs.
    Attributes:
      arrays: Arrays too large for the manifest.
    """

    def __init__(self, with_rules: bool) -> None:
        self.with_rules = with_rules
        self.arrays = ArrayWriter()
        self.graphs: list[GraphRecord] = []
        self.rules: list[Any] = []
        self._ops: Table[OpRecord] = Table(OP)
        self._specs: Table[Any] = Table(SPEC)
        self._lines: Table[str] = Table(TEXT)
        self._line_numbers: dict[str, int] = {}
        self._graph_numbers: dict[int, int] = {}
        self._depths: dict[int, int] = {}
        self._op_numbers: dict[Any, int] = {}
        self._spec_numbers: dict[TensorSpec, int] = {}
        self._rule_numbers: dict[Any, list[tuple[ClosedRule, int]]] = {}
        self._unsaved: dict[str, int] = {}
        self._op_rules: dict[int, set[int]] = {}
        self._alive: list[Any] = []

    def tables(self) -> dict[str, Any]:
        """The tables as fields of a ModelRecord."""
        return {
            "specs": self._specs.entries(),
            "ops": self._ops.entries(),
            "lines": self._lines.entries(),
            "graphs": tuple(self.graphs),
            "rules": tuple(self.rules),
        }

    def add_spec(self, spec: TensorSpec) -> int:
        """The number of a spec in the table."""
        number = self._spec_numbers.get(spec)
        if number is None:
            number = self._spec_numbers[spec] = self._specs.number(spec_record(spec))
        return number

    def add_graph(self, graph: Graph) -> int:
        """The number of a graph in the table; the graphs it calls come before it."""
        # Callees first, without recursion: functions may call functions a hundred deep.
        stack = [(graph, False)]
        while stack:
            each, ready = stack.pop()
            if id(each) in self._graph_numbers:
                continue
            whole = self._closed(each)
            inner = [g for op in {node.op: None for node in whole.nodes} for g in sub_graphs(op)]
            if ready:
                self._add(each, whole, inner)
            else:
                stack.append((each, True))
                stack.extend((g, False) for g in reversed(inner) if id(g) not in self._graph_numbers)
        return self._graph_numbers[id(graph)]

    def _add(self, graph: Graph, whole: Graph, inner: Sequence[Graph]) -> None:
        self._alive.append(graph)
        depth = 1 + max([self._depths[id(g)] for g in inner], default=0)
        if depth > CALL_DEPTH:
            raise SaveError(f"{graph.name}: functions call functions more than {CALL_DEPTH} deep.")
        self._depths[id(graph)] = depth
        nodes = [self._node(node, whole) for node in whole.nodes]
        record = GraphRecord(
            name=whole.name,
            inputs=tuple([self.add_spec(spec) for spec in whole.inputs]),
            constants=tuple([self.arrays.record(array) for array in whole.constants]),
            nodes=tuple(nodes),
            outputs=whole.outputs,
        )
        self.graphs.append(record)
        self._graph_numbers[id(graph)] = len(self.graphs) - 1

    def _closed(self, graph: Graph) -> Graph:
        # Imported here: reading does not need it.
        from graphad.gradient.closing import UnclosedRuleError, closed_or_refused

        try:
            found = closed_or_refused(graph)
        except UnclosedRuleError as refused:
            if not self.with_rules:
                return graph  # it cannot be traced and need not be
            names = {node.op.rule.name for node in graph.nodes if isinstance(node.op, CustomGradient)}
            raise SaveError(
                f"Error when tracing gradients for SavedModel. The custom gradient of {', '.join(sorted(names))} in "
                f"{graph.name!r} cannot be traced: {refused.error} Make it traceable, or save with "
                "SaveOptions(experimental_custom_gradients=False)."
            ) from refused.error
        if found is not graph:
            self._alive.append(found)
        return found

    def _node(self, node: Node, graph: Graph) -> NodeRecord:
        # without directories, which are private and not part of the model
        line = None if node.line is None else self._line_numbers.get(node.line)
        if line is None and node.line is not None:
            line = self._line_numbers[node.line] = self._lines.number(re.sub(_DIRECTORIES, "", node.line))
        return NodeRecord(
            self._op(node.op, graph), node.inputs, tuple([self.add_spec(spec) for spec in node.specs]), line
        )

    def _op(self, op: Op, graph: Graph) -> int:
        known = self._op_numbers.get(op)
        if known is not None:
            return known
        self._alive.append(op)
        record, rules = self._op_record(op, graph)
        number = self._op_numbers[op] = self._ops.number(record)
        self._op_rules[number] = rules
        return number

    def _op_record(self, op: Op, graph: Graph) -> tuple[OpRecord, set[int]]:
        """The record of an op, and the rules that it names."""
        if isinstance(op, ClosedCustom | UnsavedCustom | CustomGradient):
            if isinstance(op, ClosedCustom):
                rule = self._add_rule(op.rule) if self.with_rules else self._unsaved_rule(op.rule.name)
            else:
                rule = self._unsaved_rule(op.rule_name if isinstance(op, UnsavedCustom) else op.rule.name)
            n_outputs = -1 if isinstance(op, CustomGradient) else op.n_outputs
            attributes = (("rule", RuleValue(rule)), ("n_inputs", op.n_inputs), ("n_outputs", n_outputs))
            return OpRecord(ClosedCustom.name, ClosedCustom.version, attributes), {rule}
        unsafe = op.unsafe()
        if unsafe is not None:
            raise SaveError(f"{graph.name}: op {op.name!r} {unsafe}.")
        found = []
        for field in op.attributes:
            try:
                found.append((field, value_record(getattr(op, field), self._attribute)))
            except Unsavable as cause:
                raise SaveError(
                    f"{graph.name}: op {op.name!r} holds {cause} as {field!r}, which a file cannot hold."
                ) from cause
        return OpRecord(op.name, op.version, tuple(found)), set()

    def _attribute(self, x: Graph) -> GraphValue:
        if isinstance(x, Graph):
            return GraphValue(self.add_graph(x))
        raise Unsavable(f"a {type(x).__name__}")

    def _unsaved_rule(self, name: str) -> int:
        number = self._unsaved.get(name)
        if number is None:
            number = self._unsaved[name] = len(self.rules)
            self.rules.append(RuleRecord(name, None))
        return number

    def _add_rule(self, rule: ClosedRule) -> int:
        graph = rule.graph
        assert graph is not None
        same_name = self._rule_numbers.setdefault((rule.name, rule.positions), [])
        for known, number in same_name:
            if known is rule or known.graph is graph or digest(known.graph) == digest(graph):
                return number
        number = len(self.rules)
        same_name.append((rule, number))
        self.rules.append(None)  # numbered before its graph, which may refer to it
        graph_number = self.add_graph(graph)
        used: set[int] = set()
        for node in self.graphs[graph_number].nodes:
            used |= self._op_rules.get(node.op, set())
        self.rules[number] = RuleRecord(
            rule.name,
            graph_number,
            counts=(("outputs", len(graph.outputs)),),
            present=tuple([position >= 0 for position in rule.positions]),
            rules=tuple(sorted(used)),
        )
        return number


def _of_older(record: OpRecord, attributes: Callable[[], Any]) -> Any:
    """The result of an op's upgrade, which expects attributes of older releases, while a file may hold anything."""
    try:
        return attributes()
    except Exception as cause:  # the upgrade expects attributes of that version; a file may hold anything
        raise CorruptModelError(
            f"op {shown(record.name)} of version {record.version} does not have the attributes of that version: "
            f"{shown(str(cause))}."
        ) from cause


def _outputs_of(op: Op, inputs: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
    """The specs of the op's outputs. Raises: CorruptModelError: it does not take these inputs; LoadError: its rule
    fails."""
    check_operands(op, inputs)
    try:
        return output_specs(op, inputs)
    except GraphadError as cause:
        raise CorruptModelError(
            f"op {shown(op.name)} does not take its inputs: {shown(str(cause))}."
        ) from cause
    except Exception as cause:  # loading raises LoadErrors alone, whatever a rule raises
        given = ", ".join(map(str, inputs))
        raise LoadError(
            f"op {shown(op.name)} cannot be checked: for its inputs ({shown(given, 200)}) its rule fails with "
            f"{type(cause).__name__}: {shown(str(cause))}. If the file is as it was saved, that is a mistake of graphad's."
        ) from cause


def _shape_of(value: int, specs: Sequence[TensorSpec]) -> Node:
    """Add a node that computes the sizes of a value."""
    op = Shape(int64)
    return Node(op, (value,), len(specs), _outputs_of(op, [specs[value]]), None)


class GraphReader:
    """Creates graphs from the tables of a model, each once and on demand."""

    def __init__(self, model: Any, arrays: LoadedArrays | _Given) -> None:
        self._model = model
        self._arrays = arrays
        self._graphs: dict[int, Graph] = {}
        self._depths: dict[int, int] = {}
        self._specs: dict[int, TensorSpec] = {}
        self._ops: dict[int, Op] = {}
        self._rules: dict[int, ClosedRule] = {}
        self._op_rules: dict[int, int] = {}
        self._older: set[int] = set()  # ops that had another name in older releases
        self._uses: list[tuple[Any, list[TensorSpec], tuple[TensorSpec, ...], int]] = []
        self.unsaved: set[str] = set()

    def spec(self, number: int) -> TensorSpec:
        """Spec number `number` of the table."""
        if number not in self._specs:
            self._specs[number] = spec_of(self._model.specs[number])
        return self._specs[number]

    def graph(self, number: int) -> Graph:
        """Graph number `number` of the table, checked node by node."""
        if number not in self._graphs:
            # Callees come first in the table, so nothing recurses.
            for each in self._unmade(number):
                try:
                    self._graphs[each] = self._read(self._model.graphs[each])
                except LoadError as error:
                    error.within(each)
                    error.within("graphs")
                    raise
        return self._graphs[number]

    def check_op(self, number: int) -> None:
        """Create op number `number` of the table, unless its current form depends on the nodes that use it."""
        if self._composing(self._model.ops[number]) is None:
            self.op(number)

    def sub_graphs(self, number: int) -> list[Graph]:
        """The graphs that op number `number` names."""
        named = [value for _, value in self._model.ops[number].attributes if type(value) is GraphValue]
        return [self.graph(value.graph) for value in named]

    def _unmade(self, number: int) -> list[int]:
        """Graph `number` and the graphs below it that do not exist yet, lowest first."""
        found = {number}
        stack = [number]
        callees: dict[int, set[int]] = {}
        while stack:
            each = stack.pop()
            ops = {node.op for node in self._model.graphs[each].nodes}
            below = {
                value.graph
                for op in ops
                for _, value in self._model.ops[op].attributes
                if type(value) is GraphValue
            }
            callees[each] = below
            new = below - found - self._graphs.keys()
            found |= new
            stack.extend(new)
        order = sorted(found)
        for each in order:
            depth = self._depths[each] = 1 + max([self._depths[g] for g in callees[each]], default=0)
            if depth > CALL_DEPTH:
                raise LimitExceededError(f"graphs call graphs more than {CALL_DEPTH} deep.")
        return order

    def _read(self, record: GraphRecord) -> Graph:
        inputs = [self.spec(i) for i in record.inputs]
        constants = [array_of(array, self._arrays) for array in record.constants]
        specs = list(Graph(inputs, constants, (), ()).specs)
        nodes: list[Node] = []
        places = list(range(len(specs)))  # file value -> graph value
        for position, item in enumerate(record.nodes):
            try:
                operands = [places[value] for value in item.inputs]
                composed = self._composed(item)
                if composed is not None:
                    places += self._add_composed(composed, item, operands, specs, nodes)
                    continue
                if operands and self._has_like(item.op):
                    sizes = _shape_of(operands[-1], specs)
                    nodes.append(sizes)
                    specs.extend(sizes.specs)
                    operands[-1] = sizes.start
                node = self._node(item, operands, specs)
            except LoadError as error:
                error.within(position)
                error.within("nodes")
                raise
            nodes.append(node)
            places += range(len(specs), len(specs) + len(node.specs))
            specs.extend(node.specs)
        outputs = tuple([places[value] for value in record.outputs])
        for value, place in zip(record.outputs, outputs, strict=True):
            if specs[place].is_handle:  # a variable is read before it is returned
                raise CorruptModelError(f"value {value}, an output of the graph, is a variable.")
        return Graph(inputs, constants, nodes, outputs, record.name or "graph")

    def _composed(self, record: NodeRecord) -> Composed | None:
        """The replacement of a node whose op was removed and has no single successor; else None."""
        of: OpRecord = self._model.ops[record.op]
        made = self._composing(of)
        if made is None:
            return None
        given = {field: value_of(value, self._attribute) for field, value in of.attributes}
        if of.version != 1:
            raise UnsupportedModelError(
                f"op {shown(of.name)} is version {of.version}; there was only version 1."
            )
        found: Composed = _of_older(of, lambda: made(given, len(record.inputs), len(record.specs)))
        return found

    def _composing(self, record: OpRecord) -> Callable[..., Composed] | None:
        op_class = successor(record.name) if find(record.name) is None else None
        return None if op_class is None else op_class.composed_formerly.get(record.name)

    def _add_composed(
        self,
        composed: Composed,
        record: NodeRecord,
        operands: Sequence[int],
        specs: list[TensorSpec],
        nodes: list[Node],
    ) -> list[int]:
        """Add the nodes that replace a node; returns the positions of its outputs."""
        known = list(operands)
        line = None if record.line is None else self._model.lines[record.line]
        for op, places in composed.nodes:
            check_attributes(op.op_class, [getattr(op, field) for field in op.attributes])
            if max(places, default=-1) >= len(known):
                raise CorruptModelError(f"op {shown(op.name)} takes more inputs than the file gives.")
            inner = [specs[known[k]] for k in places]
            node = Node(op, tuple([known[k] for k in places]), len(specs), _outputs_of(op, inner), line)
            nodes.append(node)
            specs.extend(node.specs)
            known += node.outputs
        last = nodes[-1]
        outputs = range(len(last.specs)) if composed.outputs is None else composed.outputs
        if len(outputs) != len(record.specs) or not all(
            type(k) is int and 0 <= k < len(last.specs) for k in outputs
        ):
            raise CorruptModelError(
                f"op {shown(last.op.name)} has {len(last.specs)} outputs, the file asks for others."
            )
        for k, number in zip(outputs, record.specs, strict=True):
            specs[last.start + k] = sound_spec(self.spec(number), last.specs[k], last.op.name)
        nodes[-1] = Node(last.op, last.inputs, last.start, tuple(specs[last.start :]), line)
        return [last.start + k for k in outputs]

    def _has_like(self, number: int) -> bool:
        """Whether the sizes of an op were given by the shape of its last input."""
        return bool(self.op(number).given) and self._model.ops[number].name in self.op(number).formerly_like

    def _node(self, record: NodeRecord, operands: Sequence[int], specs: list[TensorSpec]) -> Node:
        op = self.op(record.op)
        given = tuple([self.spec(i) for i in record.specs])
        rule = self._op_rules.get(record.op)
        if isinstance(op, UnsavedCustom) and op.n_outputs < 0:
            op = UnsavedCustom(op.rule_name, op.n_inputs, len(given))
        if record.op in self._older:  # it had inputs for sizes that are attributes in this release
            operands = operands[: int(min(schema_of(op.op_class).most, len(operands))) + op.given]
        inner = [specs[i] for i in operands]
        count = op.output_count()
        if count is not None and count != len(given):
            raise CorruptModelError(
                f"op {shown(op.name)} has {shown(count)} outputs, the file says {len(given)}."
            )
        wanted = _outputs_of(op, inner)
        if len(wanted) != len(given):
            raise CorruptModelError(
                f"op {shown(op.name)} has {len(wanted)} outputs, the file says {len(given)}."
            )
        asked(op, op.check_outputs, given)
        believed = tuple(
            [sound_spec(mine, theirs, op.name) for mine, theirs in zip(given, wanted, strict=True)]
        )
        if rule is not None:
            self._uses.append((op, inner, believed, rule))
        line = None if record.line is None else self._model.lines[record.line]
        return Node(op, tuple(operands), len(specs), believed, line)

    def op(self, number: int) -> Op:
        """Op number `number` of the table."""
        if number not in self._ops:
            try:
                record = self._model.ops[number]
                op = self._ops[number] = self._make_op(record)
                if record.name != op.name and record.name in op.formerly:
                    self._older.add(number)
                if isinstance(op, ClosedCustom):
                    self._op_rules[number] = dict(self._model.ops[number].attributes)["rule"].rule
            except LoadError as error:
                error.within(number)
                error.within("ops")
                raise
        return self._ops[number]

    def _make_op(self, record: OpRecord) -> Op:
        op_class: Any = find(record.name)
        former = None
        if op_class is None:
            op_class = successor(record.name)
            former = None if op_class is None else op_class.formerly[record.name]
        if op_class is None:
            raise UnsupportedModelError(
                f"there is no op {shown(record.name)} in this release; upgrade graphad, or import the code that defines it."
            )
        if op_class.live:
            raise UnsafeModelError(f"op {shown(record.name)} holds live objects and cannot come from a file.")
        if record.version > (op_class.version if former is None else 1):
            raise UnsupportedModelError(
                f"op {shown(record.name)} is version {record.version}, this release has {op_class.version}; upgrade graphad."
            )
        given = dict(record.attributes)
        if op_class is not ClosedCustom:  # its rule is not a plain value
            given = {field: value_of(value, self._attribute) for field, value in given.items()}
        if former is not None:
            given = _of_older(record, lambda: former(given))
        elif record.version < op_class.version:
            given = self._upgraded(record, op_class, given)
        if set(given) != set(op_class.attributes):
            raise CorruptModelError(
                f"op {shown(record.name)} has attributes {', '.join(op_class.attributes)}, the file gives others."
            )
        if op_class is ClosedCustom:
            return self._custom(given)
        values = [given[field] for field in op_class.attributes]
        check_attributes(op_class, values)
        op: Op = op_class(*values)
        unsafe = op.unsafe()
        if unsafe is not None:
            raise UnsafeModelError(f"op {shown(op.name)} {unsafe}.")
        return op

    def _upgraded(self, record: OpRecord, op_class: Any, given: dict[str, Any]) -> dict[str, Any]:
        """The attributes of this release's version of an op with the meaning of an older version."""
        found = _of_older(record, lambda: op_class.upgrade(record.version, given))
        if found is None:
            raise UnsupportedModelError(
                f"op {shown(record.name)} is version {record.version}, which this release no longer has: its version "
                f"{op_class.version} means something else; load the model with an older release."
            )
        return found  # type: ignore[no-any-return]

    def _attribute(self, record: GraphValue) -> Graph:
        if isinstance(record, GraphValue) and record.graph in self._graphs:
            return self._graphs[record.graph]
        raise CorruptModelError(f"a {type(record).__name__} cannot be an attribute of an op.")

    def _custom(self, given: dict[str, Any]) -> Op:
        rule, n_inputs, n_outputs = given["rule"], given["n_inputs"], given["n_outputs"]
        if (
            not isinstance(rule, RuleValue)
            or type(n_inputs) is not int
            or type(n_outputs) is not int
            or n_inputs < 0
            or n_outputs < -1
        ):
            raise CorruptModelError("a custom gradient needs a rule and two counts.")
        record = self._model.rules[rule.rule]
        if record.graph is None:
            known = recall(record.name)
            if known is not None and n_outputs >= 0 and known.graph is not None:
                return ClosedCustom(known, n_inputs, n_outputs)
            self.unsaved.add(record.name)
            return UnsavedCustom(record.name, n_inputs, n_outputs)
        if n_outputs < 0:
            raise CorruptModelError("a custom gradient with a graph must say how many outputs it has.")
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
        """Set the graphs of all used rules, and check the rules against their uses."""
        done: set[int] = set()
        while len(done) < len(self._rules):
            for number in [n for n in self._rules if n not in done]:
                record = self._model.rules[number]
                self._rules[number].graph = self.graph(record.graph)
                done.add(number)
        for op, inputs, outputs, number in self._uses:
            try:
                asked(op, functools.partial(op.rule.check_use, op, inputs), outputs)
            except LoadError as error:
                error.within(number)
                error.within("rules")
                raise
        self._uses.clear()
