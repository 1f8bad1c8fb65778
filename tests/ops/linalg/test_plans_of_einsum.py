"""What an Einstein sum does is found once for each equation and sizes; later calls, and other dtypes, do the same."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.ops.linalg import contraction

EQUATIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,kj->ki", (3, 4), (5, 4)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    ("i,i->", (4,), (4,)),
    ("i,j->ji", (3,), (4,)),
    ("ijk,k->j", (2, 3, 4), (4,)),
    ("ij->j", (3, 4), None),
    ("ij->ij", (3, 4), None),
]


@pytest.mark.parametrize(("equation", "left", "right"), EQUATIONS)
def test_later_calls_and_other_dtypes_take_the_same_steps(equation, left, right):
    rng = np.random.default_rng(1)
    shapes = [shape for shape in (left, right) if shape is not None]
    contraction._plans.clear()
    for dtype in (np.float64, np.float32, np.complex128, np.int64, np.float64):
        xs = [(4 * rng.standard_normal(shape)).astype(dtype) for shape in shapes]
        tensors = [tf.constant(x) for x in xs]
        y = tf.einsum(equation, *tensors)
        np.testing.assert_allclose(y, np.einsum(equation, *xs), 1e-5 if dtype is np.float32 else 1e-12, 1e-5)
        assert y.dtype.numpy == dtype and all(y is not x for x in tensors)
    assert len(contraction._plans) == 1


def test_a_plan_is_taken_under_tapes_and_in_traces_too():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    x, y = tf.constant(a), tf.constant(b)
    for _ in range(2):
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            z = tf.reduce_sum(tf.einsum("ij,jk->ki", x, y) ** 2)
        product = a @ b
        for found, wanted in zip(
            tape.gradient(z, [x, y]), (2 * product @ b.T, 2 * a.T @ product), strict=True
        ):
            np.testing.assert_allclose(found, wanted, 1e-12)
    traced = tf.function(lambda x, y: tf.einsum("ij,jk->ki", x, y))
    np.testing.assert_array_equal(traced(x, y), tf.einsum("ij,jk->ki", x, y))


def test_sizes_that_differ_are_refused_however_often():
    for _ in range(2):
        with pytest.raises(ValueError, match="label 'j' has size 4 in one operand and 3 in another"):
            tf.einsum("ij,jk->ik", tf.ones([3, 4]), tf.ones([3, 5]))
        with pytest.raises(ValueError, match=r"axis 1 of a with shape .* has size 4, axis 0 of b"):
            tf.tensordot(tf.ones([3, 4]), tf.ones([1, 5]), 1)


def test_one_equation_takes_all_sizes_and_results():
    rng = np.random.default_rng(2)
    for equation in ("abc,cd->abd", "abc,cd->dba", "abc,cd->ad"):
        for sizes in ((2, 3, 4, 5), (3, 2, 5, 4), (1, 1, 1, 1), (2, 0, 3, 2)):
            a, b, c, d = sizes
            x, y = rng.standard_normal((a, b, c)), rng.standard_normal((c, d))
            np.testing.assert_allclose(
                tf.einsum(equation, x, y), np.einsum(equation, x, y), rtol=1e-12, atol=1e-12
            )
