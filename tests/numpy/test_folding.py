"""Methods of NumPy's ufuncs on tensors: values, dtypes and derivatives, and what stays as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

X = np.random.default_rng(0).uniform(0.5, 2.0, (3, 4))
N = np.random.default_rng(1).integers(1, 30, (3, 4))
UFUNCS = [
    *(
        np.add,
        np.subtract,
        np.multiply,
        np.divide,
        np.maximum,
        np.minimum,
        np.fmax,
        np.fmin,
        np.hypot,
        np.logaddexp,
    ),
    *(
        np.logical_and,
        np.logical_or,
        np.logical_xor,
        np.gcd,
        np.lcm,
        np.bitwise_or,
        np.bitwise_xor,
    ),
]
OF_INTEGERS = (np.gcd, np.lcm, np.bitwise_or, np.bitwise_xor)


def _agree(call: Any, x: np.ndarray) -> None:
    wanted = call(x)
    for found in (call(tf.constant(x)), tf.function(call)(tf.constant(x))):
        assert isinstance(found, tf.Tensor)
        assert found.dtype.as_numpy_dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_methods_of_ufuncs_give_what_they_give_for_arrays(ufunc: Any) -> None:
    x = N if ufunc in OF_INTEGERS else X
    _agree(lambda x: ufunc.reduce(x), x)
    _agree(lambda x: ufunc.reduce(x, axis=1, keepdims=True), x)
    if ufunc not in (np.subtract, np.divide, np.lcm):
        _agree(lambda x: ufunc.reduce(x, axis=None), x)
        _agree(lambda x: ufunc.reduce(x, axis=(0, 1)), x)
    _agree(lambda x: ufunc.accumulate(x), x)
    _agree(lambda x: ufunc.accumulate(x, axis=-1), x)
    _agree(lambda x: ufunc.reduceat(x, [0, 2, 1]), x)
    _agree(lambda x: ufunc.reduceat(x, [1, 3], axis=1), x)
    _agree(lambda x: ufunc.outer(x, x[0]), x)


def test_options_of_reductions_are_numpys() -> None:
    mask = X > 1.0
    _agree(lambda x: np.maximum.reduce(x, axis=None, initial=0.0, where=mask), X)
    _agree(lambda x: np.maximum.reduce(x, dtype=np.float32), X)
    _agree(lambda x: np.add.reduce(x, axis=None, dtype=np.float32, initial=2.0, keepdims=True), X)
    _agree(lambda x: np.logaddexp.reduce(x, axis=1, initial=0.5, where=mask), X)
    _agree(lambda x: np.subtract.reduce(x, axis=1, initial=0.5), X)


@pytest.mark.parametrize("name", ["maximum", "hypot", "divide", "logaddexp"])
def test_folds_have_derivatives(name: str) -> None:
    ufunc = getattr(np, name)
    for call in (
        lambda x: ufunc.reduce(x, axis=1),
        lambda x: ufunc.accumulate(x, axis=0),
        lambda x: ufunc.reduceat(x, [0, 2], axis=1),
    ):
        theirs, ours = tf.test.compute_gradient(call, [tf.constant(X)])
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4, atol=1e-6)


def test_a_tensor_is_not_written_into_by_at() -> None:
    for x in (tf.constant([1.0, 1.0]), tf.Variable([1.0, 1.0])):
        with pytest.raises(TypeError, match=r"np\.add\.at: tensors are immutable"):
            np.add.at(x, [0], 1.0)
        np.testing.assert_array_equal(x, [1.0, 1.0])
    array = np.zeros(2)
    np.add.at(array, [0, 0], tf.constant(1.0))
    np.testing.assert_array_equal(array, [2.0, 0.0])
