"""Why a gradient is None: which link between source and target is missing."""

from __future__ import annotations

from typing import Any

from graphad.core.tensor import Handle


def why_none(tape: Any, target: Any, source: Any) -> str:
    """One sentence that names the missing link; see `GradientTape.why_none`."""
    kind = "variable" if isinstance(source, Handle) else "tensor"
    if not source.spec.dtype.is_differentiable:
        return f"the source has dtype {source.spec.dtype.name}; only float and complex values have gradients."
    if not target.spec.dtype.is_differentiable:
        return f"the target has dtype {target.spec.dtype.name}; only float and complex values have gradients."
    if source.mark is None or source.mark not in tape.tracked:
        if isinstance(source, Handle) and not source.trainable:
            return "the source is a variable with trainable=False; call tape.watch on it before it is used."
        if isinstance(source, Handle):
            return "the variable was not read while the tape was recording."
        return "the tape does not follow the source; call tape.watch on it before it is used."
    if target.mark is None or target.mark not in tape.tracked:
        broken = _broken_at(tape, source.mark)
        if broken is not None:
            return broken
        return (
            f"the target was computed outside the tape, or does not depend on the {kind}; move the computation inside "
            "the `with` block."
        )
    reached = {source.mark}
    for _, _, _, marks, out_marks in tape.entries:
        if any(mark in reached for mark in marks if mark is not None):
            reached.update(mark for mark in out_marks if mark is not None)
    if target.mark in reached:
        return (
            "a path connects source and target, so the gradient is not None unless a custom gradient says so."
        )
    broken = _broken_at(tape, source.mark)
    if broken is not None:
        return broken
    return f"nothing that the tape recorded leads from the {kind} to the target."


def _broken_at(tape: Any, mark: Any) -> str | None:
    """The first op without a gradient that a value depending on the source went into."""
    reached = {mark}
    for _, _, _, marks, out_marks in tape.entries:
        if any(m in reached for m in marks if m is not None):
            reached.update(m for m in out_marks if m is not None)
    for op, marks, line in tape.breaks:
        if any(m in reached for m in marks):
            where = f" at {line}" if line else ""
            return f"the path breaks at {op.name}{where}: {op.gradless}."
    return None
