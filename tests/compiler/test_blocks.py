"""Chains of loops that run block of elements by block of elements: which join, and that no bit of any result depends on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler import partition as module
from graphad.compiler.cpu import backend
from graphad.compiler.cpu.runtime import pool
from graphad.compiler.partition import partition
from graphad.compiler.pipeline import optimise
from graphad.compiler.plan import native
from graphad.compiler.plan.executable import Executable
from graphad.compiler.units import BLOCKS, Partition, describe
from graphad.core.spec import TensorSpec
from graphad.errors import InternalError
from graphad.trace.specialise import specialise
from graphad.trace.tracer import trace_flat
from tests.compiler.test_irregular import irregular
from tests.support.bits import assert_same_bits

Body = Callable[..., list[Any]]


def real(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def long(x: Any, y: Any, steps: int = 11) -> Any:
    """More than one kernel takes; what the last ones need was made by the first."""
    kept = []
    for k in range(steps):
        x, y = tf.sin(x + y) * (0.5 + 0.02 * k), tf.tanh(x - y) + 0.1
        kept.append(x)
    for k, z in enumerate(reversed(kept)):
        x = x * 0.5 + z * (0.1 * k)
    return x + y


def slope(x: Any, y: Any) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch((x, y))
        loss = tf.reduce_sum(long(x, y, 9))
    return [loss, *tape.gradient(loss, (x, y))]


def stepped(x: Any, y: Any) -> list[Any]:
    found = tf.while_loop(
        lambda k, u, v: k < 3, lambda k, u, v: (k + 1, long(u, v), tf.cos(u) + v), (0, x, y)
    )
    return list(found[1:])


def scanned(x: Any, y: Any) -> list[Any]:
    return [tf.scan(lambda u, v: long(u, v), x, y)]


CASES: dict[str, tuple[Body, list[np.ndarray]]] = {
    "two vectors": (lambda x, y: [long(x, y)], [real(9000), real(9000, seed=1)]),
    "doubles": (
        lambda x, y: [long(x, y)],
        [real(5001, dtype=np.float64), real(5001, seed=1, dtype=np.float64)],
    ),
    "halves": (
        lambda x, y: [long(x, y, 8)],
        [real(5001, dtype=np.float16), real(5001, seed=1, dtype=np.float16)],
    ),
    "matrices": (lambda x, y: [long(x, y)], [real(77, 91), real(77, 91, seed=1)]),
    "a number for all": (lambda x, y: [long(x, y)], [real(6007), real(1, seed=1)]),
    "a number for each column": (lambda x, y: [long(x, y)], [real(77, 91), real(91, seed=1)]),
    "a number for each row": (lambda x, y: [long(x, y)], [real(77, 91), real(77, 1, seed=1)]),
    "a grid of two vectors": (lambda x, y: [long(x, y)], [real(97, 1), real(83, seed=1)]),
    "of three dimensions": (lambda x, y: [long(x, y)], [real(13, 19, 23), real(19, 1, seed=1)]),
    "columns at last": (
        lambda x, y: [z := long(x, x + 1.0), long(z * x, y, 4) * tf.cos(x)],
        [real(77, 91), real(91, seed=1)],
    ),
    "columns at first": (
        lambda x, y: [long(tf.sin(z := long(x, y, 6)), tf.cos(z) * z)],
        [real(77, 91), real(91, seed=1)],
    ),
    "turned in memory": (lambda x, y: [long(x, tf.transpose(y))], [real(77, 91), real(91, 77, seed=1)]),
    "a gradient with columns": (slope, [real(211, 65), real(65, seed=1)]),
    "every second one": (lambda x, y: [long(x[::2], y[::-1])], [real(12000), real(6000, seed=1)]),
    "results in between": (
        lambda x, y: [z := long(x, y), long(z, y), tf.sin(z)],
        [real(7000), real(7000, seed=1)],
    ),
    "a gradient": (slope, [real(9001), real(9001, seed=1)]),
    "inside of a loop": (stepped, [real(5003), real(5003, seed=1)]),
    "inside of a scan": (scanned, [real(4999), real(4, 4999, seed=1)]),
    "NaN and infinities": (
        lambda x, y: [long(x, y)],
        [np.where(real(5000) > 2, np.nan, np.where(real(5000) < -2, np.inf, real(5000))), real(5000, seed=1)],
    ),
}


def compiled(function: Body, values: list[np.ndarray], shapes: Any = None) -> tuple[list[Any], Any]:
    shapes = [x.shape for x in values] if shapes is None else shapes
    specs = [TensorSpec(shape, x.dtype) for x, shape in zip(values, shapes, strict=True)]
    executable = Executable(trace_flat(function, specs).graph)
    found = executable.run(values, True)
    compilation = executable.sizes_of(values).size_class.compilation
    assert compilation.state == "ready", compilation.reason
    return found, executable.sizes_of(values).bound


def chains(part: Partition) -> list[Any]:
    inner = [p for unit in part.units if unit.repeat is not None for p in unit.repeat.partitions]
    return [unit for unit in part.units if unit.kind == BLOCKS] + [unit for p in inner for unit in chains(p)]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have chains be cut into blocks where all of them stays in the cache too."""
    monkeypatch.setattr(backend, "CACHED_BYTES", 0)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("small_blocks")
def test_no_bit_depends_on_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, values = CASES[name]
    found, bound = compiled(function, values)
    assert chains(bound.partition)
    monkeypatch.setattr(backend, "FEWEST_ELEMENTS", 64)
    monkeypatch.setattr(backend, "HELD_BYTES", 1)
    others, _ = compiled(function, values)
    monkeypatch.setattr(backend, "CACHED_BYTES", 1 << 40)
    whole, _ = compiled(function, values)
    monkeypatch.setattr(module, "in_blocks", lambda units, *_: units)
    want, bound = compiled(function, values)
    assert not chains(bound.partition)
    for a, b, c, d in zip(found, others, whole, want, strict=True):
        assert_same_bits(a, d, name)
        assert_same_bits(b, d, f"{name} in blocks of 64 elements")
        assert_same_bits(c, d, f"{name} as one block")


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 128, 1000, 4097])
@pytest.mark.usefixtures("small_blocks")
def test_sizes_are_those_of_the_call(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "FEWEST_ELEMENTS", 64)
    monkeypatch.setattr(backend, "HELD_BYTES", 1)
    for function in (lambda x, y: [long(x, y)], slope):
        executable = Executable(trace_flat(function, [TensorSpec((None,), tf.float32)] * 2).graph)
        for count in (size, size + 1, size + 130):
            values = [real(count), real(count, seed=1)]
            found, want = executable.run(values, True), executable.run(values, False)
            for a, b in zip(found, want, strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-4)
            if count > 1:
                assert chains(executable.sizes_of(values).size_class.compilation.schedule.partition)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("columns", [None, 33])
def test_numbers_of_rows_are_those_of_the_call(columns: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "FEWEST_ELEMENTS", 64)
    monkeypatch.setattr(backend, "HELD_BYTES", 1)
    specs = [TensorSpec((None, columns), tf.float32), TensorSpec((columns,), tf.float32)]
    for function in (lambda x, y: [long(x, y)], slope):
        executable = Executable(trace_flat(function, specs).graph)
        for count in (0, 1, 2, 5, 200, 201):
            values = [real(count, 33), real(33, seed=1)]
            found, want = executable.run(values, True), executable.run(values, False)
            for a, b in zip(found, want, strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)
            if count > 2:
                assert chains(executable.sizes_of(values).size_class.compilation.schedule.partition)


@pytest.mark.usefixtures("small_blocks")
def test_threads_share_the_blocks_without_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [real(40_001), real(40_001, seed=1)]
    alone, _ = compiled(slope, values)
    monkeypatch.setattr(backend, "PARALLEL_NANOSECONDS", 1)
    monkeypatch.setattr(pool, "thread_count", lambda: 2)
    executable = Executable(trace_flat(slope, [TensorSpec(x.shape, x.dtype) for x in values]).graph)
    for _ in range(20):
        shared = executable.run(values, True)
        for a, b in zip(shared[1:], alone[1:], strict=True):
            assert_same_bits(a, b)
    assert executable.sizes_of(values).bound.regions >= 1


def test_what_is_handed_on_takes_no_memory() -> None:
    graph = irregular(400, 16, 1_000_000)
    part = partition(optimise(specialise(graph, graph.inputs)))
    values = [real(1_000_000, seed=k) for k in range(4)]
    executable = Executable(graph)
    executable.run(values, True)
    bound = executable.sizes_of(values).bound
    held = [value for unit in chains(part) for value in unit.held]
    assert len(held) > 200  # 4 MB each
    assert sum(bound.arena_bytes) < 50_000_000


def test_short_arrays_and_what_hands_nothing_on_are_no_chains() -> None:
    def kinds(function: Body, *shapes: Any) -> list[str]:
        graph = trace_flat(function, [TensorSpec(shape, tf.float32) for shape in shapes]).graph
        return [unit.kind for unit in partition(optimise(specialise(graph, graph.inputs))).units]

    assert BLOCKS not in kinds(lambda x, y: [long(x, y)], [4096], [4096])
    assert kinds(lambda x, y: [long(x, y)], [4097], [4097]) == [BLOCKS]
    assert kinds(lambda x, y: [tf.sin(x) * y], [9000], [9000]) == ["loop"]

    def turned(x: Any) -> list[Any]:  # reads elements that later blocks make
        y = tf.reverse(long(x, x), [0])
        return [long(y, y)]

    found = kinds(turned, [9000])
    assert found.count(BLOCKS) == 2


def test_a_walk_that_leaves_its_storage_is_not_bound() -> None:
    values = [real(9000), real(9000, seed=1)]
    graph = trace_flat(lambda x, y: [long(x, y)], [TensorSpec((9000,), tf.float32)] * 2).graph
    executable = Executable(graph)
    executable.run(values, True)
    sizes = executable.sizes_of(values)
    compilation = sizes.size_class.compilation
    (unit,) = chains(compilation.schedule.partition)
    last = unit.stages[-1]
    for each, change in ((last, 9001), (unit.stages[0], 9001)):
        kept = each.loop
        each.loop = kept.replaced(extents=(change,))
        unit.inside = None
        with pytest.raises(
            InternalError, match="plan: a step reaches bytes 0 to 36004 of a storage of 36000"
        ):
            native.bind(compilation.schedule, sizes.numbers, compilation.address)
        each.loop = kept
    native.bind(compilation.schedule, sizes.numbers, compilation.address)


@pytest.mark.usefixtures("small_blocks")
def test_loops_of_several_dimensions_share_a_chain_with_those_of_one() -> None:
    def rows(function: Body, *shapes: Any) -> list[Any]:
        graph = trace_flat(function, [TensorSpec(shape, tf.float32) for shape in shapes]).graph
        part = partition(optimise(specialise(graph, graph.inputs)))
        return [(unit.kind, unit.rows) for unit in part.units]

    assert rows(lambda x, y: [long(x, y)], [200, 91], [91]) == [(BLOCKS, 200)]
    assert rows(CASES["columns at last"][0], [200, 91], [91]) == [(BLOCKS, 200)]
    assert rows(CASES["columns at first"][0], [200, 91], [91]) == [(BLOCKS, 200)]
    assert rows(lambda x, y: [long(x, y)], [200, 91], [200, 91]) == [(BLOCKS, 200 * 91)]
    assert (
        rows(lambda x, y: [long(x, y)], [2, 100_000], [100_000])[0][0] == "loop"
    )  # a row does not fit the cache


def test_explain_shows_the_loops_of_a_chain() -> None:
    graph = trace_flat(lambda x, y: [long(x, y)], [TensorSpec((9000,), tf.float32)] * 2).graph
    text = describe(partition(optimise(specialise(graph, graph.inputs))))
    assert "blocks over 9000 rows" in text and text.count("       stage over (9000,)") >= 2
    assert "held for a block of rows: %" in text
