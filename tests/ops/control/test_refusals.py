"""What control flow refuses, each in its own words: a test for every check that no other test would miss."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.bind import bind
from graphad.core.errors import UnansweredError
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.ops.control import stacks
from graphad.ops.control.cond import mask_rows
from graphad.ops.control.custom import ClosedCustom, ClosedRule, UnsavedCustom
from graphad.ops.control.loop import Loop
from graphad.ops.control.loop_rows import _finished
from graphad.ops.control.parts import Part
from graphad.trace.specialise import specialise
from graphad.trace.tracer import trace_flat

X = tf.constant([[1.0, 2.0], [3.0, 4.0]])
F32 = TensorSpec.of((2,), tf.float32)
ROW = TensorSpec.of((), tf.float32)


def array(size: int = 2, **more: Any) -> tf.TensorArray:
    return tf.TensorArray(tf.float32, size, **more)


def traced(function: Any, *specs: Any) -> Any:
    return tf.function(function, input_signature=list(specs)).get_concrete_function()


def loop(body: Any, specs: Any, carries: int, **more: Any) -> Any:
    return Loop(None, trace_flat(body, specs).graph, carries, 0, len(specs) - carries, **more)


COUNTER = tf.Variable(0.0)


def effectful(x: Any, v: Any = COUNTER) -> Any:
    return tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x * v.assign_add(1.0) * x), (0, x))[1]


def third_derivative_by_one_tape() -> Any:
    """Of what assigns, by the tape that has recorded its own gradients."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(X)
            y = tf.function(effectful)(X)
            for _ in range(4):
                y = tape.gradient(y, X)
    return y


REFUSED: list[tuple[Any, Any, str]] = [
    (lambda: tf.map_fn(lambda x: x, []), ValueError, r"map_fn: elems must be .* it is empty"),
    (
        lambda: tf.scan(lambda a, x: tf.cast(x, tf.float64), X, tf.zeros([2])),
        TypeError,
        r"scan: fn returned dtype float64, the initializer has dtype float32",
    ),
    (
        lambda: tf.map_fn(lambda x: x, X, fn_output_signature=(tf.float32, tf.float32)),
        ValueError,
        r"fn returned 1 tensors, fn_output_signature names 2",
    ),
    (
        lambda: tf.map_fn(lambda x: x, X, fn_output_signature=tf.int32),
        TypeError,
        r"fn returned dtype float32 .* fn_output_signature says int32",
    ),
    (lambda: tf.cond(tf.constant(1j), lambda: 1, lambda: 2), TypeError, r"predicate has dtype complex128"),
    (
        lambda: mask_rows(tf.constant([True]), tf.constant(1.0), True),
        UnansweredError,
        r"shape \(\) has no row axis",
    ),
    (
        lambda: tf.while_loop(lambda x: x < 3, lambda x: x + 1, 0),
        TypeError,
        r"must be a list or tuple, got int",
    ),
    (
        lambda: traced(
            lambda x: tf.while_loop(
                lambda i, x: i < 3, lambda i, x: (i + 1, x), (0, x), shape_invariants=[tf.TensorShape([])]
            ),
            F32,
        ),
        ValueError,
        r"shape_invariants has 1 shapes for 2 loop variables",
    ),
    (
        lambda: traced(
            lambda x: tf.while_loop(
                lambda x: True, lambda x: (x,), (x,), shape_invariants=[tf.TensorShape([3])]
            ),
            F32,
        ),
        ValueError,
        r"has shape \(2,\), which its shape invariant \(3,\) does not allow",
    ),
    (
        lambda: tf.while_loop(lambda x: True, lambda x: (x,), (X,), maximum_iterations=1.5),
        ValueError,
        r"maximum_iterations has dtype float32 .* must be an integer scalar",
    ),
    (lambda: tf.case([]), ValueError, r"pred_fn_pairs is empty"),
    (lambda: tf.case([(True, 3)]), TypeError, r"must be a pair \(predicate, function\), got \(True, 3\)"),
    (lambda: tf.switch_case(0, []), ValueError, r"branch_fns is empty; give at least one function"),
    (lambda: tf.switch_case(0, [lambda: 1, 3]), TypeError, r"functions of no arguments, got 3 for 1"),
    (
        lambda: tf.switch_case(0, {"a": lambda: 1}),
        TypeError,
        r"keys of branch_fns must be integers, got \['a'\]",
    ),
    (lambda: tf.switch_case(0.5, [lambda: 1]), TypeError, r"branch_index has dtype float32"),
    (lambda: array(flow=X), TypeError, r"handle and flow belong to TensorFlow's graphs"),
    (lambda: array(2).unstack([1.0, 2.0]).concat(), ValueError, r"elements are scalars; use stack"),
    (
        lambda: traced(lambda x: array().unstack(x).concat(), TensorSpec.of((None,), tf.float32)),
        ValueError,
        r"elements are scalars; use stack",
    ),
    (
        lambda: traced(lambda x, n: array().split(x, n).stack(), F32, TensorSpec.of((None,), tf.int32)),
        ValueError,
        r"split: how many lengths there are must be known while",
    ),
    (lambda: array(2).split([1.0, 2.0, 3.0], [1, 1, 1]), ValueError, r"size of lengths \(2 vs. 3\)"),
    (
        lambda: traced(lambda n: array(3).read(n), TensorSpec.of((), tf.int32)),
        ValueError,
        r"no element was written yet",
    ),
    (lambda: array(2).unstack(1.0), ValueError, r"unstack: the value must have a first axis"),
    (lambda: array(0).concat(), ValueError, r"there are no elements, and their shape"),
    (lambda: array(2).write(1.5, 1.0), TypeError, r"an index or size has dtype float32; an integer dtype"),
    (lambda: array(2).write(tf.constant(1.5), 1.0), TypeError, r"has dtype float32; an integer dtype"),
    (lambda: stacks.put(np.zeros((2, 3)), 1, np.zeros(4), False), tf.errors.GraphadError, r"\(4,\)"),
    (
        lambda: stacks.closed_stack([np.zeros(3), np.zeros(4)], 2, TensorSpec.of((3,), tf.float64), False),
        tf.errors.GraphadError,
        r"\(4,\)",
    ),
    (third_derivative_by_one_tape, tf.errors.FailedPreconditionError, r"use one tape for each order"),
    (lambda: UnsavedCustom("rule", 1, 1).vjp(None), LookupError, r"custom gradient 'rule' was not"),
    (
        lambda: UnsavedCustom("rule", 1, 1).augmented(None, [True]),
        LookupError,
        r"custom gradient 'rule' was not",
    ),
    (
        lambda: loop(lambda a, b: [a], [ROW, ROW], 2).check_operands([TensorSpec.of((), tf.int32), ROW, ROW]),
        ValueError,
        r"the body gives 1 values for 2 carried ones",
    ),
]


@pytest.mark.parametrize(("call", "kind", "words"), REFUSED, ids=[words for *_, words in REFUSED])
def test_it_is_refused_in_these_words(call: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_a_loop_of_another_number_of_steps_than_it_says_is_refused() -> None:
    op = loop(lambda a: [a * 2.0], [ROW], 1, steps=3)
    graph = trace_flat(lambda x: list(bind(op, tf.constant(5), x)), [ROW]).graph
    with pytest.raises(tf.errors.GraphadError, match=r"5.*3|3.*5"):
        specialise(graph, [ROW])


def test_rows_that_are_done_need_known_ranks() -> None:
    op = loop(lambda a, x: [a, x], [ROW, TensorSpec(None, tf.float32)], 1)
    with pytest.raises(UnansweredError, match=r"needs known ranks in its body"):
        _finished(op, op.body, [False, False])


def test_a_variable_is_no_result_of_a_custom_gradient() -> None:
    rule = ClosedRule("rule", trace_flat(lambda bar: [bar], [ROW]).graph, (0,))
    with pytest.raises(ValueError, match=r"a variable is not an output"):
        ClosedCustom(rule, 1, 1).check_operands([ROW, HandleSpec.of((), tf.float32)])


def test_what_branches_needs_a_trace() -> None:
    with pytest.raises(TypeError, match=r"cond: a symbolic tensor was used where nothing is traced"):
        Part("cond", lambda: [X], [], "then")
