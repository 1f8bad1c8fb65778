"""The base class of optimizers: a learning rate, a step count, one set of slots for each variable."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from graphad.core.annotations import Cotangent, RateLike, TensorLike
from graphad.core.configured import Configured
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.levels import entered
from graphad.core.refusal import members
from graphad.core.tensor import Handle, Tensor
from graphad.core.trackable import Trackable, arrived, settle
from graphad.eager.variable import Variable, pin
from graphad.gradient.tape import GradientTape
from graphad.ops import math
from graphad.ops.array import zeros_like
from graphad.ops.control.branch import cond
from graphad.ops.directly import parts_directly
from graphad.ops.linalg import clip_by_global_norm, clip_by_norm
from graphad.ops.math import cast, clip_by_value, equal, floordiv, floormod, not_equal
from graphad.optimizers.decay import LearningRateSchedule, deserialize
from graphad.optimizers.gradients import Gradient, as_gradient, divided, names_of

if TYPE_CHECKING:
    from graphad.core.annotations import Numbers


def _arguments_of(kind: type) -> list[str]:
    """The arguments that a class of optimizers names, and those of its bases to which it hands on what is left."""
    found: dict[str, None] = {}
    for part in kind.__mro__:
        if not issubclass(part, Optimizer) or "__init__" not in vars(part):
            continue
        parameters = list(inspect.signature(vars(part)["__init__"]).parameters.values())[1:]
        found.update(dict.fromkeys(x.name for x in parameters if x.kind is not x.VAR_KEYWORD))
    return list(found)


# Arguments of every optimizer, which its configuration has.
_FOR_ALL = (
    "weight_decay",
    "clipnorm",
    "clipvalue",
    "global_clipnorm",
    "use_ema",
    "ema_momentum",
    "ema_overwrite_frequency",
    "loss_scale_factor",
    "gradient_accumulation_steps",
)


class Optimizer(Configured, Trackable):
    """Base class. Subclasses name their `slots` and define `update(variable, gradient, slots)`.

    Within `update`, `iterations` counts the steps before this one.

    Args:
      learning_rate: A number, a tensor or a function of no arguments.
      weight_decay: Before its update each variable loses this part of itself times the learning rate.
      clipnorm: The largest norm of the gradient of one variable; a larger one is scaled down.
      clipvalue: The largest magnitude of an element of a gradient.
      global_clipnorm: The largest norm of all gradients together.
      use_ema: Whether to keep a moving average of each variable, which begins with its value after the first step;
        `finalize_variable_values` assigns it.
      ema_momentum: How much of the average is kept in a step, 0 to 1.
      ema_overwrite_frequency: After how many steps the variables become their averages, each time; None or 0 for never.
      loss_scale_factor: What `scale_loss` multiplies a loss by, and gradients are divided by.
      gradient_accumulation_steps: Of how many calls the mean of the gradients makes one step, 2 or more; None for each call.
      name: Name.
      unknown: Refused.
    Attributes: iterations: The number of steps: a variable, or where several calls make a step, a tensor that follows from it.
    Raises: ArgumentTypeError (a TypeError): no such argument; InvalidArgumentError (a ValueError), when gradients are applied: a
      gradient of another shape than its variable.
    """

    slots: tuple[str, ...] = ()

    def __init__(
        self,
        learning_rate: RateLike = 0.001,
        *,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **unknown: Any,
    ) -> None:
        self._graphad_name = name or type(self).__name__.lower()
        for argument in unknown:
            raise ArgumentTypeError(
                f"{type(self).__name__}: there is no argument {argument!r}; it takes {', '.join(_arguments_of(type(self)))}."
            )
        limits = {"clipnorm": clipnorm, "clipvalue": clipvalue, "global_clipnorm": global_clipnorm}
        given = [f"{limit}={value}" for limit, value in limits.items() if value is not None]
        if len(given) > 1:
            raise InvalidArgumentError(f"{self.name}: {' and '.join(given)}; one of them is taken.")
        if use_ema and not 0 <= ema_momentum <= 1:
            raise InvalidArgumentError(
                f"{self.name}: ema_momentum is {ema_momentum}; 0 <= ema_momentum <= 1."
            )
        for word, count, least in (
            ("ema_overwrite_frequency", ema_overwrite_frequency, 0),
            ("gradient_accumulation_steps", gradient_accumulation_steps, 2),
        ):
            if count is not None and not (isinstance(count, int) and count >= least):
                raise InvalidArgumentError(
                    f"{self.name}: {word} is {count!r}; an integer of {least} or more is needed."
                )
        self.use_ema, self.ema_momentum = use_ema, ema_momentum
        self.ema_overwrite_frequency = ema_overwrite_frequency
        self.loss_scale_factor = loss_scale_factor
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.weight_decay = weight_decay
        self.clipnorm, self.clipvalue, self.global_clipnorm = clipnorm, clipvalue, global_clipnorm
        self._graphad_schedule: Callable[..., TensorLike] | None = (
            learning_rate if callable(learning_rate) else None
        )
        self._graphad_undecayed: set[int] = set()
        rate: Any = 0.0 if self._graphad_schedule is not None else learning_rate
        try:
            rate = float(rate)
        except (TypeError, ValueError) as cause:
            raise ArgumentTypeError(
                f"{self.name}: learning_rate is {rate!r}; give a number, a scalar tensor, a schedule, or a function of no "
                "arguments."
            ) from cause
        self._rate = Variable(rate, trainable=False, name="learning_rate")
        # calls of `apply_gradients`: in files the one count, as in Keras', from which the steps follow
        self._graphad_count = Variable(0, trainable=False, name="iterations", dtype="int64")
        self._slot_variables: list[Handle] = []
        self._graphad_slots: dict[int, tuple[Variable, ...]] = {}

    # Type checkers are not told: to them a name that no class has stays a mistake.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What is said of an attribute that is not there."""
            cure = (
                ": compute_gradients(loss, variables) and tf.GradientTape give gradients"
                if name == "get_gradients"
                else ""
            )
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}{cure}.", name=name, obj=self
            )

    def base_config(self) -> dict[str, Any]:
        """The name, the learning rate as it is now, a number or a schedule, and the limits of weights and gradients."""
        schedule = self._graphad_schedule
        rate = float(self._rate.numpy()) if schedule is None else schedule
        return {
            "name": self.name,
            "learning_rate": rate,
            **{word: getattr(self, word) for word in _FOR_ALL},
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Self:
        rate = config.get("learning_rate")
        if isinstance(rate, Mapping):
            config = {**config, "learning_rate": deserialize(rate, custom_objects)}
        return cls(**config)

    @property
    def name(self) -> str:
        return self._graphad_name

    def __repr__(self) -> str:
        schedule = self._graphad_schedule
        rate = (
            f"{self._rate.numpy():g}" if schedule is None else getattr(schedule, "__name__", repr(schedule))
        )
        step = int(self.iterations)
        return f"<{type(self).__name__}: learning rate {rate}, {f'step {step}' if step else 'not used yet'}>"

    @property
    def iterations(self) -> Variable:
        steps = self.gradient_accumulation_steps
        if steps is None:
            return self._graphad_count
        return floordiv(self._graphad_count, steps)  # type: ignore[return-value] # only few optimizers have steps of several calls

    @iterations.setter
    def iterations(self, variable: Variable) -> None:
        if not isinstance(variable, Variable):
            raise ArgumentTypeError(
                f"{self.name}: iterations is {variable!r}; give a variable, or change its value by iterations.assign."
            )
        self._graphad_count = variable

    @property
    def learning_rate(self) -> Any:
        schedule = self._graphad_schedule
        if schedule is None:
            return self._rate
        if not isinstance(schedule, LearningRateSchedule):
            return schedule()
        return schedule(self._graphad_count)

    @learning_rate.setter
    def learning_rate(self, value: RateLike) -> None:
        if callable(value):
            self._graphad_schedule = value
        elif self._graphad_schedule is not None:
            raise ArgumentTypeError(
                f"{self.name}: the learning rate is the schedule {self._graphad_schedule!r}, and {value!r} is none; "
                "assign another schedule, or a function of no arguments."
            )
        else:
            self._rate.assign(value)

    @property
    def lr(self) -> Any:
        """The learning rate under the name that it has in Keras 2; an assignment changes it."""
        return self.learning_rate

    @lr.setter
    def lr(self, value: RateLike) -> None:
        self.learning_rate = value

    @property
    def variables(self) -> list[Handle]:
        return [self._graphad_count, self._rate, *self._slot_variables]

    @property
    def _graphad_all_slots(self) -> tuple[str, ...]:
        """The names of a variable's slots: those of `update`, then those of every optimizer."""
        average = ("average",) if self.use_ema else ()
        accumulated = () if self.gradient_accumulation_steps is None else ("accumulated",)
        return (*self.slots, *average, *accumulated)

    def build(self, variables: Iterable[Variable]) -> None:
        """Create the slots of these variables now."""
        settle()
        known = len(self._slot_variables)
        for variable in variables:
            if self._graphad_all_slots:
                pin(variable)  # a function that is being traced works with the slots of this variable
            if id(variable) not in self._graphad_slots:
                with entered(None):  # they belong to the optimizer, not to the function being traced
                    made = tuple(
                        variable.kin(
                            np.full(
                                *self._first_of(slot, tuple(variable.place.data.shape)),
                                variable.dtype.numpy,
                            ),
                            f"{variable.name[:-2]}/{slot}",
                        )
                        for slot in self._graphad_all_slots
                    )
                self._graphad_slots[id(variable)] = (variable, *made)
                self._slot_variables.extend(made)
        if len(self._slot_variables) > known:
            arrived(self)

    def named_children(self) -> Iterator[tuple[str, object]]:
        yield from sorted([*super().named_children(), ("iterations", self._graphad_count)], key=itemgetter(0))

    def _graphad_state(self) -> Iterator[tuple[str, Any]]:
        yield "iterations", self._graphad_count
        yield "learning_rate", self._rate
        for name, child in self.named_children():
            if name not in ("iterations", "_rate", "_slot_variables"):
                yield name, child

    def _graphad_slots_by_name(self) -> Iterator[tuple[str, Variable, Variable]]:
        """Each slot with its name and the variable that it belongs to."""
        for variable, *made in self._graphad_slots.values():
            for name, slot in zip(self._graphad_all_slots, made, strict=True):
                yield name, variable, slot

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[TensorLike | IndexedSlices | None, Variable]]
    ) -> Variable:
        """Update each variable by its gradient; pairs without a gradient are skipped.

        Returns: The variable that counts the calls, this one too.
        Raises: InvalidArgumentError (a ValueError): no variable has a gradient.
        """
        listed = members(
            "apply_gradients", "grads_and_vars", grads_and_vars, "give pairs (gradient, variable)"
        )
        for k, pair in enumerate(listed):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ArgumentTypeError(
                    f"{self.name}: apply_gradients takes pairs (gradient, variable), as zip(gradients, variables) gives; "
                    f"item {k} is {pair!r}."
                )
        pairs = [(gradient, variable) for gradient, variable in listed if gradient is not None]
        if listed and not pairs:
            raise InvalidArgumentError(
                f"{self.name}: none of the {len(listed)} variables has a gradient: {names_of(listed)}; "
                "tape.why_none(loss, variable) says where the path breaks."
            )
        for _, variable in pairs:
            if not isinstance(variable, Variable):
                raise ArgumentTypeError(
                    f"{self.name}: {variable!r} is not a Variable; pass (gradient, variable) pairs."
                )
        pairs = [(as_gradient(self.name, gradient, variable), variable) for gradient, variable in pairs]
        self.build(variable for _, variable in pairs)
        gradients = [
            gradient if self._stays_apart(gradient, variable) else lift(gradient, variable.dtype)
            for gradient, variable in pairs
        ]
        variables = [variable for _, variable in pairs]
        if self.loss_scale_factor is not None:
            gradients = [divided(gradient, self.loss_scale_factor) for gradient in gradients]
        if self.gradient_accumulation_steps is None:
            self._step(gradients, variables)
        else:
            self._accumulate(gradients, variables, self.gradient_accumulation_steps)
        self._average()
        self._graphad_count.assign_add(1)
        return self._graphad_count

    def compute_gradients(
        self, loss: Any, var_list: Any, tape: GradientTape | None = None
    ) -> list[tuple[Cotangent, Variable]]:
        """Pairs of gradients and variables, for `apply_gradients`.

        Args:
          loss: A function of no arguments, recorded here; or a tensor, with the tape that recorded it.
          var_list: The variables, or a single one; with a function as loss also a function that lists them, called after it.
          tape: The tape of the loss; by default a new one.
        Raises: ArgumentTypeError (a TypeError): a tensor without its tape.
        """
        variables = None if callable(var_list) else listed(var_list)
        if callable(loss):
            with GradientTape() if tape is None else tape as tape:
                if variables is not None:
                    tape.watch(variables)
                loss = loss()
        elif tape is None:
            raise ArgumentTypeError(
                f"{self.name}: the loss is {loss!r}, a tensor without the tape that recorded it; pass tape=, or a function of no "
                "arguments that returns the loss."
            )
        if variables is None:
            variables = listed(var_list())
        return list(zip(tape.gradient(loss, variables), variables, strict=True))

    def minimize(self, loss: Any, var_list: Any, tape: GradientTape | None = None) -> Variable:
        """One step towards less of `loss`: `compute_gradients` and then `apply_gradients`.

        Args: loss, var_list, tape: As for `compute_gradients`.
        Returns: The variable that counts the calls.
        Example:
          >>> v = Variable(3.0)
          >>> steps = keras.optimizers.SGD(0.1).minimize(lambda: v * v, [v])
          >>> v.numpy()
          np.float32(2.4)
        """
        return self.apply_gradients(self.compute_gradients(loss, var_list, tape))

    def _step(self, gradients: list[Gradient], variables: list[Variable]) -> None:
        """Clip, decay and update."""
        gradients = self._clipped(gradients)
        if self.weight_decay is not None:
            for variable in variables:
                if id(variable) not in self._graphad_undecayed:
                    variable.assign_sub(variable * self.weight_decay * self.rate(variable))
        self.begin(variables)
        n = len(self.slots)
        for gradient, variable in zip(gradients, variables, strict=True):
            self.update(variable, gradient, self._graphad_slots[id(variable)][1 : n + 1])
            if not self.use_ema:
                _constrain(variable)

    def _accumulate(self, gradients: list[Gradient], variables: list[Variable], steps: int) -> None:
        """Add gradients to those of the calls before; the last call of a step takes their mean."""
        sums = [self._graphad_slots[id(variable)][-1] for variable in variables]
        totals = [gradient + total for gradient, total in zip(gradients, sums, strict=True)]
        ends = equal(floormod(self._graphad_count + 1, steps), 0)

        def step() -> Tensor:
            self._step([total / cast(steps, total.dtype) for total in totals], variables)
            return _assign_all([(kept[-1], zeros_like(kept[-1])) for kept in self._graphad_slots.values()])

        cond(ends, step, lambda: _assign_all(zip(sums, totals, strict=True)))

    def _average(self) -> None:
        """Keep the averages, before the step is counted; put the variables within their constraints."""
        if not self.use_ema:
            return
        place = 1 + len(self.slots)
        kept = [(slots[0], slots[place]) for slots in self._graphad_slots.values()]
        for variable, average in kept:
            momentum = cast(not_equal(self.iterations, 0), variable.dtype) * self.ema_momentum
            average.assign(momentum * average + (1.0 - momentum) * variable)
        if self.ema_overwrite_frequency:
            ends = equal(floormod(self.iterations + 1, self.ema_overwrite_frequency), 0)
            cond(ends, lambda: _assign_all(kept), lambda: _assign_all(()))
        for variable, _ in kept:
            _constrain(variable)

    def scale_loss(self, loss: TensorLike) -> TensorLike:
        """The loss times `loss_scale_factor`, of which gradients are taken; `apply_gradients` divides them by it."""
        return loss if self.loss_scale_factor is None else lift(loss) * self.loss_scale_factor

    def finalize_variable_values(self, var_list: Iterable[Variable]) -> None:
        """Assign variables their moving averages, where `use_ema` keeps them.

        Raises: InvalidArgumentError (a ValueError): a variable has none, since it was never updated.
        """
        if not self.use_ema:
            return
        for variable in var_list:
            if id(variable) not in self._graphad_slots:
                raise InvalidArgumentError(
                    f"{self.name}: finalize_variable_values: {variable.name!r} has no average; call `build` with it, or apply "
                    "a gradient."
                )
            variable.assign(self._graphad_slots[id(variable)][1 + len(self.slots)])

    def apply(
        self,
        grads: Iterable[TensorLike | IndexedSlices | None],
        trainable_variables: Iterable[Variable] | None = None,
    ) -> None:
        """`apply_gradients` of gradients and variables in two lists; without the second, the variables of `build`."""
        gradients = list(grads)
        if trainable_variables is None:
            trainable_variables = [kept[0] for kept in self._graphad_slots.values()]
        variables = list(trainable_variables)
        if len(gradients) != len(variables):
            raise InvalidArgumentError(
                f"{self.name}: {len(gradients)} gradients for {len(variables)} variables; "
                "give as many variables, or call `build` with them first."
            )
        self.apply_gradients(zip(gradients, variables, strict=True))

    def exclude_from_weight_decay(
        self, var_list: Iterable[Variable] | None = None, var_names: Iterable[str] | None = None
    ) -> None:
        """Leave these variables out of the weight decay: those listed, and those whose name has one of these parts.

        Args:
          var_list: Variables.
          var_names: Regular expressions, looked for in the names of variables for which `build` was called.
        """
        self._graphad_undecayed |= {id(variable) for variable in var_list or ()}
        parts = list(var_names or ())
        self._graphad_undecayed |= {
            key
            for key, kept in self._graphad_slots.items()
            if any(re.search(part, kept[0].name) for part in parts)
        }

    def rate(self, variable: Variable) -> Tensor:
        """The learning rate in the dtype of the variable."""
        rate = self.learning_rate
        return cast(rate.value() if rate is self._rate else rate, variable.dtype)

    def step(self, variable: Variable) -> Tensor:
        """The number of this step, from 1, in the dtype of the variable."""
        return cast(self.iterations, variable.dtype) + 1.0

    def by_formula(
        self,
        formula: Callable[..., Sequence[Any]],
        variable: Variable,
        gradient: Gradient,
        slots: tuple[Variable, ...],
        *further: Tensor,
    ) -> None:
        """Update one variable by a formula, which arrays and tensors go through alike.

        Args:
          formula: f(of, step, rate, gradient, *slots, *further) gives what is subtracted from the variable, and the new value of
            each slot. `of` has the functions that are no operators: NumPy where nothing follows what is computed, else the ops.
          further: Other tensors that the formula reads.
        """
        values = (self.rate(variable), gradient, *[lift(slot) for slot in slots], *further)
        found: Any = parts_directly(partial(_of_arrays, formula), lift(self.iterations), *values)
        change, *new = formula(math, self.step(variable), *values) if found is None else found
        for slot, value in zip(slots, new, strict=True):
            slot.assign(value)
        variable.assign_sub(change)

    def _first_of(self, slot: str, shape: tuple[int, ...]) -> tuple[tuple[int, ...], float]:
        """Shape and initial value of a slot; those of every optimizer have the shape of the variable."""
        return (self.slot_shape(slot, shape), self.first(slot)) if slot in self.slots else (shape, 0.0)

    def first(self, slot: str) -> float:
        """The initial value of all elements of a slot."""
        return 0.0

    def slot_shape(self, slot: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a slot of a variable of that shape."""
        return shape

    def begin(self, variables: list[Variable]) -> None:
        """Called once in a step, before the first `update`."""

    @property
    def takes_slices(self) -> bool:
        """Whether `update` takes IndexedSlices as they are, and rows without a slice stay what they are."""
        return False

    def _stays_apart(self, gradient: object, variable: Variable) -> bool:
        """Whether a gradient is given to `update` as its slices: no clipping needs the whole, and the whole table is not made."""
        return (
            isinstance(gradient, IndexedSlices)
            and self.takes_slices
            and gradient.dtype is variable.dtype
            and not (self.clipnorm or self.clipvalue or self.global_clipnorm)
            and self.gradient_accumulation_steps is None
        )

    def _clipped(self, gradients: list[Gradient]) -> list[Gradient]:
        if self.clipnorm:
            return [clip_by_norm(gradient, self.clipnorm) for gradient in gradients]
        if self.clipvalue:
            return [clip_by_value(gradient, -self.clipvalue, self.clipvalue) for gradient in gradients]
        if self.global_clipnorm:
            return clip_by_global_norm(gradients, self.global_clipnorm)[0]
        return gradients

    def update(
        self, variable: Variable, gradient: Tensor | IndexedSlices, slots: tuple[Variable, ...]
    ) -> None:
        """Update one variable; here by the formula of `_changes`."""
        self.by_formula(self._changes, variable, gradient, slots)

    def _changes(self, *values: Any, **named: Any) -> Sequence[Numbers]:
        """A formula for `by_formula`, in an optimizer that has one."""
        raise ArgumentTypeError(
            f"{type(self).__name__}: an optimizer must define update(variable, gradient, slots)."
        )


def listed(variables: Any) -> list[Any]:
    """Variables as a list, a single one too, of whose elements a list would otherwise be made."""
    return [variables] if isinstance(variables, Handle) else list(variables)


def _of_arrays(formula: Callable[..., Sequence[Any]], count: Any, rate: Any, *values: Any) -> Sequence[Any]:
    """A formula of `by_formula` of arrays; the step is that of `Optimizer.step`."""
    return formula(np, count.astype(rate.dtype) + 1.0, rate, *values)


def _constrain(variable: Variable) -> None:
    if variable.constraint is not None:
        variable.assign(variable.constraint(variable))


def _assign_all(pairs: Iterable[tuple[Variable, TensorLike]]) -> Tensor:
    for variable, value in pairs:
        variable.assign(value)
    return lift(0)
