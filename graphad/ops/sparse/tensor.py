"""`SparseTensor`: indices, values and a shape; and `SparseTensorSpec`, its spec.

It may be an argument, a result or a loop variable of functions, branches and loops, which see its three tensors. Derivatives
are those of its values; the gradient by a sparse tensor is a sparse tensor with the same indices.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from graphad.core.annotations import DTypeLike, ShapeLike, TensorLike
from graphad.core.convert import lift, lift_like
from graphad.core.dims import UNKNOWN
from graphad.core.dtypes import DType, as_dtype, float32, int64
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.shapes import (
    Dims,
    TensorShape,
    are_compatible,
    as_dims,
    common_dims,
    describes,
    format_dims,
)
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec, TypeSpec, common_supertype
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.gather import gather_nd
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape
from graphad.ops.array.sizes import known_value, partly_known

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor


class SparseTensorValue(NamedTuple):
    """The three parts of a sparse tensor, as arrays or lists, which `SparseTensor.from_value` takes.

    Attributes:
      indices: Where the values are: integers [count, rank].
      values: The values: [count].
      dense_shape: The shape: integers [rank].
    """

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor(Sparse):
    """A tensor given by the indices and values of some elements; all others are 0.

    Most functions require indices in row-major order without repetition; `sparse.reorder` sorts them.

    Args:
      indices: int64 tensor [n, rank]: the index of each value.
      values: Tensor [n].
      dense_shape: int64 tensor [rank]: the shape of the dense tensor.
    Raises: InvalidArgumentError: the shapes of the three do not fit.
    Example:
      >>> x = SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2])
      >>> sparse.to_dense(x).numpy()
      array([[0., 2.],
             [3., 0.]], dtype=float32)
    """

    __slots__ = ("__weakref__", "_dims", "dense_shape", "indices", "order", "values")
    title = "SparseTensor"
    holds_values = True
    fields = ("indices", "values", "dense_shape")
    ranks: ClassVar[dict[str, int]] = {"indices": 2, "values": 1, "dense_shape": 1}
    indices: Any
    dense_shape: Any

    def __init__(self, indices: TensorLike, values: TensorLike, dense_shape: ShapeLike) -> None:
        sizes: Any = list(dense_shape) if isinstance(dense_shape, TensorShape) else dense_shape
        self._set(lift(indices, int64), lift(values), lift(sizes, int64), None)
        specs = self.indices.dims, self.values.dims, self.dense_shape.dims
        for dims, word, form in zip(specs, self.fields, ("[n, rank]", "[n]", "[rank]"), strict=True):
            if dims is not None and len(dims) != self.ranks[word]:
                raise InvalidArgumentError(
                    f"SparseTensor: {word} has shape {format_dims(dims)}; {form} is needed."
                )
        at, found, whole = specs
        count = None if found is None else found[0]
        if not are_compatible(at, (count, None if whole is None else whole[0])):
            raise InvalidArgumentError(
                f"SparseTensor: indices has shape {format_dims(at)}, values {format_dims(found)} and dense_shape "
                f"{format_dims(whole)}; [n, rank], [n] and [rank] are needed."
            )

    def _set(self, indices: object, values: object, dense_shape: object, dims: Dims) -> None:
        self.indices, self.values, self.dense_shape, self._dims = indices, values, dense_shape, dims
        self.order: Any = None  # what `sparse/rows.py` has found out about the indices

    @classmethod
    def of(cls, indices: Any, values: TensorLike, dense_shape: TensorLike, dims: Dims = None) -> Self:
        """A SparseTensor of parts that are known to fit; `dims` is the known part of the dense shape."""
        made = cls.__new__(cls)
        made._set(indices, values, dense_shape, dims)
        return made

    @classmethod
    def from_value(cls, sparse_tensor_value: SparseTensor | SparseTensorValue) -> SparseTensor:
        """A SparseTensor made of any object with `indices`, `values` and `dense_shape`."""
        if not all(hasattr(sparse_tensor_value, word) for word in ("indices", "values", "dense_shape")):
            raise ArgumentTypeError(
                f"SparseTensor.from_value: {sparse_tensor_value!r} has no indices, values and dense_shape."
            )
        x = sparse_tensor_value
        return cls(x.indices, x.values, x.dense_shape)

    @property
    def dims(self) -> Dims:
        if self._dims is not None:
            return self._dims
        known = partly_known(self.dense_shape)
        if known is not None:
            return tuple([None if size == UNKNOWN else int(size) for size in known])
        dims = getattr(self.dense_shape, "dims", None)
        rank = None if dims is None else dims[0]
        return (None,) * rank if type(rank) is int else None

    @property
    def shape(self) -> TensorShape:
        """Of a value all sizes, also where the trace that it comes from or goes to knows fewer."""
        known = known_value(self.dense_shape)
        return TensorShape(self.dims if known is None else known.tolist())

    @property
    def sizes(self) -> Any:
        return self.dense_shape

    @property
    def rank(self) -> int | None:
        """The rank of the dense shape, None if unknown."""
        dims = self.dims
        return None if dims is None else len(dims)

    def with_values(self, new_values: TensorLike) -> SparseTensor:
        """A SparseTensor with the same indices and other values [n]."""
        new = lift(new_values)
        if not are_compatible(new.dims, self.values.dims):
            raise InvalidArgumentError(
                f"SparseTensor.with_values: new_values has shape {format_dims(new.dims)}; as many as before, "
                f"{format_dims(self.values.dims)}, are needed."
            )
        return SparseTensor.of(self.indices, new, self.dense_shape, self._dims)

    def set_shape(self, shape: ShapeLike) -> None:
        """Set the known part of the dense shape."""
        known, new = self.dims, as_dims(shape)
        if not are_compatible(known, new):
            raise InvalidArgumentError(
                f"SparseTensor.set_shape: the shape is {format_dims(known)}; {format_dims(new)} does not fit."
            )
        if known is None or new is None:
            self._dims = known if new is None else new
        else:
            self._dims = tuple([b if a is None else a for a, b in zip(known, new, strict=True)])

    # -- as an argument, a result and a state -----------------------------------------------------------------------------

    def apart(self) -> tuple[list[Any], Callable[[list[Any]], Any]]:
        dims = self.dims
        return [self.indices, self.values, self.dense_shape], lambda new: SparseTensor.made(new, dims)

    @classmethod
    def made(cls, parts: Sequence[Any], dims: Dims) -> Any:
        """Of its parts; of specs of these, as signatures show them, the spec of the whole."""
        if isinstance(parts[1], TensorSpec):
            return SparseTensorSpec(dims, parts[1].dtype)
        return cls.of(parts[0], parts[1], parts[2], dims)

    def kind(self) -> Hashable:
        return SparseTensor, self.dims

    __graphad_parts__ = apart
    __graphad_complete__ = True

    def __graphad_claims__(self, other: SparseTensor) -> bool:
        """Whether this one's known sizes are not those of `other`, which takes its place in a loop or branch."""
        mine, theirs = self.dims, other.dims
        return (
            mine is not None
            and theirs is not None
            and len(mine) == len(theirs)
            and any(a is not None and a != b for a, b in zip(mine, theirs, strict=True))
        )

    def __graphad_like__(self, other: SparseTensor) -> SparseTensor:
        """The same without the sizes that are others in `other`."""
        pairs = zip(self.dims or (), other.dims or (), strict=True)
        dims = tuple([a if a == b else None for a, b in pairs])
        return SparseTensor.of(self.indices, self.values, self.dense_shape, dims)

    def __graphad_loop_dims__(self) -> Sequence[Any]:
        """The number of values may change from step to step."""
        rank = self.rank
        return [(None, rank), (None,), (rank,)]

    def __graphad_loop_writes__(self) -> Sequence[Any]:
        return [None, None, None]

    def __graphad_tensor__(self) -> Any:
        raise ArgumentTypeError(
            f"A SparseTensor of shape {format_dims(self.dims)} is used where a dense tensor is needed; use sparse.to_dense, or "
            "a function of tf.sparse."
        )

    # -- arithmetic -----------------------------------------------------------------------------------------

    def _by(self, other: TensorLike, divides: bool) -> SparseTensor:
        """The values multiplied, or divided, by the elements of a broadcast dense tensor at the same indices."""
        y = lift_like("SparseTensor", other, self.dtype)
        there = y if y.dims == () else gather_nd(broadcast_to(y, self.dense_shape), self.indices)
        return self.with_values(self.values / there if divides else self.values * there)

    def __mul__(self, other: TensorLike) -> SparseTensor:
        return self._by(other, False)

    __rmul__ = __mul__

    def __truediv__(self, other: Tensor) -> SparseTensor:
        return self._by(other, True)

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self.indices!s}, values={self.values!s}, dense_shape={self.dense_shape!s})"


class SparseTensorSpec(Sparse, TypeSpec):
    """The spec of a SparseTensor, for `input_signature` and `get_concrete_function`.

    Args:
      shape: The dense shape, None for unknown sizes.
      dtype: The dtype of the values.
    Raises: ArgumentTypeError: `shape` is not a shape, or `dtype` no dtype.
    """

    __slots__ = ("_dims", "_dtype")
    title = SparseTensor.title
    fields = SparseTensor.fields
    value_type = SparseTensor

    def __init__(self, shape: ShapeLike | None = None, dtype: DTypeLike = float32) -> None:
        self._dims = as_dims(shape)
        self._dtype = as_dtype(dtype)

    @property
    def dims(self) -> Dims:
        return self._dims

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def values(self) -> TensorSpec:
        return TensorSpec([None], self._dtype)

    @staticmethod
    def from_value(value: SparseTensor) -> SparseTensorSpec:
        """The spec of a sparse tensor."""
        return SparseTensorSpec(value.dims, value.dtype)

    def apart(self) -> tuple[list[Any], Callable[[list[Any]], Any]]:
        dims = self._dims
        rank = None if dims is None else len(dims)
        parts = [TensorSpec([None, rank], int64), self.values, TensorSpec([rank], int64)]
        return parts, lambda new: SparseTensor.made(new, dims)

    def kind(self) -> Hashable:
        return SparseTensor, self._dims

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether a sparse tensor, or a spec of one, matches this spec."""
        x = spec_or_value
        if not isinstance(x, SparseTensor | SparseTensorSpec):
            return False
        return x.dtype is self._dtype and are_compatible(x.dims, self._dims)

    def is_subtype_of(self, other: object) -> bool:
        """Whether the other spec describes every sparse tensor that this one describes."""
        return (
            isinstance(other, SparseTensorSpec)
            and other._dtype is self._dtype
            and describes(other._dims, self._dims)
        )

    def most_specific_common_supertype(self, others: Sequence[Any]) -> SparseTensorSpec | None:
        """The spec of least freedom that describes what this one and `others` describe; None where kinds or dtypes differ."""
        dims = self._dims
        for other in others:
            if not isinstance(other, SparseTensorSpec) or other._dtype is not self._dtype:
                return None
            dims = common_dims(dims, other._dims)
        return SparseTensorSpec(dims, self._dtype)

    def most_specific_compatible_type(self, other: object) -> SparseTensorSpec:
        """The same for two specs. Raises: InvalidArgumentError (a ValueError): kinds or dtypes differ."""
        return common_supertype(self, other)  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseTensorSpec):
            return NotImplemented
        return (self._dims, self._dtype) == (other._dims, other._dtype)

    def __hash__(self) -> int:
        return hash((self._dims, self._dtype))

    def __repr__(self) -> str:
        return f"SparseTensorSpec({TensorShape(self._dims)!r}, {self._dtype!r})"


def require_sparse(op: str, x: object, name: str = "sp_input") -> SparseTensor:
    """`x`, or a SparseTensor of its parts. Raises: ArgumentTypeError: it is not a sparse tensor."""
    if isinstance(x, SparseTensorValue):
        return SparseTensor.from_value(x)
    if not isinstance(x, SparseTensor):
        raise ArgumentTypeError(
            f"{op}: {name} is of type {type(x).__name__}; a SparseTensor is needed, for instance from sparse.from_dense."
        )
    return x


def require_rank(op: str, x: SparseTensor) -> int:
    """The rank. Raises: InvalidArgumentError: it is unknown."""
    if x.rank is None:
        raise InvalidArgumentError(f"{op}: the rank of {x!r} is unknown; set it with SparseTensor.set_shape.")
    return x.rank


def flat_shape(x: Tensor) -> Tensor:
    """The shape of a dense tensor as an int64 vector."""
    return reshape(shape(x, int64), [-1])
