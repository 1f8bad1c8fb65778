"""Bars show how far something long has come: to people, after a second, and to nobody else."""

from __future__ import annotations

import io
import sys
import threading

import numpy as np
import pytest

import graphad as tf
from graphad.core import progress as module
from graphad.core.flags import flags
from graphad.core.progress import Progress

pytest.importorskip("tqdm")


class Screen(io.StringIO):
    def isatty(self):
        return True


def person(monkeypatch):
    """A terminal, and nobody is patient. No fixture: pytest puts its own error output in place between one and its test."""
    shown = Screen()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    return shown


def test_short_work_shows_nothing_and_imports_nothing(monkeypatch):
    shown = Screen()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # importing it is an error
    with Progress("Work", 10, "row") as progress:
        for _ in range(10):
            progress.advance(1)
    assert shown.getvalue() == ""


def test_a_person_sees_how_far_it_has_come(monkeypatch):
    screen = person(monkeypatch)
    with Progress("Work", 10, "row") as progress:
        progress.advance(4)
    assert "Work" in screen.getvalue() and "4/10" in screen.getvalue()


def test_a_file_sees_nothing_unless_it_is_asked_for(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    for mode, is_shown in (("auto", False), ("never", False), ("always", True)):
        monkeypatch.setattr(flags, "progress", mode)
        with Progress("Work", 10, "row") as progress:
            progress.advance(4)
        assert bool(shown.getvalue()) == is_shown


def test_a_closed_error_output_is_no_terminal(monkeypatch):
    closed = io.StringIO()
    closed.close()
    for nothing in (None, closed):
        monkeypatch.setattr(sys, "stderr", nothing)
        assert not module.is_wanted()


def test_one_switch_turns_it_off(monkeypatch):
    screen = person(monkeypatch)
    tf.config.set_progress("never")
    try:
        assert tf.config.progress() == "never"
        with Progress("Work", 10, "row") as progress:
            progress.advance(4)
        assert screen.getvalue() == ""
    finally:
        tf.config.set_progress("auto")
    with pytest.raises(ValueError, match="set_progress: 'often' is not a mode"):
        tf.config.set_progress("often")


def test_without_tqdm_nothing_is_shown(monkeypatch):
    screen = person(monkeypatch)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with Progress("Work", 10, "row") as progress:
        progress.advance(4)
        progress.advance(4)
    assert screen.getvalue() == ""


def test_threads_advance_one_bar(monkeypatch):
    person(monkeypatch)
    with Progress("Work", 400, "row") as progress:
        threads = [
            threading.Thread(target=lambda: [progress.advance(1) for _ in range(100)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert progress._bar.n == 400


def test_a_jacobian_in_chunks_shows_its_rows(monkeypatch):
    screen = person(monkeypatch)
    monkeypatch.setattr(flags, "jacobian_bytes", 64)
    x = tf.Variable(np.linspace(0.1, 1.0, 40, dtype=np.float32))
    with tf.GradientTape() as tape:
        y = tf.cumsum(tf.sin(x))
    found = tape.jacobian(y, x)
    assert "Jacobian" in screen.getvalue() and "row" in screen.getvalue()
    np.testing.assert_allclose(found, np.tril(np.ones((40, 40))) * np.cos(x.numpy()), rtol=1e-5)


def test_saves_show_their_bytes(tmp_path, monkeypatch):
    screen = person(monkeypatch)
    module_ = tf.Module()
    module_.v = tf.Variable(tf.zeros([1000, 1000]))
    tf.saved_model.save(module_, str(tmp_path / "model"))
    assert "Saving" in screen.getvalue() and "3.81M" in screen.getvalue()
    before = len(screen.getvalue())
    tf.train.Checkpoint(module=module_).write(str(tmp_path / "checkpoint"))
    assert len(screen.getvalue()) > before


def test_compiling_that_is_waited_for_shows_its_kernels(tmp_path, monkeypatch):
    screen = person(monkeypatch)

    @tf.function(jit_compile=True)
    def f(x):
        return tf.sin(x) * tf.cos(x + 0.123456) + tf.exp(-x) * 7.654321

    f(tf.linspace(0.0, 1.0, 1000))
    assert "Compiling" in screen.getvalue()
