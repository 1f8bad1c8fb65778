"""What a CUDA device does itself: the same values as the CPU, the same bits each time, in plans, and how fast."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.plan.executable import executable_of
from tests.compiler.test_backend import CASES

pytestmark = pytest.mark.cuda


def there(x: Any) -> Any:
    with tf.device("cuda"):
        return tf.constant(x)


@pytest.mark.parametrize("name", CASES)
def test_plans_give_what_the_cpu_gives_and_the_same_bits_each_time(name: str) -> None:
    function, values = CASES[name]
    f = tf.function(lambda *xs: function(*xs), jit_compile=True)
    want = tf.nest.flatten(f(*map(tf.constant, values)))
    given = [there(x) for x in values]
    first = [y.numpy() for y in tf.nest.flatten(f(*given))]
    for y, z in zip(first, want, strict=True):
        np.testing.assert_allclose(y, z.numpy(), rtol=2e-5, atol=1e-5)
    (concrete,) = [f.get_concrete_function(*given)]
    assert any(sizes.bound for sizes in executable_of(concrete.graph, "cuda:0")._sizes.values())
    for _ in range(20):
        for y, z in zip(tf.nest.flatten(f(*given)), first, strict=True):
            assert y.numpy().tobytes() == z.tobytes()


@pytest.mark.parametrize("shape", [(10_000_001,), (5000, 3001), (300_000, 7), (3, 2_000_000)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_reductions_of_many_elements(shape: tuple[int, ...], axis: int | None) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    f = tf.function(lambda x: (tf.reduce_sum(x, axis), tf.reduce_max(x, axis)), jit_compile=True)
    total, most = f(there(x))
    np.testing.assert_allclose(total.numpy(), x.sum(axis, dtype=np.float64), rtol=1e-5, atol=1e-2)
    np.testing.assert_array_equal(most.numpy(), x.max(axis))


def test_positions_of_64_bits() -> None:
    with tf.device("cuda"):
        x = tf.ones([1 << 31], tf.int8)
        f = tf.function(lambda x: tf.reduce_sum(tf.cast(x + x, tf.int64)), jit_compile=True)
        assert int(f(x)) == 1 << 32


def test_the_bars_of_the_benchmark() -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "cuda.py"
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    missed = [line for line in done.stdout.splitlines() if line.endswith("does not hold")]
    assert not missed, "\n" + "\n".join(missed)
