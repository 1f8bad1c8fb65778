"""Sparse tensors between the steps of a data set: arrays of places and values, which are cut into rows and stacked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.sparse import Sparse
from graphad.ops.sparse.tensor import SparseTensor, SparseTensorSpec

if TYPE_CHECKING:
    from graphad.core.annotations import Array


class SparseArray:
    """A sparse tensor as NumPy arrays: what an array is for a dense one.

    Args:
      indices: The place of each value, int64 [n, rank].
      values: [n].
      shape: The shape of the whole.
    """

    def __init__(self, indices: Array, values: Array, shape: Sequence[int]) -> None:
        self.indices, self.values, self.shape = indices, values, tuple(int(size) for size in shape)
        self.ndim, self.dtype = len(self.shape), values.dtype

    @staticmethod
    def of(x: SparseTensor) -> SparseArray | None:
        """The same for a sparse tensor; None where it belongs to a function that is being traced."""
        parts: list[Any] = [x.indices, x.values, x.dense_shape]
        if not all(part.has_value for part in parts):
            return None
        indices, values, sizes = [np.asarray(part.numpy()) for part in parts]
        return SparseArray(indices, values, sizes.tolist())

    def parts(self) -> list[Array]:
        return [self.indices, self.values, np.array(self.shape, np.int64)]

    def tensor(self) -> SparseTensor:
        indices, values, sizes = [lift(part) for part in self.parts()]
        return SparseTensor.of(indices, values, sizes, self.shape)

    def spec(self) -> SparseTensorSpec:
        return SparseTensorSpec(self.shape, self.dtype)

    def dense(self) -> Array:
        found = np.zeros(self.shape, self.dtype)
        found[tuple(self.indices.T)] = self.values
        return found

    def tobytes(self) -> bytes:
        return self.indices.tobytes() + self.values.tobytes()

    @cached_property
    def _rows(self) -> tuple[Array, Array]:
        """The numbers of the values, row by row, and where each row begins."""
        first = self.indices[:, 0]
        order = np.argsort(first, kind="stable")
        return order, np.searchsorted(first[order], np.arange(self.shape[0] + 1))

    def __getitem__(self, i: int) -> SparseArray:
        order, begins = self._rows
        own = order[begins[i] : begins[i + 1]]
        return SparseArray(self.indices[own, 1:], self.values[own], self.shape[1:])

    @staticmethod
    def stacked(rows: Sequence[SparseArray]) -> SparseArray:
        """Rows along a new first axis; where their sizes differ, the whole has the largest.

        Raises: InvalidArgumentError: they have different ranks.
        """
        odd = next((row for row in rows if row.ndim != rows[0].ndim), None)
        if odd is not None:
            raise InvalidArgumentError(
                f"batch: sparse elements have shapes {rows[0].shape} and {odd.shape}; their ranks must be equal."
            )
        indices = [np.insert(row.indices, 0, i, axis=1) for i, row in enumerate(rows)]
        sizes = np.max([row.shape for row in rows], axis=0) if rows[0].ndim else []
        return SparseArray(
            np.concatenate(indices), np.concatenate([row.values for row in rows]), [len(rows), *sizes]
        )


def sparse_spec(x: Any) -> SparseTensorSpec | None:
    """The spec of a sparse leaf, None for any other."""
    if isinstance(x, SparseArray):
        return x.spec()
    if isinstance(x, SparseTensorSpec) or not isinstance(x, Sparse):
        return x if isinstance(x, SparseTensorSpec) else None
    return SparseTensorSpec(x.dims, x.dtype)
