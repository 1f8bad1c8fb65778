"""Adam (Kingma & Ba, 2015)."""

from __future__ import annotations

from typing import Any

from graphad.eager.variable import Variable
from graphad.ops.math import cast, sqrt, square
from graphad.optimizers.base import Optimizer


class Adam(Optimizer):
    """Moving averages m of the gradient and v of its square; w -= rate * m / (sqrt(v) + epsilon), both bias-corrected."""

    slots = ("m", "v")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, name=name)
        self.beta_1, self.beta_2, self.epsilon = float(beta_1), float(beta_2), float(epsilon)

    def update(self, variable: Variable, gradient: Any, slots: tuple[Variable, ...]) -> None:
        m, v = slots
        dtype = variable.dtype
        step = cast(self.iterations, dtype)
        rate = cast(self.learning_rate, dtype) * sqrt(1.0 - self.beta_2**step) / (1.0 - self.beta_1**step)
        new_m = m + (gradient - m) * (1.0 - self.beta_1)
        new_v = v + (square(gradient) - v) * (1.0 - self.beta_2)
        m.assign(new_m)
        v.assign(new_v)
        variable.assign_sub(rate * new_m / (sqrt(new_v) + self.epsilon))
