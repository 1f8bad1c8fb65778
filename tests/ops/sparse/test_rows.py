"""The short ways of sparse tensors give the bits of the ops that a tape sees, whatever the indices are."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.bind import bind
from graphad.ops import library
from graphad.ops.sparse import rows
from graphad.ops.sparse.products import SparseProduct

RNG = np.random.default_rng(11)
NUMBERS = np.array([0.0, -0.0, 1.5, -2.0, 0.1, np.inf, -np.inf, np.nan, 1e-3, 3.0, -0.7])


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_MANY", 1)


def _sparse(kind: str, dtype: Any, shape: tuple[int, ...] = (7, 9), count: int = 25) -> Any:
    cells = int(np.prod(shape))
    flat = np.sort(RNG.choice(cells, min(count, cells), replace=False))
    if kind == "unordered":
        flat = RNG.permutation(flat)
    if kind == "twice":
        flat = np.sort(np.concatenate([flat, flat[:5]]))
    if kind == "empty":
        flat = flat[:0]
    indices = np.stack(np.unravel_index(flat, shape), -1)
    if kind == "by rows":  # in order, but for the columns
        indices = indices[np.lexsort([RNG.random(len(flat)), indices[:, 0]])]
    values = RNG.choice(NUMBERS, len(flat)) if kind == "edges" else RNG.standard_normal(len(flat)) * 3
    with np.errstate(all="ignore"):
        return tf.SparseTensor(indices.astype(np.int64), values.astype(dtype), shape)


KINDS = ("ordered", "unordered", "twice", "empty", "by rows", "edges")
DTYPES = (np.float32, np.float64, np.float16, np.int32, np.complex64)


def _parts(result: Any) -> list[Any]:
    if isinstance(result, tf.SparseTensor):
        return [result.indices.numpy(), result.values.numpy(), result.dense_shape.numpy()]
    return [result.numpy()]


def _agree(call: Callable[..., Any], *xs: Any) -> None:
    with np.errstate(all="ignore"):
        short = _parts(call(*xs))
        with tf.GradientTape() as tape:
            tape.watch(
                [x.values if isinstance(x, tf.SparseTensor) else x for x in xs if x.dtype.is_differentiable]
            )
            long = _parts(call(*xs))
        traced = _parts(tf.function(call)(*xs))
    for other in (long, traced):
        for a, b in zip(short, other, strict=True):
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            np.testing.assert_array_equal(a, b)
            if a.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(a)[~np.isnan(a)], np.signbit(b)[~np.isnan(b)])


_CALLS: dict[str, Callable[..., Any]] = {
    "sums of rows": lambda x: tf.sparse.reduce_sum(x, 1),
    "sums of rows, kept": lambda x: tf.sparse.reduce_sum(x, -1, keepdims=True),
    "sums of columns": lambda x: tf.sparse.reduce_sum(x, 0),
    "transposed": lambda x: tf.sparse.transpose(x),
    "transposed by a name": lambda x: tf.sparse.transpose(x, [1, 0]),
    "in another shape": lambda x: tf.sparse.reshape(x, [3, -1]),
    "in three axes": lambda x: tf.sparse.reshape(x, [3, 7, 3]),
    "a part": lambda x: tf.sparse.slice(x, [1, 2], [4, 5]),
    "a part to the end": lambda x: tf.sparse.slice(x, [5, 3], [9, 90]),
    "a part beyond the end": lambda x: tf.sparse.slice(x, [8, 3], [2, 2]),
    "behind each other": lambda x: tf.sparse.concat(0, [x, x, x]),
    "beside each other": lambda x: tf.sparse.concat(1, [x, x]),
}


@pytest.mark.parametrize("name", list(_CALLS))
@pytest.mark.parametrize("kind", KINDS)
def test_short_ways_give_what_the_ops_give(name: str, kind: str) -> None:
    for dtype in DTYPES:
        _agree(_CALLS[name], _sparse(kind, dtype))


@pytest.mark.parametrize("kind", KINDS)
def test_the_largest_of_each_row_is_that_of_the_ops(kind: str) -> None:
    for dtype in (np.float32, np.float64, np.int32, np.float16):
        for call in (
            lambda x: tf.sparse.reduce_max(x, 1),
            lambda x: tf.sparse.reduce_max(x, 1, keepdims=True),
        ):
            _agree(call, _sparse(kind, dtype))
            _agree(call, _sparse(kind, dtype, (40, 9)))


def test_a_tie_in_one_row_does_not_stand_for_a_nan_in_another() -> None:
    dense = np.array([[3.0, 3.0, 1.0], [np.nan, 2.0, 5.0], [4.0, 1.0, 2.0]])
    indices = np.argwhere(np.ones_like(dense))
    _agree(lambda x: tf.sparse.reduce_max(x, 1), tf.SparseTensor(indices, dense.ravel(), dense.shape))


@pytest.mark.parametrize("kind", KINDS)
def test_products_are_those_of_the_ops(kind: str) -> None:
    for dtype in DTYPES:
        x = _sparse(kind, dtype)
        tall, wide = (tf.constant((RNG.standard_normal((n, 4)) * 3).astype(dtype)) for n in (9, 7))
        _agree(tf.sparse.sparse_dense_matmul, x, tall)
        _agree(lambda x, b: tf.sparse.sparse_dense_matmul(x, b, adjoint_a=True), x, wide)
        _agree(lambda x, b: tf.sparse.sparse_dense_matmul(x, b, adjoint_b=True), x, tf.transpose(tall))
        _agree(lambda x, b: tf.sparse.sparse_dense_matmul(b, x), x, tf.transpose(wide))


def _thresholds(dtype: Any) -> tuple[float, ...]:
    return (0, 100) if np.dtype(dtype).kind == "i" else (0, 0.5, 100)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_that_cancel_are_those_of_the_ops(kind: str) -> None:
    for dtype in DTYPES:
        x = _sparse(kind, dtype)
        for threshold in _thresholds(dtype):
            _agree(lambda a, b, t=threshold: tf.sparse.add(a, b, t), x, x.with_values(-x.values))
    _agree(lambda a: tf.sparse.reshape(a, [5, -1]), _sparse(kind, np.float32, (3, 4, 5)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_sums_of_two_are_those_of_the_ops(kind: str, other: str) -> None:
    for dtype in DTYPES:
        x, y = _sparse(kind, dtype), _sparse(other, dtype)
        for threshold in _thresholds(dtype):
            _agree(lambda a, b, t=threshold: tf.sparse.add(a, b, t), x, y)
    three = [_sparse(k, np.float32, (3, 4, 5)) for k in (kind, other)]
    _agree(tf.sparse.add, *three)
    _agree(lambda a, b: tf.sparse.concat(0, [a, b]), *three)


def test_a_square_eye_and_one_that_is_not_are_those_of_numpy() -> None:
    for sizes in ((3,), (2, 4), (4, 2), (0,), (3, 0)):
        x = tf.sparse.eye(*sizes, dtype=tf.float64)
        np.testing.assert_array_equal(tf.sparse.to_dense(x), np.eye(*sizes))
        assert x.indices.dtype is tf.int64
        assert x.indices.shape == (min(sizes), 2)


def test_indices_outside_of_the_shape_are_refused_as_before() -> None:
    x = tf.SparseTensor([[0, 1], [2, 9]], [1.0, 2.0], [3, 5])
    with pytest.raises((ValueError, IndexError)):
        tf.sparse.sparse_dense_matmul(x, tf.ones([5, 2]))
    with pytest.raises((ValueError, IndexError)):
        tf.sparse.reduce_sum(tf.SparseTensor([[0, 1], [5, 1]], [1.0, 2.0], [3, 5]), 1)
    with pytest.raises(ValueError, match="inner sizes"):
        tf.sparse.sparse_dense_matmul(_sparse("ordered", np.float32), tf.ones([5, 2]))


def test_without_scipy_products_and_sums_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x, b = _sparse("ordered", np.float32), tf.constant(RNG.standard_normal((9, 4)).astype(np.float32))
    by_scipy = [
        tf.sparse.sparse_dense_matmul(x, b),
        tf.sparse.reduce_sum(x, 1),
        tf.sparse.transpose(x).values,
    ]
    monkeypatch.setattr(library, "sparse", lambda: None)
    without = [tf.sparse.sparse_dense_matmul(x, b), tf.sparse.reduce_sum(x, 1), tf.sparse.transpose(x).values]
    for y, z in zip(by_scipy, without, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-6)


def test_what_is_found_of_the_indices_is_found_once() -> None:
    x = _sparse("ordered", np.float32)
    first = rows.rows_of(x)
    assert first is not None
    assert rows.rows_of(x) is first
    assert rows.rows_of(_sparse("unordered", np.float32)) is None


def test_a_threshold_is_of_the_dtype_of_the_values() -> None:
    indices = np.array([[0, 1], [2, 0]])
    whole = tf.SparseTensor(indices, np.array([1, 2], np.int32), (3, 3))
    for watched in (False, True):
        with tf.GradientTape() if watched else contextlib.nullcontext():
            assert len(tf.sparse.add(whole, whole, 3).values) == 1
            with pytest.raises(TypeError, match="int32"):
                tf.sparse.add(whole, whole, 0.5)


_ALL = {
    **_CALLS,
    "the largest": lambda x: tf.sparse.reduce_max(x, 1),
    "a product": lambda x: tf.sparse.sparse_dense_matmul(
        x, tf.constant(np.arange(36).reshape(9, 4) / 7, x.dtype)
    ),
    "a product of the transpose": lambda x: tf.sparse.sparse_dense_matmul(
        x, tf.constant(np.arange(28).reshape(7, 4) / 7, x.dtype), adjoint_a=True
    ),
    "twice": lambda x: tf.sparse.add(x, x),
}


_OTHER_STEPS = ("sums of rows", "the largest", "a product", "a product of the transpose")


@pytest.mark.parametrize("name", list(_ALL))
@pytest.mark.parametrize("kind", ["ordered", "by rows"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_derivatives_of_places_found_at_once_are_those_of_the_ops(
    name: str, kind: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = _sparse(kind, dtype, count=60)  # no row is empty

    def gradients() -> tuple[Any, Any, list[str]]:
        with tf.GradientTape() as outer:
            outer.watch(x.values)
            with tf.GradientTape() as tape:
                tape.watch(x.values)
                y = _ALL[name](x)
                y = y.values if isinstance(y, tf.SparseTensor) else y
                steps = [entry[0].name for entry in tape.entries]
                y = tf.sin(y)
            bar = tf.constant(np.arange(1, y.numpy().size + 1).reshape(y.shape.as_list()) / 3, y.dtype)
            first = tape.gradient(y, x.values, bar)
        return first.numpy(), outer.gradient(first, x.values).numpy(), steps

    *short, few = gradients()
    monkeypatch.setattr(rows, "has_places", lambda *xs: False)
    *long, many = gradients()
    if name in _OTHER_STEPS:
        assert few != many
    for a, b in zip(short, long, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(
            a, b, rtol=1e-5 if dtype is np.float32 else 1e-13, atol=1e-5 if dtype is np.float32 else 1e-12
        )


def test_a_product_by_rows_looks_at_its_places() -> None:
    values, b = tf.constant([1.0, 2.0]), tf.ones([3, 2])

    def call(columns: list[int], starts: list[int]) -> Any:
        return bind(SparseProduct(False, 3), values, tf.constant(columns), tf.constant(starts), b)

    assert call([2, 0], [0, 1, 2]).shape == (2, 2)
    for columns, starts, words in (
        ([2, 3], [0, 1, 2], "column is not in"),
        ([2, -1], [0, 1, 2], "column is not in"),
        ([2, 0], [0, 1, 1], "rows begin at"),
        ([2, 0], [1, 1, 2], "rows begin at"),
        ([2, 0], [0, 3, 2], "row 1 ends before it begins"),
        ([2], [0, 1, 2], "with 1 columns"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            call(columns, starts)
    with pytest.raises(tf.errors.InvalidArgumentError, match="first size must be 3"):
        bind(SparseProduct(False, 3), values, tf.constant([2, 0]), tf.constant([0, 1, 2]), tf.ones([2, 2]))


def test_products_by_rows_are_the_same_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    x = _sparse("ordered", np.float32)
    at = rows.rows_of(x)
    assert at is not None
    for adjoint, size in ((False, 9), (True, 7)):
        parts = (at.columns, at.starts, RNG.standard_normal((size, 4)).astype(np.float32))
        op = SparseProduct(adjoint, 9)
        want = op.eval(x.values.data, *parts)
        with monkeypatch.context() as patched:
            patched.setattr(library, "sparse", lambda: None)
            np.testing.assert_array_equal(op.eval(x.values.data, *parts), want)
