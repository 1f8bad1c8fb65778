"""The converted form of a function: `to_code` to read it, `to_graph` to call it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from graphad.autograph.convert import bound, converting, features_of, template_of
from graphad.autograph.directives import Feature
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError


def to_graph(
    entity: Callable[..., Any], recursive: bool = True, experimental_optional_features: Feature | None = None
) -> Callable[..., Any]:
    """The function with its control flow converted, to be called like the function itself.

    Args:
      entity: A Python function, method or lambda, or a `function` of one.
      recursive: Convert what it calls too.
      experimental_optional_features: One or several of `experimental.Feature`.
    Returns: The converted function.
    Raises:
      ArgumentTypeError (a TypeError): it is not a function.
      InvalidArgumentError (a ValueError): it cannot be converted.
    """
    f, instance = _function(entity)
    made = bound(f, _template(f, experimental_optional_features).code)

    @functools.wraps(f)
    def convert_and_call(*args: Any, **kwargs: Any) -> Any:
        with converting(recursive):
            return made(*args, **kwargs)

    return convert_and_call if instance is None else MethodType(convert_and_call, instance)


def to_code(
    entity: Callable[..., Any], recursive: bool = True, experimental_optional_features: object = None
) -> str:
    """The source of the converted form of a function.

    Args:
      entity: A function or method whose source is available, or a graphad function.
      recursive: Whether functions that it calls are converted too, when they are called.
      experimental_optional_features: Accepted for compatibility.
    Returns: The source, a string.
    Raises: ArgumentTypeError (a TypeError): it is not a function, or its source is not available.
    """
    import ast

    f, _ = _function(entity)
    return ast.unparse(_template(f, experimental_optional_features).tree)


def _function(entity: Callable[..., Any]) -> tuple[FunctionType, Any]:
    """The Python function behind `entity`, and the object that it is bound to."""
    inner: Any = getattr(entity, "python_function", entity)
    instance = None
    if isinstance(inner, MethodType):
        inner, instance = inner.__func__, inner.__self__
    if not isinstance(inner, FunctionType):
        raise ArgumentTypeError(
            f"to_graph: {entity!r} is not a Python function; give a function, a method or a lambda."
        )
    return inner, instance


def _template(f: FunctionType, features: Any) -> Any:
    template = template_of(f, features_of(features), always=True)
    if template.code is None:
        raise InvalidArgumentError(f"to_graph: {f.__qualname__} cannot be converted: {template.reason}.")
    return template
