"""Objects that know the arguments with which they were made: layers, losses, metrics, optimizers, linear operators and others.

`get_config` of those with a configuration gives these arguments, `from_config` makes another object of them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Self

from graphad.core.blame import blamed
from graphad.core.registered import in_configuration
from graphad.core.tracebacks import of_call
from graphad.core.trackable import PRIVATE

_ARGUMENTS = PRIVATE + "arguments"


class KeepsArguments:
    """Base class of objects that keep the arguments of their constructor."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in cls.__dict__:
            cls.__init__ = _noting(cls.__dict__["__init__"])  # type: ignore[method-assign]

    def _graphad_made_with(self) -> inspect.BoundArguments:
        """The arguments with which the object was made, by name, defaults included."""
        args, kwargs = vars(self).get(_ARGUMENTS, ((), {}))
        bound = inspect.signature(type(self)).bind(*args, **kwargs)
        bound.apply_defaults()
        return bound


class Configured(KeepsArguments):
    """Base class of objects with a configuration. A subclass that overrides `get_config` adds its own arguments to those that
    `super().get_config()` gives: what every object of the kind has.
    """

    def base_config(self) -> dict[str, Any]:
        """The arguments that all classes of this kind have."""
        return {}

    def get_config(self) -> dict[str, Any]:
        """The arguments with which an object like this one is made: a dict for `from_config`. An initializer, a regularizer, a
        constraint and a schedule in it are dicts of their class and its arguments."""
        config = self.base_config()
        if type(self).get_config is Configured.get_config:
            config = self._with_arguments(config)
        return {name: in_configuration(value) for name, value in config.items()}

    def _with_arguments(self, config: dict[str, Any]) -> dict[str, Any]:
        """The arguments of the constructor, those of `config` as there."""
        bound = self._graphad_made_with()
        kinds = bound.signature.parameters
        takes_more = any(p.kind is p.VAR_KEYWORD for p in kinds.values())
        config = {name: value for name, value in config.items() if takes_more or name in kinds}
        for name, value in bound.arguments.items():
            if kinds[name].kind is inspect.Parameter.VAR_KEYWORD:
                config = value | config
            elif kinds[name].kind is not inspect.Parameter.VAR_POSITIONAL:
                config.setdefault(name, value)
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """A new object, made with what `get_config` gave."""
        return cls(**config)


def _noting(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor that keeps the arguments of its outermost call, and names the argument that Python or NumPy refuses."""

    @functools.wraps(init)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        kept = vars(self)
        if _ARGUMENTS in kept:  # the constructor of a base class
            return init(self, *args, **kwargs)
        kept[_ARGUMENTS] = args, kwargs
        try:
            init(self, *args, **kwargs)
        except Exception as error:  # raised on, as it is or with the name of the argument
            told = blamed(type(self), args, kwargs, error)
            if told is error:
                raise of_call(error)  # noqa: B904 - it is the same error
            raise of_call(told) from told.__cause__

    return construct
