"""Words for annotations: what public functions take and what generated ones look like.

Unions are made once, here. Protocols are for type checkers alone, since making them would cost import time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.dtypes import DType
from graphad.core.shapes import TensorShape
from graphad.core.tensor import Handle, Tensor

if TYPE_CHECKING:
    from array import array
    from typing import Protocol

    class ExportsArray(Protocol):
        """An array, a data frame, a tensor of another library."""

        def __array__(self) -> Any: ...

    class BecomesTensor(Protocol):
        """A variable, the slices that are the gradient of a lookup."""

        def __graphad_tensor__(self) -> Any: ...

    class UnaryFunction(Protocol):
        """A public function of one tensor."""

        def __call__(self, x: TensorLike, name: str | None = None) -> Tensor: ...

    class BinaryFunction(Protocol):
        """A public function of two tensors."""

        def __call__(self, x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor: ...

    class ComparisonFunction(Protocol):
        """`equal` and `not_equal`."""

        def __call__(
            self,
            x: TensorLike,
            y: TensorLike,
            name: str | None = None,
            incompatible_shape_error: bool = True,
        ) -> Tensor: ...

    class ReductionFunction(Protocol):
        """A public function that reduces axes."""

        def __call__(
            self,
            input_tensor: TensorLike,
            axis: AxisLike = None,
            keepdims: bool = False,
            name: str | None = None,
        ) -> Tensor: ...

    # What `lift` makes a tensor of. Lists and tuples nest; a text would be a Sequence too, and is none of them.
    TensorLike = (
        Tensor
        | Handle
        | np.ndarray
        | np.generic
        | complex  # so are bool, int and float
        | list[Any]
        | tuple[Any, ...]
        | range
        | TensorShape
        | ExportsArray
        | BecomesTensor
        | array[Any]
        | memoryview
    )
else:
    ComparisonFunction = ReductionFunction = UnaryFunction = BinaryFunction = Callable[..., Tensor]
    TensorLike = Tensor | Handle | np.ndarray | np.generic | complex | list | tuple | range | TensorShape

DTypeLike = DType | np.dtype[Any] | type | str
ShapeLike = TensorShape | Tensor | np.ndarray | int | Iterable[Any]
AxisLike = int | Sequence[int] | np.ndarray | np.integer[Any] | Tensor | None
# A tensor, or lists, tuples, dicts, named tuples and dataclasses of them: type checkers have no word for what nests without end.
NestLike = Any
