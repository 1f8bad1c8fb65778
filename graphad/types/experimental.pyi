"""Kinds of functions, for `isinstance`, and what can be a tensor, for annotations."""

from graphad.core.annotations import TensorLike as TensorLike
from graphad.function.kinds import Callable as Callable
from graphad.function.kinds import ConcreteFunction as ConcreteFunction
from graphad.function.kinds import GenericFunction as GenericFunction
from graphad.function.kinds import PolymorphicFunction as PolymorphicFunction
