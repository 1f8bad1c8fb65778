"""Optimizers that divide each element of the gradient by a root of the squares seen so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphad.core.annotations import RateLike
from graphad.core.errors import InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.tensor import Tensor
from graphad.eager.variable import Variable
from graphad.ops import math
from graphad.ops.array import gather
from graphad.optimizers.base import Optimizer
from graphad.optimizers.gradients import summed_rows

if TYPE_CHECKING:
    from graphad.core.annotations import Functions, Numbers

    Values = Tensor | Variable


class Adagrad(Optimizer):
    """The sum a of all squared gradients: w -= rate * g / sqrt(a + epsilon) (Duchi et al., 2011).

    Args:
      learning_rate: A number, a tensor, a schedule or a function of no arguments.
      initial_accumulator_value: What the sums begin with.
      epsilon: What keeps the quotient finite.
      options: Those of `Optimizer`.
    Raises: InvalidArgumentError (a ValueError), when gradients are applied: a gradient of another shape than its variable.
    Source: Duchi, Hazan and Singer, Adaptive subgradient methods for online learning and stochastic optimization, 2011.
    """

    slots = ("accumulator",)

    def __init__(
        self,
        learning_rate: RateLike = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.initial_accumulator_value, self.epsilon = float(initial_accumulator_value), float(epsilon)

    @property
    def takes_slices(self) -> bool:
        return type(self).update is Adagrad.update

    def first(self, slot: str) -> float:
        return self.initial_accumulator_value

    def update(
        self, variable: Variable, gradient: Tensor | IndexedSlices, slots: tuple[Variable, ...]
    ) -> None:
        (accumulator,) = slots
        if isinstance(gradient, IndexedSlices):
            rows, sums = summed_rows(gradient)
            step, seen = adagrad(math, self.rate(variable), sums, gather(accumulator, rows), self.epsilon)
            accumulator.scatter_update(IndexedSlices(seen, rows))
            variable.scatter_sub(IndexedSlices(step, rows))
            return
        super().update(variable, gradient, slots)

    def _changes(
        self, of: Functions[Numbers], step: Numbers, rate: Numbers, gradient: Numbers, accumulator: Numbers
    ) -> tuple[Numbers, ...]:
        return adagrad(of, rate, gradient, accumulator, self.epsilon)


def adagrad(
    of: Functions[Numbers], rate: Numbers, gradient: Numbers, total: Numbers, epsilon: float
) -> tuple[Numbers, Numbers]:
    """What is subtracted, and the new sum of squares; `of` as for `by_formula`, here and below."""
    total = total + of.square(gradient)
    return rate * gradient / of.sqrt(total + epsilon), total


class Adadelta(Optimizer):
    """Moving averages of the squares of gradients and of steps; a step is -g * sqrt(steps + epsilon) / sqrt(gradients + epsilon).

    The learning rate multiplies the step (Zeiler, 2012).

    Args:
      learning_rate: A number, a tensor, a schedule or a function of no arguments.
      rho: How much of the averages is kept in a step.
      epsilon: What keeps the quotient finite.
      options: Those of `Optimizer`.
    Raises: InvalidArgumentError (a ValueError), when gradients are applied: a gradient of another shape than its variable.
    Source: Zeiler, ADADELTA: an adaptive learning rate method, 2012.
    """

    slots = ("accumulated_grad", "accumulated_delta")

    def __init__(
        self, learning_rate: RateLike = 0.001, rho: float = 0.95, epsilon: float = 1e-7, **options: Any
    ) -> None:
        super().__init__(learning_rate, **options)
        self.rho, self.epsilon = float(rho), float(epsilon)

    def _changes(
        self,
        of: Functions[Numbers],
        step: Numbers,
        rate: Numbers,
        gradient: Numbers,
        gradients: Numbers,
        steps: Numbers,
    ) -> tuple[Numbers, ...]:
        return adadelta(of, rate, gradient, gradients, steps, self.rho, self.epsilon)


def adadelta(
    of: Functions[Numbers],
    rate: Numbers,
    gradient: Numbers,
    gradients: Numbers,
    steps: Numbers,
    keep: float | Numbers,
    epsilon: float | Numbers,
) -> tuple[Numbers, Numbers, Numbers]:
    """What is subtracted, and the new averages of the squares of gradients and of steps."""
    seen = keep * gradients + (1.0 - keep) * of.square(gradient)
    change = gradient * of.sqrt(steps + epsilon) / of.sqrt(seen + epsilon)
    return rate * change, seen, keep * steps + (1.0 - keep) * of.square(change)


class RMSprop(Optimizer):
    """A moving average v of the squared gradient: w -= rate * g / sqrt(v + epsilon) (Hinton, 2012).

    With `centered` the square of the gradient's own moving average is taken off v; with `momentum` the steps are summed,
    each time multiplied by it.

    Args:
      learning_rate: A number, a tensor, a schedule or a function of no arguments.
      rho: How much of the averages is kept in a step.
      momentum: By what the sum of steps is multiplied each time.
      epsilon: What keeps the quotient finite.
      centered: Take off the square of the mean.
      options: Those of `Optimizer`.
    Raises: InvalidArgumentError (a ValueError), when gradients are applied: a gradient of another shape than its variable.
    Source: Tieleman and Hinton, Lecture 6.5, Neural networks for machine learning, 2012.
    """

    def __init__(
        self,
        learning_rate: RateLike = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        self.rho, self.momentum, self.epsilon = float(rho), float(momentum), float(epsilon)
        self.centered = centered
        kinds = {"momentum": momentum > 0, "average_gradient": centered}
        self.slots = ("velocity", *(kind for kind, is_kept in kinds.items() if is_kept))

    def _changes(
        self, of: Functions[Numbers], step: Numbers, rate: Numbers, gradient: Numbers, *slots: Numbers
    ) -> list[Numbers]:
        kept: dict[str, Numbers] = dict(zip(self.slots, slots, strict=True))
        change, kept["velocity"], mean = rms(
            of, rate, gradient, kept["velocity"], kept.get("average_gradient"), self.rho, self.epsilon
        )
        if mean is not None:
            kept["average_gradient"] = mean
        if self.momentum > 0:
            change = kept["momentum"] = self.momentum * kept["momentum"] + change
        new = [change]
        new.extend(kept.values())
        return new


def rms(
    of: Functions[Numbers],
    rate: Numbers,
    gradient: Numbers,
    squares: Numbers,
    mean: Numbers | None,
    keep: float | Numbers,
    epsilon: float | Numbers,
) -> tuple[Numbers, Numbers, Numbers | None]:
    """The step, and the new averages of the squared gradient and, unless it is None, of the gradient, whose square is taken
    off."""
    squares = spread = keep * squares + (1.0 - keep) * of.square(gradient)
    if mean is not None:
        mean = keep * mean + (1.0 - keep) * gradient
        spread = squares - of.square(mean)
    return rate * gradient / of.sqrt(spread + epsilon), squares, mean


class Ftrl(Optimizer):
    """Follow the regularised leader (McMahan et al., 2013), with penalties of the sum of magnitudes and of squares.

    With the sums a of the squared gradients and z of the gradients less what the variable had of them:
    w = (clip(z, -l1, l1) - z) / (a**-power / rate + 2 * l2 + beta / rate).

    Args:
      learning_rate: A number, a tensor, a schedule or a function of no arguments.
      learning_rate_power: The power of the formula, 0 or less.
      initial_accumulator_value: What a begins with.
      l1_regularization_strength, l2_regularization_strength, l2_shrinkage_regularization_strength, beta: Those of the formula.
      options: Those of `Optimizer`.
    Raises: InvalidArgumentError (a ValueError), when gradients are applied: a gradient of another shape than its variable.
    Source: McMahan and others, Ad click prediction: a view from the trenches, 2013.
    """

    slots = ("accumulator", "linear")

    def __init__(
        self,
        learning_rate: RateLike = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(learning_rate, **options)
        require_ftrl(
            "Ftrl",
            learning_rate_power,
            initial_accumulator_value=initial_accumulator_value,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
            l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
        )
        self.learning_rate_power = float(learning_rate_power)
        self.initial_accumulator_value = float(initial_accumulator_value)
        self.l1_regularization_strength = float(l1_regularization_strength)
        self.l2_regularization_strength = float(l2_regularization_strength)
        self.l2_shrinkage_regularization_strength = float(l2_shrinkage_regularization_strength)
        self.beta = float(beta)

    def first(self, slot: str) -> float:
        return self.initial_accumulator_value if slot == "accumulator" else 0.0

    def update(
        self, variable: Variable, gradient: Tensor | IndexedSlices, slots: tuple[Variable, ...]
    ) -> None:
        accumulator, linear = slots
        penalties = (
            self.l1_regularization_strength,
            self.l2_regularization_strength,
            self.l2_shrinkage_regularization_strength,
            self.beta,
        )
        new, total, z = leader(
            self.rate(variable),
            variable,
            gradient,
            accumulator,
            linear,
            -self.learning_rate_power,
            *penalties,
        )
        accumulator.assign(total)
        linear.assign(z)
        variable.assign(new)


def leader(
    rate: Tensor,
    value: Values,
    gradient: Tensor | IndexedSlices,
    total: Values,
    linear: Values,
    power: float,
    l1: float,
    l2: float,
    shrinkage: float,
    beta: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The new value of a variable, and the new sums a and z of `Ftrl`."""
    before, total = total**power, total + math.square(gradient)
    after = total**power
    z = linear + (gradient + 2.0 * shrinkage * value) - (after - before) / rate * value
    return (math.clip_by_value(z, -l1, l1) - z) / (after / rate + 2.0 * l2 + beta / rate), total, z


def require_ftrl(name: str, learning_rate_power: float, **strengths: float) -> None:
    """Raises: InvalidArgumentError: the power of the leader's formula is above 0, or one of its other numbers below."""
    for word, given in strengths.items():
        if given < 0:
            raise InvalidArgumentError(f"{name}: {word} is {given}; it must be 0 or more.")
    if learning_rate_power > 0:
        raise InvalidArgumentError(
            f"{name}: learning_rate_power is {learning_rate_power}; it must be 0 or less."
        )
