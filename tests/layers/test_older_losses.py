"""The losses of `compat.v1`: values by their formulas, and what weights and reductions make of them."""

import numpy as np
import pytest

import graphad as tf

older = tf.compat.v1.losses
RNG = np.random.default_rng(5)
TRUE = (RNG.random((4, 3)) > 0.5).astype(np.float32)
FOUND = RNG.uniform(0.1, 0.9, (4, 3)).astype(np.float32)
WEIGHTS = np.float32([[0.5], [0.0], [2.0], [1.0]])


def _log(p):
    return np.log(p + 1e-7)


VALUES = {
    "absolute_difference": np.abs(FOUND - TRUE),
    "mean_squared_error": (FOUND - TRUE) ** 2,
    "huber_loss": 0.5 * (FOUND - TRUE) ** 2,
    "log_loss": -TRUE * _log(FOUND) - (1 - TRUE) * _log(1 - FOUND),
    "hinge_loss": np.maximum(0, 1 - (2 * TRUE - 1) * FOUND),
    "sigmoid_cross_entropy": np.log1p(np.exp(FOUND)) - TRUE * FOUND,
}


@pytest.mark.parametrize("name", VALUES)
def test_values_are_those_of_the_formula(name):
    loss = getattr(older, name)
    values = VALUES[name]
    np.testing.assert_allclose(
        loss(TRUE, FOUND, WEIGHTS, reduction=older.Reduction.NONE), values * WEIGHTS, rtol=2e-6, atol=1e-7
    )
    np.testing.assert_allclose(loss(TRUE, FOUND), values.mean(), rtol=2e-6)
    np.testing.assert_allclose(loss(TRUE, FOUND, WEIGHTS), (values * WEIGHTS).sum() / 9, rtol=2e-6)


REDUCED = {
    "NONE": lambda x, w: x * w,
    "SUM": lambda x, w: (x * w).sum(),
    "SUM_OVER_BATCH_SIZE": lambda x, w: (x * w).mean(),
    "MEAN": lambda x, w: (x * w).sum() / np.broadcast_to(w, x.shape).sum(),
    "SUM_OVER_NONZERO_WEIGHTS": lambda x, w: (x * w).sum() / (np.broadcast_to(w, x.shape) != 0).sum(),
    "SUM_BY_NONZERO_WEIGHTS": lambda x, w: (x * w).sum() / (np.broadcast_to(w, x.shape) != 0).sum(),
}


@pytest.mark.parametrize("reduction", REDUCED)
@pytest.mark.parametrize("weights", [2.0, WEIGHTS, np.float32([[1, 2, 0]]), TRUE + 0.5], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_reduction_divides_by_what_its_name_says(reduction, weights, dtype):
    x = FOUND.astype(dtype)
    y = older.compute_weighted_loss(x, weights, reduction=getattr(older.Reduction, reduction))
    assert y.dtype.name == dtype
    np.testing.assert_allclose(
        y, REDUCED[reduction](x, np.asarray(weights, dtype)), rtol=1e-6 if dtype == "float32" else 1e-13
    )


def test_weights_of_zero_give_zero_and_not_nan():
    for reduction in older.Reduction.all():
        assert not np.asarray(older.mean_squared_error(TRUE, FOUND, 0.0, reduction=reduction)).any()
    assert older.mean_pairwise_squared_error(TRUE, FOUND, 0.0) == 0


def test_delta_ends_the_square_of_huber_loss():
    d = np.abs(FOUND - TRUE)
    want = np.where(d <= 0.3, 0.5 * d * d, 0.3 * (d - 0.15)).mean()
    np.testing.assert_allclose(older.huber_loss(TRUE, FOUND, delta=0.3), want, rtol=1e-6)


def test_cosine_distance_takes_the_axis_by_either_name():
    want = 1 - (TRUE * FOUND).sum(1).mean()
    np.testing.assert_allclose(older.cosine_distance(TRUE, FOUND, axis=1), want, rtol=1e-6)
    np.testing.assert_allclose(older.cosine_distance(TRUE, FOUND, dim=1), want, rtol=1e-6)
    with pytest.raises(ValueError, match="give axis, or dim"):
        older.cosine_distance(TRUE, FOUND)


@pytest.mark.parametrize("weights", [1.0, WEIGHTS], ids=["one", "by sample"])
def test_pairs_are_those_within_a_sample(weights):
    d = FOUND - TRUE
    squares = ((d[:, :, None] - d[:, None, :]) ** 2).sum((1, 2)) / (3 * 2)
    want = (squares * np.broadcast_to(weights, (4, 1))[:, 0]).sum()
    np.testing.assert_allclose(older.mean_pairwise_squared_error(TRUE, FOUND, weights), want, rtol=1e-5)
    called = tf.function(lambda x: older.mean_pairwise_squared_error(TRUE, x, weights))
    np.testing.assert_allclose(called(FOUND), want, rtol=1e-5)


def test_smoothed_labels_move_towards_equal_ones():
    def entropy(labels):
        return (-labels * (FOUND - np.log(np.exp(FOUND).sum(1, keepdims=True)))).sum(1)

    labels = np.eye(3, dtype=np.float32)[[0, 2, 1, 0]]
    want = entropy(labels * 0.9 + 0.1 / 3)
    np.testing.assert_allclose(
        older.softmax_cross_entropy(labels, FOUND, label_smoothing=0.1), want.mean(), rtol=1e-6
    )
    want = np.log1p(np.exp(FOUND)) - (TRUE * 0.9 + 0.05) * FOUND
    np.testing.assert_allclose(
        older.sigmoid_cross_entropy(TRUE, FOUND, label_smoothing=0.1), want.mean(), rtol=1e-6
    )
    sparse = older.sparse_softmax_cross_entropy([[0], [2], [1], [0]], FOUND, WEIGHTS)
    np.testing.assert_allclose(sparse, (entropy(labels) * WEIGHTS[:, 0]).sum() / 3, rtol=1e-6)


def test_no_gradient_flows_into_labels_of_a_softmax():
    labels = tf.Variable(np.eye(3, dtype=np.float32))
    x = tf.Variable(FOUND[:3])
    with tf.GradientTape() as tape:
        loss = older.softmax_cross_entropy(labels, x)
    by_labels, by_logits = tape.gradient(loss, [labels, x])
    assert by_labels is None
    want = (np.exp(FOUND[:3]) / np.exp(FOUND[:3]).sum(1, keepdims=True) - np.eye(3)) / 3
    np.testing.assert_allclose(by_logits, want, rtol=1e-5, atol=1e-7)


def test_wide_labels_and_predictions_become_float32():
    assert older.mean_squared_error(TRUE.astype("float64"), FOUND.astype("float64")).dtype == tf.float32


def test_what_does_not_fit_is_told_with_its_shapes():
    with pytest.raises(ValueError, match=r"labels have shape \(4, 3\), predictions \(3,\)"):
        older.mean_squared_error(TRUE, FOUND[0])
    with pytest.raises(ValueError, match=r"weights have shape \(4,\), the values \(4, 3\)"):
        older.mean_squared_error(TRUE, FOUND, WEIGHTS[:, 0])
    with pytest.raises(ValueError, match="there is none called 'mean'"):
        older.compute_weighted_loss(FOUND, reduction="mean")
    with pytest.raises(ValueError, match="labels must not be None"):
        older.log_loss(None, FOUND)


def test_nothing_is_collected():
    older.add_loss(older.mean_squared_error(TRUE, FOUND))
    assert older.get_losses() == older.get_regularization_losses() == []
    assert older.get_regularization_loss() == 0
