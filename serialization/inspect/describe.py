"""A description of a saved model as plain data: objects, variables, functions, signatures, custom gradients, files and their
digests. It reads records only: no op is created and graphad is not imported, so that a model of unknown origin can be
inspected.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from serialization.schema.graph import GraphRecord, OpRecord
from serialization.schema.model import (
    AssetNode,
    ConcreteRecord,
    DictNode,
    FunctionNode,
    FunctionRecord,
    GeneratorNode,
    ListNode,
    ModelRecord,
    ModuleNode,
    NoneNode,
    SignaturesNode,
    TupleNode,
    VariableCapture,
    VariableNode,
)
from serialization.schema.values import (
    DictValue,
    DTypeValue,
    GraphValue,
    InlineArray,
    ListValue,
    OutputValue,
    RuleValue,
    SpecRecord,
    SpecValue,
    StoredArray,
    StructValue,
)
from serialization.storage.places import MANIFEST
from serialization.storage.read import read_model
from serialization.wire.arrays import byte_count, payload_name, plan_layout
from serialization.wire.header import DIGEST_BYTES, HEADER_BYTES

if TYPE_CHECKING:
    from serialization.wire.record import Record


Described = dict[str, Any]


def describe(path: str | os.PathLike[str], graphs: bool = False, links: str = "refuse") -> Described:
    """A description of the contents of a saved model.

    Args:
      path: The model's directory.
      graphs: Also the nodes of every graph.
      links: "refuse" or "follow" files that are links.
    Raises: LoadError: there is no sound model.
    """
    model, _ = read_model(path, links=links)
    version, digest, size = _manifest(path)
    sizes = [(plan_layout(payload.tensors).size, payload) for payload in model.payloads]
    found: Described = {
        "path": os.fspath(path),
        "format_version": version,
        "producer": model.producer,
        "features": [{"name": f.name, "required": f.required} for f in model.features],
        "manifest": {"bytes": size, "sha256": digest},
        "payloads": [
            {
                "file": payload_name(size, payload.checks),
                "bytes": size,
                "tensors": len(payload.tensors),
                "sha256": None if payload.sha256 is None else payload.sha256.hex(),
            }
            for size, payload in sizes
        ],
        "assets": [{"name": a.name, "bytes": a.size, "sha256": a.sha256.hex()} for a in model.assets],
        "counts": _counts(model),
        "objects": _objects(model),
        "variables": _variables(model),
        "functions": [_function(model, f) for f in model.functions],
        "signatures": _signatures(model),
        "custom_gradients": [
            {
                "name": r.name,
                "saved": r.graph is not None,
                "nodes": None if r.graph is None else len(model.graphs[r.graph].nodes),
            }
            for r in model.rules
        ],
    }
    if graphs:
        found["graphs"] = [_graph(model, k, g) for k, g in enumerate(model.graphs)]
    return found


def _manifest(path: str | os.PathLike[str]) -> tuple[int, str, int]:
    """Version, digest and size of a manifest that has been read and found sound."""
    with open(os.path.join(os.fspath(path), MANIFEST), "rb") as file:
        head = file.read(HEADER_BYTES)
        size = file.seek(-DIGEST_BYTES, os.SEEK_END) + DIGEST_BYTES
        return struct.unpack_from("<I", head, 8)[0], file.read(DIGEST_BYTES).hex(), size


def _counts(model: ModelRecord) -> dict[str, int]:
    return {
        "objects": len(model.objects),
        "functions": len(model.functions),
        "graphs": len(model.graphs),
        "nodes": sum(len(graph.nodes) for graph in model.graphs),
        "ops": len(model.ops),
        "tensors": sum(len(payload.tensors) for payload in model.payloads),
    }


# -- objects -------------------------------------------------------------------------------------------------------------


def _objects(model: ModelRecord) -> list[Described]:
    """The objects in the order of a walk from the root; a repeated one is only named."""
    found: list[Described] = []
    seen: dict[int, str] = {}
    stack = [("", "", 0, 0)]
    while stack:
        name, path, number, depth = stack.pop()
        entry = {"name": name, "depth": depth, "kind": _kind(model, number)}
        found.append(entry)
        if number in seen:
            entry["same_as"] = seen[number]
            continue
        seen[number] = path or "root"
        children = model.objects[number].children
        labels = _labels(model.objects[number].node, [child for child, _ in children])
        for label, (child, target) in reversed(list(zip(labels, children, strict=True))):
            below = f"{path}.{child}" if path else child
            stack.append((label, below if len(below) <= 200 else f"...{below[-197:]}", target, depth + 1))
    return found


def _labels(node: Record, names: Sequence[str]) -> list[str]:
    if isinstance(node, DictNode):
        keys: Sequence[Any] = names if node.keys is None else node.keys
        return [f"[{_value(key)}]" for key in keys]
    if isinstance(node, TupleNode) and node.names is not None:
        return list(node.names)
    return [f"[{name}]" for name in names] if isinstance(node, ListNode | TupleNode) else list(names)


def _kind(model: ModelRecord, number: int) -> str:
    node = model.objects[number].node
    if isinstance(node, ModuleNode):
        return f"object {node.class_name}"
    if isinstance(node, VariableNode):
        return f"variable {_spec_text(node.dtype, node.shape)}"
    if isinstance(node, FunctionNode):
        name = model.functions[node.function].name
        return f"function {name}" if node.concrete is None else f"concrete function {name} #{node.concrete}"
    if isinstance(node, AssetNode):
        return f"asset {model.assets[node.asset].name}"
    if isinstance(node, GeneratorNode):
        own = "of its own" if node.tensor is not None else "of the process"
        return f"generator {own}" if node.seed is None else f"generator {own}, seed {node.seed}"
    if isinstance(node, TupleNode):
        return "tuple" if node.names is None else f"named tuple {node.class_name}"
    return {ListNode: "list", DictNode: "dict", SignaturesNode: "signatures", NoneNode: "None"}[type(node)]


def _variables(model: ModelRecord) -> list[Described]:
    tensors = {tensor.name: tensor for payload in model.payloads for tensor in payload.tensors}
    found = []
    for record in model.objects:
        node = record.node
        if isinstance(node, VariableNode):
            tensor = tensors[node.tensor]
            found.append(
                {
                    "name": node.name,
                    "tensor": node.tensor,
                    "dtype": node.dtype,
                    "shape": None if node.shape is None else list(node.shape),
                    "value_shape": list(tensor.shape),
                    "bytes": byte_count(tensor.dtype, tensor.shape),
                    "trainable": node.trainable,
                }
            )
    return found


# -- functions -----------------------------------------------------------------------------------------------------------

_STARS = {2: "*", 4: "**"}


def _function(model: ModelRecord, record: FunctionRecord) -> Described:
    parameters = []
    for p in record.parameters:
        default = "" if p.default is None else f"={_value(p.default.value, model)}"
        parameters.append(f"{_STARS.get(p.kind, '')}{p.name}{default}")
    return {
        "name": record.name,
        "parameters": parameters,
        "input_signature": None if record.input_signature is None else _value(record.input_signature, model),
        "options": {
            name: value
            for name, value in record.options
            if value is None or isinstance(value, bool | int | str)
        },
        "traces": [_trace(model, concrete) for concrete in record.concretes],
    }


def _trace(model: ModelRecord, concrete: ConcreteRecord) -> Described:
    graph = model.graphs[concrete.graph]
    captures = []
    for capture in concrete.captures:
        if isinstance(capture, VariableCapture):
            captures.append(f"object {capture.object}: {_kind(model, capture.object)}")
        else:
            captures.append(_array(capture))
    return {
        "inputs": _value(concrete.inputs, model),
        "outputs": _value(concrete.outputs, model),
        "graph": concrete.graph,
        "nodes": len(graph.nodes),
        "captures": captures,
    }


def _signatures(model: ModelRecord) -> list[Described]:
    found = []
    for record in model.signatures:
        concrete = model.functions[record.function].concretes[record.concrete]
        graph = model.graphs[concrete.graph]
        specs = [_spec(model.specs[i]) for i in graph.inputs[: len(record.inputs)]]
        found.append(
            {
                "key": record.key,
                "inputs": dict(zip(record.inputs, specs, strict=True)),
                "outputs": list(record.outputs),
                "function": model.functions[record.function].name,
            }
        )
    return found


# -- graphs --------------------------------------------------------------------------------------------------------------


def _graph(model: ModelRecord, number: int, graph: GraphRecord) -> Described:
    following = len(graph.inputs) + len(graph.constants)
    nodes = []
    for node in graph.nodes:
        outputs = [f"%{following + k}: {_spec(model.specs[spec])}" for k, spec in enumerate(node.specs)]
        following += len(node.specs)
        text = f"{_op(model, model.ops[node.op])}({', '.join(f'%{i}' for i in node.inputs)})"
        line = None if node.line is None else model.lines[node.line]
        nodes.append({"outputs": outputs, "op": text, "line": line})
    first = len(graph.inputs)
    return {
        "number": number,
        "name": graph.name,
        "inputs": [f"%{k}: {_spec(model.specs[i])}" for k, i in enumerate(graph.inputs)],
        "constants": [f"%{first + k}: {_array(array)}" for k, array in enumerate(graph.constants)],
        "nodes": nodes,
        "outputs": [f"%{i}" for i in graph.outputs],
    }


def _op(model: ModelRecord, op: OpRecord) -> str:
    attributes = ", ".join(f"{name}={_value(value, model)}" for name, value in op.attributes)
    return f"{op.name}[{attributes}]" if attributes else op.name


def _array(array: InlineArray | StoredArray) -> str:
    if isinstance(array, StoredArray):
        return f"tensor {array.tensor}"
    return f"constant {_spec_text(array.dtype, array.shape)}"


def _spec(spec: SpecRecord) -> str:
    text = _spec_text(spec.dtype, spec.shape)
    return f"variable {text}" if spec.kind else text


def _spec_text(dtype: str, shape: Sequence[Any] | None) -> str:
    if shape is None:
        return f"{dtype}[...]"
    return f"{dtype}[{', '.join('?' if size is None else str(size) for size in shape)}]"


def _value(value: Any, model: ModelRecord | None = None) -> str:
    """A value of a signature or an attribute as text."""

    def inner(items: Any) -> str:
        return ", ".join(_value(item, model) for item in items)

    if isinstance(value, ListValue):
        return f"[{inner(value.items)}]"
    if isinstance(value, DictValue):
        return "{" + ", ".join(f"{_value(key)}: {_value(item, model)}" for key, item in value.items) + "}"
    if isinstance(value, StructValue):
        pairs = zip(value.names, value.items, strict=True)
        return f"{value.name}({', '.join(f'{name}={_value(item, model)}' for name, item in pairs)})"
    if isinstance(value, SpecValue) and model is not None:
        return _spec(model.specs[value.spec])
    if isinstance(value, OutputValue):
        return f"output {value.output}"
    if isinstance(value, DTypeValue):
        return value.name
    if isinstance(value, GraphValue):
        return f"graph {value.graph}"
    if isinstance(value, RuleValue) and model is not None:
        return f"rule {value.rule} {model.rules[value.rule].name!r}"
    if isinstance(value, InlineArray):
        return _array(value)
    if type(value) is tuple:
        return f"({inner(value)}{',' if len(value) == 1 else ''})"
    return repr(value)
