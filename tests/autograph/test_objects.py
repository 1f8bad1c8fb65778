"""Attributes and items that are assigned by what a branch or a step calls, or under keys that it computes."""

from __future__ import annotations

import bdb
import dataclasses
from collections import defaultdict, deque
from typing import Any

import numpy as np
import pytest

import graphad as tf


class Cell:
    """An object whose methods change it."""

    def __init__(self, value: Any) -> None:
        self.total = value
        self.parts = [value * 0.5, value]
        self.named = {"a": value}
        self.__hidden = value
        self.last = None
        self.steps = 0

    def add(self, v):
        self.total = self.total * 0.5 + v

    def add_in_one_branch(self, v):
        if v > self.total:
            self.add(v)
        else:
            self.named["a"] = self.named["a"] * v
        return v * 2.0

    def each_part(self, v):
        for k in range(len(self.parts)):
            self.parts[k] += v * (k + 1)

    def hide(self, v):
        self.__hidden, other = v * self.__hidden, v
        return other

    def seen(self):
        return self.total + self.parts[0] * self.parts[-1] + self.named["a"] + self.__hidden


@dataclasses.dataclass
class Pair:
    left: Any
    count: int


def adds_in_a_loop(cell, x, n):
    for _ in tf.range(n):
        cell.add(x)
    return cell.seen()


def reads_what_a_call_changed_before(cell, x, n):
    y = x
    for _ in tf.range(n):
        y = y + cell.total * 0.1
        cell.add(x)
    return y


def adds_in_a_while(cell, x, n):
    while cell.total < 3.0:
        cell.add(x * x + 1.0)
        if cell.total > 2.0:
            break
    return cell.seen()


def adds_in_one_branch(cell, x, n):
    if x > 0.5:
        cell.add(x)
    return cell.seen()


def adds_in_both_branches(cell, x, n):
    if x > 0.5:
        cell.add(x)
        y = x
    else:
        y = cell.hide(x)
    return cell.seen() * y


def adds_deep_inside(cell, x, n):
    for k in tf.range(n):
        if k > 0:
            x = cell.add_in_one_branch(x) * 0.5 + 0.1
    return cell.seen() + x


def adds_in_a_conditional_expression(cell, x, n):
    y = cell.add_in_one_branch(x) if x > 0.5 else cell.hide(x)
    return cell.seen() * y


def computes_the_key(cell, x, n):
    if x > 0.5:
        for k in range(len(cell.parts)):
            cell.parts[k] = cell.parts[k] * x
    else:
        for name in ("a", "a"):
            cell.named[name] += x
    return cell.seen()


def computes_the_key_in_a_loop(cell, x, n):
    for _ in tf.range(n):
        cell.each_part(x)
        last = len(cell.parts) - 1
        cell.parts[last] = cell.parts[-1] * 0.5
    return cell.seen()


def names_one_item_in_two_ways(cell, x, n):
    if x > 0.5:
        cell.parts[-1] = x
        k = 1
        cell.parts[k] = cell.parts[k] + 1.0
    return cell.seen()


def swaps(cell, x, n):
    for _ in tf.range(n):
        i, j = 0, 1
        cell.parts[i], cell.parts[j] = cell.parts[j], cell.parts[i] * x
    return cell.seen()


def exchanges_what_was_there_before(cell, x, n):
    def exchange():
        cell.parts[0], cell.total = cell.total, cell.parts[0]

    for _ in tf.range(n):
        exchange()
    return cell.seen()


def goes_back_to_what_was_there_before(cell, x, n):
    first = cell.total * 3.0
    cell.add(x)

    def back():
        cell.total = first

    if x > 0.5:
        back()
    return cell.seen()


def changes_an_object_made_inside(cell, x, n):
    for _ in tf.range(n):
        pair = Pair(x, 0)
        _bump(pair, x)
        x = x * 0.5 + pair.left * 0.1 * pair.count
    return x


def _bump(pair, v):
    pair.left = pair.left * v
    pair.count = pair.count + 1


def changes_an_object_in_a_list(cell, x, n):
    pairs = [Pair(x, 0), Pair(x * 2.0, 0)]
    for _ in tf.range(n):
        for pair in pairs:
            pair.left = pair.left * 0.5 + x
    return pairs[0].left + pairs[1].left * 3.0


def changes_what_a_default_would_make(cell, x, n):
    sums = defaultdict(lambda: tf.zeros_like(x))
    sums["b"] = x
    for _ in tf.range(n):
        for name in "b":
            sums[name] += x
    return sums["b"]


def assigns_by_name(cell, x, n):
    def assign(name, v):
        setattr(cell, name, v)

    for _ in tf.range(n):
        for name in ("total", "last_total"):
            assign(name, x * cell.total + 1.0)
    return cell.seen()


def updates_a_dict(cell, x, n):
    if x > 0.5:
        cell.named.update(a=cell.named["a"] * x)
    else:
        cell.named.update([("a", x)])
    return cell.seen()


def moves_items_on(cell, x, n):
    def push(v):
        cell.parts.pop(0)
        cell.parts.append(v)

    for _ in tf.range(n):
        x = x * 0.5 + cell.parts[0] * 0.1
        push(x)
    if x > 0.3:
        push(x * 2.0)
    return cell.seen()


def moves_items_on_in_a_branch_of_a_step(cell, x, n):
    def push(v):
        cell.parts.pop(0)
        cell.parts.append(v)

    for i in tf.range(n):
        if i % 2 == 0:
            push(x * 0.5 + cell.parts[1])
    return cell.seen()


def moves_numbers_on(cell, x, n):
    recent = deque([0.25, 0.5, 0.75], maxlen=3)
    y = tf.cast(x, tf.float32)
    for _ in tf.range(n):
        recent.append(recent[0] * y)
    return x * tf.cast(recent[0] + recent[-1] * 3.0, x.dtype)


def moves_numbers_on_in_one_branch(cell, x, n):
    recent = [0.25, 0.5, 0.75]
    y = tf.cast(x, tf.float32)
    if y > 0.5:
        recent.append(y)
        recent.pop(0)
    return x * tf.cast(recent[0] + recent[-1] * 3.0, x.dtype)


def keeps_in_place_of_a_number(cell, x, n):
    cell.kept = 0.5
    y = tf.cast(x, tf.float32)

    def keep():
        cell.kept = y

    if y > 0.5:
        keep()
    return x * tf.cast(cell.kept, x.dtype)


PROGRAMS = [
    assigns_by_name,
    updates_a_dict,
    moves_items_on,
    moves_items_on_in_a_branch_of_a_step,
    moves_numbers_on,
    moves_numbers_on_in_one_branch,
    keeps_in_place_of_a_number,
    adds_in_a_loop,
    reads_what_a_call_changed_before,
    adds_in_a_while,
    adds_in_one_branch,
    adds_in_both_branches,
    adds_deep_inside,
    adds_in_a_conditional_expression,
    computes_the_key,
    computes_the_key_in_a_loop,
    names_one_item_in_two_ways,
    swaps,
    exchanges_what_was_there_before,
    goes_back_to_what_was_there_before,
    changes_an_object_made_inside,
    changes_an_object_in_a_list,
    changes_what_a_default_would_make,
]


def value_and_slopes(f, x, n):
    """The value, the first and the second derivative."""
    x = tf.constant(x, tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, tf.constant(n))
        slope = tape.gradient(y, x)
    return [y.numpy(), slope.numpy(), outer.gradient(slope, x, unconnected_gradients="zero").numpy()]


@pytest.mark.parametrize("program", PROGRAMS)
def test_traced_is_eager(program):
    def plain(x, n):
        return program(Cell(x * 0.7), x, n)

    traced = tf.function(plain)
    for x, n in ((0.3, 3), (0.8, 2), (0.9, 0)):
        np.testing.assert_allclose(value_and_slopes(traced, x, n), value_and_slopes(plain, x, n), rtol=1e-12)
    assert traced.experimental_get_tracing_count() == 1


def test_a_module_keeps_what_a_method_assigned_in_a_loop():
    class Counter(tf.Module):
        def __init__(self):
            super().__init__()
            self.weight = tf.Variable(2.0)
            self.state = tf.constant(0.0)

        def advance(self, x):
            self.state = self.state + self.weight * x

        @tf.function
        def __call__(self, xs):
            self.state = tf.zeros([])
            for x in xs:
                self.advance(x)
            return self.state

    module = Counter()
    with tf.GradientTape() as tape:
        y = module(tf.constant([1.0, 2.0, 4.0]))
    assert (y.numpy(), tape.gradient(y, module.weight).numpy()) == (14.0, 7.0)


def test_numbers_of_python_that_calls_change_are_those_of_the_trace():
    cell = Cell(0.0)

    def count():
        cell.steps += 1

    @tf.function
    def f(xs):
        y = tf.zeros([])
        for x in xs:
            count()
            y += x
        return y

    assert f(tf.constant([1.0, 2.0])).numpy() == 3.0
    assert cell.steps == 1


def test_what_cannot_be_a_variable_of_the_loop_says_so_where_it_is_used():
    cell = Cell(0.0)

    def keep(v):
        cell.last = v

    @tf.function
    def f(xs):
        y = tf.zeros([])
        for x in xs:
            keep(x * 2.0)
            y += x
        return y if cell.last is None else y + cell.last

    with pytest.raises(tf.errors.OutOfScopeError, match="belongs to one step of a loop over tensors"):
        f(tf.constant([1.0, 2.0]))


@pytest.mark.parametrize(
    ("first", "message"),
    [
        (1, r"item 0 of a list' has dtype float32 in the main branch, but dtype int32"),
        (
            "a",
            r"item 0 of a list' is .* at the end of the main branch, but 'a' at the end of the else branch",
        ),
    ],
)
def test_items_that_move_to_places_of_another_kind_in_a_branch_are_refused(first, message):
    @tf.function
    def f(x):
        items = [first, tf.constant(4.0), tf.constant(5.0), tf.constant(6.0)]
        if x > 1.0:
            items.reverse()
        return items

    with pytest.raises((tf.errors.InvalidArgumentError, TypeError), match=message):
        f(tf.constant(2.0))


def test_items_that_move_to_places_of_another_kind_in_a_loop_are_refused():
    @tf.function
    def f(n):
        items = [tf.constant([1.0, 2.0]), tf.constant(4.0), tf.constant(5.0)]
        for _ in tf.range(n):
            items.reverse()
        return items[0]

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"item 0 of a list' has shape \(2,\) before"):
        f(tf.constant(2))


@pytest.mark.parametrize("x", [0.5, 2.0])
def test_variables_that_move_in_a_branch_are_read(x):
    def f(x):
        items = [made, tf.constant(2.0), tf.constant(3.0)]
        if x > 1.0:
            items.reverse()
        return tf.stack(items)

    made = tf.Variable(1.0)
    given = tf.constant(x)
    assert tf.function(f)(given).numpy().tolist() == f(given).numpy().tolist()


def test_effects_of_a_loop_that_is_traced_again_happen_once():
    cell = Cell(tf.constant(0.0))
    seen = tf.Variable(0)

    @tf.function
    def f(xs):
        cell.total = tf.zeros([])
        for x in xs:
            seen.assign_add(1)
            cell.add(x)
        return cell.total

    assert f(tf.constant([1.0, 2.0, 4.0])).numpy() == 5.25
    assert seen.numpy() == 3


class Stops(bdb.Bdb):
    """A debugger that goes on at each breakpoint, and remembers the function that it stopped in."""

    def __init__(self, line):
        super().__init__()
        self.stops = []
        self.set_break(__file__, line)

    def user_line(self, frame):
        if self.break_here(frame):
            self.stops.append(frame.f_code.co_name)
        self.set_continue()


def test_a_debugger_stops_once_at_an_assignment_in_a_loop():
    cell = Cell(0.0)

    @tf.function
    def f(xs):
        cell.total = tf.zeros([])
        for x in xs:
            cell.total = cell.total + x
        return cell.total

    assignment = f.python_function.__code__.co_firstlineno + 4
    debugger = Stops(assignment)
    assert debugger.runcall(f, tf.constant([1.0, 2.0])).numpy() == 3.0
    assert debugger.stops == ["f"]
