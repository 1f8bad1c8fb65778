"""Objects, captures and signatures that no writer makes: each is refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd
from serialization.convert.objects import ObjectReader
from serialization.convert.restored import Restored
from serialization.errors import CorruptModelError, LimitExceededError, SaveError
from serialization.schema.graph import NodeRecord
from serialization.schema.model import (
    Default,
    DictNode,
    GeneratorNode,
    ListNode,
    ModelRecord,
    ModuleNode,
    NoneNode,
    ObjectRecord,
    ParameterRecord,
    SignatureRecord,
    TupleNode,
    VariableCapture,
    VariableNode,
)
from serialization.schema.values import (
    DictValue,
    InlineArray,
    OutputValue,
    SpecValue,
)
from serialization.schema.versions import FORMAT_VERSION, model_from_body, model_to_body
from tests.serialization.convert.hostile import (
    ADD,
    ARRAYS,
    SIN,
    Arrays,
    loaded,
    model,
    node,
    op,
    refused,
)
from tests.serialization.convert.in_memory import EMPTY, read, records_of, with_payloads
from tests.support.memory import least_peak

# G7: captures and variables


READ = (op("read"), SIN)


def captured(captures, inputs, nodes=None, ops=READ):
    return model([node(0, [1])] if nodes is None else nodes, ops, inputs=inputs, captures=captures)


def test_captured_variables_of_the_helper_work():
    np.testing.assert_allclose(loaded(captured((VariableCapture(2),), (0, 4))).f(gd.ones([3]))[0], np.ones(3))
    both = captured((VariableCapture(2), VariableCapture(2)), (0, 4, 4))
    found = loaded(both).f.concrete_functions[0].captured_inputs
    assert found[0] is found[1]


@pytest.mark.parametrize(
    "records",
    [
        captured((VariableCapture(9),), (0, 4)),
        captured((VariableCapture(0),), (0, 4)),
        captured((VariableCapture(1),), (0, 4)),
        captured((VariableCapture(2),), (0, 0)),
        captured((VariableCapture(2),), (0, 5)),
        captured((InlineArray("float32", (3,), bytes(12)),), (0, 4)),
        captured((InlineArray("float32", (3,), bytes(11)),), (0, 0), [node(1, [1])]),
        captured((InlineArray("float32", (2,), bytes(8)),), (0, 0), [node(1, [1])]),
        captured((InlineArray("bool", (3,), b"\0\1\2"),), (0, 1), [node(1, [0])]),
        captured((VariableCapture(2),), (0, 4), [node(1, [1])]),
        captured((VariableCapture(2),), (0, 4), [node(0, [0])]),
        captured((VariableCapture(2),), (0, 4), [NodeRecord(2, (1, 0), (0,))], (SIN, SIN, ADD)),
        captured((VariableCapture(2),), (0, 4), [NodeRecord(0, (1, 1), (0,))], (op("assign"),)),
        captured((VariableCapture(2),), (5, 4), [NodeRecord(0, (1, 0), (5,))], (op("assign"),)),
        captured((VariableCapture(2),), (7, 4), [NodeRecord(0, (1, 0), (7,))], (op("assign"),)),
        captured((VariableCapture(2),), (0, 4), [NodeRecord(0, (1,), (4,))], (op("read"),)),
        captured((VariableCapture(2),), (0, 4), [NodeRecord(0, (1, 0), (0,))], (op("random_set_state"), SIN)),
    ],
)
def test_captures_that_do_not_fit_are_refused(records):
    refused(records)


@pytest.mark.parametrize(
    "variable",
    [
        VariableNode("w:0", "float64", (3,), True, "w"),
        VariableNode("w:0", "float32", (4,), True, "w"),
        VariableNode("w:0", "float32", (3, 1), True, "w"),
        VariableNode("w:0", "float32", ("n",), True, "w"),
        VariableNode("w:0", "float32", (3,), True, "other"),
        GeneratorNode(None, "w"),
        GeneratorNode(3, "w"),
    ],
)
def test_variables_that_do_not_fit_their_tensors_are_refused(variable):
    records = model([node(0, [0])])
    refused(records.replace(objects=(*records.objects[:2], ObjectRecord(variable))))


# G8, G9: objects


def objects(*records, base=None):
    base = model([node(0, [0])]) if base is None else base
    return base.replace(objects=records, functions=(), graphs=(), ops=())


@pytest.mark.parametrize(
    "name",
    ["__class__", "__reduce__", "__init__", "__dict__", "a.b", "", "1", "a b", "a-b", "_graphad_class_name"],
)
def test_names_of_attributes_that_mean_something_are_refused(name):
    refused(
        objects(ObjectRecord(ModuleNode("M"), ((name, 1),)), ObjectRecord(ListNode())),
        text="not a name of an attribute",
    )


@pytest.mark.parametrize(
    "name", ["class", "def", "__call__", "named_children", "signatures", "mro", "_x", "ünïcode"]
)
def test_other_names_are_plain_attributes(name):
    found = loaded(objects(ObjectRecord(ModuleNode("M"), ((name, 1),)), ObjectRecord(ListNode())))
    assert type(found) is Restored and (name == "signatures" or vars(found)[name] == [])
    with pytest.raises(TypeError, match="not callable"):
        found()


def test_the_class_name_is_only_shown():
    found = loaded(objects(ObjectRecord(ModuleNode("os.system('\x1b[31m')"))))
    assert type(found) is Restored


def test_children_must_exist_and_names_must_differ():
    refused(objects(ObjectRecord(ListNode(), (("0", 1),))), text="object 1 of 1")
    refused(objects(ObjectRecord(ModuleNode("M"), (("a", 0), ("a", 0)))), text="there twice")
    refused(objects(ObjectRecord(ListNode(), (("1", 0),))), text="where 0 belongs")
    refused(objects(ObjectRecord(TupleNode(), (("0", 0),))), text="holds itself")
    pair = TupleNode("P", ("a", "b"))
    refused(objects(ObjectRecord(pair, (("0", 0), ("1", 0)))), text="holds itself")
    refused(
        objects(ObjectRecord(TupleNode(), (("0", 1),)), ObjectRecord(TupleNode(), (("0", 0),))),
        text="holds itself",
    )
    refused(objects(ObjectRecord(DictNode((1, 1)), (("0", 0), ("1", 0)))), text="twice")
    refused(objects(ObjectRecord(DictNode((1,)), ())), text="keys")
    refused(objects(ObjectRecord(NoneNode(), (("0", 0),))), text="NoneNode has no children")
    refused(objects(), text="no root")


def test_one_none_stands_for_many_items():
    many = tuple((str(k), 1) for k in range(1000))
    assert loaded(objects(ObjectRecord(ListNode(), many), ObjectRecord(NoneNode()))) == [None] * 1000
    assert loaded(objects(ObjectRecord(TupleNode(), many[:2]), ObjectRecord(NoneNode()))) == (None, None)


def test_what_a_variable_says_of_other_devices_is_one_of_four():
    for wrong in ((4, 0), (0, 4), (-1, 0), (True, 0), ("1", 0)):
        with pytest.raises((CorruptModelError, SaveError)):
            loaded(objects(ObjectRecord(VariableNode("w:0", "float32", (3,), True, "w", *wrong))))


def test_cycles_shared_children_and_orphans_load():
    found = loaded(
        objects(
            ObjectRecord(ListNode(), (("0", 0), ("1", 1), ("2", 2))),
            ObjectRecord(TupleNode(), (("0", 0), ("1", 2))),
            ObjectRecord(DictNode(), (("", 1), ("__class__", 0))),
            ObjectRecord(ListNode(), (("0", 3),)),
        )
    )
    assert (
        found[0] is found
        and found[1][0] is found
        and found[2][""] is found[1]
        and found[2]["__class__"] is found
    )


def test_a_chain_of_a_thirty_thousand_objects_needs_no_recursion():
    n = 30_000
    chain = [ObjectRecord(TupleNode(), (("0", k + 1),)) for k in range(n)]
    found = loaded(objects(*chain, ObjectRecord(ListNode())))
    for _ in range(n):
        (found,) = found
    assert found == []


def test_a_custom_class_loads_as_a_plain_object():
    found = loaded(objects(ObjectRecord(ModuleNode("graphad.Module", (("units", 3),)))))
    assert type(found) is Restored and not hasattr(found, "units")


# G12: functions and signatures


@pytest.mark.parametrize(
    "signature",
    [
        SignatureRecord("k", 3, 0, ("x",), ("y",)),
        SignatureRecord("k", 0, 3, ("x",), ("y",)),
        SignatureRecord("k", 0, 0, (), ("y",)),
        SignatureRecord("k", 0, 0, ("x", "z"), ("y",)),
        SignatureRecord("k", 0, 0, ("x",), ()),
        SignatureRecord("k", 0, 0, ("x",), ("y", "z")),
    ],
)
def test_signatures_that_do_not_fit_are_refused(signature):
    refused(model([node(0, [0])]).replace(signatures=(signature,)))


def change_concrete(**changes):
    records = model([node(0, [0])])
    function = records.functions[0]
    return records.replace(
        functions=(function.replace(concretes=(function.concretes[0].replace(**changes),)),)
    )


@pytest.mark.parametrize(
    "records",
    [
        change_concrete(inputs=SpecValue(0)),
        change_concrete(inputs=((SpecValue(0),), ())),
        change_concrete(inputs=((SpecValue(0), SpecValue(0)), DictValue(()))),
        change_concrete(inputs=((), DictValue(((1, SpecValue(0)),)))),
        change_concrete(inputs=((SpecValue(5),), DictValue(()))),
        change_concrete(outputs=OutputValue(1)),
        change_concrete(outputs=SpecValue(0)),
        change_concrete(outputs=(OutputValue(0), 5)),
        change_concrete(inputs=((DictValue(((1, SpecValue(0)),)),), DictValue((("a", SpecValue(0)),)))),
        change_concrete(graph=4),
    ],
)
def test_concrete_functions_that_do_not_fit_are_refused(records):
    refused(records)


@pytest.mark.parametrize(
    "parameters",
    [
        (ParameterRecord("a b", 1),),
        (ParameterRecord("", 1),),
        (ParameterRecord("lambda", 1),),
        (ParameterRecord("a", 1), ParameterRecord("a", 1)),
        (ParameterRecord("a", 3), ParameterRecord("b", 1)),
        (ParameterRecord("a", 1, Default(1)), ParameterRecord("b", 1)),
        (ParameterRecord("a", 2, Default(1)),),
        (ParameterRecord("a", 2), ParameterRecord("b", 2)),
        (ParameterRecord("a", 1, Default(SpecValue(0))),),
    ],
)
def test_parameters_that_make_no_signature_are_refused(parameters):
    records = model([node(0, [0])])
    refused(records.replace(functions=(records.functions[0].replace(parameters=parameters),)))


def test_a_root_without_anything_loads():
    assert type(loaded(with_payloads(ModelRecord("test", objects=EMPTY), {}))) is Restored


# nests, and very many objects


def nested(depth, leaf=1.0):
    found = [leaf]
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize("depth", [1000, 100_000])
def test_arguments_nested_too_deeply_are_refused_in_words(depth):
    f = loaded(model([node(0, [0])])).f
    with pytest.raises(gd.errors.ArgumentTypeError, match="nested too deeply"):
        f(nested(depth))
    with pytest.raises(gd.errors.ArgumentTypeError, match="nested too deeply"):
        gd.function(lambda x: x)(nested(depth))
    endless = []
    endless.append(endless)
    with pytest.raises(gd.errors.ArgumentTypeError, match="nested too deeply"):
        gd.function(lambda x: x)(endless)


def test_objects_nested_deeply_are_saved_and_loaded():
    root = gd.Module()
    root.deep = nested(1500, gd.Variable(2.0))  # more than Python lets calls be nested
    found = read(*records_of(root)).deep
    for _ in range(1501):
        (found,) = found
    assert found.numpy() == 2.0


def test_objects_cost_little_and_are_counted():
    many = objects(*[ObjectRecord(ListNode())] * 20_000)
    body = model_to_body(many)

    def read() -> None:
        root = ObjectReader(model_from_body(FORMAT_VERSION, body), Arrays(ARRAYS)).root()
        assert isinstance(root, list | Restored)

    assert least_peak(read, 45 * len(body)) < 45 * len(body)
    with pytest.raises(LimitExceededError, match="objects"):
        model_from_body(FORMAT_VERSION, model_to_body(objects(*[ObjectRecord(ListNode())] * 300_000)))
