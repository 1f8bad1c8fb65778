"""Arrays into which each step of a loop writes one element after those of earlier steps: the loop stacks the elements itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.light import NamedTuple
from graphad.core.shapes import is_definite
from graphad.graph.compose import inputs_behind
from graphad.graph.ir import Graph
from graphad.graph.walk import increment
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape
from graphad.ops.array.sizes import known_value
from graphad.ops.array.slice import getitem
from graphad.ops.control.tensor_array import AT_END

if TYPE_CHECKING:
    from graphad.core.spec import TensorSpec
    from graphad.core.tensor import Tensor
    from graphad.ops.control.parts import Part


class Row(NamedTuple):
    """An element that each step writes into an array.

    Attributes:
      value: The element.
      grows: Whether the array may grow.
      slice: The slice that holds its index; None if it is elsewhere.
      carry: The carry that holds its index; None if it is elsewhere. Without both it is written behind the last element.
    """

    value: Any
    grows: bool
    slice: int | None = None
    carry: int | None = None

    def follows(self, body: Graph, carries: Sequence[Any], xs: Sequence[Any]) -> bool:
        """Whether the element is written after the last one, or step t writes element t.

        Args:
          body: The body of the loop.
          carries: The first carries.
          xs: What the loop iterates over.
        """
        if self.slice is not None:
            return counts_up(xs[self.slice])
        if self.carry is None:
            return True
        first = carries[self.carry]
        if first.dims != () or first.dtype.itemsize < 4 or known_value(first) != 0:
            return False
        return increment(body, self.carry) == 1

    def joined(self, before: Tensor, y: Tensor, count: Tensor, steps: int | None, may_end: bool) -> Tensor:
        """The array after the loop.

        Args:
          before: The array before it.
          y: The stacked elements; if the loop `may_end` early, the last ones were not written.
          count: The number of steps.
          steps: The same where it is known beforehand.
        """
        is_empty = bool(before.dims) and before.dims[0] == 0  # type: ignore[index]
        written: Tensor = getitem(y, slice(None, count)) if may_end else y
        if self.slice is None and self.carry is None:
            return written if is_empty else concat([before, written], 0)
        if steps is not None and before.dims[0] == steps:  # type: ignore[index]
            return y
        if is_empty and self.grows:
            return written
        after = concat([written, getitem(before, slice(count, None))], 0)
        # An array that may not grow keeps its shape: this raises if the loop has more steps than the array has elements.
        return after if self.grows else reshape(after, shape(before))


def rows_of(
    writes: Sequence[Any], specs: Sequence[TensorSpec], carry: Sequence[Any], slices: Sequence[Any]
) -> dict[int, Row]:
    """The arrays, by carry, into which a step wrote one element at a position that it received, or behind the last.

    Args:
      writes: For each carry what `loop_writes` says of its value after the step.
      specs: The carries in every step.
      carry, slices: What the step received.
    """
    found = {}
    for number, (write, spec) in enumerate(zip(writes, specs, strict=True)):
        is_known = is_definite((spec.dims or (None, None))[1:])
        row = _row_of(write, carry, slices) if write is not None and write[0] is carry[number] else None
        if row is not None and is_known:
            found[number] = row
    return found


def _row_of(write: tuple[Any, Any, Any, bool], carry: Sequence[Any], slices: Sequence[Any]) -> Row | None:
    """The element of a write (array before, index, element, whether the array may grow) whose index the step received."""
    _, index, value, grows = write
    if index is AT_END:
        return Row(value, grows)
    for j, x in enumerate(slices):
        if x is index:
            return Row(value, grows, slice=j)
    for j, x in enumerate(carry):
        if x is index:
            return Row(value, grows, carry=j)
    return None


def collected(
    test: Part | None, body: Part, rows: dict[int, Row], carries: Sequence[Any], xs: Sequence[Any]
) -> list[int]:
    """The arrays into which step t writes element t, or the element after the last, and which no step reads.

    They need not be carried: the loop itself stacks the written elements, which the body returns last. Rules of custom
    gradients keep all nodes, so also the writes, which need the array, and may read it themselves: then it is carried.

    Args:
      test, body: The parts of the loop, which lose these arrays.
      rows: What the steps write, by carry.
      carries: The first carries.
      xs: What the loop iterates over.
    """
    outputs = body.graph.outputs
    n_fixed = len(outputs) - len(rows)
    found = []
    if not any(part.has_rules for part in (body, test) if part is not None):
        found = [k for k, row in rows.items() if row.follows(body.graph, carries, xs)]
    while True:
        chosen = [i for i in range(n_fixed) if i not in found]
        chosen += [n_fixed + number for number, k in enumerate(rows) if k in found]
        read = inputs_behind(body.graph, [outputs[i] for i in chosen])
        if test is not None:
            read |= inputs_behind(test.graph, test.graph.outputs)
        left = [k for k in found if k not in read]
        if left == found:
            break
        found = left
    if len(chosen) < len(outputs):
        body.choose(chosen)
    if found:
        for part in (body, *([] if test is None else [test])):
            part.drop_inputs(found)
    return found


def counts_up(x: Any) -> bool:
    """Whether a tensor is known to hold 0, 1, 2, ..."""
    known = known_value(x)
    if known is not None:
        return bool(np.array_equal(known, np.arange(np.size(known))))
    node = maker_of(x)
    if node is None or node.op.evenly is None:
        return False
    first, step = [x.trace.builder.values.get(node.inputs[k]) for k in node.op.evenly]
    return first is not None and step is not None and int(first) == 0 and int(step) == 1


def maker_of(x: Any) -> Any:
    """The node that makes a tensor that is being traced; None for others."""
    builder = getattr(getattr(x, "trace", None), "builder", None)
    if builder is None:
        return None
    return next((node for node in reversed(builder.nodes) if x.index in node.outputs), None)
