"""Calls of `tf.summary` without a writer of event files: they do nothing, eagerly and in functions."""

import pytest

import graphad as tf

CALLS = [
    lambda: tf.summary.scalar("loss", 1.0),
    lambda: tf.summary.scalar("loss", [1.0, 2.0], step=3, description="a loss"),
    lambda: tf.summary.histogram("weights", [1.0, 2.0], 1, buckets=3),
    lambda: tf.summary.image("image", [[[[1.0]]]], step=1, max_outputs=2),
    lambda: tf.summary.audio("sound", [[[1.0]]], 16000, step=1),
    lambda: tf.summary.text("text", "a b c", step=1),
    lambda: tf.summary.write("tag", 1.0, step=1),
    lambda: tf.summary.experimental.write_raw_pb(1.0, 1),
    lambda: tf.summary.should_record_summaries(),
]


@pytest.mark.parametrize("k", range(len(CALLS)))
def test_a_summary_is_false_and_nothing_else(k):
    for found in (CALLS[k](), tf.function(CALLS[k])()):
        assert found.dtype == "bool"
        assert not found


def test_a_training_step_with_summaries_is_traced_and_compiled_like_one_without():
    v = tf.Variable(2.0)

    @tf.function(jit_compile=True)
    def step(n):
        with tf.GradientTape() as tape:
            loss = v * v
        with tf.summary.record_if(lambda: tf.equal(n % 2, 0)), tf.summary.experimental.summary_scope("train"):
            tf.summary.scalar("loss", loss, step=n)
        v.assign_sub(0.25 * tape.gradient(loss, v))
        return loss

    assert [float(step(n)) for n in tf.range(3)] == [4.0, 1.0, 0.25]


def test_a_writer_of_nothing_is_the_default_in_a_block():
    writer = tf.summary.create_noop_writer()
    assert isinstance(writer, tf.summary.SummaryWriter)
    with writer.as_default(step=4):
        assert tf.summary.experimental.get_step() == 4
        assert not tf.summary.scalar("loss", 1.0)
        assert not tf.summary.should_record_summaries()
    assert tf.summary.experimental.get_step() is None
    writer.set_as_default(step=5)
    assert tf.summary.experimental.get_step() == 5
    tf.summary.experimental.set_step(None)
    assert (writer.init(), writer.flush(), writer.close(), tf.summary.flush(writer)) == (None,) * 4


def test_a_scope_of_summaries_gives_the_tag_and_the_scope():
    with tf.name_scope("outer"), tf.summary.experimental.summary_scope("a") as names:
        assert names == ("outer/a", "outer/a/")
    with tf.summary.experimental.summary_scope("") as names:
        assert names == ("summary", "summary/")


def test_a_writer_of_files_is_refused_by_name():
    with pytest.raises(AttributeError, match="event logs and traces are left to other packages"):
        tf.summary.create_file_writer
