"""Why a gradient is None: which link between source and target is missing, down to the user's line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.errors import ArgumentTypeError
from graphad.core.op import Op
from graphad.core.tensor import VALUES, Handle
from graphad.graph.ir import Graph
from graphad.ops.control.call import GraphCall
from graphad.ops.control.custom import ClosedCustom, CustomGradient


def why_none(tape: Any, target: Any, source: Any) -> str:
    """One sentence that names the missing link; see `GradientTape.why_none`."""
    for x in (target, source):
        if not isinstance(x, VALUES):
            raise ArgumentTypeError(
                f"why_none: {x!r} of type {type(x).__name__} is neither a Tensor nor a Variable."
            )
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
    reached, breaks = _followed(tape, source.mark)
    if target.mark is not None and target.mark in reached:
        return (
            "a path connects source and target, so the gradient is not None unless a custom gradient says so."
        )
    if breaks:
        return breaks[0]
    if target.mark is None or target.mark not in tape.tracked:
        return (
            f"the target was computed outside the tape, or while it was paused, or does not depend on the {kind}; "
            "move the computation inside the `with` block."
        )
    return f"nothing that the tape recorded leads from the {kind} to the target."


def _followed(tape: Any, source: Any) -> tuple[set[Any], list[str]]:
    """The marks that depend on the source, and where paths from it break."""
    reached, inner = {source}, []
    for op, _, _, marks, out_marks in tape.entries:
        from_source = [mark is not None and mark in reached for mark in marks]
        if any(from_source):
            through = _through(op, from_source, len(out_marks), inner)
            reached.update(
                mark for mark, passes in zip(out_marks, through, strict=True) if passes and mark is not None
            )
    breaks = [(op, line) for op, marks, line in tape.breaks if any(mark in reached for mark in marks)] + inner
    # Ops that ask for sizes take part in many formulas; they are named only where nothing else is to blame.
    breaks.sort(key=lambda found: found[0].by_value == ())
    return reached, [_sentence(op, line) for op, line in breaks]


def _through(op: Op, inputs: Sequence[bool], n_outputs: int, breaks: list[Any]) -> list[bool]:
    """Which outputs of an op depend on the given inputs; breaks inside of called graphs are collected."""
    if isinstance(op, GraphCall):
        return _through_graph(op.graph, inputs, breaks)
    if isinstance(op, CustomGradient | ClosedCustom):
        return [any(inputs[: op.n_inputs])] * n_outputs
    return [True] * n_outputs


def _through_graph(graph: Graph, inputs: Sequence[bool], breaks: list[Any]) -> list[bool]:
    reached = {i for i, given in enumerate(inputs) if given}
    for node in graph.nodes:
        given = [i in reached for i in node.inputs]
        if not any(given):
            continue
        floating = [spec.dtype.is_differentiable for spec in node.specs]
        if node.op.gradless is not None or not any(floating):
            breaks.append((node.op, node.line))
            continue
        through = _through(node.op, given, len(node.specs), breaks)
        reached.update(
            i for i, passes, has in zip(node.outputs, through, floating, strict=True) if passes and has
        )
    return [i in reached for i in graph.outputs]


def _sentence(op: Op, line: str | None) -> str:
    where = f" at {line}" if line else ""
    return f"the path breaks at {op.name}{where}: {op.gradless or 'its result is not floating'}."
