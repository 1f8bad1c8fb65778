"""What the docstrings of NumPy's ufuncs say of dtypes, which is composed from NumPy's loops, is what the functions do."""

import numpy as np
import pytest

import graphad as tf
from graphad.core.late import places_of

UFUNCS = sorted(
    name for name, (place, _) in places_of("graphad.numpy").items() if place == "graphad.ops.numpy.ufuncs"
)
DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


def _found(function, operands):
    try:
        with np.errstate(all="ignore"):
            return np.dtype(function(*operands).dtype.name)
    except TypeError:
        return TypeError


@pytest.mark.parametrize("name", UFUNCS)
def test_a_ufunc_takes_the_dtypes_that_numpys_takes_and_gives_the_same(name):
    function = getattr(tf.numpy, name)
    ufunc = getattr(np, function.__name__)
    for dtype in DTYPES:
        given = [np.ones(2, dtype)] * ufunc.nin
        assert _found(function, [tf.constant(x) for x in given]) == _found(ufunc, given), dtype
        assert _found(function, given) == _found(ufunc, given), dtype


@pytest.mark.parametrize("name", UFUNCS)
def test_a_ufuncs_docstring_names_what_it_refuses(name):
    function = getattr(tf.numpy, name)
    ufunc = getattr(np, function.__name__)
    refused = [dtype for dtype in DTYPES if _found(ufunc, [np.ones(2, dtype)] * ufunc.nin) is TypeError]
    assert bool(refused) == ("another dtype" in function.__doc__), refused


@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"])
def test_signed_and_unsigned_integers_of_64_bits_are_compared_by_value(name: str) -> None:
    signed = np.array([2**60, -1, 5, 2**63 - 1, -(2**63)])
    unsigned = np.array([2**60 + 1, 2**64 - 1, 5, 2**63, 2**63], np.uint64)
    for x, y in ((signed, unsigned), (unsigned, signed)):
        function = getattr(tf.numpy, name)
        for found in (function(tf.constant(x), tf.constant(y)), tf.function(function)(x, y)):
            np.testing.assert_array_equal(found, getattr(np, name)(x, y))


@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64", "uint64"])
def test_integers_are_compared_with_numbers_that_their_dtype_lacks(name: str, dtype: str) -> None:
    ufunc, function, x = getattr(np, name), getattr(tf.numpy, name), np.array([1, 100], dtype)
    for number in (5, -1, -129, 300, 2**63, 2**70, -(2**70)):
        for by in (ufunc, function, tf.function(function)):
            np.testing.assert_array_equal(by(tf.constant(x), number), ufunc(x, number))
            np.testing.assert_array_equal(by(number, tf.constant(x)), ufunc(number, x))
