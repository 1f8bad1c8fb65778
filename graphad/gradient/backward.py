"""Reverse accumulation over recorded entries, shared by the eager tape, gradient graphs and Jacobians.

An entry is (op, inputs, outputs, input marks, output marks). Cotangents are added up by mark; rules run only for
entries on a path from a source to a target.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any, TypeGuard, overload

import numpy as np

from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.device import along
from graphad.core.errors import InternalError
from graphad.core.ieee import SHORT_WAY_ENDS, unreported
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.levels import busy
from graphad.core.op import Op
from graphad.core.rule_errors import named
from graphad.core.shapes import Dims, is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor
from graphad.ops.array.broadcast import sum_to_input
from graphad.ops.array.create import zeros_of
from graphad.ops.math.arithmetic import add
from graphad.ops.math.compare import IS_FINITE, NOT_EQUAL, TAKEN
from graphad.ops.math.select import SELECT
from graphad.ops.rules import scalar_like

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphad.core.annotations import Cotangent, Cotangents, Transforms, Value
    from graphad.core.dtypes import DType
    from graphad.core.tensor import Mark, Tensor

    Marks = Sequence[Mark | None]  # None for a value that is not followed
    Bars = dict[Mark, Tensor | IndexedSlices]
    # op, inputs, outputs, marks of the inputs, marks of the outputs; typed as values, although a `Dropped` may replace one
    Entry = tuple[Op, Sequence[Value], Sequence[Value], Marks, Marks]


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
    """What an op with sub-graphs is told, and tells, about cotangents that are 0 since a `where` did not take an element.

    Attributes:
      outputs: For each output, whether the zeros of its cotangent are elements that were not taken.
      inputs: The inputs for whose cotangents the rule declares the same.
    """

    __slots__ = ("inputs", "outputs")

    def __init__(self, outputs: Sequence[bool]) -> None:
        self.outputs = outputs
        self.inputs: list[int] = []


class Context:
    """The context of a derivative rule; see `core.annotations.VjpContext`."""

    __slots__ = (
        "_marks",
        "inputs",
        "is_forward",
        "is_free",
        "is_masked",
        "masks",
        "op",
        "outputs",
        "transforms",
    )

    def __init__(
        self,
        op: Any,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        marks: Sequence[object],
        transforms: Transforms,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.outputs = outputs
        self._marks = marks
        self.transforms = transforms
        self.is_forward = self.is_free = self.is_masked = False
        self.masks: Masks | None = None

    def needs(self, i: int) -> bool:
        return self._marks[i] is not None

    def shape(self, i: int) -> Dims:
        return self.inputs[i].dims  # type: ignore[no-any-return]

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


@overload
def add_bars(a: Tensor | IndexedSlices, b: Tensor | IndexedSlices) -> Tensor: ...
@overload
def add_bars(a: Cotangent, b: Cotangent) -> Cotangent: ...
def add_bars(a: Cotangent, b: Cotangent) -> Cotangent:
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


@overload
def dense(bar: Tensor | IndexedSlices) -> Tensor: ...
@overload
def dense(bar: Cotangent) -> Tensor | None: ...
def dense(bar: Cotangent) -> Tensor | None:
    """A cotangent as one tensor."""
    return lift(bar) if isinstance(bar, IndexedSlices) else bar


def backward(
    entries: list[Entry],
    bars: Bars,
    wanted: Set[Mark],
    transforms: Transforms,
    leaves: Set[Mark] | None = None,
    consume: bool = False,
    placed: bool = False,
    masked: set[Mark] | None = None,
    is_forward: bool = False,
) -> Bars:
    """Pull cotangents back over entries.

    Args:
      entries: The entries in the order in which they were recorded.
      bars: Cotangents of the targets by mark; changed in place.
      wanted: Marks of the sources, whose cotangents are kept.
      transforms: Passed to rules that hold sub-graphs.
      leaves: The followed marks that are outputs of no entry, or None.
      consume: Shrink the list while walking, so that memory is freed as early as possible.
      placed: Whether a block of the cotangents' device is already entered.
      masked: The marks whose cotangents are 0 where a branch was not taken; those on the way are added.
      is_forward: Whether the entries are of a rule, and the cotangents tangents; see `forward.py`.
    Returns: `bars`, with the cotangents of the sources.
    """
    for given in bars.values():
        if given.away and not placed:  # new values that rules create must be on that device too
            with along(given):
                return backward(entries, bars, wanted, transforms, leaves, consume, True, masked, is_forward)
    # If every leaf is a source, every entry is on a path.
    all_on_path = leaves is not None and leaves <= wanted
    on_path = wanted if all_on_path else _dependents(entries, wanted)
    context = Context(None, (), (), (), transforms)  # shared by all entries, since no rule keeps it
    context.is_forward = is_forward
    is_free = busy() is None
    masked = set() if masked is None else masked
    own: set[Mark] = set()  # the marks whose cotangents are arrays that nobody else holds
    for position in range(len(entries) - 1, -1, -1):
        op, inputs, outputs, marks, out_marks = entries.pop() if consume else entries[position]
        alone: EagerTensor | None = None  # the mark with the only cotangent, while rules on arrays may use it
        if len(out_marks) == 1:
            mark: Any = out_marks[0]  # None has no cotangent
            bar = bars.pop(mark, None)
            if bar is None:
                continue
            if own:
                own.discard(mark)
            if mark in wanted:
                bars[mark] = bar
            elif not (all_on_path or mark in on_path):
                continue
            y_bars: tuple[Any, ...]
            if is_free and type(bar) is EagerTensor:
                alone = bar
                y_bars = (bar,)
            else:
                y_bars = (bar if op.loads else dense(bar),)
        else:
            if not (all_on_path or any(mark is not None and mark in on_path for mark in out_marks)):
                continue
            y_bars = _bars_of_outputs(bars, out_marks, wanted)
            if all(bar is None for bar in y_bars):
                continue
        if not all_on_path:
            marks = [mark if mark in on_path else None for mark in marks]
        context.op = op
        context.inputs = inputs
        context.outputs = outputs
        context._marks = marks
        context.is_free = alone is not None
        has_masked = False
        by_rule = op.pulls_alone and not masked
        if not by_rule:
            context.is_masked = False
            if masked:
                are_masked = [
                    m in masked for m, y_bar in zip(out_marks, y_bars, strict=True) if y_bar is not None
                ]
                context.is_masked, has_masked = all(are_masked), any(are_masked)
            context.masks = Masks([m in masked for m in out_marks]) if op.structured else None
            if alone is not None and op.pull_into is not None:
                first = marks[0]
                if first is not None and first in own:
                    into = bars[first]
                    if _takes(into, alone) and op.pull_into(context, alone.data, into.data):
                        if has_masked:
                            masked.add(first)
                        continue
        try:
            x_bars: Cotangents | None
            if alone is None:
                x_bars = op.vjp(context, *y_bars)
            else:
                quick = op.quick_vjp
                x_bars = None if quick is None else _quick_bars(quick, context, alone)
                if x_bars is None:
                    x_bars = op.vjp(context, alone)
        except Exception as error:  # raised again with the name of the op
            error = named(error, op)
            raise error
        if not by_rule and (has_masked or op.masks or op.structured):
            x_bars = _after_masks(context, has_masked, marks, y_bars, x_bars, masked)
        for mark, x_bar in zip(marks, x_bars, strict=True):
            if x_bar is not None and mark is not None:
                if mark in bars:
                    bars[mark] = add_bars(bars[mark], x_bar)
                    if is_free:
                        own.add(mark)
                else:
                    bars[mark] = x_bar
                    if not by_rule and is_free and op.pull_into is not None:
                        own.add(mark)
    return bars


def _bars_of_outputs(bars: Bars, marks: Marks, wanted: Set[Mark]) -> tuple[Tensor | None, ...]:
    """The cotangents of all outputs of an op; only those of sources are kept."""
    found = [None if m is None else dense(bars.get(m) if m in wanted else bars.pop(m, None)) for m in marks]
    return tuple(found)


def _quick_bars(quick: Callable[..., Any], context: Context, bar: EagerTensor) -> Cotangents | None:
    """The cotangents of the inputs by the rule on arrays; None if that rule does not apply."""
    try:
        x_bars: Cotangents | None = quick(context, bar.data)
    except SHORT_WAY_ENDS:
        return None
    if context.is_masked and x_bars is not None and not all(map(_is_finite, x_bars)):
        return None  # only the rule on tensors handles masks
    return x_bars


def _after_masks(
    context: Context,
    has_masked: bool,
    marks: Marks,
    y_bars: Sequence[Any],
    x_bars: Cotangents,
    masked: set[Mark],
) -> Cotangents:
    """The cotangents of the inputs, 0 for elements that no branch took. The marks of inputs with such elements are added to
    `masked`.

    Args:
      has_masked: Whether zeros of a cotangent are such elements. A rule for several outputs is told of masks if all cotangents
        are masked; inputs whose pieces are the outputs are masked if one output is.
    """
    op = context.op
    if op.masks or has_masked:
        if (op.pointwise or op.touching is not None) and op.keeps != (False, False):
            x_bars = [_zero_where_zero(context, i, y_bars[0], bar) for i, bar in enumerate(x_bars)]
        if op.carries_masks or op.moves or op.spreads:
            masked.update([mark for mark in marks if mark is not None])
    if context.masks is not None:
        masked.update([mark for i in context.masks.inputs if (mark := marks[i]) is not None])
    return x_bars


def _takes(into: Tensor | IndexedSlices, bar: EagerTensor) -> TypeGuard[EagerTensor]:
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
        # A third of the time; False for huge numbers too.
        return math.isfinite(unreported(np.dot, flat, flat))
    return bool(np.isfinite(data).all())


_FEW = 256  # elements


def _zero_where_zero(context: Context, i: int, y_bar: Tensor, x_bar: Cotangent) -> Cotangent:
    """The cotangent of operand i, set to 0 for elements whose results all have cotangents of 0, whatever the derivative is
    there."""
    op = context.op
    if x_bar is None or isinstance(x_bar, IndexedSlices) or (context.is_free and _is_finite(x_bar)):
        return x_bar
    touching: Tensor = y_bar if op.pointwise else op.touching(context, y_bar)
    if op.pointwise and len(context.inputs) > 1:
        if not is_definite(x_bar.dims):
            # Whether the operand is broadcast, so that an element belongs to several results, is known only when the function
            # runs.
            has_part = bind(NOT_EQUAL, y_bar, scalar_like(0, y_bar))
            ones = bind(SELECT, has_part, scalar_like(1, y_bar), scalar_like(0, y_bar))
            touching = sum_to_input(context, i, ones)
        elif x_bar.dims != y_bar.dims:
            return x_bar
    # A finite cotangent is 0 there already. It is kept, since its own derivative need not be 0.
    kept = bind(TAKEN, bind(NOT_EQUAL, touching, scalar_like(0, touching)), bind(IS_FINITE, x_bar))
    return bind(SELECT, kept, x_bar, scalar_like(0, x_bar))


def _dependents(entries: Sequence[Entry], wanted: Set[Mark]) -> Set[Mark | None]:
    """The sources and all marks that depend on them."""
    on_path: set[Mark | None] = set(wanted)
    for entry in entries:
        for mark in entry[3]:
            if mark is not None and mark in on_path:
                on_path.update(entry[4])
                break
    return on_path
