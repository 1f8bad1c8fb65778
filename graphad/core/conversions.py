"""Conversions that users register, from their own classes to tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.errors import ArgumentTypeError

if TYPE_CHECKING:
    from graphad.core.annotations import DTypeLike


_REFUSED = (bool, int, float, complex, str, bytes, list, tuple, np.generic, np.ndarray)
_registered: list[
    tuple[int, tuple[type, ...], Callable[..., Any]]
] = []  # by priority, then in the order of registration


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...], conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Register how objects of a class become tensors wherever a tensor is needed; a traced function receives the object itself.

    Args:
      base_type: A class, or a tuple of classes; objects of subclasses are converted too.
      conversion_func: Called as conversion_func(x, dtype=dtype, name=None, as_ref=False) with the requested DType or None; it
      returns a tensor or what can become one, or `NotImplemented` to try the next registered function.
      priority: Lower numbers are tried first.
    Raises: ArgumentTypeError (a TypeError): an argument is not a class or not a function, or the class is a number or sequence
    class of Python or NumPy, which have their own conversion.
    Example:
      >>> class Celsius:
      ...     def __init__(self, degrees):
      ...         self.degrees = degrees
      >>> def kelvin(x, dtype=None, name=None, as_ref=False):
      ...     return constant(x.degrees + 273.15, dtype)
      >>> register_tensor_conversion_function(Celsius, kelvin)
      >>> (constant(1.0) * Celsius(20.0)).numpy()
      np.float32(293.15)
    """
    kinds = base_type if isinstance(base_type, tuple) else (base_type,)
    if not kinds or not all(isinstance(kind, type) for kind in kinds):
        raise ArgumentTypeError(
            f"register_tensor_conversion_function: Argument `base_type` must be a type or a tuple of types, got {base_type!r}."
        )
    if not callable(conversion_func):
        raise ArgumentTypeError(
            f"register_tensor_conversion_function: Argument `conversion_func` must be callable, got {conversion_func!r}."
        )
    for kind in kinds:
        if issubclass(kind, _REFUSED):
            raise ArgumentTypeError(
                "register_tensor_conversion_function: Cannot register conversions for Python's and NumPy's numbers, strings and "
                f"sequences, which have their own; {kind.__name__} is one."
            )
    _registered.append((priority, kinds, conversion_func))
    _registered.sort(key=lambda entry: entry[0])


def is_registered(x: object) -> bool:
    """Whether a conversion is registered for the class of an object."""
    return bool(_registered) and any(isinstance(x, kinds) for _, kinds, _ in _registered)


def converted_by_user(x: object, dtype: DTypeLike | None) -> Any:
    """The result of the first registered conversion that accepts the object; `NotImplemented` if none does."""
    for _, kinds, convert in _registered:
        if isinstance(x, kinds):
            made = convert(x, dtype=dtype, name=None, as_ref=False)
            if made is not NotImplemented:
                return made
    return NotImplemented
