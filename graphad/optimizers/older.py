"""Learning rates and the global step as TensorFlow 1 has them; `compat.v1.train` lists them.

A rate depends on a variable that counts steps. As in TensorFlow, these give a function without arguments if they are called
eagerly, and the rate itself in a traced function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import local

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.levels import trace_in_progress
from graphad.core.tensor import Tensor
from graphad.eager.variable import Variable
from graphad.ops.math import exp, minimum
from graphad.optimizers import decay

Rate = Callable[[], Tensor] | Tensor
_kept = local()  # a step belongs to its thread, as a graph of TensorFlow's does


def get_global_step(graph: object = None) -> Variable | None:
    """The variable that `get_or_create_global_step` made in this thread, None if it has made none."""
    return getattr(_kept, "step", None)


def create_global_step(graph: object = None) -> Variable:
    """A new int64 variable 'global_step', which counts the steps of this thread's training.

    Raises: InvalidArgumentError (a ValueError): there is one.
    """
    if get_global_step() is not None:
        raise InvalidArgumentError('create_global_step: "global_step" already exists; use get_global_step().')
    _kept.step = Variable(0, trainable=False, dtype=dtypes.int64, name="global_step")
    return get_or_create_global_step()


def get_or_create_global_step(graph: object = None) -> Variable:
    """The int64 variable that counts the steps of this thread's training; made when it is first asked for."""
    found = get_global_step()
    return create_global_step() if found is None else found


def reset_default_graph() -> None:
    """Forget the global step of this thread: of what a graph of TensorFlow's holds, there is nothing else."""
    _kept.step = None


def exponential_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Rate:
    """learning_rate * decay_rate ** (global_step / decay_steps); with `staircase` the exponent is rounded down.

    Args:
      learning_rate: The rate at step 0.
      global_step: A variable or number that counts steps.
      decay_steps: After how many steps the rate has fallen by the factor `decay_rate`.
      decay_rate: The factor.
      staircase: Whether the rate falls in steps.
    Returns: Eagerly a function without arguments that gives the rate; in a traced function the rate.
    Raises: InvalidArgumentError (a ValueError): `global_step` is None, or `decay_steps` is not positive.
    """
    return _rate(
        "exponential_decay",
        decay.ExponentialDecay(learning_rate, decay_steps, decay_rate, staircase),
        global_step,
    )


def natural_exp_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Rate:
    """learning_rate * exp(-decay_rate * global_step / decay_steps); see `exponential_decay`."""
    factor = exp(-lift(decay_rate))
    schedule = decay.ExponentialDecay(learning_rate, decay_steps, factor, staircase)
    return _rate("natural_exp_decay", schedule, global_step)


def inverse_time_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Rate:
    """learning_rate / (1 + decay_rate * global_step / decay_steps); see `exponential_decay`."""
    schedule = decay.InverseTimeDecay(learning_rate, decay_steps, decay_rate, staircase)
    return _rate("inverse_time_decay", schedule, global_step)


def polynomial_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    end_learning_rate: TensorLike = 0.0001,
    power: TensorLike = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Rate:
    """From `learning_rate` to `end_learning_rate` as (1 - global_step / decay_steps) ** power; see `exponential_decay`."""
    schedule = decay.PolynomialDecay(learning_rate, decay_steps, end_learning_rate, power, cycle)
    return _rate("polynomial_decay", schedule, global_step)


def cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    alpha: TensorLike = 0.0,
    name: str | None = None,
) -> Rate:
    """Half a cosine from `learning_rate` to `alpha` times it; see `exponential_decay`."""
    return _rate("cosine_decay", decay.CosineDecay(learning_rate, decay_steps, alpha), global_step)


def cosine_decay_restarts(
    learning_rate: TensorLike,
    global_step: TensorLike,
    first_decay_steps: TensorLike,
    t_mul: TensorLike = 2.0,
    m_mul: TensorLike = 1.0,
    alpha: TensorLike = 0.0,
    name: str | None = None,
) -> Rate:
    """Cosines that begin anew, each `t_mul` times as long and `m_mul` times as high; see `exponential_decay`."""
    schedule = decay.CosineDecayRestarts(learning_rate, first_decay_steps, t_mul, m_mul, alpha)
    return _rate("cosine_decay_restarts", schedule, global_step)


def linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: TensorLike,
    decay_steps: TensorLike,
    num_periods: float = 0.5,
    alpha: float = 0.0,
    beta: float = 0.001,
    name: str | None = None,
) -> Rate:
    """learning_rate * ((alpha + 1 - t) * (1 + cos(2 pi num_periods t)) / 2 + beta), t = global_step / decay_steps up to 1; see
    `exponential_decay`.

    Raises: InvalidArgumentError (a ValueError): `global_step` is None, or `decay_steps` is not positive.
    Source: Bello et al., Neural optimizer search with reinforcement learning, 2017.
    """

    schedule = _LinearCosineDecay(learning_rate, decay_steps, num_periods, alpha, beta)
    return _rate("linear_cosine_decay", schedule, global_step)


class _LinearCosineDecay(decay.Kept):
    """`linear_cosine_decay` as a schedule."""

    def __init__(
        self,
        initial_learning_rate: TensorLike,
        decay_steps: TensorLike,
        num_periods: float,
        alpha: float,
        beta: float,
    ) -> None:
        decay.require_positive("linear_cosine_decay", "decay_steps", decay_steps)
        super().__init__(
            "LinearCosineDecay",
            initial_learning_rate=initial_learning_rate,
            decay_steps=decay_steps,
            num_periods=num_periods,
            alpha=alpha,
            beta=beta,
        )

    def __call__(self, step: TensorLike) -> Tensor:
        step, first, steps, periods, alpha, beta = self.parts(
            step, "initial_learning_rate", "decay_steps", "num_periods", "alpha", "beta"
        )
        done = minimum(step, steps) / steps
        return first * ((alpha + 1.0 - done) * decay.half_wave(2.0 * periods * done) + beta)


def piecewise_constant(
    x: TensorLike, boundaries: Sequence[TensorLike], values: Sequence[TensorLike], name: str | None = None
) -> Rate:
    """values[k] while x is at most boundaries[k], the last value behind; see `exponential_decay`.

    Args:
      x: A variable or number that counts steps.
      boundaries: Numbers that rise.
      values: One more.
    Raises: InvalidArgumentError (a ValueError): there is not one value more.
    """
    return _rate("piecewise_constant", decay.PiecewiseConstantDecay(boundaries, values), x)


def _rate(own: str, schedule: Callable[[TensorLike], Tensor], step: TensorLike | None) -> Rate:
    if step is None:
        raise InvalidArgumentError(
            f"{own}: global_step is None; give a variable that counts the steps, such as get_or_create_global_step()."
        )

    def now() -> Tensor:
        return schedule(step)

    return now() if trace_in_progress() is not None else now
