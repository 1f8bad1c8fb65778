"""Moving averages of variables, kept beside them."""

from __future__ import annotations

from collections.abc import Iterable

from graphad.core.annotations import TensorLike
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.scopes import init_scope
from graphad.eager.variable import Variable, pin
from graphad.ops.array import convert_to_tensor
from graphad.ops.math import cast, minimum


class ExponentialMovingAverage:
    """Averages of variables that forget at a fixed rate: average <- decay average + (1 - decay) variable, at each `apply`.

    Args:
      decay: The part of the average that is kept, from 0 to 1.
      num_updates: A number or scalar that counts updates: the decay is at most (1 + n) / (10 + n), so that the first averages
        follow quickly.
      zero_debias: Accepted for compatibility: averages begin with the variables' values and have no bias.
      name: What the names of the averages end with.
    Raises: InvalidArgumentError (a ValueError): an average is updated with a decay that is no number.
    Example:
      >>> v = Variable([1.0, 2.0])
      >>> ema = train.ExponentialMovingAverage(0.9)
      >>> ema.apply([v])
      >>> v.assign([2.0, 4.0]).numpy()
      array([2., 4.], dtype=float32)
      >>> ema.apply([v])
      >>> ema.average(v).numpy()
      array([1.1, 2.2], dtype=float32)
    """

    def __init__(
        self,
        decay: TensorLike,
        num_updates: TensorLike | None = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay, self._num_updates, self._name = decay, num_updates, name
        self._kept: dict[int, tuple[Variable, Variable]] = {}

    @property
    def name(self) -> str:
        """What the names of the averages end with."""
        return self._name

    def apply(self, var_list: Iterable[Variable] | None = None) -> None:
        """Update the average of each variable; the first time it begins with the variable's value.

        Args: var_list: Variables of a float dtype; by default those that have an average.
        Raises: ArgumentTypeError (a TypeError): one is no variable, or has another dtype.
        """
        given = [variable for variable, _ in self._kept.values()] if var_list is None else list(var_list)
        for variable in given:
            if not isinstance(variable, Variable) or not variable.dtype.is_floating:
                what = variable.dtype.name if isinstance(variable, Variable) else type(variable).__name__
                raise ArgumentTypeError(
                    f"ExponentialMovingAverage: variables of a float dtype have averages; got {what}."
                )
            pin(variable)  # a function that is being traced works with the average of this variable
            if id(variable) not in self._kept:
                with init_scope():
                    begin = variable.read_value()
                    own = variable.name.partition(":")[0]
                    kept = Variable(begin, trainable=False, name=f"{own}/{self._name}")
                self._kept[id(variable)] = (variable, kept)
        decay = convert_to_tensor(self._decay, "float32")
        if decay.shape.rank not in (None, 0):
            raise InvalidArgumentError(
                f"ExponentialMovingAverage: decay has shape {decay.shape}; it must be a scalar."
            )
        if self._num_updates is not None:
            count = cast(convert_to_tensor(self._num_updates), "float32")
            decay = minimum(decay, (1.0 + count) / (10.0 + count))
        for variable in given:
            kept = self._kept[id(variable)][1]
            kept.assign_sub((kept - variable) * cast(1.0 - decay, kept.dtype))

    def average(self, var: Variable) -> Variable | None:
        """The average of a variable, a variable too, or None before it has one."""
        kept = self._kept.get(id(var))
        return None if kept is None else kept[1]

    def average_name(self, var: Variable) -> str:
        """The name of the average that the variable has or will have."""
        kept = self.average(var)
        return f"{var.name.partition(':')[0]}/{self._name}" if kept is None else kept.name.partition(":")[0]

    def variables_to_restore(
        self, moving_avg_variables: Iterable[Variable] | None = None
    ) -> dict[str, Variable]:
        """Variables by the names of their averages, had or to be, to restore them from; by default those that have one."""
        kept = [variable for variable, _ in self._kept.values()]
        chosen = kept if moving_avg_variables is None else {id(x): x for x in moving_avg_variables}.values()
        found: dict[str, Variable] = {}
        for variable in chosen:
            name = self.average_name(variable)
            same = sum(other == name or other.startswith(f"{name}_") for other in found)
            found[f"{name}_{same}" if same else name] = variable
        return found
