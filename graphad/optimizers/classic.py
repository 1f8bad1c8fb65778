"""TensorFlow 1's optimizers, which increase a counter of the program's at each step; `compat.v1.train` lists them.

Each class says how a value, a gradient and the slots of a variable become a new value and new slots (`stepped`). A gradient of
slices changes the rows that it names, as there; `AdamOptimizer` alone moves all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from graphad.core.annotations import Cotangent, RateLike, TensorLike
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.levels import trace_in_progress
from graphad.core.tensor import Handle, Tensor
from graphad.core.trackable import Trackable
from graphad.eager.variable import Variable
from graphad.gradient.tape import GradientTape
from graphad.ops import math
from graphad.ops.array import gather
from graphad.ops.math import abs, cast, maximum, sign, sqrt, square
from graphad.optimizers import base
from graphad.optimizers.adam import averages, corrected
from graphad.optimizers.adaptive import adadelta, adagrad, leader, require_ftrl, rms
from graphad.optimizers.gradients import summed_rows

Number = TensorLike | Callable[[], TensorLike]


class _Steps(base.Optimizer):
    """Slots, counts and the learning rate of one `Optimizer`, whose `stepped` it applies."""

    def __init__(self, owner: Optimizer, rate: RateLike, name: str) -> None:
        # a tensor or a variable is read in each step
        super().__init__((lambda: lift(rate)) if isinstance(rate, Tensor | Handle) else rate, name=name)
        self.slots = tuple(owner.slots)
        self._graphad_firsts, self._graphad_rows = owner.slots, owner.by_rows
        self._graphad_stepped = owner.stepped

    @property
    def takes_slices(self) -> bool:
        return self._graphad_rows

    def first(self, slot: str) -> float:
        return self._graphad_firsts[slot]

    def update(
        self, variable: Variable, gradient: Tensor | IndexedSlices, slots: tuple[Variable, ...]
    ) -> None:
        rate = self.rate(variable)
        if not isinstance(gradient, IndexedSlices):
            new, *kept = self._graphad_stepped(rate, variable.value(), gradient, *[x.value() for x in slots])
            for slot, value in zip(slots, kept, strict=True):
                slot.assign(value)
            variable.assign(new)
            return
        rows, sums = summed_rows(gradient)
        new, *kept = self._graphad_stepped(
            rate, gather(variable, rows), sums, *[gather(slot, rows) for slot in slots]
        )
        for slot, value in zip(slots, kept, strict=True):
            slot.scatter_update(IndexedSlices(value, rows))
        variable.scatter_update(IndexedSlices(new, rows))


class Optimizer(Trackable):
    """What TensorFlow 1's optimizers have in common; an optimizer of your own derives from `optimizers.Optimizer`.

    Args:
      learning_rate: A number, a tensor, a variable, or a function of no arguments; read in each step.
      name: Name.
    """

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2
    slots: Mapping[str, float] = {}
    by_rows: ClassVar[bool] = True

    def __init__(self, learning_rate: RateLike, name: str) -> None:
        self._graphad_name = name
        self._steps = _Steps(self, learning_rate, name)

    def stepped(self, rate: Tensor, value: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        """The new value of a variable, or of some of its rows, and of each of its slots."""
        raise ArgumentTypeError(
            f"{type(self).__name__}: derive an optimizer of your own from optimizers.Optimizer."
        )

    def get_name(self) -> str:
        """The name given."""
        return self._graphad_name

    def get_slot_names(self) -> list[str]:
        """The names of what is kept for each variable."""
        return sorted(self.slots)

    def get_slot(self, var: Variable, name: str) -> Variable | None:
        """The variable of that name kept for `var`; None before its first step, and if there is no such slot."""
        for slot, variable, kept in self._steps._graphad_slots_by_name():
            if slot == name and variable is var:
                return kept
        return None

    def variables(self) -> list[Variable]:
        """The variables that hold the state: the slots of all variables."""
        return [kept for _, _, kept in self._steps._graphad_slots_by_name()]

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: TensorLike | None = None,
    ) -> list[tuple[Cotangent, Variable]]:
        """Pairs of gradients and variables, for `apply_gradients`.

        Args:
          loss: A function of no arguments; in a traced function also a tensor.
          var_list: Variables; by default all trainable ones that the function reads.
          gate_gradients, aggregation_method, colocate_gradients_with_ops: Without effect.
          grad_loss: What the gradient of the loss is multiplied by.
        Raises: ArgumentTypeError (a TypeError): the loss is a tensor that no function is traced for, or of variables unknown.
        """
        if callable(loss):
            with GradientTape() as tape:
                if var_list is not None:
                    var_list = base.listed(var_list)
                    tape.watch(var_list)
                value = loss()
            variables = list(tape.watched_variables()) if var_list is None else var_list
            return list(zip(tape.gradient(value, variables, grad_loss), variables, strict=True))
        if trace_in_progress() is None or var_list is None:
            raise ArgumentTypeError(
                f"{self.get_name()}: the loss is {loss!r}; give a function of no arguments that returns it. "
                "In a traced function a tensor will do if var_list names the variables."
            )
        from graphad.gradient.of_graph import gradients

        variables = base.listed(var_list)
        return list(zip(gradients(loss, variables, grad_loss), variables, strict=True))

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[TensorLike | IndexedSlices | None, Variable]],
        global_step: Variable | None = None,
        name: str | None = None,
    ) -> Variable | None:
        """Update each variable by its gradient; pairs without a gradient are skipped.

        Args:
          grads_and_vars: Pairs, as `compute_gradients` gives them.
          global_step: A variable that is increased by 1.
          name: Name.
        Returns: `global_step`.
        Raises: InvalidArgumentError (a ValueError): there is no variable, or none has a gradient.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise InvalidArgumentError(f"{self.get_name()}: no variables provided.")
        self._steps.apply_gradients(pairs)
        if global_step is not None:
            global_step.assign_add(1)
        return global_step

    def minimize(
        self,
        loss: Any,
        global_step: Variable | None = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: TensorLike | None = None,
    ) -> Variable | None:
        """One step towards less of `loss`: `compute_gradients` and then `apply_gradients`, whose arguments these are."""
        return self.apply_gradients(
            self.compute_gradients(loss, var_list, grad_loss=grad_loss), global_step, name
        )


class GradientDescentOptimizer(Optimizer):
    """w -= learning_rate * g.

    Args:
      learning_rate: See `Optimizer`, for each optimizer here.
      use_locking: Without effect: each assignment is whole.
      name: Name.
    """

    def __init__(
        self, learning_rate: RateLike, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(learning_rate, name)

    def stepped(self, rate: Tensor, value: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        return (value - rate * gradient,)


class MomentumOptimizer(Optimizer):
    """a = momentum * a + g, w -= learning_rate * a; the learning rate is not in a, unlike in `optimizers.SGD`.

    Args:
      learning_rate, use_locking, name: See `GradientDescentOptimizer`.
      momentum: How much of a is kept in a step: a number, a tensor or a function of no arguments.
      use_nesterov: w -= learning_rate * (g + momentum * a) instead.
    """

    slots = {"momentum": 0.0}

    def __init__(
        self,
        learning_rate: RateLike,
        momentum: Number,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, name)
        self._momentum, self._use_nesterov = momentum, use_nesterov

    def stepped(self, rate: Tensor, value: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        momentum = _number(self._momentum, value)
        new = slots[0] * momentum + gradient
        return value - rate * (gradient + momentum * new if self._use_nesterov else new), new


class AdamOptimizer(Optimizer):
    """w -= alpha * m / (sqrt(v) + epsilon), with moving averages m of g and v of its square.

    In step t, alpha is the learning rate times sqrt(1 - beta2**t) / (1 - beta1**t).

    Args:
      learning_rate, use_locking, name: See `GradientDescentOptimizer`.
      beta1, beta2: How much of m and of v is kept in a step: a number, a tensor or a function of no arguments.
      epsilon: What keeps the quotient finite.
    Source: Kingma and Ba, Adam: a method for stochastic optimization, 2015, section 2.
    """

    slots = {"m": 0.0, "v": 0.0}
    by_rows = False

    def __init__(
        self,
        learning_rate: RateLike = 0.001,
        beta1: Number = 0.9,
        beta2: Number = 0.999,
        epsilon: Number = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, name)
        self._beta1, self._beta2, self._epsilon = beta1, beta2, epsilon

    def stepped(self, rate: Tensor, value: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        beta1, beta2 = _number(self._beta1, value), _number(self._beta2, value)
        t = cast(self._steps.iterations, value.dtype) + 1.0
        m, v = averages(math, gradient, slots[0], slots[1], beta1, beta2)
        alpha = corrected(math, rate, t, beta1, beta2)
        return value - alpha * m / (sqrt(v) + _number(self._epsilon, value)), m, v


class AdagradOptimizer(Optimizer):
    """The sum a of all squared gradients: w -= learning_rate * g / sqrt(a).

    Args:
      learning_rate, use_locking, name: See `GradientDescentOptimizer`.
      initial_accumulator_value: What a begins with, above 0.
    Source: Duchi, Hazan and Singer, Adaptive subgradient methods for online learning and stochastic optimization, 2011.
    """

    def __init__(
        self,
        learning_rate: RateLike,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        self.slots = {"accumulator": _positive(name, initial_accumulator_value)}
        super().__init__(learning_rate, name)

    def stepped(self, rate: Tensor, value: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        step, total = adagrad(math, rate, gradient, slots[0], 0.0)
        return value - step, total


class AdadeltaOptimizer(Optimizer):
    """Moving averages of the squares of gradients and of steps; a step is g * sqrt(steps + epsilon) / sqrt(gradients + epsilon).

    Args:
      learning_rate, use_locking, name: See `GradientDescentOptimizer`; the rate multiplies the step.
      rho: How much of the averages is kept in a step: a number, a tensor or a function of no arguments.
      epsilon: What keeps the quotient finite.
    Source: Zeiler, ADADELTA: an adaptive learning rate method, 2012.
    """

    slots = {"accum": 0.0, "accum_update": 0.0}

    def __init__(
        self,
        learning_rate: RateLike = 0.001,
        rho: Number = 0.95,
        epsilon: Number = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(learning_rate, name)
        self._rho, self._epsilon = rho, epsilon

    def stepped(self, rate: Tensor, value: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        rho, epsilon = _number(self._rho, value), _number(self._epsilon, value)
        step, *kept = adadelta(math, rate, gradient, slots[0], slots[1], rho, epsilon)
        return value - step, *kept


class RMSPropOptimizer(Optimizer):
    """s = momentum * s + learning_rate * g / sqrt(v + epsilon), w -= s, with a moving average v of the squared gradient.

    The average begins with 1.

    Args:
      learning_rate, use_locking, name: See `GradientDescentOptimizer`.
      decay: How much of the averages is kept in a step: a number, a tensor or a function of no arguments.
      momentum: How much of s is kept in a step.
      epsilon: What keeps the quotient finite.
      centered: Take the square of the gradient's own moving average off v.
    Source: Tieleman and Hinton, Lecture 6.5, Neural networks for machine learning, 2012.
    """

    def __init__(
        self,
        learning_rate: RateLike,
        decay: Number = 0.9,
        momentum: Number = 0.0,
        epsilon: Number = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        self.slots = {"rms": 1.0, "momentum": 0.0} | ({"mg": 0.0} if centered else {})
        super().__init__(learning_rate, name)
        self._decay, self._momentum, self._epsilon = decay, momentum, epsilon

    def stepped(self, rate: Tensor, value: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        decay, epsilon = _number(self._decay, value), _number(self._epsilon, value)
        squares, steps, *means = slots
        step, squares, mean = rms(math, rate, gradient, squares, means[0] if means else None, decay, epsilon)
        step = _number(self._momentum, value) * steps + step
        return value - step, squares, step, *([] if mean is None else [mean])


class FtrlOptimizer(Optimizer):
    """Follow the regularised leader, as `optimizers.Ftrl`, whose formula and arguments these are.

    Args:
      learning_rate, use_locking, name: See `GradientDescentOptimizer`.
      learning_rate_power: The power of the formula, 0 or less.
      initial_accumulator_value: What the sum of squared gradients begins with, 0 or more.
      l1_regularization_strength, l2_regularization_strength, l2_shrinkage_regularization_strength, beta: Those of the formula.
      accum_name, linear_name: Without effect.
    Source: McMahan and others, Ad click prediction: a view from the trenches, 2013.
    """

    def __init__(
        self,
        learning_rate: RateLike,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        self.slots = {"accum": initial_accumulator_value, "linear": 0.0}
        require_ftrl(
            name,
            learning_rate_power,
            initial_accumulator_value=initial_accumulator_value,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
            l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
        )
        super().__init__(learning_rate, name)
        self._power, self._beta = -learning_rate_power, beta or 0.0
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength
        self._shrinkage = l2_shrinkage_regularization_strength

    def stepped(self, rate: Tensor, value: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        accumulator, linear = slots
        penalties = self._l1, self._l2, self._shrinkage, self._beta
        return leader(rate, value, gradient, accumulator, linear, self._power, *penalties)


class ProximalGradientDescentOptimizer(Optimizer):
    """A step of gradient descent, then the nearest point under penalties of the sum of magnitudes and of squares.

    Args:
      learning_rate, use_locking, name: See `GradientDescentOptimizer`.
      l1_regularization_strength, l2_regularization_strength: The factors of the two penalties.
    Source: Duchi and Singer, Efficient learning using forward-backward splitting, 2009.
    """

    def __init__(
        self,
        learning_rate: RateLike,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(learning_rate, name)
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def stepped(self, rate: Tensor, value: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        return (_shrunk(value - rate * gradient, rate * self._l1, 1.0 + rate * self._l2),)


class ProximalAdagradOptimizer(Optimizer):
    """A step of `AdagradOptimizer`, then the nearest point under penalties; see `ProximalGradientDescentOptimizer`.

    Args:
      learning_rate, use_locking, name: See `GradientDescentOptimizer`.
      initial_accumulator_value: What the sum of squared gradients begins with, above 0.
      l1_regularization_strength, l2_regularization_strength: The factors of the two penalties.
    """

    def __init__(
        self,
        learning_rate: RateLike,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        self.slots = {"accumulator": _positive(name, initial_accumulator_value)}
        super().__init__(learning_rate, name)
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def stepped(self, rate: Tensor, value: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        total = slots[0] + square(gradient)
        rates = rate / sqrt(total)
        return _shrunk(value - rates * gradient, rates * self._l1, 1.0 + rates * self._l2), total


class AdagradDAOptimizer(Optimizer):
    """Dual averaging: w = -s(u) * learning_rate / (l2 * t * learning_rate + sqrt(a)).

    u is the sum of all gradients, a of their squares, t is `global_step` + 1, and s takes l1 * t off magnitudes.

    Args:
      learning_rate, use_locking, name: See `GradientDescentOptimizer`.
      global_step: The variable or number that counts steps.
      initial_gradient_squared_accumulator_value: What a begins with, above 0.
      l1_regularization_strength, l2_regularization_strength: l1 and l2.
    Source: Duchi, Hazan and Singer, Adaptive subgradient methods for online learning and stochastic optimization, 2011.
    """

    def __init__(
        self,
        learning_rate: RateLike,
        global_step: TensorLike,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        squared = _positive(name, initial_gradient_squared_accumulator_value)
        self.slots = {"gradient_accumulator": 0.0, "gradient_squared_accumulator": squared}
        super().__init__(learning_rate, name)
        self._step = global_step
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def stepped(self, rate: Tensor, value: Tensor, gradient: Tensor, *slots: Tensor) -> tuple[Tensor, ...]:
        t = cast(self._step, value.dtype) + 1.0
        total, squares = slots[0] + gradient, slots[1] + square(gradient)
        new = -rate * _shrunk(total, t * self._l1, 1.0) / (self._l2 * t * rate + sqrt(squares))
        return new, total, squares


def _shrunk(x: Tensor, by: Tensor, divisor: TensorLike) -> Tensor:
    """x with its magnitude less by `by`, 0 at least, divided."""
    return sign(x) * maximum(abs(x) - by, 0.0) / divisor


def _number(given: Number, like: Tensor) -> Tensor:
    """A hyperparameter, or what its function gives now, in the dtype of a variable."""
    return cast(given() if callable(given) else given, like.dtype)


def _positive(name: str, first: float) -> float:
    if first <= 0:
        raise InvalidArgumentError(f"{name}: initial_accumulator_value must be positive: {first}")
    return first
