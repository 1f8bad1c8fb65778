"""Loops that count through a range instead of walking along it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphad.autograph.written import maker_of
from graphad.core.tensor import Tensor
from graphad.ops.array.sizes import known_value
from graphad.ops.control.cond import as_predicate
from graphad.ops.math import logical_and


class Counter:
    """The element of a range 'first, first + 1, ...' as a variable of a loop that may be left before the range ends."""

    name = "the counter of the loop"

    def __init__(self, first: Tensor, limit: Tensor) -> None:
        self.value, self._limit = first, limit
        number = known_value(first)
        self.is_from_zero = number is not None and int(number) == 0

    def read(self) -> Tensor:
        return self.value

    def write(self, value: Tensor) -> None:
        self.value = value

    def test_with(self, test: Any) -> Callable[[], Tensor]:
        """Whether there is a further element, and the loop was not left."""
        return lambda: logical_and(self.value < self._limit, as_predicate("for", test()))

    def body_with(self, body: Callable[[Any], Any]) -> Callable[[], Any]:
        def step() -> None:
            element = self.value
            self.value = element + 1
            body(element)

        return step


def counter_of(tensors: Sequence[Any]) -> Counter | None:
    """What counts through a range of integers whose length is not known; None for other elements."""
    x = tensors[0]
    if len(tensors) > 1 or x.dims != (None,) or not x.dtype.is_integer:
        return None
    node = maker_of(x)
    if node is None or node.op.evenly is None:
        return None
    first, step = node.op.evenly
    (limit,) = set(range(len(node.inputs))) - {first, step}
    builder = x.trace.builder
    if builder.values.get(node.inputs[step]) != 1:
        return None
    ends = [type(x)(x.trace, node.inputs[k], builder.specs[node.inputs[k]]) for k in (first, limit)]
    return Counter(*ends)
