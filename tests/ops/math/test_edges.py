"""Kinks, zeros, infinities, ties and dtypes of math ops, where a derivative is chosen rather than computed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.convert import lift
from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor
from graphad.gradient.tape import GradientTape
from graphad.ops import math as m
from graphad.ops import operators  # noqa: F401
from graphad.ops.math.gamma import Polygamma
from graphad.trace.tracer import trace_flat
from graphad.vectorize.vectorized_map import vectorized_map


def gradient(function: Callable[..., Any], *xs: Any) -> Any:
    tensors = [lift(x) for x in xs]
    with GradientTape() as tape:
        tape.watch(tensors)
        y = function(*tensors)
    found = [None if g is None else g.numpy() for g in tape.gradient(y, tensors)]
    return found[0] if len(found) == 1 else found


def test_gradient_at_kinks() -> None:
    assert gradient(m.abs, 0.0) == 0
    assert gradient(m.sqrt, 0.0) == np.inf
    assert gradient(lambda x: x**0.5, 0.0) == np.inf
    assert np.isnan(gradient(m.norm, [0.0, 0.0])).all()
    assert gradient(lambda x: m.maximum(x, 0.0), 0.0) == 1
    assert gradient(lambda x: m.minimum(x, 0.0), 0.0) == 1
    assert gradient(m.maximum, 1.0, 1.0) == [1, 0]
    assert gradient(m.minimum, 1.0, 1.0) == [1, 0]
    assert gradient(lambda x: m.clip_by_value(x, 0.0, 1.0), [0.0, 1.0, 2.0]).tolist() == [1, 1, 0]
    assert gradient(lambda x: m.pow(x, 2), [-1.0, 0.0, 1.0]).tolist() == [-2, 0, 2]
    assert gradient(lambda x: m.pow(x, lift([0.0, 1.0])), [0.0, 0.0]).tolist() == [0, 1]


def test_the_slope_of_a_complex_absolute_value_has_size_1_down_to_the_smallest_numbers() -> None:
    smallest = np.array([1e-42, -1e-44j, 3e-45 + 3e-45j, 3e38, 0.0], np.complex64)
    np.testing.assert_allclose(gradient(m.abs, smallest), [1.0, -1j, 0.5**0.5 * (1 + 1j), 1.0, 0.0], rtol=0.6)
    np.testing.assert_array_equal(gradient(m.abs, np.array([5e-324, -2e-323j])), [1.0, -1j])


def test_gradient_is_none_for_rounding_and_comparisons_and_zeros_for_sign() -> None:
    for f in (m.floor, m.ceil, m.round, m.rint, m.trunc, m.argmax, m.count_nonzero):
        assert gradient(f, [1.5, -0.5]) is None
    assert gradient(lambda x: m.cast(x, np.int32), [1.5]) is None
    assert gradient(lambda x: x > 1.0, [1.5]) is None
    assert gradient(m.sign, [1.5, np.inf]).tolist() == [0, 0]


def test_where_passes_only_the_chosen_branch() -> None:
    assert gradient(lambda x: m.where(x < 10.0, x, x * x), [2.0, 20.0]).tolist() == [1, 40]


def test_what_where_does_not_take_adds_nothing_at_a_pole() -> None:
    for f in (m.log, lambda x: x**0.5, m.sqrt, lambda x: 1.0 / x, lambda x: x / x, m.lgamma):
        assert gradient(lambda x, f=f: m.where(x > 0.0, f(x), 0.0), 0.0) == 0
    assert np.isinf(gradient(m.log, 0.0))
    assert np.isinf(gradient(lambda x: 1.0 / x, 0.0))


def test_extremes_share_the_gradient_among_ties() -> None:
    assert gradient(m.reduce_max, [3.0, 1.0, 3.0]).tolist() == [0.5, 0, 0.5]
    assert gradient(lambda x: m.reduce_min(x, axis=1), [[1.0, 1.0, 1.0, 1.0]]).tolist() == [[0.25] * 4]


def test_products_with_zeros_have_exact_gradients() -> None:
    assert gradient(m.reduce_prod, [0.0, 2.0, 3.0]).tolist() == [6, 0, 0]
    assert gradient(m.reduce_prod, [[0.0, 2.0], [3.0, 0.0]]).tolist() == [[0, 0], [0, 0]]
    assert gradient(m.cumprod, [2.0, 0.0, 3.0]).tolist() == [1, 8, 0]


def test_division_and_product_without_nan() -> None:
    assert m.divide_no_nan(1.0, 0.0).numpy() == 0
    assert gradient(m.divide_no_nan, 1.0, 0.0) == [0, 0]
    assert m.multiply_no_nan(np.float32(np.inf), 0.0).numpy() == 0


def test_complex_gradient_is_conjugated() -> None:
    assert gradient(lambda x: x * x, np.complex128(2 + 1j)) == 4 - 2j


def test_no_numpy_warnings_appear() -> None:
    with warnings.catch_warnings(record=True) as seen:
        x = lift([0.0, -1.0, np.inf, 1e38])
        for f in (m.log, m.sqrt, m.reciprocal, m.exp, m.acosh, m.log1p, m.sin, m.rsqrt, m.square):
            f(x)
        for y in (
            x / 0.0,
            x * 1e38,
            x - x,
            x**0.5,
            x // 0.0,
            x % 0.0,
            x + 3e38,
            lift(1.0) / lift(0.0),
            lift(1e38) * 1e38,
        ):
            assert y.dtype.name == "float32"
        m.reduce_mean(lift(np.zeros((0, 2), np.float32)), 0)
        m.cast(lift([np.nan]), np.int32)
    assert not seen


def test_integer_division_gives_floats_and_refuses_nothing_else() -> None:
    assert m.divide(lift([1, 2]), lift([2, 2])).dtype.name == "float64"
    assert m.divide(lift(np.int8([1])), lift(np.int8([2]))).dtype.name == "float32"
    assert m.divide(1, 2).numpy() == 0.5
    with pytest.raises(InvalidArgumentError, match="Integer division by zero"):
        m.floordiv(lift([1]), lift([0]))
    with pytest.raises(InvalidArgumentError, match="negative integer powers"):
        m.pow(lift([2]), lift([-1]))


def test_dtypes_are_not_mixed() -> None:
    with pytest.raises(DTypeError, match="was expected to be a int32 tensor but is a float32 tensor"):
        m.add(lift([1]), lift([1.0]))
    with pytest.raises(InvalidArgumentError, match="Incompatible shapes"):
        m.add(lift([1.0, 2.0]), lift([1.0, 2.0, 3.0]))
    with pytest.raises(DTypeError, match="bool"):
        m.add(lift([True]), lift([False]))


def test_reductions_of_nothing() -> None:
    empty = lift(np.zeros((0, 2), np.float32))
    assert m.reduce_sum(empty, 0).numpy().tolist() == [0, 0]
    assert m.reduce_prod(empty, 0).numpy().tolist() == [1, 1]
    assert m.reduce_max(empty, 0).numpy().tolist() == [-np.inf, -np.inf]
    assert m.reduce_min(empty, 0).numpy().tolist() == [np.inf, np.inf]
    assert np.isnan(m.reduce_mean(empty, 0).numpy()).all()
    assert m.reduce_logsumexp(empty, 0).numpy().tolist() == [-np.inf, -np.inf]
    assert m.reduce_max(lift(np.zeros((0,), np.int32))).numpy() == np.iinfo(np.int32).min
    assert bool(m.reduce_all(lift(np.zeros((0,), bool)))) and not bool(
        m.reduce_any(lift(np.zeros((0,), bool)))
    )


def test_reductions_check_axes() -> None:
    x = lift([[1.0, 2.0]])
    with pytest.raises(InvalidArgumentError, match=r"axis 2 is out of range for x with shape \(1, 2\)"):
        m.reduce_sum(x, axis=2)
    with pytest.raises(InvalidArgumentError, match="same axis twice"):
        m.reduce_sum(x, axis=[0, -2])
    assert m.reduce_sum(x, axis=lift([0, 1])).numpy() == 3
    assert m.reduce_sum(x, axis=np.array(1)).numpy().tolist() == [3]


def test_mean_of_integers_is_divided_towards_zero() -> None:
    assert m.reduce_mean(lift([1, 0, 1, 0])).numpy() == 0
    assert m.reduce_mean(lift([-1, -2])).numpy() == -1


def test_logsumexp_of_large_and_of_minus_infinite_numbers() -> None:
    assert m.reduce_logsumexp([1000.0, 1000.0]).numpy() == np.float32(1000 + np.log(2))
    assert m.reduce_logsumexp([-np.inf, -np.inf]).numpy() == -np.inf
    assert gradient(m.reduce_logsumexp, [-np.inf, 0.0]).tolist() == [0, 1]


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_float_dtypes_are_kept(name: str) -> None:
    x = lift(np.array([0.25, 0.5, 0.75], name))
    functions = [getattr(m, function) for function in sorted(UNARY)]  # some are imported at first use
    for f in functions:
        for value in (x, lift(x.data[0])):
            y = f(value)
            assert y.dtype.name == name, f.__name__
            assert not isinstance(y.data, np.ndarray) or y.data.ndim


UNARY = set(
    "negative abs square reciprocal sqrt rsqrt exp expm1 log log1p sigmoid tanh softplus log_sigmoid sin cos tan asin acos atan "
    "sinh cosh asinh acosh atanh erf erfc erfinv sign floor ceil round rint trunc reduce_sum reduce_mean reduce_max reduce_min "
    "reduce_prod reduce_logsumexp reduce_variance reduce_std reduce_euclidean_norm norm".split()
)


def test_sum_of_half_floats_is_accumulated_in_float32() -> None:
    x = lift(np.full(5000, 0.1, np.float16))
    assert abs(float(m.reduce_sum(x)) - 500) < 1


def test_error_function_is_accurate() -> None:
    mpmath = pytest.importorskip("mpmath")
    x = np.random.default_rng(0).uniform(-6, 26, 300)
    for f, exact in ((m.erf, mpmath.erf), (m.erfc, mpmath.erfc)):
        found = f(EagerTensor(x)).numpy()
        want = np.array([float(exact(v)) for v in x])
        assert np.max(np.abs(found - want) / np.spacing(np.abs(want))) <= 5
    p = np.random.default_rng(1).uniform(-1, 1, 300)
    want = np.array([float(mpmath.erfinv(v)) for v in p])
    np.testing.assert_allclose(m.erfinv(EagerTensor(p)).numpy(), want, rtol=2e-15)
    assert m.erfinv([1.0, -1.0]).numpy().tolist() == [np.inf, -np.inf]


def test_where_with_one_argument_gives_indices() -> None:
    assert m.where(lift([[True, False], [False, True]])).numpy().tolist() == [[0, 0], [1, 1]]
    graph = trace_flat(lambda x: [m.where(x)], [TensorSpec([2], np.bool_)]).graph
    assert graph.output_specs[0].dims == (None, 1)
    with pytest.raises(InvalidArgumentError, match="where"):
        vectorized_map(m.where, lift([[True], [False]]))


def test_gamma_functions_are_accurate() -> None:
    mpmath = pytest.importorskip("mpmath")
    x = np.concatenate([np.random.default_rng(0).uniform(-6, 30, 200), [1e-5, 1e5]])
    for f, exact in ((m.lgamma, lambda v: mpmath.log(abs(mpmath.gamma(v)))), (m.digamma, mpmath.digamma)):
        want = np.array([float(exact(v)) for v in x])
        np.testing.assert_allclose(f(EagerTensor(x)).numpy(), want, rtol=1e-12, atol=1e-12)
    want = np.array([float(mpmath.polygamma(1, v)) for v in x])
    np.testing.assert_allclose(gradient(m.digamma, x), want, rtol=1e-11)
    assert m.lgamma([0.0, -1.0, np.inf]).numpy().tolist() == [np.inf] * 3


def test_high_derivatives_of_digamma_are_accurate_and_take_no_time() -> None:
    mpmath = pytest.importorskip("mpmath")
    x = np.array([1e-3, 0.3, 2.5, 15.0, 99.0, 300.0, 1e4])
    for n in (1, 2, 10, 100, 170, 171, 300):
        # n! alone is larger than float64, or x ** -n smaller, where their product is neither
        with mpmath.workdps(400):
            exact = [(-1) ** (n + 1) * mpmath.factorial(n) * mpmath.zeta(n + 1, v) for v in x]
        want = [float(v) if abs(v) < 1.7e308 else float(mpmath.sign(v)) * np.inf for v in exact]
        np.testing.assert_allclose(Polygamma(n).eval(x), want, rtol=1e-12)
    below = np.array([-0.3, -1.7, -40.1])
    for n in (1, 2, 10, 51):
        want = [float(mpmath.polygamma(n, v)) for v in below]
        np.testing.assert_allclose(Polygamma(n).eval(below), want, rtol=1e-11)
    for n in (1001, 2**62):  # below 0 each order takes as many steps
        with pytest.raises(ValueError, match="which is not from 0 to 1000"):
            Polygamma(n)


def test_products_with_a_logarithm_or_quotient_are_zero_where_the_factor_is() -> None:
    assert m.xlogy([0.0, 1.0], [0.0, 1.0]).numpy().tolist() == [0, 0]
    assert gradient(m.xlogy, 0.0, 0.0) == [0, 0]
    assert gradient(m.xdivy, 0.0, 0.0) == [0, 0]
    x, y, g = (lift(np.array(values)) for values in ([1.0, 1.0], [0.0, 2.0], [0.0, 1.0]))
    with GradientTape() as tape:
        tape.watch([x, y])
        z = m.xdivy(x, y)
    assert [bar.numpy().tolist() for bar in tape.gradient(z, [x, y], g)] == [[0, 0.5], [0, -0.25]]


def test_casts_saturate_or_read_bits() -> None:
    assert m.saturate_cast([-1.0, 300.0, 3.7], np.uint8).numpy().tolist() == [0, 255, 3]
    assert m.saturate_cast([3e9, -3e9], np.int32).numpy().tolist() == [2147483520, -2147483648]
    infinite = lift(np.array([-np.inf, np.inf]))
    assert m.saturate_cast(m.cast(infinite, "float16"), np.int32).numpy().tolist() == [-65504, 65504]
    assert m.saturate_cast(infinite, np.int64).numpy().tolist() == [-(2**63), 2**63 - 1024]
    assert m.saturate_cast(m.cast(infinite, "bfloat16"), "float16").numpy().tolist() == [-65280, 65280]
    assert m.saturate_cast(m.cast(infinite, "bfloat16"), np.uint64).numpy().tolist() == [0, 255 * 2**56]
    most = np.finfo(np.float32).max
    wide = lift(np.array([1e300 + 3j, 2 - 1e301j]))
    assert m.saturate_cast(wide, np.complex64).numpy().tolist() == [complex(most, 3), complex(2, -most)]
    assert m.saturate_cast(wide, np.float32).numpy().tolist() == [most, 2]
    assert m.saturate_cast(wide, np.uint8).numpy().tolist() == [255, 2]
    assert m.saturate_cast(lift(np.array([-1e300, 3.0])), np.complex64).numpy().tolist() == [-most, 3]
    assert m.saturate_cast(lift(np.array([1, -2])), np.complex64).numpy().tolist() == [1, -2]
    assert m.saturate_cast(lift(np.complex64(complex(np.inf, 1))), np.complex128).numpy() == complex(
        np.inf, 1
    )
    assert m.bitcast(lift(1.0), np.int32).numpy() == 0x3F800000
    with pytest.raises(InvalidArgumentError, match="bitcast"):
        m.bitcast(lift([1, 2, 3]), np.int64)


def test_pow_of_small_whole_exponents_is_a_product() -> None:
    graph = trace_flat(lambda x: [x**2, x**3.0, x**1], [TensorSpec([2])]).graph
    assert {node.op.name for node in graph.nodes} == {"square", "mul", "identity"}


SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, 0.1, 1e-3, 6.0, -6.0, 3.0, 1e30, -1e-30, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.float16])
@pytest.mark.parametrize("jit", [None, False, True])
def test_quotients_are_rounded_down_and_remainders_exact_at_every_special_number(dtype, jit):
    x, y = (np.array(v).ravel() for v in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        x, y = x.astype(dtype.numpy), y.astype(dtype.numpy)
        quotients = np.floor(x / y)
        rests = np.fmod(x, y)
        rests = np.where((rests != 0) & ((rests < 0) != (y < 0)), rests + y, rests)

    def both(x, y):
        return x // y, x % y

    run = both if jit is None else tf.function(both, jit_compile=jit)
    for found, want in zip(run(tf.constant(x), tf.constant(y)), (quotients, rests), strict=True):
        np.testing.assert_array_equal(found.numpy(), want)
        kept = want == 0
        np.testing.assert_array_equal(np.signbit(found.numpy()[kept]), np.signbit(want[kept]))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_means_of_integers_are_cut_off_towards_zero_and_do_not_overflow(dtype, rng):
    info = np.iinfo(dtype)
    for numbers in ([info.max] * 7, [info.min] * 5, [info.min, info.max, info.max]):
        exact = sum(numbers)
        want = abs(exact) // len(numbers) * (1 if exact >= 0 else -1)
        assert int(tf.reduce_mean(tf.constant(np.array(numbers, dtype)))) == want
        assert int(tf.function(tf.reduce_mean)(tf.constant(np.array(numbers, dtype)))) == want
    table = rng.integers(max(int(info.min), -9), 9, (5, 4)).astype(dtype)
    want = np.trunc(table.astype(np.float64).mean(0)).astype(dtype)
    np.testing.assert_array_equal(tf.reduce_mean(tf.constant(table), 0).numpy(), want)


def test_means_of_segments_of_integers_are_cut_off_or_not_as_in_tensorflow():
    data, ids = tf.constant([-1, -2, 7, 2, 2**31 - 1, 2**31 - 1]), [0, 0, 1, 1, 2, 2]
    assert tf.math.segment_mean(data, ids).numpy().tolist() == [-1, 4, 2**31 - 1]
    found = tf.math.unsorted_segment_mean(data[:4], ids[:4], 3)
    assert found.dtype is tf.float64
    assert found.numpy().tolist() == [-1.5, 4.5, 0.0]


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("target", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("copies", [1, 2, 33])
def test_what_no_integer_holds_becomes_the_same_at_once_and_compiled(
    source: str, target: str, copies: int
) -> None:
    numbers = [
        np.inf,
        -np.inf,
        np.nan,
        1e30,
        -1e30,
        128.0,
        -129.0,
        255.9,
        256.0,
        65536.0,
        -1.5,
        -32769.0,
        2.5,
    ]
    numbers += [sign * 2.0**k for k in (31, 32, 53, 62, 63, 64) for sign in (1, -1)]
    with np.errstate(all="ignore"):
        x = m.cast(lift(np.repeat(numbers, copies)), source)
    now = m.cast(x, target).numpy()
    compiled = tf.function(lambda x: m.cast(x, target), jit_compile=True)(x).numpy()
    assert now.tolist() == compiled.tolist()
    single = [m.cast(x[k], target).numpy().item() for k in range(0, len(now), copies)]
    assert now[::copies].tolist() == single


def test_the_lower_of_crossed_bounds_wins_and_has_the_gradient() -> None:
    def clipped(x: Any, low: Any, high: Any) -> Any:
        return m.clip_by_value(x, low, high)

    x, low, high = [-2.0, 1.5, 3.0, np.nan], [2.0] * 4, [1.0] * 4
    for function in (clipped, tf.function(clipped, jit_compile=True)):
        assert function(*map(lift, (x, low, high))).numpy()[:3].tolist() == [2, 2, 2]
        assert [g.tolist() for g in gradient(function, x, low, high)] == [[0] * 4, [1] * 4, [0] * 4]


@pytest.mark.parametrize("size", [1.0, 1e4, 1e7, 1e37])
def test_shares_of_a_log_sum_exp_sum_to_one_at_any_size(size: float) -> None:
    assert gradient(m.reduce_logsumexp, np.float32([size, size, -size])).sum() == pytest.approx(1, rel=1e-6)


def test_the_sigmoid_takes_scalars_that_are_arrays() -> None:
    x = EagerTensor(np.array(0.5, np.float32))
    np.testing.assert_allclose(tf.sigmoid(x), 1.0 / (1.0 + np.exp(-0.5)), rtol=1e-6)
    np.testing.assert_allclose(gradient(tf.nn.softplus, tf.nn.elu(x)), 1.0 / (1.0 + np.exp(-0.5)), rtol=1e-6)


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
def test_the_first_true_and_the_first_false_have_a_position(run: Any) -> None:
    masks = tf.constant([[False, True, True], [True, True, False], [False, False, False]])
    assert run(lambda: m.argmax(masks, 1))().numpy().tolist() == [1, 0, 0]
    assert run(lambda: m.argmin(masks, 1))().numpy().tolist() == [0, 2, 0]


def test_a_row_with_what_is_not_finite_has_no_top_k() -> None:
    rows = [[1.0, np.nan, 0.0], [1.0, 2.0, 3.0], [np.inf, 2.0, 1.0], [0.5, 1.0, -np.inf]]
    assert tf.math.in_top_k([0, 2, 1, 1], rows, 2).numpy().tolist() == [False, True, False, False]
    no_class = np.array([-1, 3, 1, 2**32], np.int64)
    for f in (tf.math.in_top_k, tf.function(tf.math.in_top_k)):
        assert f(no_class, [[0.1, 0.3, 0.2]] * 4, 2).numpy().tolist() == [False, False, True, False]


def test_rows_are_counted_one_by_one_or_together() -> None:
    rows = tf.constant([[0, 2, 2], [1, 1, 5]])
    f = tf.function(lambda x: m.bincount(x, axis=-1), input_signature=[tf.TensorSpec([None, None], tf.int32)])
    for count in (
        lambda **k: m.bincount(rows, **k),
        lambda **k: tf.function(lambda x: m.bincount(x, **k))(rows),
    ):
        assert count(axis=-1).numpy().tolist() == [[1, 0, 2, 0, 0, 0], [0, 2, 0, 0, 0, 1]]
        assert count(axis=-1, maxlength=3).numpy().tolist() == [[1, 0, 2], [0, 2, 0]]
        assert count(axis=-1, minlength=7).shape == (2, 7)
        assert count(axis=-1, binary_output=True).numpy().tolist() == [[1, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 1]]
        assert count(axis=0).numpy().tolist() == count().numpy().tolist() == [1, 2, 2, 0, 0, 1]
        weights = [[0.5, 1.0, 2.0], [1.0, 1.0, 4.0]]
        assert count(axis=-1, weights=weights).numpy().tolist() == [[0.5, 0, 3, 0, 0, 0], [0, 2, 0, 0, 0, 4]]
    assert f(rows).numpy().tolist() == [[1, 0, 2, 0, 0, 0], [0, 2, 0, 0, 0, 1]]
    assert m.bincount(tf.zeros([2, 0], tf.int32), axis=-1, minlength=2).numpy().tolist() == [[0, 0], [0, 0]]
    for wrong in ({"axis": 1}, {"binary_output": True, "weights": [1.0] * 6}):
        with pytest.raises(InvalidArgumentError, match="bincount"):
            m.bincount(rows, **wrong)
    with pytest.raises(InvalidArgumentError, match="a vector or a matrix"):
        m.bincount([[[1]]], axis=-1)
    with pytest.raises(InvalidArgumentError, match="must be non-negative"):
        m.bincount([0, -1, 1])


def test_the_largest_int32_is_counted_and_bounds_may_be_larger() -> None:
    for count in (
        lambda **k: m.bincount([1, 2**31 - 1], **k),
        tf.function(lambda **k: m.bincount([1, 2**31 - 1], **k)),
    ):
        assert count(maxlength=3).numpy().tolist() == [0, 1, 0]
        assert count(maxlength=3, weights=[0.5, 1.0]).numpy().tolist() == [0, 0.5, 0]
    assert m.bincount([1, 2], maxlength=2**40).numpy().tolist() == [0, 1, 1]


def test_explicit_values_of_sparse_tensors_are_counted() -> None:
    x = tf.SparseTensor([[0, 1], [0, 3], [1, 0]], tf.constant([2, 3, 2], tf.int64), [2, 4])
    weights = tf.SparseTensor(x.indices, [0.5, 1.0, 2.0], [2, 4])
    for count in (lambda **k: m.bincount(x, **k), lambda **k: tf.function(lambda x: m.bincount(x, **k))(x)):
        assert count().numpy().tolist() == [0, 0, 2, 1]
        assert count(axis=-1).numpy().tolist() == [[0, 0, 1, 1], [0, 0, 1, 0]]
        assert count(axis=-1, weights=weights).numpy().tolist() == [[0, 0, 0.5, 1], [0, 0, 2, 0]]
        assert count(axis=-1, minlength=6, maxlength=3, dtype=tf.float64).numpy().tolist() == [
            [0, 0, 1],
            [0, 0, 1],
        ]
    assert m.bincount(tf.SparseTensor([[1], [3]], [5, 1], [6]), axis=-1).numpy().tolist() == [
        0,
        1,
        0,
        0,
        0,
        1,
    ]
    with pytest.raises(TypeError, match="both be sparse"):
        m.bincount(x, weights=[0.5, 1.0, 2.0])


def test_counts_of_narrow_integers_do_not_wrap() -> None:
    assert m.bincount(tf.constant([255, 255, 0], tf.uint8), minlength=3).numpy()[[0, 255]].tolist() == [1, 2]
    found = m.bincount(tf.constant([[100, 127]] * 3, tf.int8), axis=-1)
    assert found.shape == (3, 128) and found.numpy()[:, [100, 127]].tolist() == [[1, 1]] * 3
    assert m.bincount(tf.constant([1, 2], tf.int8), minlength=300).shape == (300,)
    assert m.bincount([1.0, 1.9]).numpy().tolist() == [0, 2]


@pytest.mark.parametrize("traced", [False, True])
def test_the_angle_of_real_numbers_is_flat(traced: bool) -> None:
    x = tf.constant([1e-30, -1e-30, 1e-40, 0.0, -0.0, 1.0, -2.0, np.inf, -np.inf])
    call = tf.function(m.angle) if traced else m.angle
    np.testing.assert_array_equal(call(x), np.angle(np.asarray(x)))
    assert np.isnan(float(call(tf.constant([np.nan]))[0]))
    slope = tf.grad(lambda x: m.reduce_sum(call(x)))(x[:7])
    np.testing.assert_array_equal(slope, np.zeros(7))
    _, dots = tf.jvp(call, (x[:7],), (tf.ones(7),))
    np.testing.assert_array_equal(dots, np.zeros(7))
