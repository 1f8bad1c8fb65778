"""The files that TensorFlow and Keras have written, and the same models made here."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

import graphad as tf
from graphad.layers.base import Layer

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
with open(os.path.join(DATA, "expected.json")) as _file:
    EXPECTED = json.load(_file)


def place(*names: str) -> str:
    return os.path.join(DATA, *names)


def train(net: Any, optimizer: Any, steps: int) -> None:
    x = tf.constant(np.linspace(-1, 1, 12, dtype=np.float32).reshape(6, 2))
    y = tf.reduce_sum(x, axis=1, keepdims=True)
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((net(x) - y) ** 2)
        variables = net.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))


def sequential() -> Any:
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            layers.Dense(4, activation="tanh", name="first"),
            layers.BatchNormalization(),
            tf.keras.Sequential([layers.Dense(3, activation="relu"), layers.Dense(2, use_bias=False)]),
            layers.Dense(1),
        ]
    )


class Small(Layer):
    def __init__(self) -> None:
        super().__init__()
        self.first = tf.keras.layers.Dense(3, activation="tanh")
        self.last = tf.keras.layers.Dense(1)

    def call(self, x: Any) -> Any:
        return self.last(self.first(x))


class Model(Layer):
    def __init__(self) -> None:
        super().__init__()
        self.first = tf.keras.layers.Dense(3, activation="tanh")
        self.blocks = [tf.keras.layers.Dense(3), tf.keras.layers.Dense(3)]
        self.last = tf.keras.layers.Dense(1)

    def call(self, x: Any) -> Any:
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return self.last(x)

    def weights_in_order(self) -> list[np.ndarray]:
        return [value for layer in (self.first, *self.blocks, self.last) for value in layer.get_weights()]


class Mixed(Layer):
    def __init__(self) -> None:
        super().__init__()
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        self.my_dense = tf.keras.layers.Dense(2)
        self.again = self.my_dense
        self.table = {"b": tf.keras.layers.Dense(1), "a": tf.keras.layers.Dense(1)}
        self.head = tf.keras.layers.Dense(2)

    def call(self, x: Any) -> Any:
        x = self.again(self.net(self.my_dense(x)))
        return self.table["a"](self.head(x)) + self.table["b"](x)

    def weights_in_order(self) -> list[np.ndarray]:
        layers = (self.net.layers[0], self.my_dense, self.table["a"], self.table["b"], self.head)
        return [value for layer in layers for value in layer.get_weights()]


def in_order_of_keras(net: Any) -> list[np.ndarray]:
    """The weights of a Sequential layer by layer."""
    found = []
    for layer in net.layers:
        found += in_order_of_keras(layer) if hasattr(layer, "layers") else layer.get_weights()
    return found


def close(found: Any, expected: Any, tolerance: float = 0.0) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        np.testing.assert_allclose(
            np.asarray(a), np.asarray(b, np.asarray(a).dtype), rtol=tolerance, atol=tolerance
        )
