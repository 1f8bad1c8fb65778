"""`TensorSpec`: what is known of a tensor without its data, and `HandleSpec` for variables held by reference."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphad.core import dtypes
from graphad.core.dtypes import DType
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import (
    Dims,
    TensorShape,
    are_compatible,
    as_dims,
    common_dims,
    describes,
    format_dims,
    is_definite,
)

if TYPE_CHECKING:
    from graphad.core.annotations import DTypeLike, TensorLike


class TypeSpec:
    """What describes a value without its data: a `TensorSpec`, or the `Spec` of an extension type."""

    __slots__ = ()


class TensorSpec(TypeSpec):
    """Shape and dtype of a tensor, without its data.

    Args:
      shape: A list of sizes with None for unknown ones, or None for unknown rank.
      dtype: The dtype, float32 by default.
      name: The name under which a saved signature takes the argument.
    Raises: ArgumentTypeError (a TypeError): no dtype, or no shape.
    Example:
      >>> TensorSpec([None, 3], float64)
      TensorSpec(shape=(None, 3), dtype=tf.float64, name=None)
    """

    __slots__ = ("_hash", "dims", "dtype", "name")
    is_handle = False

    def __init__(
        self, shape: object = None, dtype: DTypeLike = dtypes.float32, name: str | None = None
    ) -> None:
        self.dims: Dims = as_dims(shape)
        self.dtype: DType = dtypes.as_dtype(dtype)
        self.name = name
        self._hash = 0

    @staticmethod
    def of(dims: Dims, dtype: DType) -> TensorSpec:
        """The spec of a shape that is already raw and a dtype that is already a DType; the quick way inside graphad."""
        spec = object.__new__(TensorSpec)
        spec.dims = dims
        spec.dtype = dtype
        spec.name = None
        spec._hash = 0
        return spec

    @property
    def value_type(self) -> type:
        """The class of what it describes."""
        tensor: type = importlib.import_module("graphad.core.tensor").Tensor
        return tensor

    @classmethod
    def from_tensor(cls, tensor: TensorLike, name: str | None = None) -> TensorSpec:
        """The spec of an existing tensor. Raises: InvalidArgumentError (a ValueError): it is none."""
        if not hasattr(tensor, "shape") or not hasattr(tensor, "dtype"):
            raise InvalidArgumentError(f"`tensor` should be a tf.Tensor, but got type {type(tensor)}.")
        return cls(tensor.shape, tensor.dtype, name)

    @classmethod
    def from_spec(cls, spec: TensorSpec, name: str | None = None) -> TensorSpec:
        """A spec of the same shape and dtype, under another name if one is given."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @property
    def shape(self) -> TensorShape:
        return TensorShape(self.dims)

    @property
    def rank(self) -> int | None:
        return None if self.dims is None else len(self.dims)

    @property
    def is_definite(self) -> bool:
        return is_definite(self.dims)

    def with_dims(self, dims: Dims) -> TensorSpec:
        """The same spec with another shape."""
        return TensorSpec.of(dims, self.dtype)

    def is_compatible_with(self, spec_or_tensor: object) -> bool:
        """Whether a tensor described by a spec, or a tensor, may be passed where this spec is asked for."""
        x: Any = spec_or_tensor
        if not isinstance(x, TensorSpec) and not hasattr(x, "shape"):
            return False
        spec = x if isinstance(x, TensorSpec) else TensorSpec(x.shape, x.dtype)
        return spec.dtype is self.dtype and are_compatible(self.dims, spec.dims)

    def is_subtype_of(self, other: object) -> bool:
        """Whether every tensor that this spec describes is one that the other describes; a name must be the other's, too."""
        return (
            isinstance(other, TensorSpec)
            and self.dtype is other.dtype
            and other.describes(self.dims)
            and self.name in (None, other.name)
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> TensorSpec | None:
        """The spec of least freedom that describes what this one and `others` describe; None where dtypes or names differ."""
        dims = self.dims
        for other in others:
            if not isinstance(other, TensorSpec) or (other.dtype, other.name) != (self.dtype, self.name):
                return None
            dims = common_dims(dims, other.dims)
        return TensorSpec(dims, self.dtype, self.name)

    def most_specific_compatible_type(self, other: object) -> TensorSpec:
        """The same for two specs. Raises: InvalidArgumentError (a ValueError): their dtypes differ."""
        return common_supertype(self, other)  # type: ignore[no-any-return]

    def describes(self, dims: Dims) -> bool:
        """Whether every shape that `dims` allows is one that this spec allows."""
        return describes(self.dims, dims)

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and other.dims == self.dims
            and other.dtype is self.dtype
            and other.name == self.name
        )

    def __hash__(self) -> int:
        if not self._hash:
            self._hash = hash((type(self).__name__, self.dims, self.dtype.name, self.name))
        return self._hash

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(shape={format_dims(self.dims)}, dtype={self.dtype!r}, name={self.name!r})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.dims, self.dtype, self.name)


def common_supertype(spec: Any, other: object) -> Any:
    """The spec of least freedom that describes what both do, of tensors or of what is made of them.

    Raises: InvalidArgumentError (a ValueError): there is none.
    """
    found = spec.most_specific_common_supertype([other])
    if found is None:
        raise InvalidArgumentError(f"No TypeSpec is compatible with both {spec} and {other}")
    return found


class HandleSpec(TensorSpec):
    """The spec of a variable passed by reference; shape and dtype are those of its value."""

    __slots__ = ()
    is_handle = True

    @staticmethod
    def of(dims: Dims, dtype: DType) -> HandleSpec:
        spec = object.__new__(HandleSpec)
        spec.dims = dims
        spec.dtype = dtype
        spec.name = None
        spec._hash = 0
        return spec

    def with_dims(self, dims: Dims) -> HandleSpec:
        return HandleSpec.of(dims, self.dtype)

    def __repr__(self) -> str:
        return f"VariableSpec(shape={format_dims(self.dims)}, dtype={self.dtype!r})"

    def value(self) -> TensorSpec:
        """The spec of what a read gives."""
        return TensorSpec.of(self.dims, self.dtype)
