"""The ops of graphad.ops.random that have inputs other than a generator; the rest is in test_random.py."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphad as tf
from graphad.core.bind import bind
from graphad.ops import array as a
from graphad.ops import random
from graphad.ops.random.candidates import DrawClasses
from graphad.ops.random.index_shuffle import index_shuffle
from tests.support.op_case import OpCase, real

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


CASES = [
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
