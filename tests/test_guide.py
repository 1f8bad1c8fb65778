"""The facts of TensorFlow's guide to advanced automatic differentiation, with graphad under the name tf."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

import graphad as tf


def pair() -> tuple[tf.Variable, tf.Variable]:
    return tf.Variable(2.0), tf.Variable(3.0)


def test_stop_recording_makes_constants():
    x, y = pair()
    with tf.GradientTape() as tape:
        x_squared = x * x
        with tape.stop_recording():
            y_squared = y * y
        z = x_squared + y_squared
    grad = tape.gradient(z, {"x": x, "y": y})
    assert str(grad["x"]) == "tf.Tensor(4.0, shape=(), dtype=float32)"
    assert grad["y"] is None


def test_reset_forgets_what_came_before():
    x, y = pair()
    with tf.GradientTape() as tape:
        y_squared = y * y
        tape.reset()
        z = x * x + y_squared
    grad = tape.gradient(z, {"x": x, "y": y})
    assert grad["x"].numpy() == 4.0
    assert grad["y"] is None


def test_stop_gradient_cuts_one_path():
    x, y = pair()
    with tf.GradientTape() as tape:
        z = x**2 + tf.stop_gradient(y**2)
    grad = tape.gradient(z, {"x": x, "y": y})
    assert grad["x"].numpy() == 4.0
    assert grad["y"] is None


@tf.custom_gradient
def clipped(y):
    def backward(upstream):
        return tf.clip_by_norm(upstream, 0.5)

    return y, backward


def gradient_at_two(f) -> tf.Tensor:
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        output = f(v * v)
    return tape.gradient(output, v)


def test_custom_gradient_clips():
    assert str(gradient_at_two(clipped)) == "tf.Tensor(2.0, shape=(), dtype=float32)"


class Clipping(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec(None)])
    def call_custom_grad(self, x):
        return clipped(x)


@pytest.mark.parametrize("saved", [True, False])
def test_custom_gradient_survives_in_this_process(tmp_path, saved):
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=saved)
    tf.saved_model.save(Clipping(), str(tmp_path / "model"), options=options)
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    assert gradient_at_two(loaded.call_custom_grad).numpy() == 2.0
    for shape in ((), (3,), (2, 2)):  # unknown rank: one trace serves them all
        np.testing.assert_array_equal(loaded.call_custom_grad(np.ones(shape, np.float32)), np.ones(shape))


FRESH = """
import sys, warnings
warnings.simplefilter("ignore")
import graphad as tf
loaded = tf.saved_model.load(sys.argv[1])
v = tf.Variable(2.0)
assert loaded.call_custom_grad(v * v).numpy() == 4.0
try:
    with tf.GradientTape() as tape:
        output = loaded.call_custom_grad(v * v)
        print("forward ran")
    print(tape.gradient(output, v).numpy())
except LookupError as error:
    print("LookupError", error)
"""


@pytest.mark.parametrize("saved", [True, False])
def test_custom_gradient_in_a_fresh_process(tmp_path, saved):
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=saved)
    tf.saved_model.save(Clipping(), str(tmp_path / "model"), options=options)
    done = subprocess.run(
        [sys.executable, "-c", FRESH, str(tmp_path / "model")],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    if saved:
        assert done.stdout.split() == ["forward", "ran", "2.0"]
    else:
        assert done.stdout.startswith("LookupError")
        assert "No gradient defined for operation" in done.stdout
        assert "(op type: IdentityN)" in done.stdout
        assert "forward ran" not in done.stdout


def test_several_tapes_watch_different_tensors():
    x0, x1 = tf.constant(0.0), tf.constant(0.0)
    with tf.GradientTape() as tape0, tf.GradientTape() as tape1:
        tape0.watch(x0)
        tape1.watch(x1)
        y = tf.math.sin(x0) + tf.nn.sigmoid(x1)
        total = tf.reduce_sum(y)
    assert tape0.gradient(total, x0).numpy() == 1.0
    assert tape1.gradient(total, x1).numpy() == 0.25


def test_second_derivative_of_a_cube():
    x = tf.Variable(1.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x * x * x
        slope = inner.gradient(y, x)
    assert slope.numpy() == 3.0
    assert outer.gradient(slope, x).numpy() == 6.0


def test_input_gradient_regularisation():
    x = tf.random.normal([7, 5])
    layer = tf.keras.layers.Dense(10, activation=tf.nn.relu)
    with tf.GradientTape() as by_weights:
        with tf.GradientTape(watch_accessed_variables=False) as by_input:
            by_input.watch(x)
            layer(x)
            out = tf.reduce_sum(layer(x) ** 2)
        size = tf.norm(by_input.gradient(out, x))
    slopes = by_weights.gradient(size, layer.trainable_variables)
    assert [slope.shape for slope in slopes] == [tf.TensorShape([5, 10]), tf.TensorShape([10])]


def test_jacobian_by_a_scalar():
    x = tf.linspace(-10.0, 10.0, 200 + 1)
    delta = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        y = tf.nn.sigmoid(x + delta)
    dy_dx = tape.jacobian(y, delta)
    assert (str(y.shape), str(dy_dx.shape)) == ("(201,)", "(201,)")
    np.testing.assert_allclose(dy_dx, y.numpy() * (1 - y.numpy()), rtol=1e-5, atol=1e-7)


def test_jacobian_by_a_kernel_sums_to_the_gradient():
    x = tf.random.normal([7, 5])
    layer = tf.keras.layers.Dense(10, activation=tf.nn.relu)
    with tf.GradientTape(persistent=True) as tape:
        y = layer(x)
    assert repr(y.shape) == "TensorShape([7, 10])"
    assert repr(layer.kernel.shape) == "TensorShape([5, 10])"
    j = tape.jacobian(y, layer.kernel)
    assert repr(j.shape) == "TensorShape([7, 10, 5, 10])"
    g = tape.gradient(y, layer.kernel)
    delta = tf.reduce_max(abs(g - tf.reduce_sum(j, axis=[0, 1]))).numpy()
    assert delta < 1e-3


def test_hessian_is_symmetric_and_drives_a_newton_step():
    x = tf.random.normal([7, 5])
    layer1 = tf.keras.layers.Dense(8, activation=tf.nn.relu)
    layer2 = tf.keras.layers.Dense(6, activation=tf.nn.relu)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            loss = tf.reduce_mean(layer2(layer1(x)) ** 2)
        g = inner.gradient(loss, layer1.kernel)
    h = outer.jacobian(g, layer1.kernel)
    assert f"{layer1.kernel.shape} {h.shape}" == "(5, 8) (5, 8, 5, 8)"
    n_params = tf.reduce_prod(layer1.kernel.shape)
    g_vec, h_mat = tf.reshape(g, [n_params, 1]), tf.reshape(h, [n_params, n_params])
    np.testing.assert_allclose(h_mat, tf.transpose(h_mat), atol=1e-5)
    update = tf.linalg.solve(h_mat + tf.eye(h_mat.shape[0]) * 1e-3, g_vec)
    before = layer1.kernel.numpy()
    layer1.kernel.assign_sub(tf.reshape(update, layer1.kernel.shape))
    assert np.abs(layer1.kernel.numpy() - before).max() > 0
    assert tf.reduce_mean(layer2(layer1(x)) ** 2) < loss


def two_elu_layers(x, between=lambda y: y):
    layer1 = tf.keras.layers.Dense(8, activation=tf.nn.elu)
    layer2 = tf.keras.layers.Dense(6, activation=tf.nn.elu)
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(x)
        y = layer2(between(layer1(x)))
    return tape, y


def test_batch_jacobian_is_the_diagonal_of_the_full_one():
    x = tf.random.normal([7, 5])
    tape, y = two_elu_layers(x)
    j = tape.jacobian(y, x)
    assert repr(j.shape) == "TensorShape([7, 6, 7, 5])"
    off_diagonal = j[:, 0, :, 0].numpy() * (1 - np.eye(7))
    assert np.abs(off_diagonal).max() == 0
    j_sum = tf.reduce_sum(j, axis=2)
    j_select = tf.einsum("bxby->bxy", j)
    assert (str(j_sum.shape), str(j_select.shape)) == ("(7, 6, 5)", "(7, 6, 5)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jb = tape.batch_jacobian(y, x)
    assert repr(jb.shape) == "TensorShape([7, 6, 5])"
    assert tf.reduce_max(abs(jb - j_sum)).numpy() < 1e-6
    assert tf.reduce_max(abs(jb - j_select)).numpy() < 1e-6


def test_batch_normalisation_mixes_rows_and_says_so():
    x = tf.random.normal([7, 5])
    normalise = tf.keras.layers.BatchNormalization()
    tape, y = two_elu_layers(x, lambda y: normalise(y, training=True))
    j = tape.jacobian(y, x)
    assert str(j.shape) == "(7, 6, 7, 5)"
    assert np.abs(j[:, 0, :, 0].numpy() * (1 - np.eye(7))).max() > 0
    with pytest.warns(UserWarning, match="mixes rows") as told:
        jb = tape.batch_jacobian(y, x)
    assert told[0].filename == __file__
    assert str(jb.shape) == "(7, 6, 5)"
    np.testing.assert_allclose(jb, np.einsum("bxcy->cxy", j.numpy()), atol=1e-5)


def test_patches_of_a_jacobian_can_be_plotted():
    j = tf.random.normal([7, 6, 7, 5])
    j = tf.transpose(j, [1, 0, 3, 2])
    limit = tf.reduce_max(abs(j))
    j = tf.pad(j, [[0, 0], [1, 1], [0, 0], [1, 1]], constant_values=-limit)
    s = j.shape
    image = tf.reshape(j, [s[0] * s[1], s[2] * s[3]])
    assert str(image.shape) == "(54, 45)"
    assert image.numpy()[0, 0] == -limit.numpy()


def test_page_of_batch_jacobian():
    with tf.GradientTape() as tape:
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]], dtype=tf.float32)
        tape.watch(x)
        y = x * x
    np.testing.assert_array_equal(tape.batch_jacobian(y, x), [[[2, 0], [0, 4]], [[6, 0], [0, 8]]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        rows = [(x[i], y[i]) for i in range(2)]
    assert len(rows) == 2
    np.testing.assert_array_equal(
        tape.batch_jacobian(y, x, experimental_use_pfor=False), tape.batch_jacobian(y, x)
    )


def test_page_of_batch_jacobian_errors():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.batch_jacobian(y, x)
    with pytest.raises(RuntimeError, match="A non-persistent GradientTape can only"):
        tape.batch_jacobian(y, x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(RuntimeError, match="persistent"):
        tape.batch_jacobian(y, x, experimental_use_pfor=False)
    with pytest.raises(ValueError, match="Need first dimension of target shape"):
        tape.batch_jacobian(tf.constant([[1.0]]), x)
