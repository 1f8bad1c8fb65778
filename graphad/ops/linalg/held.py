"""What linear operators are made of: tensors, and variables, which are read at each use."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeGuard

import numpy as np

from graphad.core.composites import flatten_records
from graphad.core.configured import KeepsArguments
from graphad.core.convert import lift, lift_like, lift_own
from graphad.core.errors import InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.nest import Form, Record, flatten, leaves_of
from graphad.core.tensor import Handle, Tensor
from graphad.core.trackable import Trackable
from graphad.ops.array.create import zeros_like

if TYPE_CHECKING:
    from graphad.core.annotations import TensorLike
    from graphad.core.dtypes import DType


_DATA = (Tensor, Handle, np.ndarray, np.generic)


class Held:
    """An attribute that is a tensor. A variable that was given is read at each use: results have its value and gradient."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_held_{name}"

    def __get__(self, operator: Any, owner: type | None = None) -> Any:
        if operator is None:
            return self
        x = vars(operator)[self._name]
        return lift_own(x) if isinstance(x, Handle) else x

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

        Floating and complex numbers of Python are tensors: operators that differ in them have one structure. Of gradients it is
        an operator, with zeros for those that are None, and None if all are.
        """
        bound = self._graphad_made_with()
        names, given = tuple(bound.arguments), list(bound.arguments.values())
        if "dtype" in vars(self):  # of marks there are no numbers
            dtype = vars(self)["dtype"]
            given = [
                as_data(self._own(name, x), dtype, name in self._lists)
                for name, x in zip(names, given, strict=True)
            ]

        def again(values: list[Any]) -> Any:
            if _lacks_data(values, given):
                return None
            values = _with_zeros(values, given)
            arguments = inspect.BoundArguments(bound.signature, OrderedDict(zip(names, values, strict=True)))
            args, kwargs = arguments.args, arguments.kwargs
            if all(map(_is_whole, values, given)):
                return type(self)(*args, **kwargs)
            return type(self)._of_marks(args, kwargs)

        return Record(Form(type(self), names, again), given)

    def _own(self, name: str, x: Any) -> Any:
        """The tensor with which the operator computes where an array or numbers were given: it is followed by tapes."""
        own = vars(self).get(f"_held_{name}", vars(self).get(f"_held__{name}"))
        is_data = isinstance(own, Tensor | list) and x is not None
        return own if is_data and not isinstance(x, Handle | Tensor) else x

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


def _lacks_data(values: list[Any], given: list[Any]) -> bool:
    """Whether none of the tensors that were given has a gradient."""
    found = [
        x for x, y in zip(leaves_of(values), leaves_of(given), strict=True) if isinstance(y, (*_DATA, MadeOf))
    ]
    return bool(found) and all(x is None for x in found)


def _with_zeros(values: list[Any], given: list[Any]) -> list[Any]:
    """The gradients of arguments as an operator takes them: dense, and zeros for None."""
    leaves, rebuild = flatten(values)
    return rebuild([_as_gradient(x, y) for x, y in zip(leaves, leaves_of(given), strict=True)])  # type: ignore[no-any-return]


def _as_gradient(x: Any, given: Any) -> Any:
    if x is not None or not isinstance(given, (*_DATA, MadeOf)):
        return lift(x) if isinstance(x, IndexedSlices) else x
    parts, rebuild = flatten_records(given)
    return rebuild([zeros_like(part) for part in parts])


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
