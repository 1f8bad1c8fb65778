"""Objects of users' classes become tensors where a conversion is registered."""

import numpy as np
import pytest

import graphad as tf


class Parameter:
    def __init__(self, value):
        self.variable = tf.Variable(value)


class Positive(Parameter):
    pass


class Undecided:
    pass


tf.register_tensor_conversion_function(
    Parameter, lambda x, dtype=None, name=None, as_ref=False: tf.convert_to_tensor(x.variable, dtype)
)
tf.register_tensor_conversion_function(
    Positive, lambda x, dtype=None, name=None, as_ref=False: tf.exp(x.variable), priority=50
)
tf.register_tensor_conversion_function(
    Undecided, lambda x, dtype=None, name=None, as_ref=False: NotImplemented
)


@pytest.mark.parametrize("way", [lambda f: f, tf.function], ids=["eager", "function"])
def test_registered_objects_are_operands_with_gradients(way):
    p, q = Parameter([1.0, 2.0]), Positive([0.0, 0.0])

    @way
    def f(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(x * p) + tf.reduce_sum(tf.stack([p, q]) * 2.0) + tf.reduce_sum(tf.sin(q))
        return y, tape.gradient(y, [p.variable, q.variable])

    y, (dp, dq) = f(tf.constant([3.0, 4.0]))
    np.testing.assert_allclose(y, 11.0 + 6.0 + 4.0 + 2 * np.sin(1.0), rtol=1e-6)
    np.testing.assert_allclose(dp, [5.0, 6.0])
    np.testing.assert_allclose(dq, np.full(2, 2.0 + np.cos(1.0)), rtol=1e-6)


def test_the_numpy_namespace_and_its_operators_ask_the_conversion_before_the_array():
    class Exported(Parameter):
        def __array__(self, dtype=None, copy=None):
            return self.variable.numpy()

    p, x = Exported([1.0, 2.0]), tf.constant([3.0, 4.0])
    calls = [
        tf.numpy.multiply,
        lambda x, p: tf.numpy.sum(tf.numpy.asarray([x, p])[1] * x),
        lambda x, p: x * p,
    ]
    tf.experimental.numpy.experimental_enable_numpy_behavior()
    try:
        for call in calls:
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(call(x, p))
            np.testing.assert_array_equal(tape.gradient(y, p.variable), x)
    finally:
        tf.experimental.numpy.experimental_enable_numpy_behavior(dtype_conversion_mode="off")


def test_the_object_itself_is_what_a_traced_function_is_given():
    p = Parameter(2.0)
    seen = []

    @tf.function
    def f(parameter):
        seen.append(type(parameter))
        return parameter.variable + parameter

    assert float(f(p)) == 4.0
    p.variable.assign(5.0)
    assert float(f(p)) == 10.0
    assert seen == [Parameter]


def test_a_dtype_that_is_asked_for_is_passed_on():
    with pytest.raises(TypeError, match="float64"):
        tf.convert_to_tensor(Parameter(1.0), tf.float64)
    with pytest.raises(TypeError, match="float64"):
        tf.constant(1.0, tf.float64) + Positive(1.0)


def test_what_every_conversion_declines_is_refused_as_before():
    with pytest.raises(TypeError, match="unsupported type"):
        tf.convert_to_tensor(Undecided())


@pytest.mark.parametrize(
    ("kind", "function", "match"),
    [
        (3, len, "must be a type"),
        ((), len, "must be a type"),
        (Parameter, 3, "must be callable"),
        (float, len, "numbers"),
        ((Parameter, np.ndarray), len, "numbers"),
    ],
)
def test_what_cannot_be_registered(kind, function, match):
    with pytest.raises(TypeError, match=match):
        tf.register_tensor_conversion_function(kind, function)


def test_lists_of_integers_of_64_bits_are_unsigned_integers_where_that_is_asked_for():
    for given in ([2**60 + 1, 2**64 - 1], [[1], [2**64 - 1]]):
        found = tf.constant(given, tf.uint64)
        assert found.numpy().tolist() == given
    with pytest.raises(TypeError, match="constant"):
        tf.constant([-1, 2**64 - 1], tf.uint64)


def test_a_shape_with_a_size_that_does_not_fit_is_not_wrapped():
    shape = tf.TensorShape([2**31, 2])
    assert tf.convert_to_tensor(shape).dtype == tf.int64
    assert tf.convert_to_tensor(shape, dtype=tf.uint32).numpy().tolist() == [2**31, 2]
    with pytest.raises(
        ValueError, match=r"the shape \(2147483648, 2\) to int32: a size is too large; use int64"
    ):
        tf.convert_to_tensor(shape, dtype=tf.int32)
    assert tf.convert_to_tensor(tf.TensorShape([]), dtype=tf.int8).shape == (0,)


def test_numbers_of_numpy_and_of_lists_that_an_integer_dtype_does_not_hold_are_refused():
    narrow = tf.Variable([1], dtype=tf.uint8)
    for work in (
        lambda: tf.constant(np.array([300, 1]), tf.uint8),
        lambda: tf.constant([300, 1], tf.uint8),
        lambda: tf.constant(np.int32(-1), tf.uint64),
        lambda: tf.convert_to_tensor(np.uint64(2**63), tf.int64),
        lambda: tf.constant([1]) + np.array([2**40]),
        lambda: tf.Variable(np.array([2**40]), dtype=tf.int32),
        lambda: narrow.assign(np.array([256])),
    ):
        with pytest.raises(ValueError, match=r"out of range; tf\.cast\(x, u?int\d+\) wraps around"):
            work()
    found = tf.constant(np.array([255, 0]), tf.uint8)
    assert found.numpy().tolist() == [255, 0]
    assert tf.constant(np.uint64(2**63 - 1), tf.int64).numpy() == 2**63 - 1
    assert tf.cast(np.array([300]), tf.uint8).numpy().tolist() == [44]


def test_what_is_wrong_with_deeply_nested_lists_is_told_at_once():
    given = [[1], [1, 2]]
    for _ in range(50):
        given = [given]
    with pytest.raises(ValueError, match="Item 0 has length 1, item 1 has length 2"):
        tf.constant(given)
    for _ in range(50):
        given = [given]
    with pytest.raises(ValueError, match="nested more than 64 deep, and a tensor has at most 64 axes"):
        tf.constant(given)


def test_lists_that_hold_themselves_are_refused_by_name():
    endless = []
    endless.append(endless)
    with_variable = [tf.Variable(1.0)]
    with_variable.append(with_variable)
    deep = tf.constant(1.0)
    for _ in range(3000):
        deep = [deep]
    for given in (endless, with_variable, deep):
        for work in (tf.constant, tf.stack, tf.Variable, lambda x: tf.constant(1.0) + x):
            with pytest.raises(ValueError, match="nested more than 64 deep"):
                work(given)
