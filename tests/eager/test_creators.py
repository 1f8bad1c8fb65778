"""`variable_creator_scope`."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import graphad as tf


def test_the_innermost_creator_is_asked_first():
    seen: list[Any] = []

    def outer(next_creator, **kwargs):
        seen.append(("outer", kwargs["name"], kwargs["trainable"]))
        return next_creator(**kwargs)

    def inner(next_creator, **kwargs):
        seen.append(("inner", kwargs["name"], sorted(kwargs)[:3]))
        return next_creator(**{**kwargs, "name": "changed", "trainable": False})

    with tf.variable_creator_scope(outer):
        with tf.compat.v1.variable_creator_scope(inner):
            v = tf.Variable(1.0, name="given")
        w = tf.Variable(lambda: 2.0)
    x = tf.Variable(3.0)
    assert seen == [
        ("inner", "given", ["aggregation", "caching_device", "constraint"]),
        ("outer", "changed", False),
        ("outer", None, None),
    ]
    assert (v.name, v.trainable, v.numpy()) == ("changed:0", False, 1.0)
    assert (w.name, w.trainable, x.numpy()) == ("Variable:0", True, 3.0)
    assert isinstance(v, tf.Variable)


def test_a_creator_may_return_something_else():
    with tf.variable_creator_scope(lambda next_creator, **kwargs: kwargs["initial_value"]):
        assert tf.Variable(1.5) == 1.5
    with (
        pytest.raises(TypeError, match="variable_creator_scope: 3 cannot be called"),
        tf.variable_creator_scope(3),
    ):
        pass


def test_it_holds_for_traced_functions_and_layers_and_ends_with_an_error():
    names = []

    def noting(next_creator, **kwargs):
        names.append(kwargs["name"])
        return next_creator(**kwargs)

    module = tf.Module()

    @tf.function
    def f(x):
        if not hasattr(module, "v"):
            module.v = tf.Variable(2.0, name="in_function")
        return module.v * x

    with pytest.raises(ZeroDivisionError), tf.variable_creator_scope(noting):
        assert f(tf.constant(3.0)) == 6.0
        tf.keras.layers.Dense(2).build((None, 3))
        raise ZeroDivisionError
    tf.Variable(1.0, name="after")
    assert names[0] == "in_function"
    assert len(names) == 3
    assert "after" not in names


def test_it_holds_for_its_thread():
    made = []
    with tf.variable_creator_scope(lambda next_creator, **kwargs: None):
        thread = threading.Thread(target=lambda: made.append(tf.Variable(1.0)))
        thread.start()
        thread.join()
    assert made[0].numpy() == 1.0


def test_wrong_arguments_are_refused_in_a_block_too():
    def same(next_creator, **kwargs):
        return next_creator(**kwargs)

    with tf.variable_creator_scope(same), pytest.raises(TypeError, match="colour"):
        tf.Variable(1.0, colour="red")
    with (
        tf.variable_creator_scope(same),
        pytest.raises(tf.errors.InvalidArgumentError, match="initial_value"),
    ):
        tf.Variable()
