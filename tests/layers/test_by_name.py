"""What names and configurations stand for: `get`, `serialize` and `deserialize` of the parts of models, and arguments refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

K = tf.keras


def described(name: str, /, **config: Any) -> dict[str, Any]:
    return {"class_name": name, "config": config}


@pytest.mark.parametrize(
    ("get", "identifier", "attribute", "value"),
    [
        (K.initializers.get, described("RandomNormal", stddev=2.0), "stddev", 2.0),
        (K.initializers.get, described("random_normal", stddev=2.0), "stddev", 2.0),
        (K.initializers.get, {"module": "keras.initializers"} | described("HeNormal", seed=1), "seed", 1),
        (K.optimizers.get, described("SGD", learning_rate=0.5), "learning_rate", 0.5),
        (K.optimizers.get, described("adamw", learning_rate=0.5, beta_1=0.25), "beta_1", 0.25),
        (K.metrics.get, described("MeanSquaredError", name="mine"), "name", "mine"),
        (K.regularizers.get, described("L2", l2=0.5), "l2", 0.5),
        (K.constraints.get, described("MaxNorm", max_value=3), "max_value", 3.0),
        (K.metrics.get, "AUC", "name", "auc"),
        (K.metrics.get, "mse", "name", "mean_squared_error"),
        (K.optimizers.get, "rmsprop", "name", "rmsprop"),
    ],
)
def test_names_and_dicts_stand_for_objects(get: Any, identifier: Any, attribute: str, value: Any) -> None:
    assert getattr(get(identifier), attribute) == value


def test_kinds_of_what_names_stand_for() -> None:
    for get, identifier, kind in (
        (K.initializers.get, {"class_name": "Zeros"}, K.initializers.Zeros),
        (K.initializers.get, "HeNormal", K.initializers.HeNormal),
        (K.losses.get, described("Huber", delta=2.0), K.losses.Huber),
        (K.losses.get, K.losses.Huber, K.losses.Huber),
        (K.losses.get, "BinaryCrossentropy", K.losses.BinaryCrossentropy),
        (K.metrics.get, K.metrics.AUC, K.metrics.AUC),
        (K.optimizers.get, "Adam", K.optimizers.Adam),
        (tf.optimizers.get, "lion", K.optimizers.Lion),
    ):
        assert type(get(identifier)) is kind
    for get in (K.initializers.get, K.losses.get, K.metrics.get, K.optimizers.get, K.regularizers.get):
        assert get(None) is None
    assert K.losses.get(described("mean_squared_error")) is K.losses.mean_squared_error
    assert K.activations.get({"class_name": "function", "config": "relu"}) is K.activations.relu
    optimizer, metric = K.optimizers.SGD(), K.metrics.Mean()
    assert K.optimizers.get(optimizer) is optimizer and K.metrics.get(metric) is metric


@pytest.mark.parametrize(
    ("space", "made"),
    [
        (K.initializers, lambda: K.initializers.Constant(3.0)),
        (K.optimizers, lambda: K.optimizers.Adam(0.25, beta_1=0.5, clipnorm=1.0)),
        (
            K.optimizers,
            lambda: K.optimizers.SGD(K.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5), momentum=0.5),
        ),
        (K.optimizers.schedules, lambda: K.optimizers.schedules.CosineDecay(0.1, 10)),
        (K.losses, lambda: K.losses.CategoricalCrossentropy(from_logits=True)),
        (K.metrics, lambda: K.metrics.SparseTopKCategoricalAccuracy(k=2, from_sorted_ids=True)),
        (K.regularizers, lambda: K.regularizers.L1L2(0.5, 0.25)),
        (K.constraints, lambda: K.constraints.NonNeg()),
    ],
)
def test_objects_are_made_of_their_description_again(space: Any, made: Any) -> None:
    x = made()
    again = space.deserialize(space.serialize(x))
    assert type(again) is type(x)
    assert space.serialize(again) == space.serialize(x)


def test_functions_are_described_by_their_names() -> None:
    assert K.activations.serialize(K.activations.relu) == "relu"
    assert K.activations.deserialize("relu") is K.activations.relu
    assert (
        K.losses.deserialize(K.losses.serialize(K.losses.mean_squared_error)) is K.losses.mean_squared_error
    )


def test_classes_of_ones_own_are_found() -> None:
    class Twos(K.initializers.Initializer):
        def values(self, shape: Any, dtype: Any) -> Any:
            return tf.fill(shape, tf.cast(2.0, dtype))

    config = K.initializers.serialize(Twos())
    assert type(K.initializers.deserialize(config, {"Twos": Twos})) is Twos
    with pytest.raises(ValueError, match="Twos"):
        K.initializers.deserialize(config)
    K.utils.register_keras_serializable("Tests")(Twos)
    config = K.initializers.serialize(Twos())
    assert config["registered_name"] == "Tests>Twos" and type(K.initializers.get(config)) is Twos


@pytest.mark.parametrize(
    ("space", "identifier"),
    [
        (space, identifier)
        for space in (K.initializers, K.optimizers, K.losses, K.metrics, K.regularizers, K.constraints)
        for identifier in ("nowhere", described("Nowhere"), {"config": {}}, 3)
    ],
)
def test_what_stands_for_nothing_is_refused(space: Any, identifier: Any) -> None:
    with pytest.raises(ValueError, match=r"nowhere|Nowhere|config|3"):
        space.get(identifier)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: K.optimizers.Ftrl(learning_rate_power=1.0), "learning_rate_power"),
        (lambda: K.optimizers.Ftrl(initial_accumulator_value=-1.0), "initial_accumulator_value"),
        (lambda: K.optimizers.Ftrl(l1_regularization_strength=-1.0), "l1_regularization_strength"),
        (lambda: K.optimizers.Ftrl(l2_regularization_strength=-1.0), "l2_regularization_strength"),
        (
            lambda: K.optimizers.Ftrl(l2_shrinkage_regularization_strength=-1.0),
            "l2_shrinkage_regularization_strength",
        ),
        (lambda: K.optimizers.AdamW(weight_decay=None), "weight_decay"),
        (lambda: K.optimizers.Lion(beta_1=0.0), "beta_1"),
        (lambda: K.optimizers.Lion(beta_1=1.5), "beta_1"),
    ],
)
def test_arguments_of_optimizers_are_checked(make: Any, word: str) -> None:
    with pytest.raises(ValueError, match=f"{word} is"):
        make()


def test_predictions_may_be_sorted_numbers_of_classes() -> None:
    labels, ids = np.array([2, 1]), np.array([[2, 1, 0], [0, 2, 1]])
    function = K.metrics.sparse_top_k_categorical_accuracy
    np.testing.assert_array_equal(function(labels, ids, k=2, from_sorted_ids=True), [1.0, 0.0])
    np.testing.assert_array_equal(function(labels, ids, k=3, from_sorted_ids=True), [1.0, 1.0])
    metric = K.metrics.SparseTopKCategoricalAccuracy(k=2, from_sorted_ids=True)
    assert float(metric(labels, ids)) == 0.5 and metric.get_config()["from_sorted_ids"] is True


def test_custom_objects_are_found_by_their_names() -> None:
    known = tf.keras.utils.get_custom_objects()
    assert known is tf.keras.utils.get_custom_objects()

    def threefold(x: Any) -> Any:
        return 3.0 * x

    known["threefold"] = threefold
    try:
        assert tf.keras.utils.get_registered_object("threefold") is threefold
        assert tf.keras.activations.get("threefold") is threefold
        layer = tf.keras.layers.Dense(1, activation="threefold", kernel_initializer="ones")
        assert float(layer(tf.ones([1, 2]))[0, 0]) == 6.0
    finally:
        del known["threefold"]
