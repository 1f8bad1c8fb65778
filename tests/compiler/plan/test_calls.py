"""An op without native code does not keep a loop from being one native call: its eval is called in the rounds, with the bits and
the errors of the eager op."""

from __future__ import annotations

import ctypes
import gc
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.cpu.runtime import calls, entry_text
from graphad.tools.explain import explain

_rng = np.random.default_rng(11)


def numbers(*shape: int) -> Any:
    return tf.constant(_rng.normal(size=shape).astype(np.float32))


def factors(a: Any) -> Any:
    """Two results of an op without native code: the diagonal of its first one, and that."""
    found, order = tf.linalg.lu(a)
    return tf.linalg.diag_part(found) + tf.cast(order, tf.float32), found


def is_native(f: Any, *given: Any) -> bool:
    units = explain(f)(*given).units
    return "repeat" in units and "host" not in units


def agrees(function: Any, *given: Any) -> None:
    f = tf.function(function, jit_compile=True)
    for _ in range(2):
        wants, found = tf.nest.flatten(function(*given)), tf.nest.flatten(f(*given))
        for want, got in zip(wants, found, strict=True):
            assert got.dtype == want.dtype and got.numpy().tobytes() == want.numpy().tobytes()
    assert is_native(f, *given), explain(f)(*given).units


def steps(x: Any) -> Any:
    """Two results of one eval, and slices of a stack that move with the rounds."""
    total = tf.zeros([3])
    kept = tf.TensorArray(tf.float32, 7)
    for i in tf.range(7):
        values, vectors = factors(x[i] + tf.transpose(x[i]))
        total = total * 0.5 + tf.abs(values) + vectors[0] * 0.25
        kept = kept.write(i, total + values)
    return total, kept.stack()


def test_a_round_calls_evals_with_several_results() -> None:
    agrees(steps, numbers(7, 3, 3))


def test_the_test_of_a_loop_calls_an_eval() -> None:
    def f(x: Any) -> Any:
        while factors(x)[0][1] * 2.0 + 1.0 < 100.0:
            x = x * 1.5 + 0.25 * tf.eye(3) - 0.125 * x
        return x

    agrees(f, tf.eye(3) * 0.5)


def test_scalars_and_empty_arrays_are_operands() -> None:
    def f(x: Any, n: Any) -> Any:
        y = tf.zeros([])
        for _ in tf.range(4):
            y = y * 2.0 + tf.math.lgamma(y + 1.5) * 0.5 + 1.0
            n = n // 2 + tf.cast(y, tf.int32) * 3 + tf.size(tf.linalg.eigvalsh(x))
        return y, n

    agrees(f, tf.zeros([0, 2, 2]), tf.constant(100))


def test_a_gradient_through_rounds_with_an_eval() -> None:
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(5):
                values, vectors = factors(y + tf.transpose(y))
                y = y * 0.5 + 0.1 * tf.abs(vectors * values) + 0.01 * tf.exp(-(y**2))
            z = tf.reduce_sum(y**2)
        return z, tape.gradient(z, x)

    x = numbers(3, 3)
    compiled = tf.function(f, jit_compile=True)
    for want, got in zip(f(x), compiled(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_sizes_that_are_not_known() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None])], jit_compile=True)
    def f(x: Any) -> Any:
        for _ in tf.range(3):
            x = x * 0.5 + tf.abs(x) * 0.25 + factors(x + 5.0 * tf.eye(tf.shape(x)[0]))[1] * 0.125
        return x

    for n in (2, 5, 3):
        x = numbers(n, n)
        assert f(x).numpy().tobytes() == f.python_function(x).numpy().tobytes()


def test_an_error_in_a_round_is_the_op_s_own() -> None:
    def f(x: Any) -> Any:
        for _ in tf.range(3):
            x = x * 0.5 + tf.abs(x) - factors(x)[1] * 0.25 + 0.125 * x
        return x

    compiled = tf.function(f, jit_compile=True)
    compiled(tf.eye(2))
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError) as eager:
            f(tf.zeros([2, 2]))
        with pytest.raises(tf.errors.InvalidArgumentError) as found:
            compiled(tf.zeros([2, 2]))
        assert str(found.value).splitlines()[0] == str(eager.value).splitlines()[0]
        assert any("test_calls.py" in note for note in found.value.__notes__)
    assert (compiled(tf.eye(2)).numpy() == f(tf.eye(2)).numpy()).all()


def _slow(rounds: int) -> Any:
    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        for _ in tf.range(rounds):
            x = x * 0.5 + tf.abs(x) * 0.25 + 0.125 * factors(x + tf.transpose(x))[1]
        return x

    return f


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_what_a_signal_s_handler_raises_ends_the_loop() -> None:
    class Late(Exception):
        pass

    def handler(*_: object) -> None:
        raise Late

    f, x = _slow(1_000_000_000), numbers(3, 3)
    before = signal.signal(signal.SIGALRM, handler)
    _slow(2)(x)  # compiled by the same kernels
    f.get_concrete_function(x)
    try:
        with pytest.raises(Late):
            signal.setitimer(signal.ITIMER_REAL, 2.0)
            f(x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_threads_in_the_same_loop_have_their_own_numbers() -> None:
    f, x = _slow(5_000), numbers(3, 3)
    want = f(x).numpy()
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(f(x).numpy())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3 and all((each == want).all() for each in found)


def test_other_threads_have_their_turns() -> None:
    """What ends the loop is another thread, which has to have turns for that; its exception is seen within a second."""

    class Enough(Exception):
        pass

    f, x = _slow(2_000_000_000), numbers(3, 3)
    _slow(2)(x)  # compiled by the same kernels
    f.get_concrete_function(x)
    started, ended = threading.Event(), threading.Event()
    raised: list[type[BaseException]] = []

    def run() -> None:
        try:
            started.set()
            f(x)
        except Enough:
            raised.append(Enough)
        finally:
            ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    started.wait()
    for _ in range(5):
        time.sleep(0.01)
    assert not ended.is_set()
    assert thread.ident is not None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Enough))
    thread.join()
    assert raised == [Enough]


def test_a_variable_that_is_assigned_meanwhile_is_read_as_it_was() -> None:
    v = tf.Variable(tf.eye(3))

    @tf.function(jit_compile=True)
    def f() -> Any:
        x, y = v.read_value(), tf.zeros([3, 3])
        for _ in tf.range(3000):
            y = y * 0.5 + tf.abs(x) * 0.25 + 0.125 * factors(x)[1]
        return y

    want = f().numpy()
    ends = threading.Event()

    def assign() -> None:
        while not ends.is_set():
            v.assign(np.eye(3, dtype=np.float32))
            gc.collect(0)

    thread = threading.Thread(target=assign)
    thread.start()
    try:
        for _ in range(5):
            assert (f().numpy() == want).all()
    finally:
        ends.set()
        thread.join()


def test_a_loop_that_only_calls_evals_stays_a_step_in_python() -> None:
    def f(x: Any) -> Any:
        for _ in tf.range(3):
            x = tf.linalg.lu(x)[0]
        return x + 1

    assert "repeat" not in explain(tf.function(f, jit_compile=True))(tf.eye(40)).units


def test_only_calls_keep_the_lock_of_the_interpreter() -> None:
    assert calls.kernel() and not calls.is_kernel(1)
    assert entry_text.KEEP_LOCK != entry_text.RELEASE_LOCK
