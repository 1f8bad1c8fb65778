"""What the compiler puts in the place of nn ops: the simpler ops of `expand` are the same function as `eval`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.op import Op
from graphad.core.registry import all_ops
from graphad.core.tensor import EagerTensor
from graphad.ops.nn.activation import Elu, EluGrad, LeakyRelu, LeakyReluGrad, Relu, Relu6, ReluGrad
from graphad.ops.nn.cross_entropy import SparseCrossEntropy, SparseCrossEntropyGrad
from graphad.ops.nn.softmaxes import LogSoftmax, Softmax
from tests.support.op_case import close, integer, real

EDGES = np.array([-np.inf, -800.0, -1.0, -0.0, 0.0, 1.0, 800.0, np.inf, np.nan])
LABELS = integer(3, low=-1, high=5)
CASES = [
    (Relu(), [EDGES]),
    (Relu(), [integer(5)]),
    (Relu6(), [EDGES]),
    (Relu6(), [integer(5)]),
    (ReluGrad(), [real(9), EDGES]),
    (LeakyRelu(0.2), [EDGES]),
    (LeakyReluGrad(0.2), [real(9), EDGES]),
    (Elu(), [EDGES]),
    (EluGrad(), [real(9), EDGES]),
    *[
        (op(axis), [x])
        for op in (Softmax, LogSoftmax)
        for axis, x in (
            (1, real(3, 4)),
            (0, real(3, 4) * 1000),
            (-1, np.array([[-np.inf, 0.0], [-np.inf, -np.inf]])),
            (0, real(2, 0)),
        )
    ],
    (SparseCrossEntropy(), [LABELS, real(3, 4)]),
    (SparseCrossEntropy(), [integer(low=0, high=4), real(4)]),
    (SparseCrossEntropyGrad(), [LABELS, real(3, 4), real(3)]),
]


@pytest.mark.parametrize(("op", "arrays"), CASES, ids=[f"{op.name}{k}" for k, (op, _) in enumerate(CASES)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_expanded_ops_are_the_same_function(op: Any, arrays: Any, dtype: str) -> None:
    arrays = [x.astype(dtype) if x.dtype.kind == "f" else x for x in arrays]
    found = op.expand(*[EagerTensor(x) for x in arrays])
    want = op.eval(*arrays)
    pairs = zip(found, want, strict=True) if op.multiple else [(found, want)]
    for y, z in pairs:
        assert y.dtype.numpy == z.dtype
        close(y.numpy(), z, 1e-14 if dtype == "float64" else 2e-6)


def test_every_nn_op_that_expands_is_tested_here() -> None:
    ours = {kind for kind in all_ops().values() if kind.__module__.startswith("graphad.ops.nn.")}
    assert {kind for kind in ours if kind.expand is not Op.expand} == {type(op) for op, _ in CASES}


def _classifier() -> Any:
    first = tf.Variable(real(5, 8).astype(np.float32))
    bias = tf.Variable(real(8, seed=1).astype(np.float32))
    second = tf.Variable(real(8, 3).astype(np.float32))

    def step(x: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            hidden = tf.nn.relu(x @ first + bias)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, hidden @ second)
            loss = tf.reduce_mean(losses)
        return [loss, *tape.gradient(loss, [first, bias, second])]

    return step


def test_classifier_with_its_gradient_becomes_loops_and_matrix_products() -> None:
    step = _classifier()
    x, labels = tf.constant(real(7, 5).astype(np.float32)), tf.constant(integer(7, low=0, high=3))
    compiled = tf.function(step, jit_compile=True)
    for y, z in zip(compiled(x, labels), step(x, labels), strict=True):
        np.testing.assert_allclose(y.numpy(), z.numpy(), rtol=1e-5, atol=1e-6)
    units = tf.explain(compiled)(x, labels).units.splitlines()
    kinds = [re.sub(r"^ *\d+ +", "", line).split()[0].rstrip(":") for line in units if line.strip()]
    assert kinds.count("gemm") == 5
    assert set(kinds) == {"gemm", "loop"}, units
    assert len(units) <= 13, units
