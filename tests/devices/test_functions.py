"""Functions that no library of the device has, made of those that it has: at their edges too, and nothing on the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg

import graphad as tf
from graphad.devices import notes
from graphad.devices.array import device_array
from graphad.ops.signal.cosines_and_sines import Dct, Dst

RNG = np.random.default_rng(5)
INF, NAN = np.inf, np.nan


def on_device(function: Any, *xs: Any, host: bool = False) -> Any:
    """The result of a function of tensors on the device."""
    before = dict(notes.runs_on_host)
    with tf.device("cuda"):
        y = function(*[tf.constant(x) for x in xs])
    assert host or notes.runs_on_host == before
    assert y.location == "cuda:0"
    return y.numpy()


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9])
def test_positions_in_sorted_rows_are_those_of_numpy(n: int, right: bool) -> None:
    rows = np.sort(RNG.integers(-3, 4, (3, n)).astype(np.float32), -1)
    if n > 2:
        rows[1, -2:], rows[2, 0] = NAN, -INF
    values = np.array([[-9.0, -3, 0, 2, 3, 9, INF, -INF, NAN]] * 3, np.float32)
    side: Any = "right" if right else "left"
    found = on_device(lambda a, v: tf.searchsorted(a, v, side), rows, values)
    np.testing.assert_array_equal(found, [np.searchsorted(a, v, side) for a, v in zip(rows, values)])


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8])
def test_integers_have_the_powers_of_numpy(dtype: Any) -> None:
    x, y = (z.ravel().astype(dtype) for z in np.meshgrid([0, 1, 2, 3, 7, 100], [0, 1, 2, 5, 31, 70]))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(on_device(tf.pow, x, y), x**y)
    if np.iinfo(dtype).min:
        with pytest.raises(ValueError, match="negative integer powers"):
            on_device(tf.pow, x, -y)


@pytest.mark.parametrize("name", ["divide", "floor_divide"])
def test_what_has_an_order_is_combined_in_it(name: str) -> None:
    ufunc, key = getattr(np, name), RNG.integers(0, 4, 40)
    dtype = np.float32 if name == "divide" else np.int32
    x, y = (
        RNG.integers(1, 3, size).astype(dtype) * (1 if name == "divide" else 1000)
        for size in ((4, 2), (40, 2))
    )
    want, found, before = x.copy(), device_array(x, 0), dict(notes.runs_on_host)
    ufunc.at(want, key, y)
    ufunc.at(found, device_array(key, 0), device_array(y, 0))
    assert notes.runs_on_host == before
    assert found.host().tobytes() == want.tobytes()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ["logaddexp", "maximum", "minimum"])
def test_running_values(name: str, axis: int) -> None:
    x, before = RNG.normal(size=(7, 5)), dict(notes.runs_on_host)
    found = getattr(np, name).accumulate(device_array(x, 0), axis)
    assert notes.runs_on_host == before
    np.testing.assert_allclose(found.host(), getattr(np, name).accumulate(x, axis), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("op", [Dct, Dst])
def test_cosine_and_sine_transforms_are_those_of_scipy(op: Any, n: int, dtype: Any) -> None:
    x, scipys = RNG.normal(size=(3, n)).astype(dtype), getattr(scipy.fft, op.name)
    for kind in (1, 2, 3, 4):
        for norm in (None, "ortho"):
            if op is Dct and kind == 1 and (norm or n < 2):
                continue
            found = op(2, False).by_fourier(device_array(x, 0), kind, norm)
            assert found.dtype == dtype
            np.testing.assert_allclose(
                found.host(), scipys(x, kind, norm=norm), atol=20 * np.finfo(dtype).eps
            )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_exponentials_of_matrices(dtype: Any) -> None:
    x = RNG.normal(size=(5, 4, 4)).astype(dtype) * np.array([1e-9, 0.1, 1.0, 30.0, 0.0]).reshape(
        5, 1, 1
    ).astype(dtype)
    if np.dtype(dtype).kind == "c":
        x = x * (1 + 0.5j)
    want = scipy.linalg.expm(x.astype(np.result_type(dtype, np.float64)))
    found = on_device(tf.linalg.expm, x)
    assert found.dtype == dtype
    size = np.abs(want).max((-2, -1), keepdims=True)
    assert (np.abs(found - want) <= 3e3 * np.finfo(dtype).eps * size).all()
    nothing = np.full((1, 2, 2), NAN, dtype)
    assert np.isnan(on_device(tf.linalg.expm, nothing)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.float32])
def test_roots_and_logarithms_of_hermitian_matrices(dtype: Any) -> None:
    a = RNG.normal(size=(3, 4, 4)) + (1j * RNG.normal(size=(3, 4, 4)) if np.dtype(dtype).kind == "c" else 0)
    x = (a @ np.swapaxes(a.conj(), -1, -2) + np.eye(4)).astype(dtype)
    x = (x + np.swapaxes(x.conj(), -1, -2)) / 2
    tolerance = 1e3 * np.finfo(dtype).eps
    root = on_device(tf.linalg.sqrtm, x)
    np.testing.assert_allclose(root, [scipy.linalg.sqrtm(z) for z in x], atol=tolerance, rtol=tolerance)
    if np.dtype(dtype).kind == "c":
        log = on_device(tf.linalg.logm, x)
        np.testing.assert_allclose(log, [scipy.linalg.logm(z) for z in x], atol=tolerance, rtol=tolerance)
    slopes = {}
    for place in ("cpu", "cuda"):
        with tf.device(place):
            z = tf.constant(x)
            for function in (tf.linalg.sqrtm, tf.linalg.logm)[: 1 + (np.dtype(dtype).kind == "c")]:
                before = dict(notes.runs_on_host)
                with tf.GradientTape() as tape:
                    tape.watch(z)
                    y = function(z)
                slopes[place, function] = tape.gradient(y, z, tf.constant(a.astype(dtype))).numpy()
                assert notes.runs_on_host == before
    for (_, function), g in slopes.items():
        np.testing.assert_allclose(g, slopes["cpu", function], atol=10 * tolerance, rtol=10 * tolerance)


def test_matrices_without_a_real_root_have_nan_and_others_go_to_the_cpu() -> None:
    x = np.array([[[2.0, 0.0], [0.0, -1.0]], [[2.0, 1.0], [1.0, 2.0]]])
    found = on_device(tf.linalg.sqrtm, x)
    assert np.isnan(found[0]).all() and np.isfinite(found[1]).all()
    x = np.array([[1.0, 2.0], [0.0, 3.0]])
    np.testing.assert_allclose(on_device(tf.linalg.sqrtm, x, host=True), scipy.linalg.sqrtm(x), rtol=1e-14)


def test_a_matrix_without_triangular_factors_is_an_error_as_on_the_cpu() -> None:
    for n in (2, 3):
        with pytest.raises(ValueError, match="not invertible"):
            on_device(lambda a: tf.linalg.lu(a)[0], np.ones((n, n)))


def test_permuted_numbers_are_those_of_the_cpu() -> None:
    for most in (0, 1, 9, 1000, 2**40):
        at = np.unique(np.linspace(0, most, 5).astype(np.int64))

        def shuffled(k: Any, most: Any = most) -> Any:
            return tf.random.experimental.index_shuffle(k, [1, 2, 3], tf.constant(most, tf.int64))

        np.testing.assert_array_equal(on_device(shuffled, at), shuffled(tf.constant(at)))
