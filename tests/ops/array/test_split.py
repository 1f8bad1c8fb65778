"""`split` where its arguments say different things."""

from __future__ import annotations

import pytest

import graphad as tf


def test_split_refuses_another_number_of_pieces_than_it_has_sizes():
    for f in (tf.split, tf.function(tf.split)):
        assert [part.numpy().tolist() for part in f([1, 2, 3], [1, 2], num=2)] == [[1], [2, 3]]
        with pytest.raises(ValueError, match="split: num is 3, num_or_size_splits has 2 sizes"):
            f([1, 2, 3], [1, 2], num=3)
