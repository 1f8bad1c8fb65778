"""`explain` says of each step in Python why it is one, and the user's line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.tools.explain import explain

X = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
V = tf.Variable(X)


PROGRAMS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "counts": (
        lambda x, n: tf.unique_with_counts(x[:n, 0])[0] * 2,
        "a result has shape (None,), of which only",
    ),
    "factors": (
        lambda x, n: tf.gradients(tf.linalg.qr(x[:n])[1], x)[0],
        "a result has shape (None, 4), of which only",
    ),
    "python": (
        lambda x, n: tf.ensure_shape(tf.py_function(lambda y: y * 2, [x], tf.float32), [6, 4]) * 3,
        "a result has shape <unknown>, of which only",
    ),
    "lists": (lambda x, n: tf.linalg.eig(x[:4])[0], ""),
    "strings of numbers": (lambda x, n: tf.signal.fft(tf.cast(x, tf.complex64)) * 2, ""),
    "variables": (lambda x, n: V.assign_add(x) * 2, ""),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_step_in_python_has_a_reason_and_a_line(name: str) -> None:
    f, words = PROGRAMS[name]
    text = explain(tf.function(f, jit_compile=True))(tf.constant(X), tf.constant(2)).units.splitlines()
    steps = [k for k, line in enumerate(text) if re.match(r" *\d+  host", line)]
    assert steps or not words
    for k in steps:
        found = re.fullmatch(r" +as a NumPy call: (.+) \((.+):\d+ in .+\)", text[k + 1])
        assert found and found[2].endswith("test_reasons.py"), text[k : k + 2]
    assert not words or words in text[steps[0] + 1]


def test_the_reason_why_sizes_that_runs_find_are_in_no_plan() -> None:
    """Beside steps that have native code, and where the largest sizes need more memory than there is."""
    f = tf.function(lambda x: tf.unique_with_counts(x[x[:, 0] > 0, 0])[2], jit_compile=True)
    found = explain(f)(tf.constant(X)).tier
    assert "sizes that only the run finds are not part of it: plan: an array comes before what" in found
    wide = np.zeros(200_000, np.float32)
    g = tf.function(lambda x, n: x[:n, None] * x[:n], jit_compile=True)
    found = explain(g)(tf.constant(wide), tf.constant(2)).tier
    assert "the largest sizes that its runs may find need 16000" in found
