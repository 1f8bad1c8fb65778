"""What an optimizer makes of a weight after each update, so that it stays in a set of allowed ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.configured import Configured
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.registered import made_again, serialized
from graphad.core.tensor import Tensor
from graphad.layers.named import by_name, not_negative
from graphad.ops.math import clip_by_value, maximum, sqrt
from graphad.ops.math.sum_of_products import sum_of_products

EPSILON = 1e-7  # in place of a norm of 0, by which would be divided


class Constraint(Configured):
    """Base class of constraints: a function of a weight that gives an allowed one of the same shape and dtype."""

    described_in_configurations = True

    def __call__(self, w: TensorLike) -> Tensor:
        """The allowed weight. Raises: InvalidArgumentError: a subclass does not define it."""
        raise InvalidArgumentError(f"{type(self).__name__}: a constraint must define __call__(w).")


class NonNeg(Constraint):
    """Negative elements become 0.

    Raises: Nothing.
    Example:
      >>> keras.constraints.NonNeg()([-1.0, 2.0]).numpy()
      array([0., 2.], dtype=float32)
    """

    def __call__(self, w: TensorLike) -> Tensor:
        """The weight, of any shape."""
        x = lift(w)
        return maximum(x, lift(0, x.dtype))


class MinMaxNorm(Constraint):
    """Euclidean norms are brought into a range: w (rate clip(|w|) + (1 - rate) |w|) / (|w| + 1e-7).

    Args:
      min_value, max_value: The range.
      rate: From 0, which leaves a weight as it is, to 1, which brings it all the way.
      axis: The axis or axes along which norms are taken; 0 takes one for each column of a kernel.
    Raises: InvalidArgumentError (a ValueError): a number is negative or not finite, or rate is above 1.
    Example:
      >>> keras.constraints.MinMaxNorm(1.0, 2.0)([[3.0], [4.0]]).numpy().round(3).tolist()
      [[1.2], [1.6]]
    """

    def __init__(
        self,
        min_value: float = 0.0,
        max_value: float = 1.0,
        rate: float = 1.0,
        axis: int | Sequence[int] = 0,
    ) -> None:
        self.min_value, self.max_value = (
            not_negative("constraints", "min_value", min_value),
            not_negative("constraints", "max_value", max_value),
        )
        self.rate = not_negative("constraints", "rate", rate)
        if self.rate > 1:
            raise InvalidArgumentError(f"constraints: rate is {rate}; it goes from 0 to 1.")
        self.axis = axis

    def __call__(self, w: TensorLike) -> Tensor:
        """The weight, of any shape that has the axes."""
        x = lift(w)
        norms = _norms(x, self.axis)
        wanted = clip_by_value(norms, self.min_value, self.max_value)
        if self.rate != 1:
            wanted = self.rate * wanted + (1 - self.rate) * norms
        return x * (wanted / (norms + EPSILON))


class MaxNorm(MinMaxNorm):
    """Euclidean norms above a number become it: w min(|w|, max_value) / (|w| + 1e-7).

    Args:
      max_value: The largest norm.
      axis: The axis or axes along which norms are taken; 0 takes one for each column of a kernel.
    Raises: InvalidArgumentError (a ValueError): the number is negative or not finite.
    Example:
      >>> keras.constraints.MaxNorm(1.0)([[3.0], [4.0]]).numpy().round(3).tolist()
      [[0.6], [0.8]]
    """

    def __init__(self, max_value: float = 2.0, axis: int | Sequence[int] = 0) -> None:
        super().__init__(0.0, max_value, 1.0, axis)


class UnitNorm(Constraint):
    """Euclidean norms become 1: w / (|w| + 1e-7).

    Args: axis: The axis or axes along which norms are taken; 0 takes one for each column of a kernel.
    Raises: Nothing.
    Example:
      >>> keras.constraints.UnitNorm()([[3.0], [4.0]]).numpy().round(3).tolist()
      [[0.6], [0.8]]
    """

    def __init__(self, axis: int | Sequence[int] = 0) -> None:
        self.axis = axis

    def __call__(self, w: TensorLike) -> Tensor:
        """The weight, of any shape that has the axes."""
        x = lift(w)
        return x / (_norms(x, self.axis) + EPSILON)


_BY_NAME: dict[str, Callable[[], Constraint]] = {
    "max_norm": MaxNorm, "min_max_norm": MinMaxNorm, "non_neg": NonNeg, "unit_norm": UnitNorm,
    "MaxNorm": MaxNorm, "MinMaxNorm": MinMaxNorm, "NonNeg": NonNeg, "UnitNorm": UnitNorm,
}  # fmt: skip


def get(identifier: Callable[..., Any] | str | Mapping[str, Any] | None) -> Callable[..., Any] | None:
    """A constraint by its name; a function of a tensor and None stay.

    Args: identifier: The name, a dict with class_name and config, a function, or None.
    Returns: A function of a tensor that gives one of its shape, or None.
    Raises: InvalidArgumentError (a ValueError): there is no such name.
    Example:
      >>> keras.constraints.get("max_norm").max_value
      2.0
    """
    return by_name("constraints", _BY_NAME, identifier)  # type: ignore[no-any-return]


def serialize(constraint: object) -> dict[str, Any] | str:
    """A constraint as a dict of the name of its class and its arguments; of a function its name.

    Args: constraint: A constraint or a function.
    Returns: A dict or a name, which `deserialize` takes.
    Raises: Nothing.
    Example:
      >>> keras.constraints.serialize(keras.constraints.MaxNorm(3))["class_name"]
      'MaxNorm'
    """
    return serialized(constraint)  # type: ignore[no-any-return]


def deserialize(config: Mapping[str, Any] | str, custom_objects: dict[str, Any] | None = None) -> Any:
    """A constraint that a dict or a name of `serialize` describes.

    Args:
      config: A dict with class_name and config, or a name.
      custom_objects: Classes and functions of one's own by name.
    Returns: A constraint, or a function.
    Raises: InvalidArgumentError (a ValueError): there is nothing of that name.
    Example:
      >>> keras.constraints.deserialize({"class_name": "MaxNorm", "config": {"max_value": 3}}).max_value
      3.0
    """
    return made_again("constraints", config, _BY_NAME.get, custom_objects)


def _norms(x: Tensor, axis: int | Sequence[int]) -> Tensor:
    return sqrt(sum_of_products(x, x, axis, True))
