"""Shapes: the public `TensorShape`, and the arithmetic of raw shapes.

A raw shape is a tuple of sizes (an int, a `Dim` while a graph is specialised, None where unknown), or None when even the
rank is unknown. All rules work on raw shapes; users see `TensorShape`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from graphad.core.dimension import Dimension, value_of
from graphad.core.dims import Dim, is_one
from graphad.core.errors import ArgumentTypeError, AxisError, InternalError, InvalidArgumentError
from graphad.core.refusal import members

if TYPE_CHECKING:
    from graphad.core.annotations import ShapeLike

RawSize = int | Dim | None
Dims = tuple[RawSize, ...] | None


class TensorShape:
    """The shape of a tensor: a tuple of sizes, None for an unknown size; `TensorShape(None)` has unknown rank.

    Args:
      dims: Sizes (ints, None, or dimensions of a shape), another shape, one int, or None for unknown rank.
    Raises: ArgumentTypeError (a TypeError): a size is not a number; InvalidArgumentError (a ValueError): one is negative.
    Example:
      >>> TensorShape([None, 3]).as_list()
      [None, 3]
      >>> TensorShape([2, 3]).num_elements()
      6
    """

    __slots__ = ("_dims",)

    def __init__(self, dims: object) -> None:
        self._dims: Dims = as_dims(dims)

    @property
    def dims(self) -> list[Dimension] | None:
        """The sizes as Dimensions, None where the rank is unknown."""
        return None if self._dims is None else [Dimension(size) for size in self._dims]

    @property
    def rank(self) -> int | None:
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self) -> int | None:
        return self.rank

    def as_list(self) -> list[Any]:
        """The sizes as a list. Raises: InvalidArgumentError: the rank is unknown."""
        if self._dims is None:
            raise InvalidArgumentError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def is_fully_defined(self) -> bool:
        return is_definite(self._dims)

    def num_elements(self) -> int | None:
        """The number of elements, None while a size is unknown."""
        if self._dims is None or not is_definite(self._dims):
            return None
        total = 1
        for size in self._dims:
            total *= size
        return total

    def is_compatible_with(self, other: object) -> bool:
        """Whether one tensor could have both shapes."""
        return are_compatible(self._dims, as_dims(other))

    def assert_is_compatible_with(self, other: ShapeLike | None) -> None:
        """Raises: InvalidArgumentError (a ValueError): no tensor could have both shapes."""
        if not self.is_compatible_with(other):
            raise InvalidArgumentError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def is_subtype_of(self, other: ShapeLike | None) -> bool:
        """Whether every tensor that has this shape has the other one, too."""
        return describes(as_dims(other), self._dims)

    def most_specific_compatible_shape(self, other: ShapeLike | None) -> TensorShape:
        """The shape of least freedom that both are subtypes of: sizes that differ are unknown, and so are ranks."""
        return TensorShape(common_dims(self._dims, as_dims(other)))

    def most_specific_common_supertype(self, others: Sequence[Any]) -> TensorShape | None:
        """The same for several shapes; None where one of `others` is not a TensorShape."""
        dims = self._dims
        for other in others:
            if not isinstance(other, TensorShape):
                return None
            dims = common_dims(dims, other._dims)
        return TensorShape(dims)

    def merge_with(self, other: ShapeLike | None) -> TensorShape:
        """The shape that both describe. Raises: InvalidArgumentError (a ValueError): they contradict each other."""
        theirs = as_dims(other)
        self.assert_is_compatible_with(TensorShape(theirs))
        if self._dims is None or theirs is None:
            return TensorShape(theirs if self._dims is None else self._dims)
        return TensorShape([b if a is None else a for a, b in zip(self._dims, theirs, strict=True)])

    def with_rank(self, rank: int) -> TensorShape:
        """This shape, of unknown sizes if its rank is unknown. Raises: InvalidArgumentError (a ValueError): another rank."""
        if self._dims is None:
            return TensorShape([None] * rank)
        self.assert_has_rank(rank)
        return self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape. Raises: InvalidArgumentError (a ValueError): its rank is below `rank`."""
        if self._dims is not None and len(self._dims) < rank:
            raise InvalidArgumentError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape. Raises: InvalidArgumentError (a ValueError): its rank is above `rank`."""
        if self._dims is not None and len(self._dims) > rank:
            raise InvalidArgumentError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raises: InvalidArgumentError (a ValueError): it has another rank, for certain."""
        if self._dims is not None and len(self._dims) != rank:
            raise InvalidArgumentError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: ShapeLike | None) -> None:
        """Raises: InvalidArgumentError (a ValueError): the ranks differ, for certain."""
        theirs = TensorShape(other)
        if None not in (self.rank, theirs.rank) and self.rank != theirs.rank:
            raise InvalidArgumentError(f"Shapes {self} and {theirs} must have the same rank")

    def assert_is_fully_defined(self) -> None:
        """Raises: InvalidArgumentError (a ValueError): the rank or a size is unknown."""
        if not self.is_fully_defined():
            raise InvalidArgumentError(f"Shape {self} is not fully defined")

    def concatenate(self, other: ShapeLike | None) -> TensorShape:
        """The axes of this shape, then those of the other."""
        theirs = as_dims(other)
        return TensorShape(None if self._dims is None or theirs is None else self._dims + theirs)

    def __len__(self) -> int:
        if self._dims is None:
            raise InvalidArgumentError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[Any]:
        if self._dims is None:
            raise InvalidArgumentError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims)

    def __getitem__(self, key: int | slice) -> Any:
        if self._dims is None:
            return TensorShape(_length_of(key)) if isinstance(key, slice) else None
        return TensorShape(self._dims[key]) if isinstance(key, slice) else self._dims[key]

    def __add__(self, other: ShapeLike | None) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        try:
            return self._dims == as_dims(other)
        except (ArgumentTypeError, InvalidArgumentError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        return f"TensorShape({None if self._dims is None else list(self._dims)})"

    def __str__(self) -> str:
        return format_dims(self._dims)

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        return TensorShape, (self._dims,)


def as_dims(x: object) -> Dims:
    """The raw shape that `x` describes: a TensorShape, a sequence of sizes, one size, or None for unknown rank."""
    if x is None:
        return None
    if isinstance(x, TensorShape):
        return x._dims
    if type(x) is tuple:
        for size in x:
            if type(size) is not int or size < 0:
                break
        else:
            return x
    if isinstance(x, int | Dim | Dimension) or (hasattr(x, "__index__") and not hasattr(x, "__len__")):
        return (_size(x),)
    if isinstance(x, str) or not isinstance(x, Iterable):
        raise ArgumentTypeError(
            f"shape: cannot read {x!r} as a shape; give a list of sizes, or None for unknown rank."
        )
    return tuple(_size(size) for size in x)


def _size(x: object) -> Any:
    return x if isinstance(x, Dim) else value_of(x, "shape")


MOST_AXES = 64  # of an array of NumPy


def require_axes(op: str, count: int) -> None:
    """Raises: InvalidArgumentError: a result would have so many axes that no array can have them."""
    if count > MOST_AXES:
        raise InvalidArgumentError(
            f"{op}: the result would have {count} axes; a tensor has at most {MOST_AXES}."
        )


def require_possible(op: str, dims: Dims) -> None:
    """Raises: InvalidArgumentError: a result would have more axes or elements than an array can have.

    The sizes beside a 0 count, as they do for NumPy and TensorFlow.
    """
    if not dims:
        return
    require_axes(op, len(dims))
    elements = 1
    for size in dims:
        if type(size) is int and size > 1:
            elements *= size
    if elements >= _MOST_ELEMENTS:
        raise InvalidArgumentError(
            f"{op}: the result would have shape {format_dims(dims)}, whose sizes multiply to more than 2**63 - 1."
        )


_MOST_ELEMENTS = 2**63


def format_dims(dims: Dims) -> str:
    """The shape as messages print it: "(7, None)", or "<unknown>" for an unknown rank."""
    return "<unknown>" if dims is None else str(tuple(dims))


def is_definite(dims: Dims) -> TypeGuard[tuple[int | Dim, ...]]:
    """Whether rank and every size are known (as numbers or as symbols)."""
    return dims is not None and None not in dims


def are_numbers(sizes: Sequence[object]) -> TypeGuard[tuple[int, ...]]:
    """Whether sizes are numbers, rather than unknown, symbols or references."""
    return all(type(size) is int for size in sizes)


def ranked(dims: Dims) -> tuple[Any, ...]:
    """A shape of which the caller knows that its rank is known, by what was checked before."""
    if dims is None:
        raise InternalError("ranked: a shape whose rank must be known here has no known rank.")
    return dims


def are_compatible(a: Dims, b: Dims) -> bool:
    """Whether one array could have both shapes."""
    if a is None or b is None:
        return True
    return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def describes(general: Dims, special: Dims) -> bool:
    """Whether every shape that `special` allows is one that `general` allows."""
    if general is None:
        return True
    if special is None or len(special) != len(general):
        return False
    return all(a is None or (b is not None and a == b) for a, b in zip(general, special, strict=True))


def common_dims(a: Dims, b: Dims) -> Dims:
    """What is known of both shapes."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(
        [x if x is not None and y is not None and x == y else None for x, y in zip(a, b, strict=True)]
    )


def _length_of(key: slice) -> list[None] | None:
    """What a slice of a shape of unknown rank has, if only its own bounds say so."""
    start = 0 if key.start is None else key.start
    if key.stop is None or start < 0 or key.stop < 0 or key.step not in (None, 1):
        return None
    return [None] * max(0, key.stop - start)


def broadcast_dims(op: str, *shapes: Dims) -> Dims:
    """The shape to which NumPy's rules broadcast all of `shapes`.

    Raises: InvalidArgumentError: two sizes differ and neither is 1; names `op` and the shapes.
    """
    first = shapes[0]
    if first is not None and None not in first and shapes.count(first) == len(shapes):
        return first
    if None in shapes:
        return None
    known: list[tuple[Any, ...]] = [shape for shape in shapes if shape is not None]
    rank = max(map(len, known))
    out: list[Any] = []
    for axis in range(-rank, 0):
        size: Any = 1
        for shape in known:
            if len(shape) >= -axis:
                size = _joint(op, size, shape[axis], known)
        out.append(size)
    return tuple(out)


def _joint(op: str, a: Any, b: Any, shapes: Sequence[Dims]) -> Any:
    if a is None or b is None:
        other = b if a is None else a
        return other if other is not None and not is_one(other) else None
    if type(a) is int and a == 1:
        return b
    if (type(b) is int and b == 1) or a == b or is_one(b):
        return a
    if is_one(a):
        return b
    listed = " and ".join(format_dims(shape) for shape in shapes)
    raise InvalidArgumentError(
        f"{op}: Incompatible shapes: {listed} do not broadcast together: sizes {a} and {b} differ."
    )


def no_axis(op: str, axis: object) -> ArgumentTypeError:
    """The error for what is given as an axis and is not an integer."""
    shown = " ".join(repr(axis).split())
    shown = shown if len(shown) <= 60 else f"{shown[:60]}..."
    return ArgumentTypeError(
        f"{op}: axis must be an integer, got {shown} of type {type(axis).__name__}; the tensor or the list of "
        "tensors comes first."
    )


def normalize_axis(op: str, axis: Any, rank: int | None, name: str = "x", dims: Dims = None) -> int:
    """`axis` counted from 0 when the rank is known, else as given.

    Raises: AxisError: it is out of range for the rank.
    """
    try:
        number: int = axis.__index__()
    except (AttributeError, TypeError) as cause:  # an array of several has the method, and refuses
        if getattr(axis, "known", None) is None:
            raise no_axis(op, axis) from cause
        return normalize_axis(op, axis.known, rank, name, dims)
    if rank is None:
        return number
    if not -rank <= number < rank:
        shape = f" with shape {format_dims(dims)}" if dims is not None else f" of rank {rank}"
        valid = f"valid axes are {-rank} to {rank - 1}" if rank else "a scalar has no axes"
        raise AxisError(f"{op}: axis {number} is out of range for {name}{shape}; {valid}.")
    return number % rank if rank else number


def normalize_axes(
    op: str, axes: object, rank: int | None, name: str = "x", dims: Dims = None
) -> tuple[int, ...] | None:
    """Several axes, sorted and unique, counted from 0 when the rank is known; None means all of them."""
    if axes is None:
        return None if rank is None else tuple(range(rank))
    if type(axes) is int and rank is not None and -rank <= axes < rank:  # nearly always
        return (axes % rank,)
    known = getattr(axes, "known", None)  # the value of a tensor
    axes = axes if known is None else known
    if isinstance(axes, Iterable) and getattr(axes, "shape", None) != ():
        listed = members(op, "axis", axes, "give an integer or a list of integers")
    else:
        listed = [axes]
    found = [normalize_axis(op, axis, rank, name, dims) for axis in listed]
    if len(set(found)) != len(found):
        repeated = next(axis for axis in found if found.count(axis) > 1)
        raise InvalidArgumentError(
            f"{op}: axes {tuple(listed)} name the same axis twice: axis {repeated} specified more than once."
        )
    return tuple(sorted(found)) if rank is not None else tuple(found)


def reduced_dims(dims: Dims, axes: tuple[int, ...] | None, keepdims: bool) -> Dims:
    """The shape that is left when `axes` are reduced away."""
    if dims is None:
        return () if axes is None and not keepdims else None
    gone = set(range(len(dims))) if axes is None else {axis % len(dims) for axis in axes}
    if keepdims:
        return tuple(1 if i in gone else size for i, size in enumerate(dims))
    return tuple(size for i, size in enumerate(dims) if i not in gone)
