"""Loops over the same rows as stages of one kernel: which join, and that no bit of any result depends on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler import partition as module
from graphad.compiler.apart import reasons
from graphad.compiler.cpu.backend import Cpu
from graphad.compiler.partition import partition
from graphad.compiler.pipeline import optimise
from graphad.compiler.plan.executable import Executable
from graphad.compiler.units import Partition, describe
from graphad.core.spec import TensorSpec
from graphad.kernels.block import CHUNK
from graphad.kernels.stages import Nest
from graphad.trace.specialise import specialise
from graphad.trace.tracer import trace_flat
from tests.support.bits import assert_same_bits

Body = Callable[..., list[Any]]


def real(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def units_of(function: Body, *shapes: Any) -> Partition:
    specs = [s if isinstance(s, TensorSpec) else TensorSpec(s) for s in shapes]
    graph = trace_flat(function, specs).graph
    return partition(optimise(specialise(graph, graph.inputs)))


def kinds(function: Body, *shapes: Any) -> list[str]:
    return [unit.kind for unit in units_of(function, *shapes).units]


def softmax(x: Any) -> list[Any]:
    return [tf.nn.softmax(x)]


def loss_and_gradient(x: Any, labels: Any) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, x))
    return [loss, tape.gradient(loss, x)]


def sparse_loss_and_gradient(x: Any, labels: Any) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tf.cast(labels, tf.int32), x))
    return [loss, tape.gradient(loss, x)]


def layer_norm(x: Any, scale: Any, offset: Any, g: Any) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch((x, scale, offset))
        mean = tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(tf.square(x - mean), -1, keepdims=True)
        y = (x - mean) * tf.math.rsqrt(variance + 1e-3) * scale + offset
    return [y, *tape.gradient(y, (x, scale, offset), output_gradients=g)]


def layer_norm_and_loss(x: Any, scale: Any, offset: Any, g: Any) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch((x, scale, offset))
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        y = (x - mean) / tf.sqrt(variance + 1e-3) * scale + offset
        loss = tf.reduce_sum(y * g)
    return [loss, *tape.gradient(loss, (x, scale, offset))]


def totals(x: Any) -> list[Any]:
    """Sums, products and extremes of all rows among other stages, one of them read at last."""
    y = x / tf.reduce_max(tf.abs(x), 1, keepdims=True)
    z = y - tf.reduce_mean(y, 1, keepdims=True)
    total = tf.reduce_sum(z * z)
    rows = tf.reduce_sum(z, 1)
    return [total, tf.reduce_max(y - rows[:, None]), rows, tf.sqrt(total), tf.reduce_sum(rows)]


def test_a_softmax_is_one_kernel() -> None:
    assert kinds(softmax, [40, 100]) == ["stages"]
    assert kinds(softmax, [3, 40, 100]) == ["stages"]


def test_cross_entropy_with_its_gradient_is_one_kernel() -> None:
    assert kinds(loss_and_gradient, [40, 100], [40, 100]) == ["stages"]
    assert kinds(sparse_loss_and_gradient, [40, 100], TensorSpec([40], tf.int32)) == ["stages"]


def test_layer_norm_with_its_gradient_is_two_kernels() -> None:
    assert kinds(layer_norm, [40, 100], [100], [100], [40, 100]) == ["stages", "loop"]
    assert kinds(layer_norm_and_loss, [40, 100], [100], [100], [40, 100]) == ["stages", "loop"]


def test_a_sum_of_all_rows_is_a_stage() -> None:
    assert kinds(totals, [40, 100]) == ["stages"]
    # Without reductions of rows it is one loop anyway.
    assert kinds(lambda x: [tf.reduce_sum(tf.exp(x)), tf.exp(x)], [40, 100]) == ["loop"]


def test_threads_share_rows_where_chunks_of_a_sum_of_all_rows_end() -> None:
    (unit,) = units_of(totals, [1500, 90]).units
    assert unit.loop.chunk({}) == CHUNK // 90
    (unit,) = units_of(softmax, [1500, 90]).units
    assert unit.loop.chunk({}) == 1


def test_short_and_very_long_rows_and_single_ones_are_loops() -> None:
    assert kinds(softmax, [3, 100_000]) == ["loop"] * 3
    assert "too long for stages" in reasons(units_of(softmax, [3, 100_000]))[0]
    assert "too short for stages" in reasons(units_of(softmax, [40, 10]))[0]
    assert kinds(softmax, [40, 10]) == ["loop"] * 3
    assert "stages" not in kinds(softmax, [100])
    assert "stages" not in kinds(softmax, [1, 100])


def test_what_reads_other_rows_is_another_kernel() -> None:
    def turned(x: Any) -> list[Any]:
        y = x - tf.reduce_max(x, 1, keepdims=True)
        return [y * tf.reduce_sum(tf.transpose(y), 1, keepdims=True)]

    found = units_of(turned, [100, 100])
    for unit in found.units:
        if isinstance(unit.loop, Nest):
            roots = {value for each in unit.stages for value in each.writes}
            assert all(
                site.is_plain or site.strides[0] != 1
                for each in unit.stages
                for site in each.reads
                if site.root in roots
            )
    assert len(found.units) > 1


def test_what_waits_for_something_else_is_another_kernel() -> None:
    def function(x: Any, w: Any) -> list[Any]:
        y = tf.nn.softmax(x)
        z = y @ w
        return [z - tf.reduce_max(z, 1, keepdims=True) + tf.reduce_sum(y, 1, keepdims=True)]

    found = kinds(function, [80, 80], [80, 80])
    assert found[0] == "stages" and "gemm" in found and found.index("gemm") < len(found) - 1


def test_a_number_of_all_rows_is_not_ready_inside_of_them() -> None:
    def function(x: Any) -> list[Any]:
        y = tf.reduce_sum(tf.exp(x), 1)
        total = tf.reduce_sum(y)
        return [total, x / total]

    found = units_of(function, [40, 100])
    assert [unit.kind for unit in found.units] == ["stages", "loop"]
    assert "at last" in describe(found)
    assert any("complete only" in line or "more than the row" in line for line in reasons(found))


CASES: dict[str, tuple[Body, list[np.ndarray]]] = {
    "softmax": (softmax, [real(37, 100)]),
    "softmax of doubles": (softmax, [real(37, 130, dtype=np.float64)]),
    "softmax of halves": (softmax, [real(9, 100, dtype=np.float16)]),
    "softmax of stacks": (softmax, [real(3, 5, 200)]),
    "softmax of long rows": (softmax, [real(3, 9001)]),
    "softmax of turned rows": (lambda x: [tf.nn.softmax(tf.transpose(x))], [real(90, 100)]),
    "log softmax": (lambda x: [tf.nn.log_softmax(x), tf.reduce_logsumexp(x, 1)], [real(70, 90)]),
    "two axes": (lambda x: [x - tf.reduce_mean(x, (1, 2), keepdims=True)], [real(20, 9, 11)]),
    "loss": (loss_and_gradient, [real(700, 100), np.abs(real(700, 100, seed=1))]),
    "sparse loss": (sparse_loss_and_gradient, [real(60, 100), np.arange(60)]),
    "layer norm": (layer_norm, [real(50, 100), real(100), real(100, seed=1), real(50, 100, seed=2)]),
    "layer norm and a loss": (
        layer_norm_and_loss,
        [real(700, 100), real(100), real(100, seed=1), real(700, 100, seed=2)],
    ),
    "totals": (totals, [real(1500, 90)]),
    "totals of doubles": (totals, [real(9, 9001, dtype=np.float64)]),
    "totals of halves": (totals, [real(30, 100, dtype=np.float16)]),
    "integers": (
        lambda k: [
            k - tf.reduce_max(k, 1, keepdims=True),
            tf.reduce_sum(k * k, 1),
            tf.reduce_sum(k - tf.reduce_max(k, 1, keepdims=True)),
        ],
        [np.arange(900).reshape(9, 100)],
    ),
    "booleans": (lambda x: [tf.cast(x > tf.reduce_mean(x, 1, keepdims=True), tf.int32)], [real(9, 100)]),
    "a square": (lambda x: [tf.nn.softmax(x) * tf.reduce_sum(tf.nn.softmax(x), 0)], [real(100, 100)]),
    "NaN and infinities": (
        softmax,
        [np.where(real(9, 100) > 2, np.nan, np.where(real(9, 100) < -2, -np.inf, real(9, 100)))],
    ),
    "every second column": (lambda x: [tf.nn.softmax(x[:, ::2])], [real(9, 300)]),
    "inside of a loop": (
        lambda x: [
            tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.nn.softmax(y * 3.0)), (0, x))[1]
        ],
        [real(9, 100)],
    ),
}


def native(function: Body, values: list[np.ndarray], shapes: Any = None) -> tuple[list[Any], Any]:
    specs = [
        TensorSpec(shape, x.dtype)
        for x, shape in zip(values, shapes or [x.shape for x in values], strict=True)
    ]
    executable = Executable(trace_flat(function, specs).graph)
    found = executable.run(values, True)
    compilation = executable.sizes_of(values).size_class.compilation
    assert compilation.state == "ready", compilation.reason
    return found, compilation.schedule.partition


def has_stages(part: Partition) -> bool:
    inner = [p for unit in part.units if unit.repeat is not None for p in unit.repeat.partitions]
    return any(unit.kind == "stages" for unit in part.units) or any(map(has_stages, inner))


@pytest.mark.parametrize("name", CASES)
def test_no_bit_depends_on_stages(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, values = CASES[name]
    found, part = native(function, values)
    assert has_stages(part)
    monkeypatch.setattr(Cpu, "block_rows", lambda *_: 5)
    others, _ = native(function, values)
    monkeypatch.setattr(module, "stacked", lambda units, *_: units)
    want, part = native(function, values)
    assert not has_stages(part)
    for a, b, c in zip(found, others, want, strict=True):
        assert_same_bits(a, c, name)
        assert_same_bits(b, c, f"{name} in blocks of five rows")


@pytest.mark.parametrize("shape", [(0, 100), (2, 100), (5, 1), (5, 0), (3, 70), (200, 65)])
def test_sizes_are_those_of_the_call(shape: tuple[int, int]) -> None:
    with np.errstate(all="ignore"):
        for function, values in (
            (softmax, [real(*shape)]),
            (loss_and_gradient, [real(*shape), np.abs(real(*shape, seed=1))]),
        ):
            specs = [TensorSpec((None, None), tf.float32) for _ in values]
            executable = Executable(trace_flat(function, specs).graph)
            found, want = executable.run(values, True), executable.run(values, False)
            for a, b in zip(found, want, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
            if min(shape) > 1:
                assert has_stages(executable.sizes_of(values).size_class.compilation.schedule.partition)


@pytest.mark.parametrize("name", ["loss", "layer norm and a loss", "totals"])
def test_threads_share_the_rows_without_a_change(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from graphad.compiler.cpu import backend
    from graphad.compiler.cpu.runtime import pool

    function, values = CASES[name]
    alone, _ = native(function, values)
    monkeypatch.setattr(backend, "PARALLEL_NANOSECONDS", 1)
    monkeypatch.setattr(pool, "thread_count", lambda: 2)
    executable = Executable(trace_flat(function, [TensorSpec(x.shape, x.dtype) for x in values]).graph)
    for _ in range(20):
        shared = executable.run(values, True)
        for a, b in zip(shared, alone, strict=True):
            assert_same_bits(a, b)
    assert executable.sizes_of(values).bound.regions >= 1


def test_explain_shows_stages_and_why_loops_are_apart() -> None:
    from graphad.tools.explain import explain

    f = tf.function(lambda x, a, b, g: layer_norm(x, a, b, g))
    text = str(explain(f)(*map(tf.constant, CASES["layer norm"][1])))
    assert "stages over 50 rows" in text and "stage over (50, 100), axes (1,) reduced" in text
    assert "held for a block of rows" in text
    assert "== not fused ==" in text and "one reduces axes (1,), the other (0,)" in text
