"""Where CuPy means something else than NumPy, ops on a device give the CPU's values and the CPU's errors all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.devices.library import library

X = np.arange(12.0).reshape(3, 4)
SINGULAR = np.ones((2, 2))
STACK = np.stack([np.eye(2), SINGULAR])
FLOATS = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.1, -0.1, 3.0, 1e10, -1e10, 7.5, np.inf, -np.inf, np.nan], np.float32
)


def there(x: Any) -> Any:
    with tf.device("cuda"):
        return tf.constant(x)


def told(function: Callable[..., Any], of: Callable[[Any], Any]) -> str:
    with pytest.raises(tf.errors.OpError) as found:
        function(of)
    return f"{type(found.value).__name__}: {found.value}"


ERRORS: dict[str, Callable[[Any], Any]] = {
    "gather": lambda of: tf.gather(of(X), of(np.array([0, 5]))),
    "negative": lambda of: tf.gather(of(X), of(np.array([0, -1]))),
    "gather in batches": lambda of: tf.gather(of(X), of(np.array([[0], [1], [9]])), batch_dims=1),
    "gather_nd": lambda of: tf.gather_nd(of(X), of(np.array([[0, 5]]))),
    "scatter": lambda of: tf.scatter_nd(of(np.array([[7]])), of(np.ones((1, 4))), (3, 4)),
    "update": lambda of: tf.tensor_scatter_nd_update(of(X), of(np.array([[7]])), of(np.ones((1, 4)))),
    "variable": lambda of: tf.Variable(of(X)).scatter_nd_update(of(np.array([[9]])), of(np.ones((1, 4)))),
    "embedding": lambda of: tf.nn.embedding_lookup(of(X), of(np.array([5]))),
    "segments": lambda of: tf.math.unsorted_segment_sum(of(X), of(np.array([0, 2, 9])), 4),
    "repeats": lambda of: tf.repeat(of(X), of(np.array([1, -1, 2])), 0),
    "cholesky": lambda of: tf.linalg.cholesky(of(-SINGULAR)),
    "choleskys": lambda of: tf.linalg.cholesky(of(-STACK)),
    "inverse": lambda of: tf.linalg.inv(of(SINGULAR)),
    "inverses": lambda of: tf.linalg.inv(of(STACK)),
    "solve": lambda of: tf.linalg.solve(of(SINGULAR), of(np.ones((2, 1)))),
    "solves": lambda of: tf.linalg.solve(of(STACK), of(np.ones((2, 2, 1)))),
    "division by 0": lambda of: of(np.array([1, 2])) // of(np.array([0, -1])),
    "remainders by 0": lambda of: of(np.array([1, 2])) % of(np.array([0, -1])),
    "power": lambda of: of(np.array([1, 2])) ** of(np.array([-1, 1])),
    "roll": lambda of: tf.roll(of(X), of(np.array([1])), of(np.array([5]))),
    "reverse": lambda of: tf.reverse(of(X), of(np.array([2]))),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_the_cpus(name: str) -> None:
    assert told(ERRORS[name], there) == told(ERRORS[name], tf.constant)


VALUES: dict[str, Callable[[Any], Any]] = {
    "repeated updates": lambda of: tf.tensor_scatter_nd_update(
        of(X), of(np.array([[1], [1]])), of(np.arange(8.0).reshape(2, 4))
    ),
    "repeated sums": lambda of: tf.tensor_scatter_nd_add(of(X), of(np.array([[1], [1]])), of(X[:2])),
    "several nan": lambda of: tf.argmax(of(np.array([1, np.nan, 5, np.nan])), 0),
    "numpy's first nan": lambda of: tf.experimental.numpy.argmax(of(np.array([1, np.nan, 5, np.nan]))),
    "division by -1": lambda of: of(np.array([-(2**63), 2])) // of(np.array([-1, -1])),
    "remainders by -1": lambda of: of(np.array([-(2**63), 2])) % of(np.array([-1, -1])),
    "shifts": lambda of: tf.bitwise.left_shift(of(np.array([1, 2, 3])), of(np.array([70, -1, 2]))),
    "far shifts": lambda of: tf.bitwise.right_shift(of(np.array([-1, 2, 3])), of(np.array([70, -1, 1]))),
    "determinant": lambda of: tf.linalg.slogdet(of(SINGULAR)),
    "determinants": lambda of: tf.linalg.det(of(STACK)),
    "quotients": lambda of: of(FLOATS[:, None]) // of(FLOATS[None]),
    "remainders": lambda of: of(FLOATS[:, None]) % of(FLOATS[None]),
    "bessel_i0e": lambda of: tf.math.bessel_i0e(of(np.array([-1000.0, 0, 3, 50, 50.5, 1e5, np.inf, np.nan]))),
    "bessel_i1e": lambda of: tf.math.bessel_i1e(of(np.array([-1000.0, 0, 3, 50, 50.5, 1e5, np.inf, np.nan]))),
    "bessel_k0e": lambda of: tf.math.special.bessel_k0e(of(np.array([0.5, 3, 50.5, 800, 1e5, np.inf]))),
    "bessel_k1e": lambda of: tf.math.special.bessel_k1e(of(np.array([0.5, 3, 50.5, 800, 1e5, np.inf]))),
    "bessel_k1e in float32": lambda of: tf.math.special.bessel_k1e(of(np.array([0.5, 88, 200], np.float32))),
    "bessel_i0": lambda of: tf.math.special.bessel_i0(of(np.array([712.0, -713.0, 3]))),
    "expint": lambda of: tf.math.special.expint(of(np.array([0.3, 45.0, np.inf, -np.inf]))),
    "positions of the cpu": lambda of: tf.scatter_nd(np.array([[0, 1]]), of(np.ones(1)), (3, 4)),
    "many positions of the cpu": lambda of: tf.scatter_nd([[0, 1], [2, 3], [0, 1]], of(np.ones(3)), (3, 4)),
    "axes": lambda of: tf.roll(tf.reverse(of(X), of(np.array([1]))), of(np.array([1])), of(np.array([0]))),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_are_the_cpus(name: str) -> None:
    found, want = (tf.nest.flatten(VALUES[name](of)) for of in (there, tf.constant))
    for y, z in zip(found, want, strict=True):
        assert y.dtype is z.dtype and y.location == "cuda:0"
        np.testing.assert_allclose(y.numpy(), z.numpy(), rtol=1e-13 if y.dtype is tf.float64 else 1e-6)


FLOAT_PAIRS = [(a, b) for a in FLOATS for b in FLOATS]


@pytest.mark.parametrize("name", ["remainder", "floor_divide"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_quotients_have_numpys_bits(name: str, dtype: Any) -> None:
    numbers = np.random.default_rng(3)
    more = numbers.normal(size=(2, 2000)) * 10.0 ** numbers.integers(-8, 9, (2, 2000))
    a, b = np.concatenate([np.array(FLOAT_PAIRS).T, more], 1).astype(dtype)
    found = getattr(np, name)(there(a).array, there(b).array).host()
    with np.errstate(all="ignore"):
        want = getattr(np, name)(a, b)
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(found, want)
    numbered = ~np.isnan(want)
    assert (np.signbit(found) == np.signbit(want))[numbered].all()
    with np.errstate(all="ignore"):
        number = getattr(np, name)(there(a).array, 3.0).host()
        np.testing.assert_array_equal(number, getattr(np, name)(a, dtype(3)))


@pytest.mark.fake_device
def test_the_fake_device_differs_from_numpy_as_cupy_does() -> None:
    lib, x = library(), there(X).array.held
    at = lib.asarray(np.array([5]))
    np.testing.assert_array_equal(lib.asnumpy(x[at]), X[[2]])
    np.testing.assert_array_equal(lib.asnumpy(lib.take(x, at, 0)), X[[2]])
    y = lib.zeros((2,), np.float64)
    y[lib.asarray(np.array([1, 1, 3]))] = lib.asarray(np.array([1.0, 2.0, 3.0]))
    assert lib.asnumpy(y).tolist() == [0, 1]
    assert lib.asnumpy(lib.power(lib.asarray(np.array([2])), lib.asarray(np.array([-1])))).tolist() == [0]
    assert lib.asnumpy(lib.floor_divide(lib.asarray(np.array([1.0])), lib.asarray(np.array([0.1])))) == [10]


OUTSIDE: dict[str, Callable[[Any], Any]] = {
    "linspace": lambda of: tf.linspace(of(0.0), of(1.0), 5),
    "diagonals": lambda of: tf.linalg.diag(of(X[0]), k=1),
    "resize": lambda of: tf.image.resize(of(np.ones((1, 3, 4, 2), np.float32)), [5, 3]),
    "crop": lambda of: tf.image.crop_and_resize(
        of(np.ones((1, 3, 3, 1), np.float32)), of(np.array([[0, 0, 1, 1]], np.float32)), [0], [2, 2]
    ),
    "colours": lambda of: tf.image.rgb_to_yuv(of(np.ones((2, 3), np.float32))),
    "segments": lambda of: tf.math.segment_mean(of(X), [0, 0, 1]),
    "pseudoinverse": lambda of: tf.linalg.pinv(of(X)),
    "least squares": lambda of: tf.linalg.lstsq(of(X.T), of(np.ones((4, 1))), 0.5),
    "sparse": lambda of: tf.sparse.to_dense(tf.SparseTensor([[0, 1], [1, 0]], of(np.ones(2)), [2, 2])),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_a_function_makes_itself_is_made_where_its_operands_are(name: str) -> None:
    """Without a block of `device`."""
    found, want = OUTSIDE[name](there), OUTSIDE[name](tf.constant)
    assert found.location == "cuda:0" and found.dtype is want.dtype
    np.testing.assert_allclose(found.numpy(), want.numpy(), rtol=1e-6, atol=1e-12)


def test_what_a_program_gives_from_two_places_is_refused() -> None:
    with pytest.raises(ValueError, match=r"operand 0 is on 'cuda:0' and operand 1 on 'cpu:0'"):
        tf.linalg.lstsq(there(X.T), tf.constant(np.ones((4, 1))), 0.5)
    with pytest.raises(ValueError, match=r"on 'cuda:0' and operand 1 on 'cpu:0'"):
        tf.linalg.solve(there(np.eye(2)), tf.constant(np.ones((2, 1))))


@pytest.mark.parametrize("name", ["AUC", "Precision", "TruePositives", "MeanIoU"])
def test_metrics_keep_their_counts_where_they_were_made(name: str) -> None:
    """What they are given is copied there, from a device to the CPU and the other way round."""
    guesses = np.linspace(0, 1, 12, dtype=np.float32)
    labels = (guesses * 7 % 2 > 1).astype(np.float32)
    if name == "MeanIoU":
        guesses, labels = (guesses > 0.4).astype(np.int64), labels.astype(np.int64)

    def metric() -> Any:
        return tf.keras.metrics.MeanIoU(2) if name == "MeanIoU" else getattr(tf.keras.metrics, name)()

    plain, mine = metric(), metric()
    with tf.device("cuda"):
        theirs = metric()
    want = float(plain(labels, guesses))
    assert float(mine(there(labels), there(guesses))) == want
    assert float(theirs(tf.constant(labels), tf.constant(guesses))) == want
    assert {v.location for v in mine.variables} == {"cpu:0"} and {v.location for v in theirs.variables} == {
        "cuda:0"
    }
    with tf.device("cuda"):
        mine.update_state(labels, guesses)
    np.testing.assert_allclose(
        float(mine.result()), float(want) * (2 if name == "TruePositives" else 1), rtol=1e-6
    )
