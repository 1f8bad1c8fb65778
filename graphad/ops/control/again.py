"""What makes a loop be traced again: its steps told more of its variables than the values before it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from graphad.core.composites import flatten_records, is_complete, is_composite
from graphad.core.errors import InvalidArgumentError
from graphad.core.escapes import Retrace
from graphad.core.levels import current


class Again(Retrace):
    """Raised to trace again with a completed value, after the trace has determined its unknown parts.

    Attributes:
      value: The value, completed.
      owner: Whose value it is.
    """

    def __init__(self, value: list[Any] | tuple[Any, ...], owner: object = None) -> None:
        super().__init__()
        self.value = value
        self.owner = owner


class NotWrittenError(InvalidArgumentError):
    """An array was read of whose elements not even the rank is known, since none was written yet."""


@contextlib.contextmanager
def supposing(value: Any, owner: object) -> Iterator[None]:
    """Around the tracing of a loop whose variables are `value`: `Again` where a step reads an array before it writes what
    determines the rank of the elements, with variables as if that were any."""
    try:
        yield
    except NotWrittenError as error:
        leaves, rebuild = flatten_records(value)
        others = [x.__graphad_supposed__() if is_composite(x) and not is_complete(x) else x for x in leaves]
        if all(other is x for other, x in zip(others, leaves, strict=True)):
            raise
        current().escapes.forget(error)
        raise Again(rebuild(others), owner) from None
