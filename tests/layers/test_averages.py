"""Moving averages of variables follow them as TensorFlow's do."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

Average = tf.train.ExponentialMovingAverage


def test_averages_begin_with_the_values_and_follow_them():
    v, w, ema = tf.Variable([1.0, 2.0]), tf.Variable(3.0), Average(0.9)
    assert ema.average(v) is None
    assert ema.average_name(v) == "Variable/ExponentialMovingAverage"
    ema.apply([v, w])
    kept = ema.average(v)
    assert not kept.trainable
    assert kept.name == "Variable/ExponentialMovingAverage:0"
    v.assign([3.0, 4.0])
    w.assign(5.0)
    ema.apply()
    np.testing.assert_allclose(kept, [1.2, 2.2], rtol=1e-6)
    np.testing.assert_allclose(ema.average(w), 3.2, rtol=1e-6)
    assert list(ema.variables_to_restore()) == [
        "Variable/ExponentialMovingAverage",
        "Variable/ExponentialMovingAverage_1",
    ]
    assert list(ema.variables_to_restore([w]).values()) == [w]
    assert ema.name == "ExponentialMovingAverage"


def test_the_number_of_updates_bounds_the_decay():
    v, ema = tf.Variable([1.0, 2.0]), Average(0.99, num_updates=3)
    ema.apply([v])
    v.assign([0.0, 0.0])
    ema.apply([v])
    np.testing.assert_allclose(ema.average(v), [4 / 13, 8 / 13], rtol=1e-6)


def test_functions_update_averages():
    v, count = tf.Variable(1.0), tf.Variable(4)
    ema = Average(0.5, count)

    @tf.function
    def update():
        ema.apply([v])
        return ema.average(v)

    assert float(update()) == 1.0
    v.assign(3.0)
    np.testing.assert_allclose(update(), 1.0 + 2.0 * (1 - 5 / 14), rtol=1e-6)


def test_what_has_no_average_is_refused():
    ema = Average(0.9)
    with pytest.raises(TypeError, match="float dtype have averages; got int32"):
        ema.apply([tf.Variable([1])])
    with pytest.raises(TypeError, match="got EagerTensor"):
        ema.apply([tf.constant(1.0)])
    half = tf.Variable(np.float16(2.0))
    ema.apply([half])
    assert ema.average(half).dtype == tf.float16
    with pytest.raises(ValueError, match="decay has shape"):
        Average([0.9, 0.5]).apply([tf.Variable(1.0)])


def test_variables_are_restored_by_names_of_averages_that_they_will_have():
    """Those without an average used to be left out."""
    v, w = tf.Variable(10.0, name="v"), tf.Variable(20.0, name="w", trainable=False)
    ema = tf.train.ExponentialMovingAverage(0.25, name="avg")
    assert ema.variables_to_restore() == {}
    found = ema.variables_to_restore([v, w, v])
    assert [(name, x is y) for (name, x), y in zip(found.items(), [v, w], strict=True)] == [
        ("v/avg", True),
        ("w/avg", True),
    ]
    ema.apply([v])
    assert list(ema.variables_to_restore([v, w])) == ["v/avg", "w/avg"]
    assert list(ema.variables_to_restore()) == ["v/avg"]
