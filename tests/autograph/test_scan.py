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
