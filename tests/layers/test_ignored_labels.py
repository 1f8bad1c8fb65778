"""Labels that do not count in a metric of classes."""

import numpy as np

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
