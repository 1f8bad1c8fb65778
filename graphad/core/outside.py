"""TensorFlow classes of which graphad has no instances, so that `isinstance(x, RaggedTensor)` works and is False.

Calling such a class or reading its attributes raises an error that says why it is not part of graphad.
"""

from __future__ import annotations

from typing import Any, NoReturn

from graphad.core.errors import UnavailableError
from graphad.core.late import refusal_of


class _Outside(type):
    """The metaclass of these classes."""

    def __call__(cls, *args: object, **kwargs: Any) -> NoReturn:
        raise UnavailableError(refusal_of("graphad", cls.__name__))

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("_"):  # Python and its tools look up many private names
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        raise AttributeError(refusal_of("graphad", cls.__name__))


class RaggedTensor(metaclass=_Outside):
    """`isinstance` is always False: graphad's tensors are rectangular.

    Args:
      args, kwargs: Whatever it is called with.
    Raises: NotSupportedError, always: there are none.
    """


class RaggedTensorSpec(metaclass=_Outside):
    """`isinstance` is always False; see `RaggedTensor`.

    Args:
      args, kwargs: Whatever it is called with.
    Raises: NotSupportedError, always: there are none.
    """


class Operation(metaclass=_Outside):
    """`isinstance` is always False: programs get no objects for the nodes of a graph. Annotations may name the class.

    Args:
      args, kwargs: Whatever it is called with.
    Raises: NotSupportedError, always: there are none.
    """
