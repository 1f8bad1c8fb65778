"""Optimizers step by formulas over arrays where nothing follows what they compute, and over ops elsewhere: the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

K = tf.keras.optimizers
CASES: dict[str, Any] = {
    "SGD": lambda: K.SGD(0.1, momentum=0.9, nesterov=True),
    "Adam": lambda: K.Adam(0.1),
    "Adam, largest": lambda: K.Adam(0.1, amsgrad=True),
    "Adam, schedule": lambda: K.Adam(K.schedules.ExponentialDecay(0.1, 2, 0.5)),
    "Adam, two calls": lambda: K.Adam(0.1, gradient_accumulation_steps=2),
    "AdamW": lambda: K.AdamW(0.1, weight_decay=0.1),
    "Adamax": lambda: K.Adamax(0.1),
    "Nadam": lambda: K.Nadam(0.1),
    "Lion": lambda: K.Lion(0.1),
    "Lamb": lambda: K.Lamb(0.1),
    "Adagrad": lambda: K.Adagrad(0.1),
    "Adadelta": lambda: K.Adadelta(0.1),
    "RMSprop": lambda: K.RMSprop(0.1),
    "RMSprop, all": lambda: K.RMSprop(0.1, momentum=0.5, centered=True),
}
ORDERED = ("Adam, largest", "Adamax", "Lion", "Lamb")  # which ask what is larger


def _stepped(make: Any, dtype: str, followed: bool) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    variables = [tf.Variable(tf.cast(rng.standard_normal(shape), dtype)) for shape in ((), (3,), (40, 50))]
    optimizer = make()
    for _ in range(4):
        gradients = [tf.cast(rng.standard_normal(v.shape), dtype) for v in variables]
        if followed:
            with tf.GradientTape():  # so that ops are recorded, which takes them one by one
                optimizer.apply_gradients(zip(gradients, variables, strict=True))
        else:
            optimizer.apply_gradients(zip(gradients, variables, strict=True))
    return [np.asarray(v.numpy()) for v in [*variables, *optimizer.variables]]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in CASES
        for dtype in ("float32", "float64", "float16", "complex64")
        if dtype != "complex64" or name not in ORDERED
    ],
)
def test_steps_over_arrays_have_the_bits_of_steps_over_ops(name: str, dtype: str) -> None:
    at_once, by_ops = (_stepped(CASES[name], dtype, followed) for followed in (False, True))
    for a, b in zip(at_once, by_ops, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a, b)


def test_a_step_that_nothing_follows_computes_with_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer, v = K.Adam(0.1), tf.Variable([1.0, 2.0])
    gradient = tf.constant([1.0, -1.0])
    optimizer.apply_gradients([(gradient, v)])
    seen: list[Any] = []
    monkeypatch.setattr(K.Adam, "_changes", lambda self, of, *values: seen.append((of, values)) or values[2:])
    optimizer.apply_gradients([(gradient, v)])
    (of, values), *_ = seen
    assert of is np and all(isinstance(x, np.ndarray | np.generic) for x in values)


@pytest.mark.parametrize("method", ["assign_add", "assign_sub"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "complex64", "float16"])
def test_updates_of_a_variable_at_once_are_those_of_its_ops(method: str, dtype: str) -> None:
    rng = np.random.default_rng(5)
    for shape in ((), (7,)):
        x, y = (tf.constant(np.asarray(rng.uniform(0, 200, shape)).astype(dtype)) for _ in range(2))
        found = []
        for followed in (False, True):
            v = tf.Variable(x)
            before = v.value()
            if followed:
                with tf.GradientTape():
                    getattr(v, method)(y)
            else:
                getattr(v, method)(y)
            assert before.numpy().tolist() == x.numpy().tolist()
            found.append(v.numpy())
        assert found[0].dtype == found[1].dtype == np.dtype(dtype)
        np.testing.assert_array_equal(*found)


def test_an_update_of_another_shape_is_refused_with_the_sizes() -> None:
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match=r"with shape \(2,\) using a tensor with shape \(\)"):
        v.assign_sub(tf.constant(1.0))
    assert v.numpy().tolist() == [1.0, 2.0]


def _largest(w: Any, gradients: Any) -> Any:
    m = v = largest = 0.0
    for t, g in enumerate(gradients, 1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        largest = np.maximum(largest, v)
        w = w - 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(largest) + 1e-7)
    return w


def _signs(w: Any, gradients: Any) -> Any:
    m = 0.0
    for g in gradients:
        w = w - 0.1 * np.sign(0.9 * m + 0.1 * g)
        m = 0.99 * m + 0.01 * g
    return w


@pytest.mark.parametrize(("name", "formula"), [("Adam, largest", _largest), ("Lion", _signs)])
def test_what_is_larger_decides_as_in_the_formulas(name: str, formula: Any) -> None:
    gradients = [
        np.array(g) for g in ([9.0, -1.0, 1.0], [0.1, 0.2, -0.12], [-0.2, 0.1, 0.05], [0.1, 3.0, -0.4])
    ] * 5
    variable, optimizer = tf.Variable(np.array([1.0, 2.0, 3.0])), CASES[name]()
    for g in gradients:
        optimizer.apply_gradients([(tf.constant(g), variable)])
    np.testing.assert_allclose(variable.numpy(), formula(np.array([1.0, 2.0, 3.0]), gradients), rtol=1e-6)
