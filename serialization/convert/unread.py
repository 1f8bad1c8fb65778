"""A variable whose value is still unchecked bytes of a file.

Loading maps large payloads without reading them; the first read of a value checks it and turns the variable into a plain one,
so that later reads cost nothing. A damaged value raises at each read until another is assigned.
"""

from __future__ import annotations

from typing import Any

from graphad.core import forks
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.core.tensor import Handle
from graphad.eager.variable import Variable
from serialization.wire.payloads import LazyArrays

_slot: Any = Handle.__dict__["data"]
_lock = forks.rlock()


class UnreadVariable(Variable):
    """A variable that becomes a plain `Variable` when its `data` is read or assigned."""

    @classmethod
    def waiting(
        cls, arrays: LazyArrays, tensor: str, spec: TensorSpec, trainable: bool, name: str
    ) -> Variable:
        """The variable whose value is the stored tensor of that name."""
        plain = Variable.restore(None, HandleSpec.of(spec.dims, spec.dtype), trainable, name)
        plain.__dict__["_unread"] = arrays, tensor
        plain.__class__ = cls
        return plain

    @property
    def data(self) -> Any:
        with _lock:
            # another thread may have read or assigned it during the wait
            if type(self) is UnreadVariable:
                arrays, tensor = self.__dict__["_unread"]
                array = arrays[tensor]
                self.data = array if array.ndim else array[()]
            return _slot.__get__(self)

    @data.setter
    def data(self, value: object) -> None:
        with _lock:
            _slot.__set__(self, value)
            if type(self) is UnreadVariable:
                del self.__dict__["_unread"]
                self.__class__ = Variable  # type: ignore[assignment]
