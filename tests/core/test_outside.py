"""Classes that programs ask about and that graphad has no instances of."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

OUTSIDE = [tf.RaggedTensor, tf.RaggedTensorSpec]


@pytest.mark.parametrize("kind", OUTSIDE)
def test_nothing_is_one_and_none_can_be_made(kind):
    things = [
        tf.constant(1.0),
        tf.Variable(1.0),
        tf.TensorSpec([2]),
        tf.IndexedSlices(tf.ones([1, 2]), [0]),
        np.ones(2),
    ]
    assert not any(isinstance(x, kind) for x in things)
    assert not tf.function(lambda x: isinstance(x, kind))(tf.constant(1.0))
    with pytest.raises(
        RuntimeError, match=rf"graphad\.{kind.__name__}: not part of graphad, out of scope: tensors are"
    ):
        kind([[0]], [1.0], [2])
    with pytest.raises(AttributeError, match=rf"graphad\.{kind.__name__}: not part of graphad"):
        kind.from_dense
    assert not hasattr(kind, "__graphad_tensor__")
