"""An exception that leaves a branch or loop which a tensor decides must not be caught outside of it: all values are traced."""

from __future__ import annotations

import contextlib

import pytest

import graphad as tf

X = tf.constant(2.0)


def fail():
    raise IndexError("none")


def returned_before(x):
    try:
        if x > 0.0:
            return x
        fail()
    except IndexError:
        return -x


def raised_in_branch(x):
    try:
        if x > 0.0:
            raise ValueError("too large")
        y = x * 2.0
    except ValueError:
        y = -x
    return y


def swallowed(x):
    with contextlib.suppress(ValueError):
        if x > 0.0:
            raise ValueError("too large")
        x = x * 2.0
    return x


def left_by_finally(x):
    while True:
        try:
            if x > 0.0:
                raise ValueError("too large")
        finally:
            break  # noqa: B012 - what this is about
    return x * 3.0


def raised_in_loop(x):
    total = 0.0 * x
    try:
        for _ in tf.range(3):
            total = total + x
            fail()
    except IndexError:
        total = total + 100.0
    return total


def raised_in_while(x):
    try:
        while x < 10.0:
            x = x * 2.0
            raise KeyError("k")
    except KeyError:
        x = -x
    return x


def refuse(x):
    raise ValueError("refused")


def raised_in_ternary(x):
    try:
        return refuse(x) if x > 0.0 else x
    except ValueError:
        return x * 3.0


def raised_in_cond(x):
    try:
        return tf.cond(x > 0.0, lambda: refuse(x), lambda: x)
    except ValueError:
        return x * 3.0


def raised_in_while_loop(x):
    try:
        return tf.while_loop(lambda y: y < 10.0, refuse, [x])
    except ValueError:
        return x * 3.0


def no_value_on_one_side(x):
    try:
        if x > 0.0:
            y = x
        return y
    except ValueError:
        return x * 3.0


@tf.function
def checked(x):
    if x > 0.0:
        raise ValueError("inner")
    return x


def raised_in_an_inner_function(x):
    try:
        return checked(x)
    except ValueError:
        return x * 3.0


def caught_in_an_outer_branch(x):
    if x > 1.0:
        try:
            if x > 3.0:
                raise ValueError("too large")
        except ValueError:
            x = x * 2.0
    return x


def rows(x):
    def row(v):
        try:
            if v > 0.0:
                raise ValueError("too large")
            return v
        except ValueError:
            return v * 3.0

    return tf.vectorized_map(row, tf.stack([x, -x]))


CAUGHT = [
    returned_before,
    raised_in_branch,
    swallowed,
    left_by_finally,
    raised_in_loop,
    raised_in_while,
    raised_in_ternary,
    raised_in_cond,
    raised_in_while_loop,
    no_value_on_one_side,
    raised_in_an_inner_function,
    caught_in_an_outer_branch,
    rows,
]


@pytest.mark.parametrize("f", CAUGHT, ids=lambda f: f.__name__)
def test_an_exception_of_a_branch_caught_outside_is_refused(f):
    with pytest.raises(tf.errors.CaughtInTraceError, match="caught outside of it") as info:
        tf.function(f)(X)
    assert f.__name__ in str(info.value) or f is rows
    assert "test_escapes.py:" in str(info.value)


def test_rows_outside_of_a_function_are_refused_too():
    with pytest.raises(tf.errors.CaughtInTraceError, match=r"vectorized_map: .*ValueError: too large"):
        rows(X)


def test_the_trace_goes_on_only_for_the_exception_itself():
    @tf.function
    def explained(x):
        try:
            if x > 0.0:
                raise ValueError("inner")
        except ValueError as cause:
            raise LookupError("outer") from cause
        return x

    with pytest.raises(LookupError, match="outer"):
        explained(X)
    with pytest.raises(ValueError, match="inner"):
        checked(X)


def inside_of_a_branch(x):
    if x > 0.0:
        try:
            fail()
            y = x
        except IndexError:
            y = x * 5.0
    else:
        y = x
    return y


def inside_of_a_step(x):
    total = 0.0 * x
    for _ in tf.range(3):
        try:
            total = total + x
            fail()
        except IndexError:
            total = total + 100.0
            continue
        total = total + 5.0
    return total


def of_python_alone(x):
    try:
        x = x.nothing
    except AttributeError:
        x = x * 2.0
    if x is not None:
        with contextlib.suppress(KeyError):
            {}["k"]
    return x


def in_a_map_that_has_elements(x):
    def fails(v):
        raise KeyError("k")

    try:
        return tf.map_fn(fails, tf.stack([x, x]))
    except KeyError:
        return x


@pytest.mark.parametrize(
    "f",
    [inside_of_a_branch, inside_of_a_step, of_python_alone, in_a_map_that_has_elements],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("x", [2.0, -2.0])
def test_exceptions_caught_where_they_are_certain_are_pythons(f, x):
    expected = f(tf.constant(x))
    assert float(tf.function(f)(tf.constant(x))) == float(expected)


@pytest.mark.parametrize("x", [2.0, -2.0])
def test_what_a_swallowed_exception_is_followed_by_keeps_its_variables(x):
    def f(x):
        y = x
        if x > 0.0:
            y = x * 3.0
        with contextlib.suppress(KeyError):
            x = x + 1.0
            raise KeyError("k")
        return x + y

    assert float(tf.function(f)(tf.constant(x))) == float(f(tf.constant(x)))
