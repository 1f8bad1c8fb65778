"""Segments without members, equal members, NaN, products with zeros, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.ops.math import segment as segments
from graphad.ops.math.segment_others import SegmentOthers

IDS = [2, 0, 2, -1]


def gradient(f: Any, x: Any) -> Any:
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return np.asarray(tape.gradient(y, x)).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "uint16", "int64"])
def test_segment_without_members_has_the_end_of_the_dtype(dtype: str) -> None:
    data = tf.constant([1, 2, 3, 4], dtype)
    dtype = tf.as_dtype(dtype)
    largest, smallest = tf.math.unsorted_segment_max(data, IDS, 3), tf.math.unsorted_segment_min(data, IDS, 3)
    assert largest.dtype == smallest.dtype == dtype
    assert np.asarray(largest).tolist() == [2, dtype.min, 3]
    assert np.asarray(smallest).tolist() == [2, dtype.max, 1]
    assert np.asarray(tf.math.unsorted_segment_prod(data, IDS, 3)).tolist() == [2, 1, 3]
    assert np.asarray(tf.math.segment_max(data, [0, 0, 2, 2])).tolist() == [2, 0, 4]
    assert np.asarray(tf.math.segment_prod(data, [0, 0, 2, 2])).tolist() == [2, 1, 12]


def test_equal_members_share_the_gradient() -> None:
    x = [3.0, 1.0, 3.0, 7.0]
    assert gradient(lambda x: tf.math.unsorted_segment_max(x, IDS, 3), x) == [0.5, 1.0, 0.5, 0.0]
    assert gradient(lambda x: tf.math.segment_min(x, [0, 0, 1, 1]), [2.0, 2.0, 3.0, 1.0]) == [
        0.5,
        0.5,
        0.0,
        1.0,
    ]


def test_segment_of_infinities_has_the_end_of_the_dtype_which_makes_logarithms_of_sums_safe() -> None:
    data, ids = tf.constant([0.0, -np.inf, 0.0, -np.inf]), [0, 1, 0, 1]

    def of_sums(x: Any) -> Any:
        top = tf.math.unsorted_segment_max(x, ids, 2)
        return top + tf.math.log(tf.math.unsorted_segment_sum(tf.exp(x - tf.gather(top, ids)), ids, 2))

    for f in (of_sums, tf.function(of_sums)):
        assert np.asarray(f(data)).tolist() == [np.log(np.float32(2.0)), -np.inf]
    assert np.asarray(tf.math.unsorted_segment_min(-data, ids, 2)).tolist() == [0.0, tf.float32.max]
    assert gradient(lambda x: tf.math.unsorted_segment_max(x, ids, 2), data) == [0.5, 0.0, 0.5, 0.0]
    assert np.asarray(tf.math.segment_max(data, [0, 1, 2, 2])).tolist() == [0.0, -np.inf, 0.0]


def test_products_with_zeros_have_tensorflows_gradients() -> None:
    x = [0.0, 2.0, 3.0, 0.0, 0.0, 3.0]
    ids = [0, 0, 0, 1, 1, 1]
    for f in (lambda x: tf.math.unsorted_segment_prod(x, ids, 2), lambda x: tf.math.segment_prod(x, ids)):
        assert gradient(f, x) == [6.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_nan_is_the_extreme_of_its_segment() -> None:
    data = [np.nan, 1.0, 2.0]
    for f in (tf.math.unsorted_segment_max, tf.math.unsorted_segment_min):
        assert np.isnan(np.asarray(f(data, [0, 0, 1], 2))).tolist() == [True, False]


def test_no_data_gives_segments_without_members() -> None:
    empty = tf.zeros([0, 2])
    assert (
        tf.math.unsorted_segment_prod(empty, tf.zeros([0], "int32"), 3).numpy().tolist() == [[1.0, 1.0]] * 3
    )
    assert tf.math.segment_max(empty, tf.zeros([0], "int32")).shape == (0, 2)
    assert tf.math.unsorted_segment_max([], tf.zeros([0], "int32"), 0).shape == (0,)


def test_wrong_ids_are_refused_by_the_function_that_was_called() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="unsorted_segment_max: segment_ids holds 5"):
        tf.math.unsorted_segment_max([1.0], [5], 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"unsorted_segment_prod: data has shape \(2,\)"):
        tf.math.unsorted_segment_prod([1.0, 2.0], [1], 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="segment_min: segment ids are not increasing"):
        tf.math.segment_min([1.0, 2.0], [1, 0])
    with pytest.raises(TypeError, match="unsorted_segment_sqrt_n: data"):
        tf.math.unsorted_segment_sqrt_n([1], [0], 1)
    with pytest.raises(TypeError, match="unsorted_segment_max"):
        tf.math.unsorted_segment_max([1j], [0], 1)


PRODUCT_IDS = [0, 1, 0, -1, 0, 1, 2]


def product_by_definition(x: Any) -> Any:
    rows = []
    for segment in range(4):
        y = tf.ones([], x.dtype)
        for i, other in enumerate(PRODUCT_IDS):
            y = y * x[i] if other == segment else y
        rows.append(y)
    return tf.stack(rows)


def weighted_gradient(f: Any) -> Any:
    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
            weights = tf.cast(tf.range(tf.size(y)), x.dtype) + 1.5
            y = tf.reduce_sum(tf.math.real(y * weights * (1 + 0.3j if x.dtype.is_complex else 1)))
        return tape.gradient(y, x, unconnected_gradients="zero")

    return gradient


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize(
    "zeros", [[], [0], [0, 2], [0, 2, 4], [1, 5, 6], [3], [0, 1, 2, 3, 4, 5, 6]], ids=str
)
def test_products_with_any_number_of_zeros_have_derivatives_of_every_order(zeros: Any, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal(7).astype(dtype) + (1j * rng.standard_normal(7) if dtype is np.complex128 else 0)
    x[zeros] = 0
    f, want = (lambda x: tf.math.unsorted_segment_prod(x, PRODUCT_IDS, 4)), product_by_definition
    given = tf.constant(x)
    for order in range(4):
        np.testing.assert_allclose(f(given), want(given), rtol=1e-10, atol=1e-12, err_msg=f"order {order}")
        unknown = tf.function(f, input_signature=[tf.TensorSpec([None], given.dtype)])
        np.testing.assert_allclose(unknown(given), want(given), rtol=1e-10, atol=1e-12)
        rows = tf.vectorized_map(f, tf.stack([given, given * 2.0]))
        np.testing.assert_allclose(rows[1], want(given * 2.0), rtol=1e-10, atol=1e-12)
        f, want = weighted_gradient(f), weighted_gradient(want)


def test_the_second_derivative_of_a_product_of_two_zeros_is_the_product_of_the_others() -> None:
    with tf.GradientTape() as outer:
        x = tf.Variable([0.0, 0.0, 3.0, 2.0, 5.0])
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.math.segment_prod(x, [0, 0, 0, 0, 1]))
        slope = tape.gradient(y, x)
    want = np.zeros((5, 5))
    want[0, 1] = want[1, 0] = 6.0
    np.testing.assert_array_equal(outer.jacobian(slope, x), want)


def test_the_gradient_of_a_product_is_neither_lost_by_underflow_nor_by_overflow() -> None:
    x = tf.constant(np.array([1e-200, 1e-200, 1e300]))
    np.testing.assert_allclose(gradient(lambda x: tf.math.segment_prod(x, [0, 0, 0]), x), [1e100, 1e100, 0.0])
    x = tf.constant(np.array([1e200, 1e200, 1e-300]))
    np.testing.assert_allclose(
        gradient(lambda x: tf.math.segment_prod(x, [0, 0, 0]), x), [1e-100, 1e-100, np.inf]
    )


def test_products_of_columns_and_of_ids_of_many_axes_against_differences() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((2, 3, 4))
    x[0, 1], x[1, 2, 0] = 0.0, 0.0
    ids = np.array([[0, 1, 0], [1, 0, 1]])
    weights = tf.constant(rng.standard_normal((2, 4)))
    f = lambda x: tf.reduce_sum(tf.math.unsorted_segment_prod(x, ids, 2) ** 2 * weights)  # noqa: E731
    theoretical, numerical = tf.test.compute_gradient(f, [x])
    np.testing.assert_allclose(theoretical[0], numerical[0], rtol=1e-6, atol=1e-7)
    g = lambda x: tf.reduce_sum(weighted_gradient(f)(x) ** 2)  # noqa: E731
    theoretical, numerical = tf.test.compute_gradient(g, [x])
    np.testing.assert_allclose(theoretical[0], numerical[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("special", [(), (0.0,), (np.inf,), (np.nan,), (1e-3,) * 150])
def test_products_of_others_of_many_members_are_those_of_a_loop(
    dtype: str, special: tuple[float, ...]
) -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(0.5, 2.0, 300).astype(dtype)
    x[: len(special)] = special
    ids = np.append(np.zeros(160, np.int32), rng.integers(1, 40, 140, np.int32))
    found = SegmentOthers().eval(x, ids)
    for i in range(300):
        others = np.prod(x[(ids == ids[i]) & (np.arange(300) != i)].astype(np.float64))
        with np.errstate(all="ignore"):
            expected = others.astype(dtype)
        np.testing.assert_allclose(
            found[i], expected, rtol=200 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny
        )


@pytest.mark.parametrize("ids", [[-1, 0, 1, -1], [[-1, 0], [1, -1]]], ids=["vector", "matrix"])
def test_what_is_in_no_segment_has_gradient_0(ids: Any) -> None:
    x = tf.constant(np.arange(8.0).reshape(*np.shape(ids), 2))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.unsorted_segment_sum(x, ids, 2)
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])
    expected = weights[np.maximum(ids, 0)] * (np.array(ids) >= 0)[..., None]
    np.testing.assert_array_equal(tape.gradient(y, x, output_gradients=tf.constant(weights)), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize(
    ("size", "count", "columns"), [(6000, 900, 8), (3000, 3, 8), (2000, 2000, 3), (3000, 1, 2)]
)
def test_extremes_of_many_rows_are_those_of_each_segment(size, count, columns, dtype):
    random = np.random.default_rng(8)
    x = (3 * random.standard_normal((size, columns))).astype(dtype)
    if dtype is not np.int32:
        x[random.integers(0, size, 4), 0] = np.nan
    ids = random.integers(0, count, size)
    factors = np.sign(x) + (x == 0)  # products of which no digit is lost
    for ordered in (ids, np.sort(ids)):
        for op, formula, rows in (
            (tf.math.unsorted_segment_max, np.max, x),
            (tf.math.unsorted_segment_min, np.min, x),
            (tf.math.unsorted_segment_prod, np.prod, factors),
        ):
            found = op(rows, ordered, count + 2)
            assert found.dtype == tf.as_dtype(dtype)
            for k in np.unique(ordered)[:: max(1, count // 50)]:
                np.testing.assert_array_equal(
                    found[int(k)], formula(rows[ordered == k], axis=0).astype(dtype)
                )
            assert np.array_equal(found[count:], op(rows[:0], ordered[:0], 2))


def test_the_two_ways_to_combine_rows_give_the_same_bits():
    from graphad.ops.math import segment_extremes

    x = np.random.default_rng(9).standard_normal((6000, 8)).astype(np.float32)
    starts = np.arange(0, 6000, 7)
    assert len(starts) > 1 and x.size > 7 * segment_extremes._ELEMENTS_OF_A_STEP
    for formula in (np.maximum, np.minimum, np.multiply):
        np.testing.assert_array_equal(
            segment_extremes._combined(formula, x, starts), formula.reduceat(x, starts, 0), strict=True
        )


def test_means_of_complex_slices_are_complex():
    x = np.array([1 + 2j, 3, 5j, 7])
    for call in (
        lambda v: tf.math.segment_mean(v, [0, 0, 2, 2]),
        lambda v: tf.math.unsorted_segment_mean(v, [0, 0, 2, 2], 3),
    ):
        want = np.array([2 + 1j, 0, 3.5 + 2.5j])
        np.testing.assert_allclose(call(tf.constant(x)).numpy(), want)
        np.testing.assert_allclose(tf.function(call)(tf.constant(x)).numpy(), want)
    roots = tf.math.unsorted_segment_sqrt_n(tf.constant(x), [0, 0, 1, 1], 2).numpy()
    np.testing.assert_allclose(roots, [(4 + 2j) / np.sqrt(2), (7 + 5j) / np.sqrt(2)])


@pytest.mark.parametrize("function", [tf.math.unsorted_segment_max, tf.math.unsorted_segment_min])
@pytest.mark.parametrize("shape", [(6000,), (1500, 4), (30, 50, 4)])
@pytest.mark.parametrize("way", ["apart", "ties", "nan", "few members", "negative"])
def test_the_gradient_of_many_extremes_is_that_of_the_ops(function, shape, way):
    """Where no two elements share an extreme there is a short way; it agrees with a traced function, which has none."""
    rng = np.random.default_rng(5)
    data = rng.standard_normal(shape).astype("float32")
    rows = shape[:1] if len(shape) < 3 else shape[:2]
    ids = rng.integers(0, 40, rows).astype("int32")
    if way == "ties":
        data = np.round(data, 1)
    elif way == "nan":
        data[rng.random(shape) < 0.001] = np.nan
    elif way == "few members":
        ids = np.arange(np.prod(rows)).reshape(rows).astype("int32")
    elif way == "negative":
        ids[..., 3] = -1
    weights = rng.standard_normal((int(ids.max()) + 3, *shape[len(rows) :])).astype("float32")

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x, ids, len(weights))
        return tape.gradient(y, x, output_gradients=tf.constant(weights))

    x = tf.constant(data)
    found, want = slope(x).numpy(), tf.function(slope)(x).numpy()
    np.testing.assert_array_equal(found, want)
    assert np.count_nonzero(found) > 20


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize("ids", [[2, 0, 2, 2, 0], [0, -1, 3, 3, 1], []])
@pytest.mark.parametrize("mean", [tf.math.unsorted_segment_mean, tf.math.unsorted_segment_sqrt_n])
def test_members_that_are_counted_are_the_sums_of_ones(mean, ids, dtype, monkeypatch):
    if dtype == "int32" and mean is tf.math.unsorted_segment_sqrt_n:
        pytest.skip("it takes floats alone")
    x = tf.constant(np.arange(2.0 * len(ids)).reshape(-1, 2).astype(dtype))
    found = mean(x, np.array(ids, np.int32), 5)
    monkeypatch.setattr(segments, "_counted", lambda *_: None)
    wanted = mean(x, np.array(ids, np.int32), 5)
    assert found.dtype is wanted.dtype
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


@pytest.mark.parametrize("ids", [[0, 5], [-3, 7], [-1, -1]])
def test_ids_are_looked_at_once(ids):
    x = tf.constant([1.0, 2.0])
    if max(ids) < 5:
        np.testing.assert_array_equal(tf.math.unsorted_segment_sum(x, ids, 5).numpy(), np.zeros(5))
        return
    for of in (tf.math.unsorted_segment_sum, tf.math.unsorted_segment_mean, tf.math.unsorted_segment_max):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"holds {max(ids)}, num_segments is 5"):
            of(x, ids, 5)
