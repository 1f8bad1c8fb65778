"""Inner functions that share variables with code in which tensors decide: a call reads and changes them where it stands."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.errors import InvalidArgumentError


def counts_in_a_loop(x):
    n = 0

    def add(v):
        nonlocal n
        n = n + 2
        return v * 1.5

    for _ in tf.range(3):
        x = add(x)
    return x, n


def sums_in_a_loop(x):
    total = x

    def add(v):
        nonlocal total
        if v > 0.2:
            total = total + 2.0 * v
        else:
            total = total * 0.5

    for _ in tf.range(3):
        add(x)
        x = x * 0.6
    return total


def is_defined_in_the_loop(x):
    n = 1
    i = 0
    while i < tf.constant(4):
        i += 1

        def add(v, by=2.0):
            nonlocal n
            n = n + 3
            return v * by

        x = add(x, by=0.5)
    return x, n


def changes_in_one_branch(x):
    a, k = x, 0

    def move(v):
        nonlocal a, k
        a = a + 2.0 * v
        k += 1
        return v

    if x > 1.0:
        move(x)
        move(x)
    else:
        a = x * 3.0
    return a, k


def changes_in_a_test(x):
    k = 0.0

    def goes_on(v):
        nonlocal k
        k = k + v
        return k < 10.0

    while goes_on(x):
        x = x + 1.0
    return x, k


def one_through_another(x):
    k = 0

    def one():
        nonlocal k
        k += 1

    def two():
        one()
        for _ in tf.range(2):
            one()

    for _ in tf.range(4):
        two()
    return x, k


def under_another_name(x):
    k = 0

    def one():
        nonlocal k
        k += 1

    functions = []
    functions.append(one)
    for _ in tf.range(4):
        for f in functions:
            f()
    return x, k


def in_a_ternary(x):
    k = 0

    def seen(v):
        nonlocal k
        k += 1
        return v * 2.0

    y = seen(x) if x > 1.0 else x
    z = x > 1.0 and seen(x) > 2.5 and seen(x) > 0.0
    return y, k, (1.0 if z or seen(x) > 1.0 else 2.0), k


def reads_what_a_step_changes(x):
    a = x

    def twice():
        return a * 2.0

    also = [lambda: a + 1.0]
    s = 0.0 * x
    for i in tf.range(3):
        s = s + twice() + also[0]()
        a = tf.cast(i, tf.float64) * x
    return s


def hides_a_name(x):
    k = x

    def inner(v):
        k = v * 2.0

        def add():
            nonlocal k
            k = k + 1.0

        for _ in tf.range(2):
            add()
        return k

    for _ in tf.range(2):
        k = inner(k)
    return k


def largest(x):
    best, place = x - 9.0, -1

    def update(i, v):
        nonlocal best, place
        if v > best:
            best, place = v, i

    for i, v in enumerate(tf.stack([x, x * 3.0, x * 2.0])):
        update(i, v)
    return best, place


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


def beside_attributes(x):
    pair, total = Pair(x, x), x * 0.0

    def add(v):
        nonlocal total
        total = total + v
        return v * 0.5, v

    functions = [add]
    pair.keep = add
    for _ in tf.range(3):
        if pair.a > 0.5:
            pair.a = pair.a * 0.7
            pair.b = functions[-1](x)[0] + pair.b
        else:
            pair.a = pair.a + x
    return pair.a, pair.b, total


PROGRAMS = [
    counts_in_a_loop,
    sums_in_a_loop,
    is_defined_in_the_loop,
    changes_in_one_branch,
    changes_in_a_test,
    one_through_another,
    under_another_name,
    in_a_ternary,
    reads_what_a_step_changes,
    hides_a_name,
    largest,
    beside_attributes,
]


def values_and_gradient(f, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        out = tf.nest.flatten(f(x))
        slope = tape.gradient([y for y in out if isinstance(y, tf.Tensor) and y.dtype.is_floating], x)
    return [*[np.asarray(y) for y in out], slope.numpy()]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("start", [1.5, 0.25])
def test_an_inner_function_changes_the_variables_around_it(program, start):
    x = tf.constant(start, tf.float64)
    wanted = values_and_gradient(program, x)
    converted = tf.function(program)
    for _ in range(2):
        for a, b in zip(wanted, values_and_gradient(converted, x), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12)


def test_a_closure_of_another_function_is_changed():
    def make():
        n = 0

        def program(x):
            nonlocal n

            def one():
                nonlocal n
                n = n + 1

            n = 0
            for _ in tf.range(3):
                one()
                x = x * 1.5
            return x, n

        return program

    x, n = tf.function(make())(tf.constant(2.0))
    assert (float(x), int(n)) == (6.75, 3)


def test_what_a_call_does_not_change_stays_a_python_number():
    def program(x):
        n = 0

        def one(v):
            nonlocal n
            n += 1
            return v

        one(x)
        for _ in tf.range(4):
            x = tf.sin(x)
        assert type(n) is int
        return one(x), n

    tf.function(program)(tf.constant(1.0))


def test_a_variable_that_one_branch_gives_no_value_is_named():
    def program(x):
        def first():
            nonlocal y
            y = x * 2.0

        for _ in ():
            y = x
        if x > 1.0:
            first()
        else:
            pass
        return y

    with pytest.raises(InvalidArgumentError, match="'y' must also be initialized in the else branch"):
        tf.function(program)(tf.constant(2.0))
