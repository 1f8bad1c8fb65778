"""Raw ops of coordinates, some of which take `bad_indices_policy`, of sparse tensors in parts, of order, and of axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.ops import array, math, sparse
from graphad.ops.array.bad_indices import are_ignored, moved_inside
from graphad.ops.array.static import broadcast_dynamic_shape, get_static_value
from graphad.ops.image.projections import projective_transform
from graphad.ops.math.search import searchsorted
from graphad.ops.sparse.tensor import SparseTensor


def _gather_nd(params: TensorLike, indices: TensorLike, bad_indices_policy: str = "") -> Tensor:
    return array.gather_nd(params, indices, bad_indices_policy=bad_indices_policy)


def _scatter_nd(indices: TensorLike, updates: TensorLike, shape: Any, bad_indices_policy: str = "") -> Tensor:
    return array.scatter_nd(indices, updates, shape, bad_indices_policy)


def _scatter(combine: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def scatter(
        tensor: TensorLike, indices: TensorLike, updates: TensorLike, bad_indices_policy: str = ""
    ) -> Tensor:
        return combine(tensor, indices, updates, bad_indices_policy)

    return scatter


def _update(tensor: TensorLike, indices: TensorLike, updates: TensorLike, policy: str) -> Tensor:
    op = "TensorScatterUpdate"
    if are_ignored(op, policy):
        at = lift(indices)
        _, inside = moved_inside(op, at, array.shape(tensor))
        indices, updates = array.boolean_mask(at, inside), array.boolean_mask(updates, inside)
    return array.tensor_scatter_nd_update(tensor, indices, updates)


def _broadcast_gradient_args(s0: TensorLike, s1: TensorLike) -> tuple[Tensor, Tensor]:
    """The axes along which the gradients by operands of these shapes are summed up; none for equal shapes."""
    shapes = lift(s0), lift(s1)
    rank = array.size(broadcast_dynamic_shape(*shapes))
    first, second = (
        array.concat([array.ones(array.stack([rank - array.size(s)]), s.dtype), s], 0) for s in shapes
    )
    is_equal = math.logical_and(
        math.equal(array.size(shapes[0]), array.size(shapes[1])), math.reduce_all(math.equal(first, second))
    )
    r0, r1 = (
        math.cast(
            math.where(math.logical_and(math.equal(size, 1), math.logical_not(is_equal)))[:, 0], s.dtype
        )
        for size, s in zip((first, second), shapes, strict=True)
    )
    return r0, r1


def _sparse_product(
    a_indices: Any, a_values: Any, a_shape: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False
) -> Any:
    a = SparseTensor(a_indices, a_values, a_shape)
    return sparse.sparse_dense_matmul(a, b, adjoint_a, adjoint_b)


def _sparse_in_order(input_indices: Any, input_values: Any, input_shape: Any) -> Any:
    x = sparse.reorder(SparseTensor(input_indices, input_values, input_shape))
    return x.indices, x.values


def _of_vectors(op: str, distinct: Callable[..., Any]) -> Callable[..., Any]:
    """`distinct` of a vector whose axis may be given: the one that it has, or none."""

    def of_axis(x: Any, axis: Any, out_idx: Any = dtypes.int32) -> Any:
        given = get_static_value(lift(axis))
        if (
            given is None
            or [int(k) for k in np.ravel(given)] not in ([], [0], [-1])
            or lift(x).ndim not in (1, None)
        ):
            raise InvalidArgumentError(
                f"raw_ops.{op}: only the elements of a vector are told apart, with axis=[0] or []."
            )
        return distinct(x, out_idx)

    return of_axis


def _bucketize(input: Any, boundaries: Any) -> Any:
    """How many of the boundaries, which ascend, are at most each element."""
    x = lift(input)
    places = array.convert_to_tensor(list(boundaries), dtypes.float64)
    flat = array.reshape(math.cast(x, dtypes.float64), [-1])
    return array.reshape(searchsorted(places, flat, side="right"), array.shape(x))


INDEXED: dict[str, Callable[..., Any]] = {
    "ImageProjectiveTransformV2": lambda images, transforms, output_shape, interpolation, fill_mode="CONSTANT": (
        projective_transform(images, transforms, output_shape, 0.0, interpolation, fill_mode)
    ),
    "ImageProjectiveTransformV3": (
        lambda images, transforms, output_shape, fill_value, interpolation, fill_mode="CONSTANT": (
            projective_transform(images, transforms, output_shape, fill_value, interpolation, fill_mode)
        )
    ),
    "BroadcastGradientArgs": _broadcast_gradient_args,
    "Bucketize": _bucketize,
    "GatherNd": _gather_nd,
    "ScatterNd": _scatter_nd,
    "SparseReorder": _sparse_in_order,
    "SparseTensorDenseMatMul": _sparse_product,
    "TensorScatterAdd": _scatter(array.tensor_scatter_nd_add),
    "TensorScatterMax": _scatter(array.tensor_scatter_nd_max),
    "TensorScatterMin": _scatter(array.tensor_scatter_nd_min),
    "TensorScatterSub": _scatter(array.tensor_scatter_nd_sub),
    "TensorScatterUpdate": _scatter(_update),
    "UniqueV2": _of_vectors("UniqueV2", array.unique),
    "UniqueWithCountsV2": _of_vectors("UniqueWithCountsV2", array.unique_with_counts),
}
