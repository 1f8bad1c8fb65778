"""Learning rates as functions of the number of steps that were made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.floatx import floatx_dtype
from graphad.core.refusal import members, refuse
from graphad.core.registered import made_again, serialized
from graphad.core.tensor import Tensor
from graphad.core.trackable import Trackable
from graphad.ops.math import cast, ceil, cos, floor, less, log, maximum, minimum, where


class LearningRateSchedule(Trackable):
    """Base class: an optimizer calls the schedule with the number of steps before this one.

    Subclasses define `__call__(self, step)`.
    """

    described_in_configurations = True

    # A subclass says what it takes, which `Any` alone allows.
    def __call__(self, step: Any) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}: a schedule must define __call__(self, step).")

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError(f"{type(self).__name__}: the schedule does not define get_config(self).")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        return cls(**config)


class Kept(LearningRateSchedule):
    """A schedule that keeps its arguments, which are attributes too."""

    def __init__(self, name: str, **config: Any) -> None:
        self._graphad_config = {**config, "name": name}
        for key, value in self._graphad_config.items():
            setattr(self, key, value)

    def get_config(self) -> dict[str, Any]:
        return dict(self._graphad_config)

    def parts(self, step: TensorLike, *names: str) -> tuple[Tensor, ...]:
        """The number of steps and these arguments, in one dtype."""
        config = self._graphad_config
        start = lift(config["initial_learning_rate"])
        dtype = start.dtype if start.dtype.is_differentiable else floatx_dtype()
        return cast(step, dtype), *(cast(config[name], dtype) for name in names)


def require_positive(schedule: str, name: str, steps: Any) -> None:
    try:
        is_positive = not steps <= 0
    except (TypeError, ValueError) as cause:
        refuse(cause, schedule, name, steps, "a positive number is needed")
    if not is_positive:
        raise InvalidArgumentError(f"{schedule}: {name} is {steps}; it must be positive.")


class _Rated(Kept):
    """Decay by a rate for every so many steps."""

    def __init__(
        self,
        initial_learning_rate: TensorLike,
        decay_steps: TensorLike,
        decay_rate: TensorLike,
        staircase: bool = False,
        name: str | None = None,
    ) -> None:
        own = type(self).__name__
        require_positive(own, "decay_steps", decay_steps)
        super().__init__(
            own if name is None else name,
            initial_learning_rate=initial_learning_rate,
            decay_steps=decay_steps,
            decay_rate=decay_rate,
            staircase=staircase,
        )

    def rated(self, step: TensorLike) -> tuple[Tensor, Tensor, Tensor]:
        """The first learning rate, the decay rate, and how many times it has been applied."""
        step, first, steps, rate = self.parts(step, "initial_learning_rate", "decay_steps", "decay_rate")
        return first, rate, floor(step / steps) if self._graphad_config["staircase"] else step / steps


class ExponentialDecay(_Rated):
    """initial_learning_rate * decay_rate ** (step / decay_steps); with `staircase` the exponent is rounded down.

    Args:
      initial_learning_rate: The rate at step 0, a number or a scalar tensor, as are the others.
      decay_steps: After how many steps the rate has fallen by the factor.
      decay_rate: The factor.
      staircase: Whether the rate falls in steps.
      name: Name.
    Raises: InvalidArgumentError (a ValueError): `decay_steps` is not positive.
    Example:
      >>> schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 100, 0.5)
      >>> float(schedule(200))
      0.02500000037252903
    """

    def __call__(self, step: TensorLike) -> Tensor:
        first, rate, done = self.rated(step)
        return first * rate**done


class InverseTimeDecay(_Rated):
    """initial_learning_rate / (1 + decay_rate * step / decay_steps); with `staircase` the quotient is rounded down.

    Args:
      initial_learning_rate: The rate at step 0, a number or a scalar tensor, as are the others.
      decay_steps: How many steps count as one.
      decay_rate: How much the divisor grows each time.
      staircase: Whether the rate falls in steps.
      name: Name.
    Raises: InvalidArgumentError (a ValueError): `decay_steps` is not positive.
    Source: Robbins and Monro, A stochastic approximation method, 1951.
    Example:
      >>> schedule = keras.optimizers.schedules.InverseTimeDecay(0.1, 100, 1.0)
      >>> float(schedule(100))
      0.05000000074505806
    """

    def __call__(self, step: TensorLike) -> Tensor:
        first, rate, done = self.rated(step)
        return first / (1.0 + rate * done)


class PolynomialDecay(Kept):
    """From the first learning rate to the last as (1 - step / decay_steps) ** power.

    After `decay_steps` it stays at `end_learning_rate`; with `cycle` the number of steps becomes the next multiple instead.

    Args:
      initial_learning_rate: The rate at step 0, a number or a scalar tensor, as are the others.
      decay_steps: Over how many steps it falls.
      end_learning_rate: The last rate.
      power: The exponent; 1 for a straight line.
      cycle: Whether it begins again beyond `decay_steps`.
      name: Name.
    Raises: InvalidArgumentError (a ValueError): `decay_steps` is not positive.
    Example:
      >>> schedule = keras.optimizers.schedules.PolynomialDecay(0.1, 100, 0.0)
      >>> float(schedule(50))
      0.05000000074505806
    """

    def __init__(
        self,
        initial_learning_rate: TensorLike,
        decay_steps: TensorLike,
        end_learning_rate: TensorLike = 0.0001,
        power: TensorLike = 1.0,
        cycle: bool = False,
        name: str = "PolynomialDecay",
    ) -> None:
        require_positive("PolynomialDecay", "decay_steps", decay_steps)
        super().__init__(
            name,
            initial_learning_rate=initial_learning_rate,
            decay_steps=decay_steps,
            end_learning_rate=end_learning_rate,
            power=power,
            cycle=cycle,
        )

    def __call__(self, step: TensorLike) -> Tensor:
        step, first, steps, last, power = self.parts(
            step, "initial_learning_rate", "decay_steps", "end_learning_rate", "power"
        )
        if self._graphad_config["cycle"]:
            steps = steps * maximum(ceil(step / steps), 1.0)
        else:
            step = minimum(step, steps)
        return (first - last) * (1.0 - step / steps) ** power + last


class CosineDecay(Kept):
    """Half a wave of the cosine from the first learning rate down to `alpha` times it, over `decay_steps`.

    With a `warmup_target` the rate first grows in a line to it, for `warmup_steps`, and falls from there.

    Args:
      initial_learning_rate: The rate at step 0, a number or a scalar tensor, as are the others.
      decay_steps: Over how many steps it falls.
      alpha: The last rate as a part of the first.
      name: Name.
      warmup_target: The rate at the end of the warm-up; None for no warm-up.
      warmup_steps: How many steps the warm-up takes.
    Raises: InvalidArgumentError (a ValueError): `decay_steps` is not positive.
    Source: Loshchilov and Hutter, SGDR: stochastic gradient descent with warm restarts, 2017.
    Example:
      >>> schedule = keras.optimizers.schedules.CosineDecay(0.1, 100)
      >>> float(schedule(50))
      0.04999999701976776
    """

    def __init__(
        self,
        initial_learning_rate: TensorLike,
        decay_steps: TensorLike,
        alpha: TensorLike = 0.0,
        name: str = "CosineDecay",
        warmup_target: TensorLike | None = None,
        warmup_steps: TensorLike = 0,
    ) -> None:
        require_positive("CosineDecay", "decay_steps", decay_steps)
        super().__init__(
            name,
            initial_learning_rate=initial_learning_rate,
            decay_steps=decay_steps,
            alpha=alpha,
            warmup_target=warmup_target,
            warmup_steps=warmup_steps,
        )

    def __call__(self, step: TensorLike) -> Tensor:
        step, first, steps, alpha = self.parts(step, "initial_learning_rate", "decay_steps", "alpha")
        if self._graphad_config["warmup_target"] is None:
            return first * _above(alpha, half_wave(minimum(step, steps) / steps))
        warm, target = self.parts(step, "warmup_steps", "warmup_target")[1:]
        rising = first + (target - first) * step / maximum(warm, 1.0)
        falling = target * _above(alpha, half_wave(minimum(maximum(step - warm, 0.0), steps) / steps))
        return where(less(step, warm), rising, falling)


class CosineDecayRestarts(Kept):
    """`CosineDecay` that begins again after `first_decay_steps`, each time `t_mul` times as long and `m_mul` times as high.

    Args:
      initial_learning_rate: The rate at step 0, a number or a scalar tensor, as are the others.
      first_decay_steps: The length of the first period.
      t_mul: How many times as long each period is as the one before.
      m_mul: How many times as high each period begins.
      alpha: The last rate of a period as a part of `initial_learning_rate`.
      name: Name.
    Raises: InvalidArgumentError (a ValueError): `first_decay_steps` is not positive.
    Source: Loshchilov and Hutter, SGDR: stochastic gradient descent with warm restarts, 2017.
    Example:
      >>> schedule = keras.optimizers.schedules.CosineDecayRestarts(0.1, 100)
      >>> float(schedule(100))
      0.10000000149011612
    """

    def __init__(
        self,
        initial_learning_rate: TensorLike,
        first_decay_steps: TensorLike,
        t_mul: TensorLike = 2.0,
        m_mul: TensorLike = 1.0,
        alpha: TensorLike = 0.0,
        name: str = "SGDRDecay",
    ) -> None:
        require_positive("CosineDecayRestarts", "first_decay_steps", first_decay_steps)
        super().__init__(
            name,
            initial_learning_rate=initial_learning_rate,
            first_decay_steps=first_decay_steps,
            t_mul=t_mul,
            m_mul=m_mul,
            alpha=alpha,
        )

    def __call__(self, step: TensorLike) -> Tensor:
        step, first, steps, longer, height, alpha = self.parts(
            step, "initial_learning_rate", "first_decay_steps", "t_mul", "m_mul", "alpha"
        )
        done = step / steps
        if self._graphad_config["t_mul"] == 1.0:
            count = floor(done)
            part = done - count
        else:  # the waves before number n take (1 - longer ** n) / (1 - longer) of the first one's time
            count = floor(log(1.0 - done * (1.0 - longer)) / log(longer))
            part = (done - (1.0 - longer**count) / (1.0 - longer)) / longer**count
        return first * _above(alpha, height**count * half_wave(part))


def half_wave(part: Tensor) -> Tensor:
    """From 1 to 0 while `part` goes from 0 to 1."""
    return 0.5 * (1.0 + cos(math.pi * part))


def _above(alpha: Tensor, height: Tensor) -> Tensor:
    """A height from 0 to 1 as one from `alpha` to 1."""
    return (1.0 - alpha) * height + alpha


class PiecewiseConstantDecay(LearningRateSchedule):
    """values[i] for steps above boundaries[i - 1] and up to boundaries[i].

    Args:
      boundaries: Steps in rising order.
      values: Rates, one more than boundaries.
      name: Name.
    Raises: InvalidArgumentError (a ValueError): there is not one value more than boundaries.
    Example:
      >>> schedule = keras.optimizers.schedules.PiecewiseConstantDecay([100], [0.1, 0.01])
      >>> float(schedule(100)), float(schedule(101))
      (0.10000000149011612, 0.009999999776482582)
    """

    def __init__(
        self, boundaries: Sequence[TensorLike], values: Sequence[TensorLike], name: str = "PiecewiseConstant"
    ) -> None:
        boundaries = members("PiecewiseConstantDecay", "boundaries", boundaries, "give a list of steps")
        values = members("PiecewiseConstantDecay", "values", values, "give a list of rates")
        if len(boundaries) != len(values) - 1:
            raise InvalidArgumentError(
                f"PiecewiseConstantDecay: {len(boundaries)} boundaries and {len(values)} values; "
                "there must be one value more than boundaries."
            )
        self.boundaries, self.values, self.name = boundaries, values, name

    def __call__(self, step: TensorLike) -> Tensor:
        step = lift(step)
        rate = lift(self.values[0])
        for boundary, value in zip(self.boundaries, self.values[1:], strict=True):
            rate = where(step > cast(boundary, step.dtype), cast(value, rate.dtype), rate)
        return rate

    def get_config(self) -> dict[str, Any]:
        return {"boundaries": self.boundaries, "values": self.values, "name": self.name}


def serialize(learning_rate_schedule: object) -> dict[str, Any] | str:
    """A schedule as a dict of the name of its class and its arguments; of a function its name.

    Args: learning_rate_schedule: A schedule.
    Returns: A dict or a name, which `deserialize` takes.
    Raises: Nothing.
    Example:
      >>> optimizers.schedules.serialize(optimizers.schedules.CosineDecay(0.1, 10))["class_name"]
      'CosineDecay'
    """
    return serialized(learning_rate_schedule)  # type: ignore[no-any-return]


def deserialize(config: Mapping[str, Any] | str, custom_objects: dict[str, Any] | None = None) -> Any:
    """A schedule that a dict or a name of `serialize` describes.

    Args:
      config: A dict with class_name and config, or a name.
      custom_objects: Classes and functions of one's own by name.
    Returns: A schedule.
    Raises: InvalidArgumentError (a ValueError): there is nothing of that name.
    Example:
      >>> made = optimizers.schedules.serialize(optimizers.schedules.ExponentialDecay(0.5, 1, 0.5))
      >>> optimizers.schedules.deserialize(made)(1).numpy()
      np.float32(0.25)
    """
    return made_again("schedules", config, named, custom_objects)


_KINDS = (
    CosineDecay,
    CosineDecayRestarts,
    ExponentialDecay,
    InverseTimeDecay,
    PiecewiseConstantDecay,
    PolynomialDecay,
)


def named(name: str) -> type[LearningRateSchedule] | None:
    """The class of a schedule by its name, None where there is none."""
    return next((kind for kind in _KINDS if kind.__name__ == name), None)
