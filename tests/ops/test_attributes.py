"""Ops with equal attributes are one object with one digest, whoever made the first of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.op import Op, define
from graphad.core.registry import all_ops
from graphad.core.schema import schema_of
from graphad.graph.digest import op_key
from graphad.ops.array.reshape import ExpandDims, Reshape
from graphad.ops.linalg.matmul import MatMul
from graphad.ops.math.reduce import ReduceSum
from graphad.ops.nn.pooling_ops import MaxPool


@define
class AttributeProbe(Op):
    """Attributes of every kind, for tests."""

    name = "attribute_probe"
    anything: Any
    whole: tuple[int, ...] | None = None
    flags: tuple[bool, ...] = ()
    number: float = 0.0
    count: int = 0
    on: bool = False

    def infer(self, x: Any) -> Any:
        return x

    def eval(self, x: Any) -> Any:
        return x


FRESH = iter(range(10_000, 20_000))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.int8])
@pytest.mark.parametrize(
    "make", [lambda n: ReduceSum((n,)), lambda n: Reshape((n, 2)), lambda n: ExpandDims((n,))]
)
def test_a_numpy_integer_makes_the_op_that_a_python_integer_makes(kind, make):
    n = 17 if kind in (np.uint8, np.int8) else next(FRESH)
    first = make(kind(n))
    assert make(n) is first
    assert op_key(first) == op_key(make(n))
    values = [getattr(first, name) for name in first.attributes]
    assert "np." not in repr(values)
    assert "numpy" not in op_key(first)


def test_whichever_comes_first_the_digest_is_that_of_python_values():
    n = next(FRESH)
    first = AttributeProbe(
        n, (np.int64(n), 1), (np.True_, False), np.float32(0.5), np.int16(3), np.bool_(True)
    )
    assert first is AttributeProbe(n, (n, 1), (True, False), 0.5, 3, True)
    assert [type(getattr(first, name)) for name in ("number", "count", "on")] == [float, int, bool]
    assert [type(item) for item in (*first.whole, *first.flags)] == [int, int, bool, bool]


@pytest.mark.parametrize("order", [0, 1])
def test_bools_and_numbers_are_kept_apart_where_an_attribute_may_be_either(order):
    n = next(FRESH)
    pair = [(True, n), (1, n), (1.0, n)]
    made = [AttributeProbe(value) for value in (pair if order else pair[::-1])]
    again = [AttributeProbe(value) for value in (pair if order else pair[::-1])]
    assert len({id(op) for op in made}) == 3
    assert [op.anything for op in again] == [op.anything for op in made]
    assert all(a is b for a, b in zip(made, again, strict=True))
    assert len({op_key(op) for op in made}) == 3
    nested = [AttributeProbe(((flag, n),)) for flag in (True, 1)]
    assert nested[0] is not nested[1]
    assert AttributeProbe((0.0, n)) is not AttributeProbe((-0.0, n))
    assert AttributeProbe(1) is not AttributeProbe(True)


def test_an_attribute_of_one_kind_of_numbers_takes_the_other_as_its_own():
    n = next(FRESH)
    assert AttributeProbe(n, (True, n)) is AttributeProbe(n, (1, n))
    assert AttributeProbe(n, (1, n)).whole == (1, n)
    assert AttributeProbe(n, None, (1, 0)).flags == (True, False)
    assert [type(item) for item in AttributeProbe(n, None, (1, 0)).flags] == [bool, bool]
    assert MatMul(np.True_, False) is MatMul(True, False)
    assert MatMul(1, 0) is MatMul(True, False)
    assert ReduceSum((0,), 1) is ReduceSum((0,), True)


def test_an_op_that_holds_numpy_numbers_saves_no_trace_of_them():
    n = np.int64(next(FRESH))
    x = tf.zeros([2, 3])
    assert tf.reshape(x, (np.int64(3), np.int32(2))).shape == (3, 2)
    assert tf.reduce_sum(x, axis=np.int64(1), keepdims=np.bool_(True)).shape == (2, 1)
    assert tf.pad(x, np.array([[0, 1], [1, 0]])).shape == (3, 4)
    assert "np" not in repr(AttributeProbe(n, (n,)))


@pytest.mark.parametrize("name", sorted(all_ops()))
def test_what_messages_call_a_part_is_said_for_attributes_and_inputs(name):
    kind = all_ops()[name]
    inputs = {part.name for part in schema_of(kind).inputs}
    assert isinstance(kind.words, dict) and kind.words.keys() <= set(kind.attributes) | inputs


def test_an_attribute_of_a_window_that_does_not_fit_is_named():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"max_pool: window is \(0, 2\), which"):
        MaxPool((0, 2), (1, 1), "SAME", (1, 1))
