"""The short way of calls whose arguments are all tensors of one device: from their shapes straight to the plan.

`Function` makes an `Away` at its first such call, so that programs without a device do not import this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.compiler.plan.executable import executable_of
from graphad.core.bind import EagerLevel
from graphad.core.errors import GraphadError
from graphad.core.levels import current
from graphad.core.rule_errors import explained
from graphad.core.tensor import Handle
from graphad.devices.level import DeviceLevel
from graphad.devices.run import as_tensor
from graphad.devices.tensor import DeviceTensor
from graphad.function.concrete import ConcreteFunction

_MOST = 64  # shapes that are remembered


class Away:
    """The plans of a function's earlier calls with tensors of devices, by shapes, dtypes and device."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], _Call] = {}

    def known(self, args: Sequence[Any]) -> _Call | None:
        """The remembered call for such arguments; None if there is none, or if a recorder follows ops at this moment."""
        key = _key(args)
        found = None if key is None else self._known.get(key)
        return found if found is not None and _is_plain(found.place) else None

    def keep(self, args: Sequence[Any], concrete: ConcreteFunction) -> None:
        """Remember a call that has just succeeded and whose arguments are all operands."""
        key = _key(args)
        if key is not None and len(self._known) < _MOST:
            self._known[key] = _Call(concrete, f"cuda:{key[0]}")


class _Call:
    """One concrete function on one device."""

    def __init__(self, concrete: ConcreteFunction, place: str) -> None:
        self.place, self._concrete = place, concrete
        self._executable = executable_of(concrete.graph, place)
        self._captures = [
            x.place if isinstance(x, Handle) else x.array if x.away else x.data
            for x in concrete.captured_inputs
        ]

    def __call__(self, args: Sequence[Any]) -> Any:
        values, concrete = [*[x.array for x in args], *self._captures], self._concrete
        try:
            outputs = self._executable.run(values, concrete.jit_compile)
        except GraphadError:
            raise
        except Exception as error:  # any error of an eval gets the op's name
            error = explained(error, concrete.op, values)
            raise error
        return concrete.results.build([as_tensor(y, self.place) for y in outputs])


def _key(args: Sequence[Any]) -> tuple[Any, ...] | None:
    """The device, and each argument's shape and dtype; None for arguments of another kind."""
    key: list[Any] = [None]
    for x in args:
        if type(x) is not DeviceTensor:
            return None
        array = x.array
        if key[0] is None:
            key[0] = array.index
        elif key[0] != array.index:
            return None
        held = array.held
        key.append(held.shape)
        key.append(held.dtype.num)
    return tuple(key)


def _is_plain(place: str) -> bool:
    """Whether the only levels are blocks of this device."""
    level = current()
    while isinstance(level, DeviceLevel) and level.place == place:
        level = level.below
    return level is None or (type(level) is EagerLevel and not level.recorders)
