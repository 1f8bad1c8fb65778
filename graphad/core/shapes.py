"""Shapes: the public `TensorShape`, and the arithmetic of raw shapes.

A raw shape is a tuple of sizes (an int, a `Dim` while a graph is specialised, None where unknown), or None when even the
rank is unknown. All rules work on raw shapes; users see `TensorShape`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from graphad.core.dims import Dim
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError

Dims = tuple[Any, ...] | None


class TensorShape:
    """The shape of a tensor: a tuple of sizes, None for an unknown size; `TensorShape(None)` has unknown rank."""

    __slots__ = ("dims",)

    def __init__(self, dims: Any) -> None:
        self.dims: Dims = as_dims(dims)

    @property
    def rank(self) -> int | None:
        return None if self.dims is None else len(self.dims)

    @property
    def ndims(self) -> int | None:
        return self.rank

    def as_list(self) -> list[int | None]:
        """The sizes as a list. Raises: InvalidArgumentError: the rank is unknown."""
        if self.dims is None:
            raise InvalidArgumentError("as_list() is not defined on an unknown TensorShape.")
        return list(self.dims)

    def is_fully_defined(self) -> bool:
        return is_definite(self.dims)

    def num_elements(self) -> int | None:
        """The number of elements, None while a size is unknown."""
        if self.dims is None or not is_definite(self.dims):
            return None
        total = 1
        for size in self.dims:
            total *= size
        return total

    def is_compatible_with(self, other: Any) -> bool:
        return are_compatible(self.dims, as_dims(other))

    def merge_with(self, other: Any) -> TensorShape:
        """The shape that both describe. Raises: InvalidArgumentError: they contradict each other."""
        theirs = as_dims(other)
        if not are_compatible(self.dims, theirs):
            raise InvalidArgumentError(
                f"merge_with: shapes {self} and {TensorShape(theirs)} are not compatible."
            )
        if self.dims is None or theirs is None:
            return TensorShape(theirs if self.dims is None else self.dims)
        return TensorShape([b if a is None else a for a, b in zip(self.dims, theirs, strict=True)])

    def concatenate(self, other: Any) -> TensorShape:
        theirs = as_dims(other)
        return TensorShape(None if self.dims is None or theirs is None else self.dims + theirs)

    def __len__(self) -> int:
        if self.dims is None:
            raise InvalidArgumentError("Cannot take the length of shape with unknown rank.")
        return len(self.dims)

    def __bool__(self) -> bool:
        return self.dims is not None

    def __iter__(self) -> Iterator[Any]:
        if self.dims is None:
            raise InvalidArgumentError("Cannot iterate over a shape with unknown rank.")
        return iter(self.dims)

    def __getitem__(self, key: Any) -> Any:
        if self.dims is None:
            return TensorShape(None) if isinstance(key, slice) else None
        return TensorShape(self.dims[key]) if isinstance(key, slice) else self.dims[key]

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def __eq__(self, other: object) -> bool:
        try:
            return self.dims == as_dims(other)
        except (ArgumentTypeError, InvalidArgumentError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self.dims)

    def __repr__(self) -> str:
        return f"TensorShape({None if self.dims is None else list(self.dims)})"

    def __str__(self) -> str:
        return format_dims(self.dims)

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        return TensorShape, (self.dims,)


def as_dims(x: Any) -> Dims:
    """The raw shape that `x` describes: a TensorShape, a sequence of sizes, one size, or None for unknown rank."""
    if x is None:
        return None
    if isinstance(x, TensorShape):
        return x.dims
    if type(x) is tuple and all(type(size) is int and size >= 0 for size in x):
        return x
    if isinstance(x, int | Dim) or (hasattr(x, "__index__") and not hasattr(x, "__len__")):
        return (_size(x),)
    if isinstance(x, str) or not isinstance(x, Iterable):
        raise ArgumentTypeError(
            f"shape: cannot read {x!r} as a shape; give a list of sizes, or None for unknown rank."
        )
    return tuple(_size(size) for size in x)


def _size(x: Any) -> Any:
    if x is None or isinstance(x, Dim):
        return x
    try:
        size = x.__index__()
    except (AttributeError, TypeError) as cause:
        raise ArgumentTypeError(
            f"shape: {x!r} is not a size; sizes are integers, or None for unknown."
        ) from cause
    if size < 0:
        raise InvalidArgumentError(
            f"shape: size {size} is negative; sizes are 0 or more, or None for unknown."
        )
    return size


def format_dims(dims: Dims) -> str:
    """The shape as messages print it: "(7, None)", or "<unknown>" for an unknown rank."""
    return "<unknown>" if dims is None else str(tuple(dims))


def is_definite(dims: Dims) -> bool:
    """Whether rank and every size are known (as numbers or as symbols)."""
    return dims is not None and None not in dims


def are_compatible(a: Dims, b: Dims) -> bool:
    """Whether one array could have both shapes."""
    if a is None or b is None:
        return True
    return len(a) == len(b) and all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def broadcast_dims(op: str, *shapes: Dims) -> Dims:
    """The shape to which NumPy's rules broadcast all of `shapes`.

    Raises: InvalidArgumentError: two sizes differ and neither is 1; names `op` and the shapes.
    """
    first = shapes[0]
    if all(shape == first for shape in shapes) and first is not None and None not in first:
        return first
    if any(shape is None for shape in shapes):
        return None
    known: list[tuple[Any, ...]] = [shape for shape in shapes if shape is not None]
    rank = max(len(shape) for shape in known)
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
        return other if other is not None and not _is_one(other) else None
    if _is_one(a):
        return b
    if _is_one(b) or a == b:
        return a
    listed = " and ".join(format_dims(shape) for shape in shapes)
    raise InvalidArgumentError(
        f"{op}: Incompatible shapes: {listed} do not broadcast together: sizes {a} and {b} differ."
    )


def _is_one(size: Any) -> bool:
    return type(size) is int and size == 1


def normalize_axis(op: str, axis: Any, rank: int | None, name: str = "x", dims: Dims = None) -> int:
    """`axis` counted from 0 when the rank is known, else as given.

    Raises: InvalidArgumentError: it is out of range for the rank.
    """
    try:
        number: int = axis.__index__()
    except AttributeError as cause:
        raise ArgumentTypeError(f"{op}: axis must be an integer, got {axis!r}.") from cause
    if rank is None:
        return number
    if not -rank <= number < rank:
        shape = f" with shape {format_dims(dims)}" if dims is not None else f" of rank {rank}"
        valid = f"valid axes are {-rank} to {rank - 1}" if rank else "a scalar has no axes"
        raise InvalidArgumentError(f"{op}: axis {number} is out of range for {name}{shape}; {valid}.")
    return number % rank if rank else number


def normalize_axes(
    op: str, axes: Any, rank: int | None, name: str = "x", dims: Dims = None
) -> tuple[int, ...] | None:
    """Several axes, sorted and unique, counted from 0 when the rank is known; None means all of them."""
    if axes is None:
        return None if rank is None else tuple(range(rank))
    listed = [axes] if hasattr(axes, "__index__") and not hasattr(axes, "__len__") else list(axes)
    found = [normalize_axis(op, axis, rank, name, dims) for axis in listed]
    if len(set(found)) != len(found):
        raise InvalidArgumentError(f"{op}: axes {tuple(listed)} name the same axis twice.")
    return tuple(sorted(found)) if rank is not None else tuple(found)


def reduced_dims(dims: Dims, axes: tuple[int, ...] | None, keepdims: bool) -> Dims:
    """The shape that is left when `axes` are reduced away."""
    if dims is None:
        return () if axes is None and not keepdims else None
    gone = set(range(len(dims))) if axes is None else {axis % len(dims) for axis in axes}
    if keepdims:
        return tuple(1 if i in gone else size for i, size in enumerate(dims))
    return tuple(size for i, size in enumerate(dims) if i not in gone)
