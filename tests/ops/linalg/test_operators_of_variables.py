"""Operators made of variables: results follow the values of these, and have derivatives by them, whenever they were made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

la = tf.linalg

MAKERS = {
    "diag": lambda v, m: la.LinearOperatorDiag(v),
    "full": lambda v, m: la.LinearOperatorFullMatrix(m),
    "triangular": lambda v, m: la.LinearOperatorLowerTriangular(m),
    "scaled": lambda v, m: la.LinearOperatorScaledIdentity(2, v),
    "toeplitz": lambda v, m: la.LinearOperatorToeplitz(v, v),
    "householder": lambda v, m: la.LinearOperatorHouseholder(v),
    "update": lambda v, m: la.LinearOperatorLowRankUpdate(la.LinearOperatorDiag(v), m),
    "update with all": lambda v, m: la.LinearOperatorLowRankUpdate(la.LinearOperatorDiag(v), m, v, m),
    "tridiagonal": lambda v, m: la.LinearOperatorTridiag([v, v, v], "sequence"),
    "blocks": lambda v, m: la.LinearOperatorBlockDiag(
        [la.LinearOperatorDiag(v), la.LinearOperatorFullMatrix(m)]
    ),
    "kronecker": lambda v, m: la.LinearOperatorKronecker(
        [la.LinearOperatorDiag(v), la.LinearOperatorFullMatrix(m)]
    ),
    "product": lambda v, m: la.LinearOperatorComposition(
        [la.LinearOperatorDiag(v), la.LinearOperatorFullMatrix(m)]
    ),
    "inverse": lambda v, m: la.LinearOperatorInversion(la.LinearOperatorFullMatrix(m)),
    "adjoint": lambda v, m: la.LinearOperatorAdjoint(la.LinearOperatorLowerTriangular(m)),
}


def loss(operator: Any) -> Any:
    dense = operator.to_dense()
    x = tf.cast(tf.range(dense.shape[-1]), operator.dtype) + 1.0
    return tf.reduce_sum(tf.square(operator.matvec(x))) + tf.reduce_sum(dense * dense * dense)


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "traced"])
@pytest.mark.parametrize("name", MAKERS)
def test_an_operator_follows_its_variables(name, run):
    v, m = tf.Variable([2.0, 3.0]), tf.Variable([[2.0, 0.5], [1.0, 3.0]])
    operator = MAKERS[name](v, m)
    used = operator.variables
    assert used and all(any(x is y for y in (v, m)) for x in used)
    assert operator.trainable_variables == used
    v.assign([4.0, 1.0])
    m.assign([[3.0, 1.0], [0.5, 2.0]])
    follows = run(lambda: loss(operator))
    with tf.GradientTape() as tape:
        y = follows()
    found = tape.gradient(y, used)
    with tf.GradientTape() as tape:  # an operator of tensors, made on the tape
        a, b = tf.identity(v), tf.identity(m)
        z = loss(MAKERS[name](a, b))
    want = dict(zip((id(v), id(m)), tape.gradient(z, [v, m]), strict=True))
    np.testing.assert_allclose(y, z, rtol=1e-6)
    for variable, slope in zip(used, found, strict=True):
        np.testing.assert_allclose(slope, want[id(variable)], rtol=1e-5)


def test_the_parameters_are_those_of_the_constructor():
    v = tf.Variable([2.0, 3.0])
    operator = la.LinearOperatorDiag(v, is_non_singular=True)
    assert operator.parameters["diag"] is v and operator.parameters["is_non_singular"] is True
    assert operator.parameters["name"] == "LinearOperatorDiag"
    assert la.LinearOperatorIdentity(2).variables == ()


class Doubling(la.LinearOperator):
    """Twice the identity."""

    def __init__(self, size: int) -> None:
        super().__init__(tf.float32, parameters={"size": size})
        self.size = size

    def _shape(self) -> Any:
        return tf.TensorShape([self.size, self.size])

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return 2.0 * x


def test_an_operator_of_ones_own_may_say_its_parameters():
    assert Doubling(3).parameters == {"size": 3}


class Model(tf.Module):
    """A module with an operator of variables."""

    def __init__(self) -> None:
        super().__init__()
        tril = la.LinearOperatorLowerTriangular(tf.Variable([[1.0, 0.0], [2.0, 3.0]]))
        self.operator = la.LinearOperatorBlockDiag([la.LinearOperatorDiag(tf.Variable([2.0, 3.0])), tril])

    @tf.function(input_signature=[tf.TensorSpec([4])])
    def product(self, x: Any) -> Any:
        return self.operator.matvec(x)


def test_a_module_tracks_and_saves_the_variables_of_its_operators(tmp_path):
    model, x = Model(), tf.constant([1.0, 2.0, 3.0, 4.0])
    assert len(model.trainable_variables) == 2
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(model.product(x) ** 2)
    assert all(slope is not None for slope in tape.gradient(y, model.trainable_variables))
    tf.saved_model.save(model, str(tmp_path / "model"))
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.product(x), model.product(x))
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "weights"))
    model.trainable_variables[0].assign([0.0, 0.0])
    tf.train.Checkpoint(model=model).restore(path).assert_consumed()
    np.testing.assert_array_equal(loaded.product(x), model.product(x))
