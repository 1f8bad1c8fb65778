"""Gradients of linear operators: `tape.watch` follows what they are made of, and a gradient is an operator of the same class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

la = tf.linalg
A = np.array([[3.0, 1.0], [2.0, 4.0]])
B = np.array([1.0, 2.0])

MADE: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "full": lambda of: la.LinearOperatorFullMatrix(of(A)),
    "diag": lambda of: la.LinearOperatorDiag(of(B)),
    "tril": lambda of: la.LinearOperatorLowerTriangular(of(A)),
    "multiple": lambda of: la.LinearOperatorScaledIdentity(2, of(B[0])),
    "toeplitz": lambda of: la.LinearOperatorToeplitz(of(B), of(np.array([1.0, 3.0]))),
    "reflection": lambda of: la.LinearOperatorHouseholder(of(B)),
    "rows": lambda of: la.LinearOperatorTridiag(of(np.ones([3, 2])), "compact"),
    "three diagonals": lambda of: la.LinearOperatorTridiag([of(B), of(B), of(B)], "sequence"),
    "circulant": lambda of: la.LinearOperatorCirculant(of(B), tf.float64),
    "update": lambda of: la.LinearOperatorLowRankUpdate(la.LinearOperatorDiag(of(B)), of(A)),
    "kronecker": lambda of: la.LinearOperatorKronecker(
        [la.LinearOperatorDiag(of(B)), la.LinearOperatorFullMatrix(of(A))]
    ),
}


def _tensors(operator: Any) -> list[Any]:
    return tf.nest.flatten(operator, expand_composites=True)


@pytest.mark.parametrize("name", MADE)
def test_an_operator_is_followed_whatever_its_arguments_were(name: str) -> None:
    def found(of: Callable[[Any], Any]) -> Any:
        operator = MADE[name](of)
        x = tf.cast(tf.range(1, operator.shape[-1] + 1), operator.dtype)
        with tf.GradientTape() as tape:
            tape.watch(operator)
            y = tf.reduce_sum(operator.matvec(x * x) * x)
        slope = tape.gradient(y, operator)
        assert type(slope) is type(operator)
        return _tensors(slope)

    want = found(lambda x: tf.constant(x, tf.float64))
    assert any(np.any(x) for x in want)
    for y, z in zip(found(lambda x: x), want, strict=True):
        np.testing.assert_allclose(y, z)
    for y, z in zip(found(lambda x: x.tolist()), want, strict=True):  # numbers are float32
        np.testing.assert_allclose(y, z, rtol=1e-4)


def test_parts_without_a_gradient_have_zeros_and_operators_without_one_have_none() -> None:
    first, second = la.LinearOperatorFullMatrix(A), la.LinearOperatorDiag(B)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([first, second])
        whole = la.LinearOperatorKronecker([first, second])
        blocks = la.LinearOperatorBlockLowerTriangular([[first], [second, first]])
        y = first.matvec(B)
    one, other, of_whole, of_blocks = tape.gradient(y, [first, second, whole, blocks])
    assert other is None
    want = np.stack([B, B])
    np.testing.assert_allclose(one.to_dense(), want)
    assert type(of_whole) is la.LinearOperatorKronecker
    np.testing.assert_allclose(of_whole.operators[0].to_dense(), want)
    np.testing.assert_array_equal(of_whole.operators[1].to_dense(), np.zeros([2, 2]))
    np.testing.assert_array_equal(of_blocks.operators[1][0].diag, np.zeros(2))
    assert tape.gradient(tf.reduce_sum(tf.ones(2)), whole) is None


def test_products_of_a_self_adjoint_operator_with_itself_are_self_adjoint() -> None:
    symmetric = la.LinearOperatorFullMatrix([[2.0, 1.0], [1.0, 3.0]], is_self_adjoint=True)
    assert (symmetric @ symmetric).is_self_adjoint and (symmetric @ symmetric).is_positive_definite is None
    definite = la.LinearOperatorFullMatrix(
        [[2.0, 1.0], [1.0, 3.0]], is_self_adjoint=True, is_non_singular=True
    )
    assert (definite @ definite).is_positive_definite
    other = la.LinearOperatorFullMatrix(A)
    assert (other @ other).is_self_adjoint is None
