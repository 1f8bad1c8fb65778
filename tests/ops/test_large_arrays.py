"""Many ops compute large arrays differently from small ones. The results have the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
import graphad.numpy as gnp
from graphad.ops import accumulate, choice, library
from graphad.ops.array.broadcast import BroadcastTo
from graphad.ops.array.order import descending_order, stable_order
from graphad.ops.math.integers import whole_quotient

FLOATS = (np.float16, np.float32, np.float64)


def same_bits(a: Any, b: Any) -> bool:
    """Equal shapes, dtypes, numbers and signs of zeros; a NaN is a NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype or not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
        return False
    return a.dtype.kind != "f" or bool((np.signbit(a) == np.signbit(b))[~np.isnan(a)].all())


def awkward(dtype: Any, size: int = 5000, seed: int = 0) -> np.ndarray:
    """Numbers among which are zeros of both signs, infinities, NaN and many that are equal."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.standard_normal(size), 1).astype(dtype)
    x[rng.integers(0, size, size // 10)] = 0.0
    x[rng.integers(0, size, size // 10)] = -0.0
    for k, special in enumerate((np.inf, -np.inf, np.nan)):
        x[k :: size // 7] = special
    return x


@pytest.mark.parametrize("dtype", [*FLOATS, np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("bound", [0.0, 2.0, -2.0, -0.0, np.nan, np.inf])
def test_a_bound_limits_as_numpys_maximum_and_minimum_do(dtype: Any, bound: float) -> None:
    x = awkward(dtype) if np.dtype(dtype).kind == "f" else np.arange(5000).astype(dtype)
    if np.dtype(dtype).kind != "f":
        if not np.isfinite(bound) or (np.dtype(dtype).kind == "u" and bound < 0):
            return
    b = np.dtype(dtype).type(bound)
    for values in (x, x[::2], x.reshape(50, 100).T):
        assert same_bits(choice.larger(values, b), np.maximum(values, b))
        assert same_bits(choice.smaller(values, b), np.minimum(values, b))
        assert same_bits(choice.larger(b, values), np.maximum(b, values))
        assert same_bits(choice.smaller(b, values), np.minimum(b, values))


@pytest.mark.parametrize(
    "low, high", [(-1.0, 1.0), (0.0, 1.0), (-1.0, 0.0), (0.0, 6.0), (1.0, -1.0), (-1.0, np.inf)]
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_clipping_is_maximum_of_minimum(dtype: Any, low: float, high: float) -> None:
    x = awkward(dtype)
    want = np.maximum(np.minimum(x, dtype(high)), dtype(low))
    assert same_bits(tf.clip_by_value(x, dtype(low), dtype(high)).numpy(), want)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_signs_are_numpys(dtype: Any) -> None:
    for x in (awkward(dtype), np.linspace(-3, 2.5, 5000).astype(dtype), np.full(5000, np.nan, dtype)):
        assert same_bits(tf.sign(x).numpy(), np.sign(x))
        assert same_bits(tf.sign(x[::-2]).numpy(), np.sign(x[::-2]))


@pytest.mark.parametrize("columns", range(2, 18))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum])
def test_short_rows_are_combined_as_numpy_does(columns: int, dtype: Any, ufunc: np.ufunc) -> None:
    rng = np.random.default_rng(columns)
    x = (rng.standard_normal((1200, columns)) * 10.0 ** rng.integers(-6, 6, (1200, columns))).astype(dtype)
    x[:50], x[50:100], x[100:110, 0], x[110:120, -1] = -0.0, 0.0, np.inf, np.nan
    reduce: Any = {
        np.add: tf.reduce_sum,
        np.multiply: tf.reduce_prod,
        np.maximum: tf.reduce_max,
        np.minimum: tf.reduce_min,
    }
    layouts = [x, x.reshape(40, 30, columns)]
    if columns < 8:  # else the order of the sum depends on it
        layouts.append(np.asfortranarray(x))
    for values in layouts:
        for axis in (-1, values.ndim - 1):
            with np.errstate(all="ignore"):
                want = ufunc.reduce(values, axis)
            assert same_bits(reduce[ufunc](values, axis).numpy(), want)
            assert same_bits(reduce[ufunc](values, axis, keepdims=True).numpy(), want[..., None])
    ints = rng.integers(-(2**62), 2**62, (1200, columns))
    assert same_bits(accumulate.summed(ints, (1,)), np.add.reduce(ints, 1))


@pytest.mark.parametrize("dtype", [*FLOATS, np.int8, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_orders_are_stable(dtype: Any) -> None:
    rng = np.random.default_rng(3)
    kind = np.dtype(dtype).kind
    for shape in ((1500,), (3, 400), (2, 3, 300), (0,), (3, 0), (1,), ()):
        if kind == "f":
            x = awkward(dtype, 6000)[: int(np.prod(shape))].reshape(shape)
            several = [x, np.abs(x), -x]
        else:
            limits = np.iinfo(dtype)
            several = [
                rng.integers(limits.min, limits.max, shape, dtype, endpoint=True),
                rng.integers(max(limits.min, -3), 3, shape).astype(dtype),
                rng.integers(limits.max - 100, limits.max, shape, dtype),
                np.sort(rng.integers(0, 100, shape).astype(dtype), -1) if shape else np.zeros(shape, dtype),
            ]
        for x in several:
            for values in (x, np.swapaxes(x, 0, -1), x[::-1]) if x.ndim else ():
                want = np.argsort(values, -1, kind="stable")
                assert np.array_equal(stable_order(values), want)
                from_the_end = (
                    values.shape[-1] - 1 - np.argsort(values[..., ::-1], -1, kind="stable")[..., ::-1]
                )
                assert np.array_equal(descending_order(values), from_the_end)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64])
def test_quotients_of_integers_are_numpys(dtype: Any) -> None:
    rng = np.random.default_rng(4)
    limits = np.iinfo(dtype)
    with np.errstate(all="ignore"):
        for most in (limits.max, 5):
            x = rng.integers(limits.min, limits.max, 4000, dtype, endpoint=True)
            y = rng.integers(max(limits.min, -most), most, 4000, dtype, endpoint=True)
            x[:99], x[100:200], y[:50], y[y == 0] = limits.min, limits.max, limits.max, 1
            if limits.min:
                y[60:80] = -1
            assert same_bits(tf.math.floordiv(x, y).numpy(), x // y)
            assert same_bits(tf.math.floormod(x, y).numpy(), x % y)
            assert same_bits(tf.truncatemod(x, y).numpy(), np.fmod(x, y))
            assert same_bits(tf.truncatediv(x, y).numpy(), (x - np.fmod(x, y)) // y)
    assert whole_quotient(np.arange(10), np.arange(10), np.floor) is None
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        tf.truncatediv(np.arange(2000, dtype=np.int32), np.arange(2000, dtype=np.int32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_limits_of_activations_are_those_of_comparisons(dtype: Any) -> None:
    x = awkward(dtype, 6000)
    with np.errstate(all="ignore"):
        want = np.where(x > 6, dtype(6), np.where(x > 0, x, np.where(np.isnan(x), x, dtype(0))))
        assert same_bits(tf.nn.relu6(x).numpy(), want)
        for alpha in (0.2, 1.0, 0.0, -0.0, -0.5, 3.0):
            want = np.where(x > 0, x, x * dtype(alpha))
            assert same_bits(tf.nn.leaky_relu(x, alpha).numpy(), want), alpha
    assert same_bits(
        tf.nn.relu6(np.arange(-3000, 3000, dtype=np.int32)).numpy(),
        np.arange(-3000, 3000).clip(0, 6).astype(np.int32),
    )


def test_sinc_in_float32_has_the_digits_of_float64() -> None:
    rng = np.random.default_rng(6)
    for most in (1e-30, 1e-3, 2, 1e3, 1e8):
        x = rng.uniform(-most, most, 4000).astype(np.float32)
        x[:9] = np.arange(-4, 5)
        y, want = tf.math.sinc(x).numpy(), tf.math.sinc(x.astype(np.float64)).numpy()
        assert y.dtype == np.float32
        assert np.all(np.abs(y - want) <= 2.5 * np.spacing(np.abs(want).astype(np.float32)))
        assert np.array_equal(y == 0, want == 0)


def test_masks_take_and_put_back_what_numpy_does() -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((6, 7, 8)).astype(np.float32)
    for axis, shape in ((0, (6,)), (1, (7,)), (2, (8,)), (0, (6, 7)), (1, (7, 8)), (0, (6, 7, 8))):
        for mask in (rng.random(shape) < 0.5, np.zeros(shape, bool), np.ones(shape, bool)):
            for values in (x, np.asfortranarray(x), x[::-1]):
                key = (slice(None),) * axis + (mask,)
                v = tf.constant(values)
                with tf.GradientTape() as outer:
                    outer.watch(v)
                    with tf.GradientTape() as tape:
                        tape.watch(v)
                        y = tf.boolean_mask(v, mask, axis=axis)
                        total = tf.reduce_sum(y**3)
                    slope = tape.gradient(total, v)
                assert same_bits(y.numpy(), values[key])
                want = np.zeros_like(values)
                want[key] = 3 * values[key] ** 2
                np.testing.assert_allclose(slope.numpy(), want, rtol=1e-6)
                want[key] = 6 * values[key]
                np.testing.assert_allclose(outer.gradient(slope, v).numpy(), want, rtol=1e-6)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "rank, axis, inner", [(1, 0, 0), (2, 0, 200), (2, 0, 5), (2, 1, 30), (3, 1, 4), (3, 2, 3)]
)
def test_what_is_taken_is_put_back_in_the_same_order(dtype: Any, rank: int, axis: int, inner: int) -> None:
    rng = np.random.default_rng(6)
    shape = [9] * rank
    if rank > 1:
        shape[-1 if axis == 0 else 0] = inner
    x = rng.standard_normal(shape).astype(dtype)
    at = rng.integers(0, shape[axis], 700)
    v = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(v)
        y = tf.gather(v, at, axis=axis)
    upstream = rng.standard_normal(y.shape).astype(dtype)
    wide = np.float32 if dtype is np.float16 else dtype
    want = np.zeros(shape, wide)
    np.add.at(np.moveaxis(want, axis, 0), at, np.moveaxis(upstream, axis, 0).astype(wide))
    found = tf.convert_to_tensor(tape.gradient(y, v, tf.constant(upstream)))
    assert same_bits(found.numpy(), want.astype(dtype))


def test_elements_along_the_last_axis_are_taken_and_put_back() -> None:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((40, 50)).astype(np.float32)
    for at in (rng.integers(0, 50, (40, 60)), rng.integers(-50, 50, (40, 60)), rng.integers(0, 50, (40, 0))):
        v = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(v)
            y = gnp.take_along_axis(v, tf.constant(at), 1)
        assert same_bits(y.numpy(), np.take_along_axis(x, at, 1))
        want = np.zeros_like(x)
        np.add.at(want, (np.arange(40)[:, None], at), np.ones(at.shape, np.float32))
        assert same_bits(tape.gradient(y, v).numpy(), want)
    with pytest.raises(tf.errors.OpError, match="is not in"):
        gnp.take_along_axis(tf.constant(x), tf.constant(np.full((40, 1), 50)), 1)


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize("pads", [[[0, 0], [0, 0]], [[1, 2], [3, 0]], [[3, 3], [4, 4]], [[0, 3], [2, 1]]])
def test_what_is_mirrored_is_added_to_where_it_came_from(mode: str, pads: list[list[int]]) -> None:
    x = tf.constant(np.random.default_rng(8).standard_normal((4, 5)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.pad(x, pads, mode)
    places = np.pad(np.arange(20).reshape(4, 5), pads, mode.lower())
    upstream = np.random.default_rng(9).standard_normal(y.shape)
    want = np.bincount(places.ravel(), upstream.ravel(), 20).reshape(4, 5)
    np.testing.assert_allclose(tape.gradient(y, x, tf.constant(upstream)).numpy(), want, rtol=1e-14)


@pytest.mark.parametrize("channels", [1, 3, 20])
def test_windows_are_added_up_where_they_came_from(channels: int) -> None:
    rng = np.random.default_rng(10)
    x = tf.constant(rng.standard_normal((2, 9, 8, channels)))
    for strides, dilations in (((1, 1), (1, 1)), ((2, 3), (1, 1)), ((1, 1), (2, 1))):
        kernel = rng.standard_normal((3, 2, channels, 4))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.conv2d(x, kernel, [1, *strides, 1], "VALID", dilations=[1, *dilations, 1])
        upstream = rng.standard_normal(y.shape)
        want = np.zeros(x.shape)
        for i, j, p, q in np.ndindex(*y.shape[1:3], 3, 2):
            row, column = i * strides[0] + p * dilations[0], j * strides[1] + q * dilations[1]
            want[:, row, column] += upstream[:, i, j] @ kernel[p, q].T
        np.testing.assert_allclose(
            tape.gradient(y, x, tf.constant(upstream)).numpy(), want, rtol=1e-10, atol=1e-12
        )


@pytest.mark.parametrize(
    "length, step", [(4, 2), (4, 4), (6, 4), (3, 5), (2, 7), (5, 3), (9, 1), (40, 7), (1, 1)]
)
@pytest.mark.parametrize("pad_end", [False, True])
def test_frames_are_slices(length: int, step: int, pad_end: bool) -> None:
    for shape, axis in (((30,), 0), ((2, 30), -1), ((2, 30, 3), 1), ((0, 30), -1), ((0,), 0)):
        x = np.random.default_rng(11).standard_normal(shape)
        v = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(v)
            y = tf.signal.frame(v, length, step, pad_end, axis=axis)
        size = shape[axis]
        count = -(-size // step) if pad_end else max(1 + (size - length) // step, 0)
        more = np.concatenate(
            [np.moveaxis(x, axis, 0), np.zeros((length + step, *np.moveaxis(x, axis, 0).shape[1:]))]
        )
        places = np.arange(count)[:, None] * step + np.arange(length)
        want = np.moveaxis(more[places], (0, 1), (axis % x.ndim, axis % x.ndim + 1))
        np.testing.assert_array_equal(y.numpy(), want)
        slope = np.zeros_like(more)
        np.add.at(slope, places, np.ones((*places.shape, *more.shape[1:])))
        np.testing.assert_array_equal(tape.gradient(y, v).numpy(), np.moveaxis(slope[:size], 0, axis))


def test_a_gradient_that_begins_with_ones_has_the_bits_of_one_that_is_given_ones() -> None:
    x = tf.constant(np.random.default_rng(12).standard_normal((30, 40)).astype(np.float32))
    y = tf.constant(np.random.default_rng(13).standard_normal((30, 40)).astype(np.float32))
    functions: list[Any] = [
        lambda x: x * y, lambda x: x / y, lambda x: y - x, lambda x: -x, tf.maximum, tf.abs, tf.identity, tf.transpose,
        lambda x: tf.where(x > 0, x, y), lambda x: tf.cast(x, "float64"), lambda x: x + y[0],
        lambda x: [x * y, tf.exp(x)], lambda x: tf.matmul(x, y, transpose_b=True), lambda x: tf.reshape(x, [-1]), lambda x: x,
    ]  # fmt: skip
    for function in functions:
        call = (lambda x, function=function: function(x, y)) if function is tf.maximum else function
        found = []
        for given in (False, True):
            for persistent in (False, True):
                with tf.GradientTape(persistent=persistent) as tape:
                    tape.watch([x, y])
                    z = call(x)
                ones = tf.nest.map_structure(tf.ones_like, z)
                slopes = tape.gradient(z, [x, y], ones if given else None, unconnected_gradients="zero")
                for slope in slopes:
                    assert slope.numpy().flags.writeable
                    assert 0 not in slope.data.strides
                found.append([slope.numpy() for slope in slopes])
        for other in found[1:]:
            assert all(same_bits(a, b) for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_triangles_are_solved_with_and_without_scipy(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(14)
    a = (
        rng.standard_normal((90, 90))
        + 20 * np.eye(90)
        + (1j if np.dtype(dtype).kind == "c" else 0) * rng.standard_normal((90, 90))
    )
    a, b = a.astype(dtype), rng.standard_normal((90, 4)).astype(dtype)
    for lower in (True, False):
        for adjoint in (True, False):
            for matrix in (a, np.asfortranarray(a), a[::-1][::-1]):
                by_blas = tf.linalg.triangular_solve(matrix, b, lower, adjoint).numpy()
                with monkeypatch.context() as patch:
                    patch.setattr(library, "blas", lambda: None)
                    without = tf.linalg.triangular_solve(matrix, b, lower, adjoint).numpy()
                np.testing.assert_allclose(
                    by_blas, without, rtol=1e-3 if by_blas.real.dtype == np.float32 else 1e-9
                )
    a[40, 40] = 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        tf.linalg.triangular_solve(a, b)


def test_kinks_of_rectifiers_are_where_they_were() -> None:
    x = np.array([-np.inf, -2.0, -0.0, 0.0, 3.0, 6.0, 9.0, np.inf, np.nan], np.float32)
    six = np.where(np.isnan(x), x, np.clip(x, 0, 6))
    for function, value, slope in (
        (tf.nn.relu6, six, [0, 0, 0, 0, 1, 0, 0, 0]),
        (lambda v: tf.nn.leaky_relu(v, 0.25), np.where(x > 0, x, x * np.float32(0.25)), [0.25] * 4 + [1] * 4),
        (lambda v: tf.nn.leaky_relu(v, 2.0), np.where(x > 0, x, x * np.float32(2)), [2] * 4 + [1] * 4),
    ):
        for values, want in ((x, value), (np.tile(x, 300), np.tile(value, 300))):
            v = tf.constant(values)
            with tf.GradientTape() as tape:
                tape.watch(v)
                y = function(v)
            np.testing.assert_array_equal(y.numpy(), want)
            assert tape.gradient(y, v).numpy()[:8].tolist() == slope


def test_functions_of_numpys_names_give_what_numpy_gives() -> None:
    rng = np.random.default_rng(15)
    x, m = awkward(np.float32, 700), rng.standard_normal((5, 6))
    b = rng.random(700) < 0.5
    for dtype in FLOATS:
        assert np.array_equal(gnp.signbit(x.astype(dtype)).numpy(), np.signbit(x.astype(dtype)))
    for options in ({}, {"nan": 1.0}, {"nan": np.inf}, {"posinf": 3.0}, {"neginf": -2.0, "posinf": 1.0}):
        assert same_bits(gnp.nan_to_num(x, **options).numpy(), np.nan_to_num(x, **options))
    for place in (0, 3, -1, -700, 699):
        assert same_bits(gnp.delete(x, place).numpy(), np.delete(x, place))
    with pytest.raises(Exception, match="out of bounds"):
        gnp.delete(x, 700)
    assert same_bits(gnp.delete(m, 2, 1).numpy(), np.delete(m, 2, 1))
    for mode in ("edge", "wrap"):
        for pads in (2, ((0, 3), (1, 0)), ((5, 5), (6, 6)), ((0, 0), (20, 20)), 0):
            assert same_bits(gnp.pad(m, pads, mode).numpy(), np.pad(m, pads, mode))
    assert same_bits(gnp.compress(b, x).numpy(), np.compress(b, x))
    assert same_bits(gnp.compress([True, False, True], m, 0).numpy(), np.compress([True, False, True], m, 0))
    assert same_bits(gnp.compress(b[:6], m, 1).numpy(), np.compress(b[:6], m, 1))
    assert same_bits(gnp.extract(m > 0, m).numpy(), np.extract(m > 0, m))
    for values in (b, m > 0, x):
        assert all(map(np.array_equal, [p.numpy() for p in gnp.nonzero(values)], np.nonzero(values)))
    k = rng.integers(-140, 130, 700).astype(np.int32)
    with np.errstate(all="ignore"):
        assert same_bits(gnp.ldexp(x, k).numpy(), np.ldexp(x, k))
    for values in (k, k.reshape(7, 100), k[:0]):
        found, want = gnp.unique_counts(values), np.unique_counts(values)
        assert np.array_equal(found.values.numpy(), want.values) and np.array_equal(
            found.counts.numpy(), want.counts
        )


def test_lists_have_the_dtype_that_they_had() -> None:
    for given, dtype in (
        ([1.0] * 50, "float32"), ([1] * 50, "int32"), ([2**40], "int64"), ([1, 2.5], "float32"), ([True, False], "bool"),
        ([1j, 2.0], "complex128"), ([[1, 2], [3, 4.0]], "float32"), ([np.float64(1.0), 2.0], "float64"), ([], "float32"),
        ([(1, 2), (3, 4)], "int32"), ([tf.constant(1.0), 2.0], "float32"), ([[tf.constant(1), 2], [3, 4]], "int32"),
    ):  # fmt: skip
        assert tf.constant(given).dtype.name == dtype, given
    with pytest.raises(tf.errors.OpError, match="mixed types"):
        tf.constant([True, 2.0])


def test_a_scalar_is_broadcast_to_the_shape_of_a_scalar() -> None:
    op = BroadcastTo(())
    assert op.eval(np.asarray(2.5)) == 2.5


@pytest.mark.parametrize(
    "many, few",
    [
        ((8, 64, 64, 3), (3,)),
        ((8, 64, 64, 3), (1, 1, 1, 3)),
        ((8, 64, 64, 3), (8, 1, 1, 3)),
        ((8, 64, 64, 3), (8, 1, 64, 3)),
        ((4, 5, 1000, 7), (4, 5, 1, 7)),
        ((4, 5, 1000, 7), (4, 1, 1000, 7)),
        ((3, 3001, 3), (3, 1, 3)),
        ((9000, 3), (9000, 1)),
        ((9000, 3), (2, 1, 3)),
        ((2, 1, 8192), (2, 1, 1)),
        ((8, 1024, 8, 4), (8, 1, 8, 1)),
        ((8, 1024, 8, 4), (1, 1, 8, 1)),
        ((2, 9, 9, 9, 9), (1, 1, 9, 1, 9)),
    ],
)
def test_a_few_numbers_meet_each_row_as_numpy_has_it(many: Any, few: Any) -> None:
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal(many).astype(np.float32), rng.standard_normal(few).astype(np.float32)
    a, b = tf.constant(x), tf.constant(y)
    assert same_bits((a - b).numpy(), x - y)
    assert same_bits((b - a).numpy(), y - x)
    assert same_bits(tf.subtract(a, b).numpy(), x - y)
    assert same_bits((a / b).numpy(), x / y)
    assert same_bits((a < b).numpy(), x < y)
    rows = rng.standard_normal((many[-1], 5)).astype(np.float32)
    np.testing.assert_allclose((a @ rows).numpy(), x @ rows, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "shape, axes",
    [
        ((8, 1024, 8, 4), (1, 3)),
        ((8, 32, 32, 32), (1, 2)),
        ((5000, 2, 3, 7), (0, 2)),
        ((16, 16, 16, 16), (0, 2)),
        ((4, 1001, 5), (1,)),
        ((2, 3000, 5, 1, 4), (1, 3)),
        ((8, 1024, 4, 64), (1, 3)),
        ((3, 4097), (0,)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_axes_that_others_follow_have_more_digits_than_numpys(
    shape: Any, axes: Any, dtype: Any
) -> None:
    x = np.random.default_rng(8).standard_normal(shape).astype(dtype)
    want = x.astype(np.longdouble).sum(axes)
    found = tf.reduce_sum(x, axes).numpy()
    assert found.dtype == dtype and found.shape == want.shape
    assert (
        tf.reduce_sum(x, axes, keepdims=True).shape
        == want.sum(()).reshape([1 if k in axes else n for k, n in enumerate(shape)]).shape
    )
    assert abs(found - want).max() <= max(abs(np.add.reduce(x, axes) - want).max(), np.finfo(dtype).eps * 8)
    assert same_bits(tf.reduce_mean(x, axes).numpy(), found / dtype(x.size // want.size))


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
)
def test_distinct_integers_are_found_without_sorting_them(dtype: Any) -> None:
    info, rng = np.iinfo(dtype), np.random.default_rng(6)
    for low, spread in (
        (info.min, 100),
        (info.max - 100, 100),
        (info.min, int(info.max) - int(info.min)),
        (3, 40),
    ):
        x = np.array([int(low) + int(k) for k in rng.integers(0, min(spread, 2**40), 300)]).astype(dtype)
        for values in (x, x[::2]):
            found = tf.unique(tf.constant(values))
            _, firsts = np.unique(values, return_index=True)
            assert same_bits(found.y.numpy(), values[np.sort(firsts)])
            assert same_bits(
                found.idx.numpy(), np.searchsorted(np.sort(firsts), _first(values)).astype(np.int32)
            )


def _first(values: np.ndarray) -> np.ndarray:
    """Where each element comes first."""
    _, firsts, group = np.unique(values, return_index=True, return_inverse=True)
    return firsts[group]
