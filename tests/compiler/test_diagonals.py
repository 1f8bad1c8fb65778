"""Diagonals and rows shifted by one are views and parts: they move elements, and run in native code."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.partition import partition
from graphad.compiler.pipeline import optimise
from graphad.compiler.units import HOST
from graphad.core.bind import bind
from graphad.graph.ir import Graph
from graphad.ops.linalg.diagonal import Diagonal, DiagPart, SetDiag
from graphad.ops.math.cumulative import Shift
from graphad.trace.specialise import specialise

SHAPES = [(3, 4), (4, 3), (1, 1), (2, 5), (0, 3), (3, 0)]


def image(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float64).reshape(shape) + 1


def has_host_steps(graph: Graph) -> bool:
    graph = optimise(specialise(graph, graph.inputs))
    return any(unit.kind == HOST for unit in partition(graph, has_routines=True).units)


@pytest.mark.parametrize("k", [-4, -2, -1, 0, 1, 2, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_any_diagonal_is_read_and_written_in_native_code(shape: tuple[int, int], k: int) -> None:
    x = image(2, *shape)
    part = np.diagonal(x, max(-shape[0], min(k, shape[1])), 1, 2)

    @tf.function(jit_compile=True)
    def both(x: tf.Tensor, d: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return bind(DiagPart(k), x) * 2, bind(SetDiag(k), x, d)

    read, written = both(x, -part)
    np.testing.assert_array_equal(read, part * 2)
    np.testing.assert_array_equal(written, bind(SetDiag(k), tf.constant(x), tf.constant(-part)))
    if part.size:
        assert not has_host_steps(both.get_concrete_function(x, -part).graph)


@pytest.mark.parametrize("k", [-1, 0, 2])
def test_one_plan_reads_diagonals_of_all_sizes(k: int) -> None:
    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None, None], tf.float64)])
    def read(x: tf.Tensor) -> tf.Tensor:
        return bind(DiagPart(k), x) * 2

    for shape in [*SHAPES, (6, 7), (1, 9), (9, 1)]:
        x = image(*shape)
        np.testing.assert_array_equal(read(x), np.diagonal(x, max(-shape[0], min(k, shape[1]))) * 2)


@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (1, 2)])
def test_diagonals_of_two_axes_are_views(axes: tuple[int, int]) -> None:
    x = image(3, 3, 3)
    read = tf.function(lambda x: bind(Diagonal(*axes), x) + 1, jit_compile=True)
    np.testing.assert_array_equal(read(x), np.moveaxis(np.diagonal(x, 0, *axes), -1, axes[0]) + 1)
    assert not has_host_steps(read.get_concrete_function(x).graph)


def test_diagonals_of_two_axes_compare_sizes_that_only_the_run_knows() -> None:
    read = tf.function(
        lambda x: bind(Diagonal(0, 1), x) + 1,
        jit_compile=True,
        input_signature=[tf.TensorSpec([None, None], tf.float64)],
    )
    np.testing.assert_array_equal(read(image(4, 4)), np.diagonal(image(4, 4)) + 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="sizes 4 and 3 at axes 0 and 1"):
        read(image(4, 3))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_rows_are_shifted_by_parts(axis: int, reverse: bool) -> None:
    shift = tf.function(lambda x: bind(Shift(axis, reverse), x) * 2, jit_compile=True)
    for shape in [(3, 4), (1, 1), (0, 2), (2, 0)]:
        x = image(*shape)
        np.testing.assert_array_equal(shift(x), bind(Shift(axis, reverse), tf.constant(x)) * 2)
        assert not has_host_steps(shift.get_concrete_function(x).graph)


@pytest.mark.parametrize("jit", [None, True])
@pytest.mark.parametrize("rows", [1, 3])
def test_a_range_of_diagonals_has_a_row_for_each(rows: int, jit: bool | None) -> None:
    packed = tf.TensorSpec([None, 2])
    put = tf.function(lambda d: tf.linalg.diag(d, k=(-1, 0)), jit_compile=jit, input_signature=[packed])
    written = tf.function(
        lambda d: tf.linalg.set_diag(np.ones((2, 2), np.float32), d, k=(-1, 0)),
        jit_compile=jit,
        input_signature=[packed],
    )
    for function, name in ((put, "diag"), (written, "set_diag")):
        for _ in range(3):
            assert function(image(2, 2).astype(np.float32)).numpy().diagonal().tolist() == [1, 2]
            with pytest.raises(tf.errors.InvalidArgumentError, match=rf"{name}: .*it must have 2 rows"):
                function(image(rows, 2).astype(np.float32))
