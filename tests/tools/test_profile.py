"""`profile` counts, times and names what runs, changes no result, and leaves nothing behind."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.plan.executable import Executable
from graphad.compiler.plan.host import HostPlan
from graphad.function.polymorphic import Function

PLACES = [(Function, "__call__"), (Function, "_trace_new"), (Executable, "run"), (HostPlan, "run")]


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    before = [vars(owner)[name] for owner, name in PLACES]
    yield
    assert [vars(owner)[name] for owner, name in PLACES] == before


def test_calls_runs_and_traces_are_counted_by_name():
    @tf.function(jit_compile=False)
    def double(x):
        return x * 2.0

    double(tf.ones([2]))
    with tf.profile() as found:
        for n in (2, 2, 3):
            double(tf.ones([n]))
        double(1.5)
    assert found.functions["double"].count == 4
    assert found.ran["double"].total.count == 4
    assert found.traces["double"].count == 2
    assert "shape" in found.retraced["double"] or "float32" in found.retraced["double"]
    assert dict(found.ran["double"].reasons) == {"jit_compile=False": 4}
    assert found.ran["double"].ops["mul"].count == 3  # that of a Python number is a constant
    assert 0 < found.ran["double"].total.seconds < found.functions["double"].seconds < found.seconds
    double(tf.ones([2]))
    assert found.functions["double"].count == 4


def test_native_calls_name_their_kernels_and_give_the_same():
    v = tf.Variable(np.linspace(0.0, 1.0, 12, dtype=np.float32).reshape(3, 4))

    @tf.function(jit_compile=True)
    def step(x):
        y = tf.reduce_sum(tf.tanh(x @ v) ** 2.0) + tf.reduce_sum(tf.linalg.expm(tf.eye(2) * (2.0 + x[0, 0])))
        v.assign_add(v * 0.5)
        return y, tf.exp(x) + 1.0

    def run():
        v.assign(np.linspace(0.0, 1.0, 12, dtype=np.float32).reshape(3, 4))
        return [[y.numpy() for y in step(tf.ones([2, 3]) * float(k))] + [v.numpy()] for k in range(12)]

    wanted = run()
    with tf.profile() as found:
        got = run()
    for a, b in zip(wanted, got, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)
    assert found.ran["step"].tiers["native"].count == 12
    assert not found.ran["step"].reasons
    names = list(found.ran["step"].kernels)
    assert "matmul" in names and "expm (NumPy)" in names and any("tanh" in name for name in names)
    assert found.ran["step"].kernels["matmul"].count == 8
    with tf.profile(kernels=False) as found:
        run()
    assert found.ran["step"].tiers["native"].count == 12 and not found.ran["step"].kernels


def test_why_a_call_was_not_native_is_said():
    @tf.function
    def cold(x):
        return x + 1.0

    with tf.profile() as found:
        cold(tf.ones([2]))
    assert dict(found.ran["cold"].reasons) == {"a graph is compiled from its 3rd call on": 1}

    @tf.function(jit_compile=True)
    def hopeless(x):
        return tf.linalg.expm(x)

    with tf.profile() as found:
        hopeless(tf.eye(2))
    (reason,) = found.ran["hopeless"].reasons
    assert "none of its nodes has a kernel" in reason
    before = tf.config.jit()
    tf.config.set_jit("never")
    try:
        with tf.profile() as found:
            cold(tf.ones([2]))
    finally:
        tf.config.set_jit(before)
    assert list(found.ran["cold"].reasons) == ["config.set_jit('never')"]


def test_derivatives_and_what_runs_inside_have_rows_of_their_own():
    @tf.function(jit_compile=False)
    def cube(x):
        return x * x * x

    x = tf.constant(2.0)
    with tf.profile() as found:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = cube(x)
        assert tape.gradient(y, x) == 12.0
    assert sum(ran.total.count for ran in found.ran.values()) == 2


def test_compiling_is_reported():
    @tf.function(jit_compile=True)
    def fresh(x):
        return tf.sin(x) * 1.2345 + tf.cos(x) / 6.789

    with tf.profile() as found:
        fresh(tf.ones([3]))
    count, seconds = found.compiled["fresh"]
    assert count in (0, 1) and seconds > 0
    assert any(event.kind == "compile" for event in found.events)


def test_loaded_functions_are_seen(tmp_path):
    holder = tf.Module()
    holder.f = tf.function(lambda x: x + 1.0, input_signature=[tf.TensorSpec([None])])
    tf.saved_model.save(holder, tmp_path / "m")
    loaded = tf.saved_model.load(tmp_path / "m")
    loaded.f(tf.ones([2]))
    with tf.profile() as found:
        loaded.f(tf.ones([2]))
    (name,) = found.functions
    assert found.functions[name].count == found.ran[name].total.count == 1


def test_profiles_inside_each_other_and_threads_are_seen():
    f = tf.function(lambda x: x * 3.0, jit_compile=False)
    f(tf.ones([2]))
    with tf.profile() as outer:
        f(tf.ones([2]))
        with tf.profile() as inner:
            thread = threading.Thread(target=f, args=(tf.ones([2]),))
            thread.start()
            thread.join()
        f(tf.ones([2]))
    assert (outer.functions["<lambda>"].count, inner.functions["<lambda>"].count) == (3, 1)
    assert len({event.thread for event in outer.events}) == 2
    with pytest.raises(RuntimeError, match="profile: it has been entered before"):
        outer.__enter__()


def test_errors_pass_through_and_close_the_profile():
    @tf.function(jit_compile=False)
    def failing(x):
        tf.debugging.assert_positive(x)
        return x

    with pytest.raises(ValueError):
        with tf.profile() as found:
            failing(tf.constant([-1.0]))
    assert found.functions["failing"].count == 1 and found.seconds > 0


def test_text_page_and_time_line_say_it(tmp_path):
    def program(x):
        return tf.sin(x) * 2.0

    program.__name__ = "<script>"
    f = tf.function(program, jit_compile=False)
    with tf.profile() as found:
        f(tf.ones([2]))
        f(tf.ones([3]))
    text = str(found)
    for part in (
        "functions, as they were called",
        "graphs that ran",
        "2 numpy",
        "tracing",
        "input_signature",
        "NumPy steps",
        "sin",
    ):
        assert part in text, part
    page = found._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page
    for name in ("p.txt", "p.html", "p.json"):
        found.save(tmp_path / name)
    assert (tmp_path / "p.txt").read_text() == text + "\n"
    assert page in (tmp_path / "p.html").read_text()
    line = json.loads((tmp_path / "p.json").read_text())
    bars = [event for event in line["traceEvents"] if event["ph"] == "X"]
    assert {event["cat"] for event in bars} >= {"call", "trace", "run", "op"}
    assert all(
        event["ts"] >= 0 and event["dur"] >= 0 and {"name", "pid", "tid"} <= event.keys() for event in bars
    )
    calls = [event for event in bars if event["cat"] == "call"]
    runs = [event for event in bars if event["cat"] == "run"]
    assert all(
        any(c["ts"] <= r["ts"] and r["ts"] + r["dur"] <= c["ts"] + c["dur"] + 1e-3 for c in calls)
        for r in runs
    )
