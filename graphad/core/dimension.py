"""`Dimension`: one size of a `TensorShape` as an object. It may be unknown, and so is everything computed from it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

from graphad.core.errors import ArgumentTypeError, InvalidArgumentError


class Dimension:
    """A size, or None for an unknown one.

    Arithmetic gives Dimensions; a comparison with an unknown size gives None.

    Attributes:
      value: The size, None where it is unknown.
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value_of(value)

    @property
    def value(self) -> Any:
        return self._value

    def is_compatible_with(self, other: object) -> bool:
        """Whether both may be the same size."""
        theirs = value_of(other)
        return bool(self._value is None or theirs is None or self._value == theirs)

    def assert_is_compatible_with(self, other: object) -> None:
        """Raises: InvalidArgumentError (a ValueError): the sizes differ."""
        if not self.is_compatible_with(other):
            raise InvalidArgumentError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """Whichever of the two is known. Raises: InvalidArgumentError (a ValueError): they differ."""
        self.assert_is_compatible_with(other)
        return Dimension(value_of(other) if self._value is None else self._value)

    def __index__(self) -> Any:
        return self._value

    def __int__(self) -> int:
        return self._value  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> Any:
        return self._compared(operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return self._compared(operator.ne, other)

    def __lt__(self, other: object) -> Any:
        return self._compared(operator.lt, other)

    def __le__(self, other: object) -> Any:
        return self._compared(operator.le, other)

    def __gt__(self, other: object) -> Any:
        return self._compared(operator.gt, other)

    def __ge__(self, other: object) -> Any:
        return self._compared(operator.ge, other)

    def _compared(self, compare: Callable[[Any, Any], bool], other: object) -> Any:
        try:
            theirs = value_of(other)
        except (ArgumentTypeError, InvalidArgumentError):
            return NotImplemented
        return None if self._value is None or theirs is None else compare(self._value, theirs)

    def __truediv__(self, other: object) -> NoReturn:
        raise ArgumentTypeError(
            "Dimension: unsupported operand type(s) for /: sizes divide by //, not by /, which would give "
            f"{self} / {other}."
        )

    __rtruediv__ = __truediv__

    def __hash__(self) -> int:
        if self._value is None:
            raise ArgumentTypeError("Dimension: an unknown size cannot be a key.")
        return hash(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value!r})"

    def __reduce__(self) -> tuple[Any, tuple[Any]]:
        return Dimension, (self._value,)


def value_of(x: Any, who: str = "Dimension") -> Any:
    """The size that `x` (a Dimension, an integer or None) stands for; `who` is the caller, for messages.

    Raises: ArgumentTypeError, InvalidArgumentError: it is not an integer, or is negative.
    """
    if isinstance(x, Dimension):
        return x._value
    if x is None or (type(x) is int and x >= 0):
        return x
    try:
        size = x.__index__()
    except (AttributeError, TypeError) as cause:
        raise ArgumentTypeError(
            f"{who}: {x!r} is not a size; a size must be integer or None, which stands for one that is unknown."
        ) from cause
    if size < 0:
        raise InvalidArgumentError(
            f"{who}: size {size} is negative; sizes are 0 or more, or None for unknown."
        )
    return size


def _arithmetic(symbol: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def known(a: object, b: object) -> Any:
        return Dimension(None if a is None or b is None else symbol(a, b))

    def forward(self: Dimension, other: Any) -> Any:
        try:
            return known(self._value, value_of(other))
        except ArgumentTypeError:
            return NotImplemented

    def reflected(self: Dimension, other: Any) -> Any:
        try:
            return known(value_of(other), self._value)
        except ArgumentTypeError:
            return NotImplemented

    return forward, reflected


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    _forward, _reflected = _arithmetic(getattr(operator, _name))
    setattr(Dimension, f"__{_name}__", _forward)
    setattr(Dimension, f"__r{_name}__", _reflected)


def dimension_value(dimension: object) -> Any:
    """The size of a Dimension; anything else, such as an integer, is returned unchanged."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: Any, index: int) -> Dimension:
    """The size of a `TensorShape` at `index`; unknown if its rank is unknown."""
    return Dimension(None if shape.rank is None else shape[index])
