"""Checks that a model is well formed: every number refers to an entry of the right table and kind. It runs after every read,
before any other use of the records, and before every save. It knows no ops: `convert` checks that attributes, arities and specs
fit the ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from serialization.errors import CorruptModelError, LimitExceededError, LoadError, UnsafeModelError, shown
from serialization.schema.graph import GraphRecord, OpRecord, RuleRecord
from serialization.schema.model import (
    KEYWORD_ONLY,
    POSITIONAL_OR_KEYWORD,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    AssetNode,
    AssetRecord,
    CaptureRecord,
    ConcreteRecord,
    DictNode,
    FunctionNode,
    FunctionRecord,
    GeneratorNode,
    ListNode,
    ModelRecord,
    ModuleNode,
    ObjectRecord,
    SignatureRecord,
    TupleNode,
    VariableCapture,
    VariableNode,
)
from serialization.schema.values import (
    NAMED_TUPLE,
    DictValue,
    DTypeValue,
    GraphValue,
    InlineArray,
    ListValue,
    OutputValue,
    RuleValue,
    SpecValue,
    StoredArray,
    StructValue,
    Value,
    is_key,
)
from serialization.wire.arrays import TensorRecord, byte_count, check_tensor, chunk_count, plan_layout
from serialization.wire.limits import DEFAULT_LIMITS, Limits

# Written out: the module `string` compiles a regular expression when it is imported.
_ASSET_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_RESERVED = frozenset(
    ["CON", "PRN", "AUX", "NUL", *(f"COM{n}" for n in range(10)), *(f"LPT{n}" for n in range(10))]
)


def verify(model: ModelRecord, limits: Limits = DEFAULT_LIMITS) -> None:
    """Raise a LoadError that names the field unless `model` is well formed."""
    _Verifier(model, limits).run()


def bad(reason: str) -> CorruptModelError:
    return CorruptModelError(reason)


@contextmanager
def _within(*parts: str | int) -> Iterator[None]:
    try:
        yield
    except LoadError as error:
        for part in reversed(parts):
            error.within(part)
        raise


class _Verifier:
    def __init__(self, model: ModelRecord, limits: Limits) -> None:
        self.model = model
        self.limits = limits
        self.tensors: dict[str, TensorRecord] = {}
        # the references of each op, found once for each op instead of each node
        self.callees: list[tuple[int, ...]] = []
        self.expanded: list[int] = []  # nodes of each graph with its calls inlined
        self.op_rules: list[frozenset[int]] = []

    def run(self) -> None:
        model = self.model
        _unique("features", (feature.name for feature in model.features))
        self._payloads()
        self._each("ops", model.ops, self._op)
        self._graphs()
        self._each("rules", model.rules, self._rule)
        self._each("functions", model.functions, self._function)
        with _within("objects"):
            if not model.objects:
                raise bad("there is no root object.")
        self._each("objects", model.objects, self._object)
        self._each("signatures", model.signatures, self._signature)
        _unique("signatures", (signature.key for signature in model.signatures))
        self._each("assets", model.assets, check_asset)

    def _each(self, field: str, records: Sequence[Any], check: Callable[[Any], None]) -> None:
        # one handler around the loop instead of one per record
        index = 0
        try:
            for index, record in enumerate(records):  # noqa: B007
                check(record)
        except LoadError as error:
            error.within(index)
            error.within(field)
            raise

    # payloads

    def _payloads(self) -> None:
        for number, payload in enumerate(self.model.payloads):
            with _within("payloads", number):
                for tensor in payload.tensors:
                    check_tensor(tensor, self.limits)
                    if tensor.name in self.tensors:
                        raise bad(f"tensor {shown(tensor.name)} is there twice.")
                    self.tensors[tensor.name] = tensor
                size = plan_layout(payload.tensors).size
                if len(payload.checks) != 4 * chunk_count(size):
                    raise bad(
                        f"{len(payload.checks)} bytes of checks where {size} bytes of tensors need {4 * chunk_count(size)}."
                    )

    def _array(self, array: InlineArray | StoredArray) -> None:
        if isinstance(array, StoredArray):
            self._tensor(array.tensor)
        else:
            _inline(array)

    def _tensor(self, name: str) -> TensorRecord:
        tensor = self.tensors.get(name)
        if tensor is None:
            raise bad(f"tensor {shown(name)} is in no payload.")
        return tensor

    # values

    def _value(self, value: Value, use: str, seen: list[Value]) -> None:
        """Check a value; collect its leaves that are records in `seen`. `use` says which leaves belong."""
        # the codec's limit on nesting bounds the depth
        if type(value) is tuple:
            for item in value:
                self._value(item, use, seen)
        elif isinstance(value, ListValue):
            for item in value.items:
                self._value(item, use, seen)
        elif isinstance(value, DictValue):
            for key, item in value.items:
                if not is_key(key):
                    raise bad("a dict key that is neither a plain value nor a tuple of such.")
                self._value(item, use, seen)
        elif isinstance(value, StructValue):
            if len(value.names) != len(value.items) or len(set(value.names)) != len(value.names):
                raise bad(f"{len(value.items)} items for the names of {shown(value.name)}.")
            for name in (*value.name.split("."), *value.names):
                if (
                    not name.isidentifier()
                    or name.startswith("__")
                    or (value.kind == NAMED_TUPLE and name in value.names and name.startswith("_"))
                ):
                    raise bad(f"{shown(name)} is not a name for a field or class.")
            for item in value.items:
                self._value(item, use, seen)
        elif isinstance(value, InlineArray):
            if use == "attribute":
                raise bad("an array is not an attribute.")
            _inline(value)
        elif isinstance(value, GraphValue | RuleValue):
            if use != "attribute":
                raise bad(f"a {type(value).__name__} only belongs into attributes of ops.")
            seen.append(value)
        elif isinstance(value, SpecValue):
            if use != "signature":
                raise bad("a spec only belongs into a signature.")
            _in_table(value.spec, self.model.specs, "spec")
            seen.append(value)
        elif isinstance(value, OutputValue):
            if use != "outputs":
                raise bad("an output only belongs into structured outputs.")
            seen.append(value)
        elif type(value) not in _PLAIN:
            raise bad(f"{shown(value)} is not a value.")

    def _plain(self, field: str, pairs: Sequence[tuple[str, Value]]) -> None:
        _unique(field, (name for name, _ in pairs))
        for name, value in pairs:
            with _within(field, shown(name)):
                self._value(value, "plain", [])

    # graphs

    def _op(self, op: OpRecord) -> None:
        if not op.name:
            raise bad("an op without a name.")
        _unique("attributes", (name for name, _ in op.attributes))
        seen: list[Value] = []
        for name, value in op.attributes:
            with _within("attributes", shown(name)):
                self._value(value, "attribute", seen)
        callees, rules = [], set()
        for leaf in seen:
            if isinstance(leaf, GraphValue):
                _in_table(leaf.graph, self.model.graphs, "graph")
                callees.append(leaf.graph)
            elif isinstance(leaf, RuleValue):
                _in_table(leaf.rule, self.model.rules, "rule")
                rules.add(leaf.rule)
        self.callees.append(tuple(callees))
        self.op_rules.append(frozenset(rules))

    def _graphs(self) -> None:
        for number, graph in enumerate(self.model.graphs):
            with _within("graphs", number):
                self._graph(number, graph)

    def _graph(self, number: int, graph: GraphRecord) -> None:
        specs, ops, lines = len(self.model.specs), len(self.callees), len(self.model.lines)
        for spec in graph.inputs:
            if spec >= specs:
                raise bad(f"input spec {spec} is not in the table of {specs}.")
        for position, array in enumerate(graph.constants):
            with _within("constants", position):
                self._array(array)
        values = len(graph.inputs) + len(graph.constants)
        callees = self.callees
        expanded = len(graph.nodes)
        for position, node in enumerate(graph.nodes):
            # checks are inlined, since this loop dominates loading a large graph
            op, inputs, outputs, line = node
            if op >= ops:
                raise _at_node(position, f"op {op} is not in the table of {ops}.")
            if callees[op]:
                expanded += self._below(position, callees[op], number)
            if inputs and max(inputs) >= values:
                raise _at_node(
                    position, f"input {max(inputs)} is not defined before the node, which starts at {values}."
                )
            if outputs and max(outputs) >= specs:
                raise _at_node(position, f"spec {max(outputs)} is not in the table of {specs}.")
            if line is not None and line >= lines:
                raise _at_node(position, f"line {line} is not in the table of {lines}.")
            values += len(outputs)
        for output in graph.outputs:
            if output >= values:
                raise bad(f"output {output} is none of the {values} values.")
        # A few graphs that each call the previous one twice are small in a file but endless to run.
        if expanded > self.limits.expanded_nodes:
            raise LimitExceededError(
                f"with the graphs it calls written out it has {expanded} nodes where the limit 'expanded_nodes' allows "
                f"{self.limits.expanded_nodes}."
            )
        self.expanded.append(expanded)

    def _below(self, position: int, callees: Sequence[int], number: int) -> int:
        """How many nodes the graphs have, written out, that a node of graph `number` names."""
        for callee in callees:
            if callee >= number:
                raise _at_node(
                    position, f"it calls graph {callee}, which does not stand before graph {number}."
                )
        return sum([self.expanded[callee] for callee in callees])

    def _rule(self, rule: RuleRecord) -> None:
        _unique("counts", (name for name, _ in rule.counts))
        for other in rule.rules:
            _in_table(other, self.model.rules, "rule")
        if rule.graph is None:
            return
        _in_table(rule.graph, self.model.graphs, "graph")
        graph = self.model.graphs[rule.graph]
        named = frozenset().union(*(self.op_rules[node.op] for node in graph.nodes))
        if named - set(rule.rules):
            raise bad(f"its graph refers to rules {sorted(named - set(rule.rules))}, which are not listed.")

    # functions

    def _function(self, function: FunctionRecord) -> None:
        self._parameters(function)
        self._plain("options", function.options)
        with _within("input_signature"):
            self._value(function.input_signature, "signature", [])
        self._each("concretes", function.concretes, self._concrete)

    def _parameters(self, function: FunctionRecord) -> None:
        _unique("parameters", (parameter.name for parameter in function.parameters))
        last, needs_default, stars = 0, False, set()
        for number, parameter in enumerate(function.parameters):
            with _within("parameters", number):
                name, kind, default = parameter
                if not name.isidentifier():
                    raise bad(f"{shown(name)} is not a name of a parameter.")
                if kind < last or (kind in (VAR_POSITIONAL, VAR_KEYWORD) and kind in stars):
                    raise bad(f"{shown(name)}: a parameter of this kind cannot stand here.")
                last = kind
                if kind in (VAR_POSITIONAL, VAR_KEYWORD):
                    stars.add(kind)
                    if default is not None:
                        raise bad(f"{shown(name)} cannot have a default.")
                elif default is not None:
                    with _within("default"):
                        self._value(default.value, "plain", [])
                    needs_default = kind <= POSITIONAL_OR_KEYWORD
                elif needs_default and kind < KEYWORD_ONLY:
                    raise bad(f"{shown(name)} has no default but follows one that has.")

    def _concrete(self, concrete: ConcreteRecord) -> None:
        _in_table(concrete.graph, self.model.graphs, "graph")
        graph = self.model.graphs[concrete.graph]
        leaves: list[Value] = []
        with _within("inputs"):
            self._value(concrete.inputs, "signature", leaves)
        if len(leaves) + len(concrete.captures) != len(graph.inputs):
            raise bad(
                f"{len(leaves)} arguments and {len(concrete.captures)} captures for the {len(graph.inputs)} inputs "
                "of its graph."
            )
        results: list[Value] = []
        with _within("outputs"):
            self._value(concrete.outputs, "outputs", results)
            for leaf in results:
                assert isinstance(leaf, OutputValue)
                if leaf.output >= len(graph.outputs):
                    raise bad(f"output {leaf.output} of a graph that has {len(graph.outputs)}.")
        self._each("captures", concrete.captures, self._capture)

    def _capture(self, capture: CaptureRecord) -> None:
        if isinstance(capture, VariableCapture):
            _in_table(capture.object, self.model.objects, "object")
            if not isinstance(self.model.objects[capture.object].node, VariableNode | GeneratorNode):
                raise bad(f"object {capture.object} is neither a variable nor a generator.")
        else:
            self._array(capture)

    # objects

    def _object(self, record: ObjectRecord) -> None:
        node, children = record
        _unique("children", (name for name, _ in children))
        for name, child in children:
            if child >= len(self.model.objects):
                raise bad(f"child {shown(name)} is object {child} of {len(self.model.objects)}.")
        if isinstance(node, ModuleNode):
            for name, _ in children:
                if not name.isidentifier() or (
                    name.startswith("__") and name.endswith("__") and name != "__call__"
                ):
                    raise bad(f"{shown(name)} is not a name of an attribute.")
            self._plain("attributes", node.attributes)
        elif isinstance(node, ListNode | TupleNode):
            _numbered(children)
            if isinstance(node, TupleNode) and node.names is not None:
                names = StructValue(NAMED_TUPLE, node.class_name or "", node.names, (None,) * len(children))
                self._value(names, "plain", [])
        elif isinstance(node, DictNode):
            if node.keys is not None:
                _numbered(children)
                if len(node.keys) != len(children) or not all(map(is_key, node.keys)):
                    raise bad(
                        f"{len(node.keys)} keys for {len(children)} items, or an entry that is not a key."
                    )
                if len(set(node.keys)) != len(node.keys):
                    raise bad("a key is there twice.")
        elif children:
            raise bad(f"{type(node).__name__} has no children.")
        if isinstance(node, VariableNode):
            self._variable(node)
        elif isinstance(node, GeneratorNode):
            self._generator(node)
        elif isinstance(node, FunctionNode):
            self._concrete_of(node.function, node.concrete)
        elif isinstance(node, AssetNode):
            _in_table(node.asset, self.model.assets, "asset")

    def _variable(self, node: VariableNode) -> None:
        tensor = self._tensor(node.tensor)
        fits = node.shape is None or (
            len(node.shape) == len(tensor.shape)
            and all(
                dim == size or type(dim) is not int
                for dim, size in zip(node.shape, tensor.shape, strict=True)
            )
        )
        if node.dtype != tensor.dtype or not fits:
            raise bad(f"a variable of {node.dtype}{node.shape} with a value of {tensor.dtype}{tensor.shape}.")

    def _generator(self, node: GeneratorNode) -> None:
        if node.tensor is None:
            return
        tensor = self._tensor(node.tensor)
        if node.seed is not None or tensor.dtype != "int64" or tensor.shape != (2,):
            raise bad(f"a generator with a seed or with a state of {tensor.dtype}{tensor.shape}.")

    def _concrete_of(self, function: int, concrete: int | None) -> ConcreteRecord | None:
        _in_table(function, self.model.functions, "function")
        if concrete is None:
            return None
        concretes = self.model.functions[function].concretes
        _in_table(concrete, concretes, "concrete function")
        return concretes[concrete]

    def _signature(self, signature: SignatureRecord) -> None:
        concrete = self._concrete_of(signature.function, signature.concrete)
        assert concrete is not None
        inputs = len(self.model.graphs[concrete.graph].inputs) - len(concrete.captures)
        leaves: list[Value] = []
        self._value(concrete.outputs, "outputs", leaves)
        outputs = len({leaf.output for leaf in leaves if isinstance(leaf, OutputValue)})
        if len(signature.inputs) != inputs or len(signature.outputs) != outputs:
            raise bad(
                f"{len(signature.inputs)} names of inputs and {len(signature.outputs)} of outputs for a function "
                f"with {inputs} and {outputs}."
            )
        _unique("inputs", signature.inputs)
        _unique("outputs", signature.outputs)


_PLAIN = frozenset((type(None), bool, int, float, complex, str, bytes, DTypeValue))


def _at_node(position: int, reason: str) -> CorruptModelError:
    error = bad(reason)
    error.within(position)
    error.within("nodes")
    return error


def _in_table(index: int, table: Sequence[object], what: str) -> None:
    if index >= len(table):
        raise bad(f"{what} {index} is not in the table of {len(table)}.")


def _unique(field: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            with _within(field):
                raise bad(f"{shown(name)} is there twice.")
        seen.add(name)


def _numbered(children: Sequence[tuple[str, int]]) -> None:
    for number, (name, _) in enumerate(children):
        if name != str(number):
            raise bad(f"child {shown(name)} where {number} belongs.")


def _inline(array: InlineArray) -> None:
    size = byte_count(array.dtype, array.shape)
    if len(array.data) != size:
        raise bad(f"{len(array.data)} bytes for {array.dtype}{array.shape}, which needs {size}.")
    if array.dtype == "bool" and array.data.strip(b"\0\1"):
        raise bad("a bool array holds bytes other than 0 and 1.")


def check_asset(asset: AssetRecord) -> None:
    """Refuse a name that is more than a plain file name on any system."""
    name = asset.name
    if (
        not 1 <= len(name) <= 100
        or name[0] == "."
        or name[-1] == "."
        or not _ASSET_LETTERS.issuperset(name)
        or name.split(".")[0].upper() in _RESERVED
    ):
        raise UnsafeModelError(f"{shown(name)} is not a name that an asset may have.")
