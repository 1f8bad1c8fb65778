"""What optimizers share: a learning rate, a step count, one set of slots per variable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.levels import entered
from graphad.core.shapes import format_dims
from graphad.core.tensor import Handle, Tensor
from graphad.core.trackable import Trackable, arrived, settle
from graphad.eager.variable import Variable, pin


class Optimizer(Trackable):
    """Base class. Subclasses name their `slots` and define `update(variable, gradient, slots)`.

    Args:
      learning_rate: A number or a function of no arguments.
    """

    slots: tuple[str, ...] = ()

    def __init__(self, learning_rate: Any = 0.001, *, name: str | None = None) -> None:
        self._graphad_name = name or type(self).__name__.lower()
        self._graphad_schedule: Callable[[], Any] | None = learning_rate if callable(learning_rate) else None
        rate = 0.0 if self._graphad_schedule is not None else learning_rate
        self._rate = Variable(float(rate), trainable=False, name="learning_rate")
        self.iterations = Variable(0, trainable=False, name="iterations", dtype="int64")
        self._slot_variables: list[Any] = []
        self._graphad_slots: dict[int, tuple[Any, ...]] = {}

    @property
    def name(self) -> str:
        return self._graphad_name

    @property
    def learning_rate(self) -> Any:
        return self._rate if self._graphad_schedule is None else self._graphad_schedule()

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self._rate.assign(value)

    @property
    def variables(self) -> list[Any]:
        return [self.iterations, self._rate, *self._slot_variables]

    def build(self, variables: Iterable[Any]) -> None:
        """Make the slots of these variables, so that none is made later."""
        settle()
        known = len(self._slot_variables)
        for variable in variables:
            if self.slots:
                pin(variable)  # a function that is being traced works with the slots of this variable
            if id(variable) not in self._graphad_slots:
                with entered(None):  # they belong to the optimizer, whichever function is being traced
                    made = tuple(
                        Variable(
                            np.zeros_like(variable.data), trainable=False, name=f"{variable.name[:-2]}/{slot}"
                        )
                        for slot in self.slots
                    )
                self._graphad_slots[id(variable)] = (variable, *made)
                self._slot_variables.extend(made)
        if len(self._slot_variables) > known:
            arrived(self)

    def _graphad_state(self) -> Iterator[tuple[str, Any]]:
        yield "iterations", self.iterations
        yield "learning_rate", self._rate
        for name, child in self.named_children():
            if name not in ("iterations", "_rate", "_slot_variables"):
                yield name, child

    def _graphad_slots_by_name(self) -> Iterator[tuple[str, Any, Any]]:
        """Each slot with its name and the variable that it belongs to."""
        for variable, *made in self._graphad_slots.values():
            for name, slot in zip(self.slots, made, strict=True):
                yield name, variable, slot

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]]) -> None:
        """Update each variable by its gradient; pairs without a gradient are skipped.

        Raises: InvalidArgumentError (a ValueError): no variable has a gradient.
        """
        listed = list(grads_and_vars)
        pairs = [(gradient, variable) for gradient, variable in listed if gradient is not None]
        if listed and not pairs:
            raise InvalidArgumentError(
                f"{self.name}: none of the {len(listed)} variables has a gradient: {_names(listed)}; "
                "tape.why_none(loss, variable) says where the path breaks."
            )
        for _, variable in pairs:
            if not isinstance(variable, Variable):
                raise ArgumentTypeError(
                    f"{self.name}: {variable!r} is not a Variable; pass (gradient, variable) pairs."
                )
        for gradient, variable in pairs:
            _require_shape(self.name, gradient, variable)
        self.build(variable for _, variable in pairs)
        self.iterations.assign_add(1)
        for gradient, variable in pairs:
            dense = lift(gradient) if isinstance(gradient, IndexedSlices) else lift(gradient, variable.dtype)
            self.update(variable, dense, self._graphad_slots[id(variable)][1:])
            if variable.constraint is not None:
                variable.assign(variable.constraint(variable))

    def update(self, variable: Variable, gradient: Any, slots: tuple[Variable, ...]) -> None:
        """Update one variable."""
        raise ArgumentTypeError(
            f"{type(self).__name__}: an optimizer must define update(variable, gradient, slots)."
        )


def _require_shape(name: str, gradient: Any, variable: Variable) -> None:
    """Raise for a gradient that cannot belong to the variable."""
    if isinstance(gradient, IndexedSlices):
        dims = gradient.dims
    else:
        dims = gradient.spec.dims if isinstance(gradient, Tensor | Handle) else np.shape(gradient)
    if dims is None or variable.dims is None:
        return
    pairs = zip(dims[::-1], variable.dims[::-1], strict=False)
    if len(dims) > len(variable.dims) or any(
        type(a) is int and type(b) is int and a not in (1, b) for a, b in pairs
    ):
        raise InvalidArgumentError(
            f"{name}: the gradient of variable {variable.name!r} has shape {format_dims(dims)}, the variable "
            f"{format_dims(variable.dims)}; is it the gradient of another variable?"
        )


def _names(pairs: list[tuple[Any, Any]]) -> str:
    named = [repr(getattr(variable, "name", variable)) for _, variable in pairs]
    return ", ".join(named[:4]) + (f" and {len(named) - 4} more" if len(named) > 4 else "")
