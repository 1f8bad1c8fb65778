"""The recorder: entries of the ops that touch a followed value, in the order in which they ran.

The recorder owns the entries and the set of marks it follows; a tensor carries only its mark. Values that no rule will read are
replaced by their shape and dtype, and entries whose results are unreachable are swept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

from graphad.core.forks import lock
from graphad.core.op import READS, Op
from graphad.core.tensor import EagerTensor, Handle, Mark
from graphad.gradient.backward import Dropped

if TYPE_CHECKING:
    from graphad.core.annotations import Array, Transforms, Value
    from graphad.core.tensor import Tensor
    from graphad.eager.variable import Variable
    from graphad.gradient.backward import Entry


_DROP_BYTES = 2048  # below this, keeping a value is cheaper than keeping its description
_FIRST_SWEEP = 4096


_marking = lock()


def mark_of(x: Value) -> Mark:
    """The mark of a tensor or handle, created if it has none. Concurrent threads get the same mark."""
    mark = x.mark
    if mark is None:
        with _marking:
            mark = x.mark
            if mark is None:
                mark = x.mark = Mark()
    return mark


class Recorder:
    """Records entries (op, inputs, outputs, input marks, output marks).

    Args:
      transforms: The transforms of sub-graphs, for structured ops.
      automatic: Follow every trainable variable that an op reads.
    """

    differentiates_itself = False

    def __init__(self, transforms: Transforms, automatic: bool = False) -> None:
        self.transforms = transforms
        self._automatic = automatic
        self._tracked: set[Mark] = set()
        self._leaves: set[Mark] = set()  # the tracked marks that no entry produced
        self._entries: list[Entry] = []
        self._sweep_at = _FIRST_SWEEP
        self._beyond = False  # whether to record what is computed after a break of a path
        self._has_foreign = False  # whether an entry has a user's rule, which may raise
        # Tests drop even small values, to catch rules that read undeclared ones.
        self.drop_above = _DROP_BYTES

    @property
    def entries(self) -> list[Any]:
        return self._entries

    @property
    def tracked(self) -> set[Any]:
        return self._tracked

    @property
    def leaves(self) -> set[Any]:
        """The followed marks that no entry produced."""
        return self._leaves

    def follow(self, x: Any) -> Mark:
        """Follow a tensor or handle from now on; returns its mark."""
        mark = x.mark or mark_of(x)
        self._tracked.add(mark)
        self._leaves.add(mark)
        return mark

    def clear(self) -> None:
        """Forget everything."""
        self._tracked, self._leaves, self._entries, self._sweep_at = set(), set(), [], _FIRST_SWEEP
        self._beyond = self._has_foreign = False

    def needs(self, op: Op, inputs: Sequence[Any]) -> tuple[bool, ...] | None:
        marks = self._marks(op, inputs)
        return None if marks is None else tuple([mark is not None for mark in marks])

    def instead(self, op: Op, inputs: Sequence[Any], younger: Sequence[Any]) -> None:
        """Ops run as they are."""

    def note_break(self, op: Op, inputs: Sequence[Handle | Tensor], outputs: Sequence[Tensor]) -> None:
        """See an op without a gradient, or one whose results have a dtype without gradients."""

    def follows(self, x: Any) -> bool:
        return x.mark in self._tracked

    def note_exit(self, x: object, way: str) -> None:
        """See a value that leaves to Python or NumPy."""

    def note_beyond(self, op: Op, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """See an op on values that are not followed, if some of these are computed from results of an op without a gradient."""

    def record(self, op: Op, inputs: Sequence[Handle | Tensor], outputs: Sequence[Tensor]) -> None:
        tracked = self._tracked
        followed = False
        marks = []
        for x in inputs:
            mark = x.mark
            if mark in tracked:  # None is never in it
                followed = True
            elif type(x) is EagerTensor:
                mark = None
            else:
                mark = self._automatic_mark(op, x)
                followed = followed or mark is not None
            marks.append(mark)
        if not followed:
            if self._beyond:
                self.note_beyond(op, inputs, outputs)
            return
        y = outputs[0] if len(outputs) == 1 else None
        if type(y) is EagerTensor and y.mark is None and y.data.dtype.kind in "fcV":
            mark = y.mark = Mark()
            tracked.add(mark)
            out_marks: Sequence[Any] = (mark,)
        else:
            out_marks = [self._out_mark(y) for y in outputs]
            if not any(out_marks):
                self.note_break(op, inputs, outputs)
                return
        kept_inputs, kept_outputs = op.keeps
        if op.keeps_alone is not None and None in marks and len(marks) == 2:
            kept_inputs, kept_outputs = op.keeps_alone[marks[0] is None]
        if kept_inputs is not True:
            inputs = self._kept(inputs, kept_inputs)
        if kept_outputs is not True:
            outputs = () if kept_outputs is False and not op.multiple else self._kept(outputs, kept_outputs)
        elif op.foreign:
            self._has_foreign = True
        entries = self._entries
        entries.append((op, inputs, outputs, marks, out_marks))
        if len(entries) > self._sweep_at:
            self._sweep()

    def _out_mark(self, y: Tensor) -> Mark | None:
        """The mark of a result, which is followed from now on; None if its dtype has no gradient."""
        if type(y) is EagerTensor:
            if y.data.dtype.kind not in "fcV":
                return None
            mark = y.mark
            if mark is None:
                mark = y.mark = Mark()  # no other thread has it yet
        elif y.dtype.is_differentiable:
            mark = mark_of(y)
        else:
            return None
        self._tracked.add(mark)
        return mark

    def _watch_variable(self, handle: Handle) -> Any:
        return self.follow(handle)

    def read(self, handle: Handle, value: EagerTensor) -> None:
        """See a variable read by an op whose operand is the variable: the value represents the variable."""
        mark = handle.mark
        if mark not in self._tracked:
            if not (self._automatic and handle.trainable and handle.spec.dtype.is_differentiable):
                return
            mark = self._watch_variable(handle)
        value.mark = mark

    def _automatic_mark(self, op: Op, x: Handle | Tensor | Variable) -> Mark | None:
        """The mark of a variable that is followed because this op reads it, else None."""
        if self._automatic and isinstance(x, Handle) and x.trainable and op.effects & READS:
            return self._watch_variable(x) if x.spec.dtype.is_differentiable else None
        return None

    def _marks(self, op: Op, inputs: Sequence[Handle | Tensor]) -> list[Mark | None] | None:
        """The mark of each followed input, else None; None instead of a list if none is followed."""
        marks = [x.mark if x.mark in self._tracked else self._automatic_mark(op, x) for x in inputs]
        return marks if any(mark is not None for mark in marks) else None

    def _kept(self, values: Sequence[Any], kept: Any) -> Sequence[Any]:
        """The values that an entry holds; a large one that no rule will read is replaced, so that it can be freed."""
        held: Any = values
        for k, x in enumerate(values):
            if (
                type(x) is EagerTensor
                and x.data.nbytes > self.drop_above
                and (kept is False or k not in kept)
            ):
                if held is values:
                    held = list(values)
                held[k] = Dropped(x.data.shape, x.dtype)
        return held  # type: ignore[no-any-return]

    def _sweep(self) -> None:
        """Drop entries whose outputs are unreachable.

        Walking backwards, each entry releases the marks of its outputs. A mark that survives belongs to a value that is still
        referenced, or is read by a later entry that was kept. A dropped entry also releases the marks of its inputs.
        """
        entries = self._entries
        kept = []
        while entries:
            op, inputs, outputs, marks, out_marks = entry = entries.pop()
            kinds: list[type] = [type(y) for y in outputs]
            if any(kind is not EagerTensor and kind is not Dropped for kind in kinds):
                kept.append(entry)  # of symbols, which the traced graph keeps anyway
                continue
            watched = [None if mark is None else ref(mark) for mark in out_marks]
            held: list[Any] = [
                y if kind is Dropped else (ref(y), y.data) for y, kind in zip(outputs, kinds, strict=True)
            ]
            self._tracked.difference_update(out_marks)
            del entry, outputs, out_marks
            alive = [None if mark is None else mark() for mark in watched]
            if all(mark is None for mark in alive):
                continue
            self._tracked.update([mark for mark in alive if mark is not None])
            made: list[Any] = [
                y if isinstance(y, Dropped) else _again(y[0], y[1], mark)
                for y, mark in zip(held, alive, strict=False)
            ]
            kept.append((op, inputs, made, marks, alive))
            del made, alive
        kept.reverse()
        entries.extend(kept)
        self._sweep_at = max(_FIRST_SWEEP, 2 * len(kept))


def _again(tensor: Any, data: Array, mark: Mark | None) -> EagerTensor:
    """An output as an entry keeps it: the tensor if it is referenced elsewhere, else a copy of the object."""
    y = tensor()
    if y is None:
        y = EagerTensor(data)
        y.mark = mark
    return y  # type: ignore[no-any-return]
