"""Arguments that have no end, lie about their length, or are larger than a number of the result's dtype can say."""

from __future__ import annotations

import inspect
import itertools
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import graphad as tf
from tests.test_wrong_use import GOOD, SPACES, functions

HUGE = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (2**33, 0), (0, 0))


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Ends a loop of Python's that does not end."""
    assert threading.current_thread() is threading.main_thread()

    def give_up(*_: object) -> None:
        raise AssertionError(f"no end within {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("space", SPACES)
def test_a_list_without_end_is_refused(space: str) -> None:
    """The iterator counts what is taken from it, so that no time decides."""
    taken = 0

    def endless() -> Iterator[Any]:
        nonlocal taken
        while taken < 2**22:
            taken += 1
            yield GOOD
        raise KeyboardInterrupt

    long = []
    for name, function in functions(space):
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = inspect.signature(function).parameters.values()
        count = sum(p.default is p.empty and p.kind in kinds for p in parameters)
        for k in range(count):
            taken = 0
            try:
                function(*[endless() if i == k else GOOD for i in range(count)])
            except Exception as error:
                if not type(error).__module__.startswith("graphad"):
                    long.append(f"{name}, argument {k}: {type(error).__name__}: {error}")
            except KeyboardInterrupt:
                long.append(f"{name}, argument {k}: walks on")
    assert not long, "\n".join(long)


def test_functions_of_a_list_without_end_are_refused() -> None:
    with within(600):
        with pytest.raises(ValueError, match=r"switch_case: branch_fns is repeat.*has no end; give a list"):
            tf.switch_case(0, itertools.repeat(lambda: 1))
        with pytest.raises(ValueError, match=r"case: pred_fn_pairs is repeat.*has no end; give a list"):
            tf.case(itertools.repeat((False, lambda: 1)))


class Boastful:
    def __len__(self) -> int:
        return 10**18

    def __getitem__(self, k: int) -> float:
        return 1.0


@pytest.mark.parametrize(
    ("call", "op"),
    [
        (tf.constant, "constant"),
        (tf.Variable, "Variable"),
        (lambda x: tf.ones([2]) + x, "add"),
        (lambda x: tf.concat(x, 0), "concat"),
        (lambda x: tf.transpose(GOOD, x), "transpose"),
        (lambda x: tf.tile(GOOD, x), "tile"),
        (lambda x: tf.slice(GOOD, x, [1, 1]), "slice"),
    ],
)
def test_a_length_that_no_memory_holds_is_said(call: Callable[[object], object], op: str) -> None:
    with within(600), pytest.raises(tf.errors.ResourceExhaustedError, match=f"{op}: .*Boastful.*no memory"):
        call(Boastful())


def test_a_size_that_the_dtype_does_not_hold_is_refused() -> None:
    shape = tf.function(lambda: tf.shape(tf.zeros([2**33, 0])))
    for call in (lambda: tf.shape(HUGE), lambda: tf.shape_n([HUGE]), shape):
        with pytest.raises(
            ValueError, match=r"shape: the sizes are \(8589934592, 0\), of which int32 .*int64"
        ):
            call()
    with pytest.raises(ValueError, match=r"size: the sizes are \(300,\), of which int8"):
        tf.size(np.zeros(300), tf.int8)
    assert tf.shape(HUGE, tf.int64).numpy().tolist() == [2**33, 0]
    traced = tf.function(
        lambda x: (tf.shape(x, tf.int64), tf.size(x)),
        input_signature=[tf.TensorSpec([None, None], tf.int8)],
    )
    assert [y.numpy().tolist() for y in traced(HUGE)] == [[2**33, 0], 0]
    with pytest.raises(ValueError, match="of which int32"):
        tf.function(tf.shape, input_signature=[tf.TensorSpec([None, None], tf.int8)])(HUGE)


def test_many_rows_without_numbers_are_joined_and_summed() -> None:
    z = tf.constant(HUGE)
    assert tf.stack([z, z]).shape == (2, 2**33, 0)
    assert tf.concat([z, z], 0).shape == (2**34, 0)
    assert tf.add_n([z, z]).shape == (2**33, 0)
    assert float(tf.linalg.global_norm([tf.cast(z, tf.float32)])) == 0.0
    joined = tf.function(lambda z: (tf.stack([z, z]), tf.add_n([z, z])), jit_compile=True)
    assert [y.shape.as_list() for y in joined(z)] == [[2, 2**33, 0], [2**33, 0]]


@pytest.mark.parametrize(
    ("call", "python", "words"),
    [
        (lambda: tf.case([]), ValueError, "case: pred_fn_pairs is empty"),
        (lambda: tf.case(None), TypeError, "case: pred_fn_pairs is None of type NoneType; give a list of pairs"),
        (lambda: tf.switch_case(0, None), TypeError, "switch_case: branch_fns is None of type NoneType; give a list"),
        (lambda: tf.switch_case(0, 3), TypeError, "switch_case: branch_fns is 3 of type int; give a list"),
        (lambda: tf.switch_case(0, [([], abs)]), TypeError, r"switch_case: the keys of .* must be integers, got \[\[\]\]"),
        (lambda: tf.signal.fftnd(GOOD, 2, None), ValueError, r"fftnd: fft_length has shape \(\) and .*\(2, 2\); a vector"),
        (lambda: tf.signal.rfftnd(GOOD, [2, 2, 2]), ValueError, r"rfftnd: fft_length has shape \(3,\) and .*\(2, 2\)"),
        (lambda: tf.signal.irfftnd(GOOD, [[2, 2]]), ValueError, r"irfftnd: fft_length has shape \(1, 2\)"),
    ],
)  # fmt: skip
def test_lists_that_are_none_are_refused(
    call: Callable[[], object], python: type[Exception], words: str
) -> None:
    with pytest.raises(python, match=words) as caught:
        call()
    assert isinstance(caught.value, tf.errors.GraphadError)


def test_generators_give_functions_and_tensors_once() -> None:
    assert tf.switch_case(tf.constant(1), (each for each in (lambda: 1, lambda: 2))) == 2
    clipped, norm = tf.clip_by_global_norm((x for x in ([3.0], [4.0])), 1.0)
    assert float(norm) == 5.0 and len(clipped) == 2


@pytest.mark.parametrize("message", [3, object(), b"x", ["a"], ("a", "b"), np.ones(2), "before\x00after"])
def test_a_message_may_be_any_object(message: Any) -> None:
    shown = str(message).replace("\x00", r"\x00")
    d = tf.debugging
    for call in (
        lambda m: d.assert_equal(1, 2, message=m),
        lambda m: d.assert_positive([-1], message=m),
        lambda m: d.assert_near(1.0, 2.0, message=m),
        lambda m: d.assert_rank(1.0, 3, message=m),
        lambda m: d.assert_rank_in(1.0, [3], message=m),
        lambda m: d.assert_scalar([1.0], message=m),
        lambda m: d.assert_type(1.0, tf.int32, message=m),
        lambda m: d.assert_integer(1.0, message=m),
        lambda m: d.assert_all_finite(np.nan, message=m),
        lambda m: d.assert_shapes([(1.0, (3,))], message=m),
        lambda m: d.Assert(False, [m]),
    ):
        with pytest.raises(tf.errors.GraphadError) as caught:
            call(message)
        assert shown in str(caught.value)
    d.assert_equal(1, 1, message=message)


def test_a_text_that_is_printed_may_hold_any_character(capfd: pytest.CaptureFixture[str]) -> None:
    tf.print("a\x00b", tf.constant(3), [tf.constant(4)], sep="\x00", end="!\x00\n")
    assert capfd.readouterr().err == "a\x00b\x003\x00[4]!\x00\n"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.reverse(x, [0]) + 1,
        lambda x: tf.tile(x, [2, 1]),
        lambda x: tf.roll(x, 1, 0) * 2,
        lambda x: tf.cumsum(x, 1),
        lambda x: tf.sort(x),
        lambda x: tf.gather(x, [3, 1]),
        lambda x: tf.stack([x, x], 1),
        lambda x: tf.pad(x, [[1, 1], [0, 0]]),
        lambda x: tf.linalg.band_part(x[:, None], 1, 1),
        lambda x: tf.exp(x[::2]) - x[1::2],
    ],
)
def test_compiled_loops_make_no_rounds_for_rows_without_numbers(function: Callable[[Any], Any]) -> None:
    """A round takes a nanosecond, and there would be days of them."""
    x = tf.constant(np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (2**50, 0), (0, 0)))
    with within(600):
        assert 0 in tf.function(function, jit_compile=True)(x).shape
