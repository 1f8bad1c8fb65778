"""What an op gives to loops for operands of known sizes has the bits of its `eval`, as NumPy scalars for shape ()."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from graphad.core.dtypes import bfloat16, float32, float64, from_numpy
from graphad.core.errors import GraphadError, MatrixError, OutOfRangeError
from graphad.core.op import Op
from graphad.core.references import AT
from graphad.core.spec import TensorSpec
from graphad.graph.evaluate import evaluate
from graphad.graph.fitted import evaluator_of
from graphad.graph.ir import Node
from graphad.ops.array.broadcast import BroadcastTo, SumTo
from graphad.ops.array.gather import Gather, ScatterNd
from graphad.ops.array.join import Stack
from graphad.ops.array.keys import FULL, REST
from graphad.ops.array.reshape import ExpandDims, Reshape
from graphad.ops.array.scatter import TensorScatterUpdate
from graphad.ops.array.slice import GetItem
from graphad.ops.array.strided import Slice, SliceGrad
from graphad.ops.linalg import direct
from graphad.ops.linalg.diagonal import BandPart, SetDiag
from graphad.ops.linalg.matmul import MatMul
from graphad.ops.linalg.systems import TriangularSolve
from graphad.ops.math.arithmetic import MUL, NEG, SUB
from graphad.ops.math.cast import Cast
from graphad.ops.math.compare import LESS
from graphad.ops.math.reduce import ReduceLogSumExp, ReduceMax, ReduceMean, ReduceMin, ReduceSum
from graphad.ops.math.select import SELECT
from graphad.ops.random.draw import Draw
from tests.support.bits import same_bits
from tests.support.case_tables import all_cases

_SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-320, -1.5, 3.0])


def _specs(values: Sequence[Any]) -> list[TensorSpec]:
    return [TensorSpec.of(np.shape(x), from_numpy(x.dtype)) for x in values]


def _require_same(found: Any, want: Any) -> None:
    assert np.shape(want) or not isinstance(found, np.ndarray)
    assert same_bits(found, want).all()


def _check(op: Op, *values: Any) -> None:
    f = evaluator_of(op, _specs(values))
    assert f is not None
    with np.errstate(all="ignore"):
        _require_same(f(*values), np.asarray(op.eval(*values))[()])


def test_every_case_has_the_same_bits() -> None:
    seen: set[str] = set()

    def compare(node: Node, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        if node.op.structured or not all(isinstance(x, np.ndarray | np.generic) for x in inputs):
            return
        f = evaluator_of(node.op, _specs(inputs))
        if f is not None:
            seen.add(node.op.name)
            _require_same(f(*[x[()] for x in inputs]), np.asarray(outputs[0])[()])

    for _, _, case in all_cases():
        for graph, values in case.graphs():
            try:
                evaluate(graph, values, compare)
            except GraphadError:
                continue  # a graph of a case that has no answer here
    assert seen >= {
        "mul",
        "neg",
        "less",
        "reshape",
        "slice",
        "slice_grad",
        "stack",
        "select",
        "reduce_sum",
        "reduce_mean",
        "reduce_max",
        "reduce_logsumexp",
        "matmul",
        "broadcast_to",
        "sum_to",
        "expand_dims",
        "gather",
        "getitem",
    }


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_numbers_have_the_same_bits(dtype: str) -> None:
    with np.errstate(all="ignore"):
        x = _SPECIAL.astype(dtype)
    y = x[::-1].copy()
    for op in (MUL, SUB, LESS):
        _check(op, x, y)
        for a, b in zip(x, y, strict=True):
            _check(op, a, b)
            _check(op, a, y)
    _check(NEG, x)
    for a in x:
        _check(NEG, a)
        _check(Reshape((1, 1)), np.array([a]))
        _check(Reshape(()), np.array([[a]]))
    _check(Reshape((2, -1)), x)
    _check(Stack(0), *x)
    for truth in (np.True_, np.False_):
        _check(SELECT, truth, x, y)
        _check(SELECT, truth, x[1], y[2])
    _check(ReduceSum((0,), True), x[:4])
    _check(ReduceSum(None, False), np.stack([x, -x]))
    _check(Slice((6, 1), (-2, 1), (3, 2)), np.stack([x, y, x], 1))
    _check(SliceGrad((6,), (-2,), (8,)), x[:3])


def test_indices_that_only_the_run_knows_take_what_eval_takes() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    i, j, outside = np.int32(1), np.int64(-2), np.int32(2)
    first, second = (AT, 1), (AT, 2)
    for key, given in (
        ((first,), (i,)),
        ((first, second), (i, j)),
        ((second, FULL, first), (i, np.int32(-1))),
        ((FULL, 1, first), (i,)),
        ((first, 0, second), (i, j)),
    ):
        _check(GetItem(key), x, *given)
    _check(GetItem((first,)), x[0, 0], j)
    f = evaluator_of(GetItem((first,)), _specs([x, outside]))
    assert f is not None
    with pytest.raises(OutOfRangeError, match=r"slice index 2 of dimension 0 out of bounds"):
        f(x, outside)
    for unknown in ((REST, first), (first, ("slice", None, second, None, None))):  # eval knows what they clip
        assert evaluator_of(GetItem(unknown), _specs([x, i, i])) is None


def test_lookups_of_known_sizes_take_what_eval_takes_and_refuse_what_is_outside() -> None:
    x, several = np.arange(12.0).reshape(3, 4), np.array([[2, 0], [1, 2]])
    for op in (Gather(0), Gather(1)):
        _check(op, x, several)
        _check(op, x, np.int32(1))
        f = evaluator_of(op, _specs([x, several]))
        g = evaluator_of(op, _specs([x, np.int64(1)]))
        assert f is not None and g is not None
        y = g(x, np.int64(1))
        assert not np.shares_memory(y, x)
        for bad in (-1, 4):
            with pytest.raises(OutOfRangeError, match="indices"):
                g(x, np.int64(bad))
            with pytest.raises(OutOfRangeError, match=r"indices\[1,0\] = "):
                f(x, np.array([[0, 0], [bad, 0]]))
    _check(Gather(0), x[:, 0].copy(), np.int32(2))


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex128"])
def test_one_place_is_written_as_eval_writes_it(dtype: str) -> None:
    x = np.arange(12).reshape(3, 4).astype(dtype)
    one, row = np.array([[2, 1]]), np.array([[1]], np.int32)
    for op in (TensorScatterUpdate(0), ScatterNd((3, 4), 0)):
        before = (x,) if len(op.schema.inputs) == 3 else ()
        for indices, updates in ((one, -x[0, :1]), (row, x[:1])):
            _check(op, *before, indices, updates)
        f = evaluator_of(op, _specs([*before, one, x[0, :1]]))
        assert f is not None
        for bad in ([[3, 0]], [[0, -1]]):
            with pytest.raises(OutOfRangeError, match="indices"):
                f(*before, np.array(bad), x[0, :1])
    assert x[2, 1] == 9  # what is written is a copy
    _check(ScatterNd((3,), 0), np.array([[1]]), np.array([-0.0]))
    assert evaluator_of(TensorScatterUpdate(0), _specs([x, np.array([[0], [1]]), x[:2]])) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bands_diagonals_and_triangles_have_the_same_bits(dtype: str) -> None:
    rng = np.random.default_rng(1)
    x, wide = (rng.normal(size=shape).astype(dtype) for shape in ((4, 4), (3, 5)))
    for lower, upper in ((-1, 0), (0, -1), (1, 2), (0, 0)):
        for each in (x, wide, wide.T, np.stack([x, -x])):
            _check(BandPart(lower, upper), each)
    for k in (-2, -1, 0, 1, 3):
        for each in (x, wide, wide.T):
            line = np.diagonal(each, k)
            if line.size:
                _check(SetDiag(k), each, -line.copy())
    for lower in (True, False):
        for adjoint in (True, False):
            op = TriangularSolve(lower, adjoint)
            for columns in (1, 3):
                _check(op, x, x[:, :columns].copy())
                _check(op, wide[:, :3].T, wide[:, :columns])
            f = evaluator_of(op, _specs([x, x]))
            assert f is not None
            with pytest.raises(MatrixError, match="singular"):
                f(np.diag([1, 0, 1, 1]).astype(dtype), x)


def test_casts_have_the_same_bits() -> None:
    x = np.array([0.0, -1.5, 3.7, 300.0])
    for dtype in (float32, bfloat16, from_numpy(np.dtype("int8")), from_numpy(np.dtype("bool"))):
        with np.errstate(all="ignore"):
            _check(Cast(dtype), x)
            _check(Cast(dtype), x[1])
    for source, target in ((float64, "uint32"), (from_numpy(np.dtype("complex64")), "float32")):
        assert evaluator_of(Cast(from_numpy(np.dtype(target))), [TensorSpec.of((2,), source)]) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_reductions_of_special_numbers_have_the_same_bits(dtype: str) -> None:
    with np.errstate(all="ignore"):
        x = np.stack([_SPECIAL, _SPECIAL[::-1], np.full(8, -np.inf)]).astype(dtype)
    x = np.concatenate([x, np.random.default_rng(0).normal(size=(3, 8)).astype(dtype)])
    for axes in (None, (0,), (1,), (0, 1), (-1,)):
        for keepdims in (False, True):
            for kind in (ReduceMean, ReduceMax, ReduceMin, ReduceLogSumExp):
                _check(kind(axes, keepdims), x)
                _check(kind(axes, keepdims), x[3:])
    for want in ((), (1, 8), (6, 1), (8,), (1, 1)):
        _check(SumTo(want), x)
    _check(BroadcastTo((2, 6, 8)), x)
    _check(BroadcastTo((6, 8)), x[:, :1].copy())
    _check(BroadcastTo((2, 2)), x[0, 5])
    _check(ExpandDims((0, -1)), x)
    for axis in (0, 1, 2, -1):
        _check(Stack(axis), x, x[::-1], -x)


def test_products_of_small_matrices_have_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    for a, b, transposed in (((3, 4), (4, 2), (0, 0)), ((4, 3), (2, 4), (1, 1)), ((1, 5), (1, 5), (0, 1))):
        for dtype in ("float32", "float64"):
            x, y = rng.normal(size=a).astype(dtype), rng.normal(size=b).astype(dtype)
            _check(MatMul(*map(bool, transposed)), x, y)


def test_draws_are_the_same_numbers() -> None:
    for key in (np.array([3, -4]), np.array([5, 6], np.int32)):
        for dtype in (float32, float64, bfloat16):
            for kind in ("uniform", "normal", "truncated_normal"):
                for shape in ((), (3,), (2, 5), (0,)):
                    _check(Draw(kind, shape, dtype), key)


def test_a_view_gives_no_function_where_it_would_reach_outside() -> None:
    assert evaluator_of(Slice((2,), (1,), (4,)), [TensorSpec.of((5,), float32)]) is None


@pytest.mark.parametrize("form", [(lower, adjoint) for lower in (True, False) for adjoint in (True, False)])
def test_small_triangles_are_solved_with_the_same_bits_number_by_number(
    form: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    op = TriangularSolve(*form)
    for n, columns in ((1, 1), (2, 4), (3, 5), (4, 4), (2, 0), (0, 3)):
        for dtype in ("float32", "float64"):
            a = rng.normal(size=(n, n)).astype(dtype)
            b = rng.normal(size=(n, columns)).astype(dtype)
            if b.size:
                b[0, 0], b[-1, -1] = np.inf, -0.0
            found = op.eval(a, b)
            with monkeypatch.context() as patched:
                patched.setattr(direct, "ONE_BY_ONE", 0)
                want = op.eval(a, b)
            assert found.dtype == want.dtype and found.shape == want.shape
            assert found.tobytes() == want.tobytes()
    with pytest.raises(MatrixError, match="not invertible"):
        op.eval(np.array([[1.0, 0.0], [0.0, 0.0]]), np.ones((2, 1)))
