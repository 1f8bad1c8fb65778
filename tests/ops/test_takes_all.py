"""`Op.takes_all` is right: an op for which it is true gives a result whatever the values of its inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.op import Op
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import constant_at, gives_result, unchanging
from graphad.trace.tracer import trace_flat
from tests.support.case_tables import all_cases
from tests.support.op_case import run_nodes


def _calls(family: str) -> Iterable[tuple[Op, Any, list[Any], list[Any]]]:
    """Each op with its operands' specs and values, and which are constants, in the graphs of a family's cases."""
    found: dict[Any, Any] = {}
    for case in (case for of, _, case in all_cases() if of == family):
        graphs = [(case.traced(), case.arrays)]
        if case.order and case.sources:
            bars = case.cotangents()
            given = [bar for bar in bars if bar is not None]
            specs = [
                None if bar is None else TensorSpec.of(np.shape(bar), tf.as_dtype(bar.dtype)) for bar in bars
            ]
            if given:
                graphs.append((case.traced_gradient(case.specs(), specs), [*case.arrays, *given]))
        for graph, arrays in graphs:

            def note(node: Node, ins: Any, outs: Any, graph: Graph = graph) -> None:
                specs = tuple([graph.specs[i] for i in node.inputs])
                constants = [constant_at(graph, i) for i in node.inputs]
                found.setdefault((node.op, specs), (node.op, specs, ins, constants))

            run_nodes(graph, arrays, note)
    return found.values()


def _extremes(like: Any) -> list[Any]:
    """Unusual values of the same shape and dtype."""
    dtype = np.asarray(like).dtype
    if dtype.kind == "b":
        values: list[Any] = [False, True]
    elif dtype.kind in "iu":
        values = [np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1]
    else:
        values = [np.nan, np.inf, -np.inf, 0.0, -1.0]
    out = []
    for k in range(len(values) + 1):  # all of one kind, and all kinds mixed
        chosen = np.resize(np.array(values[k:] or values).astype(dtype), np.shape(like))
        out.append(np.full(np.shape(like), values[k], dtype) if k < len(values) else chosen)
    return [x if x.ndim else x[()] for x in out]


@pytest.mark.parametrize("family", sorted({family for family, _, _ in all_cases()}))
@pytest.mark.filterwarnings("ignore")
def test_an_op_that_takes_all_values_raises_for_none(family: str) -> None:
    claimed = 0
    for op, specs, values, constants in _calls(family):
        if not op.takes_all(specs, lambda i, constants=constants: constants[i]):
            continue
        claimed += 1
        for k in range(6):
            given = [
                x if constant is not None else (tries := _extremes(x))[k % len(tries)]
                for x, constant in zip(values, constants, strict=True)
            ]
            try:
                with np.errstate(all="ignore"):
                    op.eval(*given)
            except Exception as error:  # the op that raises is the fault
                pytest.fail(f"{op} of {given}: {error!r}")
    assert claimed


def _last(program: Any, *specs: Any) -> tuple[Graph, Node]:
    graph = trace_flat(lambda *xs: [program(*xs)], specs).graph
    return graph, graph.nodes[-1]


F, I, N = tf.TensorSpec([2, 2]), tf.TensorSpec([2], tf.int32), tf.TensorSpec([], tf.int32)


@pytest.mark.parametrize(
    "program, specs, holds",
    [
        (lambda x: tf.exp(x), (F,), True),
        (lambda x: tf.reduce_sum(x), (I,), True),
        (lambda x: x // 2, (I,), True),
        (lambda x: x // -2, (I,), True),
        (lambda x: x // 0, (I,), False),
        (lambda x, y: x // y, (I, I), False),
        (lambda x, y: x // y, (F, F), True),
        (lambda x: x**2, (I,), True),
        (lambda x: x ** tf.constant(-1), (I,), False),
        (lambda x, y: x**y, (I, I), False),
        (lambda x, i: tf.gather(x, i), (F, N), False),
        (lambda x: tf.linalg.cholesky(x), (F,), False),
        (lambda x: tf.linalg.inv(x), (F,), False),
        (lambda x, n: tf.reshape(x, [n, 2]), (F, N), False),
        (lambda x: tf.reshape(x, [4]), (F,), True),
        (lambda n: tf.range(0.0, 1.0, n), (tf.TensorSpec([]),), False),
        (lambda x: tf.ensure_shape(x, [2, 2]), (tf.TensorSpec(None),), False),
        (lambda x: tf.numpy_function(lambda a: a, [x], tf.float32), (F,), False),
        (lambda x: tf.cond(x[0, 0] > 0, lambda: x, lambda: -x), (F,), False),
    ],
)
def test_what_may_raise_is_known(program: Any, specs: Any, holds: bool) -> None:
    assert gives_result(*_last(program, *specs)) is holds


def test_what_does_not_change_is_found_in_order() -> None:
    graph = trace_flat(lambda x, y: [tf.exp(y) + x, tf.sin(tf.exp(y))], [F, F]).graph
    fixed = {1}
    found = unchanging(graph, fixed, lambda node, is_fixed: True)
    assert [node.op.name for node in found] == ["exp", "exp", "sin"] and fixed == {
        1,
        *(i for n in found for i in n.outputs),
    }
    assert [
        node.op.name for node in unchanging(graph, {1}, lambda node, is_fixed: node.op.name != "exp")
    ] == []


@pytest.mark.parametrize("steps", [0, 2])
def test_what_may_raise_is_left_to_a_loop_that_may_make_no_step(steps: int) -> None:
    """The factors of a matrix that has none: an error where a step asks for them, and nothing where there is none."""

    @tf.function
    def f(a: Any, n: Any) -> Any:
        return tf.while_loop(
            lambda i, y: i < n,
            lambda i, y: (i + 1, y + tf.linalg.cholesky(tf.stop_gradient(a))),
            (0, tf.zeros([2, 2])),
        )[1]

    a = tf.constant([[0.0, 1.0], [1.0, 0.0]])
    if steps:
        with pytest.raises(tf.errors.InvalidArgumentError, match="positive definite"):
            f(a, steps)
    else:
        np.testing.assert_array_equal(f(a, steps), np.zeros([2, 2]))
