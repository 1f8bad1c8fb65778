"""Slices of stacks of operators: `operator[0, ..., None]` indexes the leading sizes of all that an operator is made of."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError, UnsupportedOptionError
from graphad.core.shapes import format_dims, is_definite
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.create import zeros
from graphad.ops.array.join import concat
from graphad.ops.array.shape import shape as shape_of
from graphad.ops.linalg.held import as_data, is_operator

if TYPE_CHECKING:
    from graphad.core.dtypes import DType


class _Slicer:
    """Indexes tensors as parts of a stack with leading sizes `batch`, to which those with fewer are broadcast."""

    def __init__(self, batch: tuple[Any, ...], sizes: Tensor, key: tuple[Any, ...]) -> None:
        self._batch, self._sizes, self._key = batch, sizes, key

    def of_operator(self, x: Any) -> Any:
        if x._sliced is None:
            raise UnsupportedOptionError(
                f"{type(x).__name__}: it cannot be sliced, since `_sliced` does not say the ranks of what it is made of."
            )
        bound, ranks = x._graphad_made_with(), dict(x._sliced)
        made = [
            (name, self._of_argument(value, ranks.get(name), x.dtype))
            for name, value in bound.arguments.items()
        ]
        if x._has_batch_shape:
            made = [part for part in made if part[0] != "batch_shape"] + [("batch_shape", self.leading())]
        order = list(bound.signature.parameters)
        made.sort(key=lambda part: order.index(part[0]))
        arguments = inspect.BoundArguments(bound.signature, OrderedDict(made))
        return type(x)(*arguments.args, **arguments.kwargs)

    def _of_argument(self, value: Any, rank: int | None, dtype: DType) -> Any:
        if is_operator(value):
            return self.of_operator(value)
        if isinstance(value, list | tuple) and (rank is None or rank < 0):
            return [self._of_argument(part, rank and -rank, dtype) for part in value]
        return value if rank is None or value is None else self._of_tensor(value, rank, dtype)

    def _of_tensor(self, value: Any, rank: int, dtype: DType) -> Tensor:
        """A tensor whose last `rank` axes belong to the matrix."""
        x: Any = lift(as_data(value, dtype))
        lead = len(x.dims) - rank
        if x.dims[:lead] != self._batch or None in self._batch:
            x = broadcast_to(x, concat([self._sizes, shape_of(x)[lead:]], 0))
        found: Tensor = x[(*self._key, *[slice(None)] * rank)]
        return found

    def leading(self) -> Any:
        """The leading sizes of a slice."""
        whole: Any = zeros(self._sizes if None in self._batch else self._batch)
        found = whole[self._key]
        return list(found.dims) if is_definite(found.dims) else shape_of(found)


def sliced(operator: Any, key: Any) -> Any:
    """Those matrices of a stack that `key` names, as an operator of the same class."""
    if isinstance(key, list) and any(part is None or part is Ellipsis or type(part) is slice for part in key):
        key = tuple(key)  # as for tensors
    key = key if isinstance(key, tuple) else (key,)
    batch = operator.dims[:-2]
    count = sum(1 for part in key if part is not None and part is not Ellipsis)
    if count > len(batch):
        raise InvalidArgumentError(
            f"{type(operator).__name__}: {count} indices for the leading sizes {format_dims(batch)}; the axes of the matrix "
            "itself are not sliced. Use to_dense() for these."
        )
    if not any(part is Ellipsis for part in key):
        key = (*key, Ellipsis)
    slicer = _Slicer(batch, operator.batch_shape_tensor(), key)
    found, lead = slicer.of_operator(operator), slicer.leading()
    if isinstance(lead, list) and found.dims[:-2] != tuple(lead):
        raise UnsupportedOptionError(
            f"{type(operator).__name__}: it cannot be sliced, since its `_sliced` leaves out an argument."
        )
    return found
