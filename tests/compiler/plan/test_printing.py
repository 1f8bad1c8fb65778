"""Loops that print are native: each text once, in order and when it is due, also where the run is made again."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core import printed
from graphad.tools.explain import explain

X = tf.constant([1.0, 2.0, 3.0])


def said(capsys: Any, f: Any, *given: Any, error: Any = None) -> Any:
    """What a call prints, and what it gives."""
    capsys.readouterr()
    if error is not None:
        with pytest.raises(error):
            f(*given)
        return capsys.readouterr().out
    found = [np.asarray(x).tobytes() for x in tf.nest.flatten(f(*given))]
    return capsys.readouterr().out, found


def agrees(capsys: Any, f: Any, *given: Any, error: Any = None) -> None:
    want = said(capsys, f.python_function, *given, error=error)
    for _ in range(3):
        assert said(capsys, f, *given, error=error) == want


def is_native(f: Any, *given: Any) -> None:
    units = explain(f)(*given).units
    assert "repeat" in units and "host: loop" not in units and "host: cond" not in units, units


@tf.function(jit_compile=True)
def rounds(x: Any, most: Any) -> Any:
    tf.print("begin", output_stream=sys.stdout)
    for k in tf.range(30):
        x = x * 0.5 + 1.0
        if k % 10 == 0:
            tf.print("step", k, x, tf.reduce_max(x) < 2.5, output_stream=sys.stdout)
        tf.debugging.assert_less(tf.cast(k, tf.float32), most)
    tf.print("end", x, output_stream=sys.stdout)
    return x


def test_rounds_print(capsys: Any) -> None:
    agrees(capsys, rounds, X, tf.constant(99.0))
    is_native(rounds, X, tf.constant(99.0))


def test_a_run_that_is_made_again_prints_only_what_is_left(capsys: Any) -> None:
    for most in (15.0, 10.0, 0.0, 99.0, 21.0):
        agrees(
            capsys, rounds, X, tf.constant(most), error=None if most > 30 else tf.errors.InvalidArgumentError
        )
    assert printed.mark()[1] == 0


def test_loops_in_loops_and_branches_print_in_order(capsys: Any) -> None:
    @tf.function(jit_compile=True)
    def f(x: Any, i: Any) -> Any:
        total = tf.constant(0.0)
        for a in tf.range(3):
            tf.print("outer", a, output_stream=sys.stdout)
            for b in tf.range(2):
                if b > 0:
                    tf.print("inner", a, b, x[(a + i) % 3 : (a + i) % 3 + 1], output_stream=sys.stdout)
                else:
                    tf.print("first", output_stream=sys.stdout)
                total = total * 0.5 + x[a]
        for a in tf.range(2):
            tf.print("second loop", a, total, output_stream=sys.stdout)
        return total

    agrees(capsys, f, X, tf.constant(1))
    is_native(f, X, tf.constant(1))


def test_training_that_prints_assigns_once(capsys: Any) -> None:
    v = tf.Variable([0.0, 0.0, 0.0])
    data = tf.constant(np.arange(30, dtype=np.float32).reshape(10, 3) * 0.125)

    @tf.function(jit_compile=True)
    def train(x: Any, size: Any) -> Any:
        v.assign_add(v * 0.5)
        for k in tf.range(5):
            rows = x[k * size : (k + 1) * size]  # the last ones may be clipped
            v.assign_sub(0.25 * (v - tf.reduce_max(rows, 0)))
            tf.print("step", k, v, output_stream=sys.stdout)
        return v + 0.0

    for size in (2, 3):
        texts = []
        for call in (train.python_function, train, train, train, train, train):
            v.assign([1.0, 2.0, 3.0])
            texts.append(
                (said(capsys, call, data[:9] if size == 3 else data, tf.constant(size)), v.numpy().tobytes())
            )
        assert all(text == texts[0] for text in texts)


def test_what_a_clipped_slice_prints_appears_once(capsys: Any) -> None:
    @tf.function(jit_compile=True)
    def f(x: Any, step: Any) -> Any:
        s = tf.constant(0.0)
        for k in tf.range(3):
            tf.print("before", k, output_stream=sys.stdout)
            s = s + tf.reduce_max(x[k * 4 : k * 4 + 4]) * step
            tf.print("behind", k, s, output_stream=sys.stdout)
        return s

    for n in (12, 10, 12, 9):
        agrees(capsys, f, tf.constant(np.arange(n, dtype=np.float32)), tf.constant(0.5))
    assert printed.mark()[1] == 0


def test_texts_come_while_the_loop_runs(capsys: Any) -> None:
    seen: list[str] = []

    class Stream:
        def write(self, text: str) -> None:
            seen.append(text)
            if len(seen) == 3:
                raise KeyboardInterrupt

        def flush(self) -> None:
            pass

    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        for k in tf.range(100):
            x = x * 0.5 + 1.0
            tf.print(k, output_stream=sys.stdout)
        return x

    f(X)
    capsys.readouterr()
    before, sys.stdout = sys.stdout, Stream()  # type: ignore[assignment]
    try:
        with pytest.raises(KeyboardInterrupt):
            f(X)
    finally:
        sys.stdout = before
    assert seen == ["0\n", "1\n", "2\n"]
    agrees(capsys, f, X)


class _Stream(io.StringIO):
    """A stream that does something at its third text, once or always."""

    def __init__(self, act: Any, times: int) -> None:
        super().__init__()
        self.act, self.times, self.texts = act, times, 0

    def write(self, text: str) -> int:
        self.texts += 1
        if self.texts >= 3 and self.times:
            self.times -= 1
            self.act()
        return super().write(text)


def test_a_text_that_could_not_be_written_is_not_lost(monkeypatch: Any) -> None:
    def fail() -> None:
        raise OSError("the disk is full")

    for times in (1, 100):
        stream = _Stream(fail, times)
        monkeypatch.setattr(sys, "stdout", stream)
        if times == 1:  # written by the run that is made again
            rounds(X, tf.constant(99.0))
            assert [line.split(" [")[0] for line in stream.getvalue().splitlines()] == [
                "begin",
                "step 0",
                "step 10",
                "step 20",
                "end",
            ]
        else:
            with pytest.raises(OSError, match="full"):
                rounds(X, tf.constant(99.0))


def test_what_a_stream_prints_itself_is_not_counted(monkeypatch: Any) -> None:
    """The run that is made again would leave out texts of its own instead."""

    @tf.function(jit_compile=True)
    def f(x: Any, i: Any) -> Any:
        tf.print("first", output_stream=sys.stdout)
        y = x
        for k in tf.range(2):
            tf.print("round", k, output_stream=sys.stdout)
            y += tf.reduce_sum(x[i + k : i + k + 2])
        tf.print("last", y, output_stream=sys.stdout)
        return y

    texts = []
    for each in (f.python_function, f):
        stream = _Stream(lambda: tf.print("from the stream", output_stream=sys.stdout), 1)
        monkeypatch.setattr(sys, "stdout", stream)
        each(X, tf.constant(1))  # the second slice is clipped
        texts.append(stream.getvalue())
    assert texts[0] == texts[1] and "from the stream" in texts[0]
