"""Adam (Kingma & Ba, 2015) and its kin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import RateLike
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.tensor import Handle, Tensor
from graphad.eager.variable import Variable
from graphad.ops import math
from graphad.ops.array import ones_like
from graphad.ops.math import cast, logical_and, reduce_sum, sqrt, square, where
from graphad.optimizers.base import Optimizer

if TYPE_CHECKING:
    from graphad.core.annotations import Array, Functions, Numbers


class _Averages(Optimizer):
    """An optimizer of moving averages of the gradient and of its size."""

    def __init__(
        self,
        learning_rate: RateLike = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.beta_1, self.beta_2, self.epsilon = float(beta_1), float(beta_2), float(epsilon)

    def _averages(
        self, of: Functions[Numbers], gradient: Numbers, m: Numbers, v: Numbers
    ) -> tuple[Numbers, Numbers]:
        """The new averages of the gradient and of its square; `of` as for `by_formula`."""
        return averages(of, gradient, m, v, self.beta_1, self.beta_2)


class Adam(_Averages):
    """Moving averages m of the gradient and v of its square; w -= rate * m / (sqrt(v) + epsilon), both bias-corrected (Kingma &
    Ba, 2015).

    Args:
      learning_rate: A number, a tensor or a function of no arguments.
      beta_1, beta_2: How much of m and v is kept in a step.
      epsilon: What keeps the quotient finite.
      amsgrad: Divide by the largest v so far.
      options: Those of `Optimizer`.
    Raises: InvalidArgumentError (a ValueError), when gradients are applied: a gradient of another shape than its variable.
    Source: Kingma and Ba, Adam: a method for stochastic optimization, 2015; amsgrad: Reddi, Kale and Kumar, 2018.
    Example:
      >>> v = Variable([1.0, 2.0])
      >>> _ = optimizers.Adam(0.1).apply_gradients([(constant([1.0, -1.0]), v)])
      >>> v.numpy().round(4)
      array([0.9, 2.1], dtype=float32)
    """

    slots: tuple[str, ...] = ("m", "v")

    def __init__(
        self,
        learning_rate: RateLike = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **options)
        self.amsgrad = amsgrad
        if amsgrad:
            self.slots = ("m", "v", "largest_v")

    def _changes(
        self,
        of: Functions[Numbers],
        step: Numbers,
        rate: Numbers,
        gradient: Numbers,
        m: Numbers,
        v: Numbers,
        *largest: Numbers,
    ) -> list[Numbers]:
        alpha = corrected(of, rate, step, self.beta_1, self.beta_2)
        new_m, new_v = self._averages(of, gradient, m, v)
        peaks = [of.maximum(x, new_v) for x in largest]
        size = peaks[0] if peaks else new_v
        if type(size) is np.ndarray:  # the same steps, written over
            below = np.sqrt(size)
            below += self.epsilon
            change = alpha * new_m
            change /= below
        else:
            change = alpha * new_m / (of.sqrt(size) + self.epsilon)
        new = [change, new_m, new_v]
        new.extend(peaks)
        return new


def averages(
    of: Functions[Numbers],
    gradient: Numbers,
    m: Numbers,
    v: Numbers,
    beta_1: float | Numbers,
    beta_2: float | Numbers,
) -> tuple[Numbers, Numbers]:
    """The new averages of the gradient and of its square; `of` as for `by_formula`."""
    if type(m) is np.ndarray:
        return _towards(m, gradient - m, 1.0 - beta_1), _towards(v, gradient * gradient - v, 1.0 - beta_2)
    return m + (gradient - m) * (1.0 - beta_1), v + (of.square(gradient) - v) * (1.0 - beta_2)


def _towards(x: Array, way: Array, part: float | Array) -> Array:
    """x and a part of the way, which is written over."""
    way *= part
    way += x
    return way


def corrected(
    of: Functions[Numbers], rate: Numbers, step: Numbers, beta_1: float | Numbers, beta_2: float | Numbers
) -> Numbers:
    """The rate that also corrects the bias of averages that begin with 0."""
    result: Numbers = rate * of.sqrt(1.0 - beta_2**step) / (1.0 - beta_1**step)
    return result


class AdamW(Adam):
    """Adam with weight decay apart from the gradient (Loshchilov & Hutter, 2019).

    Args:
      learning_rate: A number, a tensor, a schedule or a function of no arguments.
      weight_decay: How much of a variable goes in a step, times the rate.
      beta_1, beta_2, epsilon, amsgrad: As for `Adam`.
      options: Those of `Optimizer`.
    Raises: InvalidArgumentError (a ValueError), when gradients are applied: a gradient of another shape than its variable.
    Source: Loshchilov and Hutter, Decoupled weight decay regularization, 2019.
    """

    def __init__(
        self,
        learning_rate: RateLike = 0.001,
        weight_decay: float | None = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Any,
    ) -> None:
        if weight_decay is None:
            raise InvalidArgumentError("AdamW: weight_decay is None; give a number, or use Adam.")
        super().__init__(
            learning_rate, beta_1, beta_2, epsilon, amsgrad, weight_decay=weight_decay, **options
        )


class Adamax(_Averages):
    """Adam with a decaying largest magnitude u in place of sqrt(v): w -= rate * m / ((1 - beta_1**step) * (u + epsilon)).

    Args:
      learning_rate: A number, a tensor, a schedule or a function of no arguments.
      beta_1, beta_2: How much of m and u is kept in a step.
      epsilon: What keeps the quotient finite.
      options: Those of `Optimizer`.
    Raises: InvalidArgumentError (a ValueError), when gradients are applied: a gradient of another shape than its variable.
    Source: Kingma and Ba, Adam: a method for stochastic optimization, 2015, section 7.1.
    """

    slots = ("m", "u")

    def _changes(
        self, of: Functions[Numbers], step: Numbers, rate: Numbers, gradient: Numbers, m: Numbers, u: Numbers
    ) -> tuple[Numbers, ...]:
        new_m = m + (gradient - m) * (1.0 - self.beta_1)
        new_u = of.maximum(self.beta_2 * u, of.abs(gradient))
        correction = 1.0 - self.beta_1**step
        return rate * new_m / (correction * (new_u + self.epsilon)), new_m, new_u


class Nadam(_Averages):
    """Adam that looks ahead as Nesterov's momentum does (Dozat, 2016), with a momentum that grows to beta_1.

    In step t the momentum is u(t) = beta_1 * (1 - 0.96**t / 2), and P(t) is the product of all so far:
    w -= rate * (u(t + 1) * m / (1 - P(t + 1)) + (1 - u(t)) * g / (1 - P(t))) / (sqrt(v / (1 - beta_2**t)) + epsilon).

    Args:
      learning_rate: A number, a tensor, a schedule or a function of no arguments.
      beta_1, beta_2, epsilon: As for `Adam`.
      options: Those of `Optimizer`.
    Raises: InvalidArgumentError (a ValueError), when gradients are applied: a gradient of another shape than its variable.
    Source: Dozat, Incorporating Nesterov momentum into Adam, 2016.
    """

    slots = ("m", "v")

    def __init__(
        self,
        learning_rate: RateLike = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **options)
        self.product = Variable(1.0, trainable=False, name="product")

    @property
    def variables(self) -> list[Handle]:
        steps, rate, *rest = super().variables
        return [steps, rate, self.product, *rest]

    def _momentum(self, step: Numbers) -> Numbers:
        return self.beta_1 * (1.0 - 0.5 * 0.96**step)

    def begin(self, variables: list[Variable]) -> None:
        self.product.assign(self.product * self._momentum(self.step(self.product)))

    def update(
        self, variable: Variable, gradient: Tensor | IndexedSlices, slots: tuple[Variable, ...]
    ) -> None:
        self.by_formula(self._changes, variable, gradient, slots, cast(self.product, variable.dtype))

    def _changes(
        self,
        of: Functions[Numbers],
        step: Numbers,
        rate: Numbers,
        gradient: Numbers,
        m: Numbers,
        v: Numbers,
        product: Numbers,
    ) -> tuple[Numbers, ...]:
        now, ahead = self._momentum(step), self._momentum(step + 1.0)
        new_m, new_v = self._averages(of, gradient, m, v)
        direction = ahead * new_m / (1.0 - product * ahead) + (1.0 - now) * gradient / (1.0 - product)
        scale = of.sqrt(new_v / (1.0 - self.beta_2**step)) + self.epsilon
        return rate * direction / scale, new_m, new_v


class Lion(Optimizer):
    """w -= rate * sign(beta_1 * m + (1 - beta_1) * g), then m = beta_2 * m + (1 - beta_2) * g (Chen et al., 2023).

    Args:
      learning_rate: A number, a tensor, a schedule or a function of no arguments.
      beta_1, beta_2: Those of the formula.
      options: Those of `Optimizer`.
    Raises: InvalidArgumentError (a ValueError), when gradients are applied: a gradient of another shape than its variable.
    Source: Chen and others, Symbolic discovery of optimization algorithms, 2023.
    """

    slots = ("m",)

    def __init__(
        self, learning_rate: RateLike = 0.001, beta_1: float = 0.9, beta_2: float = 0.99, **options: Any
    ) -> None:
        super().__init__(learning_rate, **options)
        if not 0 < beta_1 <= 1:
            raise InvalidArgumentError(
                f"Lion: beta_1 is {beta_1}; 0 < beta_1 <= 1 is needed, since the step is the sign of the gradient alone with 0."
            )
        self.beta_1, self.beta_2 = float(beta_1), float(beta_2)

    def _changes(
        self, of: Functions[Numbers], step: Numbers, rate: Numbers, gradient: Numbers, m: Numbers
    ) -> tuple[Numbers, ...]:
        direction = of.sign(self.beta_1 * m + (1.0 - self.beta_1) * gradient)
        return rate * direction, self.beta_2 * m + (1.0 - self.beta_2) * gradient


class Lamb(_Averages):
    """Adam whose step has the norm of the variable, times the rate (You et al., 2020).

    With the bias-corrected averages m of the gradient and v of its square, u = m / (sqrt(v) + epsilon) and
    w -= rate * (norm of w / norm of u) * u; the quotient is 1 where a norm is 0.

    Args:
      learning_rate: A number, a tensor, a schedule or a function of no arguments.
      beta_1, beta_2: How much of m and v is kept in a step.
      epsilon: What keeps the quotient finite.
      options: Those of `Optimizer`.
    Raises: InvalidArgumentError (a ValueError), when gradients are applied: a gradient of another shape than its variable.
    Source: You, Li, Reddi and others, Large batch optimization for deep learning: training BERT in 76 minutes, 2020.
    """

    slots = ("m", "v")

    def update(
        self, variable: Variable, gradient: Tensor | IndexedSlices, slots: tuple[Variable, ...]
    ) -> None:
        m, v = slots
        step = self.step(variable)
        new_m, new_v = self._averages(math, lift(gradient), m.value(), v.value())
        m.assign(new_m)
        v.assign(new_v)
        u = (new_m / (1.0 - self.beta_1**step)) / (sqrt(new_v / (1.0 - self.beta_2**step)) + self.epsilon)
        of_w, of_u = (sqrt(reduce_sum(square(x))) for x in (variable.value(), u))
        ratio = where(logical_and(of_w > 0, of_u > 0), of_w / of_u, ones_like(of_w))
        variable.assign_sub(ratio * self.rate(variable) * u)
