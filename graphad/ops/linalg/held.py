"""What linear operators are made of: tensors, and variables, which are read at each use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeGuard

from graphad.core.configured import KeepsArguments
from graphad.core.convert import lift_like, lift_own
from graphad.core.errors import InvalidArgumentError
from graphad.core.nest import leaves_of
from graphad.core.tensor import Handle
from graphad.core.trackable import Trackable

if TYPE_CHECKING:
    from graphad.core.annotations import TensorLike
    from graphad.core.dtypes import DType


class Computed:
    """What stands for a tensor that is computed at each use, since variables are among what it is made of."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def computed(make: Callable[[], Any], *given: Any) -> Any:
    """The tensor that `make` gives, or what stands for it where variables are among `given`."""
    return Computed(make) if any(isinstance(x, Handle | Computed) for x in given) else make()


class Held:
    """An attribute that is a tensor. A variable that was given is read at each use: results have its value and gradient."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_held_{name}"

    def __get__(self, operator: Any, owner: type | None = None) -> Any:
        if operator is None:
            return self
        x = vars(operator)[self._name]
        return x.make() if type(x) is Computed else lift_own(x) if isinstance(x, Handle) else x

    def __set__(self, operator: Any, x: Any) -> None:
        vars(operator)[self._name] = x


class MadeOf(KeepsArguments, Trackable):
    """Base class of operators: it knows the arguments of their constructors."""

    _parameters: dict[str, Any] | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments with which it was made."""
        return (
            dict(self._graphad_made_with().arguments) if self._parameters is None else dict(self._parameters)
        )

    @property
    def variables(self) -> tuple[Handle, ...]:
        """The variables it was made of, those of its operators included."""
        found: dict[int, Handle] = {}
        for x in leaves_of(list(self.parameters.values())):
            for variable in x.variables if isinstance(x, MadeOf) else [x]:
                if isinstance(variable, Handle):
                    found.setdefault(id(variable), variable)
        return tuple(found.values())

    __graphad_variables__ = variables

    @property
    def trainable_variables(self) -> tuple[Handle, ...]:
        """Those of its variables that are trained."""
        return tuple([x for x in self.variables if x.trainable])


def is_operator(x: object) -> TypeGuard[Any]:
    """Whether x is a linear operator: functions of matrices leave these to its methods."""
    return isinstance(x, MadeOf)


def of_rank(name: str, x: TensorLike | Computed, least: int, dtype: DType | None = None) -> Any:
    """x as a tensor of known rank; a variable, and what is computed from one, as it is, to be an attribute that is `Held`.

    Raises: InvalidArgumentError: its rank is not known, or below `least`.
    """
    found = lift_like(name, x.make() if isinstance(x, Computed) else x, dtype)
    if found.ndim is None or found.ndim < least:
        raise InvalidArgumentError(
            f"{name}: an argument has shape {found.shape}; rank {least} is needed at least."
        )
    return x if isinstance(x, Handle | Computed) else found
