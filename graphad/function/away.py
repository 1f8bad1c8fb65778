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
from graphad.devices.array import DeviceArray
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
        if found is None or not ((level := current()) is None or _is_plain(level, found.place)):
            return None
        return found

    def keep(self, args: Sequence[Any], concrete: ConcreteFunction) -> None:
        """Remember a call that has just succeeded and whose arguments are all operands."""
        key = _key(args)
        if key and len(self._known) < _MOST and len(places := {kind[0] for kind in key}) == 1:
            self._known[key] = _Call(concrete, f"cuda:{places.pop()}")


class _Call:
    """One concrete function on one device."""

    def __init__(self, concrete: ConcreteFunction, place: str) -> None:
        self.place, self._concrete = place, concrete
        self._executable = executable_of(concrete.graph, place)
        self._inputs: list[Any] = (
            [  # the arguments of a call come in front
                None for _ in concrete.graph.inputs[: -len(concrete.captured_inputs) or None]
            ]
            + [
                x.place if isinstance(x, Handle) else x.array if x.away else x.data
                for x in concrete.captured_inputs
            ]
        )

    def __call__(self, args: Sequence[Any]) -> Any:
        values, concrete = self._inputs.copy(), self._concrete
        for k, x in enumerate(args):
            values[k] = x.array
        try:
            outputs = self._executable.run(values, concrete.jit_compile)
        except GraphadError:
            raise
        except Exception as error:  # any error of an eval gets the op's name
            error = explained(error, concrete.op, values)
            raise error
        if concrete.results.is_one and type(outputs[0]) is DeviceArray:
            return DeviceTensor(outputs[0])
        return concrete.results.build([as_tensor(y, self.place) for y in outputs])


def _key(args: Sequence[Any]) -> tuple[Any, ...] | None:
    """The kinds of arguments, among which is their device; None for arguments of another class."""
    key = []
    for x in args:
        if type(x) is not DeviceTensor:
            return None
        array = x.array
        key.append(array.kind or array.described())
    return tuple(key)


def _is_plain(level: Any, place: str) -> bool:
    """Whether the only levels, of which this is the top, are blocks of this device."""
    while isinstance(level, DeviceLevel) and level.place == place:
        level = level.below
    return level is None or (type(level) is EagerLevel and not level.recorders)
