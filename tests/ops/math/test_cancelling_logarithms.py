"""Logarithms of gamma functions that nearly cancel, and digamma at its root, against mpmath with 50 digits."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

_BETA = [
    ((0.06214592634802775, 78287714.99573535), 1.6159243320675731),
    ((0.001, 100000000.0), 6.888758204644896),
    ((5.0, 12.0), -9.991498429858842),
    ((300.0, 0.5), -2.2791096279296346),
    ((1000000.0, 2000000.0), -1909548.290968533),
]
_DIGAMMA = [
    (1.461778334968797, 0.0001414545442698466),
    (1.4616321449683622, -9.241265521729427e-17),
    (1.462, 0.00035590320380104274),
    (1.5, 0.03648997397857652),
    (1.4, -0.06138454458511624),
]


@pytest.mark.parametrize(("x", "exact"), _BETA)
def test_lbeta_of_small_elements_beside_large_ones_keeps_its_digits(x, exact):
    for order in (x, x[::-1]):
        np.testing.assert_allclose(
            tf.math.lbeta(tf.constant(order, tf.float64)), exact, rtol=0, atol=2e-15 * max(1.0, abs(exact))
        )


@pytest.mark.parametrize(("x", "exact"), _DIGAMMA)
def test_digamma_keeps_its_digits_at_its_root(x, exact):
    np.testing.assert_allclose(tf.math.digamma(tf.constant(x, tf.float64)), exact, rtol=4e-15)


@pytest.mark.parametrize("x", [(12.0, 3.0), (0.25, 40.0), (12.0, 13.0), (2.0, 3.0)])
def test_lbeta_has_the_slopes_of_its_definition(x):
    def by_definition(x):
        return tf.reduce_sum(tf.math.lgamma(x)) - tf.math.lgamma(tf.reduce_sum(x))

    at = tf.constant(x, tf.float64)
    for ways in (tf.grad, tf.hessian):
        np.testing.assert_allclose(ways(tf.math.lbeta)(at), ways(by_definition)(at), rtol=1e-11, atol=1e-13)


def test_lbeta_of_rows_with_and_without_cancelling():
    x = tf.constant([[2.0, 3.0], [12.0, 0.5], [-0.5, 20.0], [np.inf, 1.0], [np.nan, 20.0]], tf.float64)
    plain = tf.math.lgamma(x)[:, 0] + tf.math.lgamma(x)[:, 1] - tf.math.lgamma(x[:, 0] + x[:, 1])
    np.testing.assert_allclose(tf.math.lbeta(x), plain, rtol=1e-14)
    np.testing.assert_array_equal(
        np.isfinite(tf.grad(lambda x: tf.reduce_sum(tf.math.lbeta(x)))(x))[:3], True
    )
