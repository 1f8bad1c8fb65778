"""`CheckpointManager`, the state file, and those who wait for new checkpoints."""

from __future__ import annotations

import copy
import os
import threading
import time

import numpy as np
import pytest

import graphad as tf
from serialization.errors import LoadError


def manager(place, keep=2, **options):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(np.arange(1000.0)), step=tf.Variable(0))
    return tf.train.CheckpointManager(checkpoint, place, max_to_keep=keep, **options)


def names(place) -> list[str]:
    return sorted(os.listdir(place))


def test_only_the_last_ones_are_kept(tmp_path):
    mine = manager(tmp_path / "m")
    assert mine.latest_checkpoint is None and mine.checkpoints == []
    for number in range(1, 5):
        path = mine.save()
        assert path == str(tmp_path / "m" / f"ckpt-{number}") == mine.latest_checkpoint
        assert mine.checkpoints == [
            str(tmp_path / "m" / f"ckpt-{i}") for i in range(max(1, number - 1), number + 1)
        ]
    assert names(tmp_path / "m") == ["checkpoint", "ckpt-3", "ckpt-4"]
    assert tf.train.latest_checkpoint(tmp_path / "m") == mine.latest_checkpoint


def test_numbers_of_ones_own(tmp_path):
    mine = manager(tmp_path)
    mine.save()
    assert mine.save(checkpoint_number=100) == str(tmp_path / "ckpt-100")
    assert int(mine.checkpoint.save_counter) == 2
    assert mine.save() == str(tmp_path / "ckpt-3")
    assert mine.save(checkpoint_number=tf.Variable(7)) == str(tmp_path / "ckpt-7")
    assert mine.save(checkpoint_number=3) == str(tmp_path / "ckpt-3")
    assert [os.path.basename(path) for path in mine.checkpoints] == ["ckpt-7", "ckpt-3"]
    assert names(tmp_path) == ["checkpoint", "ckpt-3", "ckpt-7"]


def test_none_keeps_all(tmp_path):
    mine = manager(tmp_path, None)
    for _ in range(4):
        mine.save()
    assert len(mine.checkpoints) == 4 and len(names(tmp_path)) == 5


def test_a_later_process_goes_on(tmp_path):
    first = manager(tmp_path)
    first.checkpoint.step.assign(5)
    first.save()
    first.save()
    second = manager(tmp_path)
    assert second.checkpoints == first.checkpoints and second.latest_checkpoint == first.latest_checkpoint
    assert second.restore_or_initialize() == first.latest_checkpoint
    assert int(second.checkpoint.step) == 5
    assert second.save() == str(tmp_path / "ckpt-3")
    assert names(tmp_path) == ["checkpoint", "ckpt-2", "ckpt-3"]


def test_init_fn_runs_where_there_is_nothing_to_restore(tmp_path):
    called = []
    mine = manager(tmp_path, init_fn=lambda: called.append(1))
    assert mine.restore_or_initialize() is None and called == [1]
    mine.save()
    assert mine.restore_or_initialize() == mine.latest_checkpoint and called == [1]


def test_an_interval_of_steps(tmp_path):
    step = tf.Variable(0)
    mine = manager(tmp_path, 9, step_counter=step, checkpoint_interval=2, checkpoint_name="mod")
    saved = []
    for i in range(6):
        step.assign(i)
        saved.append(mine.save())
    assert [path and os.path.basename(path) for path in saved] == [
        "mod-1",
        None,
        "mod-2",
        None,
        "mod-3",
        None,
    ]
    assert mine.save(check_interval=False) == str(tmp_path / "mod-4")
    assert mine.save(check_interval=False) is None  # of the same step
    assert mine.checkpoint_interval == 2 and mine.directory == str(tmp_path)
    later = manager(tmp_path, 9, step_counter=step, checkpoint_interval=2, checkpoint_name="mod")
    later.restore_or_initialize()
    assert later.save() is None
    step.assign(7)
    assert later.save() is not None


def test_one_every_so_many_hours_is_kept_for_good(tmp_path, monkeypatch):
    now = [1e9]
    monkeypatch.setattr(time, "time", lambda: now[0])
    mine = manager(tmp_path, 1, keep_checkpoint_every_n_hours=2)
    for hour in range(8):
        now[0] = 1e9 + 3600.0 * hour
        mine.save()
    # ckpt-1 is of hour 0, two hours after nothing was kept that is ckpt-3
    assert names(tmp_path) == ["checkpoint", "ckpt-3", "ckpt-5", "ckpt-7", "ckpt-8"]
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state.last_preserved_timestamp == 1e9 + 3600.0 * 6
    later = manager(tmp_path, 1, keep_checkpoint_every_n_hours=2)
    now[0] += 3600.0
    later.save(checkpoint_number=20)
    assert "ckpt-8" not in names(tmp_path) and "ckpt-7" in names(tmp_path)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"max_to_keep": 0}, "positive integer or `None`"),
        ({"max_to_keep": -1}, "positive integer or `None`"),
        ({"max_to_keep": 1, "checkpoint_interval": 2}, "`step_counter` should be passed"),
        ({"max_to_keep": 1, "checkpoint_name": "a/b"}, "is not a name of a file"),
    ],
)
def test_wrong_arguments(tmp_path, options, match):
    with pytest.raises(ValueError, match=match):
        tf.train.CheckpointManager(tf.train.Checkpoint(), tmp_path, **options)
    with pytest.raises(TypeError, match="is not a Checkpoint"):
        tf.train.CheckpointManager(tf.Module(), tmp_path, 1)


def test_only_what_managers_of_this_name_have_made_here_is_removed(tmp_path):
    other = tmp_path / "elsewhere" / "ckpt-1"
    tf.train.Checkpoint(v=tf.Variable(1.0)).write(other)
    place = tmp_path / "m"
    tf.train.Checkpoint(v=tf.Variable(1.0)).write(place / "model-1")
    (place / "ckpt-90").mkdir()
    (place / "ckpt-90" / "thesis.txt").write_text("text")
    os.symlink(other, place / "ckpt-91")
    listed = [str(other), "model-1", "ckpt-90", "ckpt-91", "../elsewhere/ckpt-1"]
    lines = "".join(f'all_model_checkpoint_paths: "{path}"\n' for path in listed)
    (place / "checkpoint").write_text(f'model_checkpoint_path: "model-1"\n{lines}')
    mine = manager(place, 1)
    mine.save()
    mine.save()
    mine.save()
    assert names(place) == ["checkpoint", "ckpt-3", "ckpt-90", "ckpt-91", "model-1"]
    assert (place / "ckpt-90" / "thesis.txt").read_text() == "text"
    assert tf.train.list_variables(other) and tf.train.list_variables(place / "model-1")


def test_files_of_others_inside_of_a_checkpoint_stay(tmp_path):
    mine = manager(tmp_path, 1)
    first = mine.save()
    with open(os.path.join(first, "notes.txt"), "w") as file:
        file.write("good one")
    with open(os.path.join(first, "variables", "extra.bin"), "w") as file:
        file.write("x")
    mine.save()
    assert names(first) == ["notes.txt", "variables"] and names(os.path.join(first, "variables")) == [
        "extra.bin"
    ]


def test_a_removal_that_was_stopped_is_finished_later(tmp_path, monkeypatch):
    mine = manager(tmp_path, 1)
    first = mine.save()

    class Stop(BaseException):
        pass

    calls = []

    def remove(path):
        calls.append(path)
        if len(calls) == 2:
            raise Stop
        os.unlink(path)

    monkeypatch.setattr(mine._system, "remove", remove)
    with pytest.raises(Stop):
        mine.save()
    assert os.path.isdir(first) and tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "ckpt-2")
    later = manager(tmp_path, 1)
    assert later.checkpoints == [str(tmp_path / "ckpt-2")]
    later.save(checkpoint_number=5)
    assert names(tmp_path) == ["checkpoint", "ckpt-5"]


def test_a_checkpoint_that_cannot_be_removed_does_not_stop_the_training(tmp_path, monkeypatch):
    mine = manager(tmp_path, 1)
    mine.save()

    def refuse(path):
        raise PermissionError(13, "no", path)

    monkeypatch.setattr(mine._system, "remove", refuse)
    assert mine.save() == str(tmp_path / "ckpt-2") and mine.checkpoints == [str(tmp_path / "ckpt-2")]


def test_the_state_file_may_be_moved_with_its_directory(tmp_path):
    manager(tmp_path / "a").save()
    os.rename(tmp_path / "a", tmp_path / "b")
    assert tf.train.latest_checkpoint(tmp_path / "b") == str(tmp_path / "b" / "ckpt-1")
    assert manager(tmp_path / "b").checkpoints == [str(tmp_path / "b" / "ckpt-1")]


def test_a_relative_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mine = manager("m")
    assert mine.save() == os.path.join("m", "ckpt-1") == tf.train.latest_checkpoint("m")
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    assert checkpoint.save("x") == "x-1"
    assert tf.train.latest_checkpoint(".") == os.path.join(".", "x-1")


def test_odd_names_survive_the_state_file(tmp_path):
    for name in ('a"b', "c\\d", "e\nf", "ü é", "g\th", "model_checkpoint_path: "):
        path = tf.train.Checkpoint(v=tf.Variable(1.0)).save(tmp_path / name)
        assert tf.train.latest_checkpoint(tmp_path) == path == str(tmp_path / name) + "-1"


def test_text_as_others_write_it(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(tmp_path / "é-1")
    (tmp_path / "checkpoint").write_text(
        "model_checkpoint_path:\"\\303\\251-1\"\nall_model_checkpoint_paths : '\\xc3\\xa9-1'  "
    )
    assert tf.train.latest_checkpoint(tmp_path) == path
    assert tf.train.get_checkpoint_state(tmp_path).all_model_checkpoint_paths == [path]
    os.rename(tmp_path / "checkpoint", tmp_path / "other")
    assert tf.train.latest_checkpoint(tmp_path) is None
    assert tf.train.latest_checkpoint(tmp_path, "other") == path


@pytest.mark.parametrize(
    "text", [b"\xff\xfe", b"x", b"model_checkpoint_path: 5", b'model_checkpoint_path: "a', b'a: "b"', b"", b"{" * 100_000,
             b'model_checkpoint_path: "a\\0b"', b'model_checkpoint_path: "\\xff"',
             b'model_checkpoint_path: "a"\nlast_preserved_timestamp: "x"',
             b'model_checkpoint_path: "' + b"\\" * 99_999 + b'"\n!'],
)  # fmt: skip
def test_a_state_file_that_is_none(tmp_path, text):
    (tmp_path / "checkpoint").write_bytes(text)
    for call in (tf.train.latest_checkpoint, tf.train.get_checkpoint_state, manager):
        with pytest.raises(LoadError, match="checkpoint: "):
            call(tmp_path)


def test_a_state_file_that_names_what_is_gone(tmp_path):
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "ckpt-9"')
    assert tf.train.latest_checkpoint(tmp_path) is None
    mine = manager(tmp_path)
    assert mine.latest_checkpoint is None and mine.checkpoints == [] and mine.restore_or_initialize() is None
    os.unlink(tmp_path / "checkpoint")
    os.symlink("/etc/passwd", tmp_path / "checkpoint")
    with pytest.raises(LoadError, match="link"):
        tf.train.latest_checkpoint(tmp_path)


def test_waiting_for_checkpoints_of_another(tmp_path):
    mine = manager(tmp_path)
    mine.save()
    found = tf.train.checkpoints_iterator(tmp_path, timeout=600)
    assert next(found) == str(tmp_path / "ckpt-1")
    thread = threading.Timer(0.3, mine.save)
    thread.start()
    assert next(found) == str(tmp_path / "ckpt-2")
    thread.join()
    assert list(tf.train.checkpoints_iterator(tmp_path, timeout=0)) == [str(tmp_path / "ckpt-2")]
    asked = []

    def enough():
        asked.append(1)
        return len(asked) == 3

    assert list(tf.train.checkpoints_iterator(tmp_path / "none", timeout=0, timeout_fn=enough)) == []
    assert len(asked) == 3


def test_copied_options_have_a_list_of_callbacks_of_their_own():
    options = tf.train.CheckpointOptions(experimental_write_callbacks=[print], durable=False)
    copied = copy.copy(options)
    copied.experimental_write_callbacks.append(len)
    assert options.experimental_write_callbacks == [print]
    assert copied.durable is False


def test_a_state_lists_what_there_is(tmp_path):
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(), tmp_path, max_to_keep=2)
    paths = [manager.save() for _ in range(3)]
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state.all_model_checkpoint_paths == manager.checkpoints == paths[1:]
    assert len(state.all_model_checkpoint_timestamps) == 2
