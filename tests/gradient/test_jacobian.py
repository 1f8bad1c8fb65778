"""Jacobians and batch Jacobians: shapes, values, modes, errors, chunks, and the warning about mixed rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import graphad as tf
from graphad.core.flags import flags
from graphad.gradient import independence
from graphad.gradient import jacobian as jacobians


def net(x):
    return tf.sin(x) * tf.reduce_sum(x * x, axis=-1, keepdims=True)


def row_loop(f, x: np.ndarray) -> np.ndarray:
    """The Jacobian by one gradient per element of the target."""
    t = tf.constant(x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(t)
        y = tf.reshape(f(t), [-1])
        parts = [y[i] for i in range(y.shape[0])]
    shape = f(t).shape.as_list()
    return np.stack([tape.gradient(part, t).numpy() for part in parts]).reshape(*shape, *x.shape)


X = np.random.default_rng(5).standard_normal((4, 3))


def test_jacobian_matches_a_loop_over_rows():
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = net(x)
    np.testing.assert_allclose(tape.jacobian(y, x), row_loop(net, X), atol=1e-12)


def test_loop_and_vectorised_jacobians_agree():
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = net(x)
    full = tape.jacobian(y, x)
    np.testing.assert_allclose(tape.jacobian(y, x, experimental_use_pfor=False), full, atol=1e-12)
    np.testing.assert_allclose(
        tape.batch_jacobian(y, x, experimental_use_pfor=False), tape.batch_jacobian(y, x), atol=1e-12
    )


@pytest.mark.parametrize("budget", [1, 100, 1 << 20])
def test_results_do_not_depend_on_the_chunk(monkeypatch, budget):
    monkeypatch.setattr(flags, "jacobian_bytes", budget)
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = net(x)
    np.testing.assert_array_equal(tape.jacobian(y, x), row_loop(net, X))
    np.testing.assert_allclose(
        tape.batch_jacobian(y, x), np.einsum("bxby->bxy", row_loop(net, X)), atol=1e-12
    )


@pytest.mark.parametrize("at_once", [2, 5, 100])
def test_parallel_iterations_never_change_values(at_once):
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = net(x)
    np.testing.assert_array_equal(tape.jacobian(y, x, parallel_iterations=at_once), row_loop(net, X))
    np.testing.assert_allclose(
        tape.batch_jacobian(y, x, parallel_iterations=at_once),
        np.einsum("bxby->bxy", row_loop(net, X)),
        atol=1e-12,
    )


def test_nested_sources_give_a_nest():
    x, z = tf.Variable(X), tf.Variable(2.0, dtype=tf.float64)
    with tf.GradientTape() as tape:
        y = net(x) * z
    out = tape.jacobian(y, {"x": x, "both": [z, x]})
    assert out["x"].shape == [4, 3, 4, 3]
    assert out["both"][0].shape == [4, 3]
    np.testing.assert_allclose(out["x"], 2 * row_loop(net, X), atol=1e-12)


def test_scalar_target_has_the_shape_of_the_gradient():
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.reduce_sum(net(x))
    np.testing.assert_allclose(tape.jacobian(y, x), tape.gradient(y, x), atol=1e-12)


def test_small_sources_use_forward_mode(monkeypatch):
    used = []
    original = jacobians._by_columns
    monkeypatch.setattr(jacobians, "_by_columns", lambda *args: used.append(1) or original(*args))
    scale = tf.Variable(1.5, dtype=tf.float64)
    with tf.GradientTape() as tape:
        y = tf.tanh(tf.constant(X) * scale)
    j = tape.jacobian(y, scale)
    assert used
    np.testing.assert_allclose(j, X / np.cosh(1.5 * X) ** 2, atol=1e-12)


def test_nonlinear_custom_gradients_fall_back_to_reverse_mode():
    @tf.custom_gradient
    def clipped(y):
        return y, lambda up: tf.clip_by_norm(up, 0.5)

    scale = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = clipped(tf.ones([20]) * scale)
    np.testing.assert_allclose(tape.jacobian(y, scale), np.full(20, 0.5), rtol=1e-6)


def test_unconnected_sources():
    x, z = tf.constant(X), tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        y = net(x)
    assert tape.jacobian(y, z) is None
    zeros = tape.jacobian(y, z, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert zeros.shape == [4, 3, 4, 3]
    assert not zeros.numpy().any()
    batch = tape.batch_jacobian(y, z)
    assert batch.shape == [4, 3, 3]
    assert not batch.numpy().any()


def test_used_tapes_and_lone_tapes():
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = net(x)
    tape.jacobian(y, x)
    for call in (tape.jacobian, tape.batch_jacobian, tape.gradient):
        with pytest.raises(RuntimeError, match="A non-persistent GradientTape can only"):
            call(y, x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = net(x)
    for name in ("jacobian", "batch_jacobian"):
        with pytest.raises(RuntimeError, match=f"persistent=True to compute the {name} with eager"):
            getattr(tape, name)(y, x, experimental_use_pfor=False)
    assert tape.gradient(y, x) is not None  # the refused calls have not used it up


def test_parallel_iterations_need_a_persistent_tape():
    x = tf.constant(np.ones((2, 16), np.float32))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="Encountered an exception while vectorizing the jacobian"):
        tape.jacobian(y, x, parallel_iterations=4)
    with pytest.raises(RuntimeError, match="to compute the batch_jacobian with parallel_iterations"):
        tape.batch_jacobian(y, x, parallel_iterations=8)
    assert tape.batch_jacobian(y, x, parallel_iterations=16).shape == [2, 16, 16]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(TypeError, match="must be a positive integer"):
        tape.jacobian(y, x, parallel_iterations=-1, experimental_use_pfor=False)
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients"):
        tape.jacobian(y, x, unconnected_gradients="nonsense")


def test_shapes_that_do_not_fit_leave_the_tape_alone():
    x = tf.constant(np.ones((2, 3), np.float32))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.concat([x, x], 0)
        flat = tf.reduce_sum(x, 1)
        total = tf.reduce_sum(x)
    with pytest.raises(
        ValueError, match=r"Need first dimension of target shape \(\(4, 3\)\) and source shape \(\(2, 3\)\)"
    ):
        tape.batch_jacobian(y, x)
    with pytest.raises(ValueError, match=r"Shape \(2,\) must have rank at least 2"):
        tape.batch_jacobian(flat, x)
    with pytest.raises(ValueError, match=r"Need first dimension|rank at least 2"):
        tape.batch_jacobian(total, x)
    with pytest.raises(TypeError, match="single Tensor"):
        tape.jacobian([y], x)
    assert tape.gradient(y, x).shape == [2, 3]


@pytest.mark.parametrize(("shape", "result"), [((3, 0), (3, 0, 0)), ((0, 2), (0, 2, 2))])
def test_empty_batches_and_rows(shape, result):
    x = tf.constant(np.ones(shape, np.float32))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.batch_jacobian(y, x).shape == result


def test_integer_sources_have_no_jacobian():
    x = tf.constant([[1, 2]])
    with tf.GradientTape() as tape:
        with pytest.warns(UserWarning, match="must be floating"):
            tape.watch(x)
        y = tf.cast(x, tf.float32) * 2.0
    assert tape.jacobian(y, x) is None


def test_jacobian_inside_its_own_block():
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        j = tape.jacobian(net(x), x)
    np.testing.assert_allclose(j, row_loop(net, X), atol=1e-12)
    with tf.GradientTape() as tape:
        tape.watch(x)
        b = tape.batch_jacobian(net(x), x)
    np.testing.assert_allclose(b, np.einsum("bxby->bxy", j.numpy()), atol=1e-12)


def test_derivatives_of_jacobians():
    x = tf.constant(X[0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(x**3)
        g = inner.gradient(y, x)
    np.testing.assert_allclose(outer.jacobian(g, x), np.diag(6 * X[0]), atol=1e-12)

    rows = tf.constant(X)
    with tf.GradientTape() as outer:
        outer.watch(rows)
        with tf.GradientTape() as inner:
            inner.watch(rows)
            y = rows**3
        first = inner.batch_jacobian(y, rows)
    second = outer.batch_jacobian(first, rows)
    expected = np.einsum("bi,ij,ik->bijk", 6 * X, np.eye(3), np.eye(3))
    np.testing.assert_allclose(second, expected, atol=1e-12)


@pytest.mark.parametrize(
    "spec",
    [
        tf.TensorSpec([4, 3], tf.float64),
        tf.TensorSpec([None, 3], tf.float64),
        tf.TensorSpec(None, tf.float64),
    ],
)
def test_jacobians_inside_functions_at_every_degree_of_ignorance(spec):
    @tf.function(input_signature=[spec])
    def jacobian(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = net(x)
        return tape.jacobian(y, x)

    np.testing.assert_allclose(jacobian(X), row_loop(net, X), atol=1e-12)
    np.testing.assert_allclose(jacobian(X), row_loop(net, X), atol=1e-12)


@pytest.mark.parametrize("spec", [tf.TensorSpec([4, 3], tf.float64), tf.TensorSpec([None, 3], tf.float64)])
def test_batch_jacobians_inside_functions(spec):
    @tf.function(input_signature=[spec])
    def jacobian(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = net(x)
        return tape.batch_jacobian(y, x)

    np.testing.assert_allclose(jacobian(X), np.einsum("bxby->bxy", row_loop(net, X)), atol=1e-12)


def test_batch_jacobian_of_unknown_rank_is_refused():
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def jacobian(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.batch_jacobian(y, x)

    with pytest.raises(ValueError, match=r"Need first dimension of target shape \(<unknown>\)"):
        jacobian(X.astype(np.float32))


def test_loops_are_allowed_inside_functions():
    @tf.function
    def jacobian(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = net(x)
        return tape.jacobian(y, x, experimental_use_pfor=False)

    np.testing.assert_allclose(jacobian(X), row_loop(net, X), atol=1e-12)


MIXERS = {
    "reduce_mean": lambda x: x - tf.reduce_mean(x, axis=0),
    "matmul": lambda x: tf.matmul(tf.constant(np.ones((4, 4))), x),
    "cumsum": lambda x: tf.cumsum(x, axis=0),
    "reverse": lambda x: x * tf.reverse(x, [0]),
}
ALONE = {
    "elementwise": lambda x: tf.tanh(x) * x,
    "per row": lambda x: x - tf.reduce_mean(x, axis=1, keepdims=True),
    "matmul": lambda x: tf.matmul(x, tf.constant(np.ones((3, 5)))),
    "softmax": tf.nn.softmax,
    "stopped mean": lambda x: x - tf.stop_gradient(tf.reduce_mean(x, axis=0)),
    "there and back": lambda x: tf.transpose(tf.transpose(x) * 2.0),
    "flattened and back": lambda x: tf.reshape(tf.sin(tf.reshape(x, [-1])), [4, 3]),
    "gather undone": lambda x: tf.gather(tf.gather(x, [3, 2, 1, 0]), [3, 2, 1, 0]),
    "slices": lambda x: tf.concat([x[:, :1], x[:, 1:] ** 2], axis=1),
}


@pytest.mark.parametrize("name", MIXERS)
def test_mixed_rows_are_named(name):
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = MIXERS[name](x)
    with pytest.warns(UserWarning, match=f"{name} mixes rows"):
        b = tape.batch_jacobian(y, x)
    np.testing.assert_allclose(b, np.einsum("bxcy->cxy", tape.jacobian(y, x).numpy()), atol=1e-12)


@pytest.mark.parametrize("name", ALONE)
def test_independent_rows_bring_no_warning(name):
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = ALONE[name](x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        b = tape.batch_jacobian(y, x)
    np.testing.assert_allclose(b, np.einsum("bxby->bxy", tape.jacobian(y, x).numpy()), atol=1e-12)


def test_through_functions_and_custom_gradients():
    @tf.custom_gradient
    def softplus(x):
        e = tf.exp(x)
        return tf.math.log(1.0 + e), lambda up: up * (1.0 - 1.0 / (1.0 + e))

    @tf.function
    def layer(x):
        return softplus(x) * x

    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = layer(x)
    s = 1 / (1 + np.exp(-X))
    expected = np.einsum("bi,ij->bij", s * X + np.log1p(np.exp(X)), np.eye(3))
    np.testing.assert_allclose(tape.batch_jacobian(y, x), expected, atol=1e-12)
    np.testing.assert_allclose(np.einsum("bxby->bxy", tape.jacobian(y, x).numpy()), expected, atol=1e-12)


@pytest.mark.parametrize("batch", [None, 4])
def test_jacobians_of_unknown_sizes_are_differentiable(batch):
    @tf.function(input_signature=[tf.TensorSpec([batch, 3], tf.float64)])
    def rows(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        return tape.batch_jacobian(y, x)

    @tf.function(input_signature=[tf.TensorSpec([batch, 3], tf.float64)])
    def full(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        return tape.jacobian(y, x)

    x = tf.constant(X)
    for jacobian in (rows, full):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(jacobian(x) ** 2)
        np.testing.assert_allclose(total, np.sum((3 * X**2) ** 2), rtol=1e-12)
        np.testing.assert_allclose(tape.gradient(total, x), 36 * X**3, rtol=1e-12)


def batch_jacobian_of(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.batch_jacobian(y, x)


@pytest.mark.parametrize(
    "f",
    [
        tf.nn.softmax,
        lambda x: x - tf.reduce_mean(x, axis=-1, keepdims=True),
        lambda x: tf.gather(x, [0, 1], axis=-1),
        lambda x: tf.cumsum(x, axis=1),
        lambda x: tf.math.cumprod(x, axis=-1),
    ],
)
def test_batch_jacobian_of_a_function_traced_with_unknown_rank(f):
    x = tf.constant(X)
    traced = tf.function(f, input_signature=[tf.TensorSpec(None, tf.float64)])
    np.testing.assert_allclose(batch_jacobian_of(traced, x), batch_jacobian_of(f, x), atol=1e-12)


UNKNOWN_ROWS = [[None, 3], [None, None], [4, 3]]


@pytest.mark.parametrize("shape", UNKNOWN_ROWS)
@pytest.mark.parametrize(
    ("name", "f"),
    [
        ("reduce_mean", lambda x: x - tf.reduce_mean(x, 0)),
        ("matmul", lambda x: tf.matmul(tf.constant(np.ones((4, 4))), x)),
        ("reduce_mean", lambda x: tf.cond(x[0, 0] > 0, lambda: x, lambda: x - tf.reduce_mean(x, 0))),
        ("reduce_mean", lambda x: tf.function(lambda x: x - tf.reduce_mean(x, 0))(x)),
        ("cumsum", lambda x: tf.cumsum(x)),
    ],
)
def test_mixed_rows_are_named_while_sizes_are_unknown(shape, name, f):
    traced = tf.function(
        lambda x: batch_jacobian_of(f, x), input_signature=[tf.TensorSpec(shape, tf.float64)]
    )
    with pytest.warns(UserWarning, match=f"not independent: {name} mixes rows"):
        traced(tf.constant(X))


@pytest.mark.parametrize("shape", UNKNOWN_ROWS)
@pytest.mark.parametrize(
    "f",
    [
        net,
        lambda x: x - tf.reduce_mean(x, 1, keepdims=True),
        lambda x: tf.reshape(x, [-1, 3]) * 2.0,
        lambda x: tf.reshape(x, tf.shape(x)),
        lambda x: tf.cond(x[0, 0] > 0, lambda: x, lambda: tf.sin(x)),
        lambda x: tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * x), [0, x])[1],
    ],
)
def test_independent_rows_are_silent_while_sizes_are_unknown(shape, f):
    traced = tf.function(
        lambda x: batch_jacobian_of(f, x), input_signature=[tf.TensorSpec(shape, tf.float64)]
    )
    np.testing.assert_allclose(traced(tf.constant(X)), batch_jacobian_of(f, tf.constant(X)), atol=1e-12)


@pytest.mark.filterwarnings("ignore:batch_jacobian")
def test_a_branch_that_takes_few_numbers_of_rows_may_stand_beside_one_that_takes_all():
    @tf.function(input_signature=[tf.TensorSpec([None, 4, None], tf.float64)], autograph=False)
    def f(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.cond(tf.reduce_any(x > 9.0), lambda: x * tf.split(x, [1, 1], axis=0)[0], lambda: x * x)
        return tape.gradient(y, x), tape.batch_jacobian(y, x)

    for rows in (3, 1):
        x = tf.constant(np.arange(rows * 8.0).reshape(rows, 4, 2) / 8.0)
        first, found = f(x)
        np.testing.assert_allclose(first, 2.0 * x.numpy())
        np.testing.assert_allclose(
            found.numpy().reshape(rows, 8, 8), [np.diag(2.0 * row) for row in x.numpy().reshape(rows, 8)]
        )


def clipped(axis):
    f = tf.custom_gradient(
        lambda x: (x * 1, lambda u: tf.clip_by_norm(u, tf.constant(1.0, u.dtype), axes=[axis]))
    )
    return {"eager": f, "function": tf.function(lambda x: f(x))}


@pytest.mark.parametrize("how", ["eager", "function"])
@pytest.mark.parametrize("inside", [True, False])
def test_a_custom_gradient_mixes_rows_only_if_its_rule_does(how, inside):
    def jacobian(axis):
        call = lambda x: batch_jacobian_of(clipped(axis)[how], x)  # noqa: E731
        return tf.function(call)(tf.constant(X)) if inside else call(tf.constant(X))

    assert jacobian(1).shape == [4, 3, 3]
    with pytest.warns(UserWarning, match="not independent: custom_gradient mixes rows"):
        jacobian(0)


def twice(f, start):
    return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, f(a)), [0, start])[1]


NESTED = {
    "a loop in a loop": lambda x: twice(lambda a: twice(lambda b: b * x, a), x),
    "a loop in a loop in a loop": lambda x: twice(
        lambda a: twice(lambda b: twice(lambda c: tf.sin(c) * x, b), a), x
    ),
    "a loop in a branch": lambda x: tf.cond(x[0] > 0, lambda: twice(lambda a: a * x, x), lambda: x),
    "a loop in a branch in a loop": lambda x: twice(
        lambda a: tf.cond(a[0] > 0, lambda: twice(lambda b: b * x, a), lambda: a), x
    ),
}


@pytest.mark.parametrize("f", NESTED.values(), ids=NESTED.keys())
def test_jacobians_of_nested_control_flow_with_unknown_sizes(f):
    def jacobian(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x)

    traced = tf.function(jacobian, input_signature=[tf.TensorSpec([None], tf.float64)])
    for values in ([0.5, 2.0, 3.0], [-1.0, 0.3]):
        x = tf.constant(np.array(values))
        np.testing.assert_allclose(traced(x), jacobian(x), rtol=1e-12)


LARGE = np.arange(300) % 3 == 0


@pytest.mark.parametrize(
    ("f", "n"),
    [
        (lambda x: tf.sin(tf.boolean_mask(x * x, [True, False, True])), 3),
        (lambda x: tf.sin(tf.boolean_mask(x * x, x > 0)), 3),
        (lambda x: tf.sin(tf.boolean_mask(x * x, LARGE)), 300),
        (lambda x: tf.sin(tf.boolean_mask(tf.reshape(x * x, [2, 3]), [True, False, True], axis=1)), 6),
    ],
    ids=["known", "computed", "large", "axis"],
)
@pytest.mark.parametrize("is_known", [True, False])
def test_hessian_through_a_mask_inside_a_function(f, n, is_known):
    def hessian(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            g = tape.gradient(y, x)
        return outer.jacobian(g, x)

    traced = tf.function(hessian, input_signature=[tf.TensorSpec([n if is_known else None], tf.float64)])
    for sign in (1.0, -1.0):
        x = tf.constant(sign * np.linspace(-1.0, 2.0, n))
        np.testing.assert_allclose(traced(x), hessian(x), atol=1e-12)


def energy_gradient(jacobian):
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            energy = tf.reduce_sum(jacobian(x) ** 2)
        return tape.gradient(energy, x)

    return gradient


def jacobian_of(f, kind):
    def jacobian(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return getattr(tape, kind)(y, x)

    return jacobian


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("spec", [[None, 3], [None, None]])
@pytest.mark.parametrize("kind", ["jacobian", "batch_jacobian"])
def test_second_derivatives_through_jacobians_of_unknown_sizes(kind, spec, rows):
    signature = [tf.TensorSpec(spec, tf.float64)]
    jacobian = jacobian_of(net, kind)
    x = tf.constant(X[:rows] if rows else X[:0])

    def second(gradient, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            slope = gradient(x)
        return tape.gradient(slope, x)

    first = energy_gradient(jacobian)
    want_first, want_second = first(x), second(first, x)
    for gradient in (
        energy_gradient(tf.function(jacobian, input_signature=signature)),
        tf.function(first, input_signature=signature),
    ):
        np.testing.assert_allclose(gradient(x), want_first, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(second(gradient, x), want_second, rtol=1e-10, atol=1e-12)
    whole = tf.function(lambda x: second(first, x), input_signature=signature)
    np.testing.assert_allclose(whole(x), want_second, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", ["jacobian", "batch_jacobian"])
def test_gradient_of_a_jacobian_with_one_row_and_one_column_of_unknown_sizes(kind):
    jacobian = jacobian_of(lambda x: tf.exp(tf.sin(x)), kind)
    x = tf.constant(X[:1, :1])
    want = energy_gradient(jacobian)(x)
    for spec in ([None, 1], [None, None]):
        traced = tf.function(jacobian, input_signature=[tf.TensorSpec(spec, tf.float64)])
        np.testing.assert_allclose(energy_gradient(traced)(x), want, rtol=1e-12)


def test_forward_mode_through_a_gradient_of_a_jacobian_of_unknown_sizes():
    gradient = tf.function(
        energy_gradient(jacobian_of(net, "batch_jacobian")),
        input_signature=[tf.TensorSpec([None, 3], tf.float64)],
    )
    x, dot = tf.constant(X), tf.constant(X[::-1].copy())
    with tf.autodiff.ForwardAccumulator(x, dot) as accumulator:
        y = gradient(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        slope = gradient(x)
    hessian = tape.jacobian(slope, x).numpy()
    np.testing.assert_allclose(accumulator.jvp(y), np.tensordot(hessian, dot.numpy(), 2), rtol=1e-9)


def _plain():
    return tf.custom_gradient(lambda x: (tf.exp(x), lambda u: u * tf.exp(x)))


def _closes_over_its_value():
    @tf.custom_gradient
    def f(x):
        e = tf.exp(x)
        return tf.math.log(1.0 + e), lambda u: u * (1.0 - 1.0 / (1.0 + e))

    return f


def _clips_rows():
    return tf.custom_gradient(
        lambda x: (x, lambda u: tf.clip_by_norm(u, tf.constant(0.5, u.dtype), axes=[1]))
    )


def _uses_another():
    inner = _plain()
    return tf.custom_gradient(lambda x: (inner(x) * x, lambda u: u * inner(x)))


def _reads_a_variable():
    matrix = tf.Variable(np.ones((3, 3)))

    @tf.custom_gradient
    def f(x):
        def gradient(u, variables=None):
            return tf.matmul(u, matrix, transpose_b=True), [tf.matmul(x, u, transpose_a=True)]

        return tf.matmul(x, matrix), gradient

    return f


def _calls_a_function():
    slope = tf.function(lambda u, x: u * tf.cos(x))
    return tf.custom_gradient(lambda x: (tf.sin(x), lambda u: slope(u, x)))


def _recomputes():
    return tf.recompute_grad(lambda x: tf.sin(x) * x)


@pytest.mark.parametrize("shape", [*UNKNOWN_ROWS, None])
@pytest.mark.parametrize(
    "make",
    [
        _plain,
        _closes_over_its_value,
        _clips_rows,
        _uses_another,
        _reads_a_variable,
        _calls_a_function,
        _recomputes,
    ],
)
def test_a_custom_gradient_that_keeps_rows_apart_is_proved_to(make, shape, monkeypatch):
    f, answers = make(), []
    proving = independence._found
    monkeypatch.setattr(independence, "_found", lambda *a: answers.append(proving(*a)) or answers[-1])
    signature = None if shape is None else [tf.TensorSpec(shape, tf.float64)]
    found = tf.function(lambda x: batch_jacobian_of(f, x), input_signature=signature)(tf.constant(X))
    assert answers == [None]
    np.testing.assert_allclose(found, batch_jacobian_of(f, tf.constant(X)), rtol=1e-10)


@pytest.mark.parametrize(
    "rule",
    [
        lambda u: u * tf.cast(tf.reduce_any(u > 0.0), u.dtype),
        lambda u: tf.stop_gradient(tf.reverse(u, [0])),
        lambda u: tf.function(lambda v: v - tf.reduce_mean(v, 0))(u),
        lambda u: tf.gather(u, tf.argsort(u[:, 0])),
    ],
)
def test_a_rule_that_mixes_rows_where_no_derivative_goes_mixes_them(rule):
    """Comparisons and indices have no derivative, but what a rule returns depends on them."""
    f = tf.custom_gradient(lambda x: (x * 1.0, rule))
    with pytest.warns(UserWarning, match="not independent: custom_gradient mixes rows"):
        tf.function(lambda x: batch_jacobian_of(f, x))(tf.constant(X))


@pytest.mark.parametrize("spec", [[None], None])
def test_jacobian_of_an_unconnected_target_is_zero_for_unknown_sizes_too(spec):
    @tf.function(input_signature=[tf.TensorSpec(spec), tf.TensorSpec([2, 2])])
    def f(x, y):
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = tf.sin(y)
        return tape.jacobian(z, x, unconnected_gradients="zero")

    for size in (3, 0):
        found = f(tf.ones([size]), tf.ones([2, 2]))
        assert found.shape == (2, 2, size) and not found.numpy().any()
