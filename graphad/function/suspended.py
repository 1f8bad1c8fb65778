"""Generators and coroutines, which cannot be traced: their body runs after the call that creates them."""

from __future__ import annotations

from typing import Any

from graphad.core.errors import ArgumentTypeError

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = (
    0x20,
    0x80,
    0x200,
)  # flags of code objects, `polymorphic.SUSPENDING`
_SUSPENDED = (
    (_ASYNC_GENERATOR, "an asynchronous generator (`async def` with `yield`)"),
    (_COROUTINE, "a coroutine (`async def`)"),
    (_GENERATOR, "a generator (`def` with `yield`)"),
)


def refuse(function: Any) -> None:
    """Refuse a function that suspends before its end: its trace would end there too."""
    code = function.__code__
    for flag, kind in _SUSPENDED:
        if code.co_flags & flag:
            cure = (
                "make it a plain `def`, and await outside of it"
                if flag == _COROUTINE
                else "return all of its values, as a list or stacked; what it calls may be a generator"
            )
            raise ArgumentTypeError(
                f"function: {function.__name__} is {kind}, and a traced function runs to its end when it is called; {cure} "
                f"(at {code.co_filename}:{code.co_firstlineno})."
            )
