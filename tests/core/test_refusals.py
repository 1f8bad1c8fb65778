"""What the ground floor refuses, each in its own words: a test for every check that no other test would miss."""

from __future__ import annotations

import sys
from collections import UserDict, UserList
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core import dims, dtypes, registry, schema, shapes
from graphad.core.bind import bind, verify_outputs
from graphad.core.errors import GraphadError, InternalError, MissingRuleError
from graphad.core.op import Op, define, evaluated
from graphad.core.references import AT, number
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.passing import Identity
from graphad.ops.array.reshape import Reshape

X = tf.constant([1.0, 2.0])
SPEC = TensorSpec.of((2,), tf.float32)


class OwnDict(UserDict):
    def __init__(self, **given: Any) -> None:
        super().__init__(given)


class OwnList(UserList):
    def __init__(self) -> None:
        super().__init__([1, 2])


def deep(depth: int = 100_000) -> Any:
    x: Any = 1
    for _ in range(depth):
        x = [x]
    return x


def holds_itself() -> list[Any]:
    x: list[Any] = []
    x.append(x)
    return x


class Unarrayed:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("out of order")


REFUSED: list[tuple[Any, Any, str]] = [
    (lambda: X.to_device("cuda"), ValueError, r"device is 'cuda'; tensors live on 'cpu:0'"),
    (
        lambda: tf.convert_to_tensor(tf.IndexedSlices(X, tf.constant([0, 1]))),
        ValueError,
        r"the dense_shape is not known",
    ),
    (lambda: tf.complex64.limits, TypeError, r"complex numbers have no order"),
    (lambda: tf.as_dtype(None), TypeError, r"None is not a dtype"),
    (lambda: tf.as_dtype("M8[s]"), TypeError, r"no dtype for NumPy's datetime64"),
    (lambda: tf.bool.min, TypeError, r"bool has no min"),
    (lambda: registry.lookup("no_such_op"), MissingRuleError, r"there is no op called 'no_such_op'"),
    (lambda: tf.RegisterGradient(3)(abs), TypeError, r"op_type must be a string"),
    (lambda: tf.no_gradient("MatMul"), KeyError, r"Registering two gradient with name 'MatMul'"),
    (lambda: tf.TensorShape(None).as_list(), ValueError, r"as_list\(\) is not defined"),
    (lambda: tf.TensorShape("abc"), TypeError, r"cannot read 'abc' as a shape"),
    (lambda: tf.TensorShape(1.5), TypeError, r"cannot read 1.5 as a shape"),
    (lambda: shapes.ranked(None), InternalError, r"a shape whose rank must be known here has no known rank"),
    (lambda: tf.concat([X, X], "x"), TypeError, r"concat: axis must be an integer, got 'x'"),
    (lambda: shapes.normalize_axis("cut", 0.5, 2), TypeError, r"cut: axis must be an integer, got 0.5"),
    (lambda: tf.reduce_sum(tf.ones([2, 2]), [0, -2]), ValueError, r"axes \(0, -2\) name the same axis twice"),
    (lambda: hash(tf.compat.v1.Dimension(None)), TypeError, r"an unknown size cannot be a key"),
    (lambda: tf.nothing_of_the_kind, AttributeError, r"graphad.nothing_of_the_kind: not part of graphad"),
    (lambda: X.assign(1.0), TypeError, r"a tensor is immutable"),
    (lambda: Tensor.__array__(X), tf.errors.SymbolicConversionError, r"Cannot convert a symbolic"),
    (lambda: Tensor.__index__(X), tf.errors.SymbolicValueError, r"not an index of a Python sequence"),
    (lambda: Identity(1, 2, 3), TypeError, r"3 attributes were given, it has 0"),
    (lambda: Reshape(), TypeError, r"attribute 'shape' is missing"),
    (lambda: Identity(colour=1), TypeError, r"no attributes named \['colour'\]"),
    (lambda: Op.infer(Identity()), MissingRuleError, r"identity: the op has no infer rule"),
    (lambda: Op.eval(Identity()), MissingRuleError, r"identity: the op has no eval rule"),
    (lambda: setattr(Identity(), "name", "x"), AttributeError, r"'name' cannot be set"),
    (lambda: delattr(Identity(), "name"), AttributeError, r"'name' cannot be deleted"),
    (
        lambda: evaluated(Identity(), [np.float32(1)], 2),
        InternalError,
        r"gave 1 outputs where its graph says 2",
    ),
    (lambda: number(("at", 1, 2), [np.array([3, 4])], "fill"), ValueError, r"asks for entry 2 of 2 sizes"),
    (lambda: schema.kind_of("Colour"), InternalError, r"'Colour' is not a kind of attribute"),
    (
        lambda: verify_outputs(Identity(), [SPEC], (np.ones(3, np.float32),)),
        InternalError,
        r"eval gave shape \(3,\) .* infer says",
    ),
    (lambda: tf.constant([1, 2]) + np.full(2, 1.5), TypeError, r"cannot combine an array of dtype float64"),
    (lambda: tf.constant(2**40, tf.int32), ValueError, r"of dtype int32: out of range"),
    (lambda: tf.convert_to_tensor(Unarrayed()), ValueError, r"it gave no array: out of order"),
    (lambda: tf.function(lambda x: X)(deep()), TypeError, r"nested too deeply"),
    (
        lambda: tf.SparseTensor._hidden,
        AttributeError,
        r"type object 'SparseTensor' has no attribute '_hidden'",
    ),
    (lambda: tf.control_dependencies(3).__enter__(), TypeError, r"control_inputs is 3; give a list"),
    (lambda: tf.group(X, "x"), TypeError, r"group: 'x' is not a tensor"),
    (lambda: tf.nest.flatten({1: 2, "a": 3}), TypeError, r"the keys of a dict must be sortable"),
    (lambda: tf.nest.map_structure(abs, OwnDict(a=1)), TypeError, r"OwnDict cannot be made .* takes no dict"),
    (lambda: tf.nest.map_structure(abs, OwnList()), TypeError, r"OwnList cannot be made .* takes no list"),
    (lambda: tf.nest.flatten(holds_itself()), TypeError, r"nested too deeply, or one holds itself"),
    (lambda: tf.nest.pack_sequence_as([1], 3), TypeError, r"flat_sequence is 3; give a list"),
    (lambda: tf.nest.map_structure(3, [1]), TypeError, r"func must be callable, got: 3"),
    (
        lambda: tf.nest.assert_same_structure(holds_itself(), holds_itself()),
        TypeError,
        r"nested too deeply, or one holds itself",
    ),
]


@pytest.mark.parametrize(("call", "kind", "words"), REFUSED, ids=[words for *_, words in REFUSED])
def test_it_is_refused_in_these_words(call: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


A, B = (dims.Dim({(name,): 1}) for name in "ab")


@pytest.mark.parametrize(
    "question",
    [
        lambda: A // 2, lambda: A // B, lambda: 7 // A, lambda: A % 2, lambda: 7 % A, lambda: A == 3, lambda: A == 2 * B,
        lambda: int(A), lambda: float(A), lambda: [1, 2][A], lambda: A < 3,
    ],
)  # fmt: skip
def test_what_a_symbol_does_not_decide_is_not_answered(question: Any) -> None:
    with pytest.raises(dims.UndecidedSize):
        question()


def test_a_symbol_of_a_function_that_is_done_cannot_be_used() -> None:
    left: list[Any] = []
    tf.function(lambda x: left.append(x * 2.0) or x)(X)
    with pytest.raises(tf.errors.OutOfScopeError, match=r"out of scope and cannot be used here"):
        bind(Identity(), left[0])


def test_without_ml_dtypes_there_is_no_bfloat16(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(tf.errors.UnavailableError, match=r"install the package ml_dtypes"):
        dtypes._bfloat16_of_ml_dtypes()


def test_an_op_has_a_name_of_its_own_and_its_rules() -> None:
    with pytest.raises(InternalError, match=r"two ops are called 'identity'"):
        registry.register(type("Other", (Op,), {"name": "identity", "__annotations__": {}}))
    for rules, lacks in (({}, "infer"), ({"infer": lambda self, x: x}, "eval")):
        with pytest.raises(InternalError, match=rf"op class Halved has no {lacks} rule"):
            define(type("Halved", (Op,), {"name": "halved_for_a_test", "__annotations__": {}, **rules}))


def test_an_op_whose_sizes_refer_to_inputs_has_these() -> None:
    op: Any = Reshape(((AT, 1), (AT, 2)))
    with pytest.raises(GraphadError, match=r"reshape: 1 inputs; its sizes refer to more"):
        op.split([1])
