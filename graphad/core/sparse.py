"""What stands for a tensor by some of its values and the places where they belong. Derivatives are those of the values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from graphad.core.dtypes import DType
from graphad.core.nest import Form, Record
from graphad.core.shapes import TensorShape

if TYPE_CHECKING:
    from graphad.core.shapes import Dims
    from graphad.core.tensor import Tensor


class Sparse:
    """Base class of `IndexedSlices` and `SparseTensor`: an argument and a result of functions as the tensors it consists of.

    Attributes:
      title: What a file calls it.
      fields: The names of the tensors that it consists of, in the order of `apart`.
      ranks: Those of the tensors that always have the same.
      values: What is differentiated.
      holds_values: Whether each value is that of an element, so that a function of the elements is one of the values.
      sizes: The shape as a tensor, where nothing makes a dense tensor of it unasked.
    """

    __slots__ = ()
    title: str
    fields: tuple[str, ...]
    ranks: ClassVar[dict[str, int]]
    values: Any
    holds_values: ClassVar[bool] = False
    _dims: Dims
    sizes: Any = None

    @property
    def away(self) -> bool:
        """Whether its values are on another device than the CPU."""
        return self.values.away  # type: ignore[no-any-return]

    @property
    def device(self) -> str:
        """The device of its values."""
        return self.values.device  # type: ignore[no-any-return]

    @property
    def dtype(self) -> DType:
        return self.values.dtype  # type: ignore[no-any-return]

    @property
    def dims(self) -> Dims:
        """The raw shape of the whole, as far as it is known."""
        raise NotImplementedError

    @property
    def fixed_dims(self) -> Dims:
        """What is known of the shape without the tensor that gives it."""
        return self._dims

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self.dims)

    def get_shape(self) -> TensorShape:
        return self.shape

    def with_values(self, values: Tensor) -> Self:
        """Other values in the same places."""
        raise NotImplementedError

    def apart(self) -> tuple[list[Any], Callable[[list[Any]], Any]]:
        """The tensors it consists of, and how it is made of others."""
        raise NotImplementedError

    @classmethod
    def made(cls, parts: Sequence[Any], dims: Dims) -> Self:
        """The value that consists of these tensors; `dims` is the known part of its shape."""
        raise NotImplementedError

    @classmethod
    def forms(cls) -> tuple[tuple[str, ...], ...]:
        """The names of the tensors that it may consist of."""
        return (cls.fields,)

    def kind(self) -> Hashable:
        """What is fixed besides the tensors: equal for those that one trace of a function serves."""
        raise NotImplementedError

    def record(self) -> Record:
        """The tensors as fields."""
        parts, again = self.apart()
        return Record(Form(self.kind(), self.fields[: len(parts)], again), parts)


def values_of(x: object) -> Any:
    """What stands for `x` where it is differentiated."""
    return x.values if isinstance(x, Sparse) else x
