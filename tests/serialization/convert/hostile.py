"""Models put together by hand, as no writer would, and how they must be refused."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from serialization.errors import (
    CorruptModelError,
    LoadError,
)
from serialization.schema.graph import GraphRecord, NodeRecord, OpRecord
from serialization.schema.model import (
    ConcreteRecord,
    FunctionNode,
    FunctionRecord,
    ModelRecord,
    ModuleNode,
    ObjectRecord,
    ParameterRecord,
    VariableNode,
)
from serialization.schema.values import (
    DictValue,
    OutputValue,
    SpecRecord,
    SpecValue,
)
from tests.serialization.convert.in_memory import read, with_payloads
from tests.support.work import calls_in

F = SpecRecord("float32", (3,))  # spec 0
ANY = SpecRecord("float32", None)  # spec 1
BOOL = SpecRecord("bool", ())  # spec 2
INT = SpecRecord("int32", ())  # spec 3
HANDLE = SpecRecord("float32", (3,), None, 1)  # spec 4
DOUBLE = SpecRecord("float64", (3,))  # spec 5
SOME = SpecRecord("float32", (None,))  # spec 6
FIVE = SpecRecord("float32", (5,))  # spec 7
SPECS = (F, ANY, BOOL, INT, HANDLE, DOUBLE, SOME, FIVE)
WEIGHT = (ObjectRecord(VariableNode("w:0", "float32", (3,), True, "w")),)
ARRAYS = {"w": np.ones(3, np.float32)}
SIN, ADD = OpRecord("sin", 1), OpRecord("add", 1)


def op(name, **attributes):
    return OpRecord(name, 1, tuple(attributes.items()))


def graph(nodes, inputs=(0,), outputs=None, constants=(), name="g"):
    """A graph; by default it gives its last value."""
    count = len(inputs) + len(constants) + sum(len(node.specs) for node in nodes)
    return GraphRecord(
        name, tuple(inputs), tuple(constants), tuple(nodes), (count - 1,) if outputs is None else outputs
    )


def model(
    nodes=(),
    ops=(SIN,),
    graphs=(),
    inputs=(0,),
    captures=(),
    rules=(),
    specs=SPECS,
    outputs=None,
    arguments=None,
):
    """A model whose object has one function `f` with one graph, the last of the table."""
    last = graph(nodes, inputs, outputs)
    arguments = inputs[: len(inputs) - len(captures)] if arguments is None else arguments
    function = FunctionRecord(
        "f",
        tuple(ParameterRecord(f"x{k}", 1) for k in range(len(arguments))),
        None,
        (
            ConcreteRecord(
                "f",
                (tuple(SpecValue(i) for i in arguments), DictValue(())),
                tuple(OutputValue(k) for k in range(len(last.outputs))),
                len(graphs),
                tuple(captures),
            ),
        ),
    )
    return with_payloads(
        ModelRecord(
            "test",
            specs=specs,
            ops=tuple(ops),
            graphs=(*graphs, last),
            rules=tuple(rules),
            functions=(function,),
            objects=(ObjectRecord(ModuleNode("M"), (("f", 1),)), ObjectRecord(FunctionNode(0)), *WEIGHT),
        ),
        ARRAYS,
    )


def node(number, inputs, specs=(0,)):
    return NodeRecord(number, tuple(inputs), tuple(specs))


class Arrays(dict):
    def is_ready(self, name):
        return True


def loaded(records):
    return read(records, Arrays(ARRAYS))


def refused(records, error=CorruptModelError, text=""):
    """Loading fails in this way, quickly and without much memory."""
    caught = None

    def load():
        nonlocal caught
        with pytest.raises(error, match=text or None) as caught:
            loaded(records)

    tracemalloc.start()
    try:
        assert calls_in(load) < 1_000_000
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert isinstance(caught.value, LoadError)
    return caught.value
