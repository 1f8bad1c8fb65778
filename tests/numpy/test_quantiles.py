"""Quantiles are NumPy's for all of its methods and dtypes, with weights, eagerly and in functions of unknown sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
import graphad.numpy as tnp

_METHODS = (
    "linear lower higher midpoint nearest inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf "
    "hazen weibull median_unbiased normal_unbiased"
).split()
_FRACTIONS = [0.0, 0.1, 0.25, 0.5, 0.7, 1.0]


def _samples(count: int, dtype: str) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 9, (3, count)).astype(dtype)


@pytest.mark.parametrize("method", _METHODS)
def test_quantiles_are_numpys_by_every_method(method: str) -> None:
    for count in (1, 2, 5, 8):
        for dtype in ("float64", "int8"):
            x = _samples(count, dtype)
            for axis in (None, 1):
                wanted = np.quantile(x, _FRACTIONS, axis, method=method)
                found = tnp.quantile(x, _FRACTIONS, axis, method=method).numpy()
                assert found.dtype == wanted.dtype
                np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("method", ["inverted_cdf", "averaged_inverted_cdf", "closest_observation"])
def test_quantiles_by_counts_are_the_same_in_functions_and_pass_over_nan(method: str) -> None:
    x = _samples(7, "float64")
    x[1, 2] = np.nan

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64)])
    def of_rows(x: Any) -> Any:
        return tnp.nanquantile(x, _FRACTIONS, 1, method=method)

    wanted = np.nanquantile(x, _FRACTIONS, 1, method=method)
    np.testing.assert_array_equal(tnp.nanquantile(x, _FRACTIONS, 1, method=method), wanted)
    np.testing.assert_array_equal(of_rows(x), wanted)


@pytest.mark.parametrize("method", ["linear", "lower", "hazen", "inverted_cdf"])
def test_places_among_many_numbers_of_two_bytes_are_exact(method: str) -> None:
    x = (np.arange(70000) // 64).astype(np.float16)
    wanted = np.quantile(x.astype(np.float64), [0.25, 0.5], method=method)
    np.testing.assert_array_equal(tnp.quantile(x, [0.25, 0.5], method=method), wanted.astype(np.float16))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_weights_say_how_much_an_element_counts(dtype: str) -> None:
    x, weights = _samples(6, dtype), _samples(6, "float64")[::-1] % 3
    weights[:, -1] = 1.0

    @tf.function(input_signature=[tf.TensorSpec([None, None], dtype), tf.TensorSpec(None, tf.float64)])
    def of_rows(x: Any, w: Any) -> Any:
        return tnp.percentile(x, [0, 30, 100], 1, method="inverted_cdf", weights=tf.ensure_shape(w, [3, 6]))

    for axis, w in ((None, weights), (1, weights), (1, weights[0]), (0, weights[:, 5])):
        for q in (0, 30, 100):
            wanted = np.percentile(x, q, axis, method="inverted_cdf", weights=w)
            found = tnp.percentile(x, q, axis, method="inverted_cdf", weights=w).numpy()
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
    wanted = tnp.percentile(x, [0, 30, 100], 1, method="inverted_cdf", weights=weights)
    np.testing.assert_array_equal(of_rows(x, weights), wanted)


def test_a_weighted_quantile_has_the_derivative_of_the_element_that_it_is() -> None:
    x = tf.constant([3.0, 1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tnp.quantile(x, 0.5, method="inverted_cdf", weights=[1.0, 5.0, 1.0])
    assert tape.gradient(y, x).numpy().tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"q": 1.5}, "q is 1.5; it must be from 0 to 1"),
        ({"q": np.nan}, "q is nan"),
        ({"q": 0.5, "weights": [1.0, 1.0]}, "weights need the method 'inverted_cdf', not 'linear'"),
        ({"q": 0.5, "weights": [-1.0, 2.0], "method": "inverted_cdf"}, "must not be negative"),
        ({"q": 0.5, "weights": [0.0, 0.0], "method": "inverted_cdf"}, "not all 0"),
        ({"q": 0.5, "method": "cubic"}, "'cubic' is not supported"),
    ],
)
def test_what_is_no_quantile_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tnp.quantile([1.0, 2.0], **options)
    with pytest.raises(ValueError), np.errstate(all="ignore"):
        np.quantile([1.0, 2.0], **options)


def test_percents_are_refused_in_percents() -> None:
    with pytest.raises(ValueError, match=r"percentile: q is 101\.0; it must be from 0 to 100"):
        tnp.percentile([1.0], 101)


@pytest.mark.parametrize("name", ["median", "nanmedian"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_mean_of_two_middle_elements_keeps_its_digits(name, dtype):
    rng = np.random.default_rng(0)
    near = (1 + 1e-3 * rng.random((40, 1))).astype(dtype)
    x = np.concatenate([near, -near[::-1], near + near, -3 * near], 1)
    found = getattr(tnp, name)(tnp.asarray(x), axis=1)
    assert found.numpy().tobytes() == getattr(np, name)(x, axis=1).tobytes()
    largest = np.full(2, np.finfo(dtype).max)
    assert getattr(tnp, name)(tnp.asarray(largest)).numpy() == largest[0]
