"""One row for every op of graphad.ops.array, and more where shapes, axes, dtypes or edges differ."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphad as tf
from graphad.core.bind import bind
from graphad.ops import array as a
from graphad.ops.array.combine import ScatterCombine
from graphad.ops.array.identity_matrix import Eye
from graphad.ops.array.sequence import Steps, UnitSteps
from graphad.ops.array.slice import getitem
from graphad.ops.array.strided import SliceGrad
from graphad.ops.array.transpose import move_axis, swap_axes
from tests.support.op_case import OpCase, boolean, complex_, integer, real

SIZES = ("sizes",)
INDEX = np.array([[0, 2], [1, 1]], np.int32)


def shape_of_x(x: Any) -> Any:
    return a.shape(x)


def sum_of_sizes(x: Any) -> Any:
    return a.shape(x)[0] + a.shape(x)[-1]


def rows_by_size(x: Any) -> Any:
    return a.reshape(x, [a.shape(x)[0], -1])


def flat_pairs(x: Any) -> Any:
    s = a.shape(x)
    return a.reshape(x, [s[0] * s[1], s[2]])


def last_by_size(x: Any) -> Any:
    return x[:, a.shape(x)[1] - 1]


def from_size(x: Any) -> Any:
    return x[a.shape(x)[0] - 2 :]


def zeros_by_size(x: Any) -> Any:
    return x + a.zeros(a.shape(x), x.dtype)


def range_by_size(x: Any) -> Any:
    return a.range(a.shape(x)[0])


def eye_by_size(x: Any) -> Any:
    return a.eye(a.shape(x)[0], dtype=x.dtype)


def combined(kind: str) -> Any:
    def combine(x: Any, updates: Any) -> Any:
        return bind(ScatterCombine(kind), x, a.constant([[1], [1], [0]]), updates)

    return combine


def ensured(x: Any) -> Any:
    return a.ensure_shape(x, [None, 4])


def times_eye(x: Any) -> Any:
    return x * bind(Eye(2, 3, x.dtype))


def times_steps(x: Any) -> Any:
    return x * bind(Steps(1.0, 3, 0.5, x.dtype))


def times_unit_steps(x: Any) -> Any:
    return x * bind(UnitSteps(3, x.dtype))


def one_hot_by_size(i: Any, x: Any) -> Any:
    return a.one_hot(i, a.shape(x)[0])


def linspace_by_size(low: Any, high: Any, x: Any) -> Any:
    return a.linspace(low, high, a.shape(x)[0] + 3)


def tile_by_size(x: Any) -> Any:
    return a.tile(x, a.shape(x))


def split_by_size(x: Any) -> Any:
    n = a.shape(x)[1]
    return a.split(x, a.stack([n - 1, 1]), axis=1)


def segment_by_size(x: Any, ids: Any) -> Any:
    return a.unsorted_segment_sum(x, ids, a.shape(x)[0])


def scatter_by_size(i: Any, u: Any) -> Any:
    return a.scatter_nd(i, u, a.shape(u) + 4)


def spread(x: Any) -> Any:
    return a.stack(a.unstack(x, axis=1)[::-1], axis=1)


def first_and_last(x: Any) -> Any:
    parts = a.split(x, 3, axis=-1)
    return [parts[0], parts[2]]


def uneven(x: Any) -> Any:
    return a.split(x, [1, -1], axis=1)


def largest(x: Any) -> Any:
    return a.top_k(x, 2)


def padded_by(x: Any, p: Any) -> Any:
    return a.pad(x, p)


def rolled(x: Any, shift: Any) -> Any:
    return a.roll(x, shift, 1)


def put(x: Any, updates: Any) -> Any:
    return a.tensor_scatter_nd_update(x, [[2], [0]], updates)


def _spread_slice(x: Any) -> Any:
    out = np.zeros((5, 4))
    out[::2, 1:3] = x
    return out


def spread_slice(x: Any) -> Any:
    return bind(SliceGrad((0, 1), (2, 1), (5, 4)), x)


def moved(x: Any) -> Any:
    return move_axis(x, 0, -1)


def swapped(x: Any) -> Any:
    return swap_axes(x, -1, -2)


def at(x: Any, i: Any) -> Any:
    return getitem(x, (..., i))


def row_at(x: Any, i: Any) -> Any:
    return getitem(x, i)


def between(x: Any, i: Any, j: Any) -> Any:
    return getitem(x, (slice(None), slice(i, j)))


def update_at(x: Any, v: Any, i: Any) -> Any:
    return a.slice_update(x, (slice(None), i), v)


def update_part(x: Any, v: Any) -> Any:
    return a.slice_update(x, (slice(1, None), 0), v)


def block_at(x: Any, i: Any) -> Any:
    return a.slice(x, a.stack([i, 0]), [2, -1])


def grids(x: Any, y: Any) -> Any:
    return a.meshgrid(x, y)


def grids_ij(x: Any, y: Any) -> Any:
    return a.meshgrid(x, y, indexing="ij")


def _key(*key: Any) -> Any:
    return key if len(key) > 1 else key[0]


def _indexed(*key: Any, unknown: Any = ("sizes", "rank"), shape: Any = (3, 4, 5)) -> OpCase:
    wanted = _key(*key)

    def index(x: Any) -> Any:
        return getitem(x, wanted)

    return OpCase(
        index, real(*shape), expected=lambda x: np.asarray(x[wanted]), unknown=unknown, label=str(wanted)
    )


def looked_up(p: Any, i: Any) -> Any:
    # The gradient of an identity is a tensor, where that of a plain lookup is IndexedSlices.
    return a.gather(a.identity(p), i)


def rows_at(p: Any, i: Any) -> Any:
    return a.gather_nd(a.identity(p), i)  # as in looked_up


def _gathered(p: Any, i: Any, axis: int = 0, batch_dims: int = 0) -> Any:
    if not batch_dims:
        return np.take(p, i, axis)
    return np.stack([_gathered(x, j, axis - 1, batch_dims - 1) for x, j in zip(p, i, strict=True)])


def _gather(p: Any, i: Any, axis: int, batch_dims: int = 0) -> OpCase:
    return OpCase(
        a.gather,
        p,
        i,
        axis=axis,
        batch_dims=batch_dims,
        expected=lambda p, i: _gathered(p, i, axis, batch_dims),
    )


def _gathered_nd(p: Any, i: Any, batch_dims: int = 0) -> Any:
    if batch_dims:
        return np.stack([_gathered_nd(x, j, batch_dims - 1) for x, j in zip(p, i, strict=True)])
    return p[tuple(np.moveaxis(i, -1, 0))]


def _scattered(i: Any, u: Any, shape: Any) -> Any:
    out = np.zeros(shape, u.dtype)
    np.add.at(out, tuple(np.moveaxis(i, -1, 0)), u)
    return out


def _scatter(i: Any, u: Any, shape: Any) -> OpCase:
    return OpCase(a.scatter_nd, i, u, shape=shape, expected=lambda i, u: _scattered(i, u, shape))


def _updated(x: Any, i: Any, u: Any) -> Any:
    out = x.copy()
    out[tuple(np.moveaxis(i, -1, 0))] = u
    return out


def _lowered(x: Any, i: Any, u: Any) -> Any:
    out = x.copy()
    np.minimum.at(out, tuple(np.moveaxis(i, -1, 0)), u)
    return out


def _segments(x: Any, ids: Any, n: int) -> Any:
    out = np.zeros((n, *x.shape[ids.ndim :]), x.dtype)
    for place in np.ndindex(ids.shape):
        if ids[place] >= 0:
            out[ids[place]] += x[place]
    return out


DISTINCT = np.random.default_rng(3).permutation(24).reshape(2, 3, 4) / 7.0
IDS = np.array([0, 2, -1, 0], np.int32)
MASK = np.array([[True, False, True], [False, True, True]])
COORDINATES = np.array([[0, 1], [2, 0], [0, 1]], np.int32)

CREATE = [
    OpCase(a.identity, real(3, 4), expected=lambda x: x),
    OpCase(ensured, real(3, 4), expected=lambda x: x),
    OpCase(
        combined("mul"),
        real(2, 4),
        real(3, 4),
        expected=lambda x, u: np.stack([x[0] * u[2], x[1] * u[0] * u[1]]),
        order=0,
    ),
    OpCase(
        combined("div"),
        real(2),
        1.0 + real(3) ** 2,
        expected=lambda x, u: np.stack([x[0] / u[2], x[1] / u[0] / u[1]]),
        order=0,
    ),
    OpCase(
        a.tensor_scatter_nd_max,
        real(2, 4),
        np.array([[1], [1], [0]], np.int32),
        real(3, 4, seed=1),
        expected=lambda x, i, u: np.maximum(x, [u[2], np.maximum(u[0], u[1])]),
    ),
    OpCase(
        a.tensor_scatter_nd_min,
        real(3, 3),
        COORDINATES,
        real(3, seed=1),
        expected=lambda x, i, u: _lowered(x, i, u),
    ),
    OpCase(
        a.tensor_scatter_nd_min,
        integer(2),
        np.array([[1], [1], [0]], np.int32),
        integer(3),
        expected=lambda x, i, u: np.minimum(x, [u[2], min(u[0], u[1])]),
    ),
    OpCase(ensured, integer(2, 4), expected=lambda x: x),
    OpCase(a.identity, np.float64(2.0), expected=lambda x: x),
    OpCase(a.stop_gradient, real(3, 4), expected=lambda x: x, order=0),
    OpCase(put, real(3, 2), real(2, 2, seed=1), expected=lambda x, u: np.stack([u[1], x[1], u[0]])),
    OpCase(spread_slice, real(3, 2), unknown=(), expected=_spread_slice),
    OpCase(a.zeros_like, real(3, 4), expected=np.zeros_like, order=0),
    OpCase(a.ones_like, real(3, 4), expected=np.ones_like, order=0),
    OpCase(a.ones_like, integer(3), expected=np.ones_like),
    OpCase(a.size, real(3, 4), expected=lambda x: np.int32(12), order=0),
    OpCase(a.rank, real(3, 4), expected=lambda x: np.int32(2), order=0),
    OpCase(a.fill, [2, 3], np.float64(1.5), expected=lambda v: np.full((2, 3), v)),
    OpCase(a.one_hot, INDEX, depth=3, expected=lambda i: np.eye(3, dtype=np.float32)[i]),
    OpCase(
        a.one_hot, np.array([-1, 1], np.int32), depth=3, axis=0, on_value=2.0, off_value=-1.0, label="axis"
    ),
    OpCase(
        one_hot_by_size,
        INDEX,
        real(3),
        expected=lambda i, x: np.eye(3, dtype=np.float32)[i],
        order=0,
        batched=False,
    ),
    OpCase(
        a.linspace,
        np.float64(-1.0),
        np.float64(2.0),
        num=5,
        unknown=SIZES,
        expected=lambda s, t: np.linspace(s, t, 5),
    ),
    OpCase(
        a.linspace,
        real(3),
        real(3, seed=1),
        num=4,
        axis=-1,
        expected=lambda s, t: np.linspace(s, t, 4, axis=-1),
        unknown=SIZES,
    ),
    OpCase(
        linspace_by_size,
        np.float64(-1.0),
        np.float64(2.0),
        real(3),
        unknown=SIZES,
        expected=lambda s, t, x: np.linspace(s, t, 6),
    ),
    OpCase(range_by_size, real(3, 2), expected=lambda x: np.arange(3, dtype=np.int32), order=0),
    OpCase(eye_by_size, real(3, 2), expected=lambda x: np.eye(3), order=0),
    OpCase(zeros_by_size, real(3, 2), expected=lambda x: x),
    OpCase(times_eye, real(2, 3), expected=lambda x: x * np.eye(2, 3)),
    OpCase(times_steps, real(2, 3), expected=lambda x: x * [1.0, 1.5, 2.0]),
    OpCase(times_unit_steps, real(2, 3), expected=lambda x: x * [0.0, 0.5, 1.0]),
]

SHAPES = [
    OpCase(shape_of_x, real(3, 4), expected=lambda x: np.array([3, 4], np.int32), order=0),
    OpCase(sum_of_sizes, real(3, 4), expected=lambda x: np.int32(7), order=0),
    OpCase(a.reshape, real(3, 4), shape=[2, 6], expected=lambda x: x.reshape(2, 6)),
    OpCase(a.reshape, real(3, 4), shape=[-1], expected=np.ravel),
    OpCase(a.reshape, real(3, 4), shape=[2, -1, 3], expected=lambda x: x.reshape(2, 2, 3)),
    OpCase(rows_by_size, real(3, 2, 2), expected=lambda x: x.reshape(3, 4)),
    OpCase(flat_pairs, real(2, 3, 4), expected=lambda x: x.reshape(6, 4)),
    OpCase(a.broadcast_to, real(3, 1), shape=[2, 3, 4], expected=lambda x: np.broadcast_to(x, (2, 3, 4))),
    OpCase(a.broadcast_to, np.float64(3.0), shape=[2], expected=lambda x: np.full(2, x)),
    OpCase(a.expand_dims, real(3, 4), axis=1, expected=lambda x: x[:, None]),
    OpCase(a.expand_dims, real(3, 4), axis=-1, expected=lambda x: x[..., None]),
    OpCase(a.squeeze, real(3, 1, 4, 1), axis=[1, -1], expected=lambda x: x[:, 0, :, 0]),
    OpCase(a.squeeze, real(3, 1), unknown=(), expected=lambda x: x[:, 0]),
    OpCase(a.transpose, real(2, 3, 4), expected=np.transpose),
    OpCase(a.transpose, real(2, 3, 4), perm=[1, 2, 0], expected=lambda x: np.transpose(x, (1, 2, 0))),
    OpCase(
        a.transpose, real(3, 3, 3), np.array([2, 0, -2]), expected=lambda x, p: np.transpose(x, (2, 0, 1))
    ),
    OpCase(a.transpose, complex_(2, 3), conjugate=True, expected=lambda x: np.conj(x.T)),
    OpCase(a.matrix_transpose, real(2, 3, 4), expected=lambda x: np.swapaxes(x, 1, 2)),
    OpCase(swapped, real(2, 3, 4), expected=lambda x: np.swapaxes(x, 1, 2)),
    OpCase(moved, real(2, 3, 4), unknown=SIZES, expected=lambda x: np.moveaxis(x, 0, -1)),
    OpCase(a.reverse, real(2, 3, 4), axis=[0, -1], expected=lambda x: x[::-1, :, ::-1]),
    OpCase(a.roll, real(2, 3, 4), shift=[1, -2], axis=[0, 2], expected=lambda x: np.roll(x, (1, -2), (0, 2))),
    OpCase(rolled, real(2, 3), np.int32(2), expected=lambda x, s: np.roll(x, s, 1)),
]

JOIN = [
    OpCase(
        a.concat, [real(2, 3), real(2, 1, seed=1)], axis=-1, expected=lambda x, y: np.concatenate([x, y], -1)
    ),
    OpCase(
        a.concat,
        [real(2, 3), real(1, 3, seed=1), real(4, 3, seed=2)],
        axis=0,
        expected=lambda *x: np.concatenate(x, 0),
    ),
    OpCase(a.concat, [real(2, 3)], axis=0, expected=lambda x: x),
    OpCase(a.concat, [real(0, 3), real(2, 3)], axis=0, expected=lambda x, y: y),
    OpCase(a.stack, [real(2, 3), real(2, 3, seed=1)], axis=1, expected=lambda x, y: np.stack([x, y], 1)),
    OpCase(a.stack, [real(2, 3), real(2, 3, seed=1)], axis=-1, expected=lambda x, y: np.stack([x, y], -1)),
    OpCase(a.stack, [np.float64(1.0), np.float64(2.0)], expected=lambda x, y: np.stack([x, y])),
    OpCase(spread, real(2, 3), unknown=(), expected=lambda x: x[:, ::-1]),
    OpCase(a.unstack, real(2, 3), num=2, expected=lambda x: list(x)),
    OpCase(first_and_last, real(2, 6), expected=lambda x: [x[:, :2], x[:, 4:]]),
    OpCase(uneven, real(2, 4), expected=lambda x: [x[:, :1], x[:, 1:]]),
    OpCase(split_by_size, real(2, 4), unknown=SIZES, expected=lambda x: [x[:, :3], x[:, 3:]]),
    OpCase(grids, real(2), real(3, seed=1), expected=lambda x, y: np.meshgrid(x, y)),
    OpCase(grids_ij, real(2), real(3, seed=1), expected=lambda x, y: np.meshgrid(x, y, indexing="ij")),
]

SLICE = [
    _indexed(0),
    _indexed(-1),
    _indexed(slice(None), 0, slice(None)),
    _indexed(slice(1, None)),
    _indexed(slice(None, None, -1)),
    _indexed(slice(None), slice(-1, None, -2)),
    _indexed(..., slice(None, -1)),
    _indexed(..., 1, None, slice(0, 5, 2)),
    _indexed(None, slice(None), None, 2),
    _indexed(slice(5, 2)),
    _indexed(slice(0, 0)),
    _indexed(1, 2, 3),
    _indexed(slice(None), slice(2, 1, -1), slice(4, None, -3)),
    _indexed(slice(None), 0, slice(None), 0, shape=(2, 3, 2, 3)),
    OpCase(row_at, real(3, 4), np.int32(-1), expected=lambda x, i: x[i]),
    OpCase(at, real(3, 4), np.int32(2), expected=lambda x, i: x[..., i]),
    OpCase(between, real(3, 5), np.int32(1), np.int32(4), expected=lambda x, i, j: x[:, i:j], batched=False),
    OpCase(last_by_size, real(3, 4), expected=lambda x: x[:, -1]),
    OpCase(from_size, real(3, 4), expected=lambda x: x[1:]),
    OpCase(block_at, real(3, 4), np.int32(1), expected=lambda x, i: x[i : i + 2], batched=False),
    OpCase(a.slice, real(3, 4), begin=[1, 0], size=[2, -1], expected=lambda x: x[1:3]),
    OpCase(
        a.strided_slice,
        real(3, 4),
        begin=[0, 3],
        end=[3, 0],
        strides=[2, -1],
        begin_mask=1,
        expected=lambda x: x[:3:2, 3:0:-1],
    ),
    OpCase(
        a.strided_slice,
        real(3, 4),
        begin=[0, 1],
        end=[0, 0],
        ellipsis_mask=1,
        shrink_axis_mask=2,
        expected=lambda x: x[..., 1],
    ),
    OpCase(
        update_part, real(3, 4), real(2, seed=1), expected=lambda x, v: _written(x, (slice(1, None), 0), v)
    ),
    OpCase(
        update_at,
        real(3, 4),
        real(3, seed=1),
        np.int32(2),
        expected=lambda x, v, i: _written(x, (slice(None), i), v),
    ),
]


def _written(x: Any, key: Any, value: Any) -> Any:
    out = x.copy()
    out[key] = value
    return out


LOOKUP = [
    OpCase(looked_up, real(3, 4), INDEX, expected=_gathered),
    OpCase(looked_up, real(3), np.int32(1), expected=_gathered),
    OpCase(looked_up, real(3, 4), np.zeros((0,), np.int32), expected=_gathered),
    _gather(real(2, 3, 4), INDEX, 1),
    _gather(real(2, 4, 3), INDEX, 2),
    _gather(real(2, 3, 4), INDEX, 1, 1),
    _gather(real(2, 5, 3), INDEX, 2, 1),
    _gather(real(2, 2, 3), np.array([[[0, 2], [1, 1]], [[2, 2], [0, 1]]], np.int32), 2, 2),
    OpCase(a.gather, real(2, 4, 3), INDEX, axis=-1, expected=lambda p, i: np.take(p, i, -1)),
    OpCase(a.gather_nd, real(3, 3), COORDINATES, expected=_gathered_nd),
    OpCase(rows_at, real(3, 2), np.array([[2], [0]], np.int32), expected=_gathered_nd),
    OpCase(
        a.gather_nd,
        real(2, 3, 2),
        np.array([[[1]], [[2]]], np.int32),
        batch_dims=1,
        expected=lambda p, i: _gathered_nd(p, i, 1),
    ),
    _scatter(COORDINATES, real(3), (3, 3)),
    _scatter(np.array([[2], [0], [2]], np.int32), real(3, 2), (4, 2)),
    OpCase(
        scatter_by_size,
        np.array([[2], [0], [2]], np.int32),
        real(3),
        expected=lambda i, u: _scattered(i, u, (7,)),
    ),
    OpCase(
        a.tensor_scatter_nd_update,
        real(3, 2),
        np.array([[2], [0]], np.int32),
        real(2, 2, seed=1),
        expected=_updated,
        batched=False,
    ),
    OpCase(
        a.tensor_scatter_nd_add,
        real(3, 3),
        COORDINATES,
        real(3, seed=1),
        expected=lambda x, i, u: x + _scattered(i, u, x.shape),
    ),
    OpCase(
        a.tensor_scatter_nd_sub,
        real(3, 3),
        COORDINATES,
        real(3, seed=1),
        expected=lambda x, i, u: x - _scattered(i, u, x.shape),
    ),
    OpCase(a.unsorted_segment_sum, real(4, 2), IDS, num_segments=3, expected=lambda x, i: _segments(x, i, 3)),
    OpCase(
        a.unsorted_segment_sum,
        real(2, 2),
        np.array([[0, 1], [-1, 0]], np.int32),
        num_segments=2,
        expected=lambda x, i: _segments(x, i, 2),
    ),
    OpCase(segment_by_size, real(4, 2), IDS, expected=lambda x, i: _segments(x, i, 4)),
    OpCase(a.boolean_mask, real(2, 3, 4), MASK, expected=lambda x, m: x[m], batched=False),
    OpCase(a.boolean_mask, real(4, 2, 3), MASK, axis=1, expected=lambda x, m: x[:, m], batched=False),
    OpCase(a.boolean_mask, real(3), boolean(3), expected=lambda x, m: x[m], batched=False),
    OpCase(a.sort, DISTINCT, expected=np.sort),
    OpCase(a.sort, DISTINCT, axis=0, direction="DESCENDING", expected=lambda x: np.sort(x, 0)[::-1]),
    OpCase(a.argsort, DISTINCT, axis=1, expected=lambda x: np.argsort(x, 1).astype(np.int32), order=0),
    OpCase(
        a.argsort,
        np.array([2.0, 1.0, 2.0, 1.0]),
        direction="DESCENDING",
        expected=lambda x: np.array([0, 2, 1, 3], np.int32),
        order=0,
    ),
    OpCase(
        largest,
        DISTINCT,
        expected=lambda x: [np.sort(x)[..., :-3:-1], np.argsort(x)[..., :-3:-1].astype(np.int32)],
    ),
]

PAD = [
    OpCase(a.pad, real(2, 3), paddings=[[1, 0], [2, 3]], expected=lambda x: np.pad(x, [[1, 0], [2, 3]])),
    OpCase(
        a.pad,
        real(2, 3),
        [[0, 0], [1, 1]],
        constant_values=-1.0,
        expected=lambda x: np.pad(x, [[0, 0], [1, 1]], constant_values=-1),
    ),
    OpCase(
        a.pad,
        real(3, 3),
        paddings=[[2, 1], [0, 2]],
        mode="REFLECT",
        expected=lambda x: np.pad(x, [[2, 1], [0, 2]], "reflect"),
    ),
    OpCase(
        a.pad,
        real(3, 3),
        paddings=[[3, 1], [0, 2]],
        mode="symmetric",
        expected=lambda x: np.pad(x, [[3, 1], [0, 2]], "symmetric"),
    ),
    OpCase(padded_by, real(2, 3), np.array([[1, 0], [2, 3]], np.int32), expected=np.pad, batched=False),
    OpCase(a.tile, real(2, 3), multiples=[2, 3], expected=lambda x: np.tile(x, (2, 3))),
    OpCase(a.tile, real(2, 3), multiples=[1, 0], expected=lambda x: np.tile(x, (1, 0))),
    OpCase(tile_by_size, real(2, 3), expected=lambda x: np.tile(x, (2, 3))),
    OpCase(a.repeat, real(2, 3), repeats=2, axis=1, unknown=SIZES, expected=lambda x: np.repeat(x, 2, 1)),
    OpCase(a.repeat, real(2, 3), repeats=2, expected=lambda x: np.repeat(x, 2)),
    OpCase(
        a.repeat,
        real(2, 3),
        repeats=[1, 0, 2, 1, 3, 1],
        expected=lambda x: np.repeat(x, [1, 0, 2, 1, 3, 1]),
    ),
    OpCase(
        a.repeat,
        real(2, 3),
        repeats=[1, 0, 2],
        axis=-1,
        unknown=SIZES,
        expected=lambda x: np.repeat(x, [1, 0, 2], 1),
    ),
]


def _unique(x: Any) -> Any:
    values, first, inverse = np.unique(x, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return [values[order], np.argsort(order)[inverse].astype(np.int32)]


def _unique_with_counts(x: Any) -> Any:
    y, idx = _unique(x)
    return [y, idx, np.bincount(idx).astype(np.int32)]


def _largest(x: Any, k: int, axis: int) -> Any:
    order = np.argsort(-x, axis, kind="stable").take(range(k), axis)
    return [np.take_along_axis(x, order, axis), order.astype(np.int32)]


SEVERAL, TWICE = np.array([2.5, 1.0, 3.5, -1.0]), np.array([2, 1, 2, -1, 1])
DISTINCT = [
    OpCase(tf.unique, SEVERAL, expected=_unique, batched=False),
    OpCase(tf.unique, integer(9), expected=_unique, batched=False),
    OpCase(
        tf.unique, np.zeros((0,)), expected=lambda x: [x, np.zeros(0, np.int32)], batched=False, label="empty"
    ),
    OpCase(tf.unique_with_counts, TWICE, expected=_unique_with_counts, batched=False),
    OpCase(
        tf.math.approx_max_k,
        real(3, 5),
        k=2,
        unknown=SIZES,
        expected=lambda x: _largest(x, 2, 1),
    ),
    OpCase(
        tf.math.approx_min_k,
        real(4, 3),
        k=2,
        reduction_dimension=0,
        unknown=SIZES,
        expected=lambda x: [_largest(-x, 2, 0)[0] * -1, _largest(-x, 2, 0)[1]],
    ),
    OpCase(tf.parallel_stack, [real(2), real(2, seed=1)], expected=lambda x, y: np.stack([x, y])),
]


CASES = [*CREATE, *SHAPES, *JOIN, *SLICE, *LOOKUP, *PAD, *DISTINCT]
