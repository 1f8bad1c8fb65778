"""Orders are those of NumPy's stable sort, and sorted values have its bits."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
import graphad.numpy as gnp
from graphad.ops.array.order import descending_order, sorted_values, stable_order


def _samples(dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    found = []
    for digits in (None, 0, 1, 2):
        for size in (1, 3, 300, 2000):
            x = rng.standard_normal((2, size)).astype(dtype)
            found.append(x if digits is None else np.round(x, digits))
            with_nan = found[-1].copy()
            with_nan[:, ::17] = np.nan
            found.append(with_nan)
    zeros = np.zeros((2, 500), dtype)
    zeros[:, ::3] = -0.0
    return [*found, zeros]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_orders_are_stable(dtype: str) -> None:
    for x in _samples(dtype):
        order = np.argsort(x, -1, kind="stable")
        assert np.array_equal(stable_order(x), order)
        turned = np.argsort(-np.where(np.isnan(x), np.inf, x), -1, kind="stable")
        assert np.array_equal(descending_order(x), turned) or np.isnan(x).any()
        whole = np.nan_to_num(x * 1000).astype(np.int64)
        assert np.array_equal(stable_order(whole), np.argsort(whole, -1, kind="stable"))
        assert np.array_equal(stable_order(whole * 2**40), np.argsort(whole, -1, kind="stable"))


@pytest.mark.parametrize(("dtype", "least", "most"), [("i8", -(2**63), 2**63 - 1), ("u8", 0, 2**64 - 1)])
@pytest.mark.parametrize("shape", [(5000,), (20, 300)])
def test_orders_of_integers_of_all_bits_are_stable(
    dtype: str, least: int, most: int, shape: tuple[int, ...]
) -> None:
    x = np.random.default_rng(2).integers(least, most, shape, dtype=dtype)
    for _ in range(2):
        assert np.array_equal(stable_order(x), np.argsort(x, -1, kind="stable"))
        x[..., 7], x[..., 9] = x[..., 3], x[..., 3] ^ x.dtype.type(1)  # equal, and equal but for the last bit


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sorted_values_are_those_of_the_order(dtype: str) -> None:
    for x in _samples(dtype):
        found = sorted_values(x, -1)
        want = np.take_along_axis(x, np.argsort(x, -1, kind="stable"), -1)
        if found is not None:
            assert np.array_equal(found, want, equal_nan=True)
            assert np.array_equal(np.signbit(found)[found == 0], np.signbit(want)[want == 0])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_sort_is_the_same_with_a_tape_as_without(dtype: str) -> None:
    for x in _samples(dtype):
        t = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(t)
            y = tf.sort(t, direction="DESCENDING")
        assert np.array_equal(y.numpy(), tf.sort(t, direction="DESCENDING").numpy(), equal_nan=True)
        assert np.array_equal(
            np.signbit(y.numpy()), np.signbit(tf.sort(t, direction="DESCENDING").numpy())
        ) or (np.isnan(x).any())


@pytest.mark.parametrize("axis", [None, -1, 0])
@pytest.mark.parametrize("digits", [1, 12])
def test_quantiles_and_their_gradients_are_the_same_at_once_as_in_a_function(
    axis: int | None, digits: int
) -> None:
    x = np.round(np.random.default_rng(2).standard_normal((70, 130)), digits)
    x[3, 5] = np.nan
    for name in ("quantile", "nanquantile"):
        for q in (0.3, [0.1, 0.5, 1.0]):

            def found(t: tf.Tensor, name: str = name, q: object = q) -> tf.Tensor:
                return getattr(gnp, name)(t, q, axis=axis)

            traced, t = tf.function(found), tf.constant(x)
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(t)
                a, b = found(t), traced(t)
            assert np.array_equal(a.numpy(), b.numpy(), equal_nan=True)
            assert np.allclose(a.numpy(), getattr(np, name)(x, q, axis=axis), rtol=1e-12, equal_nan=True)
            assert np.array_equal(tape.gradient(a, t).numpy(), tape.gradient(b, t).numpy(), equal_nan=True)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_in_pieces_are_those_of_numpy(mode: str) -> None:
    rng = np.random.default_rng(3)
    for n, m in ((1, 1), (5, 3), (3, 5), (100, 50), (1000, 7), (300, 300), (2000, 600)):
        a, v = rng.standard_normal(n), rng.standard_normal(m)
        for name in ("convolve", "correlate"):
            found = getattr(gnp, name)(tf.constant(a), tf.constant(v), mode).numpy()
            np.testing.assert_allclose(found, getattr(np, name)(a, v, mode), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("size", [7, 400])
def test_bfloat16_is_sorted_with_nan_last(size: int) -> None:
    x = np.random.default_rng(0).standard_normal(size).astype(np.float32)
    x[1::5] = np.nan
    narrow = tf.cast(x, tf.bfloat16)
    wide = tf.cast(narrow, tf.float32)
    for direction in ("ASCENDING", "DESCENDING"):
        for f in (tf.argsort, tf.sort):
            assert np.array_equal(
                np.asarray(f(narrow, direction=direction), np.float32),
                f(wide, direction=direction),
                equal_nan=True,
            )
    assert np.array_equal(tf.math.top_k(narrow, 3).indices, tf.math.top_k(wide, 3).indices)
    assert np.array_equal(gnp.searchsorted(gnp.sort(narrow), narrow), gnp.searchsorted(gnp.sort(wide), wide))
    assert float(gnp.nanmedian(narrow)) == float(tf.cast(gnp.nanmedian(wide), tf.bfloat16))
