"""Slices at positions that are data, running sums, solutions and factors are steps of a plan's native call on the CPU too, with
the bits and the errors of the eager op, in loops as well."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.cpu.runtime import indexing, lapack
from graphad.compiler.plan.host import HostPlan
from graphad.core.errors import InternalError
from graphad.kernels import forms
from graphad.tools.explain import explain

_rng = np.random.default_rng(7)


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    if np.dtype(dtype).kind == "i":
        return tf.constant(_rng.integers(-(2**30), 2**30, shape).astype(dtype))
    return tf.constant(_rng.normal(size=shape).astype(dtype))


def places(below: int, *shape: int, dtype: Any = np.int32, least: int = 0) -> Any:
    return tf.constant(_rng.integers(least, below, shape).astype(dtype))


def positive(*shape: int, dtype: Any = np.float32) -> Any:
    x = _rng.normal(size=shape)
    return tf.constant((x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype))


def kinds(f: Any, *given: Any) -> set[str]:
    return {
        line.split()[1].rstrip(":")
        for line in explain(f)(*given).units.splitlines()
        if line[:3].strip().isdigit()
    }


def agrees(function: Callable[..., Any], *given: Any, routine: str = "routine") -> Any:
    """The compiled function, which has the bits of the eager one and no step in Python."""
    f = tf.function(function, jit_compile=True)
    for _ in range(2):
        wants, found = tf.nest.flatten(function(*given)), tf.nest.flatten(f(*given))
        for want, got in zip(wants, found, strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            assert got.numpy().tobytes() == want.numpy().tobytes()
    seen = kinds(f, *given)
    assert routine in seen and not seen & {"host", "host:"}, seen
    return f


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    def differentiated(x: Any, *rest: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(function(x, *rest) ** 3)
        return tf.convert_to_tensor(tape.gradient(y, x))

    return differentiated


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_lookups_along_an_axis(axis: int, index: Any, dtype: Any) -> None:
    x = numbers(5, 6, 4, dtype=dtype)
    i = places(x.shape[axis], 3, 2, dtype=index)

    def look(x: Any, i: Any) -> Any:
        return tf.gather(x + 1, i, axis=axis) * 2

    agrees(look, x, i)
    if np.dtype(dtype).kind == "f":
        agrees(gradient(look), x, i)
        both = places(6, 5, 3, dtype=index)
        agrees(lambda x, i: tf.gather(x, i, axis=1, batch_dims=1) + 0, x, both)
        agrees(gradient(lambda x, i: tf.gather(x, i, axis=1, batch_dims=1)), x, both)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, np.complex64, np.complex128])
def test_lookups_move_elements_of_any_size(dtype: Any) -> None:
    x = tf.constant(np.asarray(_rng.normal(size=(5, 3)) > 0, dtype))
    agrees(lambda x, i: tf.gather(x, i), x, places(5, 7))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_coordinates(depth: int, dtype: Any) -> None:
    i = places(4, 30, depth)
    x, rows = numbers(5, 4, 4, dtype=dtype), numbers(30, *(5, 4, 4)[depth:], dtype=dtype)
    agrees(lambda x, i: tf.gather_nd(x, i) + 1, x, i)
    agrees(lambda u, i: tf.scatter_nd(i, u, [5, 4, 4]) + 1, rows, i)
    agrees(lambda x, i, u: tf.tensor_scatter_nd_update(x, i, u) + 1, x, i, rows)
    agrees(lambda x, i, u: tf.tensor_scatter_nd_add(x, i, u), x, i, rows)
    agrees(lambda x, i: tf.gather_nd(x, i, batch_dims=1) + 0, numbers(3, 4, 2), places(4, 3, 5, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("name", ["tensor_scatter_nd_max", "tensor_scatter_nd_min"])
def test_extremes_with_what_is_there(name: str, dtype: Any) -> None:
    scatter = getattr(tf, name)
    x, i = np.array(numbers(5, 3, dtype=dtype)), places(5, 30, 1)
    updates = np.array(numbers(30, 3, dtype=dtype))
    if np.dtype(dtype).kind == "f":
        x[0], x[1, 0], updates[3, 1], updates[4] = np.inf, np.nan, np.nan, -np.inf
    agrees(lambda x, i, u: scatter(x, i, u) + 1, tf.constant(x), i, tf.constant(updates))
    agrees(lambda x, i, u: scatter(x, i, u), tf.constant(x), places(3, 30, 2), tf.constant(updates[:, 0]))

    def in_a_loop(x: Any, i: Any, u: Any) -> Any:
        for k in tf.range(4):
            x = scatter(x, i + k, u) + tf.cast(k, x.dtype)
        return x

    few = places(2, 6, 1)
    agrees(in_a_loop, tf.constant(x), few, tf.constant(updates[:6]), routine="repeat")
    if np.dtype(dtype).kind == "f":
        agrees(
            gradient(lambda x, i, u: scatter(x, i, u)), numbers(5, 3, dtype=dtype), i, tf.constant(updates)
        )


def test_extremes_outside_are_the_error_of_the_op() -> None:
    f = tf.function(lambda x, i: tf.tensor_scatter_nd_max(x, i, [1.0, 2.0]) + 1, jit_compile=True)
    assert f(tf.zeros(3), [[0], [2]]).numpy().tolist() == [2, 1, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"tensor_scatter_nd_max: .*3"):
        f(tf.zeros(3), [[0], [3]])


def test_counts_of_a_fixed_length_have_a_known_shape() -> None:
    def count(x: Any) -> Any:
        found = tf.math.bincount(x, minlength=6, maxlength=6)
        assert found.shape == (6,)
        return tf.gather(tf.cumsum(found), tf.minimum(x, 5))

    agrees(count, places(9, 40))
    agrees(lambda x: tf.math.bincount(x, minlength=7, maxlength=5) + 1, places(9, 40))
    assert tf.math.bincount([1, 8], minlength=7, maxlength=5).shape == (5,)
    assert tf.math.bincount([1, 2], minlength=2, maxlength=5).shape == (3,)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_segments_with_ids_that_are_left_out(dtype: Any) -> None:
    x, ids = numbers(300, 3, dtype=dtype), places(6, 300, least=-2)
    agrees(lambda x, ids: tf.math.unsorted_segment_sum(x, ids, 7) + 1, x, ids)
    agrees(
        lambda x, ids: tf.math.unsorted_segment_sum(x, ids, 7), numbers(4, 6, 2), places(3, 4, 6, least=-1)
    )
    if np.dtype(dtype).kind == "f":
        agrees(gradient(lambda x, ids: tf.math.unsorted_segment_sum(x, ids, 7)), x, ids)


def test_elements_along_the_last_axis_count_from_the_end_where_they_are_negative() -> None:
    x, i = numbers(4, 6), places(6, 4, 9, least=-6)
    along = tf.numpy.take_along_axis
    agrees(lambda x, i: tf.convert_to_tensor(along(x, i, -1)) + 0, x, i)
    agrees(gradient(lambda x, i: along(x, i, 1)), x, i)


def running(way: Any, axis: int, exclusive: bool, reverse: bool, x: Any) -> Any:
    return way(x, axis, exclusive=exclusive, reverse=reverse) + 1


@pytest.mark.parametrize("way", [tf.cumsum, tf.math.cumprod])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_running_sums_and_products(axis: int, dtype: Any, way: Any) -> None:
    x = numbers(3, 5, 4, dtype=dtype)
    for exclusive in (False, True):
        for reverse in (False, True):
            agrees(functools.partial(running, way, axis, exclusive, reverse), x)
    agrees(functools.partial(running, way, -1, False, False), numbers(2, 3000, dtype=dtype))
    signed = tf.constant(np.asarray([[-0.0, -0.0, 0.0, -1.0]] * 2, np.float32))
    agrees(lambda x: way(tf.transpose(x), 0), signed)
    agrees(lambda x: way(x, 1), signed)


def solved(adjoint: bool, x: Any, y: Any) -> Any:
    return tf.linalg.solve(x, y, adjoint=adjoint) * 2


def substituted(lower: bool, adjoint: bool, x: Any, y: Any) -> Any:
    return tf.linalg.triangular_solve(x, y, lower=lower, adjoint=adjoint) * 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 7, 33])
def test_factors_and_solutions(n: int, dtype: Any) -> None:
    a, b = positive(3, n, n, dtype=dtype), numbers(3, n, 2, dtype=dtype)
    c = a + numbers(3, n, n, dtype=dtype)
    for x, y, z in ((a, b, c), (a[0], b[0], c[0]), (a[:, None], b, c[:, None])):
        agrees(lambda x: tf.linalg.cholesky(x) * 2, x)
        for adjoint in (False, True):
            agrees(functools.partial(solved, adjoint), z, y)
            for lower in (False, True):
                agrees(functools.partial(substituted, lower, adjoint), z, y)
    agrees(lambda x, y: tf.linalg.solve(tf.linalg.matrix_transpose(x), y), c, b)
    agrees(lambda x, y: tf.linalg.solve(x, y), c, b[0])


def test_sizes_that_are_not_known_and_none() -> None:
    vector, matrix = tf.TensorSpec([None], tf.int32), tf.TensorSpec([None, None])

    @tf.function(jit_compile=True, input_signature=[matrix, vector, tf.TensorSpec([None, None, None])])
    def f(x: Any, i: Any, a: Any) -> Any:
        return tf.gather(x, i) + 1, tf.cumsum(x, 1) * 2, tf.linalg.cholesky(a) * 2

    for rows, columns, count, stack, n in (
        (3, 4, 6, 2, 3),
        (2, 5, 1, 1, 4),
        (3, 0, 2, 0, 3),
        (2, 2, 0, 2, 0),
        (4, 1, 3, 1, 1),
    ):
        x, i, a = (
            numbers(rows, columns),
            places(rows, count),
            positive(stack, n, n) if n else tf.zeros([stack, 0, 0]),
        )
        found = f(x, i, a)
        for got, want in zip(
            found, (tf.gather(x, i) + 1, tf.cumsum(x, 1) * 2, tf.linalg.cholesky(a) * 2), strict=True
        ):
            assert got.shape == want.shape and got.numpy().tobytes() == want.numpy().tobytes()


@pytest.mark.parametrize(
    ("function", "given", "words"),
    [
        (
            lambda x, i: tf.gather(x + 1, i),
            (numbers(5, 2), [1, 5]),
            r"gather: indices\[1\] = 5 is not in \[0, 5\)",
        ),
        (
            lambda x, i: tf.gather(x + 1, i),
            (numbers(5, 2), [-1, 0]),
            r"gather: indices\[0\] = -1 is not in \[0, 5\)",
        ),
        (lambda x, i: tf.gather(x + 1, i, axis=1), (numbers(0, 3), [3]), r"gather: indices\[0\] = 3"),
        (lambda x, i: tf.gather_nd(x + 1, i), (numbers(5, 2), [[4, 2]]), r"gather_nd: indices\[0\] = 2"),
        (
            lambda x, i: tf.scatter_nd(i, x + 1, [3]),
            (numbers(2), [[0], [3]]),
            r"scatter_nd: indices\[1\] = 3",
        ),
        (
            lambda x, i: tf.math.unsorted_segment_sum(x + 1, i, 2),
            (numbers(2), [0, 2]),
            "unsorted_segment_sum: segment_ids holds 2, num_segments is 2",
        ),
    ],
)
def test_a_position_outside_is_the_op_s_error(function: Any, given: Any, words: str) -> None:
    f = tf.function(function, jit_compile=True)
    x, i = given[0], tf.constant(given[1], tf.int32)
    f(x, tf.zeros_like(i))
    for _ in range(2):
        with pytest.raises((IndexError, ValueError), match=words):
            f(x, i)
    assert "routine" in kinds(f, x, tf.zeros_like(i))


def test_matrices_without_an_answer_and_with_nan() -> None:
    f = tf.function(lambda x: tf.linalg.cholesky(x) + 0, jit_compile=True)
    good, bad = positive(2, 3, 3), tf.constant(-np.eye(3, dtype=np.float32)[None])
    f(good)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"cholesky: .*positive\s+definite"):
        f(tf.concat([good[:1], bad], 0))
    broken = good.numpy()
    broken[1, 0, 0] = np.nan
    assert np.array_equal(f(tf.constant(broken)).numpy(), tf.linalg.cholesky(broken).numpy(), equal_nan=True)
    for places in ([(0, 2, 1)], [(1, 0, 1), (0, 2, 0)], [(0, 0, 0), (1, 1, 0)]):
        for value in (np.nan, np.inf, -np.inf):
            broken = good.numpy()
            broken[tuple(zip(*places, strict=True))] = value
            with pytest.MonkeyPatch.context() as patch:  # a native run has the answer
                patch.setattr(HostPlan, "run", lambda *_: pytest.fail("the run was made again"))
                found = f(tf.constant(broken)).numpy()
            assert found.tobytes() == tf.linalg.cholesky(broken).numpy().tobytes()
    broken[0] = -np.eye(3)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"cholesky: .*positive\s+definite"):
        f(tf.constant(broken))
    g = tf.function(lambda a, b: tf.linalg.solve(a, b) + 0, jit_compile=True)
    g(good, good)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        g(tf.ones([2, 3, 3]), good)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.complex128])
def test_diagonals_and_bands(dtype: Any) -> None:
    x, d = tf.constant(np.arange(30).reshape(2, 3, 5).astype(dtype)), tf.constant(np.full((2, 3), 7, dtype))
    for lower, upper in ((0, 0), (-1, 0), (0, -1), (1, 2), (-1, -1), (9, 1)):
        agrees(functools.partial(banded, lower, upper), x)
        agrees(functools.partial(banded, lower, upper), x[:, :, :2])
    agrees(tf.linalg.set_diag, x, d, routine="parts")
    agrees(lambda x: tf.linalg.diag_part(x) + 1, tf.constant(np.ones((2, 3, 5), np.float32)), routine="loop")
    agrees(turned_and_set, x, d, routine="parts")


def turned_and_set(x: Any, d: Any) -> Any:
    return tf.linalg.diag_part(tf.linalg.set_diag(tf.linalg.matrix_transpose(x), d))


def banded(lower: int, upper: int, x: Any) -> Any:
    return tf.linalg.band_part(x, lower, upper)


def test_a_log_likelihood_and_its_gradient_are_one_call() -> None:
    def slopes(k: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(k)
            factor = tf.linalg.cholesky(k)
            z = tf.linalg.triangular_solve(factor, y)
            total = tf.reduce_sum(z * z) + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(factor)))
        return total, tape.gradient(total, k)

    f = tf.function(slopes, jit_compile=True)
    k, y = positive(4, 9, 9, dtype=np.float64), numbers(4, 9, 1, dtype=np.float64)
    for got, want in zip(f(k, y), slopes(k, y), strict=True):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-10, atol=1e-12)
    assert "host" not in kinds(f, k, y)


def filtered(a: Any, h: Any, ys: Any) -> Any:
    """A Kalman filter, whose rounds solve."""
    n, m = a.shape[0], h.shape[0]

    def step(i: Any, x: Any, p: Any, total: Any) -> Any:
        x, p = a @ x, a @ p @ tf.transpose(a) + 0.1 * tf.eye(n)
        v, s = tf.reshape(ys[i], [m, 1]) - h @ x, h @ p @ tf.transpose(h) + 0.2 * tf.eye(m)
        gain = tf.transpose(tf.linalg.solve(s, h @ p))
        return i + 1, x + gain @ v, p - gain @ h @ p, total + tf.reduce_sum(v * tf.linalg.solve(s, v))

    start = (tf.constant(0), tf.zeros([n, 1]), tf.eye(n), tf.constant(0.0))
    return tf.while_loop(lambda i, *_: i < len(ys), step, start, maximum_iterations=len(ys))[-1]


def test_a_loop_whose_rounds_solve_is_native() -> None:
    a, h, ys = numbers(4, 4) * 0.3, numbers(2, 4), numbers(9, 2)
    f = tf.function(filtered, jit_compile=True)
    np.testing.assert_allclose(
        f(a, h, ys).numpy(), filtered(a, h, ys).numpy(), rtol=1e-3
    )  # products may be summed otherwise
    assert "repeat" in kinds(f, a, h, ys) and "host" not in kinds(f, a, h, ys)

    def slope(a: Any, h: Any, ys: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = filtered(a, h, ys)
        return tape.gradient(y, a)

    g = tf.function(slope, jit_compile=True)
    np.testing.assert_allclose(g(a, h, ys).numpy(), slope(a, h, ys).numpy(), rtol=1e-3, atol=1e-3)
    assert "host" not in kinds(g, a, h, ys)


def test_an_error_in_a_round_is_the_op_s_own() -> None:
    @tf.function(jit_compile=True)
    def f(a: Any, i: Any) -> Any:
        return tf.while_loop(
            lambda k, x: k < 3, lambda k, x: (k + 1, tf.gather(x, i) + a), (0, tf.ones([4]))
        )[1]

    i = places(4, 4)
    assert f(tf.ones([4]), i).shape == (4,) and "repeat" in kinds(f, tf.ones([4]), i)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"gather: indices\[1\] = 9"):
        f(tf.ones([4]), tf.constant([0, 9, 0, 0]))


def test_nothing_is_assigned_where_there_is_no_answer() -> None:
    total, table = tf.Variable(tf.zeros([2])), tf.Variable(tf.ones([5, 2]))

    @tf.function(jit_compile=True)
    def one_call(i: Any) -> Any:
        total.assign_add(tf.reduce_sum(tf.gather(table, i), 0))
        return total + 1

    @tf.function(jit_compile=True)
    def several(i: Any) -> Any:
        rows = tf.gather(table, i) * 2
        table.scatter_nd_add(i[:, None], rows)
        total.assign_add(tf.reduce_sum(rows, 0))
        return tf.reduce_sum(rows)

    for f in (one_call, several):
        f(tf.constant([0, 1]))
        before = total.numpy(), table.numpy()
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"gather: indices\[0\] = 5"):
            f(tf.constant([5, 1]))
        assert (total.numpy() == before[0]).all() and (table.numpy() == before[1]).all()
        assert "routine" in kinds(f, tf.constant([0, 1]))


def test_behind_an_act_a_lookup_stays_a_step_in_python() -> None:
    table, seen = tf.Variable(tf.ones([5, 2])), tf.Variable(0.0)

    @tf.function(jit_compile=True)
    def f(i: Any) -> Any:
        seen.assign_add(1.0)
        table.scatter_nd_add([[0]], tf.ones([1, 2]))
        return tf.gather(table, i) + 1

    f(tf.constant([0, 1]))
    assert "routine" not in kinds(f, tf.constant([0, 1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"gather: indices\[0\] = 5"):
        f(tf.constant([5, 1]))
    assert seen.numpy() == 2 and table.numpy()[0, 0] == 3


def test_what_stays_a_step_in_python_says_why() -> None:
    table = tf.Variable(tf.ones([5, 2]))
    i = tf.constant([[0], [1]])

    def changed(x: Any) -> Any:
        table.scatter_nd_add(i, x)
        return x + 1

    cases: list[tuple[Any, Any, str]] = [
        (changed, tf.ones([2, 2]), "who holds the variable's array"),
        (
            lambda x: tf.math.unsorted_segment_sum(x, [0, 0], 1) + 1,
            tf.ones([2], tf.float16),
            "where it writes",
        ),
        (lambda x: tf.math.cumulative_logsumexp(x) + 1, tf.ones([2]), "continues the one before"),
        *[
            (
                lambda x, f=f: f(tf.cast(x * 2, tf.complex64)),
                positive(3, 3),
                "a matrix is factorised as a whole",
            )
            for f in (
                tf.linalg.svd,
                tf.linalg.eigh,
                tf.linalg.qr,
                tf.linalg.slogdet,
                tf.linalg.inv,
            )
        ],
        (
            lambda x: tf.linalg.cholesky(tf.cast(x * 2, tf.complex64)),
            positive(3, 3),
            "a matrix is factorised as a whole",
        ),
        (
            lambda x: tf.linalg.triangular_solve(x * 2, x),
            positive(60, 60),
            "a matrix is factorised as a whole",
        ),
        (
            lambda x: tf.while_loop(
                lambda i, x: i < 3, lambda i, x: (i + 1, x * 0.5 + tf.abs(tf.linalg.lu(x)[0]) + 1), (0, x)
            ),
            positive(33, 33),
            "calls NumPy in each round for: lu; reads %1; writes %",
        ),
    ]
    for function, given, words in cases:
        text = explain(tf.function(function, jit_compile=True))(given).units
        assert f"as a NumPy call: {words}" in text or words in text, text


def test_shapes_that_do_not_fit_make_no_step() -> None:
    with pytest.raises(InternalError, match="take of shapes"):
        indexing.indexed(forms.Indexed("take", 0, 0), "float32", 4, 4, [(5, 2), (3,), (4, 2)])
    with pytest.raises(InternalError, match="put of shapes"):
        indexing.indexed(forms.Indexed("put", 0, 0, True), "float32", 4, 4, [(5, 2), (3, 1), (3, 2), (5, 3)])


def test_numpy_s_library_has_the_routines_here() -> None:
    assert lapack.has_routines()


def test_a_stack_of_larger_triangles_is_solved_matrix_by_matrix() -> None:
    pytest.importorskip("scipy")
    a, b = positive(2, 60, 60), numbers(2, 60, 3)
    for adjoint in (False, True):
        found = tf.linalg.triangular_solve(a, b, adjoint=adjoint).numpy()
        for k in range(2):
            assert (found[k] == tf.linalg.triangular_solve(a[k], b[k], adjoint=adjoint).numpy()).all()
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        tf.linalg.triangular_solve(a * tf.constant([[[1.0]], [[0.0]]]), b)
