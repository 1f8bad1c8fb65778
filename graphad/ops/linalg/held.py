"""What linear operators are made of: tensors, and variables, which are read at each use."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeGuard

import numpy as np

from graphad.core.configured import KeepsArguments
from graphad.core.convert import lift, lift_like, lift_own
from graphad.core.errors import InvalidArgumentError
from graphad.core.nest import Form, Record, flatten, leaves_of
from graphad.core.sparse import Sparse
from graphad.core.tensor import Handle, Tensor
from graphad.core.trackable import Trackable
from graphad.ops.array.create import zeros_like

if TYPE_CHECKING:
    from graphad.core.annotations import TensorLike
    from graphad.core.dtypes import DType


_DATA = (Tensor, Handle, np.ndarray, np.generic)


_HELD = "_held_"


def _read(x: Any) -> Any:
    if isinstance(x, list):
        return [_read(part) for part in x]
    return lift_own(x) if isinstance(x, Handle) else x


class Held:
    """An attribute that is a tensor. A variable that was given is read at each use: results have its value and gradient.

    Its name, without an underscore before it, is that of the argument of the constructor that it holds, if it holds one.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = _HELD + name.removeprefix("_")

    def __get__(self, operator: Any, owner: type | None = None) -> Any:
        if operator is None:
            return self
        return _read(vars(operator)[self._name])

    def __set__(self, operator: Any, x: Any) -> None:
        vars(operator)[self._name] = x


class MadeOf(KeepsArguments, Trackable):
    """Base class of operators: it knows the arguments of their constructors."""

    _parameters: dict[str, Any] | None = None
    _lists: ClassVar[frozenset[str]] = frozenset()  # arguments that may be lists of tensors

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments with which it was made."""
        return (
            dict(self._graphad_made_with().arguments) if self._parameters is None else dict(self._parameters)
        )

    def __graphad_record__(self) -> Record:
        """The arguments with which it was made: functions, branches and loops take operators apart, and make them again.

        Arguments that are held stand as the tensors with which the operator computes, which are those that tapes follow.
        Other floating and complex numbers of Python are tensors: operators that differ in them have one structure.
        """
        bound = self._graphad_made_with()
        names = tuple(bound.arguments)
        given = [self._taken(name, x) for name, x in bound.arguments.items()]

        def again(values: list[Any]) -> Any:
            data = _as_data_of(values, given)
            if data is None:
                return None
            arguments = inspect.BoundArguments(bound.signature, OrderedDict(zip(names, data, strict=True)))
            args, kwargs = arguments.args, arguments.kwargs
            if all(map(_is_whole, data, given)):
                return type(self)(*args, **kwargs)
            return type(self)._of_marks(args, kwargs)

        return Record(Form(type(self), names, again), given)

    def _taken(self, name: str, x: Any) -> Any:
        """An argument as it stands in the record."""
        if x is None or "dtype" not in vars(self):  # of marks there are no numbers
            return x
        held = vars(self).get(_HELD + name)
        return as_data(x, vars(self)["dtype"], name in self._lists) if held is None else held

    @classmethod
    def _of_marks(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Self:
        """What stands for an operator where its structure is compared: marks take the place of its tensors."""
        made = cls.__new__(cls)
        made._graphad_arguments = args, kwargs
        return made

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


def as_data(x: Any, dtype: DType, is_list: bool = False) -> Any:
    """An argument of floating or complex numbers, in lists or alone, as a tensor of an operator's dtype, or as a list of them;
    others as they are."""
    if is_list and isinstance(x, list | tuple):
        return [as_data(part, dtype) for part in x]
    leaves, kind = leaves_of(x), float if dtype.is_floating else complex
    is_data = any(isinstance(leaf, kind) for leaf in leaves)
    return lift(x, dtype) if is_data and all(isinstance(leaf, (int, float, kind)) for leaf in leaves) else x


def _as_data_of(values: list[Any], given: list[Any]) -> list[Any] | None:
    """Values that take the place of what was given, such as gradients: rows of a matrix as all of it, and zeros for what has no
    gradient; None where nothing has one."""
    new, rebuild = flatten(values)
    old = leaves_of(given)
    if len(new) != len(old):
        return values
    is_data = [isinstance(x, (MadeOf, *_DATA)) for x in old]
    if any(is_data) and all(x is None for x, is_one in zip(new, is_data, strict=True) if is_one):
        return None
    parts = [
        lift(x) if isinstance(x, Sparse) else _zeros_in_place_of(y) if x is None and is_one else x
        for x, y, is_one in zip(new, old, is_data, strict=True)
    ]
    return rebuild(parts)  # type: ignore[no-any-return]


def _zeros_in_place_of(x: Any) -> Any:
    """Zeros like a tensor, or an operator made of them."""
    if not isinstance(x, MadeOf):
        return zeros_like(lift(x))
    record = x.__graphad_record__()
    leaves, rebuild = flatten(record.values)
    return record.form.make(
        rebuild([_zeros_in_place_of(y) if isinstance(y, (MadeOf, *_DATA)) else y for y in leaves])
    )


def _is_whole(x: object, given: object) -> bool:
    """Whether an argument can be computed with: no mark took the place of a tensor that was given."""
    leaves, before = leaves_of(x), leaves_of(given)
    return len(leaves) == len(before) and all(map(_is_whole_leaf, leaves, before))


def _is_whole_leaf(x: object, given: object) -> bool:
    if isinstance(x, MadeOf):
        return "dtype" in vars(x)
    if isinstance(x, _DATA):
        return True
    return type(x) is type(given) and not getattr(x, "is_mark", False)


def is_operator(x: object) -> TypeGuard[Any]:
    """Whether x is a linear operator: functions of matrices leave these to its methods."""
    return isinstance(x, MadeOf)


def of_rank(name: str, x: TensorLike, least: int, dtype: DType | None = None) -> Any:
    """x as a tensor of known rank; a variable as it is, to be an attribute that is `Held`.

    Raises: InvalidArgumentError: its rank is not known, or below `least`.
    """
    found = lift_like(name, x, dtype)
    if found.ndim is None or found.ndim < least:
        raise InvalidArgumentError(
            f"{name}: an argument has shape {found.shape}; rank {least} is needed at least."
        )
    return x if isinstance(x, Handle) else found
