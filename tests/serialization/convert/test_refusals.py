"""What is refused, by which words: one line for each check that other tests do not tell from the next one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as gd
from graphad.core.dtypes import float32
from graphad.core.registry import find
from graphad.core.spec import TensorSpec
from graphad.errors import InvalidArgumentError
from graphad.graph.ir import Graph, Node
from serialization.convert.claims import check_spec
from serialization.convert.graphs import GraphWriter
from serialization.convert.objects import ObjectReader
from serialization.convert.values import Unsavable, output_leaf, spec_leaf, value_record
from serialization.errors import CorruptModelError, LoadError, SaveError
from serialization.schema.graph import RuleRecord
from serialization.schema.model import SignatureRecord, VariableCapture
from serialization.schema.values import (
    DictValue,
    GraphValue,
    InlineArray,
    OutputValue,
    RuleValue,
    SpecValue,
)
from serialization.schema.verify import verify
from tests.serialization.convert.hostile import SIN, Arrays, graph, loaded, model, node, op, refused
from tests.serialization.convert.in_memory import records_of

GOOD = model([node(0, [0])])
RULE = RuleRecord("r", 0, (("outputs", 1),), (True,), ())


def changed(**fields: Any) -> Any:
    """GOOD with other fields of its concrete function."""
    function = GOOD.functions[0]
    return GOOD.replace(functions=(function.replace(concretes=(function.concretes[0].replace(**fields),)),))


MIXED = ((1, SpecValue(0)), ("a", SpecValue(0)))
EMPTY_BODY: dict[str, Any] = {
    "test": None, "body": GraphValue(0), "n_carry": 1, "n_invariant": 0, "n_xs": 0, "reverse": False, "steps": None,
    "uniform": -1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("records", "text"),
    [
        (model([node(0, [0])], [op("sin", x=RuleValue(0))], rules=(RuleRecord("r", None),)), "a RuleValue cannot be"),
        (changed(inputs=((SpecValue(0), InlineArray("float32", (), bytes(4))), DictValue(()))), "arguments and captures for"),
        (changed(inputs=((DictValue(MIXED),), DictValue(()))), "arguments and 0 captures"),
        (
            model([node(0, (3, 0), (0,))], [op("loop", **EMPTY_BODY)], [graph([], outputs=())], (0, 3, 5, 3), outputs=(0,)),
            "the body gives 0 values for 1",
        ),
        (
            model(
                [node(0, (0, 1))],
                [op("closed_custom", rule=RuleValue(0), n_inputs=1, n_outputs=1), SIN],
                [graph([node(1, [0])])],
                (0, 4),
                (VariableCapture(2),),
                (RULE,),
            ),
            "a variable is not an output",
        ),
    ],
)  # fmt: skip
def test_a_model_is_refused_in_these_words(records: Any, text: str) -> None:
    refused(records, text=text)


def test_a_signature_gives_tensors_and_no_nests_of_them() -> None:
    records = model([node(0, [0])], outputs=(0, 1))
    function = records.functions[0]
    concrete = function.concretes[0].replace(outputs=(OutputValue(0), (OutputValue(1),)))
    records = records.replace(
        functions=(function.replace(concretes=(concrete,)),),
        signatures=(SignatureRecord("k", 0, 0, ("x",), ("y", "z")),),
    )
    refused(records, text="something else than a tensor")


def test_a_spec_has_sizes_that_an_array_has() -> None:
    with pytest.raises(CorruptModelError, match="-1 is not a size"):
        check_spec(TensorSpec.of((2, -1), float32))


@pytest.mark.parametrize(
    ("value", "text"),
    [({1, 2}, "a set is not a value"), (DictValue(((DictValue(()), 1),)), "a dict key that is neither")],
)
def test_what_no_codec_gives_is_no_value(value: Any, text: str) -> None:
    with pytest.raises(CorruptModelError, match=text):
        verify(GOOD.replace(ops=(op("sin", x=value),)))


def test_what_graphad_says_while_reading_is_an_error_of_loading(monkeypatch: Any) -> None:
    def fails(_: Any) -> Any:
        raise InvalidArgumentError("sin: no")

    monkeypatch.setattr(ObjectReader, "root", fails)
    with pytest.raises(LoadError, match="sin: no"):
        ObjectReader(GOOD, Arrays()).check()


# calls of what was loaded


def test_a_trace_for_other_arguments_is_not_found() -> None:
    with pytest.raises(ValueError, match="matching concrete function"):
        loaded(GOOD).f.get_concrete_function("x")
    with pytest.raises(TypeError, match="too many positional arguments"):
        loaded(GOOD).f.get_concrete_function(1, 2, 3, 4, 5)


def test_a_signature_that_takes_a_variable_is_given_one() -> None:
    root = gd.Module()
    root.w = gd.Variable(gd.ones([3]))
    root.f = gd.function(lambda v: v * 2.0)
    signature = root.f.get_concrete_function(root.w)
    found = loaded_with(root, {"k": signature}) if signature.inputs[0].is_handle else None
    assert found is not None
    with pytest.raises(TypeError, match="must be a variable like"):
        found.signatures["k"](**{found.signatures["k"].input_names[0]: gd.ones([3])})


def loaded_with(root: Any, signatures: Any) -> Any:
    records, arrays = records_of(root, signatures)
    return ObjectReader(records, arrays).root()


# what cannot be saved


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2**64, "the integer"),
        (np.zeros(100_000), "bytes as a default"),
        ({frozenset((1,)): 1}, "the dict key"),
        (object(), "object objects"),
    ],
    ids=["integer", "array", "key", "object"],
)
def test_a_value_that_a_file_cannot_hold_is_named(value: Any, text: str) -> None:
    with pytest.raises(Unsavable, match=text):
        value_record(value, spec_leaf(lambda spec: 0))


def test_results_that_are_no_tensors_cannot_be_saved() -> None:
    with pytest.raises(SaveError, match="returns a object"):
        output_leaf(object())


def test_an_attribute_that_a_file_cannot_hold_is_named() -> None:
    spec = TensorSpec.of((3,), float32)
    kind: Any = find("concat")
    with pytest.raises(SaveError, match=r"'concat' holds .* as 'axis'"):
        GraphWriter(True).add_graph(Graph([spec], [], [Node(kind(2**70), (0,), 1, (spec,), None)], [1]))


def test_a_name_that_is_no_identifier_cannot_be_saved() -> None:
    root = gd.Module()
    setattr(root, "a b", gd.Variable(1.0))
    with pytest.raises(SaveError, match="'a b' is not an identifier"):
        records_of(root)


def test_a_trace_for_an_object_cannot_be_saved_by_itself() -> None:
    root = gd.Module()
    f = gd.function(lambda x, other: x * 2.0)
    root.c = f.get_concrete_function(gd.TensorSpec([3]), object())
    with pytest.raises(SaveError, match="a trace for object objects"):
        records_of(root)


OPTIONS = (1, object())


def test_a_default_with_an_object_in_it_is_none_in_a_file() -> None:
    def f(x: Any, y: Any = OPTIONS) -> Any:
        return x * 2.0

    root = gd.Module()
    root.f = gd.function(f)
    root.f(gd.ones([3]), 1)
    records, _ = records_of(root)
    assert records.functions[0].parameters[1].default.value is None


def test_results_in_a_dict_with_odd_keys_cannot_be_saved() -> None:
    root = gd.Module()
    root.f = gd.function(lambda x: {frozenset((1,)): x * 2.0}, input_signature=[gd.TensorSpec([3])])
    with pytest.raises(SaveError, match="it returns the dict key"):
        records_of(root)


def test_an_input_signature_with_odd_keys_cannot_be_saved() -> None:
    root = gd.Module()
    spec = {frozenset((1,)): gd.TensorSpec([3])}
    root.f = gd.function(lambda x: [*x.values()][0] * 2.0, input_signature=[spec])
    with pytest.raises(SaveError, match="which a file cannot hold"):
        records_of(root)


def test_a_function_that_captures_the_value_of_another_trace_cannot_be_saved() -> None:
    kept = []

    @gd.function
    def outer(x: Any) -> Any:
        inner = gd.function(lambda: x * 2.0)
        kept.append(inner.get_concrete_function())
        return x

    outer(gd.ones([3]))
    root = gd.Module()
    root.c = kept[0]
    with pytest.raises(SaveError, match="which has no value"):
        records_of(root)
