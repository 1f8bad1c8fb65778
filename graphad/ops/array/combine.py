"""`scatter_combine`: slices multiplied, divided, or compared with others where they belong.

For variables alone, which have no derivative of what they are assigned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.core.kinds import require_numeric, require_same_dtype
from graphad.core.op import Op, define, no_batch, no_gradient
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.spec import TensorSpec
from graphad.ops.array.gather import check_nd, nd_index
from graphad.ops.array.support import require_index

Combination = Literal["mul", "div", "floordiv", "max", "min"]
COMBINE: dict[str, np.ufunc] = {
    "mul": np.multiply,
    "div": np.divide,
    "floordiv": np.floor_divide,
    "max": np.maximum,
    "min": np.minimum,
}


@define
class ScatterCombine(Op):
    """x with each slice at `indices`, as gather_nd reads them, combined with its slice of `updates`, one after the other where
    indices repeat: "mul", "div", "floordiv" (for integers), "max", "min"."""

    name = "scatter_combine"
    takes_symbols = (0, 2)
    keeps = (False, False)
    kind: Literal["div", "floordiv", "max", "min", "mul"]

    def infer(self, x: TensorSpec, indices: TensorSpec, updates: TensorSpec) -> TensorSpec:
        require_index(self.name, indices, "indices")
        require_same_dtype(self.name, updates, x, ("updates", "tensor"))
        require_numeric(self.name, x, "tensor")
        if (x.dtype.is_complex and self.kind in ("max", "min")) or (
            x.dtype.is_integer and self.kind == "div"
        ):
            raise DTypeError(f"{self.name}: {x.dtype.name} has no {self.kind!r}.")
        want = check_nd(self.name, x.dims, indices.dims, 0)
        if not are_compatible(want, updates.dims):
            raise InvalidArgumentError(
                f"{self.name}: updates has shape {format_dims(updates.dims)}; indices with shape {format_dims(indices.dims)} "
                f"and a tensor with shape {format_dims(x.dims)} need {format_dims(want)}."
            )
        return x

    def eval(self, x: Any, indices: Any, updates: Any) -> Any:
        out = np.array(x)
        if np.size(updates):
            if self.kind == "floordiv" and not np.all(updates):
                raise InvalidArgumentError(f"{self.name}: Integer division by zero.")
            COMBINE[self.kind].at(out, nd_index(self.name, indices, x.shape, 0), updates)
        return out

    vjp = no_gradient("what a variable is assigned has no derivative")
    batch = no_batch("rows may repeat their indices each in its own way")

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return None if all(axis is None for axis in axes) else "mixed"
