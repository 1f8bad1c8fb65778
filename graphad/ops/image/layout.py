"""Images as arguments, and their sizes: numbers where known, otherwise scalar tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.convert import lift, lift_own, stands_for_tensor
from graphad.core.dtypes import DType, float32, int32
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.join import stack
from graphad.ops.array.shape import shape
from graphad.ops.array.support import static_int
from graphad.ops.math.cast import cast
from graphad.ops.math.rounding import floor
from graphad.ops.math.select import maximum, minimum

if TYPE_CHECKING:
    from graphad.core.annotations import Array, TensorLike


HEIGHT, WIDTH = -3, -2


def image_of(op: str, image: TensorLike, ranks: Sequence[int] = (3, 4), name: str = "image") -> Tensor:
    """An image, or several, as a tensor. Raises: InvalidArgumentError: its rank is unknown or not among `ranks`."""
    x = lift_own(image)
    if x.ndim is None or x.ndim not in ranks:
        known = "an unknown shape" if x.ndim is None else f"shape {format_dims(x.dims)}"
        allowed = {3: "[height, width, channels]", 4: "[batch, height, width, channels]"}
        raise InvalidArgumentError(
            f"{op}: {name} has {known}; {' or '.join(allowed[rank] for rank in ranks)} is needed."
        )
    return x


def images_of(op: str, image: TensorLike, name: str = "image") -> Tensor:
    """Images with any number of leading axes. Raises: InvalidArgumentError: the rank is known and less than 3."""
    x = lift_own(image)
    if x.ndim is not None and x.ndim < 3:
        raise InvalidArgumentError(
            f"{op}: {name} has shape {format_dims(x.dims)}; [..., height, width, channels] is needed."
        )
    return x


def size_along(x: Tensor, axis: int) -> Any:
    """The size of an axis counted from the end."""
    known = None if x.dims is None else x.dims[axis]
    return shape(x)[axis] if known is None else known


def number(op: str, value: TensorLike, word: str) -> Any:
    """An integer argument as a number if known, else as an int32 tensor."""
    known = static_int(op, value, word)
    return cast(value, int32) if known is None else known


def is_known(*values: TensorLike) -> bool:
    """Whether all of these are Python numbers, not tensors."""
    return not [value for value in values if type(value) is not int and stands_for_tensor(value)]


def largest(a: Any, b: Any) -> Any:
    return max(a, b) if is_known(a, b) else maximum(a, b)


def smallest(a: Any, b: Any) -> Any:
    return min(a, b) if is_known(a, b) else minimum(a, b)


def as_float(n: TensorLike, dtype: DType = float32) -> Any:
    """A size converted to a float dtype; TensorFlow divides sizes in float32."""
    return cast(n, dtype) if stands_for_tensor(n) else dtype.numpy.type(n)


def whole(x: Array) -> Any:
    """The floor of a float, as an integer."""
    return cast(floor(x), int32) if stands_for_tensor(x) else int(x // 1)


def vector(*sizes: TensorLike) -> Any:
    """Sizes as a shape: a list if all are known, else one tensor."""
    return list(sizes) if is_known(*sizes) else stack([cast(lift(n), int32) for n in sizes])
