"""Neither the direction, nor the chunk, nor what is known of sizes changes a Jacobian: complex numbers, empty values, budgets."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.gradient import jacobian as jacobians
from graphad.gradient.jacobian_plan import Plan
from graphad.ops.math.exponential import Exp
from graphad.vectorize import vectorize_graph
from tests.support.memory import least_peak

Z = np.array([1 + 2j, 3 - 1j], np.complex64)
R = np.array([1.0, 2.0], np.float32)
C = np.complex64(2 + 3j)
# What TensorFlow's tape.jacobian gives on the diagonal, with its dtype.
COMPLEX = {
    "square": (lambda z: z * z, Z, [2 - 4j, 6 + 2j]),
    "product with a constant": (lambda z: z * C, Z, [2 - 3j, 2 - 3j]),
    "conj": (tf.math.conj, Z, [1, 1]),
    "real": (tf.math.real, Z, [1, 1]),
    "imag": (tf.math.imag, Z, [1j, 1j]),
    "squared length": (lambda z: tf.math.real(z * tf.math.conj(z)), Z, [2 + 4j, 6 - 2j]),
    "complex": (lambda x: tf.complex(x, 2.0 * x), R, [1, 1]),
    "real source": (lambda x: tf.cast(x, tf.complex64) * C, R, [2, 2]),
    "real ends": (lambda x: tf.math.real(tf.exp(tf.cast(x, tf.complex64) * 1j)), R, -np.sin(R)),
}


def jacobian_of(f, **options):
    def jacobian(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x, **options)

    return jacobian


@pytest.mark.parametrize("copies", [1, 10])
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_jacobians_are_those_of_tensorflow_in_both_directions(name, copies, monkeypatch):
    f, value, diagonal = COMPLEX[name]
    many = lambda x: tf.concat([f(x)] * copies, 0)  # noqa: E731
    x = tf.constant(value)
    want = np.concatenate([np.diag(diagonal)] * copies)
    found = {
        "planned": jacobian_of(many)(x),
        "row by row": jacobian_of(many, experimental_use_pfor=False)(x),
        "traced": tf.function(jacobian_of(many))(x),
        "unknown sizes": tf.function(jacobian_of(many), input_signature=[tf.TensorSpec([None], x.dtype)])(x),
    }
    for forward in (False, True):
        monkeypatch.setattr(jacobians, "plan_jacobian", lambda *_, forward=forward: Plan(forward, 3))
        found["forward" if forward else "reverse"] = jacobian_of(many)(x)
    for way, jacobian in found.items():
        assert jacobian.dtype is x.dtype, way
        np.testing.assert_allclose(jacobian, want, rtol=1e-5, atol=1e-6, err_msg=way)


def test_complex_batch_jacobians_are_the_diagonal_of_complex_jacobians():
    x = tf.constant(np.stack([Z, Z[::-1] * 2]))
    f = lambda z: z * z * tf.reduce_sum(z, 1, keepdims=True)  # noqa: E731

    def batch(x, **options):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x)
        return tape.batch_jacobian(y, x, **options)

    want = np.einsum("bxby->bxy", jacobian_of(f)(x).numpy())
    traced = tf.function(batch, input_signature=[tf.TensorSpec([None, 2], tf.complex64)])
    for found in (batch(x), batch(x, experimental_use_pfor=False), traced(x)):
        np.testing.assert_allclose(found, want, rtol=1e-5)


# -- shapes ---------------------------------------------------------------------------------------------------------------


def wide(x):
    return tf.exp(x)[..., None] * tf.ones([2], tf.float64)


SHAPED = {
    "same": tf.exp,
    "sum over rows": lambda x: tf.reduce_sum(tf.exp(x), 0),
    "sum over columns": lambda x: tf.reduce_sum(tf.exp(x), 1),
    "sum": lambda x: tf.reduce_sum(tf.exp(x)),
    "wide": wide,
    "itself": lambda x: x,
    "sorted": lambda x: tf.sort(tf.exp(x), axis=0),
}


@pytest.mark.parametrize("shape", [(0, 7), (7, 0), (0, 0), (1, 1), (1, 3), (3, 1), (2, 3)])
@pytest.mark.parametrize("name", SHAPED)
def test_jacobians_have_the_shape_of_target_and_source_however_they_are_computed(name, shape):
    f = SHAPED[name]
    x = tf.constant(np.random.default_rng(2).standard_normal(shape))
    expected = jacobian_of(f)(x)
    assert expected.shape == [*f(x).shape, *shape]
    ways = {"row by row": jacobian_of(f, experimental_use_pfor=False)}
    ways["in small chunks"] = jacobian_of(f, parallel_iterations=2)
    ways["traced"] = tf.function(jacobian_of(f))
    ways["traced, row by row"] = tf.function(jacobian_of(f, experimental_use_pfor=False))
    for spec in ([None, shape[1]], [None, None]):
        ways[str(spec)] = tf.function(jacobian_of(f), input_signature=[tf.TensorSpec(spec, tf.float64)])
    for way, jacobian in ways.items():
        found = jacobian(x)
        assert found is not None and found.shape == expected.shape, way
        np.testing.assert_allclose(found, expected, rtol=1e-12, err_msg=way)


@pytest.mark.parametrize("shape", [(0, 7), (7, 0), (0, 0), (1, 1), (1, 3), (3, 1), (2, 3)])
@pytest.mark.parametrize("name", ["same", "wide", "itself"])
def test_batch_jacobians_have_the_shape_of_target_and_source_however_they_are_computed(name, shape):
    f = SHAPED[name]

    def batch(**options):
        def jacobian(x):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = f(x)
            return tape.batch_jacobian(y, x, **options)

        return jacobian

    x = tf.constant(np.random.default_rng(2).standard_normal(shape))
    columns = int(np.prod(f(x).shape[1:]))
    rows = jacobian_of(f)(x).numpy().reshape(shape[0], columns, *shape)
    want = np.einsum("bxby->bxy", rows).reshape(*f(x).shape, shape[1])
    ways = {"planned": batch(), "column by column": batch(experimental_use_pfor=False)}
    ways["in small chunks"] = batch(parallel_iterations=2)
    ways["traced"] = tf.function(batch())
    for spec in ([None, shape[1]], [None, None]):
        ways[str(spec)] = tf.function(batch(), input_signature=[tf.TensorSpec(spec, tf.float64)])
    for way, jacobian in ways.items():
        found = jacobian(x)
        assert found.shape == want.shape, way
        np.testing.assert_allclose(found, want, rtol=1e-12, err_msg=way)


def test_a_variable_is_its_own_jacobian():
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(v)
    np.testing.assert_array_equal(tape.jacobian(v, v), np.eye(2))


# -- budgets --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def budget():
    before = tf.config.jacobian_budget()
    yield tf.config.set_jacobian_budget
    tf.config.set_jacobian_budget(before)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(("rows", "columns"), [(20_000, 32), (32, 20_000)])
def test_a_jacobian_takes_little_more_memory_than_its_result(budget, rows, columns, traced):
    matrix = tf.constant(np.random.default_rng(0).standard_normal((rows, columns)))
    x = tf.constant(np.linspace(0.0, 1.0, columns))

    def f(x):
        y = tf.linalg.matvec(matrix, x)
        for _ in range(6):
            y = tf.sin(y) * 2.0
        return y

    compute = jacobian_of(f)
    compute = tf.function(compute, jit_compile=False) if traced else compute
    result = rows * columns * 8
    budget(1 << 20)
    assert least_peak(lambda: compute(x), 4 * result) < 4 * result


def test_a_smaller_budget_takes_less_memory_and_gives_the_same_numbers(budget):
    x = tf.constant(np.linspace(0.0, 1.0, 16))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        hidden = tf.sin(x[:, None] * np.linspace(1.0, 2.0, 5_000))  # far larger than the result
        y = tf.reduce_sum(tf.exp(hidden), 1)
    budget(1 << 30)
    at_once = tape.jacobian(y, x)
    most = least_peak(lambda: tape.jacobian(y, x), 1 << 60)
    budget(1 << 16)
    np.testing.assert_array_equal(tape.jacobian(y, x), at_once)
    assert least_peak(lambda: tape.jacobian(y, x), most / 4) < most / 4


@pytest.mark.parametrize("size", [0, -1, 1.5, True, None])
def test_a_budget_is_a_positive_number_of_bytes(size):
    with pytest.raises(ValueError, match="set_jacobian_budget"):
        tf.config.set_jacobian_budget(size)


# -- what a plan may not depend on -----------------------------------------------------------------------------------------


def test_an_op_without_a_gradient_says_so_itself():
    from graphad.gradient.registry import new_op

    op = new_op("no_gradient_in_a_jacobian", lambda x: x * 2.0)
    with tf.GradientTape() as tape:
        x = tf.Variable([1.0, 2.0])
        y = op(x)
    with pytest.raises(LookupError, match=r"^No gradient defined for operation 'no_gradient_in_a_jacobian'"):
        tape.jacobian(y, x)


def test_errors_of_rules_are_not_taken_for_a_missing_direction(monkeypatch):
    """Forward mode is chosen before anything runs, so what goes wrong there is seen."""

    def broken(self, ctx, g):
        raise ZeroDivisionError("a broken rule")

    scale = tf.Variable(2.0, dtype=tf.float64)
    with tf.GradientTape() as tape:
        y = tf.exp(scale * np.linspace(0.0, 1.0, 77))
    monkeypatch.setattr(Exp, "vjp", broken)
    with pytest.raises((ZeroDivisionError, ValueError), match="a broken rule"):
        tape.jacobian(y, scale)


# -- what is counted ------------------------------------------------------------------------------------------------------


def layer(x, weights):
    return tf.tanh(tf.linalg.matvec(weights, x, transpose_a=True))


@pytest.mark.parametrize("sizes", ["known", "unknown"])
def test_weights_of_which_there_are_no_rows_do_not_make_chunks_smaller(sizes, budget, monkeypatch):
    """A matrix that all rows share takes its bytes once, whatever their number."""
    rows, x = 500, tf.ones([200])
    weights = tf.constant(np.random.default_rng(0).standard_normal((200, rows)).astype("f") / 20)
    budget(
        rows * rows * 4
    )  # the target's rows, all of them; the weights are two hundred times as large as each
    chunks = []
    if sizes == "known":
        plan = jacobians.plan_jacobian
        monkeypatch.setattr(jacobians, "plan_jacobian", lambda *a: chunks.append(plan(*a).chunk) or plan(*a))
        found = jacobian_of(lambda x: layer(x, weights))(x)
    else:
        chunk_of = vectorize_graph.chunk_of

        def count(size, specs, most):
            chunks.append(chunk_of(size, specs, most))
            return chunks[-1]

        monkeypatch.setattr(vectorize_graph, "chunk_of", count)
        spec = [tf.TensorSpec([None], tf.float32)]
        found = tf.function(jacobian_of(lambda x: layer(x, weights)), input_signature=spec)(x)
    assert chunks and min(chunks) == rows
    slope = 1 - layer(x, weights).numpy() ** 2
    np.testing.assert_allclose(found, slope[:, None] * weights.numpy().T, rtol=1e-5)


def test_weights_of_whose_gradients_there_are_rows_make_chunks_smaller(budget, monkeypatch):
    chunks = []
    plan = jacobians.plan_jacobian
    monkeypatch.setattr(jacobians, "plan_jacobian", lambda *a: chunks.append(plan(*a).chunk) or plan(*a))
    x, weights = tf.ones([8]), tf.ones([8, 50])
    budget(5 * 8 * 50 * 4)
    jacobian_of(lambda w: layer(x, w))(weights)
    assert chunks == [5]
