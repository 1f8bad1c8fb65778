"""Exceptions that leave code whose execution depends on a tensor: a branch, or a step of a loop.

Such code is traced whatever the tensor's value will be. An exception in it may end the trace. If it is caught outside of the
branch instead, the graph would run the handler for all values, and would lack what the branch did before. So each level remembers
such exceptions, and raises an error if tracing continues after one.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any

from graphad.core.errors import CaughtInTraceError
from graphad.core.frames import lines_of, user_line
from graphad.core.levels import current


class Retrace(Exception):
    """Base class of exceptions that restart tracing with more knowledge."""


class Escapes:
    """The exceptions of one level, as messages show them."""

    __slots__ = ("_shown",)

    def __init__(self) -> None:
        self._shown: dict[int, str] = {}

    def add(self, error: Exception) -> None:
        """Remember an exception on its way out of a branch or step."""
        if id(error) in self._shown:
            return
        lines = lines_of(error)  # from the statement that was traced inward
        where = lines[-1] if lines else user_line()
        said = f"{type(error).__name__}: {error}".rstrip(": .")
        self._shown[id(error)] = said if where is None else f"{said} ({where})"

    def forget(self, error: Exception) -> None:
        """Forget an exception that restarts tracing, since the traced part is discarded."""
        self._shown.pop(id(error), None)

    def hand_on(self, below: Any) -> None:
        """After an exception has ended this level: it passes through the level below."""
        outer = getattr(below, "escapes", None)
        if outer is not None:
            outer._shown |= self._shown

    def check(self, name: str) -> None:
        """Raise an error if the level goes on after an exception."""
        if self._shown:
            first = next(iter(self._shown.values()))
            raise CaughtInTraceError(
                f"{name}: an exception was raised in a branch or loop that a tensor decides, and caught outside of it: "
                f"{first}. Such code is traced for all values, so what catches the exception would run for all of "
                "them. Put the `try` inside of the branch, let a Python value decide, or check values with "
                "tf.debugging.Assert, which raises when the function runs."
            )


class Deciding:
    """Around the tracing of branches or of a loop's steps: tells the level of an exception that leaves them."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, Retrace):
            escapes = getattr(current(), "escapes", None)
            if escapes is not None:
                escapes.add(error)
