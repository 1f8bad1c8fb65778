"""Convolutions and pools of maxima as rows of plans: the bits of eager calls, in branches and loops too, whatever the threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.cpu.runtime import pool
from graphad.compiler.plan.executable import Executable
from graphad.compiler.units import BRANCH, CALL, NATIVE, REPEAT, ROUTINE, Partition
from graphad.core.spec import TensorSpec
from graphad.ops.linalg.direct import has_tiles
from graphad.trace.tracer import trace_flat
from tests.support.bits import assert_same_bits

pytestmark = pytest.mark.skipif(not has_tiles(np.dtype("f")), reason="this processor has no tiles")
Body = Callable[..., list[Any]]


def real(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def native(function: Body, values: list[np.ndarray], shapes: Any = None) -> tuple[list[Any], Partition]:
    """What native code gives, and its units, all of them native."""
    given = shapes or [x.shape for x in values]
    specs = [TensorSpec(shape, x.dtype) for shape, x in zip(given, values, strict=True)]
    executable = Executable(trace_flat(function, specs).graph)
    found = executable.run(values, True)
    compilation = executable.sizes_of(values).size_class.compilation
    assert compilation.state == "ready", compilation.reason
    part = compilation.schedule.partition
    assert {unit.kind for unit in part.units} <= set(NATIVE)
    return found, part


def kinds(part: Partition) -> set[str]:
    inner = [each for unit in part.units for each in unit.partitions]
    return {unit.kind for unit in part.units}.union(*map(kinds, inner))


def same(function: Body, values: list[np.ndarray], shapes: Any = None) -> Partition:
    """Check native code against eager ops, to the last bit, twice: the second run finds its memory used."""
    want = [y.numpy() for y in function(*map(tf.constant, values))]
    found, part = native(function, values, shapes)
    for again in (found, native(function, values, shapes)[0]):
        for a, b in zip(again, want, strict=True):
            assert_same_bits(a, b)
    return part


def gradients(strides: Any, padding: Any, dilations: Any) -> Body:
    def function(x: Any, kernel: Any) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch((x, kernel))
            y = tf.nn.convolution(x, kernel, strides, padding, dilations=dilations) + 0.5
            loss = y * y
        return [y, *tape.gradient(loss, (x, kernel))]

    return function


# Images, filters, strides, padding, dilations: few outputs, few channels, by lines, laid out, spread, channels alone, groups,
# one axis and three; and so many places that sums over them have parts.
CASES: list[Any] = [
    ((8, 48, 48, 16), (3, 3, 16, 3), 1, "SAME", 1),
    ((2, 12, 20, 3), (3, 3, 3, 5), 1, "SAME", 1),
    ((8, 16, 16, 16), (3, 3, 16, 16), 1, "SAME", 1),
    ((8, 16, 16, 16), (3, 3, 16, 24), 2, "SAME", 1),
    ((2, 9, 9, 3), (3, 3, 3, 8), 3, "VALID", 1),
    ((4, 14, 14, 1), (5, 5, 1, 32), 1, "VALID", 1),
    ((2, 9, 9, 12), (3, 3, 12, 5), 1, "SAME", 2),
    ((4, 12, 12, 6), (3, 3, 1, 6), 1, "SAME", 1),
    ((2, 9, 9, 16), (3, 3, 8, 32), 1, "SAME", 1),
    ((2, 16, 16, 64), (1, 1, 64, 32), 2, "SAME", 1),
    ((3, 20, 4), (5, 4, 7), 1, "SAME", 1),
    ((2, 5, 6, 7, 3), (2, 3, 2, 3, 4), 1, "SAME", 1),
    ((8, 32, 32, 4), (3, 3, 4, 32), 1, "SAME", 1),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_convolution_and_its_gradients_have_the_eager_bits(case: Any, dtype: Any) -> None:
    image, kernel, stride, padding, dilation = case
    rank = len(image) - 2
    function = gradients([stride] * rank, padding, [dilation] * rank)
    part = same(function, [real(*image, dtype=dtype), real(*kernel, seed=1, dtype=dtype)])
    assert ROUTINE in kinds(part)


def test_the_number_of_threads_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    function, values = gradients(1, "SAME", 1), [real(8, 16, 16, 32), real(3, 3, 32, 32, seed=1)]
    found, regions = [], []
    for threads in (1, 2, 5):
        monkeypatch.setattr(pool, "thread_count", lambda count=threads: count)
        executable = Executable(trace_flat(function, [TensorSpec(x.shape, x.dtype) for x in values]).graph)
        found.append(executable.run(values, True))
        regions.append(executable.sizes_of(values).bound.regions)
    assert regions[0] == 0 and min(regions[1:]) >= 3
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert_same_bits(a, b)


@pytest.mark.parametrize(
    "shapes", [((2, 9, 9, 4), (3, 3, 1, 8)), ((0, 9, 9, 3), (3, 3, 3, 8)), ((2, 9, 9, 6), (3, 3, 2, 6))]
)
def test_what_has_no_steps_is_called(shapes: Any) -> None:
    image, kernel = shapes
    same(gradients([1, 1], "SAME", [1, 1]), [real(*image), real(*kernel, seed=1)])


@pytest.mark.parametrize("channels", [3, 4, 33])
def test_maxima_of_windows_and_their_gradient(channels: int) -> None:
    def function(x: Any) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.max_pool2d(x, 3, 2, "SAME")
            loss = y * y
        return [y, tape.gradient(loss, x)]

    x = real(3, 9, 8, channels)
    x[0, 1, 2] = np.nan
    same(function, [x])
    same(lambda x: [tf.nn.max_pool2d(x, 40, 1, "SAME")], [real(2, 5, 5, channels)])


def test_sizes_are_those_of_the_call() -> None:
    function, kernel = gradients(1, "SAME", 1), real(3, 3, 3, 8, seed=1)
    specs = [TensorSpec((None, None, None, 3), tf.float32), TensorSpec(kernel.shape, tf.float32)]
    executable = Executable(trace_flat(function, specs).graph)
    for shape in ((2, 9, 9, 3), (5, 16, 12, 3), (1, 1, 1, 3), (0, 4, 4, 3), (2, 9, 9, 3)):
        values = [real(*shape), kernel]
        want = [y.numpy() for y in function(*map(tf.constant, values))]
        for a, b in zip(executable.run(values, True), want, strict=True):
            assert_same_bits(a, b)


def test_branches_and_rounds_with_convolutions_are_native() -> None:
    def branches(x: Any, kernel: Any) -> list[Any]:
        test = tf.reduce_sum(x) > 0.0
        return [
            tf.cond(
                test, lambda: tf.nn.conv2d(x, kernel, 1, "SAME"), lambda: tf.nn.max_pool2d(x, 2, 1, "SAME")
            )
        ]

    def rounds(x: Any, kernel: Any) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(kernel)
            y = x
            y = tf.while_loop(
                lambda k, y: k < 4,
                lambda k, y: (k + 1, tf.nn.relu(tf.nn.conv2d(y, kernel, 1, "SAME"))),
                (0, y),
            )[1]
        return [y, tape.gradient(y, kernel)]

    kernel = real(3, 3, 8, 8, seed=1) * 0.1
    for sign in (1, -1):
        assert BRANCH in kinds(same(branches, [sign * np.abs(real(4, 8, 8, 8)), kernel]))
    found = kinds(same(rounds, [real(4, 8, 8, 8), kernel]))
    assert REPEAT in found and ROUTINE in found and CALL not in found


# Images, windows, strides, padding, dilations: counts that are one number, and that differ near the edges; windows that overlap,
# are apart, are larger than the image; one axis and three; few channels, and one, which is called.
MEANS: list[Any] = [
    ((2, 8, 8, 3), 2, 2, "VALID", 1),
    ((2, 9, 7, 5), 3, 2, "SAME", 1),
    ((3, 16, 16, 32), 3, 1, "SAME", 1),
    ((1, 6, 6, 4), 2, 3, "VALID", 1),
    ((2, 9, 9, 4), 3, 1, "SAME", 2),
    ((2, 4, 5, 3), (9, 2), 1, "SAME", 1),
    ((2, 11, 2), 3, 2, "SAME", 1),
    ((1, 4, 5, 6, 2), 2, 2, "SAME", 1),
    ((2, 1, 1, 8), 1, 1, "SAME", 1),
    ((2, 6, 6, 1), 2, 2, "SAME", 1),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("case", MEANS, ids=str)
def test_means_of_windows_and_their_gradients_have_the_eager_bits(case: Any, dtype: Any) -> None:
    shape, window, strides, padding, dilations = case
    x, axes = real(*shape, dtype=dtype), len(shape) - 2
    window = window if isinstance(window, tuple) else (window,) * axes

    def function(x: Any) -> list[Any]:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.nn.pool(x, window, "AVG", [strides] * axes, padding, dilations=[dilations] * axes)
                loss = y * y * y
            slope = tape.gradient(loss, x)
            moved = slope * x
        return [y, slope, outer.gradient(moved, x)]

    if shape[-1] == 1:
        want, found = function(tf.constant(x)), tf.function(function, jit_compile=True)(tf.constant(x))
        for a, b in zip(found, want, strict=True):
            assert_same_bits(a.numpy(), b.numpy())
    else:
        assert ROUTINE in kinds(same(function, [x]))
        if dtype == np.float32:
            same(function, [x], [(None, *[None] * (len(shape) - 2), shape[-1])])


def test_narrow_convolutions_and_products_are_rows() -> None:
    x, kernel, w = real(2, 6, 6, 3), real(3, 3, 3, 4), real(4, 5)
    for dtype in ("float16", "bfloat16"):

        def function(x: Any, kernel: Any, w: Any, dtype: str = dtype) -> list[Any]:
            x, kernel, w = tf.cast(x, dtype), tf.cast(kernel, dtype), tf.cast(w, dtype)
            with tf.GradientTape() as tape:
                tape.watch((x, kernel, w))
                y = tf.nn.relu(tf.nn.convolution(x, kernel, 1, "SAME")) @ w
                loss = y * y
            return [tf.cast(each, "float32") for each in (y, *tape.gradient(loss, (x, kernel, w)))]

        same(function, [x, kernel, w])


def test_rounds_with_means_are_native() -> None:
    def function(x: Any, n: Any) -> list[Any]:
        def step(i: Any, x: Any) -> Any:
            y = tf.nn.avg_pool2d(x, 3, 1, "SAME")
            return i + 1, x * 0.5 + y

        return [tf.while_loop(lambda i, _: i < n, step, (tf.constant(0), x))[1]]

    assert {REPEAT, ROUTINE} <= kinds(same(function, [real(2, 6, 6, 3), np.int32(5)]))
