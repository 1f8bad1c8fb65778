"""Dropout of recurrent cells: one mask for all steps of a sequence, of the input and of the state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

layers = tf.keras.layers


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _each(mask: Any, gates: int) -> list[np.ndarray]:
    """A mask for each gate, ones where there is none."""
    if mask is None:
        return [np.ones(1, np.float32)] * gates
    return [m.numpy() for m in mask] if isinstance(mask, list) else [mask.numpy()] * gates


def _products(x: np.ndarray, masks: list[np.ndarray], kernel: np.ndarray) -> list[np.ndarray]:
    return [(x * m) @ k for m, k in zip(masks, np.split(kernel, len(masks), -1), strict=True)]


def _by_formula(cell: Any, x: Any, states: list[Any]) -> list[np.ndarray]:
    gates = cell.kernel.shape[1] // cell.units
    ours = _each(cell.get_dropout_mask(x), gates)
    theirs = _each(cell.get_recurrent_dropout_mask(states[0]), gates)
    kernel, recurrent, bias = cell.get_weights()
    x, (h, *more) = x.numpy(), [s.numpy() for s in states]
    a = _products(x, ours, kernel)
    if isinstance(cell, layers.GRUCell):
        b, c = (bias[0], bias[1]) if cell.reset_after else (bias, 0 * bias)
        a = [y + z for y, z in zip(a, np.split(b, 3), strict=True)]
        q = [y + z for y, z in zip(_products(h, theirs, recurrent), np.split(c, 3), strict=True)]
        z, r = _sigmoid(a[0] + q[0]), _sigmoid(a[1] + q[1])
        last = r * q[2] if cell.reset_after else (r * h * theirs[2]) @ np.split(recurrent, 3, -1)[2]
        return [z * h + (1 - z) * np.tanh(a[2] + last)]
    parts = zip(a, _products(h, theirs, recurrent), np.split(bias, gates), strict=True)
    a = [y + q + b for y, q, b in parts]
    if gates == 1:
        return [np.tanh(a[0])]
    new = _sigmoid(a[1]) * more[0] + _sigmoid(a[0]) * np.tanh(a[2])
    return [_sigmoid(a[3]) * np.tanh(new), new]


CELLS = {
    "simple": lambda **options: layers.SimpleRNNCell(5, bias_initializer="ones", **options),
    "gru": lambda **options: layers.GRUCell(5, bias_initializer="ones", **options),
    "gru, before": lambda **options: layers.GRUCell(5, bias_initializer="ones", reset_after=False, **options),
    "lstm": lambda **options: layers.LSTMCell(5, bias_initializer="ones", **options),
}
RATES: list[dict[str, Any]] = [
    {"dropout": 0.4},
    {"recurrent_dropout": 0.3},
    {"dropout": 0.5, "recurrent_dropout": 0.5},
]


@pytest.mark.parametrize("rates", RATES, ids=str)
@pytest.mark.parametrize("name", CELLS)
def test_a_step_in_training_is_the_formula_with_the_masks(name: str, rates: dict[str, Any]) -> None:
    tf.random.set_seed(3)
    cell = CELLS[name](**rates)
    x = tf.random.normal([4, 6])
    states = [tf.random.normal([4, 5])] * (2 if name == "lstm" else 1)
    _, found = cell(x, states, training=True)
    for y, wanted in zip(found, _by_formula(cell, x, states), strict=True):
        np.testing.assert_allclose(y, wanted, rtol=2e-5, atol=2e-6)
    plain = CELLS[name]()
    plain.build([4, 6])
    plain.set_weights(cell.get_weights())
    for training in (False, None):
        for y, wanted in zip(cell(x, states, training=training)[1], plain(x, states)[1], strict=True):
            np.testing.assert_array_equal(y, wanted)
    assert not np.allclose(found[0], plain(x, states)[0])


def test_each_gate_has_its_mask_where_the_state_is_dropped() -> None:
    x, h = tf.ones([2, 40]), tf.ones([2, 30])
    for cell, gates in ((layers.LSTMCell(30, recurrent_dropout=0.5, dropout=0.5), 4),
                        (layers.GRUCell(30, recurrent_dropout=0.5, dropout=0.5), 3)):  # fmt: skip
        for masks in (cell.get_dropout_mask(x), cell.get_recurrent_dropout_mask(h)):
            assert len(masks) == gates
            assert all(sorted(set(m.numpy().ravel().tolist())) == [0.0, 2.0] for m in masks)
            assert not np.array_equal(masks[0], masks[1])
    assert layers.GRUCell(3, dropout=0.5).get_dropout_mask(x).shape == (2, 40)
    assert layers.GRUCell(3, dropout=0.5).get_recurrent_dropout_mask(h) is None
    assert (layers.GRUCell(3, dropout=7).dropout, layers.GRUCell(3, dropout=-1).dropout) == (1.0, 0.0)
    with pytest.raises(ValueError, match="GRUCell: dropout is 'a'; it must be a number"):
        layers.GRUCell(3, dropout="a")


def test_a_mask_lasts_until_it_is_reset_and_fits_the_batch() -> None:
    cell = layers.SimpleRNNCell(3, dropout=0.5, recurrent_dropout=0.5)
    x, h = tf.ones([8, 20]), tf.ones([8, 3])
    first, of_state = cell.get_dropout_mask(x), cell.get_recurrent_dropout_mask(h)
    assert cell.get_dropout_mask(x) is first
    cell.reset_dropout_mask()
    assert not np.array_equal(cell.get_dropout_mask(x), first)
    assert cell.get_recurrent_dropout_mask(h) is of_state
    cell.reset_recurrent_dropout_mask()
    assert cell.get_recurrent_dropout_mask(h) is not of_state
    assert cell.get_dropout_mask(x[:3]).shape == (3, 20)


def test_a_traced_function_draws_masks_in_each_call_and_keeps_them_for_its_steps() -> None:
    cell = layers.GRUCell(3, dropout=0.5, recurrent_dropout=0.5)
    x, h = tf.ones([6, 30]), tf.ones([6, 3])
    cell(x, [h], training=True)  # eager masks, which functions do not take

    @tf.function
    def twice(x: Any, h: Any) -> Any:
        return cell(x, [h], training=True)[0], cell(x, [h], training=True)[0]

    a, b = twice(x, h)
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(twice(x, h)[0], a)
    twice(x[:2], h[:2])
    cell(x, [h], training=True)

    @tf.function
    def looped(x: Any, h: Any) -> Any:
        cell.get_dropout_mask(x), cell.get_recurrent_dropout_mask(h)
        steps = tf.TensorArray(tf.float32, 3)
        for k in tf.range(3):
            steps = steps.write(k, cell(x, [h], training=True)[0])
        return steps.stack()

    c = looped(x, h)
    np.testing.assert_array_equal(c[0], c[1])
    np.testing.assert_array_equal(c[0], c[2])
