"""What a function calls is looked up each time it is asked, though its code is read once."""

from __future__ import annotations

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
