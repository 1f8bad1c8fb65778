"""`bad_indices_policy`: what becomes of coordinates that lie outside of a tensor.

They are refused, or what would be read there is 0 and what would be written is left out.
"""

from __future__ import annotations

from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.dtypes import bool_, int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.ops.array.create import ones, zeros_like
from graphad.ops.array.reshape import expand_dims
from graphad.ops.array.shape import shape
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import logical_and
from graphad.ops.math.select import where

_REFUSED = (None, "", "DEFAULT", "ERROR")


def are_ignored(op: str, policy: object) -> bool:
    """Whether coordinates outside are ignored. Raises: InvalidArgumentError: there is no such policy."""
    if policy == "IGNORE":
        return True
    if policy in _REFUSED:
        return False
    raise InvalidArgumentError(
        f"{op}: bad_indices_policy is {policy!r}; '', 'DEFAULT', 'ERROR' and 'IGNORE' are possible."
    )


def moved_inside(op: str, indices: Tensor, sizes: Tensor, batch_dims: int = 0) -> tuple[Tensor, Tensor]:
    """Coordinates with 0 in place of those outside of a tensor of these sizes, and which rows of them were inside before."""
    depth = indices.dims[-1] if indices.dims else None
    if type(depth) is not int:
        raise InvalidArgumentError(
            f"{op}: bad_indices_policy='IGNORE' needs indices whose last size is known; they have shape {indices.shape}."
        )
    bounds: Any = cast(sizes, int64)[batch_dims : batch_dims + depth]
    wide = cast(indices, int64)
    each = logical_and(wide >= 0, wide < bounds)
    # Coordinate by coordinate, since reductions are not imported with graphad.
    inside = each[..., 0] if depth else ones(shape(indices)[:-1], bool_)
    for k in range(1, depth):
        inside = logical_and(inside, each[..., k])
    return where(expand_dims(inside, -1), indices, zeros_like(indices)), inside


def only_inside(op: str, values: Tensor, inside: Tensor, other: TensorLike = False) -> Tensor:
    """The slices of `values` whose coordinates were inside; `other` in place of the rest."""
    if values.ndim is None or inside.ndim is None:
        raise InvalidArgumentError(f"{op}: bad_indices_policy='IGNORE' needs values of known rank.")
    for _ in range(values.ndim - inside.ndim):
        inside = expand_dims(inside, -1)
    return where(inside, values, lift(other, values.dtype))
