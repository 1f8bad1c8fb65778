"""Functions and rules that compute few elements, or none, in the longer of two ways have the results of that way for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
import graphad.numpy as gnp
from graphad.core.registry import lookup
from graphad.ops import repeated
from graphad.ops.choice import quotient

RNG = np.random.default_rng(23)


def _around(edges: np.ndarray) -> np.ndarray:
    """Numbers, the next ones below them and the next ones above."""
    return np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])


def _slope_with_recorded_bits(function: Callable[[Any], Any], x: Any) -> Any:
    """The gradient by one tape, which has the bits of that whose steps an outer tape sees, for all elements."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    alone = tape.gradient(y, x)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        recorded = inner.gradient(y, x)
    assert alone.numpy().tobytes() == recorded.numpy().tobytes()
    return alone


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("low", "high", "count"),
    [
        (-3.0, 3.0, 100),
        (0.0, 1.0, 3),
        (-0.1, 0.7, 1000),
        (1000.0, 1000.5, 7),
        (-5e-3, 2e-3, 41),
        (-1.0, 9e5, 1),
    ],
)
def test_bins_of_numbers_next_to_their_edges_are_those_of_float64(
    low: float, high: float, count: int, dtype: str
) -> None:
    low, high = float(np.dtype(dtype).type(low)), float(np.dtype(dtype).type(high))
    edges = (low + (high - low) * np.arange(count + 1) / count).astype(dtype)
    inside = RNG.uniform(low, high, 70_000).astype(dtype)
    outside = RNG.uniform(low - (high - low), high + (high - low), 5_000).astype(dtype)
    for x in (np.concatenate([_around(edges), inside, outside]), inside, inside[:9]):
        found = tf.histogram_fixed_width_bins(x, [low, high], count).numpy()
        at = (x.astype(np.float64) - low) / (high - low) * count
        np.testing.assert_array_equal(found, np.clip(at, 0, count - 1).astype(np.int32))


def test_bins_of_numbers_far_away_are_the_first_and_the_last() -> None:
    x = np.float32([-1e30, -1e9, 0.5, 1e9, 1e30])
    np.testing.assert_array_equal(tf.histogram_fixed_width_bins(x, [0.0, 1.0], 4).numpy(), [0, 0, 2, 3, 3])


@pytest.mark.parametrize("sizes", [(1000, 1000), (1000, 3), (1, 1), (2, 500), (65, 64)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int32"])
def test_products_of_polynomials_have_the_bits_of_the_ops(sizes: tuple[int, int], dtype: str) -> None:
    a, b = (tf.constant((RNG.normal(size=n) * 9).astype(dtype)) for n in sizes)
    found = gnp.polymul(a, b)
    assert found.dtype == a.dtype
    with tf.GradientTape():
        recorded = gnp.polymul(a, b)
    assert found.numpy().tobytes() == recorded.numpy().tobytes()
    wide = np.complex128 if dtype == "complex64" else np.float64
    wanted = np.convolve(a.numpy().astype(wide), b.numpy().astype(wide))
    size = np.convolve(np.abs(a.numpy()).astype(float), np.abs(b.numpy()).astype(float))
    tolerance = {"float16": 1e-3, "float32": 1e-6, "complex64": 1e-6}.get(dtype, 1e-14)
    assert (np.abs(found.numpy() - wanted) <= tolerance * size + (0.5 if dtype == "int32" else 0)).all()


def test_finite_numbers_are_copied_by_nan_to_num() -> None:
    x = tf.constant(RNG.normal(size=5000).astype(np.float32))
    y = gnp.nan_to_num(x)
    assert y.numpy().tobytes() == x.numpy().tobytes()
    assert not np.shares_memory(y.data, x.data)


@pytest.mark.parametrize(
    "ends", [[], [np.finfo(np.float32).max, -np.finfo(np.float32).max, -0.0], [np.nan, np.inf]]
)
def test_nan_to_num_has_one_value_and_one_gradient_eagerly_and_traced(ends: list[float]) -> None:
    x = tf.constant(np.concatenate([RNG.normal(size=3000), ends]).astype(np.float32))

    def both(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = gnp.nan_to_num(x)
        return y, tape.gradient(y, x)

    eager, traced = both(x), tf.function(both)(x)
    assert [z.numpy().tobytes() for z in eager] == [z.numpy().tobytes() for z in traced]
    np.testing.assert_array_equal(eager[1].numpy(), np.isfinite(x.numpy()))


@pytest.mark.parametrize(
    "function",
    [
        tf.math.bessel_i0e, tf.math.bessel_i1, tf.math.bessel_i1e, tf.math.special.bessel_j1, tf.math.special.bessel_y1,
        tf.math.special.bessel_k0e, tf.math.special.bessel_k1e,
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_slopes_of_bessel_functions_have_the_bits_of_what_is_recorded(function: Any, dtype: Any) -> None:
    """A tape outside of the tape sees each step for all elements."""
    numbers = np.concatenate(
        [RNG.uniform(0.01, 0.6, 500), RNG.uniform(0.5, 80, 500), [0.5, 64.0, 300.0, 0.25]]
    )
    for x in (tf.constant(numbers, dtype), tf.constant(numbers[500:1000] + 1.0, dtype)):
        alone = _slope_with_recorded_bits(function, x)
        if dtype is tf.float64:
            h = 1e-6 * x
            slope = (function(x + h) - function(x - h)) / (2 * h)
            np.testing.assert_allclose(alone, slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_the_derivative_of_a_large_exponential_is_that_of_the_doubled_matrix(dtype: str) -> None:
    op = lookup("matrix_direction")("expm")
    shape = (2, 40, 40)
    x, d = (RNG.normal(size=shape) / 6 for _ in range(2))
    if dtype.startswith("complex"):
        x, d = x + 1j * RNG.normal(size=shape) / 6, d + 1j * RNG.normal(size=shape)
    x, d = x.astype(dtype), d.astype(dtype)
    found = op.eval(x, d)
    assert found.dtype == x.dtype
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    both = np.zeros((2, 80, 80), wide)
    both[:, :40, :40] = both[:, 40:, 40:] = x
    both[:, :40, 40:] = d
    wanted = lookup("expm")().eval(both)[:, :40, 40:]
    digits = 1e-6 if dtype in ("float32", "complex64") else 1e-13
    assert np.abs(found - wanted).max() <= digits * np.abs(wanted).max()
    x[0, 3, 3] = np.nan  # which only the doubled matrix has an answer for
    assert np.isnan(op.eval(x, d)[0]).any()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_a_quotient_of_one_number_has_the_bits_of_the_quotient(dtype: str) -> None:
    x = (RNG.normal(size=(30, 70)) * 9).astype(dtype)
    three = np.broadcast_to(np.dtype(dtype).type(3), x.shape)
    with np.errstate(all="ignore"):
        for a, b in (
            (three, x.dtype.type(7)),
            (three, x[:1, :1]),
            (three, np.array(7, dtype)),
            (three, np.zeros(1, dtype)),
            (three, x),
            (x, three),
            (three[:1], x),
            (three, np.ones((1, 1, 1), dtype)),
            (x, x.dtype.type(7)),
        ):
            found, want = quotient(a, b), a / b
            assert found.dtype == want.dtype and found.shape == want.shape
            assert found.tobytes() == want.tobytes()


@pytest.mark.parametrize(
    "shape", [(), (1,), (50,), (1, 50), (40, 1), (1, 1), (7, 1, 1), (1, 40, 1), (40, 50), (1, 1, 50)]
)
@pytest.mark.parametrize("name", ["multiply", "divide"])
def test_cotangents_of_a_repeated_operand_are_sums_of_products(shape: tuple[int, ...], name: str) -> None:
    x = RNG.normal(size=(7, 40, 50))
    y = RNG.uniform(0.5, 2, shape)
    g = RNG.normal(size=x.shape)
    function = getattr(tf, name)
    a, b = tf.constant(x), tf.constant(y)
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        z = function(a, b)
    x_bar, y_bar = tape.gradient(z, [a, b], g)
    each = g * x if name == "multiply" else -g * x / (y * y)
    lead = tuple(range(3 - len(shape)))
    wanted = np.add.reduce(each, lead)
    wanted = np.add.reduce(wanted, tuple(k for k, n in enumerate(shape) if n == 1), keepdims=True)
    assert y_bar.shape == shape
    np.testing.assert_allclose(y_bar, wanted, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(x_bar, g * y if name == "multiply" else g / y, rtol=1e-13)


def test_a_cotangent_of_zero_adds_nothing_at_a_pole_of_a_repeated_divisor() -> None:
    x, y = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[0.0], [2.0]])
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = x / y
    x_bar, y_bar = tape.gradient(z, [x, y], [[0.0, 0.0], [1.0, 1.0]])
    np.testing.assert_array_equal(x_bar, [[0, 0], [0.5, 0.5]])
    np.testing.assert_array_equal(y_bar, [[0], [-1.75]])


def test_the_sum_of_products_is_one_op_for_values_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[str] = []
    bind = repeated.bind

    def noted(op: Any, *inputs: Any) -> Any:
        bound.append(op.name)
        return bind(op, *inputs)

    monkeypatch.setattr(repeated, "bind", noted)
    x, y = tf.ones([4, 5]) * 2.0, tf.ones([4, 1])
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = x * y
    tape.gradient(z, [x, y], tf.ones([4, 5]) * 3.0)
    assert "sum_of_products" in bound


@pytest.mark.parametrize("shape", [(4, 6, 5), (2, 3, 6, 5), (1, 1, 5), (70, 16, 5)])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_matrix_for_a_stack_of_matrices_has_the_bits_of_the_usual_way(
    shape: tuple[int, ...], transposed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = tf.constant(RNG.normal(size=shape).astype(np.float32))
    b = tf.constant(RNG.normal(size=(7, 5) if transposed else (5, 7)).astype(np.float32))
    g = RNG.normal(size=(*shape[:-1], 7)).astype(np.float32)

    def results() -> list[bytes]:
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            y = tf.matmul(a, b, transpose_b=transposed)
        return [z.numpy().tobytes() for z in (y, *tape.gradient(y, [a, b], tf.constant(g)))]

    quick = results()
    op = type(lookup("matmul")())
    monkeypatch.setattr(op, "quick", None)
    monkeypatch.setattr(op, "quick_vjp", None)
    assert results() == quick


def test_a_stack_whose_inner_size_differs_is_refused() -> None:
    with tf.GradientTape(), pytest.raises(ValueError, match="inner sizes differ"):
        tf.matmul(tf.ones([2, 3, 4]), tf.ones([5, 6]))


@pytest.mark.parametrize("lead", [(3,), (3, 4), (2, 3, 4), (2, 2, 3, 4)])
def test_a_bias_of_any_stack_has_the_sum_of_all_cotangents(lead: tuple[int, ...]) -> None:
    x, bias = tf.zeros([*lead, 5, 6]), tf.zeros([5, 6])
    g = RNG.integers(-9, 9, (*lead, 5, 6)).astype(np.float32)
    with tf.GradientTape() as tape:
        tape.watch(bias)
        y = x + bias
    np.testing.assert_array_equal(tape.gradient(y, bias, tf.constant(g)), g.reshape(-1, 5, 6).sum(0))


@pytest.mark.parametrize("function", [tf.math.erf, tf.math.erfc])
@pytest.mark.parametrize("edge", [0.0, 1e-30, 25.0, 1e12, np.inf, np.nan])
def test_slopes_of_error_functions_have_the_bits_of_what_is_recorded(function: Any, edge: float) -> None:
    x = tf.constant(np.concatenate([RNG.normal(size=999) * 3, [edge]]).astype(np.float32))
    _slope_with_recorded_bits(function, x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((3000, 3), (0,)), ((16, 28, 28, 8), (0, 1, 2)), ((16, 28, 28, 8), (-2, 0, 1)), ((40, 50, 2, 5), (1, 0)),
        ((997, 31), [0]), ((5000, 1, 2), (0, 1)), ((4099, 128), (0,)), ((60, 64, 64), (0,)), ((2, 3000), (0,)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_of_few_columns_have_the_digits_of_wide_sums(
    shape: tuple[int, ...], axes: Any, keepdims: bool, dtype: str
) -> None:
    x = (RNG.normal(size=shape) + 1).astype(dtype)
    found = tf.reduce_sum(tf.constant(x), axes, keepdims).numpy()
    wanted = np.sum(x.astype(np.longdouble), tuple(axes), keepdims=keepdims)
    assert found.dtype == x.dtype and found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted.astype(np.float64), rtol=2e-6 if dtype == "float32" else 1e-14)
    mean = tf.reduce_mean(tf.constant(x), axes, keepdims).numpy()
    np.testing.assert_allclose(mean, wanted.astype(float) * found.size / x.size, rtol=2e-6)
    for place, value in ((0, np.nan), (-1, np.inf)):
        edge = x.copy()
        edge.reshape(-1)[place] = value
        sums = tf.reduce_sum(tf.constant(edge), axes, keepdims).numpy()
        np.testing.assert_array_equal(
            np.isfinite(sums), np.isfinite(edge.sum(tuple(axes), keepdims=keepdims))
        )
    assert not np.signbit(tf.reduce_sum(tf.constant(np.full(shape, -0.0, dtype)), axes).numpy()).any()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
@pytest.mark.parametrize(
    ("shape", "few"),
    [
        ((96, 100, 3), (3,)), ((96, 100, 3), (1, 1, 3)), ((1, 180, 180, 3), (1, 1, 1, 3)), ((12544, 8), (8,)),
        ((333, 41), (41,)),
        ((3001, 3), (3,)), ((64, 64, 4, 4), (4, 4)), ((64, 64, 4, 4), (1, 4, 4)), ((64, 64, 4, 4), (1, 1, 4, 1)),
        ((400, 32), (1, 1, 32)),
        ((9000,), (1,)), ((4, 4096), (4, 1)),
    ],
)  # fmt: skip
def test_a_few_numbers_beside_many_rows_give_the_bits_of_numpy(
    shape: tuple[int, ...], few: tuple[int, ...], dtype: str
) -> None:
    x, y = ((RNG.normal(size=s) * 9).astype(dtype) for s in (shape, few))
    a, b = tf.constant(x), tf.constant(y)
    with tf.GradientTape():
        found = [tf.add(a, b), tf.subtract(b, a), tf.multiply(a, b)]
    with np.errstate(all="ignore"):
        wanted = [x + y, y - x, x * y]
    for f, w in zip(found, wanted, strict=True):
        assert f.numpy().dtype == w.dtype and f.numpy().shape == w.shape
        assert f.numpy().tobytes() == w.tobytes()


def test_rows_of_an_array_that_does_not_lie_in_order_meet_their_numbers() -> None:
    x = RNG.normal(size=(3, 4000)).astype(np.float32).T
    y = RNG.normal(size=3).astype(np.float32)
    with tf.GradientTape():
        found = tf.add(tf.constant(x)[::-1], tf.constant(y))
    np.testing.assert_array_equal(found, x[::-1] + y)


@pytest.mark.parametrize("shape", [(5000, 3), (40, 50, 7), (1, 9000, 1, 2), (64, 64), (3, 100_001)])
def test_a_short_row_is_written_to_all_rows(shape: tuple[int, ...]) -> None:
    for few in ((shape[-1],), (1, shape[-1])):
        row = RNG.normal(size=few).astype(np.float32)
        np.testing.assert_array_equal(tf.broadcast_to(tf.constant(row), shape), np.broadcast_to(row, shape))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ones", [False, True])
def test_a_column_times_a_row_has_cotangents_by_products_with_the_matrix(dtype: Any, ones: bool) -> None:
    x, y = RNG.normal(size=(40, 1)).astype(dtype), RNG.normal(size=(1, 50)).astype(dtype)
    g = np.ones((40, 50), dtype) if ones else RNG.normal(size=(40, 50)).astype(dtype)
    a, b = tf.constant(x), tf.constant(y)
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        z = a * b
    x_bar, y_bar = tape.gradient(z, [a, b], None if ones else tf.constant(g))
    digits = 1e-5 if dtype is np.float32 else 1e-13
    np.testing.assert_allclose(x_bar, (g * y).sum(1, keepdims=True), rtol=digits, atol=digits)
    np.testing.assert_allclose(y_bar, (g * x).sum(0, keepdims=True), rtol=digits, atol=digits)
    assert x_bar.dtype == y_bar.dtype == a.dtype


def test_second_derivatives_go_through_sums_of_products() -> None:
    """The derivative of the sum of squares of both gradients of sum((x y) ** 3), by hand."""
    x, y = (tf.constant(RNG.uniform(0.5, 1.5, shape)) for shape in ((4, 1), (1, 5)))
    with tf.GradientTape() as outer:
        outer.watch([x, y])
        with tf.GradientTape() as inner:
            inner.watch([x, y])
            total = tf.reduce_sum((x * y) ** 3)
        a, b = inner.gradient(total, [x, y])
        squares = tf.reduce_sum(a * a) + tf.reduce_sum(b * b)
    found = outer.gradient(squares, [x, y])
    p, q = x.numpy()[:, 0], y.numpy()[0]
    cubes_p, cubes_q = (p**3).sum(), (q**3).sum()

    def value(p: np.ndarray, q: np.ndarray) -> float:
        return float(9 * (p**4).sum() * (q**3).sum() ** 2 + 9 * (q**4).sum() * (p**3).sum() ** 2)

    assert abs(float(squares) - value(p, q)) < 1e-9 * value(p, q)
    by_p = 36 * p**3 * cubes_q**2 + 54 * (q**4).sum() * cubes_p * p**2
    by_q = 36 * q**3 * cubes_p**2 + 54 * (p**4).sum() * cubes_q * q**2
    np.testing.assert_allclose(found[0].numpy()[:, 0], by_p, rtol=1e-11)
    np.testing.assert_allclose(found[1].numpy()[0], by_q, rtol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axes", [[1], [0], [0, 2], None])
@pytest.mark.parametrize("edge", ["ordinary", "zero", "two zeros", "tiny", "infinite"])
def test_cotangents_of_many_factors_are_products_of_the_others(edge: str, axes: Any, dtype: str) -> None:
    x = RNG.uniform(0.9, 1.1, (30, 40, 5)) * RNG.choice([-1, 1], (30, 40, 5))
    if edge == "zero":
        x[3, 4, 2] = 0
    elif edge == "two zeros":
        x[3, 4, 2] = x[3, 5, 2] = x[4, 4, 2] = 0
    elif edge == "tiny":
        x[3, 4, 2] = 1e-44 if dtype == "float32" else 1e-320
    elif edge == "infinite":
        x[3, 4, 2] = np.inf
    x = x.astype(dtype)
    a = tf.constant(x)
    with tf.GradientTape() as outer:
        outer.watch(a)
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = tf.reduce_prod(a, axes)
        recorded = tape.gradient(y, a)
        total = tf.reduce_sum(tf.sin(recorded))
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = tf.reduce_prod(a, axes)
    found = tape.gradient(y, a).numpy()
    assert found.tobytes() == recorded.numpy().tobytes()
    gone = tuple(range(3)) if axes is None else tuple(axes)
    wide = np.moveaxis(x.astype(np.longdouble), gone, range(len(gone)))
    rows = wide.reshape(-1, *wide.shape[len(gone) :])
    wanted = np.empty_like(rows)
    for k in range(len(rows)):
        wanted[k] = np.prod(rows[:k], 0) * np.prod(rows[k + 1 :], 0)
    wanted = np.moveaxis(wanted.reshape(wide.shape), range(len(gone)), gone)
    ok = np.isfinite(wanted.astype(dtype))
    digits = {"rtol": 1e-4 if dtype == "float32" else 1e-12, "atol": float(np.finfo(dtype).tiny)}
    np.testing.assert_allclose(found[ok], wanted[ok].astype(float), **digits)
    if edge == "ordinary" and dtype == "float64":
        second, h = outer.gradient(total, a).numpy(), 1e-5
        for place in ((0, 0, 0), (7, 30, 3)):
            sides = []
            for step in (h, -h):
                moved = x.copy()
                moved[place] += step
                b = tf.constant(moved)
                with tf.GradientTape() as tape:
                    tape.watch(b)
                    y = tf.reduce_prod(b, axes)
                sides.append(float(tf.reduce_sum(tf.sin(tape.gradient(y, b)))))
            assert abs(second[place] - (sides[0] - sides[1]) / (2 * h)) < 1e-4 * (1 + abs(second[place]))


@pytest.mark.parametrize("function", [tf.signal.fftshift, tf.signal.ifftshift])
@pytest.mark.parametrize("axes", [None, 0, [1], [0, 2], [-1, 0], [1, 1]])
def test_shifts_of_values_alone_are_those_that_are_recorded(function: Any, axes: Any) -> None:
    x = tf.constant(RNG.normal(size=(3, 4, 5)).astype(np.float32))
    found = function(x, axes)
    with tf.GradientTape():
        recorded = function(x, axes)
    np.testing.assert_array_equal(found, recorded)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "n"), [((7,), None), ((3, 8), None), ((3, 8), 5), ((3, 8), 13), ((2, 3, 1), None), ((2,), 1)]
)
def test_half_spectra_divided_by_their_number_are_those_of_numpy(shape: Any, n: Any, dtype: str) -> None:
    x = RNG.normal(size=shape).astype(dtype)
    wanted = np.fft.ihfft(x, n)
    a = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = gnp.fft.ihfft(a, n)
        total = tf.reduce_sum(tf.math.real(y) * 2.0 - tf.math.imag(y) * 3.0)
    assert y.dtype == wanted.dtype
    np.testing.assert_allclose(y, wanted, rtol=1e-6 if dtype == "float32" else 1e-14, atol=1e-7)
    gradient = tape.gradient(total, a).numpy()
    for place in np.ndindex(*shape):  # the sum is linear: its derivative is its value for a unit vector
        unit = np.zeros(shape)
        unit[place] = 1
        half = np.fft.ihfft(unit, n)
        slope = (2 * half.real - 3 * half.imag).sum()
        assert abs(gradient[place] - slope) < (1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("bitorder", ["big", "little"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((19,), None), ((3, 5), None), ((3, 17), 1), ((9, 2, 3), 0), ((2, 0), -1)]
)
def test_bits_of_values_alone_are_those_that_are_recorded(shape: Any, axis: Any, bitorder: str) -> None:
    for x in (RNG.random(shape) < 0.5, RNG.integers(-1, 2, shape)):
        a = tf.constant(x)
        found = gnp.packbits(a, axis, bitorder)
        np.testing.assert_array_equal(found, np.packbits(x, axis, bitorder))
        with tf.GradientTape():
            recorded = gnp.packbits(a, axis, bitorder)
        assert recorded.dtype == found.dtype == np.uint8
        np.testing.assert_array_equal(found, recorded)
        for count in (None, 5, -3, 0, 200):
            if count == -3 and 0 in shape:
                continue
            bits = gnp.unpackbits(found, axis, count, bitorder)
            with tf.GradientTape():
                recorded = gnp.unpackbits(found, axis, count, bitorder)
            assert recorded.shape == bits.shape
            np.testing.assert_array_equal(bits, recorded)
