"""The kinds of functions, as classes for `isinstance`; `graphad.types.experimental` lists them."""

from __future__ import annotations

from abc import ABC

from graphad.function import concrete, polymorphic


class Callable(ABC):  # noqa: B024 - its registered subclasses are defined elsewhere
    """A traced function of any kind."""


class GenericFunction(Callable):
    """A function with a trace for each kind of arguments, including loaded functions."""


class PolymorphicFunction(GenericFunction):
    """The result of `function`: it is traced when it is called."""


class ConcreteFunction(Callable):
    """One trace of a function."""


PolymorphicFunction.register(polymorphic.Function)
ConcreteFunction.register(concrete.ConcreteFunction)
