"""Identity matrices."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import dtypes
from graphad.core.annotations import Array, DTypeLike, TensorLike
from graphad.core.bind import bind, constant_here
from graphad.core.convert import lift
from graphad.core.dims import Dim, Size, run_time_symbols
from graphad.core.dtypes import DType, as_dtype
from graphad.core.op import Op, define
from graphad.core.references import AT
from graphad.core.registry import lookup
from graphad.core.run_sizes import Sized
from graphad.core.schema import Given
from graphad.core.shapes import TensorShape, is_definite, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import BroadcastTo, broadcast_for
from graphad.ops.array.sizes import require_count, require_sizes, static_sizes, whole_or_same
from graphad.ops.array.support import WithoutInputs, in_memory, static_int


@define
class Eye(WithoutInputs):
    """A matrix of `rows_` rows and `columns` columns with ones on its diagonal and zeros elsewhere."""

    name, version = "eye", 2
    words = {"rows_": "num_rows", "columns": "num_columns"}
    rows_: Given[Size]
    columns: Given[Size]
    dtype: DType

    @classmethod
    def upgrade(cls, version: int, attributes: dict[str, Any]) -> dict[str, Any]:
        return {"rows_": (AT, 1), "columns": (AT, 2), **attributes}  # both were inputs

    @staticmethod
    def _sizes_were_numbers(attributes: dict[str, Any]) -> dict[str, Any]:
        """Its sizes are always numbers."""
        return attributes

    formerly = {"eye_of": _sizes_were_numbers}

    def infer(self) -> TensorSpec:
        return TensorSpec.of((self.rows_, self.columns), self.dtype)

    def parts_of(
        self, whole: kernels.sites.Site, sites: Sequence[kernels.sites.Site], number: Callable[[int], Any]
    ) -> list[kernels.sites.Part] | None:
        if not kernels.sites.same_size(*whole.shape):
            return None
        return [
            kernels.sites.Part(0, whole),
            kernels.sites.Part(1, kernels.sites.Site(whole.root, whole.shape[:1], (whole.shape[0] + 1,))),
        ]

    def eval(self) -> Array:
        return np.eye(self.rows_, self.columns, dtype=self.dtype.numpy)

    def with_counts(self, sized: Sized, *inputs: Tensor) -> tuple[Op, Sequence[Tensor]] | None:
        """As a comparison of the numbers of rows and columns, of which the run finds how many there are."""
        if not run_time_symbols([self.rows_, self.columns]):
            return None
        steps, equal = lookup("steps"), lookup("equal")
        rows, columns = (bind(steps(0, size, 1, dtypes.int32)) for size in (self.rows_, self.columns))
        return lookup("cast")(self.dtype), (bind(equal(), bind(lookup("expand_dims")((1,)), rows), columns),)


def _require_matrix(high: int | None, wide: int | None) -> None:
    require_count("eye", high, "num_rows")
    require_count("eye", wide, "num_columns")


def eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    batch_shape: Sequence[Any] | TensorShape | Tensor | np.ndarray | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The identity matrix, or a stack of them.

    Args:
      num_rows: An int, or an integer scalar tensor.
      num_columns: Likewise; `num_rows` by default.
      batch_shape: Leading sizes over which the matrix is repeated.
      dtype: The dtype.
    Returns: Tensor [*batch_shape, num_rows, num_columns].
    Raises: InvalidArgumentError (a ValueError): a size is negative.
    Example:
      >>> eye(2).numpy()
      array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    dtype = as_dtype(dtype)
    num_columns = num_rows if num_columns is None else num_columns
    num_rows, num_columns = whole_or_same(num_rows), whole_or_same(num_columns)
    high, wide = static_int("eye", num_rows, "num_rows"), static_int("eye", num_columns, "num_columns")
    _require_matrix(high, wide)
    if high is None or wide is None:
        given = [lift(n) for n, known in ((num_rows, high), (num_columns, wide)) if known is None]
        open_ = (AT, 1) if high is None else high
        matrix = bind(Eye(open_, (AT, len(given)) if wide is None else wide, dtype), *given)
    elif isinstance(high, Dim) or isinstance(wide, Dim):
        matrix = bind(Eye(high, wide, dtype))
    else:
        matrix = constant_here(in_memory("eye", np.eye, high, wide, dtype=dtype.numpy))
    if batch_shape is None:
        return matrix
    lead = static_sizes("eye", batch_shape)
    if lead is None or not is_definite(matrix.dims):
        if isinstance(batch_shape, Tensor):
            if batch_shape.dims is None or None in batch_shape.dims:  # even the number of axes is unknown
                ends = lift([num_rows, num_columns], batch_shape.dtype)
                concat = importlib.import_module("graphad.ops.array.join").concat  # which few programs need
                return broadcast_for("eye", matrix, concat([batch_shape, ends], 0))
            batch_shape = [batch_shape[i] for i in range(len(batch_shape))]
        return broadcast_for("eye", matrix, [*batch_shape, num_rows, num_columns])
    require_sizes("eye", lead, "batch_shape")
    return bind(BroadcastTo((*lead, *ranked(matrix.dims))), matrix)
