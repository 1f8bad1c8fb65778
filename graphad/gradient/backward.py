"""Reverse accumulation over recorded entries, shared by the eager tape, gradient graphs and Jacobians.

An entry is (op, inputs, outputs, input marks, output marks). Cotangents are added up by mark; rules run only for
entries on a path from a source to a target.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.device import along
from graphad.core.errors import InternalError
from graphad.core.ieee import SHORT_WAY_ENDS, unreported
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.levels import busy
from graphad.core.op import Op, named
from graphad.core.shapes import Dims, is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor
from graphad.ops.array.broadcast import sum_to_input
from graphad.ops.array.create import zeros_of
from graphad.ops.math.arithmetic import add
from graphad.ops.math.compare import IS_FINITE, LOGICAL_OR, NOT_EQUAL
from graphad.ops.math.select import SELECT
from graphad.ops.rules import scalar_like

if TYPE_CHECKING:
    from graphad.core.annotations import Transforms
    from graphad.core.dtypes import DType
    from graphad.core.tensor import Tensor


Entry = tuple[Op, Sequence[Any], Sequence[Any], Sequence[Any], Sequence[Any]]


class Dropped:
    """Replaces a value that no rule will read; only its shape and dtype are kept."""

    __slots__ = ("dims", "dtype")

    def __init__(self, dims: Dims, dtype: DType) -> None:
        self.dims = dims
        self.dtype = dtype

    @property
    def spec(self) -> TensorSpec:
        return TensorSpec.of(self.dims, self.dtype)

    away = False

    def out_of_scope(self, op: Op) -> InternalError:
        return InternalError(
            f"{op.name}: a derivative rule reads a value that its op does not declare in `keeps`."
        )


class Masks:
    """What an op that holds graphs hears and tells of cotangents that `where` made zeros.

    Attributes:
      outputs: For each output, whether zeros of its cotangent are elements that were not taken.
      inputs: The inputs of whose cotangents the rule says the same.
    """

    __slots__ = ("inputs", "outputs")

    def __init__(self, outputs: Sequence[bool]) -> None:
        self.outputs = outputs
        self.inputs: list[int] = []


class Context:
    """The context of a derivative rule; see `core.annotations.VjpContext`."""

    __slots__ = ("_marks", "inputs", "is_free", "is_masked", "masks", "op", "outputs", "transforms")

    def __init__(
        self,
        op: object,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        marks: Sequence[Any],
        transforms: Transforms,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.outputs = outputs
        self._marks = marks
        self.transforms = transforms
        self.is_free = self.is_masked = False
        self.masks: Masks | None = None

    def needs(self, i: int) -> bool:
        return self._marks[i] is not None

    def shape(self, i: int) -> Any:
        return self.inputs[i].dims

    def zeros(self, k: int) -> Tensor:
        return zeros_of(self.outputs[k])

    def first(self, n: int) -> Context:
        """The same context as seen by an op that has only the first n outputs."""
        return self._with_masks(Context(self.op, self.inputs, self.outputs[:n], self._marks, self.transforms))

    def on(self, op: Op, outputs: Sequence[Tensor]) -> Context:
        """The same context for another op on the same inputs."""
        return self._with_masks(Context(op, self.inputs, outputs, self._marks, self.transforms))

    def _with_masks(self, other: Context) -> Context:
        other.masks = self.masks
        return other

    def get_attr(self, name: str) -> Any:
        """An attribute of the op, for gradient functions registered from outside."""
        return getattr(self.op, name)


def add_bars(a: Any, b: Any) -> Any:
    """The sum of two cotangents; None is zero."""
    if type(a) is EagerTensor and type(b) is EagerTensor:
        return add(a, b)
    if a is None:
        return b
    if b is None:
        return a
    if isinstance(a, IndexedSlices) or isinstance(b, IndexedSlices):
        a, b = dense(a), dense(b)
    return add(a, b)


def dense(bar: Tensor | None) -> Any:
    """A cotangent as one tensor."""
    return lift(bar) if isinstance(bar, IndexedSlices) else bar


def backward(
    entries: list[Entry],
    bars: dict[Any, Any],
    wanted: set[Any],
    transforms: Transforms,
    leaves: Set[Any] | None = None,
    consume: bool = False,
    placed: bool = False,
    masked: set[Any] | None = None,
) -> dict[Any, Any]:
    """Pull cotangents back over entries.

    Args:
      entries: The entries in the order in which they were recorded.
      bars: Cotangents of the targets by mark; changed in place.
      wanted: Marks of the sources, whose cotangents are kept.
      transforms: Passed to rules that hold sub-graphs.
      leaves: The followed marks that no entry produced, or None.
      consume: Shrink the list while walking, so that memory is freed as early as possible.
      placed: Whether a block of the cotangents' device is already entered.
      masked: The marks whose cotangents are 0 where a branch was not taken; those on the way are added.
    Returns: `bars`, with the cotangents of the sources.
    """
    for bar in bars.values():
        if bar.away and not placed:  # new values that rules create must be on that device too
            with along(bar):
                return backward(entries, bars, wanted, transforms, leaves, consume, True, masked)
    # If every leaf is a source, every entry is on a path.
    all_on_path = leaves is not None and leaves <= wanted
    on_path = wanted if all_on_path else _dependents(entries, wanted)
    context = Context(None, (), (), (), transforms)  # shared by all entries, since no rule keeps it
    is_free = busy() is None
    masked = set() if masked is None else masked
    own: set[Any] = set()  # the marks whose cotangents are arrays that nobody else holds
    for position in range(len(entries) - 1, -1, -1):
        op, inputs, outputs, marks, out_marks = entries.pop() if consume else entries[position]
        if len(out_marks) == 1:
            mark = out_marks[0]
            bar = bars.pop(mark, None)
            if bar is None:
                continue
            if own:
                own.discard(mark)
            if mark in wanted:
                bars[mark] = bar
            elif not (all_on_path or mark in on_path):
                continue
            context.is_free = has_data = is_free and type(bar) is EagerTensor
            y_bars: tuple[Any, ...] = (bar if has_data or op.loads else dense(bar),)
        else:
            context.is_free = has_data = False
            if not (all_on_path or any(mark is not None and mark in on_path for mark in out_marks)):
                continue
            y_bars = _bars_of_outputs(bars, out_marks, wanted)
            if all(bar is None for bar in y_bars):
                continue
        if not all_on_path:
            marks = [mark if mark in on_path else None for mark in marks]
        context.op, context.inputs, context.outputs, context._marks = op, inputs, outputs, marks
        by_rule = op.pulls_by_rule and not masked
        is_masked = False
        if not by_rule:
            context.is_masked = is_masked = out_marks[0] in masked
            if len(out_marks) > 1:
                context.is_masked = _are_masked(masked, out_marks, y_bars)
            context.masks = Masks([m in masked for m in out_marks]) if op.structured else None
            into = bars[marks[0]] if has_data and op.pull_into is not None and marks[0] in own else None
            if into is not None and _takes(into, bar) and op.pull_into(context, bar.data, into.data):
                if is_masked:
                    masked.add(marks[0])
                continue
        try:
            x_bars: Any = None
            if has_data and op.quick_vjp is not None:
                x_bars = _quick_bars(context, bar)
            if x_bars is None:
                x_bars = op.vjp(context, *y_bars)
        except Exception as error:  # raised again with the name of the op
            error = named(error, op)
            raise error
        if not by_rule and (is_masked or op.masks or op.structured):
            x_bars = _after_masks(context, is_masked, y_bars, x_bars, masked)
        for mark, bar in zip(marks, x_bars, strict=True):
            if bar is not None and mark is not None:
                before = bars.get(mark)
                if before is None:
                    bars[mark] = bar
                    if by_rule:
                        continue
                else:
                    bars[mark] = add_bars(before, bar)
                if is_free and (before is not None or op.pull_into is not None):
                    own.add(mark)
    return bars


def _bars_of_outputs(bars: dict[Any, Any], marks: Sequence[Any], wanted: set[Any]) -> tuple[Any, ...]:
    """The cotangents of all outputs of an op; only those of sources are kept."""
    found = [None if m is None else dense(bars.get(m) if m in wanted else bars.pop(m, None)) for m in marks]
    return tuple(found)


def _quick_bars(context: Context, bar: EagerTensor) -> Any:
    """The cotangents of the inputs by the rule on arrays; None where only the other rule answers."""
    op: Any = context.op
    try:
        x_bars = op.quick_vjp(context, bar.data)
    except SHORT_WAY_ENDS:
        return None
    if context.is_masked and x_bars is not None and not all(map(_is_finite, x_bars)):
        return None  # the other rule knows of masks
    return x_bars


def _after_masks(
    context: Context, is_masked: bool, y_bars: Sequence[Any], x_bars: Sequence[Any], masked: set[Any]
) -> Sequence[Any]:
    """The cotangents of the inputs, 0 for elements that no branch took; the marks of those to which that applies are added.

    Args:
      is_masked: Whether zeros of the first output's cotangent are such elements.
    """
    op: Any = context.op
    if op.masks or is_masked:
        if (op.pointwise or op.touching is not None) and op.keeps != (False, False):
            x_bars = [_zero_where_zero(context, i, y_bars[0], bar) for i, bar in enumerate(x_bars)]
        if op.carries_masks or op.moves or op.spreads:
            masked.update([mark for mark in context._marks if mark is not None])
    if context.masks is not None:
        masked.update([context._marks[i] for i in context.masks.inputs if context._marks[i] is not None])
    return x_bars


def _are_masked(masked: set[Any], out_marks: Sequence[Any], y_bars: Sequence[Any]) -> bool:
    """Whether all cotangents that there are of several outputs are masked."""
    return all(mark in masked for mark, bar in zip(out_marks, y_bars, strict=True) if bar is not None)


def _takes(into: Any, bar: EagerTensor) -> bool:
    """Whether numbers like those of `bar` can be added to the array of a cotangent."""
    data = into.data if type(into) is EagerTensor else None
    return (
        type(data) is np.ndarray
        and data.flags.owndata
        and data.dtype.char in "fdFD"
        and data.dtype is bar.data.dtype
    )


def _is_finite(bar: Any) -> bool:
    """Whether a cotangent is known to have no infinity and no NaN; None has none."""
    if bar is None:
        return True
    data = bar.data
    if data.size > _FEW and data.flags.c_contiguous and data.dtype.char in "fd":
        flat = data.reshape(-1)
        return math.isfinite(
            unreported(np.dot, flat, flat)
        )  # a third of the time; False for huge numbers too
    return bool(np.isfinite(data).all())


_FEW = 256  # elements


def _zero_where_zero(context: Context, i: int, y_bar: Any, x_bar: Any) -> Any:
    """The cotangent of operand i, and 0 where those of all results that it has a part in are 0, whatever the derivative is
    there."""
    op: Any = context.op
    if x_bar is None or isinstance(x_bar, IndexedSlices) or (context.is_free and _is_finite(x_bar)):
        return x_bar
    touching = y_bar if op.pointwise else op.touching(context, y_bar)
    if op.pointwise and len(context.inputs) > 1:
        if not is_definite(x_bar.dims):
            # Whether the operand is broadcast shows when the function runs: then an element has a part in several results.
            has_part = bind(NOT_EQUAL, y_bar, scalar_like(0, y_bar))
            ones = bind(SELECT, has_part, scalar_like(1, y_bar), scalar_like(0, y_bar))
            touching = sum_to_input(context, i, ones)
        elif x_bar.dims != y_bar.dims:
            return x_bar
    # What is finite is 0 there by itself, and stays what it depends on: its own derivative need not be 0.
    kept = bind(LOGICAL_OR, bind(NOT_EQUAL, touching, scalar_like(0, touching)), bind(IS_FINITE, x_bar))
    return bind(SELECT, kept, x_bar, scalar_like(0, x_bar))


def _dependents(entries: Sequence[Entry], wanted: set[Any]) -> set[Any]:
    """The sources and all marks that depend on them."""
    on_path = set(wanted)
    for entry in entries:
        for mark in entry[3]:
            if mark is not None and mark in on_path:
                on_path.update(entry[4])
                break
    return on_path
