"""Checks while a Python function is traced: on the variables that it creates, and on arguments that it must not modify."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphad.core.composites import is_record, record_of
from graphad.core.errors import InvalidArgumentError
from graphad.core.frames import user_line
from graphad.core.op import evaluated
from graphad.core.tensor import EagerTensor, Handle
from graphad.trace.tracer import SymbolicTensor, Trace

if TYPE_CHECKING:
    from graphad.core.tensor import Handle
    from graphad.eager.elsewhere import DeviceVariable
    from graphad.eager.variable import Variable


class Creation:
    """Decides on variables and generators that are created while a function is traced.

    Attributes:
      again: Whether a generator was created, so that the function must be traced once more.
    """

    def __init__(self, allowed: bool, trace: Trace, numbers: dict[int, Any], is_last: bool) -> None:
        self._allowed = allowed
        self._is_last = is_last
        self.again = False
        self._trace = trace
        self._numbers = numbers
        self.variables: list[Any] = []
        self.pinned: list[Any] = []

    def check(self, name: str) -> None:
        """Raise unless a variable may be created."""
        if not self._allowed:
            raise InvalidArgumentError(
                "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable "
                f"is only created once or created outside tf.function ({name!r} was made at {user_line()})."
            )

    def made(self, variable: Handle) -> None:
        self.variables.append(variable)

    def sees_again(self) -> bool:
        """Whether another trace will show that each call creates the generator that is created here."""
        self.again = not self._is_last
        return self.again

    def number_of(self, symbol: SymbolicTensor) -> Any:
        """The value of a symbolic tensor, from the arguments of the first call."""
        builder = self._trace.builder
        wanted = {symbol.index}
        nodes = []
        for node in reversed(builder.nodes):
            if not wanted.isdisjoint(node.outputs):
                nodes.append(node)
                wanted.update(node.inputs)
        given = {**self._numbers, **dict(zip(self._trace.capture_serials, self._trace.captures, strict=True))}
        if not wanted.isdisjoint(set(builder.inputs) - given.keys()):
            raise InvalidArgumentError(
                "Variable: its initial value depends on an argument, but this function is being traced from specs alone."
            )
        known = {**builder.values, **{serial: _number(given[serial]) for serial in wanted & given.keys()}}
        for node in reversed(nodes):
            outputs = evaluated(node.op, [known[i] for i in node.inputs])
            known.update(zip(node.outputs, outputs, strict=True))
        return known[symbol.index]

    def pin(self, variable: DeviceVariable | Variable) -> None:
        """Bind the trace to calls with this very variable."""
        self.pinned.append(variable)


def _number(x: Any) -> Any:
    """The value of an argument or capture. For a symbol of an outer function it comes from the arguments of that function's
    call."""
    if not isinstance(x, SymbolicTensor):
        return x.data if type(x) is EagerTensor else x.array if x.away and not isinstance(x, Handle) else x
    creation = x.trace.creation
    if creation is None:
        raise InvalidArgumentError(
            f"Variable: its initial value depends on {x!r}, which is known only when the function runs; make the variable "
            "before the branch or loop."
        )
    return creation.number_of(x)


def snapshot(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Copies of the containers among the arguments; None if there are none."""
    listed = [*args, *kwargs.values()]
    return (
        [_copied(x) for x in listed]
        if any(isinstance(x, list | dict | tuple) or is_record(x) for x in listed)
        else None
    )


class _Fields:
    """A copy of the fields of a record."""

    def __init__(self, x: object) -> None:
        record = record_of(x)
        self._form, self._values = record.form, [_copied(value) for value in record.values]

    def are_those_of(self, x: object) -> bool:
        record = record_of(x)
        return record.form == self._form and all(map(is_same, self._values, record.values))


def _copied(x: object) -> Any:
    if isinstance(x, dict):
        return {key: _copied(value) for key, value in x.items()}
    if is_record(x):
        return _Fields(x)
    return [_copied(item) for item in x] if isinstance(x, list | tuple) else x


def is_same(old: Any, new: Any) -> bool:
    """Whether containers still hold the same objects, or equal numbers and strings."""
    if isinstance(old, dict):
        return old.keys() == new.keys() and all(is_same(old[key], new[key]) for key in old)
    if isinstance(old, _Fields):
        return old.are_those_of(new)
    if isinstance(old, list):
        return len(old) == len(new) and all(map(is_same, old, new))
    return old is new or (isinstance(old, int | float | str | bool) and bool(old == new))
