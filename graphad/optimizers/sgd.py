"""Stochastic gradient descent, with momentum if asked (Sutskever et al., 2013)."""

from __future__ import annotations

from typing import Any

from graphad.core.annotations import RateLike
from graphad.core.errors import InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.tensor import Tensor
from graphad.eager.variable import Variable
from graphad.optimizers.base import Optimizer


class SGD(Optimizer):
    """w -= learning_rate * g; with momentum: v = momentum * v - learning_rate * g, w += v (nesterov looks ahead).

    Args:
      learning_rate: A number, a tensor or a function of no arguments.
      momentum: How much of v is kept in a step; 0 for none.
      nesterov: Take the gradient's step once more from where v leads.
      options: Those of `Optimizer`.
    Raises: InvalidArgumentError (a ValueError), when gradients are applied: a gradient of another shape than its variable.
    Source: Polyak, Some methods of speeding up the convergence of iteration methods, 1964; nesterov: Sutskever, Martens,
      Dahl and Hinton, 2013.
    Example:
      >>> v = Variable([1.0, 2.0])
      >>> _ = optimizers.SGD(0.5).apply_gradients([(constant([1.0, -1.0]), v)])
      >>> v.numpy()
      array([0.5, 2.5], dtype=float32)
    """

    def __init__(
        self, learning_rate: RateLike = 0.01, momentum: float = 0.0, nesterov: bool = False, **options: Any
    ) -> None:
        super().__init__(learning_rate, **options)
        if not 0 <= momentum <= 1:
            raise InvalidArgumentError(f"SGD: momentum {momentum} is out of range; 0 <= momentum <= 1.")
        self.momentum = float(momentum)
        self.nesterov = nesterov
        self.slots = ("momentum",) if momentum else ()

    @property
    def takes_slices(self) -> bool:
        return not self.slots and type(self).update is SGD.update

    def update(
        self, variable: Variable, gradient: Tensor | IndexedSlices, slots: tuple[Variable, ...]
    ) -> None:
        if isinstance(gradient, IndexedSlices):
            variable.scatter_sub(gradient.with_values(gradient.values * self.rate(variable)))
            return
        step = gradient * self.rate(variable)
        if not slots:
            variable.assign_sub(step)
            return
        (velocity,) = slots
        new = velocity * self.momentum - step
        velocity.assign(new)
        variable.assign_add(new * self.momentum - step if self.nesterov else new)
