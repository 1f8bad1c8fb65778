"""Checkpoints that are written while the program goes on."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import graphad as tf
import serialization.checkpoint.checkpoint as checkpoint_module

ASYNC = tf.train.CheckpointOptions(enable_async=True)


@pytest.fixture
def gate(monkeypatch):
    """Writing waits for this event."""
    event = threading.Event()
    write = checkpoint_module.write_model

    def waiting(*args, **kwargs):
        assert event.wait(600.0)
        write(*args, **kwargs)

    monkeypatch.setattr(checkpoint_module, "write_model", waiting)
    yield event
    event.set()


def test_a_save_holds_the_values_of_its_call(tmp_path, gate):
    v = tf.Variable([1.0, 2.0])
    checkpoint = tf.train.Checkpoint(v=v)
    path = checkpoint.save(str(tmp_path / "c"), ASYNC)
    assert path == str(tmp_path / "c-1") and not os.path.exists(path)
    v.assign_add([10.0, 10.0])
    v[0].assign(7.0)
    gate.set()
    checkpoint.sync()
    assert tf.train.latest_checkpoint(str(tmp_path)) == path
    again = tf.Variable([0.0, 0.0])
    tf.train.Checkpoint(v=again).restore(path).assert_consumed()
    np.testing.assert_array_equal(again, [1.0, 2.0])
    checkpoint.sync()  # nothing is left to wait for


def test_saves_follow_each_other_and_a_restore_waits(tmp_path, gate):
    v = tf.Variable(1.0)
    checkpoint = tf.train.Checkpoint(v=v)
    seen = []
    options = tf.train.CheckpointOptions(
        experimental_enable_async_checkpoint=True, experimental_write_callbacks=[seen.append]
    )
    first = checkpoint.save(str(tmp_path / "c"), options)
    assert seen == []
    threading.Timer(0.2, gate.set).start()
    v.assign(2.0)
    second = checkpoint.save(str(tmp_path / "c"), options)  # waits for the first
    assert seen[:1] == [first]
    v.assign(3.0)
    checkpoint.restore(second).assert_consumed()
    assert seen == [first, second]
    assert v.numpy() == 2.0
    checkpoint.restore(first)
    assert v.numpy() == 1.0
    assert tf.train.latest_checkpoint(str(tmp_path)) == second


def test_what_goes_wrong_is_raised_once_by_the_next_call(tmp_path, caplog):
    v = tf.Variable(1.0)
    checkpoint = tf.train.Checkpoint(v=v)
    (tmp_path / "file").write_text("no directory")
    for call in (checkpoint.sync, lambda: checkpoint.save(str(tmp_path / "c"), ASYNC)):
        checkpoint.write(str(tmp_path / "file" / "c"), ASYNC)
        with pytest.raises(OSError, match="file") as caught:
            call()
        assert any("in the background" in note for note in caught.value.__notes__)
        assert "could not be written" in caplog.text
    path = checkpoint.save(str(tmp_path / "c"), ASYNC)
    checkpoint.sync()
    assert path.endswith("c-1") and os.path.isdir(path)


def test_a_manager_s_save_is_there_when_it_returns(tmp_path):
    v = tf.Variable(1.0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), str(tmp_path), max_to_keep=2)
    for k in range(4):
        v.assign(float(k))
        path = manager.save(options=ASYNC)
        assert os.path.isdir(path)
    assert len(manager.checkpoints) == 2
    manager.sync()
