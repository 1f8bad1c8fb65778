"""Sizes that are integers which only the run knows, as those of `range(n)` and of `max(ids) + 1` segments: parts of the one
native call, with the results and the errors of eager code, whatever the number, in loops and with their gradients."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.passes.assume import ROOM
from graphad.compiler.plan.executable import MOST_MISSES, executable_of
from tests.compiler.plan.test_measured import in_python

_rng = np.random.default_rng(11)
X = _rng.normal(size=(24, 8)).astype(np.float32)
BATCH = _rng.normal(size=(6, 20, 3)).astype(np.float32)
NUMBERS = [np.int32(n) for n in (5, 0, 1, 2, 17, -1, ROOM, ROOM + 1, -7, 3)]
IDS = [_rng.integers(0, n, 24).astype(np.int32) for n in (4, 1, 2, 9)]
LENGTHS = [_rng.integers(0, n, 6).astype(np.int32) for n in (20, 1, 2, 19)] + [np.full(6, 20, np.int32)]


def outcome(f: Callable[..., Any], given: Sequence[Any]) -> Any:
    """The results, or the class of the error."""
    try:
        found = f(*map(tf.constant, given))
    except tf.errors.InvalidArgumentError as error:
        return type(error)
    found = found if isinstance(found, tuple | list) else (found,)
    return [x.numpy() for x in found if x is not None]


def compare(f: Callable[..., Any], calls: Sequence[Sequence[Any]], is_native: bool = True) -> None:
    """Each call has the results of eager code, or its error; the first one is native, if it says so."""
    compiled = tf.function(f, jit_compile=True)
    for given in calls:
        wanted, found = outcome(f, given), outcome(compiled, given)
        if not isinstance(wanted, list):
            assert found is wanted, given
            continue
        assert [x.shape for x in found] == [x.shape for x in wanted], given
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5, err_msg=str(given))
    assert bool(in_python(compiled, *map(tf.constant, calls[0]))) != is_native


def with_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    def both(x: Any, *more: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = f(x, *more)
        return value, tape.gradient(value, x)

    return both


def floats(n: Any) -> Any:
    return tf.cast(tf.range(n), tf.float32)


OF_ONE: dict[str, Callable[..., Any]] = {
    "range": lambda x, n: floats(n) * x[0, 0],
    "encoded positions": lambda x, n: tf.concat([tf.sin(floats(n)[:, None] * x[0]), x[:1]], 0),
    "running sums": lambda x, n: tf.cumsum(floats(n)) + x[0, 0],
    "zeros": lambda x, n: (tf.zeros([n, 8]) + x[:1], tf.ones([3, n]) * 2, tf.fill([n], x[0, 0]) + 1),
    "padded": lambda x, n: tf.pad(x, [[0, n], [1, 0]]) + 1,
    "tiled": lambda x, n: tf.tile(x[:2], [n, 1]) + 1,
    "several": lambda x, n: (tf.range(n) * 2, tf.range(n + 1) * 3, tf.reduce_sum(tf.range(n - 1))),
    "with a slice": lambda x, n: x[:n] * floats(n)[:, None],
    "with a slice behind it": lambda x, n: floats(n)[:, None] * x[:n],
    "one less than a slice": lambda x, n: tf.range(tf.shape(x[:n])[0] - 1) + 1,
    "zeros, one less than a slice": lambda x, n: tf.zeros([tf.shape(x[:n])[0] - 1]) + x[0, 0],
    "of a shape alone": lambda x, n: floats(tf.shape(x[:n] * 2)[0]) * x[0, 0],
    "one-hot": lambda x, n: tf.one_hot([0, 2, 1], n) * x[0, 0],
    "identity": lambda x, n: (tf.eye(n), tf.eye(n, 3) * x[0, 0], tf.eye(2, n, dtype=tf.int32)),
    "ridge": lambda x, n: tf.matmul(x[:n], x[:n], transpose_b=True) + 2.0 * tf.eye(tf.shape(x[:n])[0]),
    "causal": lambda x, n: tf.cast(tf.range(n)[:, None] >= tf.range(n), tf.float32) + x[0, 0],
    "linspace": lambda x, n: (tf.linspace(x[0, 0], x[0, 1], n), tf.linspace(x[0], x[1], n)),
    "largest": lambda x, n: tf.math.top_k(x, tf.minimum(n, 5)),
    "largest of a row": lambda x, n: tf.math.top_k(x[:, 0], n),
    "largest of a slice": lambda x, n: tf.math.top_k(x[:n, 0], n)[0] + 1,
    "multiples": lambda x, n: (
        tf.zeros([2 * n]) + tf.concat([floats(n), floats(n)], 0),
        tf.repeat(x, n, 1) * 2,
    ),
    "multiples of sums": lambda x, n: tf.ones([3 * (n + 1) + n, 2]) * tf.ones([4 * n + 3, 1]) + x[0, 0],
    "multiples alone": lambda x, n: floats(3 * n) * x[0, 0],
    "in a sum": lambda x, n: tf.reduce_sum(tf.range(n) ** 2) + tf.size(tf.range(n)),
}


@pytest.mark.parametrize("name", OF_ONE)
def test_of_one_number(name: str) -> None:
    compare(OF_ONE[name], [(X, n) for n in NUMBERS])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ranges_of_floats(dtype: Any) -> None:
    """As many members as the arithmetic of the dtype says, to the last bit; and what eager code refuses."""
    ends = [3.0, 0.0, 0.3, -0.05, -1.0, 0.30000001, np.nan, np.inf, 2.9999999, 200.0]
    steps = [0.1, -0.1, 0.7, 0.0, 1e-3, np.nan, np.inf]
    starts = [0.0, 0.2, -0.0]
    calls = [tuple(map(dtype, each)) for each in itertools.product(starts, ends, steps)]
    compiled = tf.function(lambda a, b, c: tf.range(a, b, c), jit_compile=True)
    assert not in_python(compiled, *map(tf.constant, calls[0]))
    for given in calls:
        wanted, found = outcome(tf.range, given), outcome(compiled, given)
        assert found is wanted or np.array_equal(found[0], wanted[0]), given


@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_ranges_between_two_numbers(step: int) -> None:
    compare(lambda n, m: tf.range(n, m, step) + 1, [(n, m) for n in NUMBERS for m in NUMBERS])


def test_a_range_whose_distance_is_more_than_an_integer_holds() -> None:
    most = np.iinfo(np.int32)
    calls = [(np.int32(1), np.int32(7)), (most.min, most.min + 3), (most.max - 2, most.max)]
    compare(lambda n, m: tf.range(n, m) + 1, [tuple(map(np.int32, call)) for call in calls])


def test_of_two_numbers() -> None:
    few = NUMBERS[:6]
    for f in (
        lambda n, m: tf.range(n)[:, None] * tf.range(m) + 1,
        lambda n, m: tf.concat([tf.range(n), tf.range(m) + n], 0) * 2,
        lambda n, m: (tf.zeros([n]) + 1, tf.range(m) * n),
    ):
        compare(f, [(n, m) for n in few for m in few])


def test_of_a_mask_and_a_number() -> None:
    def f(x: Any, mask: Any, n: Any) -> Any:
        taken = tf.boolean_mask(x, mask)
        return taken[:n] * floats(tf.shape(taken[:n])[0])[:, None], floats(tf.shape(taken)[0])

    compare(f, [(X, X[:, 0] > limit, n) for n in NUMBERS for limit in (0.0, 9.0, -9.0)])


def masked_sums(x: Any, lengths: Any) -> Any:
    mask = tf.cast(tf.sequence_mask(lengths), tf.float32)[..., None]
    return tf.reduce_sum(tf.tanh(x[:, : tf.reduce_max(lengths)] * mask), 1)


def bag(x: Any, ids: Any) -> Any:
    count = tf.reduce_max(ids) + 1
    sizes = tf.math.unsorted_segment_sum(tf.ones_like(x[:, 0]), ids, count)
    return tf.math.unsorted_segment_sum(x, ids, count) / tf.maximum(sizes, 1.0)[:, None]


def test_masks_of_sequences() -> None:
    compare(masked_sums, [(BATCH, each) for each in LENGTHS])
    compare(with_gradient(lambda x, n: tf.reduce_sum(masked_sums(x, n))), [(BATCH, each) for each in LENGTHS])


def test_as_many_segments_as_there_are() -> None:
    compare(bag, [(X, ids) for ids in IDS])
    compare(with_gradient(lambda x, ids: tf.reduce_sum(bag(x, ids) ** 2)), [(X, ids) for ids in IDS])
    compare(lambda ids: tf.math.bincount(ids) + 1, [(ids,) for ids in IDS])


@pytest.mark.parametrize("name", ["sum", "mean", "max"])
def test_segments_of_sorted_numbers(name: str) -> None:
    of = getattr(tf.math, f"segment_{name}")
    calls = [(X, np.sort(ids)) for ids in IDS]
    wrong = [(X, IDS[0]), (X, IDS[3] - 5), (X, np.sort(IDS[3]) - 5), (X, np.full(24, ROOM + 3, np.int32))]
    compare(lambda x, ids: of(x, ids) * 2, [*calls, *wrong, *calls])
    compare(with_gradient(lambda x, ids: tf.reduce_sum(of(x, ids) ** 2)), calls)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("shape", [(40,), (40, 3), (0, 2)])
def test_products_of_segments(shape: tuple[int, ...], dtype: Any) -> None:
    """In the order of the slices, so that the bits are those of eager code."""
    x = np.asarray(_rng.normal(size=shape) * 3).astype(dtype)
    ids = _rng.integers(-1, 5, shape[0]).astype(np.int32)
    f = tf.function(lambda x, ids, n: tf.math.unsorted_segment_prod(x, ids, n), jit_compile=True)
    g = tf.function(lambda x, ids: tf.math.segment_prod(x, ids) * 2, jit_compile=True)
    for _ in range(2):
        for n in (5, 9):
            want = tf.math.unsorted_segment_prod(x, ids, n).numpy()
            np.testing.assert_array_equal(f(tf.constant(x), tf.constant(ids), tf.constant(n)).numpy(), want)
        places = np.sort(np.abs(ids))
        want = tf.math.segment_prod(x, places).numpy() * dtype(2)
        np.testing.assert_array_equal(g(tf.constant(x), tf.constant(places)).numpy(), want)
    assert not in_python(f, tf.constant(x), tf.constant(ids), tf.constant(5))
    assert not in_python(g, tf.constant(x), tf.constant(places))


def test_repeats() -> None:
    counts = [_rng.integers(0, n, 24).astype(np.int32) for n in (3, 1, 2, 60, 4)]
    wrong = [(X, np.where(np.arange(24) == 3, -1, counts[0]).astype(np.int32))]
    f = lambda x, n: tf.repeat(x, n, 0) * 2  # noqa: E731
    compare(f, [*[(X, n) for n in counts], *wrong, (X, counts[0])])
    compare(lambda x, n: tf.repeat(x, n) + 1, [(X, n) for n in NUMBERS[:6]])
    compare(with_gradient(lambda x, n: tf.reduce_sum(f(x, n) ** 2)), [(X, n) for n in counts[:3]])


def test_in_rounds_and_branches() -> None:
    def total(x: Any, n: Any) -> Any:
        found = tf.constant(0.0)
        for i in tf.range(n):
            found += tf.reduce_sum(floats(i) * x[0, 0]) + tf.reduce_sum(x[:i])
        return found

    def chosen(x: Any, n: Any) -> Any:
        return tf.cond(
            x[0, 0] > 0, lambda: tf.reduce_sum(floats(n)), lambda: tf.reduce_sum(floats(2 * n) * x[0, 1])
        )

    def nested(x: Any, n: Any) -> Any:
        found = tf.constant(0.0)
        for i in tf.range(n):
            for j in tf.range(i):
                found += tf.reduce_sum(tf.cast(tf.sequence_mask(j, n), tf.float32)) * x[i % 3, j % 3]
        return found

    few = [np.int32(n) for n in (5, 2, 9)]
    compare(total, [(X, n) for n in few])
    compare(nested, [(X, n) for n in few])
    compare(chosen, [(sign * X, n) for n in few for sign in (np.float32(1), np.float32(-1))])
    compare(with_gradient(nested), [(X, n) for n in few])
    compare(with_gradient(total), [(X, n) for n in few], is_native=False)  # stacks of slices of several sizes


def test_more_than_there_is_room_for() -> None:
    """Runs without an answer are made again, and after some of them the plan has more room."""
    f = tf.function(lambda n: tf.range(n) * 2, jit_compile=True)
    concrete = f.get_concrete_function(tf.constant(1))
    for n in [5, *[ROOM + 7] * (MOST_MISSES + 2), 3, 0]:
        np.testing.assert_array_equal(concrete(tf.constant(n)).numpy(), 2 * np.arange(n))
    assert concrete.executable.classes[0].misses == 0


def test_a_range_of_an_older_file_has_as_many_members_as_its_limits_say() -> None:
    from graphad.ops.array.sequence import Range

    assert Range.upgrade(1, {}) == {"size": None}
    with pytest.raises(tf.errors.InvalidArgumentError, match="has 3 members and was made to have 4"):
        Range(4).eval(np.int32(0), np.int32(3), np.int32(1))


def test_a_saved_function(tmp_path: Any) -> None:
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([24, 8]), tf.TensorSpec([], tf.int32)])
        def positions(self, x: Any, n: Any) -> Any:
            return floats(n)[:, None] * x[:1], tf.reduce_sum(tf.zeros([n]) + 1)

    model = Model()
    tf.saved_model.save(model, str(tmp_path / "model"))
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    for n in (5, 0, 1, ROOM + 1):
        for a, b in zip(loaded.positions(X, n), model.positions(X, n), strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_products_of_sizes_have_more_room_as_far_as_there_is_memory() -> None:
    """32 times the room would be 4 GB for n x n elements: there is room for 4,096 n then, and larger ones are steps in Python."""
    f = tf.function(lambda n: tf.reduce_sum(tf.cumsum(tf.eye(n), 0), 1), jit_compile=True)

    def want(n: int) -> Any:
        return np.arange(1, n + 1, dtype=np.float32)

    for n in (5, ROOM, 3):
        np.testing.assert_array_equal(f(tf.constant(n)).numpy(), want(n))
    for _ in range(2 * MOST_MISSES):
        np.testing.assert_array_equal(f(tf.constant(ROOM + 7)).numpy(), want(ROOM + 7))
    executable = executable_of(f.get_concrete_function(tf.constant(5)).graph)
    (cls,) = executable.classes
    schedule = cls.compilation.schedule
    assert schedule is not None and schedule.partition.rooms == {"~0": 4 * ROOM}
    for n in (ROOM + 9, 0, 4 * ROOM, 1, 7):
        np.testing.assert_array_equal(f(tf.constant(n)).numpy(), want(n))
        assert not cls.misses
    for _ in range(MOST_MISSES + 3):
        np.testing.assert_array_equal(f(tf.constant(4 * ROOM + 1)).numpy(), want(4 * ROOM + 1))
    np.testing.assert_array_equal(f(tf.constant(6)).numpy(), want(6))
