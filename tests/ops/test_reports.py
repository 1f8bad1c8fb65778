"""Results do not depend on what NumPy and Python were told to do about infinities and NaN.

Every op is given its poles, infinities, NaN, huge and tiny numbers with warnings as errors and `np.seterr(all="raise")`.
"""

from __future__ import annotations

import itertools
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core import bind as door
from tests.support.case_tables import cases_by_name
from tests.support.op_case import OpCase

POINTS = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e300, -1e300, 1e-310, 0.5, -2.0]


@contextmanager
def reported() -> Iterator[None]:
    """Everything that NumPy can report is an error."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        yield


def _at_poles(array: Any, start: int) -> Any:
    x = np.asarray(array)
    if x.dtype.kind not in "fc":
        return array
    points = itertools.islice(itertools.cycle(POINTS), start, start + x.size)
    with np.errstate(all="ignore"):
        made = np.array(list(points)).astype(np.float32 if start % 2 else np.float64).astype(x.dtype)
    return made.reshape(x.shape) if x.ndim else made.reshape(())[()]


def _run(case: OpCase, arrays: list[Any], bars: list[Any]) -> Any:
    try:
        values = [np.asarray(y.data) for y in case.call(*case.tensors(arrays))]
        gradients = case.gradient_values(arrays, bars) if case.order else []
    except (FloatingPointError, Warning):
        raise
    except Exception as error:
        return type(error)
    return [*values, *(None if g is None else np.asarray(g) for g in gradients)]


def _compare(found: Any, wanted: Any) -> None:
    if isinstance(wanted, type):
        assert found is wanted
        return
    for y, want in zip(found, wanted, strict=True):
        assert (y is None) == (want is None)
        if want is not None:
            np.testing.assert_array_equal(y, want, strict=True)


@pytest.mark.parametrize("name", list(cases_by_name()))
def test_eager_ops_and_gradients_do_not_raise_what_numpy_reports(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "VERIFY", False)
    case = cases_by_name()[name]
    bars = case.cotangents()
    for start in range(0, len(POINTS), 5):
        arrays = [_at_poles(x.data, start + k) for k, x in enumerate(case.tensors())]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            wanted = _run(case, arrays, bars)
        with reported():
            found = _run(case, arrays, bars)
        _compare(found, wanted)


def _program(x: Any, y: Any) -> Any:
    """Poles of many ops, on every kind of step: loops, host steps, sub-graphs, folded constants."""
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = tf.math.log(x) * y + tf.exp(x * 1e30) / (y - y) + tf.sqrt(x) // y
        z = z + tf.cond(tf.reduce_any(x > 0.0), lambda: 1.0 / x, lambda: x)
        z = z + tf.sort(tf.math.rsqrt(x - x)) + tf.math.log(tf.zeros([4]))
        z = z + tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * a), (0, x * 1e20))[1]
        z = z + tf.cumsum(x * 3e38) + tf.reduce_sum(y * 3e38)
    return z, tape.gradient(z, [x, y])


FORMS: dict[str, Callable[[], Callable[..., Any]]] = {
    "eager": lambda: _program,
    "tier 0": lambda: tf.function(_program),
    "native": lambda: tf.function(_program, jit_compile=True),
    "unknown sizes": lambda: tf.function(_program, input_signature=[tf.TensorSpec([None], tf.float32)] * 2),
}


@pytest.mark.parametrize("form", list(FORMS))
def test_programs_run_alike_whatever_is_reported(form: str) -> None:
    x, y = tf.constant([0.0, 1.0, -1.0, np.inf]), tf.constant([np.inf, 0.0, np.nan, 3e38])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        wanted = tf.function(_program)(x, y)
    with reported():
        found = FORMS[form]()(x, y)
    for a, b in zip((found[0], *found[1]), (wanted[0], *wanted[1]), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


def test_threads_with_settings_of_their_own_get_the_same() -> None:
    results, x = {}, tf.constant([0.0, -1.0])

    def work(mode: str) -> None:
        try:
            with np.errstate(all=mode):
                results[mode] = (tf.math.log(x) / x).numpy().tolist()
        except BaseException as error:
            results[mode] = error

    threads = [threading.Thread(target=work, args=(mode,)) for mode in ("ignore", "raise", "warn")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert str(results["raise"]) == str(results["ignore"]) == str(results["warn"]) == "[-inf, nan]"


def test_constants_beyond_a_dtype_are_infinite_without_a_report() -> None:
    with reported():
        assert np.isinf(tf.constant([1e300], tf.float32).numpy()).all()
        assert np.isinf(tf.constant(1e300, tf.float32).numpy())
        assert np.isinf(tf.cast(tf.constant([1e300], tf.float64), tf.float32).numpy()).all()
        assert tf.cast(tf.constant([np.nan, np.inf]), tf.int32).shape == (2,)
        assert np.isinf((tf.constant([1.0]) * 1e300).numpy()).all()


def test_an_op_from_outside_is_not_run_twice() -> None:
    calls = []

    def compute(x: Any) -> Any:
        calls.append(1)
        return np.log(x)

    op = tf.new_op("reported_log", compute)
    with reported(), pytest.raises((FloatingPointError, RuntimeWarning)):
        op(tf.constant([0.0]))
    assert len(calls) == 1
