"""Tensors: printing, conversion of Python values, strict dtypes, shapes, equality."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from tests.support.both import in_both


def test_repr_str_and_format():
    t = tf.constant(1.0)
    assert repr(t) == "<tf.Tensor: shape=(), dtype=float32, numpy=1.0>"
    assert str(t) == "tf.Tensor(1.0, shape=(), dtype=float32)"
    tenth = tf.constant(0.1)
    assert (str(tenth), f"{tenth}") == ("tf.Tensor(0.1, shape=(), dtype=float32)", "0.1")
    assert f"{t}" == "1.0"
    assert f"{tf.constant(3.14159):.2f}" == "3.14"
    assert (
        repr(tf.constant([1, 2])) == "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>"
    )
    assert str(tf.constant([1, 2])) == "tf.Tensor([1 2], shape=(2,), dtype=int32)"


@in_both
def test_dtypes_are_not_mixed(run):
    a, b, c = tf.constant(1), tf.constant(1.0), tf.constant(1.0, tf.float64)
    for x, y in ((a, b), (b, c), (c, b)):
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"cannot compute add.* as input #1\(zero-based\) was expected",
        ):
            run(lambda x, y: x + y, x, y)
    text = "was expected to be a int32 tensor but is a float"
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(lambda x, y: x + y, a, b)


@in_both
def test_python_and_numpy_scalars_adopt_the_dtype(run):
    half = tf.constant([1.0, 2.0], tf.float16)
    assert run(lambda x: x + 1, half).dtype is tf.float16
    assert run(lambda x: 2.5 * x, half).dtype is tf.float16
    for x in (tf.constant(3.0), tf.constant([3.0])):
        assert run(lambda x: np.float64(2.0) * x, x).dtype is tf.float32
        assert run(lambda x: x * np.float64(2.0), x).dtype is tf.float32
    with pytest.raises(TypeError, match=r"Cannot convert 1.5 to EagerTensor of dtype int32"):
        run(lambda x: x + 1.5, tf.constant(1))


@in_both
def test_shapes_that_do_not_broadcast_are_refused(run):
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"Incompatible shapes: .?2,?.? (vs.|and) .?3,?.?"
    ):
        run(lambda x, y: x + y, tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0, 3.0]))


def test_constant():
    np.testing.assert_array_equal(tf.constant(3.0, shape=[2, 2]), np.full((2, 2), 3.0))
    np.testing.assert_array_equal(tf.constant([1, 2, 3, 4], shape=(2, 2)), [[1, 2], [3, 4]])
    assert tf.constant(2**40).dtype is tf.int64
    assert tf.constant([1, 2**40]).dtype is tf.int64
    assert tf.constant([1.5, 2]).dtype is tf.float32
    assert tf.constant(True).dtype is tf.bool
    assert tf.constant(np.float64(1)).dtype is tf.float64
    assert tf.constant([]).dtype is tf.float32
    for dtype in (tf.int32, tf.int64, tf.bool, tf.uint8, tf.float64, tf.complex64):
        for nothing in ([], (), [[], []], np.zeros([0, 2]), np.zeros([0], np.complex128)):
            made = tf.constant(nothing, dtype)
            assert (made.dtype, made.shape) == (dtype, np.shape(nothing))
    assert tf.concat([tf.constant([1, 2]), []], 0).dtype is tf.int32
    for value, options, kind, text in (
        ([1, 2, 3], {"shape": [2]}, TypeError, "Eager execution of tf.constant with unsupported shape"),
        (1.5, {"dtype": tf.int32}, TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
        ([[1], [1, 2]], {}, ValueError, "Can't convert non-rectangular Python sequence to Tensor"),
        ([True, 1], {}, ValueError, "Can't convert Python sequence with mixed types to Tensor"),
        (None, {}, ValueError, r"Attempt to convert a value \(None\) with an unsupported type"),
        (object(), {}, ValueError, "with an unsupported type"),
    ):
        with pytest.raises(kind, match=text):
            tf.constant(value, **options)


def test_shapes_of_tensors():
    shape = tf.zeros([7, 6, 5]).shape
    assert shape == [7, 6, 5]
    assert shape == (7, 6, 5)
    assert shape[1] == 6
    assert type(shape[1]) is int
    assert isinstance(shape[1:], tf.TensorShape)
    assert shape[1:] == [6, 5]
    assert str(shape) == "(7, 6, 5)"
    assert repr(shape) == "TensorShape([7, 6, 5])"
    assert str(tf.zeros([201]).shape) == "(201,)"
    assert tf.TensorShape([None, 2])[0] is None
    assert shape.rank == len(shape) == 3


def test_scalars_have_no_length_and_no_items():
    with pytest.raises(TypeError, match=r"Scalar tensor has no `len\(\)`"):
        len(tf.constant(1.0))
    with pytest.raises(TypeError, match=r"Cannot iterate over a scalar tensor"):
        iter(tf.constant(1.0))
    assert len(tf.constant([1.0, 2.0])) == 2
    assert [float(x) for x in tf.constant([1.0, 2.0])] == [1.0, 2.0]


def test_equality():
    x = tf.constant([1.0, 2.0])
    np.testing.assert_array_equal(x == [1.0, 3.0], [True, False])
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert bool(x == tf.constant([1.0, 2.0, 3.0])) is False
    assert bool(x != tf.constant([1.0, 2.0, 3.0])) is True


def test_tensors_are_unhashable_and_immutable():
    x = tf.constant([1.0, 2.0])
    with pytest.raises(TypeError, match=r"Tensor is unhashable. Instead, use tensor.ref\(\) as the key."):
        hash(x)
    assert x.ref().deref() is x
    with pytest.raises(TypeError, match=r"does not support item assignment"):
        x[0] = 3.0
    array = np.asarray(x)
    with pytest.raises(ValueError, match=r"read-only"):
        array[0] = 3.0
    copied = x.numpy()
    copied[0] = 9.0
    np.testing.assert_array_equal(x, [1.0, 2.0])


def test_a_tensor_does_not_share_the_array_it_was_made_from():
    array = np.ones(3)
    x = tf.constant(array)
    y = tf.convert_to_tensor(array)
    array[0] = 5.0
    np.testing.assert_array_equal(x, [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(y, [1.0, 1.0, 1.0])


def test_python_protocols():
    x = tf.constant(2.0)
    assert (float(x), int(x), bool(x), complex(x)) == (2.0, 2, True, 2 + 0j)
    assert list(range(5))[tf.constant(3)] == 3
    assert x.item() == 2.0
    assert tf.constant([1, 2]).tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"ambiguous"):
        bool(tf.constant([1.0, 2.0]))


@pytest.mark.parametrize("scalar", [3.0, [3.0], [4.0, 3.0]])
@in_both
def test_clip_by_norm(run, scalar):
    x = np.asarray(scalar, np.float32)
    norm = np.sqrt((x * x).sum())
    np.testing.assert_allclose(
        run(lambda t: tf.clip_by_norm(t, 0.5), tf.constant(x)), x * 0.5 / norm, rtol=1e-6
    )
    np.testing.assert_array_equal(run(lambda t: tf.clip_by_norm(t, 100.0), tf.constant(x)), x)


def test_clip_by_norm_of_four_and_of_zeros():
    assert tf.clip_by_norm(tf.constant(4.0), 0.5).numpy() == 0.5
    np.testing.assert_array_equal(tf.clip_by_norm(tf.zeros([3]), 0.5), np.zeros(3))


@pytest.mark.parametrize(
    "limit", [-1.0, np.float32(-1.0), tf.constant(-1.0)], ids=["number", "numpy", "tensor"]
)
@pytest.mark.parametrize("axes", [None, 0])
@in_both
def test_clip_by_norm_counts_a_negative_norm_as_zero(run, limit, axes):
    np.testing.assert_array_equal(
        run(lambda t: tf.clip_by_norm(t, limit, axes), tf.constant([3.0, 4.0])), [0.0, 0.0]
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: bool(tf.constant([1.0, 2.0])),
            r"ambiguous: this tensor has shape \(2,\); ask tf.reduce_any",
        ),
        (lambda: bool(tf.zeros([0])), r"with no element is ambiguous: this tensor has shape \(0,\)"),
        (
            lambda: tf.exp(None),
            r"value \(None\) with an unsupported type .* None is often a gradient",
        ),
        (lambda: tf.constant({"a": 1}), r"unsupported type .* Pass its values one by one"),
        (
            lambda: tf.constant([1, 2]) + 0.5,
            r"Cannot convert 0.5 to EagerTensor of dtype int32: a number with .* tf.cast",
        ),
        (lambda: tf.constant(1, tf.bool), r"Cannot convert 1 to EagerTensor of dtype bool: an integer"),
        (
            lambda: tf.Variable(),
            r"`initial_value` .* must be specified: a number, an array, a tensor, or a function",
        ),
        (lambda: tf.function(lambda x: x, jit_compile="x"), r"jit_compile='x'; use True, False or None"),
    ],
)
def test_messages_say_what_is_allowed_and_what_to_try(call, message) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()
