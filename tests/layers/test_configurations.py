"""`get_config` and `from_config` of losses, metrics, optimizers, regularizers, constraints and initializers."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import graphad as tf

K = tf.keras

OBJECTS = [
    (lambda: K.losses.MeanSquaredError(name="mine"), {"name": "mine", "reduction": "sum_over_batch_size"}),
    (lambda: K.losses.Huber(0.5, reduction="sum"), {"delta": 0.5, "reduction": "sum", "name": "huber"}),
    (lambda: K.losses.BinaryCrossentropy(True, 0.1), {"from_logits": True, "label_smoothing": 0.1}),
    (lambda: K.metrics.Mean("average"), {"name": "average", "dtype": "float32"}),
    (lambda: K.metrics.Precision(thresholds=[0.1, 0.5]), {"thresholds": [0.1, 0.5], "name": "precision"}),
    (lambda: K.optimizers.Adam(0.25, beta_1=0.8, clipnorm=2.0), {"learning_rate": 0.25, "clipnorm": 2.0}),
    (lambda: K.optimizers.SGD(0.5, momentum=0.75), {"momentum": 0.75, "nesterov": False, "name": "sgd"}),
    (lambda: K.regularizers.L1L2(0.1, 0.2), {"l1": 0.1, "l2": 0.2}),
    (lambda: K.regularizers.L1(0.1), {"l1": 0.1}),
    (lambda: K.constraints.MaxNorm(2.0), {"max_value": 2.0, "axis": 0}),
    (lambda: K.constraints.NonNeg(), {}),
    (lambda: K.initializers.RandomUniform(-1.0, 1.0, 3), {"minval": -1.0, "maxval": 1.0, "seed": 3}),
    (lambda: K.layers.Dropout(0.5, [None, 1], 3), {"rate": 0.5, "noise_shape": [None, 1], "seed": 3}),
]


@pytest.mark.parametrize(("make", "expected"), OBJECTS)
def test_the_arguments_come_back_and_make_another_one(make, expected):
    made = make()
    config = made.get_config()
    assert expected.items() <= config.items()
    again = type(made).from_config(config)
    assert type(again) is type(made) and again is not made and again.get_config() == config


class Scaled(K.losses.Loss):
    def __init__(self, scale, name="scaled", **options):
        super().__init__(name=name, **options)
        self.scale = scale

    def call(self, y_true, y_pred):
        return self.scale * (y_true - y_pred)

    def get_config(self):
        return {**super().get_config(), "scale": self.scale}


class Largest(K.metrics.Metric):
    def __init__(self, floor=0.0, **options):
        super().__init__(**options)
        self.floor = floor


def test_a_class_of_ones_own_adds_its_arguments_or_leaves_it_to_the_base():
    loss = Scaled.from_config(Scaled(2.0, reduction="sum").get_config())
    assert (loss.scale, loss.reduction, loss.name) == (2.0, "sum", "scaled")
    metric = Largest.from_config(Largest(0.5, name="largest", dtype="float64").get_config())
    assert (metric.floor, metric.name, metric.dtype) == (0.5, "largest", "float64")


def test_the_learning_rate_is_that_of_now_and_a_schedule_stays_one():
    optimizer = K.optimizers.SGD(0.5)
    optimizer.learning_rate = 0.25
    assert optimizer.get_config()["learning_rate"] == 0.25
    schedule = K.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    again = K.optimizers.SGD.from_config(K.optimizers.SGD(schedule).get_config())
    np.testing.assert_array_equal(again.learning_rate, schedule(0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: K.optimizers.Adam(K.optimizers.schedules.CosineDecay(0.1, 5, warmup_target=0.2, warmup_steps=2)),
        lambda: K.layers.Dense(3, kernel_initializer=K.initializers.HeNormal(seed=1), kernel_regularizer=K.regularizers.L1(0.1)),
        lambda: K.layers.Conv2D(2, 3, bias_constraint=K.constraints.MaxNorm(1.5), bias_initializer=K.initializers.Constant(2.0)),
        lambda: K.layers.Embedding(4, 2, embeddings_initializer=K.initializers.RandomUniform(-1.0, 1.0, seed=2)),
    ],
)  # fmt: skip
def test_configurations_of_all_but_own_classes_can_be_written_as_json_and_read_again(make):
    made = make()
    config = made.get_config()
    again = type(made).from_config(json.loads(json.dumps(config)))
    assert again.get_config() == config


def test_an_object_of_an_own_class_that_no_name_finds_stays_itself():
    class Twice(K.initializers.Initializer):
        def values(self, shape, dtype):
            return tf.fill(shape, tf.cast(2.0, dtype))

    mine = Twice()
    assert K.layers.Dense(3, kernel_initializer=mine).get_config()["kernel_initializer"] is mine


def test_dropout_draws_together_along_axes_of_size_1_and_again_with_a_seed():
    layer = K.layers.Dropout(0.5, noise_shape=[None, 1], seed=3)
    kept = layer(tf.ones([64, 5]), training=True).numpy() > 0
    assert (kept == kept[:, :1]).all() and 0 < kept[:, 0].sum() < 64


@pytest.mark.parametrize(
    "make",
    [
        lambda: K.layers.ReLU(negative_slope=None),
        lambda: K.layers.ReLU(threshold=None),
        lambda: K.layers.LeakyReLU(negative_slope=None),
    ],
)
def test_a_slope_or_threshold_of_none_is_refused(make):
    with pytest.raises(ValueError, match="is None; it must be 0 or more"):
        make()


def test_a_slope_may_have_its_older_name():
    layer = K.layers.LeakyReLU(alpha=0.25)
    assert "alpha" not in layer.get_config() and layer.get_config()["negative_slope"] == 0.25
    for made in (layer, K.layers.LeakyReLU.from_config(layer.get_config())):
        assert made([-1.0, 2.0]).numpy().tolist() == [-0.25, 2.0]


def test_a_build_need_not_take_a_shape():
    class Scaled(K.Model):
        def build(self):
            self.scale = self.add_weight(shape=[], initializer="ones", name="scale")

        def call(self, inputs):
            return inputs * self.scale

    early, late = Scaled(), Scaled()
    early.build()
    assert early.built and len(early.weights) == 1
    assert early([2.0]).numpy().tolist() == late([2.0]).numpy().tolist() == [2.0]
    assert len(early.weights) == len(late.weights) == 1


def test_a_table_is_built_without_a_shape():
    layer = K.layers.Embedding(4, 3)
    layer.build()
    assert layer.embeddings.shape == [4, 3]


@pytest.mark.parametrize(
    ("kind", "options", "shape"),
    [
        ("PReLU", {"shared_axes": 1}, (2, 3, 4)),
        ("PReLU", {"shared_axes": [1, 2]}, (2, 3, 4)),
        ("Softmax", {"axis": 1}, (2, 3, 4)),
        ("Softmax", {"axis": [1, 2]}, (2, 3, 4)),
        ("LayerNormalization", {"axis": 1}, (2, 3, 4)),
        ("LayerNormalization", {"axis": [1, 2]}, (2, 3, 4)),
        ("BatchNormalization", {"axis": 1}, (2, 3, 4)),
        ("Dense", {"units": 2, "kernel_initializer": "ones"}, (2, 3)),
        (
            "Conv2D",
            {"filters": 2, "kernel_size": [1, 2], "groups": 2, "kernel_initializer": "ones"},
            (2, 3, 4, 2),
        ),
        ("MaxPooling1D", {"pool_size": 2, "strides": 1}, (2, 3, 4)),
        ("UpSampling2D", {"size": 2}, (2, 3, 4, 1)),
        ("RepeatVector", {"n": 2}, (2, 3)),
        ("Embedding", {"input_dim": 5, "output_dim": 3, "embeddings_initializer": "ones"}, (2, 2)),
    ],
)
def test_integers_of_numpy_are_integers(kind: str, options: dict[str, Any], shape: tuple[int, ...]) -> None:
    def of_numpy(value: Any) -> Any:
        return [np.int64(x) for x in value] if isinstance(value, list) else np.int64(value)

    x = tf.reshape(tf.cast(tf.range(math.prod(shape)), tf.float32), shape) / 30
    made = getattr(tf.keras.layers, kind)
    layer = made(**{k: v if isinstance(v, str) else of_numpy(v) for k, v in options.items()})
    other = made.from_config(json.loads(json.dumps(layer.get_config())))
    expected = made(**options)(x)
    np.testing.assert_array_equal(layer(x), expected)
    np.testing.assert_array_equal(other(x), expected)


def test_concatenate_takes_an_axis_of_numpy() -> None:
    layer = tf.keras.layers.Concatenate(np.int64(1))
    assert layer([tf.ones([2, 1]), tf.ones([2, 3])]).shape == (2, 4)
    assert json.loads(json.dumps(layer.get_config()))["axis"] == 1
