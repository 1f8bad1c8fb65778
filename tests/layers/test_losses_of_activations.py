"""Cross-entropies of what `sigmoid` and `softmax` returned are computed from their arguments, as in Keras."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

A, L = tf.keras.activations, tf.keras.losses
X = [[50.0, -60.0, -3.0], [-0.5, 120.0, 0.25]]  # their probabilities are 0 and 1 in float32, but for some
Y = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
CASES: list[tuple[Callable[..., Any], Callable[..., Any], Any, dict[str, Any]]] = [
    (A.sigmoid, L.binary_crossentropy, Y, {}),
    (A.sigmoid, L.binary_crossentropy, Y, {"label_smoothing": 0.1}),
    (A.sigmoid, L.binary_focal_crossentropy, Y, {"gamma": 1.5}),
    (A.softmax, L.categorical_crossentropy, Y, {}),
    (A.softmax, L.categorical_crossentropy, Y, {"label_smoothing": 0.1}),
    (A.softmax, L.sparse_categorical_crossentropy, [1, 0], {}),
    (A.softmax, L.sparse_categorical_crossentropy, [1, 0], {"ignore_class": 0}),
]


def with_slope(f: Callable[..., Any], x: Any) -> tuple[np.ndarray, np.ndarray]:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y.numpy(), tape.gradient(y, x).numpy()


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(("activation", "loss", "y", "options"), CASES)
def test_loss_of_an_activation_is_that_of_its_logits(
    activation: Callable[..., Any], loss: Callable[..., Any], y: Any, options: dict[str, Any], traced: bool
) -> None:
    def of_probabilities(x: Any) -> Any:
        return loss(y, activation(x), **options)

    value, slope = with_slope(tf.function(of_probabilities) if traced else of_probabilities, tf.constant(X))
    expected = with_slope(lambda x: loss(y, x, from_logits=True, **options), tf.constant(X))
    np.testing.assert_allclose(value, expected[0], rtol=1e-6)
    np.testing.assert_allclose(slope, expected[1], rtol=1e-6)
    assert value.max() > 20  # that of a probability of float32 is at most 16.2


def test_focal_loss_of_logits_does_not_saturate() -> None:
    x, y = np.array(X), np.array(Y)
    z = np.where(y == 1, x, -x)
    expected = np.mean(np.logaddexp(0, -z) / (1 + np.exp(z)) ** 2, -1)
    found, slope = with_slope(lambda x: L.binary_focal_crossentropy(y, x, from_logits=True), tf.constant(X))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.abs(slope[0, :2]).min() > 0.3


def test_layers_and_classes_compute_from_logits() -> None:
    dense = tf.keras.layers.Dense(3, activation="softmax", kernel_initializer="identity")
    for model in (
        tf.keras.Sequential([dense]),
        tf.keras.layers.Activation("softmax"),
        tf.keras.layers.Softmax(),
    ):
        found = L.CategoricalCrossentropy(reduction="none")(tf.constant(Y), model(tf.constant(X)))
        np.testing.assert_allclose(found, [110.0, 120.5], rtol=1e-6)
    metric = tf.keras.metrics.BinaryCrossentropy()
    metric.update_state(tf.constant(Y), A.sigmoid(tf.constant(X)))
    expected = np.mean(L.binary_crossentropy(Y, tf.constant(X), from_logits=True))
    np.testing.assert_allclose(metric.result(), expected, rtol=1e-6)


def test_logits_are_those_of_the_axis_of_classes() -> None:
    x = tf.constant(np.transpose(X), tf.float32)
    p = A.softmax(x, 0)
    np.testing.assert_allclose(
        L.sparse_categorical_crossentropy([1, 0], p, axis=0), [110.0, 120.5], rtol=1e-6
    )
    over_rows = L.categorical_crossentropy(np.eye(3)[:, :2], p)
    np.testing.assert_allclose(over_rows, L.categorical_crossentropy(np.eye(3)[:, :2], tf.identity(p) * 1.0))
    q = A.sigmoid(tf.constant(X))  # is no softmax
    np.testing.assert_allclose(L.categorical_crossentropy(Y, q), L.categorical_crossentropy(Y, q * 1.0))


@pytest.mark.parametrize(
    ("loss", "y"), [(L.categorical_crossentropy, 1.0), (L.sparse_categorical_crossentropy, 0)]
)
def test_a_scalar_has_no_classes(loss: Callable[..., Any], y: Any) -> None:
    p = A.sigmoid(tf.constant(1.0))
    with pytest.raises(ValueError, match="shape \\(\\)"):
        loss(y, p)


def test_what_is_computed_from_probabilities_has_no_logits() -> None:
    x = tf.constant(X)
    for change in (tf.stop_gradient, tf.identity, lambda p: p * 1.0, lambda p: tf.reshape(p, p.shape)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            p = change(A.sigmoid(x))
            loss = L.binary_crossentropy(Y, p)
        assert loss.numpy().max() < 17
        slope = tape.gradient(loss, x)
        assert slope is None or slope.numpy()[0, 0] == 0


def test_custom_gradient_of_an_activation_keeps_its_rule() -> None:
    @tf.custom_gradient
    def f(x: Any) -> Any:
        return A.sigmoid(x), lambda upstream: 100.0 * tf.ones_like(upstream)

    _, slope = with_slope(lambda x: L.binary_crossentropy([[1.0]], f(x)), tf.constant([[0.5]]))
    np.testing.assert_allclose(slope, [[100.0]])


def test_probabilities_that_a_tape_watches_alone_have_their_derivative() -> None:
    p = A.softmax(tf.constant([[1.0, 2.0]]))
    _, slope = with_slope(lambda p: L.categorical_crossentropy([[1.0, 0.0]], p), p)
    _, expected = with_slope(lambda p: L.categorical_crossentropy([[1.0, 0.0]], p), p * 1.0)
    np.testing.assert_allclose(slope, expected)


def test_loss_of_a_variable_after_its_assignment_is_that_of_the_value_before() -> None:
    v = tf.Variable([[30.0]])
    p = A.sigmoid(v)
    v.assign([[-1.0]])
    np.testing.assert_allclose(L.binary_crossentropy([[0.0]], p), [30.0])


def test_from_logits_with_probabilities_of_an_activation_warns_and_takes_its_logits() -> None:
    p = A.sigmoid(tf.constant(X))
    with pytest.warns(UserWarning, match="from_logits is set, but y_pred is what sigmoid returned") as caught:
        found = L.binary_crossentropy(Y, p, from_logits=True)
    assert caught[0].filename == __file__
    np.testing.assert_allclose(found, L.binary_crossentropy(Y, p))


def test_probabilities_free_their_logits() -> None:
    from graphad.ops.nn import logits

    before = len(logits._notes)
    p = A.sigmoid(tf.constant(X))
    assert len(logits._notes) == before + 1
    del p
    assert len(logits._notes) == before
