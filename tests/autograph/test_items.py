"""Items of objects of the user's own classes, assigned where a tensor decides."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
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


@pytest.mark.parametrize("shape", [(0, 3), (3,), (1,)])
def test_an_item_that_is_an_array_before_a_loop_may_become_a_tensor(shape: tuple[int, ...]) -> None:
    """Arrays compare element by element, with None too."""

    @tf.function
    def f(x: Any) -> Any:
        held = [np.ones(shape)]
        total = tf.constant(0.0, "float64")
        for row in x:
            held[0] = tf.constant(held[0]) * 2.0
            total += tf.reduce_sum(row)
        return total, held[0]

    total, last = f(tf.ones([3, 2], "float64"))
    assert float(total) == 6.0
    np.testing.assert_array_equal(last, 8.0 * np.ones(shape))
