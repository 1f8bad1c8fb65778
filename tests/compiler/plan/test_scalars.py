"""Values of shape (): NumPy scalars between steps and as results, on every tier, and views of them with their own shape."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.passes.algebra import EXACT
from graphad.compiler.passes.rewrite import sweep
from graphad.compiler.plan.host import HostPlan
from graphad.core.spec import TensorSpec
from graphad.trace.tracer import trace_flat

TIERS = pytest.mark.parametrize("jit_compile", [False, True], ids=["plan", "native"])

# Ways to a scalar that is not an argument, some by views, some by steps on the host.
SCALARS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda x: tf.reshape(x[:1], []),
    "squeeze": lambda x: tf.squeeze(x[1:2], axis=0),
    "index": lambda x: x[1],
    "gather": lambda x: tf.gather(x, 2),
    "sum": tf.reduce_sum,
    "product": lambda x: tf.einsum("i,i->", x, x),
    "matrix product": lambda x: tf.matmul(x[None], x[:, None])[0, 0],
    "determinant": lambda x: tf.linalg.det(tf.linalg.diag(x)),
    "sorted": lambda x: tf.sort(x)[1],
    "sizes": lambda x: tf.cast(tf.shape(x)[0], x.dtype),
    "masked": lambda x: tf.reduce_sum(tf.boolean_mask(x, x > 0.0)),
    "branch": lambda x: tf.cond(x[0] > 0.0, lambda: x[0], lambda: x[1]),
    "constant": lambda x: tf.constant(0.5, x.dtype) * 3.0,
}
FUNCTIONS = (tf.sigmoid, tf.nn.softplus, tf.nn.silu, tf.nn.gelu, tf.nn.elu, tf.nn.selu, tf.nn.softsign)


@TIERS
@pytest.mark.parametrize("dims", [[3], [None], None], ids=str)
@pytest.mark.parametrize("way", SCALARS)
def test_formulas_take_a_scalar_computed_in_a_function(way: str, dims: Any, jit_compile: bool) -> None:
    def values_and_gradients(x: Any) -> list[Any]:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            found = [f(SCALARS[way](x)) for f in FUNCTIONS]
        gradients = [tape.gradient(y, x) for y in found]
        return [*found, *[tf.convert_to_tensor(g) for g in gradients if g is not None]]

    function = tf.function(
        values_and_gradients, input_signature=[tf.TensorSpec(dims)], jit_compile=jit_compile
    )
    x = tf.constant([0.5, -1.25, 2.0])
    for y, z in zip(function(x), values_and_gradients(x), strict=True):
        assert type(y.numpy()) is type(z.numpy())
        assert y.shape == z.shape
        np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-6)


@TIERS
@pytest.mark.parametrize(
    "scalar", [lambda x: tf.reduce_sum(x), lambda x: x[0] * 2.0, lambda x: tf.sort(x)[0]]
)
def test_a_scalar_and_its_views_keep_their_shapes(scalar: Any, jit_compile: bool) -> None:
    @tf.function(jit_compile=jit_compile)
    def f(x: Any) -> Any:
        s = scalar(x)
        return s, tf.expand_dims(s, 0), tf.reshape(s, [1, 1]), s, tf.broadcast_to(s, [2])

    x = tf.constant([3.0, 1.0])
    for _ in range(2):
        found = f(x)
        assert [tuple(y.shape) for y in found] == [(), (1,), (1, 1), (), (2,)]
        for y in found:
            np.testing.assert_array_equal(y, np.broadcast_to(scalar(x), y.shape))


@TIERS
def test_a_view_of_a_scalar_alone_and_before_it(jit_compile: bool) -> None:
    f = tf.function(lambda x: tf.expand_dims(tf.reduce_sum(x), 0), jit_compile=jit_compile)
    g = tf.function(
        lambda x: (tf.expand_dims(tf.reduce_sum(x), 0), tf.reduce_sum(x)), jit_compile=jit_compile
    )
    x = tf.ones([4])
    assert f(x).shape == (1,)
    assert [tuple(y.shape) for y in g(x)] == [(1,), ()]


@TIERS
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize(
    "reduction",
    [tf.reduce_mean, tf.reduce_sum, tf.reduce_max, tf.reduce_prod, tf.math.reduce_std],
    ids=lambda f: f.__name__,
)
def test_reductions_of_a_masked_tensor(reduction: Any, dtype: str, jit_compile: bool) -> None:
    if reduction is tf.math.reduce_std and dtype == "int32":
        return
    x = tf.cast(tf.constant([[1.0, -2.0], [3.0, 4.0], [-1.0, 7.0]]), dtype)
    masked: list[Callable[[Any], Any]] = [
        lambda a: reduction(tf.boolean_mask(a, a > 0)),
        lambda a: reduction(tf.boolean_mask(a, a[:, 0] > 0), axis=0),
        lambda a: reduction(tf.boolean_mask(a, a[:, 0] > 0), axis=1, keepdims=True),
        lambda a: reduction(tf.boolean_mask(a, a[:, 0] > 0)[None], axis=0),
        lambda a: tf.squeeze(tf.expand_dims(tf.boolean_mask(a, a > 0), 1), 1) * 1,
        lambda a: tf.reshape(tf.reshape(tf.boolean_mask(a, a[:, 0] > 0), [-1]), [2, -1]),
    ]
    for function in masked:
        found, wanted = tf.function(function, jit_compile=jit_compile)(x), function(x)
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-3 if dtype == "float16" else 1e-6)


@TIERS
def test_a_branch_that_only_assigns_is_differentiated_around(jit_compile: bool) -> None:
    v, w = tf.Variable(2.0), tf.Variable(3.0)

    @tf.function(jit_compile=jit_compile)
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            tf.cond(tf.reduce_sum(x) > 0.0, lambda: v.assign_add(1.0).value(), lambda: v.value())
            y = x * v * w
        return tape.gradient(y, [x, v], output_gradients=3.0 * x)

    for calls in range(1, 4):
        x_bar, v_bar = f(tf.ones([3]))
        np.testing.assert_array_equal(x_bar, np.full(3, 9.0 * (2.0 + calls)))
        assert v_bar.numpy() == 27.0
        assert v.numpy() == 2.0 + calls


def test_the_absolute_value_of_an_unsigned_negative_is_not_rewritten() -> None:
    graph = trace_flat(lambda x: [tf.abs(-x)], [TensorSpec([3], "uint8")]).graph
    assert [node.op.name for node in sweep(graph, EXACT).nodes] == ["neg", "abs"]
    x = tf.constant([0, 1, 200], tf.uint8)
    np.testing.assert_array_equal(tf.function(lambda x: tf.abs(-x))(x), tf.abs(-x))


@pytest.mark.parametrize("compute", [operator.add, operator.sub, operator.mul, operator.lt])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_numpy_computes_operators_of_scalars_by_those_of_python(
    dtype: str, compute: Callable[..., Any]
) -> None:
    spec, kind = TensorSpec((), dtype), np.dtype(dtype).type
    plan = HostPlan(trace_flat(lambda x, y: [compute(x, y)], [spec, spec]).graph, {})
    for x, y in ((kind(3), kind(2)), (np.array(3, dtype), np.array(2, dtype))):
        (found,) = plan.run([x, y])
        assert isinstance(found, np.generic)
        assert found == compute(x, y)
        assert found.dtype == compute(x, y).dtype
    assert [step[1] for step in plan._steps] == [compute]  # nothing around it
