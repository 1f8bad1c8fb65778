"""`r_`, `c_`, `mgrid` and `ogrid`."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
import graphad.numpy as gnp

A, B = np.arange(3.0), np.arange(6.0).reshape(2, 3)
KEYS = {
    "vectors": (A, A),
    "numbers between": (A, 0, A),
    "slices": (slice(1, 5), 3),
    "points": slice(0, 1, 5j),
    "one vector": A,
    "lists": ([1, 2], [3, 4]),
    "numbers": (1, 2),
    "an integer and a float": (1.0, 2),
    "float32 and a number": (A.astype("f4"), 1.5),
    "integers and a float": (np.array([1, 2]), 1.5),
    "slice and vector": (slice(1, 4), A),
    "matrices": (B, B),
}
ONLY_ROWS = {
    "numbers between",
    "slices",
    "float32 and a number",
    "integers and a float",
}  # as columns they do not fit
STRINGS = {
    "-1": (B, B),
    "0,2": (A, A),
    "0,2,0": (A, A),
    "1,2,0": (A, A),
    "0,3,1": (B, B),
    "0,1,-1": (A,),
    "0,2,1": (A, A),
}


def tensors(key):
    if isinstance(key, tuple):
        return tuple([tensors(part) for part in key])
    return tf.constant(key) if isinstance(key, np.ndarray) else key


def assert_same(found, expected):
    assert found.dtype.as_numpy_dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected, strict=True)


@pytest.mark.parametrize("name", KEYS)
def test_parts_are_joined_as_numpy_joins_them(name):
    key = KEYS[name]
    assert_same(gnp.r_[tensors(key)], np.r_[key])
    if name not in ONLY_ROWS:
        assert_same(gnp.c_[tensors(key)], np.c_[key])


@pytest.mark.parametrize("text", STRINGS)
def test_a_string_gives_axis_rank_and_place(text):
    assert_same(gnp.r_[(text, *tensors(STRINGS[text]))], np.r_[(text, *STRINGS[text])])
    if text not in ("-1", "0,1,-1"):
        assert_same(gnp.c_[(text, *tensors(STRINGS[text]))], np.c_[(text, *STRINGS[text])])


def test_other_strings_are_refused():
    with pytest.raises(ValueError, match="r_: 'r' asks for a matrix"):
        gnp.r_["r", A]
    with pytest.raises(ValueError, match="r_: '0,1,2,3' has 4 numbers"):
        gnp.r_["0,1,2,3", A]


def test_they_are_differentiated_and_traced_with_unknown_sizes():
    slopes = tf.grad(lambda z: gnp.sum(gnp.r_[z, 0.0, z] ** 2))(tf.constant(A))
    np.testing.assert_array_equal(slopes, 4 * A)
    joined = tf.function(lambda z: gnp.c_[z, z], input_signature=[tf.TensorSpec([None], tf.float64)])
    assert_same(joined(A), np.c_[A, A])


def test_grids():
    assert_same(gnp.mgrid[0:3, 0:2], np.mgrid[0:3, 0:2])
    assert_same(gnp.mgrid[0:1:3j], np.mgrid[0:1:3j])
    for found, expected in zip(gnp.ogrid[0:2, 0:3], np.ogrid[0:2, 0:3], strict=True):
        assert_same(found, expected)


@pytest.mark.parametrize("x, y", [(0.3, 0.3), (-1.0, 2.0), (2.0, -1.0)])
def test_logaddexp2_has_no_kink_at_equal_operands(x, y):
    share = 1 / (1 + 2.0 ** (y - x))
    curve = np.log(2) * share * (1 - share)
    found = tf.hessian(lambda z: gnp.logaddexp2(z[0], z[1]))(np.array([x, y]))
    np.testing.assert_allclose(found, [[curve, -curve], [-curve, curve]], rtol=1e-12)
