"""NumPy's methods and attributes of arrays, on tensors and variables: `x.sum(0)`, `x.T`, `x.reshape(2, -1)`, `x.at[i].add(y)`.

They mean what NumPy's do, and are graphad's ops: recorded, traced and compiled like any other. None writes in place.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from graphad.core.annotations import ShapeLike, TensorLike
from graphad.core.convert import lift, lift_like
from graphad.core.device import require_cpu
from graphad.core.dtypes import DType
from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.core.shapes import is_definite
from graphad.core.tensor import Handle, Tensor
from graphad.ops import array, math


class At:
    """`x.at`: a tensor with a part of it replaced, as `x.at[key].set(y)`; see `Place`."""

    __slots__ = ("_x",)

    def __init__(self, x: Tensor) -> None:
        self._x = x

    def __getitem__(self, key: object) -> Place:
        return Place(self._x, key)


class Place:
    """The part of a tensor at a key, any that x[key] accepts.

    Each method returns the whole tensor with that part changed; `y` is broadcast to the part. If a key names an element several
    times, `set` uses the last value, which alone has a derivative, and the other methods use all.
    """

    __slots__ = ("_key", "_x")

    def __init__(self, x: Tensor, key: object) -> None:
        self._x = x
        self._key = key

    def get(self) -> Tensor:
        """The part itself."""
        return self._x[self._key]

    def set(self, y: TensorLike) -> Tensor:
        """The tensor with the part replaced by y."""
        return self._changed(lambda x, y: y, array.tensor_scatter_nd_update, y)

    def add(self, y: TensorLike) -> Tensor:
        """The tensor with y added to the part."""
        return self._changed(math.add, array.tensor_scatter_nd_add, y)

    def subtract(self, y: TensorLike) -> Tensor:
        """The tensor with y taken from the part."""
        return self._changed(math.subtract, array.tensor_scatter_nd_sub, y)

    def multiply(self, y: TensorLike) -> Tensor:
        """The tensor with the part multiplied by y."""
        return self._changed(math.multiply, self._multiplied, y)

    def divide(self, y: float) -> Tensor:
        """The tensor, of a float or complex dtype, with the part divided by y."""
        dtype = self._x.dtype
        if dtype.is_integer or dtype.is_bool:
            raise DTypeError(f"at: the tensor has dtype {dtype.name}; divide takes float and complex ones.")
        return self._changed(math.divide, self._divided, y)

    def min(self, y: Any) -> Tensor:
        """The tensor with the smaller of the part and y; ties share the derivative."""
        return self._changed(
            lambda *two: math.reduce_min(array.stack(two), 0), array.tensor_scatter_nd_min, y
        )

    def max(self, y: Any) -> Tensor:
        """The tensor with the larger of the part and y; ties share the derivative."""
        return self._changed(
            lambda *two: math.reduce_max(array.stack(two), 0), array.tensor_scatter_nd_max, y
        )

    def _changed(
        self, change: Callable[[Tensor, Tensor], Tensor], scatter: Callable[..., Tensor], y: TensorLike
    ) -> Tensor:
        """The tensor with a part given by a mask changed element by element, any other scattered to."""
        x = lift(self._x)
        value = lift_like("at", y, x.dtype)
        # Imported by name, since few programs need it.
        mask: Tensor | None = importlib.import_module("graphad.ops.array.advanced").mask_of(x, self._key)
        # The number of elements under a mask is known only if y has one value for each.
        if mask is not None and mask.dims is not None and x.dims is not None and value.dims is not None:
            if len(value.dims) <= len(x.dims) - len(mask.dims):
                sizes = array.shape(x)
                taken = array.reshape(
                    mask, array.concat([sizes[: len(mask.dims)], [1] * (len(x.dims) - len(mask.dims))], 0)
                )
                return math.where(taken, change(x, array.broadcast_to(value, sizes)), x)
        sizes = array.shape(x)
        numbers = array.range(math.reduce_prod(sizes))
        places = array.reshape(numbers, sizes)[self._key]
        value = array.broadcast_to(value, array.shape(places))
        flat = scatter(array.reshape(x, [-1]), array.reshape(places, [-1, 1]), array.reshape(value, [-1]))
        return array.reshape(flat, sizes if x.dims is None or not is_definite(x.dims) else x.dims)

    def _multiplied(self, x: Tensor, places: Tensor, value: Tensor) -> Tensor:
        return x * self._product(x, places, value)

    def _divided(self, x: Tensor, places: Tensor, value: Tensor) -> Tensor:
        return x / self._product(x, places, value)

    def _product(self, x: Tensor, places: Tensor, value: Tensor) -> Tensor:
        """For each element of a vector the product of the values that name it, 1 for those without."""
        if importlib.import_module("graphad.ops.array.keys").has_arrays(self._key):
            return math.unsorted_segment_prod(value, array.reshape(places, [-1]), array.size(x))
        # Slices name no element twice.
        return array.tensor_scatter_nd_update(array.ones_like(x), places, value)


def _size(self: Any) -> int | None:
    """The number of elements; None while it is unknown."""
    count: int | None = self.shape.num_elements()
    return count


def _reshape(self: Handle | Tensor, *shape: ShapeLike, order: str = "C") -> Tensor:
    """The elements in another shape, given as one sequence or as several ints; one of them may be -1.

    With order "F" the first index varies fastest.
    """
    sizes: Any = shape[0] if len(shape) == 1 else shape
    if order != "C":
        return importlib.import_module("graphad.ops.numpy").reshape(self, sizes, order)  # type: ignore[no-any-return]
    return array.reshape(self, sizes)


def _transpose(self: Any, *axes: Any) -> Tensor:
    """The axes in another order, given as one sequence or as several ints; reversed without any."""
    if not axes or axes == (None,):
        return array.transpose(self)
    return array.transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


def _ravel(self: Any, order: str = "C") -> Tensor:
    """All elements as one vector; with order "F" the first index varies fastest."""
    return _reshape(self, [-1], order=order)


def _astype(self: Handle | Tensor, dtype: DType, copy: bool = True) -> Tensor:
    """The elements in another dtype."""
    return math.cast(self, dtype)


def _copy(self: Handle | Tensor) -> Tensor:
    """A tensor with the same elements."""
    return array.identity(self)


def _compress(self: Tensor, condition: TensorLike, axis: int | None = None) -> Tensor:
    """The slices along an axis, or the elements, for which `condition` is true."""
    chosen: Tensor = importlib.import_module("graphad.ops.numpy").compress(condition, self, axis)
    return chosen


def _array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    """The namespace of the array API standard that tensors belong to, `graphad.numpy`.

    Raises: InvalidArgumentError (a ValueError): it does not follow that version of the standard.
    """
    if api_version not in (None, *_API_VERSIONS):
        raise InvalidArgumentError(
            f"__array_namespace__: api_version is {api_version!r}; it is one of {', '.join(_API_VERSIONS)}."
        )
    return importlib.import_module("graphad.numpy")


def _to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
    """The tensor itself, since there is one device. Raises: InvalidArgumentError: another device is named."""
    if stream is not None:
        raise InvalidArgumentError("to_device: there are no streams; leave stream out.")
    require_cpu("to_device", device)
    return self


def _through(name: str) -> Callable[..., Any]:
    """The method that calls the NumPy function of that name."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module("graphad.ops.numpy"), name)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`numpy.{name}` of this tensor."
    return method


_API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
__array_api_version__ = _API_VERSIONS[-1]
METHODS: dict[str, Any] = {
    "__array_namespace__": _array_namespace,
    "to_device": _to_device,
    "T": property(lambda self: array.transpose(self), doc="The axes reversed."),
    "mT": property(lambda self: array.matrix_transpose(self), doc="The last two axes exchanged."),
    "at": property(At, doc=At.__doc__),
    "real": property(lambda self: math.real(self), doc="The real part."),
    "imag": property(lambda self: math.imag(self), doc="The imaginary part."),
    "size": property(_size, doc=_size.__doc__),
    "astype": _astype,
    "compress": _compress,
    "copy": _copy,
    "flatten": _ravel,
    "ravel": _ravel,
    "reshape": _reshape,
    "transpose": _transpose,
}
METHODS |= {  # without `trace`, which is the trace that a symbol belongs to
    name: _through(name)
    for name in (
        "all any argmax argmin argpartition argsort choose clip conj conjugate cumprod cumsum diagonal dot max mean min "
        "nonzero partition prod ptp repeat round searchsorted sort squeeze std sum swapaxes take var"
    ).split()
}
