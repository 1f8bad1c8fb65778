"""The recorder: entries of the ops that touch a followed value, in the order in which they ran.

The recorder owns the entries and the set of marks it follows; a tensor carries only its mark. Values that no rule will
read are replaced by their shape and dtype, and entries whose results nobody can reach any more are swept out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from graphad.core.op import READS, Op
from graphad.core.tensor import EagerTensor, Handle
from graphad.gradient.backward import Dropped
from graphad.ops.state.variables import READ

_DROP_BYTES = 2048  # below this, keeping a value is cheaper than describing it
_FIRST_SWEEP = 4096


# The identity of a value for recorders: any object that is equal to itself only.
Mark = object


def mark_of(x: Any) -> Any:
    """The mark of a tensor or handle, made now if it has none."""
    mark = x.mark
    if mark is None:
        mark = x.mark = Mark()
    return mark


class Recorder:
    """Records entries (op, inputs, outputs, input marks, output marks).

    Args:
      transforms: What structured ops ask for the pullback of their sub-graphs.
      automatic: Follow every trainable variable that an op reads.
    """

    differentiates_itself = False

    def __init__(self, transforms: Any, automatic: bool = False) -> None:
        self.transforms = transforms
        self._automatic = automatic
        self._tracked: set[Any] = set()
        self._entries: list[Any] = []
        self._sweep_at = _FIRST_SWEEP
        self.poison = False  # tests: drop even small values, to catch rules that read undeclared ones

    @property
    def entries(self) -> list[Any]:
        return self._entries

    @property
    def tracked(self) -> set[Any]:
        return self._tracked

    def follow(self, x: Any) -> Any:
        """Follow a tensor or handle from now on; returns its mark."""
        mark = mark_of(x)
        self._tracked.add(mark)
        return mark

    def clear(self) -> None:
        """Forget everything."""
        self._tracked, self._entries, self._sweep_at = set(), [], _FIRST_SWEEP

    def needs(self, op: Op, inputs: Sequence[Any]) -> tuple[bool, ...] | None:
        marks = self._marks(op, inputs)
        return None if marks is None else tuple([mark is not None for mark in marks])

    def note_break(self, op: Op, inputs: Sequence[Any]) -> None:
        """Told of ops without a gradient, and of those whose results are no numbers that have one."""

    def record(self, op: Op, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        tracked = self._tracked
        followed = False
        marks = []
        for x in inputs:
            mark = x.mark
            if mark is not None and mark in tracked:
                followed = True
            else:
                mark = None
                if type(x) is not EagerTensor:
                    mark = self._automatic_mark(op, x)
                    followed = followed or mark is not None
            marks.append(mark)
        if not followed:
            return
        out_marks = []
        for y in outputs:
            if (y.data.dtype.kind in "fcV") if type(y) is EagerTensor else y.dtype.is_differentiable:
                mark = y.mark
                if mark is None:
                    mark = y.mark = Mark()
                tracked.add(mark)
                out_marks.append(mark)
            else:
                out_marks.append(None)
        if not any(out_marks):
            self.note_break(op, inputs)
            return
        kept_inputs, kept_outputs = op.keeps
        if kept_inputs is not True:
            inputs = [x if _is_kept(k, kept_inputs) else self._dropped(x) for k, x in enumerate(inputs)]
        if kept_outputs is not True:
            if kept_outputs is False and not op.multiple:
                outputs = ()
            else:
                outputs = [
                    y if _is_kept(k, kept_outputs) else self._dropped(y) for k, y in enumerate(outputs)
                ]
        entries = self._entries
        entries.append((op, inputs, outputs, marks, out_marks))
        if len(entries) > self._sweep_at:
            self._sweep()

    def _watch_variable(self, handle: Handle) -> Any:
        return self.follow(handle)

    def read(self, handle: Handle, value: EagerTensor) -> None:
        """See a variable read by an op that was given the variable: the value stands for the variable itself."""
        mark = handle.mark
        if mark is None or mark not in self._tracked:
            mark = self._automatic_mark(READ, handle)
        if mark is not None:
            value.mark = mark

    def _automatic_mark(self, op: Op, x: Any) -> Any:
        """The mark of a variable that is followed because this op reads it, else None."""
        if not (self._automatic and isinstance(x, Handle) and x.trainable and op.effects & READS):
            return None
        return self._watch_variable(x) if x.spec.dtype.is_differentiable else None

    def _marks(self, op: Op, inputs: Sequence[Any]) -> list[Any] | None:
        """The marks of the inputs that are followed, None for others; None altogether if none is."""
        marks = [
            x.mark if x.mark is not None and x.mark in self._tracked else self._automatic_mark(op, x)
            for x in inputs
        ]
        return marks if any(mark is not None for mark in marks) else None

    def _dropped(self, x: Any) -> Any:
        if type(x) is EagerTensor and (x.data.nbytes > _DROP_BYTES or self.poison):
            return Dropped(x.data.shape, x.dtype)
        return x

    def _sweep(self) -> None:
        """Drop entries whose outputs nobody can reach.

        A mark that only the tracked set, the entry and the tensors the entry itself keeps refer to belongs to no living
        value. Walking backwards, each dropped entry frees the marks of its inputs.
        """
        entries, tracked = self._entries, self._tracked
        kept = []
        while entries:
            entry = entries.pop()
            outputs, out_marks = entry[2], entry[4]
            if all(_is_unreachable(outputs, out_marks, k) for k in range(len(out_marks))):
                tracked.difference_update(out_marks)
            else:
                kept.append(entry)
            del entry, outputs, out_marks
        kept.reverse()
        self._entries = entries
        entries.extend(kept)
        self._sweep_at = max(_FIRST_SWEEP, 2 * len(kept))


def _is_kept(k: int, kept: Any) -> bool:
    return kept is not False and k in kept


def _is_unreachable(outputs: Sequence[Any], marks: Sequence[Any], k: int) -> bool:
    mark, y = marks[k], outputs[k] if outputs else None
    held = getattr(y, "mark", None) is mark and mark is not None
    if held and sys.getrefcount(y) > 3:  # the entry, this frame, the call
        return False
    # The tracked set, the entry's list, this frame and the call; one more where the entry keeps the tensor itself.
    return mark is None or sys.getrefcount(mark) <= 4 + held
