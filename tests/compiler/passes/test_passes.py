"""Passes: what stands before, what stands after, and the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.passes import algebra, canonical, cse, dead, fold
from graphad.compiler.pipeline import Options, optimise
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.errors import InternalError
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.graph.evaluate import evaluate
from graphad.graph.ir import Graph
from graphad.graph.verify import verify
from graphad.ops import math as m
from graphad.ops.array import transpose
from graphad.ops.array.reshape import Reshape, expand_dims, reshape
from graphad.ops.linalg import matmul
from graphad.ops.math.arithmetic import DIV_ZERO, MUL_ZERO
from graphad.ops.math.cumulative import CumSum
from graphad.ops.nn.softmaxes import softmax
from graphad.ops.state.variables import ASSIGN, READ
from graphad.trace.specialise import specialise
from graphad.trace.tracer import trace_flat
from tests.support.work import calls_in

PASSES = [canonical.run, fold.run, algebra.run, cse.run, dead.run, optimise]


def traced(function: Any, *shapes: Any, dtype: str = "float32") -> Graph:
    return trace_flat(function, [TensorSpec(s, dtype) for s in shapes], keep_all=True).graph


def names(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes]


def agree(before: Graph, after: Graph, exact: bool = True) -> None:
    verify(after)
    rng = np.random.default_rng(1)
    values = [np.asarray(rng.normal(size=spec.dims), spec.dtype.numpy) for spec in before.inputs]
    for a, b in zip(evaluate(before, values), evaluate(after, values), strict=True):
        (np.testing.assert_array_equal if exact else np.testing.assert_allclose)(
            a, b, **({} if exact else {"rtol": 1e-6})
        )


def test_every_pass_gives_the_same_object_when_there_is_nothing_to_do() -> None:
    graph = trace_flat(lambda x, y: [m.add(m.multiply(x, y), y)], [TensorSpec([3]), TensorSpec([3])]).graph
    for run in PASSES:
        assert run(graph) is graph  # type: ignore[operator]


def test_equal_nodes_are_merged() -> None:
    graph = traced(lambda x, y: [m.add(m.multiply(x, y), m.multiply(x, y))], [3], [3])
    after = cse.run(graph)
    assert names(after) == ["mul", "add"]
    agree(graph, after)


def test_nodes_with_effects_are_never_merged_or_moved() -> None:
    def function(v: Any, x: Any) -> list[Any]:
        a = bind(READ, v)
        bind(ASSIGN, v, m.add(a, x))
        b = bind(READ, v)
        return [m.add(a, b)]

    specs = [HandleSpec([2], "float32"), TensorSpec([2])]
    graph = trace_flat(function, specs, keep_all=True).graph
    assert names(optimise(graph)) == ["read", "add", "assign", "read", "add"]


def test_a_cotangent_that_is_a_number_needs_no_look_for_zeros() -> None:
    def function(x: Any) -> list[Any]:
        twos, zeros = lift(np.float32(2)), lift(np.float32(0))
        return [bind(op, g, x) for g in (twos, zeros, x) for op in (MUL_ZERO, DIV_ZERO)]

    graph = traced(function, [3])
    after = optimise(graph)
    assert names(after) == ["mul", "div", "mul_zero", "div_zero", "mul_zero", "div_zero"]
    agree(graph, after)


def test_double_negation_and_unit_factors_disappear() -> None:
    graph = traced(
        lambda x: [m.multiply(m.negative(m.negative(x)), 1.0), m.subtract(x, 0.0), m.divide(x, 1.0)], [3]
    )
    after = optimise(graph)
    assert names(after) == []
    assert after.outputs == (0, 0, 0)


def test_adding_zero_stays_for_floats_and_goes_for_integers() -> None:
    assert names(optimise(traced(lambda x: [m.add(x, 0.0)], [3]))) == ["add"]
    assert names(optimise(traced(lambda x: [m.add(x, 0)], [3], dtype="int32"))) == []
    x = np.array([-0.0], np.float32)
    graph = traced(lambda x: [m.add(x, 0.0)], [1])
    assert not np.signbit(evaluate(optimise(graph), [x])[0][0])


def test_sum_with_a_negative_is_a_difference() -> None:
    graph = traced(lambda x, y: [m.add(x, m.negative(y)), m.subtract(x, m.negative(y))], [3], [3])
    after = optimise(graph)
    assert names(after) == ["sub", "add"]
    agree(graph, after)


def test_division_by_a_power_of_two_is_a_product() -> None:
    graph = traced(lambda x: [m.divide(x, 4.0), m.divide(x, 3.0)], [3])
    after = optimise(graph)
    assert names(after) == ["mul", "div"]
    agree(graph, after)


def test_small_powers_are_products() -> None:
    graph = traced(lambda x: [m.pow(x, 2.0), m.pow(x, 3.0), m.pow(x, 2.5), m.square(x)], [3])
    after = optimise(graph)
    assert names(after) == ["mul", "mul", "pow"]
    values = [np.array([0.5, 2.0, 3.0], np.float32)]
    for a, b in zip(evaluate(graph, values), evaluate(after, values), strict=True):
        np.testing.assert_allclose(a, b, rtol=3e-7)


def test_shape_changes_become_one_reshape() -> None:
    graph = traced(lambda x: [reshape(expand_dims(reshape(x, [6]), 0), [3, 2])], [2, 3])
    after = optimise(specialise(graph, graph.inputs))
    assert names(after) == ["reshape"]
    agree(graph, after)
    back = traced(lambda x: [reshape(reshape(x, [6]), [2, 3])], [2, 3])
    assert names(optimise(back)) == []


def test_transposes_that_cancel_disappear() -> None:
    graph = traced(
        lambda x: [transpose(transpose(x)), transpose(transpose(x, [1, 2, 0]), [1, 2, 0])], [2, 3, 4]
    )
    after = optimise(graph)
    assert names(after) == ["transpose"]
    agree(graph, after)


def test_constants_are_folded_within_bounds() -> None:
    graph = traced(lambda x: [m.multiply(x, m.exp(lift(2.0)))], [3])
    assert names(optimise(graph)) == ["mul"]
    agree(graph, optimise(graph))
    large = lift(np.ones((100, 100), np.float32))
    graph = traced(lambda x: [m.multiply(x, m.exp(large))], [100, 100])
    assert names(optimise(graph)) == ["exp", "mul"]


def test_a_large_result_is_folded_where_it_is_no_larger_than_what_it_is_made_of() -> None:
    large = np.full((80, 80), 0.25, np.float32)
    before = traced(lambda x: [m.reduce_sum(matmul(lift(large), lift(large)) + x)], ())
    after = fold.run(before)
    assert "matmul" not in names(after)
    agree(before, after)
    column = large[:, :1]
    outer = traced(lambda x: [matmul(lift(column), lift(column.T)) + x], ())
    assert "matmul" in names(fold.run(outer))


def test_a_number_that_is_broadcast_stays_one_number() -> None:
    def function(x: Any) -> list[Any]:
        y = -tf.broadcast_to(tf.constant(0.125), [4]) * tf.constant(3.0)
        return [tf.broadcast_to(tf.reshape(y, [4, 1]), [4, 3]) * x]

    graph = traced(function, [4, 3])
    after = dead.run(optimise(specialise(graph, graph.inputs)))
    assert names(after) == ["broadcast_to", "mul"] and [float(c) for c in after.constants] == [-0.375]
    agree(graph, after)


def test_one_element_that_is_broadcast_and_reshaped_stays_one_number() -> None:
    def function(x: Any, y: Any) -> list[Any]:
        flat = tf.reshape(tf.broadcast_to(tf.constant([[0.125]]), [1, 4]), [4])
        return [-flat * x, tf.reshape(tf.broadcast_to(y, [2, 4]), [8, 1])]

    graph = traced(function, [4], [1, 1])
    after = dead.run(optimise(specialise(graph, graph.inputs)))
    assert names(after) == ["broadcast_to", "mul", "reshape", "broadcast_to"]
    agree(graph, after)
    folded = fold.run(graph)  # where no other pass has taken the reshape away
    agree(graph, folded)


def test_what_is_broadcast_but_not_a_number_stays() -> None:
    def function(x: Any) -> list[Any]:
        wide = tf.broadcast_to(x, [4, 3])
        return [-wide, -tf.broadcast_to(tf.constant([1.0, 2.0, 3.0]), [4, 3])]

    graph = traced(function, [3])
    after = optimise(specialise(graph, graph.inputs))
    assert names(after).count("neg") >= 1
    agree(graph, after)


def test_a_constant_stands_on_the_right() -> None:
    graph = traced(lambda x: [m.multiply(2.0, x), m.multiply(x, 2.0)], [3])
    assert names(optimise(graph)) == ["mul"]


def test_dead_nodes_and_constants_go() -> None:
    def function(x: Any) -> list[Any]:
        m.exp(m.multiply(x, 3.0))
        return [m.add(x, x)]

    after = dead.run(traced(function, [3]))
    assert names(after) == ["add"]
    assert not after.constants


def test_a_mean_is_a_sum_over_a_count() -> None:
    graph = traced(lambda x: [m.reduce_mean(x, axis=1)], [2, 3])
    after = optimise(graph)
    assert names(after) == ["reduce_sum", "div"]
    agree(graph, after)
    assert names(optimise(traced(lambda x: [m.reduce_sum(x, axis=0)], [1, 3]))) == ["reshape", "add"]  # of +0
    assert names(optimise(traced(lambda x: [m.reduce_max(x, axis=0)], [1, 3]))) == ["reshape"]


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda x: [m.log(m.add(1.0, x))], ["log1p"]),
        (lambda x: [m.log(m.exp(x))], []),
        (lambda x: [m.log(softmax(x))], ["log_softmax"]),
        (lambda x: [m.log(softmax(x, 0))], ["log_softmax"]),
        (lambda x: [m.log(m.sigmoid(x))], ["neg", "softplus", "neg"]),
        (lambda x: [m.divide(1.0, m.sqrt(x))], ["rsqrt"]),
        (lambda x: [m.log1p(m.exp(x))], ["softplus"]),
        (lambda x: [m.subtract(1.0, m.sigmoid(x))], ["neg", "sigmoid"]),
        (lambda x: [m.subtract(m.exp(x), 1.0)], ["expm1"]),
        (lambda x: [m.sqrt(m.multiply(x, x))], ["abs"]),
    ],
)
def test_relaxed_rewrites_are_off_unless_asked_for(function: Any, wanted: list[str]) -> None:
    graph = traced(function, [3])
    assert names(optimise(graph)) != wanted
    after = optimise(graph, Options(relaxed=True))
    assert names(after) == wanted
    values = [np.array([0.25, 1.0, 2.5], np.float32)]
    for a, b in zip(evaluate(graph, values), evaluate(after, values), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_lines_survive() -> None:
    graph = traced(lambda x: [m.multiply(m.negative(m.negative(x)), m.square(x))], [3])
    assert all(node.line for node in optimise(graph).nodes)


def test_a_rewrite_that_changes_a_spec_is_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphad.compiler.passes.rewrite import RuleTable, sweep
    from graphad.core import bind as door

    table = RuleTable()

    @table.rewrite(Reshape)
    def wrong(s: Any, node: Any) -> Any:
        return node.inputs[0]

    monkeypatch.setattr(door, "VERIFY", True)
    with pytest.raises(InternalError, match="wrong"):
        sweep(traced(lambda x: [reshape(x, [6])], [2, 3]), table)


def test_the_work_of_all_passes_grows_as_the_number_of_nodes() -> None:
    def work(rounds: int) -> int:
        def function(x: Any, y: Any) -> list[Any]:
            for _ in range(rounds):
                x = m.multiply(m.add(x, y), y)
            return [x]

        graph = traced(function, [None, 5], [None, 5])
        return calls_in(lambda: optimise(specialise(graph, [TensorSpec([7, 5]), TensorSpec([7, 5])])))

    work(10)  # what is done once is done
    few, many = work(100), work(800)
    assert 8 * few * 0.5 < many < 8 * few * 1.25


def test_sizes_in_a_list_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not equal to the same sizes in a tuple, and have no hash."""
    graph = traced(lambda x: [m.cumsum(x)], [3])
    verify(graph)
    monkeypatch.setattr(CumSum, "infer", lambda self, x: x.with_dims(list(x.dims)))
    with pytest.raises(InternalError, match="as a tuple"):
        verify(graph)
