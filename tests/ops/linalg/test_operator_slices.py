"""`operator[index]` has those matrices of a stack that the index names, in the operator's own structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

L: Any = tf.linalg
A = np.random.default_rng(0).random((3, 2, 4, 4)) + 2 * np.eye(4)
PERM = np.random.default_rng(1).permuted(np.tile(np.arange(4), (3, 2, 1)), axis=-1)
MADE: dict[str, Callable[[], Any]] = {
    "full": lambda: L.LinearOperatorFullMatrix(A),
    "diagonal": lambda: L.LinearOperatorDiag(tf.Variable(A[..., 0])),
    "triangular": lambda: L.LinearOperatorLowerTriangular(A),
    "identity": lambda: L.LinearOperatorIdentity(4, [3, 2], tf.float64),
    "multiples": lambda: L.LinearOperatorScaledIdentity(4, A[..., 0, 0]),
    "zeros": lambda: L.LinearOperatorZeros(4, batch_shape=[3, 2], dtype=tf.float64),
    "update of one matrix": lambda: L.LinearOperatorLowRankUpdate(
        L.LinearOperatorIdentity(4, dtype=tf.float64), A[..., :2], A[:1, :, 0, :2], A[..., 2:]
    ),
    "Kronecker": lambda: L.LinearOperatorKronecker([MADE["full"](), L.LinearOperatorDiag(A[0, ..., 0])]),
    "blocks": lambda: L.LinearOperatorBlockDiag([MADE["full"](), L.LinearOperatorFullMatrix(A[:, :1])]),
    "lower blocks": lambda: L.LinearOperatorBlockLowerTriangular([[MADE["full"]()], [MADE["full"]()] * 2]),
    "circulant": lambda: L.LinearOperatorCirculant(A[..., 0], input_output_dtype=tf.float64),
    "circulant blocks": lambda: L.LinearOperatorCirculant2D(A),
    "tridiagonal": lambda: L.LinearOperatorTridiag(A[..., :3, :]),
    "three diagonals": lambda: L.LinearOperatorTridiag([A[..., 0], A[..., 1], A[..., 2]], "sequence"),
    "permutation": lambda: L.LinearOperatorPermutation(PERM, tf.float64),
    "Toeplitz": lambda: L.LinearOperatorToeplitz(A[..., 0], np.append(A[..., :1, 0], A[..., 1:, 1], -1)),
    "Householder": lambda: L.LinearOperatorHouseholder(A[..., 0]),
    "composition": lambda: L.LinearOperatorComposition([MADE["full"](), L.LinearOperatorDiag(A[0, 0, 0])]),
    "adjoint": lambda: MADE["full"]().adjoint(),
    "inverse": lambda: MADE["full"]().inverse(),
}
KEYS: tuple[Any, ...] = (
    0,
    (slice(1, None),),
    (..., 1),
    (None, 1),
    (0, 1),
    (slice(None, None, 2), None, -1),
    ...,
)


@pytest.mark.parametrize("name", MADE)
def test_a_slice_is_that_of_the_matrices_and_keeps_the_class(name: str) -> None:
    operator = MADE[name]()
    whole = operator.to_dense().numpy()
    for key in KEYS:
        parts = key if isinstance(key, tuple) else (key,)
        parts = parts if ... in [part for part in parts if not isinstance(part, slice)] else (*parts, ...)
        found = operator[key]
        assert type(found) is type(operator)
        np.testing.assert_array_equal(found.to_dense(), whole[(*parts, slice(None), slice(None))])
    traced = tf.function(lambda i: operator[i].to_dense())
    np.testing.assert_array_equal(traced(tf.constant(2)), whole[2])


def test_a_slice_of_a_variable_has_its_gradient() -> None:
    v = tf.Variable(A[..., 0])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(L.LinearOperatorDiag(v)[0, 1].to_dense() ** 2)
    wanted = np.zeros(v.shape)
    wanted[0, 1] = 2 * A[0, 1, :, 0]
    np.testing.assert_allclose(tape.gradient(y, v), wanted)


def test_what_cannot_be_sliced_says_so() -> None:
    class Own(L.LinearOperatorFullMatrix):
        def __init__(self, other: Any) -> None:
            super().__init__(other)

    with pytest.raises(
        ValueError, match=r"LinearOperatorFullMatrix: 3 indices for the leading sizes \(3, 2\)"
    ):
        MADE["full"]()[0, 1, 2]
    with pytest.raises(ValueError, match="Own: it cannot be sliced"):
        Own(A)[0]
    with pytest.raises(TypeError, match="not iterable"):
        list(MADE["full"]())


@pytest.mark.parametrize("name", ["full", "identity", "zeros"])
def test_wrong_indices_are_refused_in_the_words_for_tensors(name: str) -> None:
    for key, error, message in (
        (5, tf.errors.OutOfRangeError, "slice index 5 of dimension 0 out of bounds"),
        (True, TypeError, "are valid indices, got True"),
        ("a", TypeError, "are valid indices, got 'a'"),
        ((..., ...), tf.errors.InvalidArgumentError, "Multiple ellipses"),
    ):
        with pytest.raises(error, match=message):
            MADE[name]()[key]


def test_a_list_that_holds_slices_is_a_tuple() -> None:
    operator = MADE["full"]()
    for key in ([slice(0, 1), 1], [..., None, 0], [slice(1, 3)]):
        np.testing.assert_array_equal(operator[key].to_dense(), operator[tuple(key)].to_dense())
