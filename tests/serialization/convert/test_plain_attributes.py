"""Attributes of ops that annotations leave open: what a file may hold in them, and what is not an attribute of a file."""

from __future__ import annotations

from typing import Any

import pytest

from graphad.core.bind import bind
from graphad.core.op import Op, define, no_batch, no_gradient, no_rows
from graphad.core.spec import TensorSpec
from graphad.trace.tracer import trace_flat
from serialization.errors import SaveError
from serialization.schema.values import DictValue, ListValue
from tests.serialization.convert.hostile import loaded, model, node, op, refused
from tests.serialization.convert.in_memory import graphs_through_bytes


@define
class Open(Op):
    """Its input; `what` is anything."""

    name = "open_for_a_test"
    extension = True
    what: Any

    def infer(self, x: TensorSpec) -> TensorSpec:
        return x

    def eval(self, x):
        return x

    vjp = no_gradient("only a test uses it")
    batch = no_batch("only a test uses it")
    rows = no_rows("only a test uses it")


@pytest.mark.parametrize("what", [DictValue(()), ListValue((1, 2))])
def test_an_attribute_is_plain_whatever_its_annotation_leaves_open(what):
    refused(model([node(0, [0])], [op("open_for_a_test", what=what)]), text="which is not a plain value")
    loaded(model([node(0, [0])], [op("open_for_a_test", what=(1, "a", None))]))


def test_an_attribute_that_no_file_can_hold_is_not_saved():
    graph = trace_flat(lambda x: [bind(Open(frozenset((1,))), x)], [TensorSpec((3,), "float32")]).graph
    with pytest.raises(SaveError, match="op 'open_for_a_test' holds a frozenset as 'what'"):
        graphs_through_bytes([graph])
