"""Initializers: what they draw, seeds, names, configurations; and the dtype that `set_floatx` gives."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

init = tf.keras.initializers
SCALED = {"glorot": 2 / 300, "he": 2 / 200, "lecun": 1 / 200}  # variances for 200 inputs and 100 outputs


@pytest.fixture
def float64():
    tf.keras.backend.set_floatx("float64")
    yield
    tf.keras.backend.set_floatx("float32")


@pytest.mark.parametrize("family", SCALED)
def test_scaled_initializers_have_their_variance_and_bounds(family):
    uniform = init.get(f"{family}_uniform")([200, 100]).numpy()
    limit = np.sqrt(3 * SCALED[family])
    assert 0.98 * limit < np.abs(uniform).max() <= limit
    normal = init.get(f"{family}_normal")([200, 100]).numpy()
    assert abs(normal.std() / np.sqrt(SCALED[family]) - 1) < 0.02
    assert np.abs(normal).max() <= 2 * np.sqrt(SCALED[family]) / 0.8796


def test_variance_scaling_takes_mode_and_distribution():
    x = init.VarianceScaling(4.0, "fan_out", "untruncated_normal")([200, 100]).numpy()
    assert abs(x.std() / np.sqrt(4 / 100) - 1) < 0.02
    assert np.abs(x).max() > 3 * x.std()
    for wrong in ({"scale": 0.0}, {"mode": "fan"}, {"distribution": "cauchy"}):
        with pytest.raises(ValueError, match=r"VarianceScaling: "):
            init.VarianceScaling(**wrong)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 2, 4)])
def test_orthogonal_rows_or_columns(shape):
    x = init.Orthogonal(gain=2.0)(shape, tf.float64).numpy().reshape(-1, shape[-1])
    x = x if x.shape[0] <= x.shape[1] else x.T
    np.testing.assert_allclose(x @ x.T, 4 * np.eye(len(x)), atol=1e-12)
    with pytest.raises(ValueError, match="rank 2 or more"):
        init.Orthogonal()([3])


@pytest.mark.parametrize(
    "kind", ["RandomNormal", "RandomUniform", "TruncatedNormal", "VarianceScaling", "HeUniform", "Orthogonal"]
)
def test_seeds_give_the_same_numbers_at_every_call_and_others_do_not(kind):
    make = getattr(init, kind)
    seeded, free = make(seed=3), make()
    np.testing.assert_array_equal(seeded([4, 3]), seeded([4, 3]))
    np.testing.assert_array_equal(seeded([4, 3]), make(seed=3)([4, 3]))
    assert not np.array_equal(seeded([4, 3]), make(seed=4)([4, 3]))
    assert not np.array_equal(free([4, 3]), free([4, 3]))
    again = make.from_config(seeded.get_config())
    np.testing.assert_array_equal(again([4, 3]), seeded([4, 3]))


def test_names_classes_and_functions_are_initializers():
    for name in ("he_normal", "HeNormal", init.HeNormal, init.he_normal, init.HeNormal()):
        assert isinstance(init.get(name), init.HeNormal)
    assert init.get(None) is None
    assert repr(init.Constant(2.0)) == "Constant(value=2.0)"
    seen = []
    dense = tf.keras.layers.Dense(
        2, kernel_initializer=lambda shape, dtype: seen.append(dtype) or tf.ones(shape, dtype)
    )
    dense(tf.ones([1, 3]))
    assert seen == [tf.float32]
    with pytest.raises(ValueError, match="the shape must be known"):
        init.Zeros()([None, 2])
    with pytest.raises(ValueError, match="is not a matrix"):
        init.Identity()([3])


def test_variables_take_initial_values_from_initializers():
    v = tf.Variable(tf.random_normal_initializer(stddev=0.1, seed=1)([3, 2]), name="w")
    np.testing.assert_array_equal(v, tf.random_normal_initializer(stddev=0.1, seed=1)([3, 2]))
    assert tf.constant_initializer([1, 2])([2], tf.int32).numpy().tolist() == [1, 2]
    assert tf.constant_initializer(3)([2], tf.int64).dtype == tf.int64


def test_floatx_is_the_dtype_of_what_is_made_from_then_on(float64):
    old = tf.keras.layers.Dense(1, dtype="float32")
    dense, mean = tf.keras.layers.Dense(2), tf.keras.metrics.Mean()
    assert dense(tf.ones([1, 3])).dtype == tf.float64
    assert dense.kernel.dtype == tf.float64 and old(tf.ones([1, 3])).dtype == tf.float32
    mean.update_state(tf.constant([1.0, 1.0 + 2**-40], tf.float64))
    assert float(mean.result()) == 1.0 + 2**-41
    assert init.Ones()([1]).dtype == tf.float64
    with tf.GradientTape() as tape:
        loss = tf.keras.losses.MeanSquaredError()(tf.zeros([1, 2]), dense(tf.ones([1, 3])))
    tf.optimizers.Adam().apply_gradients(
        zip(tape.gradient(loss, dense.trainable_variables), dense.trainable_variables)
    )
    assert dense.kernel.dtype == tf.float64
    with pytest.raises(ValueError, match="float16, bfloat16, float32, float64"):
        tf.keras.backend.set_floatx("float8")


def test_epsilon_keeps_losses_from_infinity():
    before = tf.keras.backend.epsilon()
    try:
        for margin in (before, 1e-3):
            tf.keras.backend.set_epsilon(margin)
            loss = tf.keras.losses.categorical_crossentropy([[1.0, 0.0]], [[0.0, 1.0]])
            np.testing.assert_allclose(loss, [-np.log(margin)], rtol=1e-3)
    finally:
        tf.keras.backend.set_epsilon(before)


def test_shapes_may_be_tensors_and_unknown_where_no_size_matters():
    kinds = tf.keras.initializers
    simple = [
        kinds.Zeros(),
        kinds.Ones(),
        kinds.Constant(2.0),
        kinds.RandomNormal(),
        kinds.RandomUniform(seed=3),
    ]

    def made(x):
        return [make(tf.shape(x)) for make in simple]

    x = tf.ones([2, 3])
    signature = [tf.TensorSpec([None, 3])]
    for values in (made(x), tf.function(made)(x), tf.function(made, input_signature=signature)(x)):
        assert [value.shape.as_list() for value in values] == [[2, 3]] * 5
    glorot = tf.function(lambda x: kinds.GlorotUniform()(tf.shape(x)))
    assert glorot(x).shape == (2, 3)
    with pytest.raises(ValueError, match="GlorotUniform: the shape must be known"):
        tf.function(glorot.python_function, input_signature=signature)(x)


def test_initializers_refuse_what_they_do_not_take():
    for make in (
        tf.zeros_initializer(),
        tf.random_uniform_initializer(),
        tf.keras.initializers.GlorotNormal(),
    ):
        assert make([2, 2], partition_shape=None).shape == (2, 2)
        for word in ("partition_shape", "nonsense"):
            with pytest.raises(TypeError, match=f"an initializer takes shape and dtype, not {word}="):
                make([2, 2], **{word: [1, 2]})
    with pytest.raises(TypeError, match="Constant: value is a function"):
        tf.constant_initializer(lambda: 1)
