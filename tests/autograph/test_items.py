"""Items of objects of the user's own classes, assigned where a tensor decides."""

from __future__ import annotations

import collections

import pytest

import graphad as tf


class Table:
    def __init__(self):
        self.rows = {}

    def __getitem__(self, key):
        return self.rows[key]

    def __setitem__(self, key, value):
        self.rows[key] = value

    def __delitem__(self, key):
        del self.rows[key]


class Fixed:
    """Keeps two items, which cannot be deleted."""

    __slots__ = ("_items",)

    def __init__(self):
        self._items = [0.0, 0.0]

    def __getitem__(self, place):
        return self._items[place]

    def __setitem__(self, place, value):
        self._items[place] = value


def in_a_loop(x, table):
    table[0] = x
    table[1] = x * 0.0
    for _ in tf.range(4):
        if table[0] > 3.0:
            table[0] = table[0] * 0.5
        else:
            table[0] = table[0] + x
        table[1] += table[0]
    return table[0] * table[1]


def only_inside(x, table):
    for k in tf.range(3):
        table[0] = x * tf.cast(k, x.dtype)
    return table[0]


@pytest.mark.parametrize("make", [Table, Fixed, dict, collections.OrderedDict, lambda: [0.0, 0.0]])
@pytest.mark.parametrize("program", [in_a_loop, only_inside])
def test_items_are_variables_of_loops_and_branches(program, make):
    x = tf.constant(1.3)
    found = []
    for f in (lambda x: program(x, make()), tf.function(lambda x: program(x, make()))):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        found.append((float(y), float(tape.gradient(y, x))))
    assert found[1] == pytest.approx(found[0])
