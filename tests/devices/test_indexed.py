"""Slices at positions that are data, running results, sorts, bands and checks are launches of a plan's native call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.cuda import build, captures, geometry, launches, ordered, walk
from graphad.compiler.cuda.backend import backend_of
from graphad.compiler.cuda.written import Written
from graphad.core.dtypes import bfloat16, int64
from graphad.kernels import forms
from tests.devices import fake_driver
from tests.devices.test_plans import plans_of, there

NUMBERS = np.random.default_rng(7)
X = NUMBERS.normal(size=(11, 3)).astype(np.float32)
IDS = np.array([4, 0, 4, 4, 10, 2, 0, 4, 7, 4, 4, 1, 4], np.int32)
ROWS = NUMBERS.normal(size=(13, 3)).astype(np.float32)
ODD = np.array([[2, np.nan, -0.0, 1], [0.0, 5, 5, -np.inf], [np.nan, np.nan, 3, np.inf]], np.float32)


def gathered(x: Any, ids: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.gather(x, ids) ** 2)
    return loss, tape.gradient(loss, x)


def gradient_of(f: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Any, *rest: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(f(x, *rest))
        return tf.convert_to_tensor(tape.gradient(y, x))

    return run


CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "an embedding and its gradient": (gathered, [X, IDS]),
    "an axis within": (lambda x, i: tf.gather(x, i, axis=1), [X.reshape(1, 11, 3), IDS]),
    "a gather of each batch": (
        lambda x, i: tf.gather(x, i, batch_dims=1),
        [X.reshape(1, 11, 3).repeat(2, 0), IDS.reshape(1, 13).repeat(2, 0)],
    ),
    "positions of 64 bits": (lambda x, i: tf.gather(x, i), [X, IDS.astype(np.int64)]),
    "elements of one byte": (lambda x, i: tf.gather(x > 0, i), [X, IDS]),
    "complex numbers of 16 bytes": (lambda x, i: tf.gather(x, i), [X.astype(np.complex128) * 1j, IDS]),
    "a sum of complex numbers": (
        lambda x, i: tf.math.unsorted_segment_sum(x, i, 11),
        [ROWS.astype(np.complex64) * 1j, IDS],
    ),
    "sums of segments": (lambda x, i: tf.math.unsorted_segment_sum(x, i, 11), [ROWS, IDS]),
    "segments that are left out": (
        lambda x, i: tf.math.unsorted_segment_sum(x, i - 3, 11),
        [ROWS, IDS],
    ),
    "sums of sorted segments": (lambda x, i: tf.math.segment_sum(x, tf.sort(i)), [ROWS, IDS]),
    "products of segments, of which there are fewer than rows, or more": (
        lambda x, i: [
            tf.math.unsorted_segment_prod(x, i % 5, 6),
            tf.math.unsorted_segment_prod(tf.cast(x[:4] * 4, tf.int32), i[:4], 6),
        ],
        [ROWS, IDS],
    ),
    "largest of segments": (lambda x, i: tf.math.unsorted_segment_max(x, i, 12), [ROWS, IDS]),
    "sums of integers": (
        lambda x, i: tf.math.unsorted_segment_sum(tf.cast(x * 9, tf.int64), i, 11),
        [ROWS, IDS],
    ),
    "two coordinates": (
        lambda x, i: (tf.gather_nd(x, i), tf.scatter_nd(i, tf.gather_nd(x, i), [11, 3])),
        [X, np.stack([IDS, IDS % 3], 1)],
    ),
    "an update, of which the last counts": (
        lambda x, i, y: tf.tensor_scatter_nd_update(x, i[:, None], y),
        [X, IDS, ROWS],
    ),
    "largest of an update": (lambda x, i, y: tf.tensor_scatter_nd_max(x, i[:, None], y), [X, IDS, ROWS]),
    "running sums": (lambda x: [tf.cumsum(x, 0), tf.cumsum(x, 1, exclusive=True)], [ROWS]),
    "from the end": (
        lambda x: [tf.cumsum(x, 0, reverse=True), tf.math.cumprod(x, 0, exclusive=True, reverse=True)],
        [ROWS],
    ),
    "sorts": (lambda x: [tf.sort(x), tf.argsort(x, 0, "DESCENDING")], [ODD]),
    "the largest few": (lambda x: list(tf.math.top_k(x, 2)), [ODD]),
    "sorted integers and halves": (
        lambda x, i: [tf.argsort(tf.cast(x, tf.float16), 0), tf.argsort(i), tf.argsort(i > 3)],
        [ROWS, IDS],
    ),
    "largest and smallest": (
        lambda x: [tf.argmax(x, 0), tf.argmax(x, 1), tf.argmin(x, 0), tf.argmin(x, 1)],
        [ODD],
    ),
    "an extreme of many": (lambda x: tf.argmax(tf.reshape(x, [-1]) // 1.0), [np.tile(ODD, (30, 1))]),
    "searched": (
        lambda x, y: [tf.searchsorted(tf.sort(x), y), tf.searchsorted(tf.sort(x), y, "right", tf.int64)],
        [ODD, ODD[:, 1:]],
    ),
    "rolled": (lambda x, i: [tf.roll(x, i[0], 0), tf.roll(x, -i[5] * 9, 1)], [X, IDS]),
    "an index": (lambda x, i: x[i[0]] * x[i[5] - 3, i[0] - 5], [X, IDS]),
    "a slice": (lambda x, i: tf.slice(x, [i[0], 1], [3, 2]) * 2.0, [X, IDS]),
    "what an index spreads": (gradient_of(lambda x, i: x[i[0]] ** 2 * x[1, i[5]]), [X, IDS]),
    "what a slice spreads": (gradient_of(lambda x, i: tf.slice(x, [i[0], 1], [3, 2]) ** 2), [X, IDS]),
    "a band": (lambda x: tf.linalg.band_part(x, 1, 0), [X]),
}


SIZED_BY_DATA = {"sums of sorted segments"}  # how many segments there are is a step in Python


def has_steps_in_python(bound: Any) -> bool:
    return any(unit.kind == "host" for unit in bound.partition.units)


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many tiles, and many pieces, of which some hold nothing but one place; positions of 64 bits."""
    monkeypatch.setattr(launches, "TILE", 2)
    monkeypatch.setattr(launches, "PIECE", 2)
    monkeypatch.setattr(geometry, "NARROW", 0)


def agree(found: Any, want: Any, rtol: float = 1e-6) -> None:
    for mine, other in zip(tf.nest.flatten(found), tf.nest.flatten(want), strict=True):
        assert mine.dtype == other.dtype and mine.shape == other.shape
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=rtol, atol=rtol / 10)


@pytest.mark.parametrize("pieces", ["few", "many"])
@pytest.mark.parametrize("name", CASES)
def test_a_plan_without_steps_in_python_gives_what_the_cpu_gives(
    name: str, pieces: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if pieces == "many":
        small(monkeypatch)
        monkeypatch.setattr(fake_driver, "threads_of", lambda x, y: (4, 1))
    function, values = CASES[name]
    f = tf.function(lambda *xs: function(*xs), jit_compile=True)
    want = f(*map(tf.constant, values))
    given = [there(x) for x in values]
    for _ in range(2):
        agree(f(*given), want)
    (bound,) = plans_of(f.get_concrete_function(*given))
    assert has_steps_in_python(bound) is (name in SIZED_BY_DATA)


@pytest.mark.parametrize("dtype", [np.float16, bfloat16.numpy], ids=["float16", "bfloat16"])
def test_sums_of_two_bytes_are_rounded_once(dtype: Any) -> None:
    f = tf.function(lambda x, i: tf.math.unsorted_segment_sum(x, i, 11), jit_compile=True)
    x = ROWS.astype(dtype)
    want = np.zeros((11, 3))
    np.add.at(want, IDS, x.astype(np.float64))
    assert f(there(x), there(IDS)).numpy().tobytes() == want.astype(dtype).tobytes()


def test_the_same_bits_each_time_and_with_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tf.function(gathered, jit_compile=True)
    given = there(X), there(IDS)
    first = [y.numpy().tobytes() for y in f(*given)]
    monkeypatch.setattr(fake_driver, "threads_of", lambda x, y: (8, 1))
    for _ in range(4):
        assert [y.numpy().tobytes() for y in f(*given)] == first


WRONG: dict[str, tuple[Callable[..., Any], Any, Any, str]] = {
    "gather": (lambda x, i: tf.gather(x, i) * 2.0, [0, 10], [3, 11], "gather"),
    "a negative one": (lambda x, i: tf.gather(x, i) * 2.0, [0, 10], [3, -1], "gather"),
    "its gradient": (lambda x, i: gathered(x, i)[1], [0, 10], [3, 11], "gather"),
    "gather_nd": (lambda x, i: tf.gather_nd(x, i[:, None]) * 2.0, [0, 10], [3, 11], "gather_nd"),
    "an index": (lambda x, i: x[i[1]] * 2.0, [0, 10], [0, 11], "getitem"),
    "a slice": (lambda x, i: tf.slice(x, [i[1], 0], [2, 2]) * 2.0, [0, 9], [0, 10], "slice"),
    "a check of its last element": (
        lambda x, i: (tf.debugging.assert_less(i, 5), x * 2.0)[1],
        [0, 4],
        [0, 5],
        "did not hold",
    ),
    "segments that fall": (lambda x, i: tf.math.segment_sum(x[:2], i), [0, 1], [1, 0], "segment"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_position_outside_is_the_op_s_error_at_each_run_and_nothing_is_assigned(name: str) -> None:
    function, right, wrong, told = WRONG[name]
    with tf.device("cuda"):
        seen = tf.Variable(0.0)

    @tf.function(jit_compile=True)
    def f(x: Any, i: Any) -> Any:
        y = function(x, i)
        seen.assign_add(1.0)
        return y

    x, here = there(X), [there(np.array(i, np.int32)) for i in (right, wrong)]
    for count in range(captures.SEEN + 2):  # by launches, then by a graph
        want = function(tf.constant(X), tf.constant(np.array(right, np.int32)))
        agree(f(x, here[0]), want)
        with pytest.raises((tf.errors.InvalidArgumentError, IndexError, ValueError), match=told):
            f(x, here[1])
        assert float(seen) == count + 1


def test_a_position_outside_of_a_table_without_elements_is_seen() -> None:
    f = tf.function(lambda x, i: tf.gather(x, i) + 1.0, jit_compile=True)
    empty = there(np.zeros((4, 0), np.float32))
    assert f(empty, there(np.array([3], np.int32))).shape == (1, 0)
    with pytest.raises(Exception, match="gather"):
        f(empty, there(np.array([4], np.int32)))
    assert f(there(X), there(np.zeros(0, np.int32))).shape == (0, 3)


@pytest.mark.parametrize("way, shape, found", [("extreme", (3, 0), (3,)), ("order", (3, 1), (3, 2))])
def test_places_of_elements_that_are_not_there_are_no_answer(way: str, shape: Any, found: Any) -> None:
    """Ops refuse such sizes, where they know them."""
    form = forms.Ordered(way, 1, True, int64)
    walks = [(shape, (8, 4)), (found, (16, 8)[-len(found) :])]
    (part,) = ordered.parts(backend_of("cuda:0"), form, ["float32", "int64"], walks)
    assert build.code_at(part.step.function).kernel == Written("never") and part.step.words[0] == 1


def test_rounds_of_a_loop_look_up_and_add() -> None:
    @tf.function(jit_compile=True)
    def f(x: Any, ids: Any) -> Any:
        total = tf.zeros([3])
        for k in tf.range(4):
            total = total + tf.reduce_sum(tf.gather(x, (ids + k) % 11), 0)
        return total

    want = f(tf.constant(X), tf.constant(IDS))
    given = there(X), there(IDS)
    for _ in range(4):
        agree(f(*given), want)
    (bound,) = plans_of(f.get_concrete_function(*given))
    assert not has_steps_in_python(bound)


def test_a_loop_that_goes_on_from_a_position_outside_ends() -> None:
    """Zeros stand for what is not there, so its test would hold for ever; here for so many rounds."""
    most = 40 * walk.ROUNDS_UNSEEN

    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        def goes(i: Any) -> Any:
            return (tf.gather(x, i) < 1.0) & (i < most)

        return tf.while_loop(goes, lambda i: (i + 1,), (tf.constant(0),))[0]

    x = np.zeros(20, np.float32)
    x[7] = 1.0
    for _ in range(2):
        assert int(f(there(x))) == 7
        fake_driver.launches.clear()
        with pytest.raises(tf.errors.OutOfRangeError, match=r"gather: indices = 20 is not in \[0, 20\)"):
            f(there(0.0 * x))
        assert len(fake_driver.launches) < most


def test_a_training_step_with_an_embedding_and_labels_is_one_plan() -> None:
    def losses(place: str) -> tuple[list[float], Any]:
        with tf.device(place):
            table = tf.Variable(X.copy())
            w = tf.Variable(NUMBERS_W.copy())

            @tf.function(jit_compile=True)
            def step(ids: Any, labels: Any) -> Any:
                with tf.GradientTape() as tape:
                    logits = tf.tanh(tf.gather(table, ids)) @ w
                    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
                for v, g in zip((table, w), tape.gradient(loss, (table, w)), strict=True):
                    v.assign_sub(0.5 * tf.convert_to_tensor(g))
                return loss

            given = tf.constant(IDS), tf.constant(IDS % 4)
            return [float(step(*given)) for _ in range(5)], step.get_concrete_function(*given)

    here, _ = losses("cpu")
    found, concrete = losses("cuda")
    np.testing.assert_allclose(found, here, rtol=1e-5)
    (bound,) = plans_of(concrete)
    assert not has_steps_in_python(bound)


NUMBERS_W = NUMBERS.normal(size=(3, 4)).astype(np.float32)
