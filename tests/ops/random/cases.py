"""The ops of graphad.ops.random that have inputs other than a generator; the rest is in test_random.py."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np

import graphad as tf
from graphad.core.bind import bind
from graphad.ops import array as a
from graphad.ops import random
from graphad.ops.random.candidates import DrawClasses
from graphad.ops.random.draw import SplitKey
from graphad.ops.random.gammas import DrawGamma, GammaSlope
from graphad.ops.random.index_shuffle import index_shuffle
from graphad.ops.random.samples import DrawCounts
from tests.support.op_case import OpCase, positive, real

SEED = np.array([3, 5], np.int64)


def normal_like(x: Any, seed: Any) -> Any:
    return random.stateless_normal(a.shape(x), seed, dtype=x.dtype)


def scaled(seed: Any, mean: Any, stddev: Any) -> Any:
    return random.stateless_normal([2, 3], seed, mean, stddev, dtype=mean.dtype)


def between(seed: Any, low: Any, high: Any) -> Any:
    return random.stateless_uniform([2, 3], seed, low, high, dtype=low.dtype)


def numbers(seed: Any) -> Any:
    return random.stateless_uniform([4], seed, 0, 10, dtype="int32")


def within(seed: Any) -> Any:
    return random.stateless_truncated_normal([50], seed)


def unique_classes(seed: Any) -> Any:
    return bind(DrawClasses("log_uniform", 5, 9, True), seed)


def classes(seed: Any) -> Any:
    return bind(DrawClasses("uniform", 5, 3, False), seed)


def weighted_classes(seed: Any, weights: Any) -> Any:
    return bind(DrawClasses("weights", 2, 3, True), seed, weights)


def keys(seed: Any) -> Any:
    return random.split(seed, 3)


def shuffled(k: Any) -> Any:
    return index_shuffle(k, tf.constant([3, 4, 5], tf.uint32), tf.constant(9))


def source_of(seed: Any) -> Any:
    """NumPy's generator of the stream that a seed of two integers stands for."""
    return np.random.Generator(np.random.Philox(key=np.asarray(seed).view(np.uint64)))


ALPHA, RATE = np.array([0.5, 3.0, 40.0]), np.array([0.0, 2.0, 50.0])


def gammas(seed: Any, alpha: Any) -> Any:
    return bind(DrawGamma((2, 3)), seed, tf.stop_gradient(alpha))  # no differences of samples are derivatives


def gammas_float32(seed: Any) -> Any:
    return bind(DrawGamma((2, 3)), seed, tf.constant(ALPHA, tf.float32))


def poissons(seed: Any, rate: Any) -> Any:
    return bind(DrawCounts((2, 3), "poisson", tf.int32), seed, rate)


def binomials(seed: Any, count: Any, probability: Any) -> Any:
    return bind(DrawCounts((2, 3), "binomial", tf.float64), seed, count, probability)


def gamma_slope(alpha: Any, y: Any) -> Any:
    return bind(GammaSlope(), alpha, y)


def _gamma_slope(alpha: Any, y: Any) -> Any:
    """-(dP / d alpha) / p by numerical differentiation with many digits."""

    def slope(a: Any, x: Any) -> float:
        with mpmath.workdps(40):
            a, x = mpmath.mpf(float(a)), mpmath.mpf(float(x))
            by_a = mpmath.diff(lambda a: mpmath.gammainc(a, 0, x, regularized=True), a)
            return float(-by_a * mpmath.gamma(a) * mpmath.exp(x) * x ** (1 - a))

    return np.vectorize(slope)(alpha, y)


def split_key(seed: Any) -> Any:
    return bind(SplitKey(3), seed)


def _split_key(seed: Any) -> Any:
    """Two words each of the streams that turns 64 on lead to."""
    turns = [np.array([(64 + k) << 32, -65 - k]) for k in range(3)]
    return [
        np.random.Philox(key=(seed ^ turn).view(np.uint64)).random_raw(2).view(np.int64) for turn in turns
    ]


def uniform_float32(seed: Any) -> Any:
    return random.stateless_uniform([5], seed)


def _uniform_float32(seed: Any) -> Any:
    """The upper 24 bits of words of 32 bits, the lower half of each word of 64 bits first."""
    words = np.random.Philox(key=np.asarray(seed).view(np.uint64)).random_raw(3)
    halves = np.stack([words & np.uint64(2**32 - 1), words >> np.uint64(32)], 1).ravel()[:5]
    return (halves >> np.uint64(8)).astype(np.float32) / np.float32(2**24)


CASES = [
    OpCase(
        gammas,
        SEED,
        ALPHA,
        order=0,
        float32=False,
        expected=lambda k, a: source_of(k).standard_gamma(a, (2, 3)),
    ),
    OpCase(
        poissons,
        SEED,
        RATE,
        order=0,
        expected=lambda k, rate: source_of(k).poisson(rate, (2, 3)).astype(np.int32),
    ),
    OpCase(
        binomials,
        SEED,
        np.array([3.0, 9.0, 0.0]),
        np.float64(0.25),
        order=0,
        float32=False,
        expected=lambda k, n, p: source_of(k).binomial(n.astype(int), p, (2, 3)).astype(np.float64),
    ),
    OpCase(
        gammas_float32, SEED, expected=lambda k: source_of(k).standard_gamma(ALPHA, (2, 3)).astype(np.float32)
    ),
    OpCase(gamma_slope, positive(2, 3), positive(2, 3, seed=1), expected=_gamma_slope),
    OpCase(split_key, SEED, expected=lambda seed: np.stack(_split_key(seed))),
    OpCase(uniform_float32, SEED, expected=_uniform_float32),
    OpCase(keys, SEED),
    OpCase(shuffled, np.int32(4)),
    OpCase(unique_classes, SEED),
    OpCase(classes, SEED),
    OpCase(weighted_classes, SEED, np.array([0.5, 0.0, 2.0]), order=0),
    OpCase(normal_like, real(2, 3), SEED, order=0, float32=False),
    OpCase(scaled, SEED, np.float64(1.0), np.float64(2.0), float32=False),
    OpCase(between, SEED, np.float64(1.0), np.float64(2.0), float32=False),
    OpCase(numbers, SEED),
    OpCase(within, SEED),
]
