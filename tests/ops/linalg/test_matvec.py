"""`linalg.matvec`: what its arguments may be beyond the table of cases."""

from __future__ import annotations

import graphad as tf


def test_hints_of_sparse_operands_change_nothing():
    a, b = tf.constant([[1.0, 2.0], [0.0, 4.0]]), tf.constant([1.0, 0.0])
    for flags in ({"a_is_sparse": True}, {"b_is_sparse": True}, {"a_is_sparse": True, "b_is_sparse": True}):
        assert tf.linalg.matvec(a, b, **flags).numpy().tolist() == [1.0, 0.0]
    assert tf.linalg.matvec(a, b, True, False, True, False, "product").numpy().tolist() == [1.0, 2.0]
