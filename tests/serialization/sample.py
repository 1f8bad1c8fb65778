"""A small model that uses every kind of record, and ways to write damaged ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np

from serialization.schema.graph import GraphRecord, NodeRecord, OpRecord, RuleRecord
from serialization.schema.model import (
    AssetNode,
    ConcreteRecord,
    Default,
    DictNode,
    FeatureRecord,
    FunctionNode,
    FunctionRecord,
    ListNode,
    ModelRecord,
    ModuleNode,
    NoneNode,
    ObjectRecord,
    ParameterRecord,
    SignatureRecord,
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
from serialization.storage.write import write_model
from serialization.wire.header import seal, unseal

ONE = InlineArray("float32", (), b"\0\0\x80\x3f")


def sample() -> ModelRecord:
    """Two graphs, one calling the other through an op; a rule that uses itself; all kinds of objects, one cycle."""
    inner = GraphRecord(
        "inner", (0, 0), (), (NodeRecord(0, (0, 1), (0,), 0), NodeRecord(3, (2,), (0,), None)), (3,)
    )
    outer = GraphRecord(
        None,
        (0, 2, 2),
        (ONE, StoredArray("table")),
        (NodeRecord(1, (0, 3), (0,), 1), NodeRecord(2, (5,), (1, 0))),
        (6, 5),
    )
    return ModelRecord(
        "graphad 0.0.test",
        features=(FeatureRecord("hints", False, b"x"),),
        specs=(
            SpecRecord("float32", (None, 3), "x"),
            SpecRecord("int64", None),
            SpecRecord("float32", ("n", 3), "v", 1),
        ),
        ops=(
            OpRecord("add", 1),
            OpRecord("call", 1, (("graph", GraphValue(0)),)),
            OpRecord(
                "split",
                2,
                (("axis", -1), ("dtype", DTypeValue("float64")), ("scale", (0.5, None, True, "a"))),
            ),
            OpRecord("custom_gradient", 1, (("rule", RuleValue(0)),)),
        ),
        lines=("model.py:3", "model.py:7"),
        graphs=(inner, outer),
        rules=(
            RuleRecord("square", 0, (("inputs", 1), ("outputs", 1)), (True, False), (0, 1)),
            RuleRecord("dropped", None),
        ),
        functions=(
            FunctionRecord(
                "f",
                (
                    ParameterRecord("x", 1),
                    ParameterRecord("mode", 1, Default("fast")),
                    ParameterRecord("rest", 2),
                    ParameterRecord("key", 3, Default(ListValue((1, 2.5, ONE)))),
                    ParameterRecord("named", 4),
                ),
                (SpecValue(0),),
                (
                    ConcreteRecord(
                        "f_0",
                        (
                            (SpecValue(0), "fast"),
                            DictValue((("key", StructValue(0, "Pair", ("a", "b"), (1 + 2j, b"z"))),)),
                        ),
                        ListValue((OutputValue(0), None, DictValue((("y", OutputValue(1)),)))),
                        1,
                        (VariableCapture(1), VariableCapture(1)),
                    ),
                ),
                (("jit_compile", None),),
            ),
        ),
        objects=(
            ObjectRecord(
                ModuleNode("Net", (("units", 3),)),
                (
                    ("w", 1),
                    ("same", 1),
                    ("f", 2),
                    ("layers", 3),
                    ("table", 4),
                    ("pair", 5),
                    ("vocabulary", 6),
                    ("s", 7),
                ),
            ),
            ObjectRecord(VariableNode("w:0", "float32", (None, 3), True, "w", 3, 2)),
            ObjectRecord(FunctionNode(0)),
            ObjectRecord(ListNode(), (("0", 0), ("1", 8))),
            ObjectRecord(DictNode((1, ("a", 2))), (("0", 1), ("1", 8))),
            ObjectRecord(TupleNode("Pair", ("first", "second")), (("0", 1), ("1", 2))),
            ObjectRecord(AssetNode(0)),
            ObjectRecord(SignaturesNode()),
            ObjectRecord(FunctionNode(0, 0)),
            ObjectRecord(NoneNode()),
        ),
        signatures=(SignatureRecord("serving_default", 0, 0, ("x",), ("output_0", "y")),),
    )


def sample_arrays() -> dict[str, np.ndarray[Any, Any]]:
    return {
        "w": np.arange(6, dtype=np.float32).reshape(2, 3),
        "table": np.linspace(0, 1, 300),
        "mask": np.array([True, False, True]),
    }


def save_sample(directory: Any, **options: Any) -> str:
    """The path of the sample model, saved below `directory`."""
    asset = os.path.join(directory, "vocabulary.txt")
    with open(asset, "w") as file:
        file.write("one\ntwo\n")
    path = os.path.join(directory, "model")
    write_model(path, sample(), sample_arrays(), [asset], durable=False, **options)
    return path


def read_file(*parts: str) -> bytes:
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


def write_file(data: bytes, *parts: str) -> None:
    with open(os.path.join(*parts), "wb") as file:
        file.write(data)


def rewrite_body(path: str, change: Callable[[Any], Any]) -> None:
    """Change the manifest's body as a tree, and seal it with a right digest."""
    version, body = unseal(read_file(path, MANIFEST))
    tree = msgpack.unpackb(body, strict_map_key=False)
    write_file(seal(version, msgpack.packb(change(tree))), path, MANIFEST)
