"""Variables: names, values, assignment, slices, copies, and what they refuse."""

from __future__ import annotations

import copy
import pickle
import re
import threading

import numpy as np
import pytest

import graphad as tf
from tests.support.both import in_both

# -- making one ---------------------------------------------------------------------------------------------------------


def test_names():
    assert tf.Variable(1.0).name == "Variable:0"
    assert tf.Variable(1.0).name == "Variable:0"
    assert tf.Variable(1.0, name="mushroom").name == "mushroom:0"
    with tf.name_scope("badger"):
        assert tf.Variable(1.0, name="mushroom").name == "badger/mushroom:0"
        with tf.name_scope("snake"):
            assert tf.Variable(1.0).name == "badger/snake/Variable:0"
    assert tf.Variable(1.0).name == "Variable:0"


def test_repr():
    assert repr(tf.Variable(1.0, name="q")) == "<tf.Variable 'q:0' shape=() dtype=float32, numpy=1.0>"
    text = repr(tf.Variable([1, 2], name="v"))
    assert text == "<tf.Variable 'v:0' shape=(2,) dtype=int32, numpy=array([1, 2], dtype=int32)>"
    text = repr(tf.Variable([[1, 2]], name="v"))
    assert text == "<tf.Variable 'v:0' shape=(1, 2) dtype=int32, numpy=array([[1, 2]], dtype=int32)>"
    assert "numpy=\narray([[1],\n       [2]]" in repr(tf.Variable([[1], [2]]))


def test_an_initial_value_is_needed():
    with pytest.raises(ValueError, match=r"The `initial_value` arg to `tf.Variable` must be specified"):
        tf.Variable()


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1.5, tf.float32),
        ([1.0, 2.0], tf.float32),
        (1, tf.int32),
        (True, tf.bool),
        (np.float64(1.0), tf.float64),
        (np.array([1, 2]), tf.int64),
        (np.ones(2, np.float16), tf.float16),
        (1 + 2j, tf.complex128),
        (lambda: tf.ones([2], tf.float64), tf.float64),
    ],
)
def test_the_dtype_follows_the_initial_value(value, dtype):
    v = tf.Variable(value)
    assert v.dtype is dtype
    assert v.numpy().dtype == dtype.numpy


def test_a_dtype_may_be_asked_for():
    assert tf.Variable(1, dtype=tf.float64).dtype is tf.float64
    assert tf.Variable([1, 2], dtype="float32").numpy().dtype == np.float32
    with pytest.raises(TypeError, match=r"dtype"):
        tf.Variable(tf.constant(1.0), dtype=tf.float64)


def test_variables_of_integers_are_not_trained_unless_asked_and_watching_them_changes_nothing():
    n = tf.Variable(3)
    with tf.GradientTape() as tape:
        y = tf.cast(n, tf.float32) * 2.0
    assert tape.gradient(y, n) is None


def test_a_variable_does_not_share_its_array():
    array = np.ones(3, np.float32)
    v = tf.Variable(array)
    array[0] = 5.0
    np.testing.assert_array_equal(v, [1.0, 1.0, 1.0])
    value = v.numpy()
    value[1] = 7.0
    np.testing.assert_array_equal(v, [1.0, 1.0, 1.0])


def test_shapes_of_variables():
    v = tf.Variable([[1.0, 2.0]])
    assert v.shape == (1, 2)
    assert v.shape.as_list() == [1, 2]
    assert v.get_shape() == [1, 2]
    assert len(v) == 1
    with pytest.raises(ValueError, match=r"\(2,\), which shape=\(3,\) does not allow"):
        tf.Variable([1.0, 2.0], shape=[3])


# -- assigning ---------------------------------------------------------------------------------------------------------


@in_both
def test_assignments_return_the_variable(run):
    v = tf.Variable([1.0, 2.0])

    def body():
        doubled = v.assign([3.0, 4.0]) * 2.0
        return doubled, v.assign_add([1.0, 1.0]) + 0.0, v.assign_sub([0.5, 0.5]) + 0.0

    values = run(body)
    for got, wanted in zip(values, ([6.0, 8.0], [4.0, 5.0], [3.5, 4.5]), strict=True):
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_array_equal(v, [3.5, 4.5])


def test_assignments_can_return_nothing():
    v = tf.Variable(1.0)
    for method in (v.assign, v.assign_add, v.assign_sub):
        assert method(1.0, read_value=False) is None


def test_assignments_can_be_chained():
    v = tf.Variable(1.0)
    assert v.assign(2.0).assign_add(3.0).numpy() == 5.0


@pytest.mark.parametrize("value", [[1.0, 2.0, 3.0], 1.0, [[1.0, 2.0]]])
@in_both
def test_a_wrong_shape_is_refused(run, value):
    v = tf.Variable([1.0, 2.0])
    text = re.escape(
        "Cannot assign value to variable 'Variable:0': Shape mismatch. The variable shape (2,), and the assigned value "
        f"shape {np.shape(value)} are incompatible; "
    )
    with pytest.raises(ValueError, match=text):
        run(lambda: v.assign(value).value())
    np.testing.assert_array_equal(v, [1.0, 2.0])


@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
@in_both
def test_a_wrong_dtype_is_refused(run, method):
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(
        ValueError, match=r"Tensor conversion requested dtype float32 for Tensor with dtype int32"
    ):
        run(lambda: getattr(v, method)(tf.constant([1, 2])).value())


def test_python_numbers_adopt_the_dtype():
    v = tf.Variable(1.0, dtype=tf.float64)
    v.assign(2)
    v.assign_add(1)
    assert v.numpy() == 3.0
    n = tf.Variable(1)
    with pytest.raises(TypeError, match=r"Cannot convert 1.5 to EagerTensor of dtype int32"):
        n.assign(1.5)


@in_both
def test_a_shape_of_none_lifts_the_rule(run):
    v = tf.Variable([1.0, 2.0], shape=tf.TensorShape(None))
    w = tf.Variable([[1.0, 2.0]], shape=[None, 2])
    assert v.shape.rank is None

    def body():
        v.assign([[1.0], [2.0], [3.0]])
        w.assign(tf.ones([4, 2]))

    run(body)
    assert v.numpy().shape == (3, 1)
    assert w.numpy().shape == (4, 2)
    with pytest.raises(ValueError, match=r"Shape mismatch"):
        w.assign(tf.ones([4, 3]))


@pytest.mark.parametrize(
    ("statement", "method"),
    [
        ("v += 1.0", "assign_add(value)"),
        ("v -= 1.0", "assign_sub(value)"),
        ("v *= 2.0", "assign(variable * value)"),
        ("v /= 2.0", "assign(variable / value)"),
        ("v **= 2.0", "assign(variable ** value)"),
    ],
)
def test_augmented_assignment_is_refused(statement, method):
    scope = {"v": tf.Variable(1.0)}
    symbol = statement.split()[1]
    text = f"`variable {symbol} value` with `tf.Variable`s is not supported. Use `variable.{method}`"
    with pytest.raises(RuntimeError, match=re.escape(text)):
        exec(statement, scope)
    assert scope["v"].numpy() == 1.0


def test_quotients_and_remainders_take_the_name_of_the_variable():
    v = w = tf.Variable(5.0)
    v //= 2.0
    w %= 2.0
    assert (v.numpy(), w.numpy()) == (2.0, 1.0)
    assert not isinstance(v, tf.Variable)


@pytest.mark.parametrize("x", [tf.constant([1.0]), tf.Variable([1.0])], ids=["tensor", "variable"])
def test_items_are_not_deleted(x):
    with pytest.raises(TypeError, match="object doesn't support item deletion"):
        del x[0]


# -- slices ---------------------------------------------------------------------------------------------------------------


@in_both
def test_slices_read_and_write(run):
    v = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

    def body():
        part = v[0, 1:] + 0.0
        v[0, 1:].assign([20.0, 30.0])
        v[1].assign(v[1] * 2.0)
        return part, v[:, 0]

    part, column = run(body)
    np.testing.assert_array_equal(part, [2.0, 3.0])
    np.testing.assert_array_equal(column, [1.0, 8.0])
    np.testing.assert_array_equal(v, [[1.0, 20.0, 30.0], [8.0, 10.0, 12.0]])


def test_items_cannot_be_set():
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(TypeError, match=r"'ResourceVariable' object does not support item assignment"):
        v[0] = 3.0


@in_both
def test_slices_have_gradients(run):
    v = tf.Variable([1.0, 2.0, 3.0])

    def body():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v[1:] * v[:2])
        return tf.convert_to_tensor(tape.gradient(y, v))

    np.testing.assert_array_equal(run(body), [2.0, 4.0, 2.0])


# -- as a value -----------------------------------------------------------------------------------------------------------


def test_equality_is_elementwise():
    v = tf.Variable([1.0, 2.0])
    np.testing.assert_array_equal(v == [1.0, 3.0], [True, False])
    np.testing.assert_array_equal(v != tf.constant([1.0, 3.0]), [False, True])
    assert (v == None) is False  # noqa: E711
    assert (v != None) is True  # noqa: E711
    assert bool(v == tf.constant([1.0, 2.0, 3.0])) is False
    assert bool(v != tf.constant([1.0, 2.0, 3.0])) is True


def test_variables_are_unhashable_but_have_references():
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    with pytest.raises(TypeError, match=r"Variable is unhashable. Instead, use variable.ref\(\) as the key."):
        hash(v)
    table = {v.ref(): "v", w.ref(): "w"}
    assert table[v.ref()] == "v"
    assert v.ref() == v.ref()
    assert v.ref() != w.ref()
    assert v.ref().deref() is v


def test_conversions():
    v = tf.Variable(2.0)
    assert float(v) == 2.0
    assert int(v) == 2
    assert bool(v)
    assert np.asarray(v) == 2.0
    assert list(range(5))[tf.Variable(3)] == 3
    assert [float(x) for x in tf.Variable([1.0, 2.0])] == [1.0, 2.0]
    assert f"{v:.2f}" == "2.00"
    np.testing.assert_array_equal(np.add(tf.Variable([1.0, 2.0]), 1.0), [2.0, 3.0])


@in_both
def test_arithmetic(run):
    v = tf.Variable([3.0, 4.0])

    def body(x):
        return [
            v + x,
            x - v,
            v * 2.0,
            2.0 / v,
            v**2,
            -v,
            abs(v),
            v % 2.0,
            v // 2.0,
        ]

    got = run(body, tf.constant([1.0, 1.0]))
    a = np.array([3.0, 4.0])
    for y, wanted in zip(got, [a + 1, 1 - a, a * 2, 2 / a, a**2, -a, a, a % 2, a // 2], strict=True):
        np.testing.assert_allclose(y, wanted)


def test_no_number_while_tracing():
    v = tf.Variable(1.0)

    @tf.function
    def f():
        with pytest.raises(Exception, match=r"while tracing"):
            v.numpy()
        return v.value()

    assert f().numpy() == 1.0


# -- copies ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
def test_copies_are_variables_of_their_own(how):
    v = tf.Variable([1.0, 2.0], name="weight", trainable=False, shape=[None])
    w = how(v)
    assert w.name == "weight:0"
    assert w.dtype is tf.float32
    assert w.shape.as_list() == [None]
    assert not w.trainable
    w.assign([5.0])
    np.testing.assert_array_equal(v, [1.0, 2.0])
    np.testing.assert_array_equal(w, [5.0])


def test_deep_copies_keep_what_is_shared():
    v = tf.Variable(1.0)
    a, b = copy.deepcopy([v, v])
    assert a is b
    assert a is not v


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("value", [2.0, [[1.0, 2.0]], np.ones((0, 3)), [True, False], [1 + 2j]])
def test_tensors_can_be_copied(how, value):
    x = tf.constant(value)
    y = how(x)
    assert isinstance(y, tf.Tensor)
    assert y.dtype is x.dtype
    np.testing.assert_array_equal(y, x)
    with tf.GradientTape() as tape:
        if x.dtype.is_floating:
            tape.watch(y)
            z = tf.reduce_sum(y * y)
            np.testing.assert_array_equal(tape.gradient(z, y), 2 * np.asarray(value))


def test_bfloat16_tensors_can_be_pickled():
    x = tf.cast(tf.constant([1.5, 2.5]), tf.bfloat16)
    y = pickle.loads(pickle.dumps(x))
    assert y.dtype is tf.bfloat16
    np.testing.assert_array_equal(tf.cast(y, tf.float32), [1.5, 2.5])


def test_a_copied_tensor_is_another_tensor_for_tapes():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = copy.deepcopy(x) * 3.0
    assert tape.gradient(y, x) is None


def test_a_variable_is_a_python_number():
    assert complex(tf.Variable(1.0 - 2.0j)) == 1.0 - 2.0j
    assert (int(tf.Variable(3)), float(tf.Variable(0.5))) == (3, 0.5)


@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
def test_an_update_waits_for_whoever_holds_the_guard(method):
    v = tf.Variable([1.0, 2.0])
    v.assign_add([0.0, 0.0])  # makes the guard
    thread = threading.Thread(target=lambda: getattr(v, method)(tf.constant([5.0, 5.0])))
    with v.guard:
        thread.start()
        thread.join(0.05)
        assert thread.is_alive() and v.numpy().tolist() == [1.0, 2.0]
    thread.join(300)
    assert not thread.is_alive() and v.numpy().tolist() != [1.0, 2.0]
