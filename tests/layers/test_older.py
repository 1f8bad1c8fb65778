"""Learning rates, the global step and initializers as TensorFlow 1 has them, under `compat.v1`. The rates are TensorFlow's."""

from __future__ import annotations

import math
import threading

import numpy as np
import pytest

import graphad as tf

v1 = tf.compat.v1
train = v1.train
STEPS = (0, 1, 5, 6, 15, 16)
RATES = [
    (lambda s: train.exponential_decay(0.1, s, 10, 0.9), [0.1, 0.0989519, 0.0948683, 0.093874, 0.0853815, 0.0844866]),
    (lambda s: train.exponential_decay(0.1, s, 10, 0.9, staircase=True), [0.1, 0.1, 0.1, 0.1, 0.09, 0.09]),
    (lambda s: train.polynomial_decay(0.1, s, 10, 0.01, power=2.0), [0.1, 0.0829, 0.0325, 0.0244, 0.01, 0.01]),
    (lambda s: train.polynomial_decay(0.1, s, 10, 0.01, cycle=True), [0.1, 0.091, 0.055, 0.046, 0.0325, 0.028]),
    (lambda s: train.cosine_decay(0.1, s, 20, alpha=0.1), [0.1, 0.099446, 0.0868198, 0.0814503, 0.0231802, 0.0185942]),
    (lambda s: train.inverse_time_decay(0.1, s, 10, 0.5), [0.1, 0.0952381, 0.08, 0.0769231, 0.0571429, 0.0555556]),
    (lambda s: train.natural_exp_decay(0.1, s, 10, 0.5), [0.1, 0.0951229, 0.0778801, 0.0740818, 0.0472367, 0.0449329]),
    (lambda s: train.piecewise_constant(s, [3, 8], [1.0, 0.5, 0.1]), [1.0, 1.0, 0.5, 0.5, 0.1, 0.1]),
    (lambda s: train.piecewise_constant_decay(s, [5, 15], [1.0, 0.5, 0.1]), [1.0, 1.0, 1.0, 0.5, 0.5, 0.1]),
    (lambda s: train.linear_cosine_decay(0.1, s, 30), [0.1001, 0.0965019, 0.0778511, 0.0724607, 0.0251, 0.0209943]),
    (lambda s: train.cosine_decay_restarts(0.1, s, 6), [0.1, 0.0933013, 0.0066987, 0.1, 0.0146447, 0.0066987]),
]  # fmt: skip


@pytest.mark.parametrize(("rate", "wanted"), RATES)
def test_a_rate_is_that_of_the_step_when_it_is_called(rate, wanted):
    step = tf.Variable(0)
    now = rate(step)
    traced = tf.function(lambda: rate(step))
    for count, value in zip(STEPS, wanted, strict=True):
        step.assign(count)
        assert float(now()) == pytest.approx(value, abs=2e-7)
        assert float(traced()) == pytest.approx(value, abs=2e-7)


def test_a_linear_cosine_takes_an_integer_rate_and_refuses_zero_steps():
    assert float(train.linear_cosine_decay(1, 15, 30)()) == pytest.approx(0.251)
    with pytest.raises(ValueError, match="linear_cosine_decay: decay_steps is 0; it must be positive"):
        train.linear_cosine_decay(0.1, 5, 0)


def test_a_rate_without_a_step_is_refused():
    with pytest.raises(ValueError, match="exponential_decay: global_step is None"):
        train.exponential_decay(0.1, None, 10, 0.9)


def test_the_global_step_of_a_thread_is_one_variable():
    found = []

    def asks():
        found.append(train.get_global_step())
        step = train.get_or_create_global_step()
        found.extend([step, train.get_or_create_global_step(), train.get_global_step()])
        with pytest.raises(ValueError, match="already exists"):
            train.create_global_step()

    thread = threading.Thread(target=asks)
    thread.start()
    thread.join()
    assert found[0] is None
    step = found[1]
    assert found[2] is step
    assert found[3] is step
    assert (step.name, step.dtype, step.trainable) == ("global_step:0", tf.int64, False)


def test_what_is_reset_is_the_global_step():
    first = train.get_or_create_global_step()
    v1.reset_default_graph()
    assert train.get_global_step() is None
    assert train.get_or_create_global_step() is not first
    v1.reset_default_graph()


def test_initializers_have_a_dtype_of_their_own():
    assert v1.zeros_initializer()([2]).numpy().tolist() == [0.0, 0.0]
    assert v1.ones_initializer(dtype=tf.float64)([2]).dtype is tf.float64
    assert v1.ones_initializer(dtype=tf.float64)([2], tf.int32).dtype is tf.int32
    assert v1.constant_initializer(3, tf.int32)([2]).numpy().tolist() == [3, 3]
    assert v1.initializers.constant([1.0, 2.0])([2], partition_info=None).numpy().tolist() == [1.0, 2.0]
    assert v1.initializers.identity()([2, 2]).numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("initializer", "deviation"),
    [
        (v1.random_normal_initializer(seed=1), 1.0),
        (v1.truncated_normal_initializer(stddev=2.0, seed=1), 1.759),
        (v1.random_uniform_initializer(seed=1), 1 / math.sqrt(12)),
        (v1.random_uniform_initializer(-1.0, 1.0, seed=1), 1 / math.sqrt(3)),
        (v1.uniform_unit_scaling_initializer(2.0, seed=1), 2 / math.sqrt(300)),
        (v1.variance_scaling_initializer(seed=1), 1 / math.sqrt(300)),
        (v1.variance_scaling_initializer(distribution="normal", seed=1), 1 / math.sqrt(300)),
        (v1.glorot_uniform_initializer(seed=1), 1 / math.sqrt(300)),
        (v1.glorot_normal_initializer(seed=1), 1 / math.sqrt(300)),
        (v1.orthogonal_initializer(seed=1), 1 / math.sqrt(300)),
    ],
)
def test_the_deviation_of_random_values(initializer, deviation):
    assert np.std(initializer([300, 300])) == pytest.approx(deviation, rel=0.02)
    assert initializer([3, 3], dtype=tf.float64).dtype is tf.float64


def test_the_configuration_of_an_initializer_makes_one_like_it():
    made = v1.truncated_normal_initializer(1.0, seed=3, dtype=tf.float64)
    config = made.get_config()
    assert config == {"mean": 1.0, "stddev": 1.0, "seed": 3, "dtype": "float64"}
    again = v1.truncated_normal_initializer.from_config(config)
    assert np.array_equal(again([4]), made([4]))
