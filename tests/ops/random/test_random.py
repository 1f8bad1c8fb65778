"""Random numbers: reproducible, fresh on every call, and of the right distribution."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.ops import native_steps, random
from graphad.ops.random import philox
from graphad.ops.random.generator import Generator, shared_generator


def test_the_same_seed_gives_the_same_numbers() -> None:
    random.set_seed(7)
    first = [random.normal([3]).numpy(), random.uniform([2]).numpy()]
    random.set_seed(7)
    second = [random.normal([3]).numpy(), random.uniform([2]).numpy()]
    for x, y in zip(first, second, strict=True):
        np.testing.assert_array_equal(x, y)
    assert (random.normal([3]).numpy() != first[0]).all()


def test_bits_are_those_of_philox() -> None:
    # The first words of Philox 4x64 with ten rounds for key (3, 5), from NumPy's reference implementation.
    from numpy.random import Philox

    want = Philox(key=np.array([3, 5], np.uint64)).random_raw(4)
    np.testing.assert_array_equal(philox.words(np.array([3, 5]), 4, 64), want)
    np.testing.assert_array_equal(philox.words(np.array([3, 5]), 3, 32), want.view(np.uint32)[:3])


def test_a_function_draws_anew_on_every_call_and_obeys_set_seed() -> None:
    @tf.function
    def draw() -> Any:
        return random.normal([4]), random.normal([4])

    random.set_seed(1)
    a, b = draw()
    c, _ = draw()
    assert (a.numpy() != b.numpy()).all() and (a.numpy() != c.numpy()).all()
    random.set_seed(1)
    again, _ = draw()
    np.testing.assert_array_equal(a.numpy(), again.numpy())


def test_a_function_draws_what_eager_code_draws() -> None:
    random.set_seed(5)
    eager = [random.normal([3]).numpy() for _ in range(2)]
    random.set_seed(5)
    f = tf.function(lambda: random.normal([3]))
    np.testing.assert_array_equal(eager, [f().numpy(), f().numpy()])


def test_a_seed_of_its_own_names_a_stream() -> None:
    random.set_seed(1)
    first = [random.uniform([2], seed=4).numpy() for _ in range(2)]
    assert (first[0] != first[1]).all()
    random.set_seed(1)
    random.normal([5])
    np.testing.assert_array_equal(first, [random.uniform([2], seed=4).numpy() for _ in range(2)])


def test_shapes_may_be_known_at_run_time_only() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def noisy(x: Any) -> Any:
        return x + random.normal(tf.shape(x))

    assert noisy(tf.zeros([2, 3])).shape == [2, 3]
    assert noisy(tf.zeros([5, 3])).shape == [5, 3]


def test_moments() -> None:
    random.set_seed(11)
    z = random.normal([200_000], 2.0, 3.0).numpy()
    assert abs(z.mean() - 2.0) < 0.03 and abs(z.std() - 3.0) < 0.03 and z.dtype == np.float32
    u = random.uniform([200_000], -1.0, 3.0).numpy()
    assert u.min() >= -1.0 and u.max() < 3.0 and abs(u.mean() - 1.0) < 0.02
    t = random.truncated_normal([200_000]).numpy()
    assert np.abs(t).max() <= 2.0 and abs(t.std() - 0.8796) < 0.01
    i = random.uniform([100_000], -3, 5, dtype=tf.int32).numpy()
    np.testing.assert_allclose(np.bincount(i + 3) / 100_000, 1 / 8, atol=0.01)


def test_draws_have_the_dtype_that_was_asked_for() -> None:
    for dtype in (tf.bfloat16, tf.float16, tf.float32, tf.float64):
        for draw in (random.stateless_normal, random.stateless_uniform, random.stateless_truncated_normal):
            for shape in ([0], [3], [2, 40]):
                x = draw(shape, [1, 2], dtype=dtype)
                assert x.dtype is dtype and x.numpy().dtype == dtype.numpy, (draw.__name__, dtype)
                again = tf.function(
                    lambda draw=draw, shape=shape, dtype=dtype: draw(shape, [1, 2], dtype=dtype)
                )()
                assert (again == x).numpy().all()


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64])
def test_dtypes_are_kept(dtype: Any) -> None:
    for draw in (random.normal, random.uniform, random.truncated_normal):
        x = draw([7], dtype=dtype)
        assert x.dtype == dtype and x.shape == [7] and np.isfinite(x.numpy()).all()
    assert random.uniform([3], None, None, dtype=tf.int64).dtype == tf.int64


def test_gradients_reach_mean_and_deviation() -> None:
    mean, stddev = tf.constant(1.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch([mean, stddev])
        z = random.stateless_normal([5], [1, 2], mean, stddev)
    g_mean, g_stddev = tape.gradient(z, [mean, stddev])
    assert float(g_mean) == 5.0
    np.testing.assert_allclose(float(g_stddev), random.stateless_normal([5], [1, 2]).numpy().sum(), rtol=1e-5)


def test_generators_are_independent() -> None:
    one, other = random.Generator.from_seed(1), random.Generator.from_seed(2)
    first = one.normal([3]).numpy()
    assert (first != other.normal([3]).numpy()).all()
    one.reset_from_seed(1)
    np.testing.assert_array_equal(one.normal([3]).numpy(), first)
    resumed = random.Generator.from_state(one.state.data)
    np.testing.assert_array_equal(resumed.uniform([2]).numpy(), one.uniform([2]).numpy())
    children = one.split(2)
    assert (children[0].normal([3]).numpy() != children[1].normal([3]).numpy()).all()


def test_shuffle_keeps_the_slices() -> None:
    x = np.arange(12.0).reshape(6, 2)
    y = random.shuffle(tf.constant(x)).numpy()
    np.testing.assert_array_equal(np.sort(y[:, 0]), x[:, 0])
    np.testing.assert_array_equal(y[:, 1] - y[:, 0], 1.0)


def test_rows_of_a_vectorized_computation_draw_apart() -> None:
    z = tf.vectorized_map(lambda x: x + random.normal([50]), tf.zeros([3, 50])).numpy()
    assert z.shape == (3, 50) and (z[0] != z[1]).all()


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda: random.uniform([2], dtype=tf.int32), ValueError, "Must specify maxval for integer dtype"),
        (lambda: random.uniform([2], 3, 3, dtype=tf.int32), ValueError, "Need minval < maxval, got 3 >= 3"),
        (lambda: random.normal([2], dtype=tf.int32), TypeError, "a float dtype is needed"),
        (lambda: random.normal([-1]), ValueError, "negative size"),
        (lambda: random.stateless_normal([2], [1, 2, 3]), ValueError, "two integers are needed"),
        (lambda: random.set_seed("x"), TypeError, "a number is needed"),
    ],
)
def test_errors(function: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        function()


@pytest.mark.parametrize("state", [[1], [1, 2, 3], [1.5, 2.0], 5])
def test_a_state_that_is_none_is_refused_and_changes_nothing(state: Any) -> None:
    one = random.Generator.from_seed(1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="two integers are needed: a seed and a count"):
        one.reset(state)
    with pytest.raises(tf.errors.InvalidArgumentError, match="two integers are needed: a seed and a count"):
        random.Generator.from_state(state)
    np.testing.assert_array_equal(one.normal([3]), random.Generator.from_seed(1).normal([3]))


def test_the_state_of_a_generator_is_read_as_numbers_and_given_back() -> None:
    one = tf.random.Generator.from_seed(7)
    one.normal([2])
    state = one.state.numpy()
    assert (one.state.shape, one.state.dtype, state.shape) == ([2], tf.int64, (2,))
    first = one.normal([3]).numpy()
    assert np.asarray(one.state).tolist() != state.tolist()  # a copy, which stays as it was
    one.reset(state)
    np.testing.assert_array_equal(one.normal([3]), first)
    np.testing.assert_array_equal(tf.random.Generator.from_state(state).normal([3]), first)


@pytest.mark.parametrize(
    "keys", [np.array([3, -4]), np.arange(-3, 3).reshape(3, 2), np.zeros((0, 2), np.int64)]
)
def test_many_keys_derived_together_are_those_derived_one_by_one(keys):
    count = 20_000 if keys.ndim == 1 else 100
    found = philox.derived_keys(keys, 64, count)
    assert found.shape == (*keys.shape[:-1], count, 2)
    for k in (0, 1, count // 2, count - 1):
        for one, got in zip(keys.reshape(-1, 2), found.reshape(-1, count, 2), strict=True):
            np.testing.assert_array_equal(got[k], philox.derived(one, 64 + k))


def test_a_generator_is_not_split_in_a_traced_function():
    one = tf.random.Generator.from_seed(1)
    with pytest.raises(
        RuntimeError, match=r"Generator\.split: new generators are made outside of traced functions"
    ):
        tf.function(lambda: one.split(2)[0].normal([]))()


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32, np.uint64])
def test_arrays_of_other_integers_are_seeds_as_in_tensorflow(dtype: Any) -> None:
    for draw in (
        lambda seed: tf.random.stateless_uniform([3], seed),
        lambda seed: tf.random.stateless_normal([3], seed),
        lambda seed: tf.random.stateless_gamma([3], seed, 2.0),
        lambda seed: tf.random.fold_in(seed, 5),
        lambda seed: tf.random.experimental.stateless_shuffle(tf.range(9), seed),
    ):
        np.testing.assert_array_equal(draw(np.array([1, 200], dtype)), draw(np.array([1, 200])))
    large = np.array([2**63 + 5, 2], np.uint64)
    np.testing.assert_array_equal(
        tf.random.stateless_uniform([3], large), tf.random.stateless_uniform([3], large.view(np.int64))
    )


def test_the_state_of_a_generator_is_read_as_a_tensor() -> None:
    made = tf.random.Generator.from_seed(5)
    before = made.state.read_value()
    assert isinstance(before, tf.Tensor)
    first = made.normal([2])
    assert np.any(made.state.value() != before)

    @tf.function
    def drawn() -> Any:
        made.reset(before)
        start = made.state.read_value()
        return start, made.normal([2]), made.state.read_value()

    start, again, after = drawn()
    np.testing.assert_array_equal(start, before)
    np.testing.assert_array_equal(again, first)
    np.testing.assert_array_equal(after, made.state.numpy())
    assert np.any(after != before)


def test_the_seed_may_be_set_while_another_thread_draws_with_a_seed_for_the_first_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = shared_generator(7101)
    drawn: list[float] = []
    threads = [
        threading.Thread(target=lambda: drawn.append(float(random.uniform([], seed=7102)))) for _ in range(2)
    ]
    reset = Generator.reset

    def slowly(self: Generator, state: object) -> None:
        reset(self, state)
        if self is stream:
            for thread in threads:
                thread.start()
            threads[0].join(1.0)  # it is the turn of the others, who wait until all streams have restarted

    monkeypatch.setattr(Generator, "reset", slowly)
    random.set_seed(3)
    for thread in threads:
        thread.join()
    monkeypatch.undo()
    random.set_seed(3)
    assert sorted(drawn) == sorted(float(random.uniform([], seed=7102)) for _ in range(2))


@pytest.mark.parametrize(
    ("kind", "dtype", "limits"),
    [
        ("uniform", "float32", (None, None)),
        ("uniform", "float64", (None, None)),
        ("uniform", "float16", (None, None)),
        ("normal", "float32", (None, None)),
        ("normal", "float64", (None, None)),
        ("normal", "float16", (None, None)),
        ("bits", "int32", (None, None)),
        ("bits", "uint64", (None, None)),
        ("integers", "int32", (-7, 1000)),
        ("integers", "int64", (-(2**63), 2**63 - 1)),
        ("integers", "uint8", (3, 3)),
        ("integers", "uint64", (2**63, 2**63 + 5)),
    ],
)
@pytest.mark.parametrize("count", [4096, 5003])
def test_many_numbers_are_the_same_by_native_loops(
    kind: str, dtype: str, limits: Any, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, kept = np.array([-3, 2**30 + 1], np.int32 if count % 2 else np.int64), np.dtype(dtype)

    def drawn(left: int) -> Any:
        monkeypatch.setattr(native_steps, "_left", left)
        monkeypatch.setattr(native_steps, "_RUNTIME", "" if left else "sys")
        if kind in ("uniform", "normal"):
            return getattr(philox, kind)(key, count, kept)
        return philox.integers(key, count, *[x if x is None else kept.type(x) for x in limits], kept)

    want, found = drawn(1 << 40), drawn(0)
    assert found.dtype == want.dtype == kept
    np.testing.assert_array_equal(found.view(np.uint8), want.view(np.uint8))
