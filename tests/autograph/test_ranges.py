"""Loops over ranges whose length is not known while they are traced count instead of making the range."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from tests.support.memory import least_peak


def _sum_below(n, most, first=0):
    total, k = tf.zeros([], n.dtype), tf.constant(-7, n.dtype)
    for k in tf.range(first, n):
        if k > most:
            break
        total += k
        k += 5  # the next element is the same all the same
    return total, k


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
@pytest.mark.parametrize(
    ("n", "total", "last"), [(0, 0, -7), (1, 0, 5), (3, 3, 7), (9, 10, 5), (10_000_000, 10, 5)]
)
def test_a_loop_that_may_be_left_counts_through_its_range(dtype, n, total, last):
    """The range is not made."""
    summed = tf.function(_sum_below)
    summed(tf.constant(2, dtype), tf.constant(4, dtype))

    def work():
        assert [int(x) for x in summed(tf.constant(n, dtype), tf.constant(4, dtype))] == [total, last]

    assert least_peak(work, 2**22) < 2**22


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
@pytest.mark.parametrize("jit", [None, True])
def test_a_long_range_of_known_numbers_is_not_made(dtype, jit):
    def first_and_last(below, most):
        k = tf.constant(0, dtype)
        for k in tf.range(*below, dtype=dtype):
            if k > most:
                break
        return k

    to_the_end = [((3, 2_000_003), 2**31 - 1, 2_000_002), ((2_000_003, 2, -1), 2**31 - 1, 3)]
    for below, most, found in (
        ((2_000_000_000,), 4, 5),
        ((-5, 2**31 - 1, 2), -1, 1),
        *(to_the_end if jit else ()),
    ):

        def work(below=below, most=most, found=found):
            f = tf.function(first_and_last, jit_compile=jit)
            assert int(f(below, tf.constant(most, dtype))) == found

        assert least_peak(work, 2**22) < 2**22
    whole = tf.function(lambda: tf.range(1, 4_000_000, 3, dtype=dtype))
    assert np.array_equal(whole(), np.arange(1, 4_000_000, 3)) and whole().dtype == dtype


def test_a_counted_loop_starts_where_its_range_does_and_is_differentiated():
    def power(x, n):
        for k in tf.range(n - 3, n):
            x = x * tf.cast(k, tf.float32)
            if x > 100.0:
                break
        return x

    x = tf.Variable(1.5)
    for n, slope in ((3, 0.0), (5, 24.0), (9, 336.0)):
        with tf.GradientTape() as tape:
            y = tf.function(power)(x, tf.constant(n))
        gradient = tape.gradient(y, x)
        assert float(y) == 1.5 * float(gradient)
        expected, value = 1.0, 1.5
        for k in range(n - 3, n):
            expected, value = expected * k, value * k
            if value > 100.0:
                break
        assert float(gradient) == expected == slope


def _walked(first, limit, step):
    """How many elements, their sum and the last one; with what TensorFlow leaves in the loop's variable after no step."""
    count, total = tf.constant(0), tf.zeros([], first.dtype)
    for i in tf.range(first, limit, step):
        count += 1
        total += i
    return count, total, i


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.int16, tf.float32, tf.float64])
@pytest.mark.parametrize(
    "ends", [(0, 5, 1), (3, 9, 4), (9, -2, -3), (4, 0, -1), (7, 7, 1), (-3, 2, 1), (-5, 5, 3)]
)
def test_a_counted_range_has_the_elements_of_the_range(dtype, ends):
    counted = tf.function(_walked)
    found = [y.numpy() for y in counted(*[tf.constant(x, dtype) for x in ends])]
    expected = tf.range(*[tf.constant(x, dtype) for x in ends]).numpy()
    assert found[0] == len(expected)
    assert found[1] == expected.sum()
    assert found[2] == (expected[-1] if len(expected) else ends[0])
    assert found[1].dtype == dtype.numpy


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.float32])
@pytest.mark.parametrize(
    "ends", [(0, -4, 1), (5, 2, 1), (0, 5, -1), (3, 8, -2), (0, -(2**30), 1), (2**30, -(2**30) - 7, 1)]
)
def test_a_range_that_leads_away_from_its_limit_has_no_step(dtype, ends):
    """As in TensorFlow's loops; the range itself is refused, in a loop too where it is known."""
    given = [tf.constant(x, dtype) for x in ends]
    assert [float(y) for y in tf.function(_walked)(*given)] == [0, 0, ends[0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Requires start"):
        _walked(*given)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Requires start"):
        tf.function(lambda: _walked(*given))()


@pytest.mark.parametrize("dtype", [tf.int32, tf.float32])
def test_a_counted_range_without_a_step_size_is_refused(dtype):
    with pytest.raises(tf.errors.InvalidArgumentError, match="delta != 0"):
        tf.function(_walked)(*[tf.constant(x, dtype) for x in (0, 3, 0)])


def test_elements_of_a_counted_range_of_floats_are_not_summed_up():
    ends = [tf.constant(x) for x in (0.0, 100.0, 0.1)]
    count, _, last = tf.function(_walked)(*ends)
    assert (int(count), float(last)) == (1000, float(tf.range(*ends)[-1]))


def _squares(n):
    rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in tf.range(n):
        rows = rows.write(i, tf.cast(i * i, tf.float32))
    return rows.stack()


def _squares_until(n):
    rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in tf.range(n):
        if i * i > 20:
            break
        rows = rows.write(i, tf.cast(i * i, tf.float32))
    return rows.stack()


@pytest.mark.parametrize("n", [-3, 0, 1, 4, 9])
def test_a_counted_range_numbers_the_rows_of_an_array(n):
    expected = np.arange(max(n, 0), dtype="float32") ** 2
    np.testing.assert_array_equal(tf.function(_squares)(tf.constant(n)), expected)
    np.testing.assert_array_equal(tf.function(_squares_until)(tf.constant(n)), expected[expected <= 20])


def test_a_loop_that_cannot_be_left_makes_no_range():
    def halved(n):
        total = tf.constant(0.0)
        for i in tf.range(n):
            total = total * 0.5 + tf.cast(i, tf.float32)
        return total

    run = tf.function(halved, jit_compile=True)
    run(tf.constant(3))

    def work():
        assert float(run(tf.constant(2_000_000))) == pytest.approx(3999996.0)

    assert least_peak(work, 2**20) < 2**20


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("n", [0, 1, 6, 5000])
def test_what_a_counted_loop_looks_up_is_differentiated_in_time_that_grows_with_its_steps(jit, n):
    """The derivative walks along what the counter was, which is known, and does not keep it."""

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            state, i = tf.constant(0.5), 0
            while i < tf.shape(x)[0]:
                state = tf.sin(state) + x[i] * x[i]
                i += 1
            for k in tf.range(tf.shape(x)[0] - 1, -1, -1):
                state = 0.5 * state + x[k]
        return state, tape.gradient(state, x)

    x = tf.constant(np.linspace(-1, 1, n, dtype="float32"))
    value, slope = tf.function(gradient, jit_compile=jit, input_signature=[tf.TensorSpec([None])])(x)
    states, state = [], 0.5
    for number in x.numpy():
        states.append(state)
        state = np.sin(state) + number * number
    bar, expected = 0.5**n, np.zeros(n)
    for k, number in reversed(list(enumerate(x.numpy()))):
        expected[k] = bar * 2 * number + 0.5**k
        bar *= np.cos(states[k])
        state = 0.5 * state + number
    np.testing.assert_allclose(value, state, rtol=1e-4)
    np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_a_loop_over_inner_rows_may_have_no_step(n):
    def neighbours(x):
        total = tf.constant(0.0)
        for i in tf.range(1, tf.shape(x)[0] - 1):
            total = 0.5 * total + x[i - 1] * x[i + 1]
        return total

    run = tf.function(neighbours, jit_compile=True, input_signature=[tf.TensorSpec([None])])
    expected = 0.0
    for i in range(1, n - 1):
        expected = 0.5 * expected + (i - 1) * (i + 1)
    assert float(run(tf.range(float(n)))) == expected


def test_variables_are_read_where_numbers_are_asked_for():
    """TensorFlow gives the same: a variable's value when the function runs, not when it is traced."""
    n, rate = tf.Variable(3), tf.Variable(2.5)

    @tf.function
    def f(x):
        for i in range(n):
            x = x + float(i)
        return x + float(n) * float(int(rate))

    assert float(f(tf.constant(1.0))) == 1.0 + 3.0 + 3.0 * 2
    n.assign(4)
    rate.assign(1.5)
    assert float(f(tf.constant(1.0))) == 1.0 + 6.0 + 4.0


@pytest.mark.parametrize("jit", [None, True])
def test_a_loop_counts_through_more_numbers_than_a_loop_has_steps(jit):
    @tf.function(jit_compile=jit)
    def total():
        found = tf.constant(0, tf.int64)
        for i in tf.range(2**40, dtype=tf.int64):
            if i > 100:
                break
            found += i
        return found

    assert int(total()) == 5050


@pytest.mark.parametrize(
    "numbers, dtype",
    [((-(2**42), 5, 2**19), tf.int32), ((-(2**21), 5, 1), tf.int8), ((0.5, 2e6, 0.5), tf.int32)],
)
def test_long_ranges_of_limits_that_their_dtype_has_not_are_those_of_eager_code(numbers, dtype):
    wanted = tf.range(*numbers, dtype=dtype)
    found = tf.function(lambda: tf.range(*numbers, dtype=dtype))()
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
