"""What a weight adds to the loss for being large."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.configured import Configured
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.registered import made_again, serialized
from graphad.core.tensor import Tensor
from graphad.layers.named import by_name, not_negative
from graphad.ops.math import abs as absolute
from graphad.ops.math import multiply, reduce_sum, square


class Regularizer(Configured):
    """Base class of regularizers: a function of a weight that gives a scalar, its penalty."""

    described_in_configurations = True

    def __call__(self, x: TensorLike) -> Tensor:
        """The penalty. Raises: InvalidArgumentError: a subclass does not define it."""
        raise InvalidArgumentError(f"{type(self).__name__}: a regularizer must define __call__(x).")


class L1L2(Regularizer):
    """l1 sum |w| + l2 sum w^2, the penalty of a weight.

    Args:
      l1, l2: The two factors, 0 or more; 0 leaves its sum out.
    Raises: InvalidArgumentError (a ValueError): a factor is negative or not finite.
    Example:
      >>> float(keras.regularizers.L1L2(0.5, 0.25)([1.0, -2.0]))
      2.75
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = not_negative("regularizers", "l1", l1), not_negative("regularizers", "l2", l2)

    def __call__(self, x: TensorLike) -> Tensor:
        """The penalty of a weight of any shape, a scalar of its dtype."""
        w = lift(x)
        parts = [
            multiply(reduce_sum(part(w)), lift(factor, w.dtype))
            for part, factor in ((absolute, self.l1), (square, self.l2))
            if factor
        ]
        return lift(0.0, w.dtype) if not parts else parts[0] if len(parts) == 1 else parts[0] + parts[1]


class L1(L1L2):
    """l1 sum |w|, the penalty of a weight.

    Args: l1: The factor, 0 or more.
    Raises: InvalidArgumentError (a ValueError): it is negative or not finite.
    Example:
      >>> float(keras.regularizers.L1(0.5)([1.0, -2.0]))
      1.5
    """

    def __init__(self, l1: float = 0.01) -> None:
        super().__init__(l1=l1)


class L2(L1L2):
    """l2 sum w^2, the penalty of a weight.

    Args: l2: The factor, 0 or more.
    Raises: InvalidArgumentError (a ValueError): it is negative or not finite.
    Example:
      >>> float(keras.regularizers.L2(0.5)([1.0, -2.0]))
      2.5
    """

    def __init__(self, l2: float = 0.01) -> None:
        super().__init__(l2=l2)


_BY_NAME: dict[str, Callable[[], L1L2]] = {
    "l1": L1, "l2": L2, "l1_l2": lambda: L1L2(0.01, 0.01), "L1": L1, "L2": L2, "L1L2": L1L2
}  # fmt: skip


def get(identifier: Callable[..., Any] | str | Mapping[str, Any] | None) -> Callable[..., Any] | None:
    """A regularizer by its name; a function of a tensor and None stay.

    Args: identifier: The name, a dict with class_name and config, a function, or None.
    Returns: A function of a tensor that gives a scalar, or None.
    Raises: InvalidArgumentError (a ValueError): there is no such name.
    Example:
      >>> keras.regularizers.get("l2").l2
      0.01
    """
    return by_name("regularizers", _BY_NAME, identifier)  # type: ignore[no-any-return]


def serialize(regularizer: object) -> dict[str, Any] | str:
    """A regularizer as a dict of the name of its class and its arguments; of a function its name.

    Args: regularizer: A regularizer or a function.
    Returns: A dict or a name, which `deserialize` takes.
    Raises: Nothing.
    Example:
      >>> keras.regularizers.serialize(keras.regularizers.L2(0.5))["class_name"]
      'L2'
    """
    return serialized(regularizer)  # type: ignore[no-any-return]


def deserialize(config: Mapping[str, Any] | str, custom_objects: dict[str, Any] | None = None) -> Any:
    """A regularizer that a dict or a name of `serialize` describes.

    Args:
      config: A dict with class_name and config, or a name.
      custom_objects: Classes and functions of one's own by name.
    Returns: A regularizer, or a function.
    Raises: InvalidArgumentError (a ValueError): there is nothing of that name.
    Example:
      >>> keras.regularizers.deserialize({"class_name": "L2", "config": {"l2": 0.5}}).l2
      0.5
    """
    return made_again("regularizers", config, _BY_NAME.get, custom_objects)
