"""NumPy's methods and attributes of arrays, on tensors and variables: `x.sum(0)`, `x.T`, `x.reshape(2, -1)`, `x.at[i].add(y)`.

They mean what NumPy's do, and are graphad's ops: recorded, traced and compiled like any other. None writes in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core.convert import lift, lift_like
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import is_definite
from graphad.core.tensor import Tensor
from graphad.ops import array, linalg, math
from graphad.ops.numpy_protocols import function_of


class At:
    """`x.at`: a tensor with a part of it replaced, as `x.at[key].set(y)`; see `Place`."""

    __slots__ = ("_x",)

    def __init__(self, x: Any) -> None:
        self._x = x

    def __getitem__(self, key: Any) -> Place:
        return Place(self._x, key)


class Place:
    """The part of a tensor at a key, which is any that x[key] takes.

    Each method returns the whole tensor with that part changed; `y` is broadcast to the part. Where a key names an element
    several times, `add` and `subtract` take all of them, the others any one.
    """

    __slots__ = ("_key", "_x")

    def __init__(self, x: Any, key: Any) -> None:
        self._x = x
        self._key = key

    def get(self) -> Tensor:
        """The part itself."""
        return self._x[self._key]  # type: ignore[no-any-return]

    def set(self, y: Any) -> Tensor:
        """The tensor with the part replaced by y."""
        return self._scattered(array.tensor_scatter_nd_update, y)

    def add(self, y: Any) -> Tensor:
        """The tensor with y added to the part."""
        return self._scattered(array.tensor_scatter_nd_add, y)

    def subtract(self, y: Any) -> Tensor:
        """The tensor with y taken from the part."""
        return self._scattered(array.tensor_scatter_nd_sub, y)

    def multiply(self, y: Any) -> Tensor:
        """The tensor with the part multiplied by y."""
        return self.set(self.get() * y)

    def divide(self, y: Any) -> Tensor:
        """The tensor with the part divided by y."""
        return self.set(self.get() / y)

    def min(self, y: Any) -> Tensor:
        """The tensor with the smaller of the part and y."""
        return self.set(math.minimum(self.get(), lift_like("at", y, self._x.dtype)))

    def max(self, y: Any) -> Tensor:
        """The tensor with the larger of the part and y."""
        return self.set(math.maximum(self.get(), lift_like("at", y, self._x.dtype)))

    def _scattered(self, scatter: Callable[..., Tensor], y: Any) -> Tensor:
        x = lift(self._x)
        sizes = array.shape(x)
        numbers = array.range(math.reduce_prod(sizes))
        places = array.reshape(numbers, sizes)[self._key]
        value = array.broadcast_to(lift_like("at", y, x.dtype), array.shape(places))
        flat = scatter(array.reshape(x, [-1]), array.reshape(places, [-1, 1]), array.reshape(value, [-1]))
        return array.reshape(flat, sizes if x.dims is None or not is_definite(x.dims) else x.dims)


def _size(self: Any) -> int | None:
    """How many elements there are; None if that is not known yet."""
    count: int | None = self.shape.num_elements()
    return count


def _reshape(self: Any, *shape: Any) -> Tensor:
    """The elements in another shape, given as one sequence or as several ints; one of them may be -1."""
    return array.reshape(self, shape[0] if len(shape) == 1 else shape)


def _transpose(self: Any, *axes: Any) -> Tensor:
    """The axes in another order, given as one sequence or as several ints; reversed without any."""
    if not axes or axes == (None,):
        return array.transpose(self)
    return array.transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


def _swapaxes(self: Any, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged."""
    order = list(range(_rank("swapaxes", self)))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return array.transpose(self, order)


def _rank(name: str, x: Any) -> int:
    if x.dims is None:
        raise InvalidArgumentError(f"{name}: the rank of the tensor is not known; set its shape.")
    return len(x.dims)


def _ravel(self: Any) -> Tensor:
    """All elements as one vector."""
    return array.reshape(self, [-1])


def _astype(self: Any, dtype: Any, copy: bool = True) -> Tensor:
    """The elements in another dtype."""
    return math.cast(self, dtype)


def _copy(self: Any) -> Tensor:
    """A tensor with the same elements."""
    return array.identity(self)


def _take(self: Any, indices: Any, axis: int | None = None) -> Tensor:
    """The slices at some indices along an axis; of all elements as one vector without one."""
    x, axis = (_ravel(self), 0) if axis is None else (self, axis)
    rank = _rank("take", x)
    return x[
        (slice(None),) * (axis % rank) + (np.asarray(indices) if isinstance(indices, list) else indices,)
    ]


def _diagonal(self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """A diagonal over two axes, which becomes the last axis."""
    rank = _rank("diagonal", self)
    pair = [axis1 % rank, axis2 % rank]
    rest = [axis for axis in range(rank) if axis not in pair]
    return linalg.diag_part(array.transpose(self, rest + pair), k=offset)


def _nonzero(self: Any) -> tuple[Tensor, ...]:
    """For each axis the indices of the elements that are not 0."""
    return tuple(array.unstack(math.where(lift(self)), num=_rank("nonzero", self), axis=1))


def _round(self: Any, decimals: int = 0) -> Tensor:
    """Rounded to a number of decimals, halves to even."""
    rounded: Tensor = function_of(np.round)(self, decimals)
    return rounded


def _through(name: str, function: Any) -> Callable[..., Any]:
    """The method that calls one of NumPy's functions."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function_of(function)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`numpy.{function.__name__}` of this tensor."
    return method


METHODS: dict[str, Any] = {
    "T": property(lambda self: array.transpose(self), doc="The axes reversed."),
    "mT": property(lambda self: array.matrix_transpose(self), doc="The last two axes exchanged."),
    "at": property(At, doc=At.__doc__),
    "real": property(lambda self: math.real(self), doc="The real part."),
    "imag": property(lambda self: math.imag(self), doc="The imaginary part."),
    "size": property(_size, doc=_size.__doc__),
    "astype": _astype,
    "copy": _copy,
    "diagonal": _diagonal,
    "flatten": _ravel,
    "nonzero": _nonzero,
    "ravel": _ravel,
    "reshape": _reshape,
    "round": _round,
    "swapaxes": _swapaxes,
    "take": _take,
    "transpose": _transpose,
}
METHODS |= {
    function.__name__: _through(function.__name__, function)
    for function in (
        np.all, np.any, np.argmax, np.argmin, np.argsort, np.clip, np.cumprod, np.cumsum, np.dot, np.mean, np.prod, np.repeat,
        np.squeeze, np.std, np.sum, np.var
    )
}  # fmt: skip
METHODS |= {
    "conj": _through("conj", np.conjugate),
    "max": _through("max", np.max),
    "min": _through("min", np.min),
}
