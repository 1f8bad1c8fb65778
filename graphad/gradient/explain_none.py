"""Why a gradient is None: the missing link between source and target, with the user's line.

Only reasons that are certain are given. Besides its entries, a tape keeps the ops at which a path broke, and the ops on their
results. So a break is named only if it is between source and target. If the tape has no record any more, the message says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.errors import ArgumentTypeError
from graphad.core.frames import warn_user
from graphad.core.leaving import ASKED, DOCUMENTED, NUMBERS
from graphad.core.op import Op
from graphad.core.tensor import VALUES, Handle
from graphad.gradient import notes as noted
from graphad.gradient.notes import Notes, Past
from graphad.graph.ir import Graph

if TYPE_CHECKING:
    from graphad.core.annotations import TensorLike
    from graphad.core.tensor import Mark, Tensor
    from graphad.gradient.tape import GradientTape


class Break:
    """Where a path broke: the op, and the user's line."""

    __slots__ = ("line", "op", "why")

    def __init__(self, op: Op, line: str | None, why: str | None = None) -> None:
        self.op = op
        self.line = line
        self.why = why or op.gradless or "its result is not floating"

    @property
    def sentence(self) -> str:
        where = f" at {self.line}" if self.line else ""
        return f"the path breaks at {self.op.name}{where}: {self.why}."


def refuse_lost(name: str, tape: GradientTape, targets: Sequence[Tensor], sources: Sequence[Tensor]) -> None:
    """Raise an error if a target does not depend on a source by the record of the tape, but may depend on it through an array
    that was read from the tape's values.

    Functions such as `grad` cannot return None, and zeros would be a wrong derivative.

    Args:
      name: The function, for the message.
    Raises: ArgumentTypeError (a TypeError).
    """
    if not tape.notes.exits:
        return
    exits = {mark: (way, line) for way, mark, line in reversed(tape.notes.exits)}
    exits |= {mark: (way, line) for way, mark, line in reversed(tape.notes.exits) if way not in NUMBERS}
    for source in sources:
        states = {} if source.mark is None else _states(tape, source.mark)
        found = [exits[mark] for mark in states if mark in exits]
        if not found:
            continue
        left = next((each for each in found if each[0] not in NUMBERS), found[0])
        is_lost = all(states.get(target.mark) is None for target in targets)
        if is_lost and left[0] not in NUMBERS:
            raise ArgumentTypeError(lost(name, *left))
        if is_lost or (left[0] not in ASKED and not left[0].startswith(("np.", DOCUMENTED))):
            warn_partly(name, *left)
            tape.notes.is_told = True


def warn_partly(name: str, way: str, line: str | None) -> None:
    """Warn of an array that was read from a value on which the result depends: what the program did with the array is unknown."""
    where = f" at {line}" if line else ""
    warn_user(
        f"{name}: a value that depends on the argument left by {way}{where}. If the result depends on what left, this part of "
        "the derivative is missing: write it with graphad's functions. If it is only looked at, x.numpy() or "
        "tf.stop_gradient(x) says so."
    )


def warn_of_unconnected(
    name: str,
    tape: GradientTape | Past,
    targets: Sequence[Any],
    sources: Sequence[Handle | Tensor],
    results: Sequence[Any],
) -> None:
    """Warn of the first source whose gradient is None because NumPy or Python read a value of the tape.

    TensorFlow's programs inspect values inside a tape, as with `float(loss)`. So a value that the program itself reads counts
    only if the target depends on nothing that the tape follows.
    """
    exits = () if tape.notes.is_told else tape.notes.exits
    passed = [DOCUMENTED, *(ASKED if any(target.mark in tape.tracked for target in targets) else ())]
    counted = {mark: (way, line) for way, mark, line in reversed(exits) if way not in passed}
    for source, result in zip(sources, results, strict=True) if counted else ():
        if result is not None:
            continue
        states = {} if source.mark is None else _states(tape, source.mark)
        left = next((counted[mark] for mark in (source.mark, *states) if mark in counted), None)
        if left is not None and all(states.get(target.mark) is None for target in targets):
            way, line = left
            where = f" at {line}" if line else ""
            warn_user(
                f"{name}: a gradient is None, since a value that depends on the source left the tape by {way}{where}, and what "
                "Python, NumPy or SciPy computes from it is not recorded. Write it with graphad's functions (`stack` for "
                "np.array of tensors), or tf.stop_gradient(x) where no derivative is wanted."
            )
            return


def lost(name: str, way: str, line: str | None) -> str:
    """The message of a derivative that ended at an array."""
    where = f" at {line}" if line else ""
    return (
        f"{name}: the derivative is lost: a value that depends on the argument left by {way}{where}, what Python, NumPy or SciPy "
        "computes from it is not recorded, and the result depends on the argument in no other way. Write it with graphad's "
        "functions (`stack` for np.array of tensors), or tf.stop_gradient(x) where no derivative is wanted."
    )


_BRANCHES = ("then_graph", "else_graph")

# The state of a value: True if a derivative reaches it, the Break that ends the path to it, or None.
State = Any


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
    if tape.is_used:
        tape = tape.past
        if tape is None or (target.mark, source.mark) not in tape.none:
            return (
                "the reason is no longer known: a gradient has used up the record of this tape; "
                "call why_none before, or make the tape persistent."
            )
    notes = tape.notes
    exits = _sentence_of_exits(notes, {source.mark}, kind)
    if source.mark is None or source.mark not in tape.tracked:
        return exits or _not_followed(tape, source)
    states = _states(tape, source.mark)
    state = None if target.mark is None else states.get(target.mark)
    if state is True:
        return (
            "a path connects source and target, so the gradient is not None unless a rule on the way gives none: "
            "that of a custom gradient, or of an op that has no derivative by this input."
        )
    if state is not None:
        return state.sentence  # type: ignore[no-any-return]
    exits = _sentence_of_exits(notes, states.keys(), kind)
    if exits:
        return exits
    if notes.is_full:
        return (
            f"the reason is not known: more than {noted.MOST_NOTES} ops without a derivative were recorded, the limit; "
            "ask with fewer of them inside the block."
        )
    if target.mark is None or (target.mark not in tape.tracked and target.mark not in notes.marks):
        return (
            f"the target was computed outside the tape, or while it was paused, or does not depend on the {kind}; "
            "move the computation inside the `with` block."
        )
    if isinstance(tape, Past) and not tape.is_whole:
        return (
            f"nothing that the tape recorded leads from the {kind} to the target, unless a rule on the way gave none: that of a "
            "custom gradient, or of an op that has no derivative by this input."
        )
    return f"nothing that the tape recorded leads from the {kind} to the target."


def _not_followed(tape: GradientTape | Past, source: TensorLike) -> str:
    if not isinstance(source, Handle):
        return "the tape does not follow the source; call tape.watch on it before it is used."
    if not source.trainable:
        return "the source is a variable with trainable=False; call tape.watch on it before it is used."
    if not tape.follows_variables:
        return "the tape was made with watch_accessed_variables=False; call tape.watch on the variable before it is used."
    return (
        "the tape did not see the variable read: nothing inside the `with` block did, or only in another thread, while the tape "
        "was paused, or before a `reset`; compute the target from the variable itself inside of the block."
    )


def _sentence_of_exits(notes: Notes, marks: Any, kind: str) -> str | None:
    for way, mark, line in notes.exits:
        if mark is not None and mark in marks:
            where = f" at {line}" if line else ""
            return (
                f"nothing that the tape recorded leads from the {kind} to the target, but a value that depends on the {kind} "
                f"left the tape by {way}{where}: what Python or NumPy computes from it is not recorded; compute with "
                "graphad's ops instead (`stack` for np.array of tensors)."
            )
    return None


def _states(tape: GradientTape | Past, source: Mark) -> dict[Any, State]:
    """The state of every value that depends on the source, by mark."""
    states: dict[Any, State] = {source: True}
    changed = True
    while changed:  # entries and notes are two lists, each in order
        changed = False
        for op, inputs, _, marks, out_marks in tape.entries:
            known = [
                states.get(getattr(x, "mark", None) if mark is None else mark)
                for x, mark in zip(inputs, marks, strict=True)
            ]
            if any(known):
                changed |= _reach(states, out_marks, _through(op, known, len(out_marks)))
        for op, marks, out_marks, line in tape.notes.after:
            found = _joined([states.get(mark) for mark in marks])
            if found is not None:
                if found is True and line is not None:
                    found = Break(op, line or None)
                changed |= _reach(states, out_marks, [found] * len(out_marks))
    return states


def _reach(states: dict[Any, State], marks: Sequence[Mark], found: Sequence[State]) -> bool:
    changed = False
    for mark, state in zip(marks, found, strict=True):
        before = states.get(mark)
        if (
            mark is not None
            and state is not None
            and (before is None or (state is True and before is not True))
        ):
            states[mark] = state
            changed = True
    return changed


def _joined(known: Sequence[State]) -> State:
    """The combined state of several values: True if a derivative reaches one, else a Break if there is one, preferably not at a
    size op."""
    if any(state is True for state in known):
        return True
    breaks = [state for state in known if state is not None]
    breaks.sort(key=lambda found: found.op.by_value == ())
    return breaks[0] if breaks else None


def _through(op: Op, known: Sequence[State], n_outputs: int) -> list[State]:
    """The states of the outputs of an op, from the states of its inputs."""
    if op.inlines:
        return _through_graph(op.graph, known)  # type: ignore[attr-defined]
    branches = [
        graph for graph in (getattr(op, name, None) for name in _BRANCHES) if isinstance(graph, Graph)
    ]
    if branches:
        given = [known[len(known) - len(graph.inputs) :] for graph in branches]
        ends = [_through_graph(graph, states) for graph, states in zip(branches, given, strict=True)]
        shown = [_joined(of_branches) for of_branches in zip(*ends, strict=False)]
        return [*shown, *[_joined(known)] * (n_outputs - len(shown))][:n_outputs]
    found = _joined(known)
    # Imported here: few programs call `why_none`.
    from graphad.ops.control.custom import ClosedCustom, CustomGradient

    if isinstance(op, CustomGradient | ClosedCustom):
        found = _joined(op.inputs.xs(known))
        if found is None and any(known):
            found = Break(
                op, None, "its gradient function has no gradient for values that are not its arguments"
            )
    return [found] * n_outputs


def _through_graph(graph: Graph, known: Sequence[State]) -> list[State]:
    states = dict(enumerate(known))
    for node in graph.nodes:
        given = [states.get(i) for i in node.inputs]
        if not any(given):
            continue
        through = _through(node.op, given, len(node.specs))
        for i, spec, state in zip(node.outputs, node.specs, through, strict=True):
            if state is True and (node.op.gradless is not None or not spec.dtype.is_differentiable):
                state = Break(node.op, node.line)
            states[i] = state
    return [states.get(i) for i in graph.outputs]
