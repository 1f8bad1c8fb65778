"""`IndexedSlices`: the gradient of a lookup, as the rows that were touched and where they belong.

Row i of `values` is to be added to row indices[i] of a tensor of shape `dense_shape`; indices may repeat, and then add up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, Self

from graphad.core.convert import lift_own
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import Dims
from graphad.core.sparse import Sparse


class IndexedSlices(Sparse):
    """A sparse tensor made of slices along axis 0.

    Args:
      values: Tensor [n, ...]: the slices.
      indices: Integer tensor [n]: the row of each slice; repeats add up.
      dense_shape: Integer tensor [rank]: the shape of the whole, None if it is not known.
      dims: What is known of that shape while tracing.
    Raises: Nothing; the ops that use the slices check them.
    """

    __slots__ = ("_dims", "dense_shape", "indices", "values")
    title = "IndexedSlices"
    fields = ("values", "indices", "dense_shape")
    ranks: ClassVar[dict[str, int]] = {"indices": 1, "dense_shape": 1}

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None, dims: Dims = None) -> None:
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape
        self._dims = dims

    @property
    def dims(self) -> Dims:
        """The raw shape of the whole, as far as it is known."""
        if self._dims is not None:
            return self._dims
        data = getattr(self.dense_shape, "data", None)
        if data is not None:
            return tuple(int(size) for size in data)
        return None if self.values.dims is None else (None, *self.values.dims[1:])

    @property
    def device(self) -> str:
        return self.values.device  # type: ignore[no-any-return]

    def with_values(self, values: Any) -> IndexedSlices:
        """The same rows with other values."""
        return IndexedSlices(values, self.indices, self.dense_shape, self._dims)

    def apart(self) -> tuple[list[Any], Callable[[list[Any]], IndexedSlices]]:
        """The tensors it consists of, and a function that rebuilds it from others."""
        parts, dims = [self.values, self.indices], self._dims
        if self.dense_shape is not None:
            parts.append(self.dense_shape)
        return parts, lambda new: IndexedSlices.made(new, dims)

    @classmethod
    def made(cls, parts: Sequence[Any], dims: Dims) -> Self:
        return cls(parts[0], parts[1], parts[2] if len(parts) > 2 else None, dims)

    @classmethod
    def forms(cls) -> tuple[tuple[str, ...], ...]:
        return cls.fields, cls.fields[:2]  # the shape of the whole may be unknown

    def kind(self) -> Hashable:
        return IndexedSlices, self.dense_shape is None, self._dims

    __graphad_parts__ = apart
    __graphad_complete__ = True

    def __graphad_loop_dims__(self) -> Sequence[Any]:
        """The number of slices may change from step to step."""
        dims = self.values.dims
        own = [None if dims is None else (None, *dims[1:]), (None,)]
        return own if self.dense_shape is None else [*own, self.dense_shape.dims]

    def __graphad_loop_writes__(self) -> Sequence[Any]:
        return [None] * (2 if self.dense_shape is None else 3)

    def __graphad_tensor__(self) -> Any:
        """The whole as one tensor: slices with the same index are summed, rows without a slice are zero."""
        if self.dense_shape is None:
            raise InvalidArgumentError(
                "IndexedSlices: the dense_shape is not known, so there is no dense tensor; pass one."
            )
        # Whoever made the slices may have given arrays, lists or variables.
        values, indices, dense_shape = map(lift_own, (self.values, self.indices, self.dense_shape))
        return values._added_up(IndexedSlices(values, indices, dense_shape, self._dims))

    def numpy(self) -> Any:
        """The whole as a NumPy array."""
        return self.__graphad_tensor__().numpy()

    def __neg__(self) -> IndexedSlices:
        return self.with_values(-self.values)

    def __repr__(self) -> str:
        whole = "" if self.dense_shape is None else f", dense_shape={self.dense_shape!s}"
        return f"IndexedSlices(indices={self.indices!s}, values={self.values!s}{whole})"
