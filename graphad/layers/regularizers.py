"""What a weight adds to the loss for being large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.configured import Configured
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.layers.named import by_name, not_negative
from graphad.ops.math import abs as absolute
from graphad.ops.math import multiply, reduce_sum, square


class Regularizer(Configured):
    """Base class of regularizers: a function of a weight that gives a scalar, its penalty."""

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


def get(identifier: Callable[..., Any] | str | None) -> Callable[..., Any] | None:
    """A regularizer by its name; a function of a tensor and None stay.

    Args: identifier: The name, a function, or None.
    Returns: A function of a tensor that gives a scalar, or None.
    Raises: InvalidArgumentError (a ValueError): there is no such name.
    Example:
      >>> keras.regularizers.get("l2").l2
      0.01
    """
    return by_name("regularizers", _BY_NAME, identifier)  # type: ignore[no-any-return]
