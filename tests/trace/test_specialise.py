"""Specialised graphs: size classes, shape arithmetic that folds away, pins, inlined calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad import cond, function
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import Dim
from graphad.core.errors import InvalidArgumentError
from graphad.core.spec import TensorSpec
from graphad.graph.evaluate import evaluate
from graphad.graph.ir import Graph
from graphad.graph.walk import expanded_nodes, sub_graphs
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.reshape import expand_dims, reshape
from graphad.ops.array.shape import shape
from graphad.ops.control.call import Call
from graphad.ops.math import add, multiply, negative, reduce_mean, reduce_sum
from graphad.trace.numbered import with_sizes
from graphad.trace.size_class import size_class
from graphad.trace.specialise import specialise, specialise_call
from graphad.trace.tracer import trace_flat
from tests.support.op_case import run_time_shapes


def traced(function: Any, *shapes: Any, dtype: str = "float32") -> Graph:
    return trace_flat(function, [TensorSpec(s, dtype) for s in shapes]).graph


def names(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes]


def concrete(graph: Graph, numbers: dict[str, int]) -> Graph:
    from graphad.graph.ir import Node

    nodes = [Node(with_sizes(n.op, numbers), n.inputs, n.start, n.specs, n.line) for n in graph.nodes]
    return Graph(graph.inputs, graph.constants, nodes, graph.outputs)


def same_answers(graph: Graph, *arrays: np.ndarray) -> None:
    shapes = [a.shape for a in arrays]
    special = specialise_call(graph, shapes)
    numbers = size_class(graph, shapes, special.pins)[2]
    for a, b in zip(evaluate(graph, arrays), evaluate(concrete(special.graph, numbers), arrays), strict=True):
        np.testing.assert_array_equal(a, b)


def test_equal_sizes_share_a_symbol_and_literals_stay_numbers() -> None:
    graph = traced(lambda x, y: [add(x, y)], [None, 5], [None, 5])
    key, specs, numbers = size_class(graph, [(7, 5), (7, 5)])
    assert key == (("n0", 5), ("n0", 5))
    assert numbers == {"n0": 7}
    assert specs[0].dims is not None and isinstance(specs[0].dims[0], Dim)
    assert size_class(graph, [(7, 5), (1, 5)])[0] == (("n0", 5), (1, 5))
    assert size_class(graph, [(5, 5), (0, 5)])[0] == ((5, 5), (0, 5))


def test_one_class_serves_all_its_sizes() -> None:
    graph = traced(lambda x: [reduce_mean(x)], [None, None])
    assert specialise_call(graph, [(3, 4)]).key == specialise_call(graph, [(30, 41)]).key
    assert specialise_call(graph, [(3, 3)]).key != specialise_call(graph, [(3, 4)]).key


@pytest.mark.parametrize(
    "shapes", [((), ()), ((3,), ()), ((3, 4), (4,)), ((1, 4), (3, 1)), ((2, 3, 4), (3, 4)), ((0, 4), (4,))]
)
def test_unknown_rank_specialises_without_run_time_shape_ops(shapes: Any) -> None:
    def function(x: Any, y: Any) -> list[Any]:
        z = multiply(x, y)
        sizes = shape(z)
        flat = reshape(z, [-1])
        return [reshape(negative(flat), add(sizes, 0)), reduce_sum(z), broadcast_to(y, shape(z)), sizes]

    graph = traced(function, None, None)
    special = specialise_call(graph, shapes)
    assert "shape" in names(graph) and not run_time_shapes(special.graph)
    rng = np.random.default_rng(0)
    same_answers(graph, *[np.asarray(rng.normal(size=s), "float32") for s in shapes])


def test_integer_arithmetic_on_sizes_folds_to_polynomials() -> None:
    def function(x: Any) -> list[Any]:
        sizes = shape(x)
        return [reshape(x, reshape(multiply(sizes, lift(np.array([2, 1], np.int32))), [2]))]

    graph = traced(function, [None, None])
    with pytest.raises(InvalidArgumentError):
        specialise_call(graph, [(3, 4)])
    doubled = traced(
        lambda x: [reshape(broadcast_to(expand_dims(x, 0), [2, *[shape(x)[k] for k in ()], 3, 4]), [-1, 4])],
        [3, 4],
    )
    assert specialise_call(doubled, [(3, 4)]).graph.output_specs[0].dims == (6, 4)


@pytest.mark.parametrize(
    "compute",
    [
        lambda s: tf.reduce_prod(s)[None],
        lambda s: tf.reduce_prod(s, axis=0, keepdims=True),
        lambda s: tf.reduce_sum(s)[None],
        lambda s: tf.reduce_sum(tf.stack([s, s]), axis=0),
        lambda s: tf.reduce_sum(tf.stack([s, s]))[None],
        lambda s: tf.cumsum(s),
        lambda s: tf.math.cumprod(s),
        lambda s: tf.add_n([s, s]),
        lambda s: tf.abs(s),
        lambda s: 1 - (-s),
        lambda s: s[0] * s[1:],
        lambda s: s[:1] + s[1],
        lambda s: tf.square(s),
        lambda s: s**2,
        lambda s: (s * 6) // 3,
        lambda s: tf.maximum(s, 1),
        lambda s: tf.gather(s, [1, 0, 1]),
        lambda s: s[::-1],
        lambda s: tf.roll(s, 1, 0),
        lambda s: tf.pad(s, [[1, 0]], constant_values=1),
        lambda s: tf.cast(tf.cast(s, tf.int64), tf.int32),
        lambda s: tf.tile(s, [2]),
        lambda s: tf.repeat(s, 2),
        lambda s: tf.stack(tf.unstack(s)),
        lambda s: tf.split(s, 2)[1],
        lambda s: tf.tensor_scatter_nd_update(s, [[0]], [2]),
        lambda s: tf.math.segment_sum(s, [0, 0]),
        lambda s: tf.tensordot(s, s, 1)[None],
        lambda s: tf.linalg.matvec(tf.stack([s, s]), s),
    ],
)
def test_what_is_computed_from_sizes_is_known_while_they_are_symbols(compute: Any) -> None:
    graph = traced(lambda x: [broadcast_to(1.0, compute(shape(x)))], [None, None])
    special = specialise_call(graph, [(3, 5)])
    assert not special.pins
    assert all(spec.is_definite for spec in special.graph.specs)
    same_answers(graph, np.zeros((3, 5), np.float32))


def test_a_size_that_must_be_known_is_pinned() -> None:
    graph = traced(lambda x: [reshape(x, [-1, 2])], [None])
    special = specialise_call(graph, [(6,)])
    assert special.pins == {"n0"}
    assert special.graph.output_specs[0].dims == (3, 2)
    same_answers(graph, np.arange(6, dtype="float32"))


# Sizes n and n - 1 differ for certain, and n - 1 may be 1.
_PARTS_OF_ONE_ROW = {
    "product": lambda x, y: y[1:] * x[:, 0],
    "product the other way": lambda x, y: x * y[1:],
    "selection": lambda x, y: tf.where(x > 1.0, x, x[1:]),
    "einsum": lambda x, y: tf.einsum("...i,...j->...ij", x, y[1:, None]),
    "einsum the other way": lambda x, y: tf.einsum("...i,...j->...ij", y[1:, None], x),
    "broadcast_to": lambda x, y: tf.broadcast_to(y[1:], [tf.shape(x)[0]]),
    "squeeze": lambda x, y: tf.squeeze(x[1:], axis=0),
    "squeeze of all": lambda x, y: tf.squeeze(x[1:]),
    "matmul": lambda x, y: x[:, :, None] @ tf.reshape(y, [2, 1, 1])[1:],
}


@pytest.mark.parametrize("compute", _PARTS_OF_ONE_ROW.values(), ids=list(_PARTS_OF_ONE_ROW))
def test_a_computed_size_that_may_be_one_is_asked_before_it_is_broadcast(compute: Any) -> None:
    x, y = np.arange(6.0).reshape(2, 3), np.arange(2.0) + 1.0

    def with_gradients(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = compute(x, y)
        return z, *tape.gradient(z, [x, y], unconnected_gradients="zero")

    specs = [tf.TensorSpec([None, None], tf.float64), tf.TensorSpec([None], tf.float64)]
    for f in (compute, with_gradients):
        traced = tf.function(f, input_signature=specs)
        for found, expected in zip(
            tf.nest.flatten(traced(x, y)), tf.nest.flatten(f(tf.constant(x), tf.constant(y)))
        ):
            np.testing.assert_array_equal(found, expected)


def test_what_symbols_do_not_allow_is_tried_with_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that an op decides too early costs a specialisation, not the call."""
    from graphad.core import shapes

    monkeypatch.setattr(shapes, "is_one", lambda size: type(size) is int and size == 1)
    graph = traced(lambda x: [multiply(x, x[1:])], [None])
    special = specialise_call(graph, [(2,)])
    assert special.pins and special.graph.specs[special.graph.outputs[0]].dims == (2,)
    with pytest.raises(InvalidArgumentError, match=r"\(3,\) and \(2,\)"):
        specialise_call(graph, [(3,)])


def test_errors_speak_of_the_numbers_of_the_call() -> None:
    graph = traced(lambda x, y: [add(x, y)], [None], [None])
    with pytest.raises(InvalidArgumentError, match=r"\(3,\) and \(4,\)"):
        specialise_call(graph, [(3,), (4,)])


def test_calls_are_inlined_and_lines_kept() -> None:
    inner = traced(lambda x: [add(x, x)], [None])
    graph = traced(lambda x: [bind(Call(inner), x)[0], negative(x)], [None])
    special = specialise_call(graph, [(4,)])
    assert names(special.graph) == ["add", "neg"]
    assert all(node.line for node in special.graph.nodes)


def test_a_definite_graph_without_anything_to_fold_is_the_same_object() -> None:
    graph = traced(lambda x: [add(x, x)], [3, 4])
    assert specialise(graph, graph.inputs) is graph


def test_sizes_wanted_as_data_become_sizes_nodes() -> None:
    graph = traced(lambda x: [shape(x)], [None, 5])
    special = specialise_call(graph, [(7, 5)])
    assert names(special.graph) == ["sizes"]
    same_answers(graph, np.zeros((7, 5), "float32"))


def test_with_sizes_is_cached_and_leaves_plain_ops_alone() -> None:
    from graphad.ops.array.reshape import Reshape
    from graphad.ops.math.arithmetic import ADD

    op = Reshape((Dim.symbol("n0") * 2, 3))
    assert with_sizes(op, {"n0": 4}) is with_sizes(op, {"n0": 4})
    assert with_sizes(op, {"n0": 4}).shape == (8, 3)  # type: ignore[attr-defined]
    assert with_sizes(ADD, {"n0": 4}) is ADD


def doubled(levels: int, combine: Any) -> Any:
    """Functions of which each uses the one before twice."""
    f = function(lambda x: multiply(x, 0.5))
    for _ in range(levels):
        f = function(lambda x, g=f: combine(g, x))
    return f


def either(g: Any, x: Any) -> Any:
    return cond(reduce_sum(x) > 0.0, lambda: g(x), lambda: g(x))


@pytest.mark.parametrize("combine", [lambda g, x: add(g(x), g(x)), either])
def test_a_graph_too_large_to_write_out_keeps_calls_and_specialises_shared_ones_once(combine: Any) -> None:
    f = doubled(15, combine)
    graph = f.get_concrete_function(TensorSpec([None])).graph
    assert expanded_nodes(graph) >= 1 << 15
    inlined = 1000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphad.trace.specialiser.INLINED_NODES", inlined)
        patch.setattr("graphad.trace.specialiser.SMALL_CALL", inlined // 10)
        special = specialise(graph, [TensorSpec([3])])
    distinct, stack = {}, [special]
    while stack:
        each = stack.pop()
        if id(each) not in distinct:
            distinct[id(each)] = len(each.nodes)
            stack.extend(inner for node in each.nodes for inner in sub_graphs(node.op))
    assert sum(distinct.values()) < 3 * inlined
    x = np.array([1.0, 2.0, 4.0], np.float32)
    np.testing.assert_array_equal(evaluate(special, [x])[0], f(x).numpy())


@pytest.mark.parametrize("combine", [lambda g, x: g(g(x)), lambda g, x: add(g(x), g(x)), either])
def test_functions_that_double_forty_times_are_refused_instead_of_never_ending(combine: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"with the functions it calls written out it has .* ops"):
        doubled(40, combine).get_concrete_function(TensorSpec([3]))


def test_a_size_that_a_kept_call_computes_is_known_outside() -> None:
    @function
    def rows(x: Any) -> Any:
        for _ in range(20):
            x = add(x, 1.0)
        return shape(x), x

    def f(x: Any) -> Any:
        sizes, y = rows(x)
        return reshape(y, [sizes[1], sizes[0]])

    graph = trace_flat(lambda x: [f(x)], [TensorSpec([None, None])]).graph
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphad.trace.specialiser.INLINED_NODES", 10)
        patch.setattr("graphad.trace.specialiser.SMALL_CALL", 10)
        special = specialise(graph, [TensorSpec([2, 3])])
    assert names(special) == ["call", "reshape"]
    assert special.output_specs[0].dims == (3, 2)
    np.testing.assert_array_equal(
        evaluate(special, [np.zeros((2, 3), np.float32)])[0], np.full((3, 2), 20.0, np.float32)
    )


def test_a_branch_that_hangs_on_a_comparison_of_sizes_is_written_out() -> None:
    def f(x: Any) -> Any:
        return [cond(shape(x)[0] > 1, lambda: add(x, 1.0), lambda: negative(x))]

    graph = trace_flat(f, [TensorSpec([None])]).graph
    assert names(specialise(graph, [TensorSpec([3])])) == ["add"]
    assert names(specialise(graph, [TensorSpec([1])])) == ["neg"]
    # A symbol is a size of at least 2.
    assert names(specialise(graph, [TensorSpec([Dim.symbol("n")])])) == ["add"]
