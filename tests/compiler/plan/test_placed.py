"""Parts of arrays at places that only the run knows are rows of the native call, in loops and outside, with the bits and errors
of eager ops; slices have the size of their bounds' difference, and another one where they are clipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.backend import RESULT
from graphad.compiler.cpu.runtime import blas, placing
from graphad.compiler.plan.executable import MOST_MISSES, Executable
from graphad.compiler.plan.tiers import Compilation
from graphad.core.errors import InternalError
from graphad.kernels.forms import Placed
from graphad.tools.explain import explain
from graphad.trace.tracer import trace_flat

_rng = np.random.default_rng(41)


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return tf.constant(
        _rng.normal(size=shape).astype(dtype)
        if dtype != np.int32
        else np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    )


def agrees(f: Any, *given: Any, sums: bool = False) -> Any:
    """The compiled function, with the bits of eager calls, up to the order of `sums`."""
    compiled = (
        f if isinstance(f, tf.types.experimental.PolymorphicFunction) else tf.function(f, jit_compile=True)
    )
    wants = tf.nest.flatten(compiled.python_function(*given))
    for _ in range(2):
        for want, got in zip(wants, tf.nest.flatten(compiled(*given)), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            if sums:
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
            else:
                assert got.numpy().tobytes() == want.numpy().tobytes()
    return compiled


def is_native(f: Any, *given: Any, sums: bool = False) -> Any:
    compiled = agrees(f, *given, sums=sums)
    units = explain(compiled)(*given).units
    assert units and "host" not in units and "calls NumPy" not in units, units
    return compiled


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.bool, tf.complex128, tf.bfloat16])
@pytest.mark.parametrize("index", [tf.int32, tf.int64])
def test_parts_at_places_that_are_data(dtype: Any, index: Any) -> None:
    x = tf.cast(tf.reshape(tf.range(6 * 5 * 4), [6, 5, 4]) % 7, dtype)

    def f(x: Any, i: Any, j: Any) -> Any:
        y = tf.concat([x, x], 0)
        found = [
            y[i, j],
            y[i, :, j],
            y[i : i + 3],
            y[:, j : j + 2, 1],
            y[i, None, j : j + 2],
            y[1, i : i + 4 : 2, j : j + 1],
        ]
        return [*found, y[-i - 1], y[i - 3 : i - 1], tf.slice(y, [i, 0, j], [2, -1, 1])]

    is_native(f, x, tf.constant(1, index), tf.constant(2, index))


def test_writing_and_derivatives_at_places_that_are_data() -> None:
    def f(x: Any, i: Any, j: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = x[i : i + 2, j : j + 3] * x[j, i] + x[i, j : j + 3]
            loss = tf.reduce_sum(z * z)
        return loss, tape.gradient(loss, x), x.at[i : i + 2, j].set(tf.constant([1.0, -1.0]))

    is_native(f, numbers(7, 5), tf.constant(3), tf.constant(1), sums=True)


def test_rounds_read_slices_at_places_that_they_compute() -> None:
    x = numbers(32, 5)

    def windows(x: Any) -> Any:
        s, j = tf.zeros([4, 5]), tf.constant(1)
        for i in tf.range(9):
            s = s * 0.5 + x[j : j + 4] + tf.slice(x, [i * 2, 0], [4, 5]) + x[3 * i : 3 * (i + 1) + 1]
            j = (j * 7 + 3) % 25
        return s

    def minibatches(x: Any, w: Any) -> Any:
        for start in tf.range(0, 32, 8):
            rows = x[start : tf.minimum(start + 8, 32)]
            w = w - 0.1 * tf.reduce_sum(rows * (tf.reduce_sum(rows * w, 1) - 1.0)[:, None], 0)
        return w

    def elements(x: Any) -> Any:
        total, j = 0.0, tf.constant(1)
        for i in tf.range(20):
            total, j = total * 0.5 + x[i, j], (j * 3 + i) % 5
        return total

    is_native(windows, x), is_native(minibatches, x, numbers(5), sums=True), is_native(elements, x)


def test_a_column_at_a_place_that_rounds_compute_is_added() -> None:
    def f(x: Any) -> Any:
        s, j = tf.zeros([6]), tf.constant(1)
        for _ in tf.range(4):
            s, j = s + x[:, j], (j * 3 + 1) % 5
        return s

    is_native(f, numbers(6, 5))


def test_slices_that_are_clipped_have_their_own_size() -> None:
    @tf.function(jit_compile=True)
    def f(x: Any, i: Any) -> Any:
        return x[i : i + 4] * 2.0

    x = numbers(10)
    for i in (2, 6, 8, 12, -3, -5, 0, 3):  # of 8 there are two numbers, of -3 none, of 12 none
        agrees(f, x, tf.constant(i))
    for _ in range(2 * MOST_MISSES):
        agrees(f, x, tf.constant(8))
    agrees(f, x, tf.constant(2))


def test_runs_that_are_clipped_each_time_do_not_assume_sizes_for_long() -> None:
    x, inside, outside = numbers(10), tf.constant(3), tf.constant(8)
    made = Executable(trace_flat(lambda x, i: [x[i : i + 4] * 2.0], [x.spec, inside.spec]).graph)

    def run(i: Any) -> bool:
        (found,) = made.run([x.numpy(), i.numpy()], jit_compile=True)
        assert found.tobytes() == (x[i : i + 4] * 2.0).numpy().tobytes()
        return made.classes[0].compilation.assumes

    assert all(run(i) for _ in range(3) for i in (outside, outside, inside, inside))
    assert [run(outside) for _ in range(MOST_MISSES)] == [True] * (MOST_MISSES - 1) + [False]
    assert not run(inside) and not run(outside)


def test_a_plan_that_another_thread_gives_up_while_it_is_bound_is_not_used(monkeypatch: Any) -> None:
    x, inside, outside = numbers(10), tf.constant(3), tf.constant(8)
    made = Executable(trace_flat(lambda x, i: [x[i : i + 4] * 2.0], [x.spec, inside.spec]).graph)
    bind = Compilation.bind

    def late(compilation: Compilation, sizes: Any) -> Any:
        found = bind(compilation, sizes)
        if compilation.assumes:
            for _ in range(MOST_MISSES):
                made._missed(made.classes[0])
        return found

    monkeypatch.setattr(Compilation, "bind", late)
    (found,) = made.run([x.numpy(), inside.numpy()], jit_compile=True)
    assert found.tobytes() == (x[3:7] * 2.0).numpy().tobytes()
    assert made.sizes_of([x.numpy(), inside.numpy()]).native is None
    (found,) = made.run([x.numpy(), outside.numpy()], jit_compile=True)
    assert found.tobytes() == (x[8:] * 2.0).numpy().tobytes()


def test_places_outside_are_errors_of_the_op() -> None:
    x = numbers(6, 4)
    block = tf.function(lambda x, i: tf.slice(x, [i, 1], [2, 2]) + 1.0, jit_compile=True)
    entry = tf.function(lambda x, i: x[i, i - 1] + 1.0, jit_compile=True)
    for f, bad, error in (
        (block, (5, -1, 7), tf.errors.InvalidArgumentError),
        (entry, (6, 5, -7), tf.errors.OutOfRangeError),
    ):
        f(x, tf.constant(2))
        for i in bad:
            with pytest.raises(error) as eager:
                f.python_function(x, tf.constant(i))
            with pytest.raises(error) as found:
                f(x, tf.constant(i))
            assert str(found.value) == str(eager.value)
        agrees(f, x, tf.constant(1))


def test_an_error_that_an_assumed_size_would_make_is_not_seen() -> None:
    @tf.function(jit_compile=True)
    def f(x: Any, y: Any, i: Any) -> Any:
        return x[i : i + 4] + y  # two numbers and two numbers

    agrees(f, numbers(10), numbers(2), tf.constant(8))
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(numbers(10), numbers(2), tf.constant(1))


def test_variables_that_rounds_with_slices_assign_are_assigned_once() -> None:
    v = tf.Variable(np.zeros(5, np.float32))
    data = numbers(10, 5)

    @tf.function(jit_compile=True)
    def f(x: Any, step: Any) -> Any:
        for i in tf.range(3):
            v.assign_add(tf.reduce_sum(x[i * step : (i + 1) * step], 0) * 0.25)
        return v + 0.0

    for step in (3, 4):  # the last slice of 4 is clipped
        wants = []
        for run in (f.python_function, f, f):
            v.assign(tf.zeros([5]))
            wants.append(run(data, step).numpy().tobytes())
        assert wants[0] == wants[1] == wants[2]


@pytest.mark.parametrize("seed", range(40))
def test_a_step_has_numpys_meaning_of_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rng.integers(1, 6, 3))
    key: list[Any] = []
    bounds: list[Any] = []
    given: list[Any] = []

    def number() -> Any:
        given.append(np.int32(rng.integers(-7, 7)) if rng.random() < 0.5 else np.int64(rng.integers(-7, 7)))
        return ("at", len(given))

    for _ in range(3):
        kind = rng.integers(4) if len([b for b in bounds if b[0] != "fixed"]) < 2 else 0
        if kind == 0:
            key.append(slice(None)), bounds.append(("fixed", 0, None, 1))
        elif kind == 1:
            bounds.append(("index", number(), None, 1)), key.append(given[-1])
        else:
            low, step = number(), int(rng.integers(1, 4))
            a = given[-1]
            high, b = (number(), given[-1]) if kind == 2 else (None, None)
            (
                bounds.append(("slice", low, high, step)),
                key.append(slice(a, given[-1] if kind == 2 else b, step)),
            )
    try:
        want = np.ascontiguousarray(x[tuple(key)])
    except IndexError:
        want = None
    shape = tuple(1 for b in bounds if b[0] != "index") if want is None else want.shape
    form = Placed("take", tuple(bounds))
    arrays = [x, *given]
    dtypes = ["float64", *[str(n.dtype) for n in given], "float64"]
    found = np.full(shape, np.nan)
    held = {k: np.atleast_1d(each) if k else each for k, each in enumerate(arrays)} | {RESULT: found}
    shapes = [np.shape(each) for each in arrays]
    has_answer = blas.run_parts(placing.parts(form, dtypes, [*shapes, shape]), held)
    assert has_answer == (want is not None)
    if want is not None:
        np.testing.assert_array_equal(found, want)
        for way in ("put", "spread"):
            own = [x, want] if way == "put" else [want]
            given_dtypes = ["float64"] * len(own) + dtypes[1:]
            result = np.full(x.shape, np.nan)
            held = dict(enumerate([*own, *[np.atleast_1d(n) for n in given]])) | {RESULT: result}
            shapes = [*[each.shape for each in own], *[() for _ in given], x.shape]
            assert blas.run_parts(placing.parts(Placed(way, tuple(bounds)), given_dtypes, shapes), held)
            other = x.copy() if way == "put" else np.zeros_like(x)
            other[tuple(key)] = want
            np.testing.assert_array_equal(result, other)
        if 0 not in want.shape and want.ndim:
            larger = tuple(n + 1 for n in want.shape)
            with_room = {k: np.atleast_1d(each) if k else each for k, each in enumerate(arrays)}
            try:
                made = placing.parts(form, dtypes, [*[np.shape(e) for e in arrays], larger])
            except InternalError:
                return  # a part that does not fit what is fixed
            assert not blas.run_parts(made, with_room | {RESULT: np.empty(larger)})


def test_a_size_is_not_assumed_where_only_the_shape_of_a_slice_is_used() -> None:
    """Nothing would see that the slice is clipped, as its elements are not read."""

    def sizes(x: Any, i: Any) -> Any:
        y = x[i : i + 4]
        return tf.shape(y)[0], tf.zeros_like(y), x * tf.cast(tf.size(y), tf.float32)

    def of_two(x: Any, i: Any, j: Any) -> Any:  # the other one is checked
        return x[i : i + 4] * 2.0, tf.ones_like(x[j : j + 4]) * 3.0

    def in_rounds(x: Any, i: Any) -> Any:
        total = tf.constant(0)
        for k in tf.range(3):
            total += tf.size(x[i + k : i + k + 4]) * k
        return total, x * 2.0

    x = numbers(10)
    for start in (2, 8, -2, 20, -20):
        agrees(sizes, x, tf.constant(start))
        agrees(of_two, x, tf.constant(1), tf.constant(start))
        agrees(in_rounds, x, tf.constant(start))


def test_a_size_is_not_assumed_where_a_branch_uses_it_alone() -> None:
    def size(x: Any, i: Any) -> Any:
        return tf.cond(x[0] > -9.0, lambda: tf.size(x[i : i + 4]), lambda: tf.constant(1))

    def alike(x: Any, i: Any) -> Any:
        y = x[i : i + 4]
        return tf.cond(x[0] > -9.0, lambda: tf.zeros_like(x[i : i + 4]), lambda: y * 2.0)

    def of_case(x: Any, i: Any) -> Any:
        parts = [lambda: tf.zeros_like(x[i : i + 4]), lambda: tf.ones_like(x[i : i + 4])]
        return tf.switch_case(tf.abs(i) % 2, parts)

    def in_rounds(x: Any, i: Any) -> Any:
        total = tf.constant(0)
        for k in tf.range(3):
            total += tf.cond(x[k] > -9.0, lambda: tf.size(x[i + k : i + k + 4]), lambda: k)  # noqa: B023
        return total

    for f in (size, alike, of_case, in_rounds):
        for start in (2, 7, 8, -2, 20):
            agrees(f, numbers(10), tf.constant(start))


def test_a_loop_that_is_called_twice_checks_the_sizes_of_each_call() -> None:
    """Of one call the sizes alone are used; the slices that the other call reads are not those."""

    @tf.function
    def rounds(x: Any, i: Any) -> Any:
        sizes, total = tf.constant(0), tf.constant(0.0)
        for k in tf.range(3):
            y = x[i + k : i + k + 4]
            sizes += tf.size(y) * (k + 1)
            total += tf.reduce_sum(y)
        return sizes, total

    def twice(x: Any, i: Any) -> Any:
        return rounds(x, i)[0], rounds(x, tf.constant(1))[1]

    def in_branches(x: Any, i: Any) -> Any:
        sizes = tf.cond(x[0] > -9.0, lambda: rounds(x, i)[0], lambda: tf.constant(1))
        return sizes, tf.cond(x[0] > -9.0, lambda: rounds(x, tf.constant(1))[1], lambda: tf.constant(1.0))

    for start in (2, 8, -2, 20):
        agrees(twice, numbers(10), tf.constant(start), sums=True)
        agrees(in_branches, numbers(10), tf.constant(start), sums=True)


def test_the_shape_of_a_slice_is_checked_by_its_derivative() -> None:
    """The derivative of a sum does not read the slice, and writes to the same place."""

    def slope(x: Any, i: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(x[i : i + 4] * 3.0)
        return tape.gradient(loss, x)

    compiled = is_native(slope, numbers(10), tf.constant(2))
    for start in (8, -2, 20):
        agrees(compiled, numbers(10), tf.constant(start))


def test_a_size_is_not_printed_before_the_slice_is_known_to_have_it(capfd: Any) -> None:
    def f(x: Any, i: Any) -> Any:
        total = tf.constant(0.0)
        for k in tf.range(3):
            tf.print(k, tf.shape(x[i + k : i + k + 3]), output_stream="stdout")
            total += tf.reduce_sum(x[i + k : i + k + 3] * 2.0)
        return total

    def slope(x: Any, i: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            tf.print(tf.shape(x[i : i + 4]), output_stream="stdout")
            loss = tf.reduce_sum(x[i : i + 4])
        return tape.gradient(loss, x)

    for each in (f, slope):
        compiled = tf.function(each, jit_compile=True)
        for start in (1, 8, 6, -2):
            each(numbers(10), tf.constant(start))
            wanted = capfd.readouterr().out
            compiled(numbers(10), tf.constant(start))
            assert capfd.readouterr().out == wanted


def test_a_later_slice_of_another_array_does_not_check_a_size_that_is_printed(capfd: Any) -> None:
    """The same bounds along as many rows would be checked by it, but only once the size is out."""

    def behind(x: Any, z: Any, i: Any) -> Any:
        tf.print(tf.shape(x[i : i + 4]), output_stream="stdout")
        for k in tf.range(2):
            tf.print(k, output_stream="stdout")
            z = tf.tanh(z)
        return z[i : i + 4] * 2.0

    def in_rounds(x: Any, z: Any, i: Any) -> Any:
        total = tf.constant(0.0)
        for k in tf.range(3):
            tf.print(k, tf.shape(x[i + k : i + k + 3]), output_stream="stdout")
            total += tf.reduce_sum(z[i + k : i + k + 3] * 2.0)
        return total

    for each in (behind, in_rounds):
        compiled = tf.function(each, jit_compile=True)
        for start in (1, 8, 20, -2):
            each(numbers(10), numbers(10), tf.constant(start))
            wanted = capfd.readouterr().out
            compiled(numbers(10), numbers(10), tf.constant(start))
            assert capfd.readouterr().out == wanted
