"""Each rule of a well-formed model, broken once: the error names the field."""

from __future__ import annotations

import pytest

from serialization.errors import CorruptModelError, LimitExceededError, UnsafeModelError
from serialization.schema.graph import GraphRecord, NodeRecord, OpRecord, RuleRecord
from serialization.schema.model import (
    AssetNode,
    AssetRecord,
    ConcreteRecord,
    Default,
    DictNode,
    FeatureRecord,
    FunctionNode,
    FunctionRecord,
    ListNode,
    ModelRecord,
    ModuleNode,
    ObjectRecord,
    ParameterRecord,
    PayloadRecord,
    SignatureRecord,
    TupleNode,
    VariableCapture,
    VariableNode,
)
from serialization.schema.values import (
    DictValue,
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
from serialization.schema.verify import verify
from serialization.wire.arrays import TensorRecord, chunk_count, plan_layout
from serialization.wire.limits import Limits

ROOT = ObjectRecord(ModuleNode("M"))
SPECS = (SpecRecord("float32", (None,)),)
ADD = OpRecord("add", 1)
LINE = GraphRecord("g", (0,), (), (NodeRecord(0, (0, 0), (0,)),), (1,))
GOOD = ModelRecord("p", specs=SPECS, ops=(ADD,), graphs=(LINE,), objects=(ROOT,))


def payload(*tensors):
    size = plan_layout(tensors).size
    return PayloadRecord(tensors, bytes(4 * chunk_count(size)))


def function(**changes):
    concrete = ConcreteRecord("c", (SpecValue(0),), OutputValue(0), 0)
    return FunctionRecord("f", (), None, (concrete.replace(**changes),))


def parameters(*given):
    return GOOD.replace(functions=(FunctionRecord("f", given, None, ()),))


def graph(**changes):
    return GOOD.replace(graphs=(LINE.replace(**changes),))


def objects(*records):
    return GOOD.replace(objects=records)


def attribute(value):
    return GOOD.replace(ops=(OpRecord("add", 1, (("a", value),)),))


W = TensorRecord("w", "float32", (2,))
BROKEN = {
    "objects: there is no root": GOOD.replace(objects=()),
    "features: 'a' is there twice": GOOD.replace(features=(FeatureRecord("a", False, b""),) * 2),
    # graphs
    "graphs[0].nodes[0]: op 1": graph(nodes=(NodeRecord(1, (0,), (0,)),)),
    "graphs[0].nodes[0]: input 1 is not defined": graph(nodes=(NodeRecord(0, (0, 1), (0,)),)),
    "graphs[0].nodes[0]: input 9": graph(nodes=(NodeRecord(0, (9,), (0,)),)),
    "graphs[0].nodes[0]: spec 1": graph(nodes=(NodeRecord(0, (0,), (1,)),)),
    "graphs[0].nodes[0]: line 0": graph(nodes=(NodeRecord(0, (0,), (0,), 0),)),
    "graphs[0]: input spec 5": graph(inputs=(5,)),
    "graphs[0]: output 2": graph(outputs=(2,)),
    "graphs[0].constants[0]: 3 bytes for": graph(constants=(InlineArray("float32", (), b"123"),)),
    "graphs[0].constants[0]: 4 bytes for": graph(constants=(InlineArray("float32", (2**40, 2**40), b"1234"),)),
    "graphs[0].constants[0]: a bool": graph(constants=(InlineArray("bool", (2,), b"\1\2"),)),
    "graphs[0].constants[0]: tensor 'w'": graph(constants=(StoredArray("w"),)),
    "graphs[0].nodes[0]: it calls graph 0": attribute(GraphValue(0)),
    "ops[0]: graph 1": attribute(GraphValue(1)),
    "ops[0]: rule 0": attribute((DictValue((("k", RuleValue(0)),)),)),
    "ops[0].attributes.'a': a spec only": attribute(SpecValue(0)),
    "ops[0].attributes.'a': an output only": attribute(OutputValue(0)),
    "ops[0].attributes.'a': an array is no": attribute(InlineArray("bool", (), b"\0")),
    "ops[0].attributes: 'a' is there twice": GOOD.replace(ops=(OpRecord("add", 1, (("a", 1), ("a", 2))),)),
    "ops[0]: an op without": GOOD.replace(ops=(OpRecord("", 1),)),
    "ops[0].attributes.'a': 1 items for the names": attribute(StructValue(0, "P", ("x", "y"), (1,))),
    "ops[0].attributes.'a': 'import os' is not a name": attribute(StructValue(0, "import os", (), ())),
    "ops[0].attributes.'a': '__class__' is not a name": attribute(StructValue(1, "P", ("__class__",), (1,))),
    # rules
    "rules[0]: graph 4": GOOD.replace(rules=(RuleRecord("r", 4),)),
    "rules[0]: rule 1": GOOD.replace(rules=(RuleRecord("r", None, rules=(1,)),)),
    "rules[0].counts: 'n' is there": GOOD.replace(rules=(RuleRecord("r", None, (("n", 1), ("n", 1))),)),
    "rules[0]: its graph refers to rules [0]": attribute(RuleValue(0)).replace(rules=(RuleRecord("r", 0),)),
    # functions
    "functions[0].concretes[0]: graph 1": GOOD.replace(functions=(function(graph=1),)),
    "functions[0].concretes[0].inputs: spec 1": GOOD.replace(functions=(function(inputs=SpecValue(1)),)),
    "functions[0].concretes[0]: 0 arguments and 0": GOOD.replace(functions=(function(inputs=()),)),
    "functions[0].concretes[0].outputs: output 1": GOOD.replace(functions=(function(outputs=OutputValue(1)),)),
    "functions[0].concretes[0].outputs: a spec": GOOD.replace(functions=(function(outputs=SpecValue(0)),)),
    "functions[0].concretes[0].captures[0]: object 0": GOOD.replace(
        functions=(function(inputs=(), captures=(VariableCapture(0),)),)
    ),
    "functions[0].concretes[0].captures[0]: object 1": GOOD.replace(
        functions=(function(inputs=(), captures=(VariableCapture(1),)),)
    ),
    "functions[0].concretes[0].captures[0]: tensor": GOOD.replace(
        functions=(function(inputs=(), captures=(StoredArray("w"),)),)
    ),
    "functions[0].input_signature: a GraphValue": GOOD.replace(functions=(FunctionRecord("f", (), GraphValue(0), ()),)),
    "functions[0].options: 'a' is there": GOOD.replace(functions=(FunctionRecord("f", (), None, (), (("a", 1), ("a", 1))),)),
    "functions[0].parameters: 'x' is there": parameters(ParameterRecord("x", 1), ParameterRecord("x", 1)),
    "functions[0].parameters[0]: 'x y' is no": parameters(ParameterRecord("x y", 1)),
    "functions[0].parameters[1]: 'y': a parameter": parameters(ParameterRecord("x", 3), ParameterRecord("y", 1)),
    "functions[0].parameters[1]: 'y': a parameter of": parameters(ParameterRecord("x", 2), ParameterRecord("y", 2)),
    "functions[0].parameters[1]: 'y' has no": parameters(ParameterRecord("x", 1, Default(1)), ParameterRecord("y", 1)),
    "functions[0].parameters[0]: 'x' cannot": parameters(ParameterRecord("x", 4, Default(1))),
    "functions[0].parameters[0].default: a spec": parameters(ParameterRecord("x", 1, Default(SpecValue(0)))),
    # objects
    "objects[0]: child 'a' is object 7": objects(ObjectRecord(ModuleNode("M"), (("a", 7),))),
    "objects[0].children: 'a' is there": objects(ObjectRecord(ModuleNode("M"), (("a", 0), ("a", 0)))),
    "objects[0]: '__class__' is no": objects(ObjectRecord(ModuleNode("M"), (("__class__", 0),))),
    "objects[0]: '__reduce__' is no": objects(ObjectRecord(ModuleNode("M"), (("__reduce__", 0),))),
    "objects[0]: 'a.b' is no": objects(ObjectRecord(ModuleNode("M"), (("a.b", 0),))),
    "objects[0]: '' is no": objects(ObjectRecord(ModuleNode("M"), (("", 0),))),
    "objects[0].attributes.'a': a spec": objects(ObjectRecord(ModuleNode("M", (("a", SpecValue(0)),)))),
    "objects[0]: child '1' where 0": objects(ObjectRecord(ListNode(), (("1", 0),))),
    "objects[0]: child 'a' where 0": objects(ObjectRecord(TupleNode(), (("a", 0),))),
    "objects[0]: 1 items for the names": objects(ObjectRecord(TupleNode("P", ("a", "b")), (("0", 0),))),
    "objects[0]: '_a' is no": objects(ObjectRecord(TupleNode("P", ("_a",)), (("0", 0),))),
    "objects[0]: 2 keys for 1": objects(ObjectRecord(DictNode((1, 2)), (("0", 0),))),
    "objects[0]: a key is there twice": objects(ObjectRecord(DictNode((1, True)), (("0", 0), ("1", 0)))),
    "objects[0]: 1 keys for 1 items, or an entry": objects(ObjectRecord(DictNode((DictValue(()),)), (("0", 0),))),
    "objects[1]: AssetNode has no children": objects(ROOT, ObjectRecord(AssetNode(0), (("a", 0),))),
    "objects[1]: asset 0": objects(ROOT, ObjectRecord(AssetNode(0))),
    "objects[1]: function 0": objects(ROOT, ObjectRecord(FunctionNode(0))),
    "objects[1]: tensor 'w'": objects(ROOT, ObjectRecord(VariableNode("w", "float32", (2,), True, "w"))),
    "objects[1]: a variable of float64": objects(
        ROOT, ObjectRecord(VariableNode("w", "float64", (2,), True, "w"))
    ).replace(payloads=(payload(W),)),
    "objects[1]: a variable of float32(3,)": objects(
        ROOT, ObjectRecord(VariableNode("w", "float32", (3,), True, "w"))
    ).replace(payloads=(payload(W),)),
    "objects[1]: a variable of float32(None, 2)": objects(
        ROOT, ObjectRecord(VariableNode("w", "float32", (None, 2), True, "w"))
    ).replace(payloads=(payload(W),)),
    # signatures
    "signatures[0]: function 0": GOOD.replace(signatures=(SignatureRecord("k", 0, 0, (), ()),)),
    "signatures[0]: concrete function 1": GOOD.replace(
        functions=(function(),), signatures=(SignatureRecord("k", 0, 1, (), ()),)
    ),
    "signatures[0]: 0 names of inputs": GOOD.replace(
        functions=(function(),), signatures=(SignatureRecord("k", 0, 0, (), ("y",)),)
    ),
    "signatures[0]: 1 names of inputs and 2": GOOD.replace(
        functions=(function(),), signatures=(SignatureRecord("k", 0, 0, ("x",), ("y", "z")),)
    ),
    "signatures: 'k' is there twice": GOOD.replace(
        functions=(function(),), signatures=(SignatureRecord("k", 0, 0, ("x",), ("y",)),) * 2
    ),
    # payloads
    "payloads[0]: tensor 'w' is there twice": GOOD.replace(payloads=(payload(W, W),)),
    "payloads[1]: tensor 'w' is there twice": GOOD.replace(payloads=(payload(W), payload(W))),
    "payloads[0]: tensor name ''": GOOD.replace(payloads=(payload(W.replace(name="")),)),
    "payloads[0]: tensor name '__pad__0'": GOOD.replace(payloads=(payload(W.replace(name="__pad__0")),)),
    "payloads[0]: tensor name '__metadata__'": GOOD.replace(payloads=(payload(W.replace(name="__metadata__")),)),
    "payloads[0]: 0 bytes of checks": GOOD.replace(payloads=(PayloadRecord((W,), b""),)),
    "payloads[0]: 8 bytes of checks": GOOD.replace(payloads=(PayloadRecord((W,), bytes(8)),)),
    "payloads[0]: 1 bytes of checks": GOOD.replace(payloads=(PayloadRecord((W,), bytes(1)),)),
}  # fmt: skip


def test_good_model_is_good():
    verify(GOOD)
    verify(GOOD.replace(functions=(function(),), signatures=(SignatureRecord("k", 0, 0, ("x",), ("y",)),)))
    verify(objects(ObjectRecord(ModuleNode("M"), (("me", 0), ("__call__", 0), ("_private", 0)))))
    verify(GOOD.replace(payloads=(payload(W),)))
    verify(attribute(RuleValue(0)).replace(rules=(RuleRecord("r", 0, rules=(0,)),)))


@pytest.mark.parametrize("message", BROKEN)
def test_broken_rule_is_named(message):
    with pytest.raises(CorruptModelError) as caught:
        verify(BROKEN[message])
    assert str(caught.value).startswith(f"load: {message}")


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "a/b", "a\\b", "/etc/passwd", "~", "a\0", "a\n", "NUL", "nul.txt", "com1", "a:b", "a.",
             "a ", "\u2025", "%2e%2e/", "$HOME", "x" * 101, "\u00e9"]
)  # fmt: skip
def test_names_that_are_no_plain_file_names_are_unsafe(name):
    with pytest.raises(UnsafeModelError, match=r"assets\[0\]"):
        verify(GOOD.replace(assets=(AssetRecord(name, 1, bytes(32)),)))


def test_huge_tensors_are_refused_by_arithmetic():
    for shape in [(2**32, 2**32, 2**32), (2**47,)]:
        with pytest.raises(CorruptModelError, match="0 bytes of checks"):
            verify(GOOD.replace(payloads=(PayloadRecord((TensorRecord("w", "complex128", shape),), b""),)))
    for shape in [(2**47, 2**47, 0), (2**40, 0, 2**40)]:
        with pytest.raises(CorruptModelError, match="no array"):
            verify(GOOD.replace(payloads=(PayloadRecord((TensorRecord("w", "int8", shape),), b""),)))
    with pytest.raises(LimitExceededError, match="rank"):
        verify(GOOD.replace(payloads=(PayloadRecord((TensorRecord("w", "int8", (1,) * 65),), bytes(4)),)))


def test_long_chains_of_objects_and_graphs_need_no_recursion():
    count = 100_000
    chain = tuple(ObjectRecord(ModuleNode("M"), (("next", (k + 1) % count),)) for k in range(count))
    verify(objects(*chain))
    calls = tuple(OpRecord("call", 1, (("graph", GraphValue(k)),)) for k in range(5000))
    first = GraphRecord(None, (0,), (), (), (0,))
    callers = tuple(GraphRecord(None, (0,), (), (NodeRecord(k, (0,), (0,)),), (1,)) for k in range(5000))
    verify(GOOD.replace(ops=calls, graphs=(first, *callers)))


def doubling(levels, attributes):
    """Graphs of which each holds the one before twice."""
    ops = tuple(OpRecord("held", 1, attributes(GraphValue(k))) for k in range(levels))
    first = GraphRecord(None, (0,), (), (), (0,))
    graphs = tuple(
        GraphRecord(
            None, (0,), (), tuple(NodeRecord(k, (0,), (0,)) for _ in range(3 - len(op.attributes))), (1,)
        )
        for k, op in enumerate(ops)
    )
    return GOOD.replace(ops=ops, graphs=(first, *graphs), functions=())


@pytest.mark.parametrize(
    "attributes",
    [
        lambda graph: (("graph", graph),),
        lambda graph: (("then_graph", graph), ("else_graph", graph)),
        lambda graph: (("nested", ListValue((graph, (graph,)))), ("other", 1)),
    ],
)
def test_graphs_that_double_with_each_level_are_counted_as_if_written_out(attributes):
    verify(doubling(19, attributes))
    with pytest.raises(LimitExceededError, match=r"graphs\[2\d\]: .* 'expanded_nodes'"):
        verify(doubling(40, attributes))
    verify(doubling(21, attributes), Limits(expanded_nodes=10**8))
