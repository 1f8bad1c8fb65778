"""Defaults of a generator's methods are TensorFlow's."""

from __future__ import annotations

import graphad as tf


def test_integers_over_the_whole_range_are_of_uint64_by_default() -> None:
    found = tf.random.Generator.from_seed(3).uniform_full_int([50])
    assert found.dtype is tf.uint64
    assert int(tf.reduce_max(found)) >= 2**63  # the upper half is drawn, too
    assert tf.random.Generator.from_seed(3).uniform_full_int([2], tf.int32).dtype is tf.int32
