"""Exceptions that restart the tracing of a loop: its steps determine more of its variables than their first values do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from graphad.core.composites import flatten_records, is_complete, is_composite
from graphad.core.errors import InvalidArgumentError
from graphad.core.escapes import Retrace
from graphad.core.levels import current


class Again(Retrace):
    """Restarts a trace with a completed value, after the trace has determined the value's unknown parts.

    Attributes:
      value: The value, completed.
      owner: The loop whose value it is.
    """

    def __init__(self, value: list[Any] | tuple[Any, ...], owner: object = None) -> None:
        super().__init__()
        self.value = value
        self.owner = owner


class NotWrittenError(InvalidArgumentError):
    """An element of an array was read before any was written, so that not even the rank of the elements is known."""


@contextlib.contextmanager
def supposing(value: Any, owner: object) -> Iterator[None]:
    """The block in which a loop with the variables `value` is traced. If a step reads an array before it writes an element, whose
    rank is therefore unknown, the block raises `Again` with variables for elements of any rank."""
    try:
        yield
    except NotWrittenError as error:
        leaves, rebuild = flatten_records(value)
        others = [x.__graphad_supposed__() if is_composite(x) and not is_complete(x) else x for x in leaves]
        if all(other is x for other, x in zip(others, leaves, strict=True)):
            raise
        current().escapes.forget(error)
        raise Again(rebuild(others), owner) from None
