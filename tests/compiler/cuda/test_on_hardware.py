"""What a CUDA device does itself: the same values as the CPU, the same bits each time, in plans, and how fast.

On a machine with a GPU, `pip install -e .[cuda,dev]` and `pytest -m cuda` are all that is needed; `docs/devices.md` has others.
What fails there says which case, or which bar of the benchmark, of which `python tests/benchmarks/gpu.py` prints all rows.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.plan.executable import executable_of
from graphad.core.tensor import EagerTensor
from graphad.devices.transfer import moved
from tests.compiler.test_backend import CASES
from tests.devices.test_indexed import CASES as INDEXED
from tests.support.case_tables import all_cases

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
    path = Path(__file__).parents[2] / "benchmarks" / "gpu.py"
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    missed = [line for line in done.stdout.splitlines() if line.endswith("does not hold")]
    assert not missed, "\n" + "\n".join(missed)


def test_every_op_gives_what_it_gives_on_the_cpu() -> None:
    """All cases of all ops with their gradients; the list of those that differ is the message."""
    wrong = []
    for family, number, case in all_cases():
        bars = case.cotangents() if case.order and case.sources else []
        has_bars = any(bar is not None for bar in bars)
        values, slopes = case.values(), case.gradient_values(case.arrays, bars) if has_bars else []
        try:
            with tf.device("cuda"):
                given = [moved(EagerTensor(x), "cuda:0") for x in case.arrays]
                there_bars = [None if bar is None else moved(EagerTensor(bar), "cuda:0") for bar in bars]
                outputs = case.call(*given)
                found = case.gradients(given, there_bars) if has_bars else []
            for y, z in zip(outputs, values, strict=True):
                np.testing.assert_allclose(y.numpy(), z, rtol=1e-4, atol=1e-5)
            for g, z in zip(found, slopes, strict=True):
                if g is not None:
                    np.testing.assert_allclose(tf.convert_to_tensor(g).numpy(), z, rtol=1e-3, atol=1e-4)
        except Exception as error:  # all of them are told at the end
            wrong.append(f"{family}-{number}-{case.name}: {type(error).__name__}: {str(error)[:300]}")
    assert not wrong, f"{len(wrong)} cases\n" + "\n".join(wrong)


def test_threads_hand_each_other_arrays() -> None:
    """Each works on its own stream: what is not waited for shows as a wrong number, sooner or later."""
    f = tf.function(lambda x, w: tf.tanh(x @ w) * 0.5 + x * 0.25, jit_compile=True)
    numbers = np.random.default_rng(0)
    first, w = (numbers.normal(size=(512, 512)).astype(np.float32) / 30 for _ in range(2))
    w = there(w)
    want = there(first)
    for _ in range(40):
        want = f(want, w)
    for _ in range(5):
        held = [there(first)]

        def step(held: list[Any] = held) -> None:
            held[0] = f(held[0], w)
            _ = [held[0] * 0.0 + float(k) for k in range(4)]  # memory that is given away at once

        for k in range(40):
            if k % 2:
                thread = threading.Thread(target=step)
                thread.start()
                thread.join()
            else:
                step()
        np.testing.assert_allclose(held[0].numpy(), want.numpy(), rtol=1e-5, atol=1e-7)


def test_what_is_done_again_is_a_graph() -> None:
    f = tf.function(lambda x: tf.nn.softmax(tf.tanh(x @ x) @ x), jit_compile=True)
    x = there(np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32))
    first = f(x).numpy()
    for _ in range(10):
        assert f(x).numpy().tobytes() == first.tobytes()
    graph = f.get_concrete_function(x).graph
    (bound,) = [sizes.bound for sizes in executable_of(graph, "cuda:0")._sizes.values() if sizes.bound]
    assert all(image.nodes > 1 for image in bound.images)


def test_scatter_sums_have_the_same_bits_each_time() -> None:
    numbers = np.random.default_rng(0)
    rows, ids = numbers.normal(size=(200_000, 8)).astype(np.float32), numbers.integers(0, 50, 200_000)
    found = [tf.math.unsorted_segment_sum(there(rows), there(ids), 50).numpy() for _ in range(5)]
    want = np.zeros((50, 8))
    np.add.at(want, ids, rows)
    np.testing.assert_allclose(found[0], want, rtol=1e-4, atol=1e-2)
    assert len({y.tobytes() for y in found}) == 1


def runs(f: Any, *given: Any) -> Any:
    """What a compiled function gives, with the same bits each time: by launches, then by a graph."""
    f = tf.function(f, jit_compile=True)
    placed = [there(x) for x in given]
    first = tf.nest.flatten(f(*placed))
    for _ in range(5):
        for y, z in zip(tf.nest.flatten(f(*placed)), first, strict=True):
            assert y.numpy().tobytes() == z.numpy().tobytes()
    (bound,) = [
        sizes.bound
        for sizes in executable_of(f.get_concrete_function(*placed).graph, "cuda:0")._sizes.values()
        if sizes.bound
    ]
    assert all(unit.kind != "host" for unit in bound.partition.units)
    return [y.numpy() for y in first]


@pytest.mark.parametrize("count", [1, 1000, 1024, 1025, 300_000])
def test_lookups_and_their_gradients_in_a_plan(count: int) -> None:
    numbers = np.random.default_rng(count)
    table = numbers.normal(size=(5000, 24)).astype(np.float32)
    ids = np.where(numbers.random(count) < 0.2, 7, numbers.integers(0, 5000, count)).astype(np.int32)

    def step(table: Any, ids: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(table)
            loss = tf.reduce_sum(tf.gather(table, ids) ** 2)
        return tf.convert_to_tensor(tape.gradient(loss, table))

    want = np.zeros(table.shape)
    np.add.at(want, ids, 2.0 * table[ids])
    (found,) = runs(step, table, ids)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("shape", [(1, 1), (3, 1024), (2, 1_000_003), (5000, 37)])
def test_orders_and_running_sums_in_a_plan(shape: tuple[int, ...]) -> None:
    x = np.round(np.random.default_rng(0).normal(size=shape) * 50).astype(np.float32)  # many are equal
    sorts = runs(lambda x: [tf.argsort(x, stable=True), tf.argsort(x, 0, stable=True), tf.argmax(x, 1)], x)
    np.testing.assert_array_equal(sorts[0], np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(sorts[1], np.argsort(x, 0, kind="stable"))
    np.testing.assert_array_equal(sorts[2], np.argmax(x, 1))
    for axis, found in enumerate(runs(lambda x: [tf.cumsum(x, 0), tf.cumsum(x, 1)], x)):
        np.testing.assert_allclose(found, np.cumsum(x, axis, np.float64), rtol=1e-6, atol=1e-3)


def test_a_position_outside_is_the_op_s_error() -> None:
    f = tf.function(lambda x, i: tf.gather(x, i) * 2.0, jit_compile=True)
    x, good, bad = (there(np.array(each)) for each in (np.ones(9), [3, 8], [3, 9]))
    for _ in range(6):
        assert f(x, good).numpy().tolist() == [2.0, 2.0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="gather"):
            f(x, bad)


@pytest.mark.parametrize("name", INDEXED)
def test_plans_with_positions_that_are_data(name: str) -> None:
    function, values = INDEXED[name]
    want = tf.nest.flatten(tf.function(function, jit_compile=True)(*map(tf.constant, values)))
    f = tf.function(lambda *xs: function(*xs), jit_compile=True)
    for _ in range(4):
        for y, z in zip(tf.nest.flatten(f(*[there(x) for x in values])), want, strict=True):
            np.testing.assert_allclose(y.numpy(), z.numpy(), rtol=1e-5, atol=1e-6)


FAULT = """
import numpy as np
import graphad as tf
from graphad.devices.array import DeviceArray
with tf.device("cuda"):
    x = tf.constant(np.ones(1 << 20, np.float32))
f = tf.function(lambda x: tf.tanh(x) * 3.0, jit_compile=True)
f(x)
class Far:
    ptr = 1 << 44
class Held:
    data = Far()
    dtype, shape, flags = x.array.held.dtype, x.array.held.shape, x.array.held.flags
try:
    f(type(x)(DeviceArray(Held(), 0, x.array.stream))).numpy()
except RuntimeError as error:
    print("told:", error, *error.__notes__)
"""


def test_a_fault_in_a_kernel_is_told_at_its_op() -> None:
    """In a process of its own, since the context is lost with it."""
    done = subprocess.run(
        [sys.executable, "-c", FAULT],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CUDA_LAUNCH_BLOCKING": "1", "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert "told: tanh, mul: the device refused the step" in done.stdout, done.stdout + done.stderr[-3000:]
