"""Long gradients in which no part is like another: what they cost, and that nothing changes where a value is computed again."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler import fuse
from graphad.compiler.partition import partition
from graphad.compiler.pipeline import optimise
from graphad.compiler.plan.executable import Executable
from graphad.compiler.units import LOOP, NATIVE, Partition
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph
from graphad.trace.specialise import specialise
from graphad.trace.tracer import trace_flat
from tests.support.bits import assert_same_bits

UNARY: list[Callable[[Any], Any]] = [
    tf.sin,
    tf.tanh,
    tf.square,
    tf.abs,
    tf.sigmoid,
    lambda x: x * 0.5,
    lambda x: 1.0 - x,
    lambda x: tf.sqrt(tf.abs(x) + 1.0),
]
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    tf.maximum,
    lambda x, y: x / (tf.abs(y) + 1.0),
]


def irregular(ops: int, near: int, size: int) -> Graph:
    """A graph of random ops, each of two of the last `near` results, with the gradient of the sum of the last ones."""

    def function(*xs: Any) -> list[Any]:
        draw, found = random.Random(0), list(xs)
        with tf.GradientTape() as tape:
            tape.watch(xs)
            for _ in range(ops):
                last = found[-near:]
                one, other = draw.choice(last), draw.choice(last)
                is_unary = draw.random() < 0.4
                found.append(draw.choice(UNARY)(one) if is_unary else draw.choice(BINARY)(one, other))
            y = tf.reduce_sum(tf.add_n(found[-near:]))
        return [y, *[g for g in tape.gradient(y, xs) if g is not None]]

    return trace_flat(function, [TensorSpec((size,), tf.float32)] * 4).graph


def operands(part: Partition) -> list[int]:
    """How many arrays each kernel reads and writes."""
    return [len(unit.reads) + len(unit.writes) for unit in part.units if unit.kind == LOOP]


def test_an_irregular_gradient_of_two_thousand_ops_moves_no_more_than_it_did() -> None:
    graph = irregular(2000, 16, 1000)
    found = operands(partition(optimise(specialise(graph, graph.inputs))))
    assert len(found) <= 95
    assert sum(found) / len(found) <= 32 and max(found) <= 50


@pytest.mark.parametrize("near", [8, 16, 32])
def test_of_large_arrays_an_irregular_gradient_moves_few(near: int) -> None:
    graph = irregular(2000, near, 100_000)
    units = partition(optimise(specialise(graph, graph.inputs))).units
    native = [unit for unit in units if unit.kind in NATIVE]
    moved = [len({site.root for site in unit.reads}) + len(unit.writes) for unit in native]
    assert len(native) <= 30 and max(moved) <= 24


def test_what_is_computed_once_more_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = irregular(120, 24, 33)
    values = [np.random.default_rng(k).normal(size=33).astype(np.float32) for k in range(4)]
    monkeypatch.setattr(fuse, "WIDE", 8)

    def native() -> tuple[list[Any], Partition]:
        executable = Executable(graph)
        found = executable.run(values, True)
        compilation = executable.sizes_of(values).size_class.compilation
        assert compilation.schedule is not None, compilation.reason
        return found, compilation.schedule.partition

    again, few = native()
    monkeypatch.setattr(fuse, "WIDE", 10**6)
    once, many = native()
    assert sum(operands(few)) < 0.9 * sum(operands(many))
    for a, b in zip(again, once, strict=True):
        assert_same_bits(a, b)
