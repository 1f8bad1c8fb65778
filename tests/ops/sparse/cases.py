"""Sparse tensors by their dense wholes: compositions whose values, derivatives and unknown sizes are checked against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.ops.sparse import elementwise, places, reductions, sets
from graphad.ops.sparse.products import ProductsAt, SparseProduct
from graphad.ops.sparse.tensor import SparseTensor
from tests.support.op_case import OpCase, real

AT = np.array([[0, 1], [1, 0], [1, 3], [3, 2]])
OTHER = np.array([[0, 1], [1, 2], [3, 2], [3, 4]])
SHAPE = [4, 5]


def _matrix(values: Any, at: Any = AT) -> SparseTensor:
    return SparseTensor(at, values, SHAPE)


def _whole(values: Any, at: Any = AT) -> Any:
    y = np.zeros(SHAPE)
    y[tuple(at.T)] = values
    return y


def dense(values: Any) -> Any:
    return elementwise.to_dense(_matrix(values))


def product(values: Any, b: Any, adjoint: bool = False) -> Any:
    return reductions.sparse_dense_matmul(_matrix(values), b, adjoint_a=adjoint)


def added(x: Any, y: Any) -> Any:
    return elementwise.to_dense(elementwise.add(_matrix(x), _matrix(y, OTHER)))


def largest(x: Any, y: Any) -> Any:
    return elementwise.maximum(_matrix(x), _matrix(y, OTHER)).values


def shares(x: Any) -> Any:
    return elementwise.softmax(_matrix(x)).values


def _shares(x: Any) -> Any:
    e = np.exp(x)
    return e / np.array([e[0], e[1] + e[2], e[1] + e[2], e[3]])


def turned(x: Any) -> Any:
    return elementwise.to_dense(places.transpose(places.reshape(_matrix(x), [2, 10])))


def total(x: Any, axis: Any = None) -> Any:
    return reductions.reduce_sum(_matrix(x), axis)


def scaled(x: Any, d: Any) -> Any:
    return (_matrix(x) * d).values


def members(x: Any, y: Any) -> Any:
    found = sets.union(x, y)
    return [found.indices, found.values]


COLUMNS, STARTS = np.array([1, 0, 3, 2], np.int32), np.array([0, 1, 3, 3, 4], np.int32)


def by_rows(values: Any, b: Any, adjoint: bool) -> Any:
    return bind(SparseProduct(adjoint, 5), values, lift(COLUMNS), lift(STARTS), b)


def at_places(a: Any, b: Any) -> Any:
    return bind(ProductsAt(5), lift(COLUMNS), lift(STARTS), a, b)


def rows(x: Any) -> Any:
    return reductions.segment_mean(x, [2, 0, 1], [0, 0, 2])


X = real(4)
CASES = [
    OpCase(dense, X, unknown=(), batched=False, expected=_whole),
    OpCase(product, X, real(5, 2), unknown=(), batched=False, expected=lambda x, b: _whole(x) @ b),
    OpCase(product, X, real(4, 3), adjoint=True, unknown=(), batched=False, expected=lambda x, b: _whole(x).T @ b),
    OpCase(added, X, real(4, seed=1), unknown=(), batched=False, expected=lambda x, y: _whole(x) + _whole(y, OTHER)),
    OpCase(largest, X, real(4, seed=2), unknown=(), batched=False,
           expected=lambda x, y: np.maximum(_whole(x), _whole(y, OTHER))[_whole(X != 0) + _whole(X != 0, OTHER) > 0]),
    OpCase(shares, X, unknown=(), batched=False, expected=_shares),
    OpCase(turned, X, unknown=(), batched=False, expected=lambda x: _whole(x).reshape(2, 10).T),
    OpCase(total, X, unknown=(), batched=False, expected=lambda x: x.sum()),
    OpCase(total, X, axis=[1], unknown=(), batched=False, expected=lambda x: _whole(x).sum(1)),
    OpCase(scaled, X, real(5), unknown=(), batched=False, expected=lambda x, d: x * np.broadcast_to(d, SHAPE)[tuple(AT.T)]),
    OpCase(by_rows, X, real(5, 2), adjoint=False, unknown=("sizes",), expected=lambda x, b: _whole(x) @ b),
    OpCase(by_rows, X, real(4, 3), adjoint=True, unknown=("sizes",), expected=lambda x, b: _whole(x).T @ b),
    OpCase(at_places, real(4, 2), real(5, 2, seed=1), unknown=("sizes",), expected=lambda a, b: (a @ b.T)[tuple(AT.T)]),
    OpCase(at_places, real(4, 1), real(5, 1, seed=1), unknown=("sizes",), expected=lambda a, b: (a @ b.T)[tuple(AT.T)]),
    OpCase(rows, real(3, 2), unknown=("sizes",), batched=False,
           expected=lambda x: np.stack([(x[2] + x[0]) / 2, 0 * x[0], x[1]])),
    OpCase(members, np.array([[3, 1, 3]]), np.array([[2, 1, 1]]), order=0, unknown=(), batched=False,
           expected=lambda x, y: [np.array([[0, 0], [0, 1], [0, 2]]), np.array([1, 2, 3])]),
]  # fmt: skip
