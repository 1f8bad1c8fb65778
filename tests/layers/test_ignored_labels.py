"""Labels that do not count in a metric of classes."""

import numpy as np
import pytest

import graphad as tf


def test_the_elements_of_an_ignored_class_do_not_count():
    labels, guesses = [0, 1, 2, 2, 1], [0, 2, 2, 1, 1]
    metric = tf.keras.metrics.MeanIoU(3, ignore_class=1)
    metric.update_state(labels, guesses)
    np.testing.assert_allclose(metric.result(), (1.0 + 0.0 + 0.5) / 3)
    metric = tf.keras.metrics.MeanIoU(3, ignore_class=-1)
    metric.update_state([0, -1, 2], [0, 2, 2])
    np.testing.assert_allclose(metric.result(), 1.0)


def test_classes_may_lie_along_any_axis():
    labels, guesses = np.array([0, 1, 2, 2]), np.array([0, 2, 2, 1])
    sparse, dense = tf.keras.metrics.MeanIoU(3), tf.keras.metrics.MeanIoU(3, None, None, None, True, False, 0)
    sparse.update_state(labels, guesses)
    dense.update_state(labels, np.eye(3, dtype=np.float32)[guesses].T)
    np.testing.assert_allclose(sparse.result(), dense.result())


def test_a_metric_of_ones_own_may_name_its_aggregation():
    class Largest(tf.keras.metrics.Metric):
        def __init__(self, dtype=None, name="largest"):
            super().__init__(dtype, name)
            self.top = self.add_variable((), "zeros", None, "mean", "top")

        def update_state(self, x):
            self.top.assign(tf.maximum(self.top, tf.reduce_max(x)))

        def result(self):
            return self.top.value()

    metric = Largest()
    metric.update_state([1.0, 3.0, 2.0])
    assert (metric.name, float(metric.result()), metric.top.name) == ("largest", 3.0, "top:0")


@pytest.mark.parametrize(
    "made",
    [
        lambda: tf.keras.metrics.MeanIoU(3),
        lambda: tf.keras.metrics.Precision(class_id=1),
        lambda: tf.keras.metrics.Recall(class_id=1),
        lambda: tf.keras.losses.SparseCategoricalCrossentropy(True, ignore_class=1),
        lambda: tf.keras.losses.SparseCategoricalCrossentropy(True, ignore_class=1, reduction="sum"),
    ],
)
def test_weights_may_be_a_column(made):
    labels, weights = np.array([0, 1, 2, 2, 1]), np.array([0.5, 1.0, 2.0, 0.25, 3.0], np.float32)
    guesses = np.array([[3, 1, 0], [0, 2, 1], [1, 0, 2], [0, 3, 1], [2, 1, 0]], np.float32)
    if isinstance(made(), tf.keras.metrics.MeanIoU):
        guesses = guesses.argmax(1)
    elif isinstance(made(), tf.keras.metrics.Metric):
        labels = np.eye(3)[labels]
    flat, column = made()(labels, guesses, weights), made()(labels, guesses, weights[:, None])
    assert float(flat) > 0.0
    np.testing.assert_allclose(column, flat, rtol=1e-6)
