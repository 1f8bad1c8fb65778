"""Adafactor (Shazeer & Stern, 2018): the second moment of a matrix by its rows and columns."""

from __future__ import annotations

from typing import Any

from graphad.core.annotations import RateLike
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.tensor import Tensor
from graphad.eager.variable import Variable
from graphad.ops.array import expand_dims
from graphad.ops.math import maximum, minimum, reduce_mean, sqrt, square
from graphad.optimizers.base import Optimizer


class Adafactor(Optimizer):
    """A step in proportion to the variable, divided by a second moment that takes a row and a column for a matrix.

    In step t the average v of the squared gradient keeps b = 1 - t**beta_2_decay of itself. Of a variable with two axes or more
    only its means r along the last axis and c along the one before are kept, and v = r * c / mean(r). With u = g / sqrt(v) and
    p = min(rate, 1 / sqrt(t)), w -= max(epsilon_2, rms(w)) * p * u / max(1, rms(u) / clip_threshold).

    Args:
      learning_rate: A number, a tensor, a schedule or a function of no arguments.
      beta_2_decay: The exponent above, negative.
      epsilon_1: What is added to the squared gradient.
      epsilon_2: The least scale of a variable.
      clip_threshold: The largest root mean square of an update.
      relative_step: Whether a rate that is a number is at most 1 / sqrt(t). The step is, in any case.
      options: Those of `Optimizer`.
    Raises: InvalidArgumentError (a ValueError), when gradients are applied: a gradient of another shape than its variable.
    Source: Shazeer and Stern, Adafactor: adaptive learning rates with sublinear memory cost, 2018.
    """

    slots = ("r", "c", "v")

    def __init__(
        self,
        learning_rate: RateLike = 0.001,
        beta_2_decay: float = -0.8,
        epsilon_1: float = 1e-30,
        epsilon_2: float = 1e-3,
        clip_threshold: float = 1.0,
        relative_step: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_2_decay = float(beta_2_decay)
        self.epsilon_1, self.epsilon_2 = float(epsilon_1), float(epsilon_2)
        self.clip_threshold = float(clip_threshold)
        self.relative_step = relative_step

    def slot_shape(self, slot: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Of what stands for the other, a scalar."""
        if len(shape) < 2:
            return shape if slot == "v" else ()
        return {"r": shape[:-1], "c": (*shape[:-2], shape[-1]), "v": ()}[slot]

    def update(
        self, variable: Variable, gradient: Tensor | IndexedSlices, slots: tuple[Variable, ...]
    ) -> None:
        r, c, v = slots
        t = self.step(variable)
        keep = 1.0 - t**self.beta_2_decay
        squares = square(gradient) + self.epsilon_1
        if len(variable.shape) < 2:
            moment = keep * v + (1.0 - keep) * squares
            v.assign(moment)
        else:
            rows = keep * r + (1.0 - keep) * reduce_mean(squares, -1)
            columns = keep * c + (1.0 - keep) * reduce_mean(squares, -2)
            r.assign(rows)
            c.assign(columns)
            rows = rows / reduce_mean(rows, -1, keepdims=True)
            moment = expand_dims(rows, -1) * expand_dims(columns, -2)
        step = gradient / sqrt(moment)
        step = step / maximum(_rms(step) / self.clip_threshold, 1.0)
        scale = maximum(_rms(variable.value()), self.epsilon_2) * minimum(self.rate(variable), 1.0 / sqrt(t))
        variable.assign_sub(scale * step)


def _rms(x: Tensor) -> Tensor:
    return sqrt(reduce_mean(square(x)))
