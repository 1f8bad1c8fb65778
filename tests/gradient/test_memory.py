"""What a tape keeps alive and for how long, and what threads and tasks see of each other's levels."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
import tracemalloc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import graphad as tf
from tests.support.memory import nothing_prepared


@pytest.fixture
def traced_memory():
    nothing_prepared()  # what other threads allocate counts too
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


def held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def growth(step, times: int) -> int:
    """The least growth of twenty rounds: a leak shows in each of them, what is imported or compiled meanwhile in a few."""
    least = 1 << 40
    for _ in range(20):
        before = held()
        for _ in range(times):
            step()
        least = min(least, held() - before)
        if least < 1000:
            break
    return least


@pytest.fixture
def early_sweeps(monkeypatch):
    """A tape sweeps after a sixteenth of the entries, and a test needs no more than that many."""
    from graphad.gradient import recorder

    monkeypatch.setattr(recorder, "_FIRST_SWEEP", recorder._FIRST_SWEEP // 16)


def test_dead_results_are_swept_from_a_tape(traced_memory, early_sweeps):
    v = tf.Variable(np.ones(1024, np.float32))  # 4 KB
    before = held()
    with tf.GradientTape() as tape:
        for _ in range(1250):
            tf.tanh(v * 1.0)
        assert held() - before < 1e6
        y = tf.reduce_sum(v * v)
    np.testing.assert_array_equal(tape.gradient(y, v), np.full(1024, 2.0))


def test_what_a_result_still_needs_is_not_swept():
    v = tf.Variable(1.0)
    with tf.GradientTape() as tape:
        y = v * 1.0
        for _ in range(6_000):
            y = y + 1.0
            tf.sin(y)
        z = y * v
    assert tape.gradient(z, v).numpy() == 6_002.0


def test_a_kept_loss_keeps_nothing_else_alive():
    losses, inner = [], []
    for _ in range(3):
        v = tf.Variable(np.ones(1000, np.float32))
        with tf.GradientTape() as tape:
            hidden = tf.tanh(v * 2.0)
            loss = tf.reduce_sum(hidden * hidden)
        tape.gradient(loss, v)
        inner += [weakref.ref(hidden), weakref.ref(v), weakref.ref(tape)]
        losses.append(loss)
        del v, tape, hidden, loss
    gc.collect()
    assert [reference() for reference in inner] == [None] * 9
    assert len(losses) == 3


@pytest.mark.parametrize("persistent", [False, True])
def test_a_tape_frees_its_record_without_the_garbage_collector(persistent):
    v = tf.Variable(np.ones(1000, np.float32))
    gc.disable()
    try:
        with tf.GradientTape(persistent=persistent) as tape:
            hidden = tf.tanh(v * 2.0)
            reference = weakref.ref(hidden)
            loss = tf.reduce_sum(hidden * hidden)
            del hidden
        tape.gradient(loss, v)
        if persistent:
            assert reference() is not None
            del tape
        assert reference() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("compiled", [False, True])
def test_training_leaks_nothing(traced_memory, compiled):
    v = tf.Variable(np.ones(256, np.float32))

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((v * x) ** 2)
        v.assign_sub(1e-3 * tape.gradient(loss, v))
        return loss

    run = tf.function(step) if compiled else step
    x = tf.constant(np.ones(256, np.float32))
    assert growth(lambda: run(x), 150) < 7_500


def test_functions_under_tapes_leak_nothing(traced_memory):
    v = tf.Variable(np.ones(256, np.float32))
    f = tf.function(lambda x: tf.reduce_sum((v * x) ** 2))
    x = tf.constant(np.ones(256, np.float32))

    def step():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                y = f(x)
            g = inner.gradient(y, v)
        return outer.gradient(g, v)

    assert growth(step, 70) < 8_750


def test_traced_functions_do_not_keep_their_arguments_alive():
    f = tf.function(lambda x: x * 2.0)
    x = tf.constant(np.ones(1000, np.float32))
    reference = weakref.ref(x)
    f(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    tape.gradient(y, x)
    del x, y, tape
    gc.collect()
    assert reference() is None


def test_a_function_that_is_gone_takes_its_captures_with_it():
    def use():
        c = tf.constant(np.ones(1000, np.float32))
        v = tf.Variable(c)
        f = tf.function(lambda x: tf.reduce_sum(x * c * v))
        with tf.GradientTape() as tape:
            y = f(tf.constant(2.0))
        tape.gradient(y, v)
        return weakref.ref(c), weakref.ref(v)

    references = use()
    gc.collect()
    assert [r() for r in references] == [None, None]


# -- threads and tasks ----------------------------------------------------------------------------------------------------


def test_tapes_and_functions_in_six_threads_at_once():
    v = tf.Variable(2.0)
    shared = tf.function(lambda x: x**3 * v)
    start = threading.Barrier(6)

    def work(k):
        own = tf.Variable(float(k))
        local = tf.function(lambda x: x * x * own)
        start.wait()
        for i in range(60):
            x = tf.constant(float(k + 1))
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = shared(x) + local(x) + x * own
                g = tape.gradient(y, x)
            h = outer.gradient(g, [x, own])
            n = k + 1.0
            assert float(g) == 6 * n * n + 2 * n * k + k
            assert [float(t) for t in h] == [12 * n + 2 * k, 2 * n + 1]
            assert {u.ref() for u in tape.watched_variables()} == {v.ref(), own.ref()}
            if i % 20 == 0:
                assert tf.function(lambda t: t * 2.0)(x).numpy() == 2 * n
        return k

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(work, range(6))) == list(range(6))


def test_a_tape_sees_nothing_of_other_threads():
    v = tf.Variable(3.0)
    results = []

    def other():
        y = v * v
        with tf.GradientTape() as tape:
            z = v * v
        results.extend([y, tape.gradient(z, v)])

    with tf.GradientTape() as tape:
        context = contextvars.copy_context()
        for target in (other, lambda: context.run(other)):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
        w = v * 1.0
    assert [float(r) for r in results] == [9.0, 6.0] * 2
    assert tape.gradient([results[0], results[2], w], v).numpy() == 1.0


def test_a_trace_is_not_seen_by_other_threads():
    results = []

    @tf.function
    def f(x):
        context = contextvars.copy_context()
        thread = threading.Thread(target=lambda: context.run(lambda: results.append(tf.constant(2.0) * 3.0)))
        thread.start()
        thread.join()
        return x * 2.0

    assert f(tf.constant(1.0)).numpy() == 2.0
    assert results[0].numpy() == 6.0


def test_tasks_have_levels_of_their_own():
    v = tf.Variable(3.0)
    log = []

    async def child(k):
        y = v * float(k)
        await asyncio.sleep(0)
        with tf.GradientTape() as tape:
            z = v * v * float(k)
            await asyncio.sleep(0)
            z = z + v
        log.append(float(tape.gradient(z, v)))
        return y

    async def main():
        with tf.GradientTape() as tape:
            w = v * 1.0
            ys = await asyncio.gather(*[child(k) for k in range(1, 4)])
            w = w + v * 1.0
        return tape.gradient([w, *ys], v)

    assert float(asyncio.run(main())) == 2.0
    assert sorted(log) == [7.0, 13.0, 19.0]
    assert (tf.constant(1.0) + 1.0).numpy() == 2.0


def test_a_level_does_not_leak_out_of_a_task():
    async def main():
        tape = tf.GradientTape()
        tape.__enter__()
        tape.watch(tf.constant(1.0))

    asyncio.run(main())
    v = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = v * v
    assert tape.gradient(y, v).numpy() == 4.0


# -- sweeping: what nobody can reach goes, whatever else an entry keeps -------------------------------------------------------


def test_a_sweep_frees_results_that_only_their_own_entry_keeps(traced_memory, early_sweeps):
    v = tf.Variable(np.ones(1024, np.float32))
    before = held()
    with tf.GradientTape() as tape:
        for _ in range(560):
            tf.tanh(v)  # its rule reads its output, which the entry therefore keeps
            tf.split(v * 1.0, 4)
        assert held() - before < 4e6
        assert len(tape.entries) < 560


def test_gradients_are_the_same_with_and_without_sweeps(monkeypatch):
    from graphad.gradient import recorder

    def gradients():
        v, w = tf.Variable(np.linspace(0.1, 1.0, 8, dtype=np.float32)), tf.Variable(0.5)
        with tf.GradientTape(persistent=True) as tape:
            y, parts = v * 1.0, []
            for i in range(60):
                y = tf.tanh(y * w + 0.1) if i % 2 else tf.exp(-y)
                a, b = tf.split(y, 2)
                parts.append(a if i % 3 else b)
                tf.sin(y) * 2.0
            z = tf.reduce_sum(tf.concat(parts, 0)) + tf.reduce_sum(y)
            del a, b, y
        return [g.numpy() for g in tape.gradient(z, [v, w])], len(tape.entries)

    want, all_entries = gradients()
    monkeypatch.setattr(recorder, "_FIRST_SWEEP", 5)
    found, left = gradients()
    assert left < all_entries
    for g, w in zip(found, want, strict=True):
        np.testing.assert_array_equal(g, w)


def test_a_sweep_while_tracing_drops_nothing_that_is_needed(monkeypatch):
    from graphad.gradient import recorder

    def f(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(20):
                y = tf.tanh(y) * x
        return tape.gradient(y, x)

    x = tf.constant(0.7)
    want = f(x)
    monkeypatch.setattr(recorder, "_FIRST_SWEEP", 5)
    np.testing.assert_allclose(f(x), want, rtol=1e-6)
    np.testing.assert_allclose(tf.function(f)(x), want, rtol=1e-6)


def test_threads_that_watch_one_tensor_at_once_all_get_its_gradient():
    def work(pair):
        x, start = pair
        start.wait()
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    with ThreadPoolExecutor(4) as pool:
        for _ in range(200):
            x, start = tf.constant(3.0), threading.Barrier(4)
            assert [float(g) for g in pool.map(work, [(x, start)] * 4)] == [6.0] * 4


def test_tapes_do_not_count_references():
    """A count differs between Python's releases, and is no answer where threads hold objects on their own."""
    from pathlib import Path

    package = Path(tf.__file__).parent
    assert not [
        path
        for path in (package / "gradient").glob("*.py")
        if "getrefcount" in path.read_text(encoding="utf-8")
    ]
