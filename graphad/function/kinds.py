"""What kinds of functions there are, as classes for `isinstance`; `graphad.types.experimental` lists them."""

from __future__ import annotations

from abc import ABC

from graphad.function import concrete, polymorphic


class Callable(ABC):  # noqa: B024 - what it lists are classes that others have written
    """A traced function of any kind: it takes and gives tensors."""


class GenericFunction(Callable):
    """A function that has, or makes, a trace for each kind of arguments, loaded ones included."""


class PolymorphicFunction(GenericFunction):
    """What `function` makes of a Python function: it is traced when it is called."""


class ConcreteFunction(Callable):
    """One trace of a function."""


PolymorphicFunction.register(polymorphic.Function)
ConcreteFunction.register(concrete.ConcreteFunction)
