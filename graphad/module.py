"""`Module`: an object that finds the variables and modules among its attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

from graphad.core.errors import InvalidArgumentError
from graphad.core.names import current_scope, name_scope
from graphad.core.trackable import PRIVATE, Trackable, settle
from graphad.eager.variable import Variable


class Module(Trackable):
    """Base class of models: variables and modules assigned to attributes are found, trained and saved.

    Args:
      name: A Python identifier; by default the class name in snake case.
    Raises: InvalidArgumentError (a ValueError): the name is no identifier.
    """

    def __init__(self, name: str | None = None) -> None:
        name = snake_case(type(self).__name__) if name is None else name
        if not name.isidentifier():
            raise InvalidArgumentError(
                f"'{name}' is not a valid module name. Module names must be valid Python identifiers (e.g. a valid class name)."
            )
        self._graphad_name = name
        self._graphad_scope = name_scope(f"{current_scope()}{name}/")

    @property
    def name(self) -> str:
        """The name of the module. Raises: AttributeError: the constructor of Module was not called."""
        try:
            return self._graphad_name
        except AttributeError:
            raise AttributeError(
                f"{type(self).__name__} has no name: its constructor must call super().__init__() first."
            ) from None

    @property
    def name_scope(self) -> name_scope:
        """The scope in which variables get this module's name in front of theirs, that of its creation included."""
        return self._graphad_scope

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator of a method: run it in the module's name scope."""

        @wraps(method)
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return wrapper

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables: this module's own first, then those of its submodules, each once."""
        return tuple(self._found(lambda x: isinstance(x, Variable)))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Variable, ...]:
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """All modules below this one, each once."""
        return tuple(x for x in self._found(lambda x: isinstance(x, Module)) if x is not self)

    def _found(self, wanted: Callable[[Any], bool]) -> Iterator[Any]:
        settle()
        seen: set[int] = {id(self)}
        queue: list[Module] = [self]
        while queue:
            module = queue.pop(0)
            below: list[Module] = []
            for leaf in module._graphad_parts():
                if id(leaf) in seen:
                    continue
                seen.add(id(leaf))
                if wanted(leaf):
                    yield leaf
                if isinstance(leaf, Module):
                    below.append(leaf)
            queue[:0] = below

    def _graphad_parts(self) -> Iterable[Variable | Module]:
        """The variables and modules among the attributes, also in containers, in the order in which they are listed."""
        for name in sorted(vars(self)):
            if not name.startswith(PRIVATE):
                try:
                    yield from parts_of(vars(self)[name], sorted)
                except TypeError as cause:
                    raise InvalidArgumentError(
                        f"Error processing property '{name}' of {self!r}: its keys cannot be sorted."
                    ) from cause


def parts_of(x: Any, in_order: Callable[[dict[Any, Any]], Iterable[Any]]) -> Iterator[Variable | Module]:
    """The variables and modules in a value; `in_order` gives the keys of a dictionary."""
    if isinstance(x, Variable | Module):
        yield x
    elif isinstance(x, dict):
        for key in in_order(x):
            yield from parts_of(x[key], in_order)
    elif isinstance(x, list | tuple):
        for item in x:
            yield from parts_of(item, in_order)


def snake_case(name: str) -> str:
    """A class name as an attribute would be spelled."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()
