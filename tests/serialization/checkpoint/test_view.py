"""Checkpoints and programs are seen as graphs of named children, and compared."""

from pathlib import Path

import pytest

import graphad as tf


class Two(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = tf.Variable(5.0)
        self.parts = [tf.Variable(1.0), tf.Variable(2.0)]


def test_a_program_is_seen_from_its_root() -> None:
    root = Two()
    root.leaf = Two()
    view = tf.train.TrackableView(root)
    assert list(view.children(root)) == ["a", "leaf", "parts"]
    assert list(view.children(root.parts).values())[1] is root.parts[1]
    assert len(view.descendants()) == 10 and view.descendants()[0] is root
    with pytest.raises(TypeError, match="a module, layer, optimizer"):
        tf.train.TrackableView(3)


def test_a_checkpoint_is_compared_with_a_program(tmp_path: Path) -> None:
    root = Two()
    root.leaf = Two()
    view = tf.train.CheckpointView(tf.train.Checkpoint(root).save(tmp_path / "of"))
    names = view.children(0)
    assert sorted(names) == ["a", "leaf", "parts", "save_counter"]
    assert sorted(view.children(names["leaf"])) == ["a", "parts"]
    other = Two()
    other.further = tf.Variable(3.0)
    both, missing, new = view.diff(other)
    assert both == view.match(other)
    assert both[0] is other and both[names["a"]] is other.a and both[names["parts"]] is other.parts
    assert names["leaf"] in missing and names["save_counter"] in missing and names["a"] not in missing
    assert sorted([*both, *missing]) == sorted(view.descendants())
    assert len(new) == 1 and new[0] is other.further
    with pytest.raises(ValueError, match="node_id is 99; the checkpoint has"):
        view.children(99)
    with pytest.raises(OSError, match="there is no checkpoint"):
        tf.train.CheckpointView(tmp_path / "other")
