"""Variables made while lists or dicts wait for values of a restored checkpoint.

A list does not report that a variable was put into it. So such a variable, before it is read or written, has the waiting lists
searched. Once it has its value, or no list waits any more, it becomes an ordinary variable.
"""

from __future__ import annotations

from typing import Any

from graphad.core.tensor import Handle
from graphad.core.trackable import RESTORED, are_waiting, settle
from graphad.eager.variable import Variable

_slot: Any = vars(Handle)["data"]


class AwaitedVariable(Variable):
    """A variable that may have been put into a list for whose items restored values wait."""

    __slots__ = ()

    def _look(self) -> None:
        settle()
        if type(self) is AwaitedVariable and (RESTORED in vars(self) or not are_waiting()):
            self.__class__ = Variable  # type: ignore[assignment]

    def _get(self) -> Any:
        self._look()
        return _slot.__get__(self)

    def _set(self, value: object) -> None:
        self._look()
        _slot.__set__(self, value)

    data = property(_get, _set, lambda self: _slot.__delete__(self))
