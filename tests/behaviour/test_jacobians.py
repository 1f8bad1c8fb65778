"""`jacobian` and `batch_jacobian` as users of TensorFlow rely on them."""

import numpy as np
import pytest

import graphad as tf


def plainly(f):
    return f


WAYS = pytest.mark.parametrize("way", [plainly, tf.function], ids=["eager", "function"])
PFOR = pytest.mark.parametrize("pfor", [True, False], ids=["pfor", "loop"])
X = np.arange(6.0, dtype=np.float32).reshape(2, 3) / 3


def mixed(x):
    return tf.stack([tf.reduce_sum(x * x, axis=1), tf.reduce_prod(x + 1.0, axis=1)], axis=1)


def answer(kind, f, x, persistent=False, **options):
    with tf.GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        y = f(x)
    return getattr(tape, kind)(y, x, **options)


@WAYS
@PFOR
def test_the_shape_is_the_targets_then_the_sources(way, pfor):
    f = way(lambda x: answer("jacobian", mixed, x, persistent=True, experimental_use_pfor=pfor))
    assert f(tf.constant(X)).shape == (2, 2, 2, 3)
    g = way(lambda x: answer("jacobian", lambda x: tf.reduce_sum(x**2), x, True, experimental_use_pfor=pfor))
    np.testing.assert_array_equal(g(tf.constant(X)), 2 * X)


@WAYS
def test_sources_are_nested_as_given(way):
    @way
    def f(a, b):
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            y = a * b
        return tape.jacobian(y, {"a": a, "l": [b]})

    got = f(tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]))
    np.testing.assert_array_equal(got["a"], np.diag([3.0, 4.0]))
    np.testing.assert_array_equal(got["l"][0], np.diag([1.0, 2.0]))


@pytest.mark.parametrize("kind", ["jacobian", "batch_jacobian"])
def test_rows_one_by_one_need_a_persistent_tape(kind):
    with pytest.raises(RuntimeError, match=f"persistent=True to compute the {kind}"):
        answer(kind, mixed, tf.constant(X), experimental_use_pfor=False)


@pytest.mark.parametrize("kind", ["jacobian", "batch_jacobian"])
def test_rows_one_by_one_in_a_function_do_not(kind):
    f = tf.function(lambda x: answer(kind, mixed, x, experimental_use_pfor=False))
    np.testing.assert_allclose(f(tf.constant(X)), answer(kind, mixed, tf.constant(X)), rtol=1e-6)


@WAYS
@PFOR
def test_a_batch_jacobian_is_the_diagonal_of_the_jacobian(way, pfor):
    f = way(lambda x: answer("batch_jacobian", mixed, x, persistent=True, experimental_use_pfor=pfor))
    full = np.asarray(answer("jacobian", mixed, tf.constant(X)))
    np.testing.assert_allclose(f(tf.constant(X)), full[[0, 1], :, [0, 1]], rtol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_parallel_iterations_change_no_number(n):
    wanted = answer("jacobian", mixed, tf.constant(X))
    for pfor in (True, False) if n > 1 else (False,):
        got = answer(
            "jacobian", mixed, tf.constant(X), True, experimental_use_pfor=pfor, parallel_iterations=n
        )
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_parallel_iterations_that_cannot_be():
    x = tf.constant(X)
    with pytest.raises(ValueError, match="while vectorizing the"):
        answer("jacobian", mixed, x, parallel_iterations=2)
    with pytest.raises(ValueError, match="while vectorizing the"):
        answer("jacobian", mixed, x, True, parallel_iterations=0)
    with pytest.raises(TypeError, match="'parallel_iterations' must be a positive integer"):
        answer("jacobian", mixed, x, True, experimental_use_pfor=False, parallel_iterations=-1)


@WAYS
def test_few_parallel_iterations_of_a_batch_jacobian_need_a_persistent_tape(way):
    wide = tf.ones([2, 16])
    f = way(lambda x: answer("batch_jacobian", lambda x: x * x, x, parallel_iterations=8))
    with pytest.raises(
        RuntimeError, match="persistent=True to compute the batch_jacobian with parallel_iterations"
    ):
        f(wide)
    g = way(lambda x: answer("batch_jacobian", lambda x: x * x, x, True, parallel_iterations=8))
    np.testing.assert_array_equal(g(wide)[0], 2 * np.eye(16))
    small = tf.ones([2, 4])
    np.testing.assert_array_equal(f(small)[0], 2 * np.eye(4))


@WAYS
def test_an_unconnected_jacobian(way):
    @way
    def f(x, z):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, z])
            y = x * x
        return (
            tape.jacobian(y, z),
            tape.jacobian(y, z, unconnected_gradients="zero"),
            tape.batch_jacobian(y, z),
        )

    none, zeros, batch = f(tf.constant(X), tf.ones([2, 4], tf.float64))
    assert none is None
    assert zeros.shape == (2, 3, 2, 4) and not np.any(zeros)
    assert batch.shape == (2, 3, 4) and not np.any(batch)


@WAYS
def test_first_sizes_must_match(way):
    f = way(lambda x: answer("batch_jacobian", lambda x: tf.reshape(x, [4, 2]), x))
    with pytest.raises(
        ValueError, match=r"Need first dimension of target shape \(\(4, 2\)\) and source shape \(\(2, 4\)\)"
    ):
        f(tf.ones([2, 4]))


@WAYS
@pytest.mark.parametrize("f", [lambda x: x * x, lambda x: tf.reduce_sum(x, -1)], ids=["source", "target"])
def test_vectors_have_no_batch_jacobian(way, f):
    x = tf.ones([2]) if f(tf.ones([2])).shape.rank else tf.ones([2, 3])
    g = way(lambda x: answer("batch_jacobian", f, x))
    with pytest.raises(ValueError, match=r"Shape \(2,\) must have rank at least 2"):
        g(x)


def test_a_scalar_target_has_no_batch_jacobian():
    with pytest.raises((ValueError, IndexError)):
        answer("batch_jacobian", tf.reduce_sum, tf.constant(X))


def test_an_unknown_rank_has_no_batch_jacobian():
    f = tf.function(
        lambda x: answer("batch_jacobian", lambda x: x * x, x),
        input_signature=[tf.TensorSpec(None, tf.float32)],
    )
    with pytest.raises(ValueError, match=r"Need first dimension of target shape \(<unknown>\)"):
        f(tf.constant(X))


@pytest.mark.parametrize("kind", ["jacobian", "batch_jacobian"])
def test_unknown_sizes(kind):
    f = tf.function(
        lambda x: answer(kind, mixed, x), input_signature=[tf.TensorSpec([None, None], tf.float32)]
    )
    for rows in (1, 2, 3):
        x = tf.constant(np.linspace(0, 1, rows * 3, dtype=np.float32).reshape(rows, 3))
        np.testing.assert_allclose(f(x), answer(kind, mixed, x), rtol=1e-5)


def test_a_jacobian_of_unknown_rank():
    f = tf.function(
        lambda x: answer("jacobian", lambda x: x * x, x), input_signature=[tf.TensorSpec(None, tf.float32)]
    )
    np.testing.assert_array_equal(f(tf.constant([1.0, 2.0])), np.diag([2.0, 4.0]))
    assert float(f(tf.constant(3.0))) == 6.0


def test_a_refused_argument_does_not_use_the_tape_up():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="rank at least 2"):
        tape.batch_jacobian(y, x)
    np.testing.assert_array_equal(tape.gradient(y, x), [2.0, 4.0])


@WAYS
@PFOR
def test_rows_without_elements(way, pfor):
    f = way(lambda x: answer("batch_jacobian", lambda x: x * x, x, True, experimental_use_pfor=pfor))
    assert f(tf.zeros([2, 0])).shape == (2, 0, 0)


@WAYS
@pytest.mark.filterwarnings("ignore")
def test_rows_that_interact_are_summed(way):
    def standardised(x):
        centred = x - tf.reduce_mean(x, 0)
        return centred / tf.sqrt(tf.reduce_mean(centred**2, 0) + 0.1)

    x = tf.constant(X**2)
    batch = way(lambda x: answer("batch_jacobian", standardised, x))(x)
    full = np.asarray(answer("jacobian", standardised, x))
    np.testing.assert_allclose(batch, np.einsum("mknj->nkj", full), rtol=1e-4, atol=1e-6)


@WAYS
@pytest.mark.parametrize("kind", ["jacobian", "batch_jacobian"])
def test_within_the_block_of_its_tape(way, kind):
    @way
    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = mixed(x)
            return getattr(tape, kind)(y, x)

    np.testing.assert_allclose(f(tf.constant(X)), answer(kind, mixed, tf.constant(X)), rtol=1e-6)


@WAYS
def test_nested_derivatives_with_loops_and_branches(way):
    def inner(x):
        y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, tf.ones_like(x)))[1]
        return tf.cond(tf.reduce_sum(x) > 0, lambda: y, lambda: -y)

    @way
    def hessian(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(inner(x))
            g = tape.gradient(y, x)
        return outer.jacobian(g, x)

    @way
    def twice(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            j = answer("batch_jacobian", inner, x)
        return outer.batch_jacobian(j, x)

    @way
    def slope(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            j = answer("batch_jacobian", inner, x)
        return outer.gradient(j, x)

    x = np.float32([[1.0, 2.0]])
    np.testing.assert_allclose(hessian(tf.constant(x[0])), np.diag(6 * x[0]), rtol=1e-6)
    wanted = np.zeros((1, 2, 2, 2))
    wanted[0, [0, 1], [0, 1], [0, 1]] = 6 * x[0]
    np.testing.assert_allclose(twice(tf.constant(x)), wanted, rtol=1e-6)
    np.testing.assert_allclose(slope(tf.constant(x)), 6 * x, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:The dtype of the watched")
def test_an_integer_source_gives_none():
    n = tf.constant([1, 2])
    with tf.GradientTape() as tape:
        tape.watch(n)
        y = tf.cast(n, tf.float32) * 2.0
    assert tape.jacobian(y, n) is None
