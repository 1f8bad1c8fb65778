"""What a function calls is looked up each time it is asked, though its code is read once."""

from __future__ import annotations

from functools import partial
from typing import Any

import graphad as tf
from graphad.autograph.scan import needs_conversion


def harmless(x: Any) -> Any:
    return tf.sin(x)


def branching(x: Any) -> Any:
    if x > 0:
        return x
    return -x


def made(called: Any) -> Any:
    return lambda x: called(x) * 2.0


def calls_by_name(x: Any) -> Any:
    return chosen(x)


chosen = harmless


def test_functions_of_one_code_are_told_apart_by_what_their_closures_hold():
    answers = [needs_conversion(made(f)) for f in (harmless, branching, harmless, branching)]
    assert answers == [False, True, False, True]


def test_a_global_name_that_means_something_else_is_seen(monkeypatch):
    assert not needs_conversion(calls_by_name)
    monkeypatch.setitem(globals(), "chosen", branching)
    assert needs_conversion(calls_by_name)
    monkeypatch.undo()
    assert not needs_conversion(calls_by_name)


def test_a_module_attribute_is_looked_up_again(monkeypatch):
    f = lambda x: tf.identity(x)  # noqa: E731
    assert not needs_conversion(f)
    monkeypatch.setattr(tf, "identity", branching)
    assert needs_conversion(f)


def test_functions_given_to_one_of_graphads_are_converted():
    xs = tf.constant([1.0, -1.0])
    by_sign = tf.function(maps)(xs)
    assert by_sign.numpy().tolist() == [2.0, -3.0]


def test_functions_behind_partial_are_converted():
    assert float(tf.function(calls_partial)(tf.constant(-1.0))) == -3.0


def doubles_or_triples(x: Any) -> Any:
    if x > 0:
        return x * 2
    return x * 3


def maps(xs: Any) -> Any:
    return tf.map_fn(doubles_or_triples, xs)


partly = partial(partial(doubles_or_triples))


def calls_partial(x: Any) -> Any:
    return partly(x)


state = tf.Variable(1.0)


class Doubling(tf.Module):
    def by_sign(self, x: Any) -> Any:
        return x * 2 if x > 0 else x * 3


doubling = Doubling()


def assigns(x: Any) -> Any:
    return state.assign_add(x)


def calls_own(x: Any) -> Any:
    return doubling.by_sign(x)


def replaced(x: Any) -> Any:
    return replacing.call(x)


replacing = tf.keras.layers.Dense(1)
replacing.call = branching  # type: ignore[method-assign]


def test_methods_of_graphads_own_objects_are_called_as_they_are():
    assert not needs_conversion(assigns)
    assert needs_conversion(calls_own)
    assert needs_conversion(replaced)
    assert float(tf.function(calls_own)(tf.constant(-1.0))) == -3.0


def test_a_tape_is_no_control_flow():
    assert not needs_conversion(with_tape)
    assert not needs_conversion(returns_inside)
    assert not needs_conversion(watches_first)


def test_what_a_with_holds_is_still_looked_at(monkeypatch):
    assert all(
        map(
            needs_conversion,
            (with_choice, with_or, with_other_object, with_new_tape, with_own_manager, unpacks),
        )
    )
    monkeypatch.setitem(globals(), "chosen", branching)
    assert needs_conversion(with_tape)
    assert needs_conversion(returns_inside)


def with_tape(x: Any, y: Any) -> Any:
    with tf.GradientTape(persistent=True) as tape, tf.name_scope("scope"):
        tape.watch(x)
        z = chosen(x) * y
    first = tape.gradient(z, x)
    return first, tape.gradient(z, y)


def watches_first(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sin(x)
    return tape.gradient(y, x)


def returns_inside(x: Any) -> Any:
    with tf.name_scope("scope"):
        return chosen(x)


def with_choice(x: Any) -> Any:
    with tf.GradientTape() as tape:
        if x > 0:
            x = -x
    return tape.gradient(x, x)


def with_or(x: Any, y: Any) -> Any:
    with tf.GradientTape() as tape:
        z = tf.sin(x or y)
    return tape.gradient(z, x)


def with_other_object(x: Any) -> Any:
    with tf.name_scope("scope") as scope:
        y = scope.apply(x)
    return y


def with_new_tape(x: Any, tape: Any) -> Any:
    with tf.GradientTape() as tape:
        y = tf.sin(x)
    return tape.gradient(y, x)


class Tape(tf.GradientTape):
    def gradient(self, *args: Any) -> Any:
        return branching(super().gradient(*args))


def with_own_manager(x: Any) -> Any:
    with Tape() as tape:
        y = tf.sin(x)
    return tape.gradient(y, x)


def unpacks(x: Any) -> Any:
    with tf.GradientTape() as tape:
        f, g = chosen, branching
    return g(x)
