"""`compat.v1.get_variable` and `variable_scope`: names, and what a scope gives to its variables."""

import threading
from typing import Any

import numpy as np
import pytest

import graphad as tf

v1 = tf.compat.v1


def test_a_scope_is_the_prefix_of_names():
    with v1.variable_scope("a") as a:
        with v1.variable_scope("b"):
            w = v1.get_variable("w", [2, 3])
        with v1.variable_scope(a, reuse=v1.AUTO_REUSE) as again:
            assert v1.get_variable("v", [1]).name == "a/v:0"
            assert again.reuse == v1.AUTO_REUSE
    assert (w.name, w.shape, w.dtype, w.trainable) == ("a/b/w:0", (2, 3), tf.float32, True)
    assert v1.get_variable("w", [1]).name == "w:0"
    assert v1.get_variable_scope().name == ""


def test_name_scopes_are_no_part_of_a_variables_name():
    with tf.name_scope("outside"), v1.variable_scope("a"), tf.name_scope("inside"):
        assert v1.get_variable("w", [1]).name == "a/w:0"
    with v1.variable_scope("a"):
        assert tf.Variable(1.0, name="own").name == "a/own:0"
    with v1.variable_scope("a", auxiliary_name_scope=False):
        assert tf.Variable(1.0, name="own").name == "own:0"


def test_a_default_name_is_counted():
    with v1.variable_scope("counted"):
        found = []
        for _ in range(3):
            with v1.variable_scope(None, "part") as scope:
                found.append(scope.name)
    assert found == ["counted/part", "counted/part_1", "counted/part_2"]
    with pytest.raises(ValueError, match="give a name, or default_name"), v1.variable_scope(None):
        pass


def test_each_call_makes_another_variable():
    with v1.variable_scope("a", reuse=True):
        one, other = (v1.get_variable("w", [1]) for _ in range(2))
    assert one is not other


@pytest.mark.parametrize(
    ("initializer", "shape", "value"),
    [
        (tf.keras.initializers.Ones(), [2], [1, 1]),
        (tf.keras.initializers.Ones, [2], [1, 1]),
        (lambda shape, dtype: 3 * tf.ones(shape, dtype), [2], [3, 3]),
        (tf.constant([4.0, 5.0]), None, [4, 5]),
        (np.float32([6, 7]), None, [6, 7]),
    ],
)
def test_an_initializer_is_a_function_a_class_or_a_value(initializer, shape, value):
    assert v1.get_variable("w", shape, initializer=initializer).numpy().tolist() == value
    with v1.variable_scope("a", initializer=initializer), v1.variable_scope("b"):
        assert v1.get_variable("w", shape).numpy().tolist() == value


def test_without_an_initializer_numbers_are_glorots_and_integers_zero():
    limit = np.sqrt(6 / 400)
    w = v1.get_variable("w", [300, 100]).numpy()
    assert limit * 0.99 < np.abs(w).max() <= limit
    assert v1.get_variable("n", [2], tf.int32).numpy().tolist() == [0, 0]
    with pytest.raises(ValueError, match="'w' has no shape"):
        v1.get_variable("w")


def test_getters_are_called_from_the_innermost():
    def scaled(by):
        def getter(inner, name, *args, **options):
            return by * inner(name, *args, **options) + 1

        return getter

    with (
        v1.variable_scope("a", custom_getter=scaled(2.0)),
        v1.variable_scope("b", custom_getter=scaled(10.0)),
    ):
        found = v1.get_variable("w", [1], initializer=tf.ones_initializer())
    assert found.numpy().tolist() == [31.0]


def test_constraints_dtypes_and_trainable_reach_the_variable():
    with v1.variable_scope("a", dtype="float64", constraint=tf.abs):
        w = v1.get_variable("w", [1], trainable=False)
    assert (w.dtype, w.trainable, w.constraint) == (tf.float64, False, tf.abs)


def test_a_scope_belongs_to_its_thread():
    seen = []
    with v1.variable_scope("a"):
        thread = threading.Thread(target=lambda: seen.append(v1.get_variable_scope().name))
        thread.start()
        thread.join()
    assert seen == [""]


def test_a_scope_ends_with_an_error_too():
    with pytest.raises(KeyError), v1.variable_scope("a"):
        raise KeyError
    assert v1.get_variable_scope().name == ""


def test_a_network_written_with_scopes_learns():
    with v1.variable_scope("net", initializer=tf.keras.initializers.Constant(0.1)):
        w, b = v1.get_variable("w", [3, 1]), v1.get_variable("b", [1])
    x = np.random.default_rng(0).normal(size=(50, 3)).astype("f")

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = v1.losses.mean_squared_error(x @ np.float32([[1], [2], [3]]), x @ w + b)
        for v, g in zip((w, b), tape.gradient(loss, [w, b]), strict=True):
            v.assign_sub(0.2 * g)
        return loss

    losses = [float(step()) for _ in range(40)]
    assert losses[-1] < 1e-4 * losses[0]


def test_a_scope_made_by_hand_is_entered_with_what_it_was_given():
    scope = v1.VariableScope(
        True, "q", v1.ones_initializer(), regularizer=len, dtype=tf.float64, use_resource=True
    )
    assert (scope.name, scope.original_name_scope, scope.use_resource) == ("q", "", True)
    assert (scope.reuse, scope.regularizer) == (v1.AUTO_REUSE, len)
    with v1.variable_scope(scope) as entered:
        w = v1.get_variable("w", [2])
        with v1.variable_scope("b", regularizer=max) as inner:
            assert (inner.regularizer, inner.original_name_scope) == (max, "q/b/")
    assert (entered.name, entered.regularizer, entered.original_name_scope) == ("q", len, "")
    assert (w.name, w.dtype) == ("q/w:0", tf.float64)
    assert w.numpy().tolist() == [1.0, 1.0]


def test_what_a_scope_gives_can_be_changed():
    with v1.variable_scope("a") as scope:
        scope.set_initializer(v1.ones_initializer())
        scope.set_dtype("float16")
        scope.set_custom_getter(lambda inner, name, **options: 2 * inner(name, **options))
        scope.set_regularizer(len)
        scope.set_partitioner(max)
        scope.set_use_resource(True)
        scope.set_caching_device(len)
        found = v1.get_variable("w", [1])
        assert (found.dtype, found.numpy().tolist()) == (tf.float16, [2.0])
        assert (scope.regularizer, scope.partitioner, scope.caching_device) == (len, max, len)
        with pytest.raises(ValueError, match="use_resource is False; variables are resources"):
            scope.set_use_resource(False)
    assert v1.VariableScope(None, caching_device="CPU").caching_device == "CPU"


def test_a_getter_of_a_variable_stands_for_that_of_its_scope() -> None:
    called = []

    def getter(word: str) -> Any:
        return lambda make, name, *args, **options: called.append(word) or make(name, *args, **options)

    with tf.compat.v1.variable_scope("own", custom_getter=getter("scope")):
        tf.compat.v1.get_variable("a", [1])
        tf.compat.v1.get_variable("b", [1], custom_getter=getter("variable"))
    assert called == ["scope", "variable"]
