"""Gamma, Poisson, binomial and bounded normal numbers: distributions, derivatives, rows, traces and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
from scipy.special import log_ndtr

import graphad as tf

SEED = [3, 5]
N = 20_000


@pytest.mark.parametrize("alpha", [0.05, 0.7, 1.0, 4.5, 300.0])
def test_samples_have_the_gamma_distribution(alpha: float) -> None:
    x = tf.random.stateless_gamma([N], SEED, alpha, 2.0, dtype="float64").numpy()
    assert scipy.stats.kstest(x, scipy.stats.gamma(alpha, scale=0.5).cdf).pvalue > 1e-3


@pytest.mark.parametrize("rate", [0.3, 4.0, 90.0])
def test_samples_have_the_poisson_distribution(rate: float) -> None:
    x = tf.random.stateless_poisson([N], SEED, rate).numpy()
    assert x.dtype == np.int32
    assert abs(x.mean() - rate) < 5 * (rate / N) ** 0.5 and abs(x.var() / rate - 1) < 0.1


def test_samples_have_the_binomial_distribution() -> None:
    x = tf.random.stateless_binomial([N, 2], SEED, 40.0, [0.1, 0.8]).numpy()
    assert np.allclose(x.mean(0), [4.0, 32.0], rtol=0.02) and np.allclose(x.var(0), [3.6, 6.4], rtol=0.1)


def test_bounded_normal_numbers_are_those_of_the_distribution_in_either_tail() -> None:
    for mean, low, high in ((0.0, -1.0, 2.0), (0.0, 8.0, 9.0), (0.0, -9.0, -8.0)):
        x = tf.random.stateless_parameterized_truncated_normal(
            [N], SEED, tf.constant(mean, "float64"), 1.0, low, high
        )
        wanted = scipy.stats.truncnorm(low, high)
        assert x.numpy().min() >= low and x.numpy().max() <= high
        assert abs(x.numpy().mean() - wanted.mean()) < 5 * wanted.std() / N**0.5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("low", "high"),
    [(20.0, 21.0), (29.9, np.inf), (30.1, np.inf), (-np.inf, -36.0), (60.0, 60.01), (-np.inf, -1e4)],
)
def test_bounded_normal_numbers_far_from_the_mean_have_their_distribution(
    low: float, high: float, dtype: str
) -> None:
    x = tf.random.stateless_parameterized_truncated_normal(
        [N], SEED, *tf.constant([0.0, 1.0, low, high], dtype)
    )
    assert np.isfinite(x).all() and low <= x.numpy().min() and x.numpy().max() <= high
    if dtype == "float32":  # rounds to few numbers there
        of_float64 = tf.random.stateless_parameterized_truncated_normal(
            [N], SEED, *tf.constant([0.0, 1.0, low, high], "float64")
        )
        np.testing.assert_allclose(x, of_float64, rtol=1e-6)
        return
    near, far = sorted([abs(low), abs(high)])
    left = np.exp(log_ndtr(-np.abs(x)) - log_ndtr(-near))  # of the probability beyond the near bound
    least = np.exp(log_ndtr(-far) - log_ndtr(-near))
    assert scipy.stats.kstest((left - least) / (1 - least), "uniform").pvalue > 1e-3


def test_derivative_of_bounded_normal_numbers_far_from_the_mean_is_that_at_a_fixed_probability() -> None:
    parameters = tf.constant([0.5, 1.5, 50.0, 50.2], "float64")

    def f(p: Any) -> Any:
        return tf.random.stateless_parameterized_truncated_normal([4], SEED, *tf.unstack(p))

    with tf.GradientTape() as tape:
        tape.watch(parameters)
        y = f(parameters)
    steps = 1e-5 * np.eye(4)
    expected = [(f(parameters + h) - f(parameters - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(tape.jacobian(y, parameters), np.transpose(expected), rtol=1e-5, atol=1e-6)


def test_derivative_of_a_gamma_sample_is_that_at_a_fixed_probability() -> None:
    alpha = np.array([0.3, 1.0, 2.5, 40.0, 1000.0])
    a = tf.constant(alpha)
    with tf.GradientTape() as outer:
        outer.watch(a)
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = tf.random.stateless_gamma([5], SEED, a, dtype="float64")
        slope = tape.gradient(y, a)
    curve = outer.gradient(slope, a)
    p = scipy.stats.gamma.cdf(y.numpy(), alpha)
    h = 1e-3 * alpha
    ends = [scipy.stats.gamma.ppf(p, alpha + s * h) for s in (-1, 0, 1)]
    np.testing.assert_allclose(slope, (ends[2] - ends[0]) / (2 * h), rtol=1e-5)
    np.testing.assert_allclose(curve, (ends[2] + ends[0] - 2 * ends[1]) / h**2, rtol=1e-3)


def test_gradients_reach_the_rate_and_parameters_that_are_broadcast() -> None:
    alpha, beta = tf.constant([2.0, 3.0]), tf.constant([[1.0], [4.0]])
    with tf.GradientTape() as tape:
        tape.watch([alpha, beta])
        y = tf.random.gamma([5], alpha, beta)
    of_alpha, of_beta = tape.gradient(y, [alpha, beta])
    assert y.shape == (5, 2, 2) and of_alpha.shape == (2,) and of_beta.shape == (2, 1)
    np.testing.assert_allclose(
        of_beta[:, 0], -(np.asarray(y) / np.array([[1.0], [4.0]])).sum((0, 2)), rtol=1e-5
    )


def test_rows_draw_what_a_loop_draws() -> None:
    alphas = tf.constant([[0.5, 2.0], [3.0, 9.0], [1.0, 1.0]])
    seeds = tf.constant([[1, 2], [3, 4], [5, 6]])
    for function, stacks in (
        (lambda a: tf.random.stateless_gamma([4, 2], SEED, a), (alphas,)),
        (lambda s: tf.random.stateless_gamma([4, 2], s, [1.0, 2.0]), (seeds,)),
        (lambda a, s: tf.random.stateless_gamma([4, 2], s, a, a), (alphas, seeds)),
        (lambda a, s: tf.random.stateless_poisson([4, 2], s, a), (alphas, seeds)),
        (lambda s: tf.random.experimental.index_shuffle(tf.range(4), s, 9), (seeds,)),
        (lambda i: tf.random.experimental.index_shuffle(i, SEED, 9), (tf.range(4),)),
    ):
        found = tf.vectorized_map(lambda xs, f=function: f(*xs), stacks)
        for k in range(stacks[0].shape[0]):
            assert np.array_equal(found[k], function(*[x[k] for x in stacks]))


def test_a_traced_draw_is_that_of_eager_code_also_of_unknown_sizes() -> None:
    def draws(size: Any, alpha: Any) -> Any:
        return (
            tf.random.stateless_gamma(size, SEED, alpha),
            tf.random.stateless_binomial(size, SEED, 10.0, alpha / 10.0),
            tf.random.gamma(size, alpha, seed=4).shape[-1],
        )

    traced = tf.function(draws, input_signature=[tf.TensorSpec([None], "int32"), tf.TensorSpec(None)])
    alpha = tf.constant([0.5, 2.0])
    tf.random.set_seed(1)
    wanted = draws([3, 2], alpha)
    tf.random.set_seed(1)
    for x, y in zip(traced(tf.constant([3, 2]), alpha)[:2], wanted[:2], strict=True):
        assert np.array_equal(x, y)


def test_stateful_draws_follow_the_seed_and_go_on() -> None:
    tf.random.set_seed(7)
    first = [tf.random.gamma([3], 2.0), tf.random.poisson([3], [2.0]), tf.random.gamma([3], 2.0)]
    tf.random.set_seed(7)
    again = [tf.random.gamma([3], 2.0), tf.random.poisson([3], [2.0])]
    assert all(np.array_equal(x, y) for x, y in zip(first, again, strict=False))
    assert not np.array_equal(first[0], first[2])


@pytest.mark.parametrize("dtype", [tf.float32, tf.int64])
def test_trials_at_the_ends_of_the_probabilities(dtype: tf.DType) -> None:
    nan = float("nan")
    counts = np.array([5, 5, 5, 5, 5, 0, 0, 0, -2, nan, nan])
    probs = np.array([-1, 0, 1, 1.5, nan, -10, 10, nan, 0.5, 0.5, 0])
    want = np.array([0, 0, 5, 5, nan, 0, 0, 0, 0, nan, 0])
    for draw in (tf.random.stateless_binomial, tf.function(tf.random.stateless_binomial)):
        found = draw([11], SEED, counts, probs, dtype).numpy()
        assert np.array_equal(
            found, np.where(np.isnan(want), nan if dtype is tf.float32 else -1, want), equal_nan=True
        )


def test_wrong_parameters_give_no_number() -> None:
    assert np.isnan(tf.random.stateless_gamma([], SEED, -1.0).numpy())
    assert tf.random.stateless_poisson([], SEED, -1.0).numpy() == -1
    assert tf.random.stateless_poisson([2], SEED, [np.inf, 0.0], tf.float64).numpy().tolist() == [np.inf, 0]
    assert tf.random.stateless_poisson([], SEED, np.inf, tf.int32).numpy() == -1
    assert tf.random.stateless_gamma([0], SEED, 1.0).shape == (0,)
    # The least normal number stands for a sample that is nearer to 0.
    assert tf.random.stateless_gamma([9], SEED, 1e-6).numpy().min() == np.float32(2.0**-126)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: tf.random.stateless_gamma([2], SEED, [1.0, 2.0, 3.0]), "draw_gamma: .*sizes 2 and 3"),
        (
            lambda: tf.random.stateless_gamma([2], SEED, [[1.0], [2.0]]),
            r"draw_gamma: a parameter has shape \(2, 1\)",
        ),
        (lambda: tf.random.gamma([2], 1, dtype="int32"), "random.gamma: dtype is int32"),
        (lambda: tf.random.stateless_poisson([2], [1], 1.0), "seed has shape"),
        (lambda: tf.random.Generator.from_seed(1, "threefry"), "only Philox is supported"),
        (lambda: tf.random.Generator.from_key_counter(1, [0, 2], "philox"), "counter is"),
        (lambda: tf.random_index_shuffle(5, [1, 2, 3], 4), "index is 5, max_index 4"),
        (lambda: tf.random_index_shuffle(5, [1, 2], 9), "its last axis holds three integers"),
        (
            lambda: tf.random_index_shuffle(5, [1, 2, 3], 9, rounds=10**9),
            "rounds is 1000000000, which is not from 1 to 4096",
        ),
    ],
)
def test_wrong_arguments_are_refused_by_name(function: Any, message: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        function()


@pytest.mark.parametrize("largest", [0, 1, 5, 63, 1000])
def test_shuffled_indices_are_all_there_in_another_order_for_each_seed(largest: int) -> None:
    orders = [
        tf.random.experimental.index_shuffle(tf.range(largest + 1), [3, k], largest).numpy() for k in range(3)
    ]
    for order in orders:
        assert sorted(order) == list(range(largest + 1))
    if largest > 5:
        assert not np.array_equal(orders[0], orders[1]) and not np.array_equal(
            orders[0], np.arange(largest + 1)
        )


def test_seeds_are_split_and_folded() -> None:
    seeds = tf.random.split([1, 2], 4)
    assert seeds.shape == (4, 2) and seeds.dtype == tf.int32 and len(np.unique(seeds)) == 8
    assert tf.random.split(tf.constant([1, 2], "int64")).dtype == tf.int64
    folded = [tf.random.fold_in([1, 2], k).numpy().tolist() for k in range(3)]
    assert [pair[1] for pair in folded] == [0, 1, 2] and folded[0][0] == folded[1][0]
    order = tf.random.experimental.stateless_shuffle(tf.range(20), seeds[0])
    assert sorted(order.numpy()) == list(range(20))


def test_a_generator_starts_from_key_and_counter() -> None:
    g = tf.random.Generator.from_key_counter(5, [3, 0], "philox")
    assert g.state.numpy().tolist() == [5, 3] and int(g.key) == 5 and g.algorithm == 1
    h = tf.random.Generator.from_state(tf.random.create_rng_state(5, "philox"), "philox")
    h.skip(3)
    assert np.array_equal(g.binomial([6], 9.0, 0.5), h.binomial([6], 9.0, 0.5))
    g.reset_from_key_counter(5, 3)
    assert g.state.numpy().tolist() == [5, 3]
    assert tf.random.Algorithm.PHILOX is tf.random.experimental.Algorithm.PHILOX


def test_one_parameter_draws_the_same_as_one_for_each_element() -> None:
    whole = np.ones([7, 30])
    for one, each in (
        (
            tf.random.stateless_gamma([7, 30], SEED, 1.7),
            tf.random.stateless_gamma([7, 30], SEED, 1.7 * whole),
        ),
        (
            tf.random.stateless_poisson([7, 30], SEED, 40.0),
            tf.random.stateless_poisson([7, 30], SEED, 40.0 * whole),
        ),
        (
            tf.random.stateless_binomial([7, 30], SEED, 90.0, 0.3, "int64"),
            tf.random.stateless_binomial([7, 30], SEED, 90.0 * whole, 0.3, "int64"),
        ),
    ):
        np.testing.assert_array_equal(one.numpy(), each.numpy())
    assert (tf.random.stateless_poisson([3], SEED, -1.0).numpy() == -1).all()
    assert np.isnan(tf.random.stateless_gamma([3], SEED, -1.0).numpy()).all()


def test_words_become_numbers_as_the_documents_say() -> None:
    words = np.random.Philox(key=np.array(SEED, np.uint64)).random_raw(500)
    halves = words.astype("<u8").view("<u4")
    found = [
        tf.random.stateless_uniform([500], SEED, dtype=dtype).numpy() for dtype in ("float64", "float32")
    ]
    np.testing.assert_array_equal(found[0], (words >> np.uint64(11)) * 2.0**-53)
    np.testing.assert_array_equal(found[1], ((halves[:500] >> np.uint32(8)) * 2.0**-24).astype(np.float32))
    for low, high in ((0, 1000), (-7, 2), (0, 2**62), (-(2**62), 2**62)):
        drawn = tf.random.stateless_uniform([500], SEED, low, high, "int64").numpy()
        expected = [int(word) % (high - low) + low for word in words]
        np.testing.assert_array_equal(drawn, np.array(expected, np.int64))
