"""In which order variables are listed: as Keras lists them for layers, as TensorFlow for modules."""

from __future__ import annotations

import copy
import re

import numpy as np

import graphad as tf

keras = tf.keras


class _Composite(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(1.0, name="w")
        self.z = keras.layers.Dense(2, name="z")
        self.a = keras.layers.Dense(3, name="a")
        self.d = {"y": keras.layers.Dense(1, name="y"), "b": keras.layers.Dense(1, name="b")}
        self.l = [keras.layers.BatchNormalization(name="n"), keras.layers.Dense(1, name="l")]

    def build(self, input_shape):
        self.statistic = self.add_weight(name="statistic", trainable=False)
        own = self.add_weight(name="own")
        self.alternative = self.add_weight(name="alternative")
        self.add_weight(name="unnamed")
        self.own = own

    def call(self, x):
        return self.l[1](self.l[0](self.d["y"](self.d["b"](self.z(self.a(x))))))


_ORDER = ["w", "own", "alternative", "unnamed", "statistic"]
_ORDER += [f"{layer}/{part}" for layer in "zayb" for part in ("kernel", "bias")]
_ORDER += ["n/gamma", "n/beta", "n/moving_mean", "n/moving_variance", "l/kernel", "l/bias"]


def _short(variables):
    return [re.sub(r"^_*composite(_\d+)?/|:0$", "", v.name) for v in variables]


def test_variables_come_in_the_order_of_creation_and_layers_in_that_of_assignment():
    layer = _Composite()
    layer(tf.ones([2, 4]))
    apart = {"statistic", "n/moving_mean", "n/moving_variance"}
    for _ in range(2):
        assert _short(layer.variables) == _short(layer.weights) == _ORDER
        assert _short(layer.trainable_variables) == [name for name in _ORDER if name not in apart]
        assert len(layer.non_trainable_weights) == 3
        layer.trainable = False
        assert layer.trainable_variables == [] and len(layer.non_trainable_variables) == len(_ORDER)
        layer.trainable = True


def test_a_module_is_sorted_by_name_and_a_layer_in_it_keeps_its_own_order():
    module = tf.Module()
    module.second = keras.layers.Dense(2, name="second")
    module.first = keras.layers.Dense(3, name="first")
    module.options = {"q": tf.Variable(0.0, name="q"), "b": tf.Variable(0.0, name="b")}
    module.second(module.first(tf.ones([1, 2])))
    assert _short(module.variables) == [
        "b",
        "q",
        "first/kernel",
        "first/bias",
        "second/kernel",
        "second/bias",
    ]
    assert _short(module.trainable_variables) == _short(module.variables)


def test_what_replaces_a_layer_or_a_variable_comes_last():
    layer = keras.layers.Layer()
    layer.a, layer.b = keras.layers.Dense(1, name="a"), keras.layers.Dense(1, name="b")
    layer.u, layer.v = layer.add_weight(name="u"), tf.Variable(0.0, name="v")
    layer.a = keras.layers.Dense(1, name="new")
    layer.u = tf.Variable(0.0, name="newer")
    for part in (layer.a, layer.b):
        part.build((1, 1))
    assert _short(layer.variables) == ["v", "newer", "b/kernel", "b/bias", "new/kernel", "new/bias"]
    del layer.v, layer.b
    assert _short(layer.variables) == ["newer", "new/kernel", "new/bias"]


def test_the_order_outlives_copies_and_a_list_kept_in_a_saved_model(tmp_path):
    layer = _Composite()
    layer(tf.ones([2, 4]))
    copied = copy.deepcopy(layer)
    assert _short(copied.variables) == _short(layer.variables)
    assert not any(a is b for a, b in zip(copied.variables, layer.variables, strict=True))
    for i, variable in enumerate(layer.trainable_variables):
        variable.assign(tf.fill(variable.shape, float(i)))
    module = tf.Module()
    module.layer, module.trained = layer, layer.trainable_variables
    layer.unnamed = layer.weights[3]
    tf.saved_model.save(module, str(tmp_path / "m"))
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    for i, variable in enumerate(loaded.trained):
        np.testing.assert_array_equal(variable.numpy(), np.full(variable.shape, float(i)))
