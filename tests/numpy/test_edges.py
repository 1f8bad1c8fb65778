"""What NumPy's functions give at their edges: NaN, no element, bools, scalars; at once, under a tape and traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

tnp = tf.numpy
_NAN, _INF = np.nan, np.inf
CALLS: list[tuple[str, Callable[[Any, Any], Any], Any]] = [
    ("argmax of NaN", lambda m, x: m.argmax(x), [1.0, _NAN, _INF, _NAN]),
    ("argmin of NaN", lambda m, x: m.argmin(x), [1.0, _NAN, -_INF]),
    ("argmax along", lambda m, x: m.argmax(x, axis=-1), [[1.0, _NAN], [2.0, 2.0], [_NAN, 5.0]]),
    ("argmin kept", lambda m, x: m.argmin(x, axis=0, keepdims=True), [[1.0, _NAN], [0.0, 2.0]]),
    ("argmax of all, kept", lambda m, x: m.argmax(x, keepdims=True), [[1.0, _NAN], [0.0, 2.0]]),
    ("argmax of bools", lambda m, x: m.argmax(x, axis=1), [[False, True], [False, False]]),
    ("argmax of integers", lambda m, x: m.argmax(x, axis=1), [[3, 7], [2, 2]]),
    ("max of bools from True", lambda m, x: m.max(x, initial=True), [False, False]),
    ("max of no bools", lambda m, x: m.max(x, axis=0, initial=True), np.zeros([0, 2], bool)),
    ("min of bools from False", lambda m, x: m.min(x, axis=0, initial=False), [[True, True], [True, False]]),
    (
        "max of some bools",
        lambda m, x: m.max(x, initial=False, where=np.array([False, True])),
        [True, False],
    ),
    (
        "min of some bools",
        lambda m, x: m.min(x, initial=True, where=np.array([False, True])),
        [False, True],
    ),
    ("norm of no rows", lambda m, x: m.linalg.norm(x, ord=np.inf), np.zeros([0, 3])),
    ("norm of no columns", lambda m, x: m.linalg.matrix_norm(x, ord=1), np.zeros([2, 3, 0])),
    ("edges of nothing", lambda m, x: m.histogram_bin_edges(x, 4), np.zeros([0])),
    ("histogram of nothing", lambda m, x: m.histogram(x, 3)[0], np.zeros([0])),
    ("points of one axis", lambda m, x: m.histogramdd(x, 3)[0], [1.0, 2.0, 4.0]),
    ("convolution with a number", lambda m, x: m.convolve(x, 3.0), [1.0, 2.0]),
]


@pytest.mark.parametrize(("call", "x"), [c[1:] for c in CALLS], ids=[c[0] for c in CALLS])
def test_edges_are_numpys(call: Callable[[Any, Any], Any], x: Any) -> None:
    x = np.asarray(x)
    wanted = call(np, x)
    given = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(given) if x.dtype.kind == "f" else None
        recorded = call(tnp, given)
    for found in (call(tnp, given), recorded, tf.function(lambda x: call(tnp, x))(given)):
        assert found.shape == np.shape(wanted)
        assert found.dtype.as_numpy_dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(found, wanted)
