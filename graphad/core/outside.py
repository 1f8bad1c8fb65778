"""Classes of TensorFlow's that programs ask about and graphad has no instances of: `isinstance(x, RaggedTensor)` is False.

Nothing else can be done with them: who makes one, or asks for what a class has, is told why it is not part of graphad.
"""

from __future__ import annotations

from typing import Any, NoReturn

from graphad.core.errors import UnavailableError
from graphad.core.late import refusal_of


class _Outside(type):
    """The class of these classes."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnavailableError(refusal_of("graphad", cls.__name__))

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("_"):  # Python and its tools ask for many of those
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        raise AttributeError(refusal_of("graphad", cls.__name__))


class RaggedTensor(metaclass=_Outside):
    """No tensor of graphad is one: they are rectangular. `isinstance` answers so.

    Args:
      args, kwargs: Whatever it is called with.
    Raises: NotSupportedError, always: there are none.
    """


class RaggedTensorSpec(metaclass=_Outside):
    """No spec of graphad is one; see `RaggedTensor`. `isinstance` answers so.

    Args:
      args, kwargs: Whatever it is called with.
    Raises: NotSupportedError, always: there are none.
    """
