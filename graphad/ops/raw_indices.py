"""Raw ops of coordinates, which take `bad_indices_policy`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.tensor import Tensor
from graphad.ops import array
from graphad.ops.array.bad_indices import are_ignored, moved_inside


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


INDEXED: dict[str, Callable[..., Any]] = {
    "GatherNd": _gather_nd,
    "ScatterNd": _scatter_nd,
    "TensorScatterAdd": _scatter(array.tensor_scatter_nd_add),
    "TensorScatterMax": _scatter(array.tensor_scatter_nd_max),
    "TensorScatterMin": _scatter(array.tensor_scatter_nd_min),
    "TensorScatterSub": _scatter(array.tensor_scatter_nd_sub),
    "TensorScatterUpdate": _scatter(_update),
}
