"""Layers: building, checks, values, gradients; inside modules and inside traced functions."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import graphad as tf
from tests.support.both import in_both

layers = tf.keras.layers


def array(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


# -- Dense -----------------------------------------------------------------------------------------------------------------


@in_both
def test_dense_multiplies_and_adds(run):
    dense = layers.Dense(3)
    x = array(4, 2)
    y = run(lambda t: dense(t), tf.constant(x))
    kernel, bias = dense.get_weights()
    assert kernel.shape == (2, 3)
    assert bias.shape == (3,)
    np.testing.assert_array_equal(bias, np.zeros(3))
    np.testing.assert_allclose(y, x @ kernel + bias, rtol=1e-5)
    assert [v.name.split("/")[-1] for v in dense.weights] == ["kernel:0", "bias:0"]
    assert [v.ref() for v in dense.trainable_variables] == [dense.kernel.ref(), dense.bias.ref()]
    assert dense.non_trainable_variables == []


def test_dense_has_no_kernel_before_it_is_built():
    dense = layers.Dense(3)
    assert not dense.built
    assert dense.weights == []
    with pytest.raises(AttributeError):
        dense.kernel
    dense.build(tf.TensorShape([None, 4]))
    assert dense.kernel.shape == (4, 3)


@pytest.mark.parametrize("units", [0, -1, 2.5, "3", None])
def test_units_must_be_positive(units):
    with pytest.raises(ValueError, match=rf"`units`, expected a positive integer. Received: units={units}"):
        layers.Dense(units)


@in_both
def test_inputs_that_do_not_fit_are_refused(run):
    dense = layers.Dense(3)
    with pytest.raises(ValueError, match=r"expected min_ndim=2, found ndim=1"):
        run(lambda t: dense(t), tf.constant([1.0, 2.0]))
    dense(tf.zeros([2, 4]))
    text = re.escape("expected axis -1 of input shape to have value 4, but received input with shape (2, 5)")
    with pytest.raises(ValueError, match=text):
        run(lambda t: dense(t), tf.zeros([2, 5]))
    with pytest.raises(ValueError, match=r"expected min_ndim=2, found ndim=1"):
        run(lambda t: dense(t), tf.zeros([4]))


def test_integers_lists_and_arrays_are_cast():
    dense = layers.Dense(2, kernel_initializer="ones")
    for x in (tf.constant([[1, 2]]), [[1, 2]], np.array([[1, 2]]), [[1.0, 2.0]], np.array([[1.0, 2.0]])):
        y = dense(x)
        assert y.dtype is tf.float32
        np.testing.assert_array_equal(y, [[3.0, 3.0]])


def test_dense_keeps_imaginary_parts():
    layer = tf.keras.layers.Dense(2, bias_initializer="ones")
    x = np.array([[1 + 2j, 3j]], np.complex64)
    result = layer(x)
    assert result.dtype is tf.complex64
    np.testing.assert_allclose(result, x @ layer.kernel.numpy() + 1, rtol=1e-6)
    with pytest.raises(TypeError, match="complex64"):
        tf.keras.layers.Conv1D(1, 1)(x[..., np.newaxis])


def test_dense_of_more_dimensions_and_of_float64():
    dense = layers.Dense(3, dtype="float64", use_bias=False)
    x = array(2, 5, 4).astype(np.float64)
    y = dense(x)
    assert y.dtype is tf.float64
    np.testing.assert_allclose(y, x @ dense.kernel.numpy(), rtol=1e-12)
    assert len(dense.weights) == 1


@pytest.mark.parametrize(
    ("activation", "formula"),
    [
        ("relu", lambda z: np.maximum(z, 0)),
        ("tanh", np.tanh),
        ("sigmoid", lambda z: 1 / (1 + np.exp(-z))),
        ("linear", lambda z: z),
        (None, lambda z: z),
        (tf.nn.softplus, lambda z: np.log1p(np.exp(z))),
        ("softmax", lambda z: np.exp(z) / np.exp(z).sum(-1, keepdims=True)),
    ],
)
def test_activations(activation, formula):
    dense = layers.Dense(3, activation=activation)
    x = array(4, 2)
    y = dense(x)
    kernel, bias = dense.get_weights()
    np.testing.assert_allclose(y, formula(x @ kernel + bias), rtol=1e-5, atol=1e-6)


def test_unknown_names_are_refused_with_those_that_exist():
    with pytest.raises(ValueError, match=r"there is none called 'reloo'; there are celu, .*relu"):
        layers.Dense(3, activation="reloo")
    with pytest.raises(ValueError, match=r"there is none called 'zeroes'; there are zeros, ones"):
        layers.Dense(3, kernel_initializer="zeroes")(tf.zeros([1, 2]))


def test_initializers():
    def of(initializer, shape=(200, 100)):
        return layers.Dense(shape[1], kernel_initializer=initializer), tf.zeros([1, shape[0]])

    limits = {
        "glorot_uniform": np.sqrt(6 / 300),
        "he_uniform": np.sqrt(6 / 200),
        "random_uniform": 0.05,
    }
    for name, limit in limits.items():
        dense, x = of(name)
        dense(x)
        kernel = dense.kernel.numpy()
        assert np.abs(kernel).max() <= limit
        assert np.abs(kernel).max() > 0.98 * limit
        assert abs(kernel.mean()) < 0.02 * limit
    for name, deviation in {"glorot_normal": np.sqrt(2 / 300), "he_normal": np.sqrt(2 / 200)}.items():
        dense, x = of(name)
        dense(x)
        kernel = dense.kernel.numpy()
        assert abs(kernel.std() / deviation - 1) < 0.02
        assert np.abs(kernel).max() <= 2 * deviation / 0.8796  # truncated, as Keras does
    dense, x = of("random_normal")
    dense(x)
    assert abs(dense.kernel.numpy().std() / 0.05 - 1) < 0.02
    kernel = tf.keras.initializers.he_uniform()((3, 3, 2, 5)).numpy()
    assert 0.9 * np.sqrt(6 / 18) < np.abs(kernel).max() <= np.sqrt(6 / 18)  # 3 x 3 x 2 inputs
    dense, x = of(lambda shape, dtype: tf.fill(shape, 7.0))
    dense(x)
    np.testing.assert_array_equal(dense.kernel, np.full((200, 100), 7.0))
    tf.random.set_seed(1)
    first, x = of("glorot_uniform")
    first(x)
    second, _ = of("glorot_uniform")
    second(x)
    tf.random.set_seed(1)
    again, _ = of("glorot_uniform")
    again(x)
    np.testing.assert_array_equal(first.kernel, again.kernel)
    assert not np.array_equal(first.kernel, second.kernel)


@in_both
def test_layers_built_inside_a_tape_have_gradients(run):
    dense = layers.Dense(1, kernel_initializer="ones")

    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(dense(x) ** 2)
        return tape.gradient(y, [x, *dense.trainable_variables])

    x = array(3, 2)
    of_x, of_kernel, of_bias = run(body, tf.constant(x))
    y = x.sum(1, keepdims=True)
    np.testing.assert_allclose(of_x, 2 * y @ np.ones((1, 2)), rtol=1e-5)
    np.testing.assert_allclose(of_kernel, x.T @ (2 * y), rtol=1e-5)
    np.testing.assert_allclose(of_bias, (2 * y).sum(0), rtol=1e-5)


def test_a_layer_built_in_a_function_is_built_once():
    dense = layers.Dense(2)
    f = tf.function(lambda x: dense(x))
    for n in (1, 2, 3):
        f(tf.constant(array(n, 4)))
    assert len(dense.weights) == 2
    np.testing.assert_allclose(f(tf.constant(array(2, 4))), dense(array(2, 4)), rtol=1e-6)


# -- BatchNormalization -------------------------------------------------------------------------------------------------------


@in_both
def test_batch_normalization_while_training(run):
    layer = layers.BatchNormalization()
    x = array(8, 3) * 2 + 1
    y = run(lambda t: layer(t, training=True), tf.constant(x))
    mean, variance = x.mean(0), x.var(0)
    np.testing.assert_allclose(y, (x - mean) / np.sqrt(variance + 1e-3), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer.moving_mean, 0.01 * mean, rtol=1e-4)
    np.testing.assert_allclose(layer.moving_variance, 0.99 + 0.01 * variance, rtol=1e-5)
    run(lambda t: layer(t, training=True), tf.constant(x))
    np.testing.assert_allclose(layer.moving_mean, (0.01 + 0.99 * 0.01) * mean, rtol=1e-4)


@in_both
def test_batch_normalization_otherwise_uses_moving_averages(run):
    layer = layers.BatchNormalization()
    x = array(8, 3)
    np.testing.assert_allclose(run(lambda t: layer(t), tf.constant(x)), x / np.sqrt(1 + 1e-3), rtol=1e-5)
    layer.moving_mean.assign([1.0, 2.0, 3.0])
    layer.moving_variance.assign([4.0, 5.0, 6.0])
    layer.gamma.assign([2.0, 3.0, 4.0])
    layer.beta.assign([0.1, 0.2, 0.3])
    expected = (x - [1, 2, 3]) / np.sqrt(np.array([4, 5, 6]) + 1e-3) * [2, 3, 4] + [0.1, 0.2, 0.3]
    np.testing.assert_allclose(run(lambda t: layer(t, training=False), tf.constant(x)), expected, rtol=1e-4)
    np.testing.assert_array_equal(layer.moving_mean, [1.0, 2.0, 3.0])


def test_weights_of_batch_normalization():
    layer = layers.BatchNormalization()
    layer(array(2, 3))
    assert [v.name.split("/")[-1] for v in layer.weights] == [
        "gamma:0",
        "beta:0",
        "moving_mean:0",
        "moving_variance:0",
    ]
    assert [v.name.split("/")[-1] for v in layer.trainable_variables] == ["gamma:0", "beta:0"]
    assert [v.name.split("/")[-1] for v in layer.non_trainable_variables] == [
        "moving_mean:0",
        "moving_variance:0",
    ]
    plain = layers.BatchNormalization(center=False, scale=False)
    plain(array(2, 3))
    assert len(plain.weights) == 2
    assert plain.trainable_variables == []


@in_both
def test_batch_normalization_gradients(run):
    layer = layers.BatchNormalization()
    x = array(6, 2)
    layer.build(tf.TensorShape([None, 2]))

    def body(t):
        with tf.GradientTape() as tape:
            tape.watch(t)
            y = tf.reduce_sum(layer(t, training=True) ** 3)
        return tape.gradient(y, [t, layer.gamma, layer.beta, layer.moving_mean])

    of_x, of_gamma, of_beta, of_moving = run(body, tf.constant(x))
    centred = x - x.mean(0)
    s = np.sqrt(x.var(0) + 1e-3)
    hat = centred / s
    up = 3 * hat**2
    expected = (up - up.mean(0) - hat * (up * hat).mean(0)) / s
    np.testing.assert_allclose(of_x, expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(of_gamma, (up * hat).sum(0), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(of_beta, up.sum(0), rtol=1e-3, atol=1e-4)
    assert of_moving is None


def test_batch_normalization_over_another_axis():
    layer = layers.BatchNormalization(axis=1)
    x = array(4, 3, 5)
    y = layer(x, training=True)
    mean, variance = x.mean((0, 2), keepdims=True), x.var((0, 2), keepdims=True)
    np.testing.assert_allclose(y, (x - mean) / np.sqrt(variance + 1e-3), rtol=1e-3, atol=1e-5)
    with pytest.raises(ValueError, match=r"expected axis 1 of input shape to have value 3"):
        layer(array(4, 2, 5))


def test_batch_normalization_updates_happen_once_under_a_tape_around_a_function():
    layer = layers.BatchNormalization(momentum=0.5)
    f = tf.function(lambda t: tf.reduce_sum(layer(t, training=True) ** 2))
    x = tf.constant(array(8, 3))
    f(x)
    layer.moving_mean.assign([0.0, 0.0, 0.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        g = tape.gradient(y, x)
    outer.gradient(g, x)
    np.testing.assert_allclose(layer.moving_mean, 0.5 * np.mean(x, 0), rtol=1e-4)


# -- inside modules, Sequential, other layers ------------------------------------------------------------------------------------


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(4, activation="tanh")
        self.norm = layers.BatchNormalization()
        self.out = [layers.Dense(1)]

    @tf.function
    def __call__(self, x, training=False):
        return self.out[0](self.norm(self.dense(x), training=training))


def test_layers_in_a_module_are_found_saved_by_name_and_trained():
    model = Model()
    x = array(16, 2)
    y = model(tf.constant(x))
    assert y.shape == (16, 1)
    assert len(model.trainable_variables) == 6
    assert len(model.non_trainable_variables) == 2
    assert {type(m).__name__ for m in model.submodules} == {"Dense", "BatchNormalization"}
    target = tf.constant(x[:, :1] * x[:, 1:])
    optimizer = tf.keras.optimizers.Adam(0.02)
    losses = []
    for _ in range(80):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(tf.constant(x), training=True) - target) ** 2)
        losses.append(float(loss))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    assert losses[-1] < 0.1 * losses[0]


def test_sequential_hands_training_on():
    model = tf.keras.Sequential(
        [layers.Flatten(), layers.Dense(8, "relu"), layers.Dropout(0.5), layers.BatchNormalization()]
    )
    x = array(4, 2, 3)
    inference = model(x)
    np.testing.assert_array_equal(inference, model(x))
    trained = model(x, training=True)
    assert not np.allclose(trained, inference)
    assert len(model.weights) == 6
    assert len(model.trainable_variables) == 4
    assert not np.array_equal(model.layers[-1].moving_mean, np.zeros(8))


def test_sequential_is_built_from_a_shape():
    model = tf.keras.Sequential([layers.Flatten(), layers.Dense(4, "relu"), layers.BatchNormalization()])
    assert not model.built
    model.build((None, 2, 3))
    assert model.built
    assert [tuple(v.shape) for v in model.weights] == [(6, 4), (4,), (4,), (4,), (4,), (4,)]
    weights = model.get_weights()
    x = array(5, 2, 3)
    expected = np.maximum(x.reshape(5, 6) @ weights[0] + weights[1], 0) / np.sqrt(1 + 1e-3)
    np.testing.assert_allclose(model(x), expected, rtol=1e-5, atol=1e-6)
    assert len(model.weights) == 6
    model.add(layers.Dense(1))
    assert model(x).shape == (5, 1)
    with pytest.raises(ValueError, match="last size of the input"):
        tf.keras.Sequential([layers.Dense(1)]).build((None, None))


@in_both
def test_a_frozen_batch_normalization_does_not_train(run):
    layer = layers.BatchNormalization(trainable=False)
    x = array(8, 3)
    y = run(lambda t: layer(t, training=True), tf.constant(x))
    np.testing.assert_allclose(y, x / np.sqrt(1 + 1e-3), rtol=1e-5)
    np.testing.assert_array_equal(layer.moving_mean, np.zeros(3))
    layer.trainable = True
    layer(x, training=True)
    assert np.any(layer.moving_mean.numpy())


def test_dropout_of_everything():
    y = layers.Dropout(1.0)(tf.constant([[1.0, np.inf]]), training=True)
    np.testing.assert_array_equal(y, [[0.0, 0.0]])


def test_flatten():
    assert layers.Flatten()(tf.zeros([2, 3, 4])).shape == (2, 12)
    f = tf.function(lambda x: layers.Flatten()(x), input_signature=[tf.TensorSpec([None, 2, None])])
    assert f(np.zeros((5, 2, 3), np.float32)).shape == (5, 6)
    assert f(np.zeros((0, 2, 3), np.float32)).shape == (0, 6)
    assert f(np.zeros((5, 2, 0), np.float32)).shape == (5, 0)
    assert layers.Flatten()(tf.zeros([0, 3, 4])).shape == (0, 12)
    assert layers.Flatten()(tf.zeros([2, 0])).shape == (2, 0)
    assert layers.Flatten()(tf.zeros([3])).shape == (3, 1)
    with pytest.raises(ValueError, match=r"rate 1.5 is out of range"):
        layers.Dropout(1.5)


def test_dropout_keeps_the_mean_and_differs_from_call_to_call():
    layer = layers.Dropout(0.25)
    x = tf.ones([200, 200])
    y = layer(x, training=True).numpy()
    assert set(np.unique(y)) == {np.float32(0.0), np.float32(1 / 0.75)}
    assert abs(y.mean() - 1.0) < 0.02
    assert not np.array_equal(y, layer(x, training=True))
    np.testing.assert_array_equal(layer(x), x)
    f = tf.function(lambda t: layer(t, training=True))
    assert not np.array_equal(f(x), f(x))


def test_a_frozen_layer_is_not_trained():
    dense = layers.Dense(2)
    dense(array(1, 3))
    holder = tf.Module()
    holder.layer = dense
    assert len(holder.trainable_variables) == 2
    dense.trainable = False
    assert dense.trainable_variables == []
    assert len(dense.non_trainable_variables) == 2
    assert holder.trainable_variables == ()
    with tf.GradientTape() as tape:
        y = dense(array(1, 3))
    assert tape.watched_variables() == ()
    assert tape.gradient(y, dense.kernel) is None
    dense.trainable = True
    assert len(holder.trainable_variables) == 2


def test_weights_can_be_read_and_set():
    dense = layers.Dense(2)
    dense(array(1, 3))
    dense.set_weights([np.ones((3, 2), np.float32), np.full(2, 5.0, np.float32)])
    np.testing.assert_array_equal(dense(np.ones((1, 3), np.float32)), [[8.0, 8.0]])
    with pytest.raises(ValueError, match=r"set_weights got 1 arrays for 2 weights"):
        dense.set_weights([np.ones((3, 2))])


def test_weights_that_do_not_fit_leave_all_as_they_were():
    dense = layers.Dense(2)
    dense(tf.ones([1, 3]))
    before = dense.get_weights()
    with pytest.raises(ValueError, match=r"shape \(5,\) for '.*bias:0' of shape \(2,\); nothing was set"):
        dense.set_weights([np.ones((3, 2)), np.ones(5)])
    for old, now in zip(before, dense.get_weights(), strict=True):
        np.testing.assert_array_equal(old, now)


def test_a_layer_of_ones_own():
    class Scale(layers.Layer):
        def build(self, input_shape):
            self.factor = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="factor")

        def call(self, inputs, twice=False):
            return inputs * self.factor * (2.0 if twice else 1.0)

    layer = Scale(name="mine")
    np.testing.assert_array_equal(layer([[1.0, 2.0]], twice=True), [[2.0, 4.0]])
    assert layer.factor.name == "mine/factor:0"
    with pytest.raises(ValueError, match=r"a layer must define call"):
        layers.Layer()(tf.zeros([1]))


def test_layer_names_are_numbered_by_class():
    class Numbered(layers.Layer):
        def call(self, inputs):
            return inputs

    assert [Numbered().name for _ in range(3)] == ["numbered", "numbered_1", "numbered_2"]


@pytest.mark.parametrize(
    ("loss", "name"),
    [
        (tf.keras.losses.MeanSquaredError(), "mean_squared_error"),
        (tf.keras.losses.MeanAbsoluteError(), "mean_absolute_error"),
        (tf.keras.losses.CategoricalCrossentropy(), "categorical_crossentropy"),
        (tf.keras.losses.CategoricalCrossentropy(from_logits=True), "categorical_crossentropy"),
    ],
)
def test_losses_name_themselves_and_both_shapes(loss, name):
    with pytest.raises(ValueError, match=rf"^{name}: .*y_true has shape \(2, 3\), y_pred \(2, 4\)"):
        loss(tf.ones([2, 3]), tf.ones([2, 4]))


def test_layers_are_named_as_in_keras() -> None:
    assert tf.keras.layers.Conv2DTranspose(2, 2).name.startswith("conv2d_transpose")
    assert tf.keras.layers.MaxPooling1D().name.startswith("max_pooling1d")

    class Block(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__(name="")
            self.dense = tf.keras.layers.Dense(2, name="of two")

        def call(self, x: tf.Tensor) -> tf.Tensor:
            return self.dense(x)

    block = Block()
    assert block.name == "" and block(tf.ones([1, 3])).shape == (1, 2)
    assert block.weights[0].name == "of two/kernel:0"
    with pytest.raises(ValueError, match="name is 'a/b'; a string without '/' is needed"):
        tf.keras.layers.Dense(2, name="a/b")


@pytest.mark.parametrize(
    ("arguments", "values", "slopes"),  # those of Keras 3
    [
        ({"threshold": 5.0}, [0, 0, 0, 0, 9], [0, 0, 0, 0, 1]),
        ({"threshold": 5.0, "max_value": 8.0}, [0, 0, 0, 0, 8], [0, 0, 0, 0, 0]),
        ({"threshold": 5.0, "negative_slope": 0.5}, [-5, -3, -2.5, 0, 9], [0.5, 0.5, 0.5, 0, 1]),
        ({"threshold": -2.0, "max_value": 8.0}, [0, 0, 0, 5, 8], [0, 0, 1, 1, 0]),
        ({"negative_slope": 0.5}, [-2.5, -0.5, 0, 5, 9], [0.5, 0.5, 0.5, 1, 1]),
        ({"negative_slope": 0.5, "max_value": 3.0}, [-2.5, -0.5, 0, 3, 3], [0.5, 0.5, 0, 0, 0]),
    ],
)
def test_relu_begins_behind_its_threshold(arguments: Any, values: Any, slopes: Any) -> None:
    x = tf.constant([-5.0, -1.0, 0.0, 5.0, 9.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.keras.activations.relu(x, **arguments)
    np.testing.assert_array_equal(y, values)
    np.testing.assert_array_equal(tape.gradient(y, x), slopes)
    assert not np.signbit(y.numpy()[y.numpy() == 0]).any()


# -- calls and what layers are made with -------------------------------------------------------------------------------------


class _Shapes(layers.Layer):
    def build(self, input_shape):
        self.shapes = input_shape

    def call(self, a, b=None):
        return a


def test_build_gets_the_nest_of_shapes_of_several_inputs():
    x, y = tf.ones([2, 3]), tf.ones([4])
    for given, expected in [((x, y), ((2, 3), (4,))), ([x, y], [(2, 3), (4,)]), ({"x": x}, {"x": (2, 3)})]:
        layer = _Shapes()
        layer(given)
        assert layer.shapes == expected
        assert type(layer.shapes) is type(given)
    layer = _Shapes()
    layer.build([(2, 3), (4,)])
    assert layer.shapes[1] == tf.TensorShape([4])


def test_the_first_argument_may_be_given_by_name():
    layer = _Shapes()
    assert layer(b=1, a=[1.0, 2.0]).shape == layer.shapes == (2,)
    with pytest.raises(TypeError, match="_Shapes: missing a required argument: 'a'"):
        layer(b=1)
    assert layers.Dense(2)(inputs=tf.ones([1, 3])).shape == (1, 2)


def test_autocast_may_be_left_out():
    x = tf.ones([2], tf.float64)
    assert _Shapes()(x).dtype == tf.float32
    assert _Shapes(autocast=False)(x).dtype == tf.float64


def test_weights_that_are_no_floats_begin_with_zeros():
    layer = layers.Layer()
    np.testing.assert_array_equal(layer.add_weight((2,), dtype="int32"), [0, 0])
    np.testing.assert_array_equal(layer.add_weight((2,), dtype="bool"), [False, False])
    assert np.any(layer.add_weight((2,)).numpy())
    mean = tf.VariableAggregation.MEAN
    assert layer.add_weight((2,), initializer="ones", aggregation=mean).numpy().tolist() == [1.0, 1.0]
    assert (layer.compute_dtype, layer.variable_dtype) == ("float32", "float32")


@in_both
def test_activity_regularizers_are_told_of_the_results(run):
    class Penalty(tf.keras.regularizers.Regularizer):
        def __call__(self, x):
            return tf.reduce_sum(x)

    dense = layers.Dense(3, kernel_initializer="ones", activity_regularizer=Penalty())
    (loss,) = run(lambda x: (dense(x), dense.losses)[1], tf.ones([4, 2]))
    assert float(loss) == 6.0  # per row
    with pytest.raises(ValueError, match="a regularizer must define"):
        tf.keras.regularizers.Regularizer()(1.0)


def test_what_is_registered_is_found_by_its_name():
    utils = tf.keras.utils

    @utils.register_keras_serializable("Tests", "twice")
    def double(x):
        return 2 * x

    assert utils.get_registered_name(double) == "Tests>twice"
    assert utils.get_registered_object("Tests>twice") is double
    assert utils.get_registered_object("Tests>other", {"Tests>other": 3}) == 3
    assert utils.get_registered_name(layers.Dense) == "Dense"
    with pytest.raises(ValueError, match="Plain has no get_config"):
        utils.register_keras_serializable()(type("Plain", (), {}))


def test_reductions_have_names():
    reduction = tf.keras.losses.Reduction
    loss = tf.keras.losses.MeanSquaredError(reduction=reduction.NONE)
    assert loss([[1.0]], [[3.0]]).shape == (1,)
    assert reduction.all() == ("auto", "none", "sum", "sum_over_batch_size")
    reduction.validate("sum")
    with pytest.raises(ValueError, match="there is none called 'mean'"):
        reduction.validate("mean")


def test_an_initializer_may_add_a_tuple_to_the_shape_that_it_is_given():
    def stacked(shape, dtype=None):
        return tf.reshape(tf.range(2.0 * shape[0], dtype=dtype), shape + (2,))[:, 1]

    layer = tf.keras.layers.Layer()
    for shape in (3, [3], tf.TensorShape([3])):
        assert layer.add_weight(shape=shape, initializer=stacked).numpy().tolist() == [1.0, 3.0, 5.0]


def test_a_layer_whose_call_needs_no_inputs_is_called_without():
    shapes = []

    class Field(layers.Layer):
        def build(self, input_shape):
            shapes.append(input_shape)
            self.z = self.add_weight(shape=(2,), initializer="ones", name="z")

        def call(self, inputs=None):
            return 2.0 * self.z if inputs is None else inputs * self.z

    class Whole(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.field = Field()

        def call(self, inputs=None):
            return self.field(inputs)

    field, model = Field(), Whole()
    for made in (field(), field(None), field(inputs=None), model(), model(None), tf.function(model)()):
        assert made.numpy().tolist() == [2.0, 2.0]
    assert model([3.0, 4.0]).numpy().tolist() == [3.0, 4.0]
    assert shapes == [None, None] and len(model.trainable_variables) == 1
    with pytest.raises(TypeError, match="Activation: missing a required argument: 'inputs'"):
        layers.Activation("tanh")()
    with pytest.raises(TypeError, match="None"):
        layers.Activation("tanh")(None)


@pytest.mark.parametrize(
    ("synchronization", "is_trained"),
    [
        (tf.VariableSynchronization.ON_READ, False),
        ("on_read", False),
        (tf.VariableSynchronization.ON_WRITE, True),
        (tf.VariableSynchronization.AUTO, True),
        ("auto", True),
        (None, True),
    ],
)
def test_a_weight_that_is_synchronized_on_read_is_not_trained(synchronization: Any, is_trained: bool) -> None:
    layer = tf.keras.layers.Layer()
    weight = layer.add_weight(shape=[2], synchronization=synchronization)
    assert weight.trainable is is_trained
    assert (len(layer.trainable_weights), len(layer.weights)) == (is_trained, 1)


@pytest.mark.parametrize("synchronization", ["sometimes", 3, []])
def test_an_unknown_synchronization_is_refused(synchronization: Any) -> None:
    with pytest.raises(ValueError, match="is not a VariableSynchronization"):
        tf.keras.layers.Layer().add_weight(shape=[2], synchronization=synchronization)


def test_a_weight_is_made_with_the_words_of_replicas() -> None:
    """A flag of a layer for what was initialised by its first batch, which several replicas would share."""

    class Normalised(tf.keras.layers.Layer):
        def build(self, input_shape):
            self.known = self.add_weight(
                name="known",
                dtype=tf.bool,
                trainable=False,
                initializer=lambda shape, dtype: False,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
            )
            self.scale = self.add_weight(name="scale", shape=[input_shape[-1]], initializer="ones")

        def call(self, x):
            if not self.known:
                self.scale.assign(1.0 / tf.math.reduce_std(x, 0))
                self.known.assign(True)
            return x * self.scale

    for mode in (lambda f: f, tf.function):
        layer = Normalised()
        call = mode(layer)
        x = tf.constant([[1.0, 4.0], [3.0, 0.0]])
        np.testing.assert_allclose(call(x), [[1.0, 2.0], [3.0, 0.0]])
        np.testing.assert_allclose(call(2.0 * x), [[2.0, 4.0], [6.0, 0.0]])
        assert layer.known
