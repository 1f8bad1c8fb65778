"""`slice`: what its bounds may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf


@pytest.mark.parametrize(
    "begin, size", [([0.5, 0], [1, 1]), ([0, 0], [2.0, 1.0]), ([True, False], [1, 1]), (np.zeros(2), [1, 1])]
)
def test_bounds_of_blocks_that_are_no_integers_are_refused_and_not_cut_off(begin: Any, size: Any) -> None:
    x = tf.ones([10, 3])
    for call in (tf.slice, tf.function(lambda x, begin, size: tf.slice(x, begin, size))):
        with pytest.raises(TypeError, match=r"slice: (begin|size) .*integer"):
            call(x, begin, size)
