"""What `restore` says of what did not match."""

from __future__ import annotations

import gc
import logging

import pytest

import graphad as tf


@pytest.fixture
def path(tmp_path):
    return tf.train.Checkpoint(a=tf.Variable(1.0), kernel=tf.Variable([1.0, 2.0])).write(tmp_path / "x")


def test_a_value_that_the_program_lacks(path):
    status = tf.train.Checkpoint(kernle=tf.Variable([3.0, 3.0, 3.0]), a=tf.Variable(0.0)).read(path)
    with pytest.raises(AssertionError) as error:
        status.assert_consumed()
    text = str(error.value)
    assert text.startswith("Unresolved object in checkpoint (root).kernel: ")
    assert "'kernel/.ATTRIBUTES/VARIABLE_VALUE': float32 of shape (2,)" in text
    assert "nearest in the program: kernle, float32 of shape (3,)" in text
    assert (
        "(root).kernle: float32 of shape (3,), named 'Variable:0'; nearest in the file: 'kernel', float32 of shape (2,)"
        in text
    )


def test_a_variable_that_the_file_lacks(path):
    status = tf.train.Checkpoint(a=tf.Variable(0.0), kernel=tf.Variable([0.0, 0.0]), q=tf.Variable(0.0)).read(
        path
    )
    for call in (status.assert_consumed, status.assert_existing_objects_matched):
        with pytest.raises(
            AssertionError,
            match=r"Found 1 Python objects that were not bound.*\n  \(root\)\.q: float32 of shape",
        ):
            call()
    status.assert_nontrivial_match()


def test_a_file_may_have_more(path):
    v = tf.Variable([0.0, 0.0])
    status = tf.train.Checkpoint(kernel=v).read(path)
    assert status.assert_existing_objects_matched() is status
    with pytest.raises(AssertionError, match=r"\(root\)\.a"):
        status.assert_consumed()
    assert v.numpy().tolist() == [1.0, 2.0]


def test_objects_without_variables_need_no_value(path):
    tf.train.Checkpoint(z=tf.Module()).read(path).assert_existing_objects_matched()


def test_nothing_matches(path):
    status = tf.train.Checkpoint(z=tf.Variable(0.0)).read(path)
    with pytest.raises(
        AssertionError, match=r"Nothing except the root object matched.*directly below its root: a, kernel"
    ):
        status.assert_nontrivial_match()


@pytest.mark.parametrize("start", ["read", "restore"])
def test_shapes_and_dtypes_are_compared_before_anything_is_restored(path, start):
    a, wide, whole = tf.Variable(0.0), tf.Variable([0.0, 0.0, 0.0]), tf.Variable([0, 0])
    with pytest.raises(
        ValueError, match=r"tensor with shape \(2,\) when attempting to restore variable with shape \(3,\)"
    ):
        getattr(tf.train.Checkpoint(a=a, kernel=wide), start)(path)
    with pytest.raises(TypeError, match=r"kernel.* has dtype float32, the variable Variable:0 int32"):
        getattr(tf.train.Checkpoint(a=a, kernel=whole), start)(path)
    assert float(a) == 0.0


def test_one_object_in_the_file_two_in_the_program(tmp_path):
    shared = tf.Variable(5.0)
    path = tf.train.Checkpoint(a=shared, b=shared).write(tmp_path / "x")
    a, b = tf.Variable(0.0), tf.Variable(1.0)
    with pytest.warns(UserWarning, match="the file has one object where the program has two"):
        status = tf.train.Checkpoint(a=a, b=b).read(path)
    assert (float(a), float(b)) == (5.0, 1.0)
    with pytest.raises(AssertionError, match=r"\(root\)\.b"):
        status.assert_existing_objects_matched()


def test_two_objects_in_the_file_one_in_the_program(tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable(5.0), b=tf.Variable(6.0)).write(tmp_path / "x")
    shared = tf.Variable(0.0)
    with pytest.warns(
        UserWarning, match="the file has two objects where the program has one: it keeps the value of 'a/"
    ):
        status = tf.train.Checkpoint(a=shared, b=shared).read(path)
    assert float(shared) == 5.0
    with pytest.raises(AssertionError, match=r"\(root\)\.b"):
        status.assert_consumed()


def test_unused_values_are_said_at_the_end_unless_they_are_expected(path, caplog):
    with caplog.at_level(logging.WARNING, "graphad"):
        tf.train.Checkpoint(a=tf.Variable(0.0)).read(path).expect_partial()
        tf.train.Checkpoint(a=tf.Variable(0.0)).read(path).assert_existing_objects_matched()
        tf.train.Checkpoint(a=tf.Variable(0.0), kernel=tf.Variable([0.0, 0.0])).read(path)
        gc.collect()
        assert not caplog.records
        tf.train.Checkpoint(a=tf.Variable(0.0)).read(path)
        gc.collect()
    assert len(caplog.records) == 1
    assert "1 values of" in caplog.text and "kernel/.ATTRIBUTES/VARIABLE_VALUE" in caplog.text


def test_long_lists_are_cut(tmp_path):
    path = tf.train.Checkpoint(all=[tf.Variable(float(i)) for i in range(40)]).write(tmp_path / "x")
    status = tf.train.Checkpoint(other=[tf.Variable(0.0) for _ in range(30)]).read(path)
    with pytest.raises(AssertionError, match="40 values of the file") as error:
        status.assert_consumed()
    assert (
        len(str(error.value)) < 5000
        and "and 30 more" in str(error.value)
        and "and 20 more" in str(error.value)
    )
