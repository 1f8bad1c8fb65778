"""The one door: every application of an op goes through `bind`.

`bind` hands the op to the top level; after that level has produced the outputs, its recorders see (op, inputs, outputs) as
values of that level. With no level the op is evaluated at once.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from graphad.core.errors import GraphadError, InternalError, RuleError
from graphad.core.flags import switch_of_environment
from graphad.core.ieee import REPORTED, SHORT_WAY_ENDS, unreported
from graphad.core.levels import add_recorder, busy, current, here
from graphad.core.memo import Memo
from graphad.core.op import IO, WRITES, Op, TupleOp, in_tuple, output_specs
from graphad.core.rule_errors import explained
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Handle, Tensor, blank
from graphad.core.tracebacks import of_call

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.trace.tracer import Trace


VERIFY = switch_of_environment("GRAPHAD_VERIFY")


def is_mistake(error: Exception) -> bool:
    """Whether an error for which there is a way round is raised nevertheless: what a mistake in a rule raises, where tests look
    for such."""
    return VERIFY and isinstance(error, RuleError)


# Calls that `infer` has accepted: (op, shapes and dtypes of the inputs).
_checked = Memo("checked", 8192)


class EagerLevel:
    """The bottom level: ops run at once on NumPy arrays. It exists only while something records."""

    __slots__ = ("below", "entries", "line", "owner", "recorders")
    is_eager = True

    def __init__(self) -> None:
        self.below = None
        self.line: str | None = None
        self.recorders: tuple[Any, ...] = ()
        self.owner = here()
        self.entries = 0

    def process(self, op: Op, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return evaluate(op, inputs)

    def constant(self, data: Array) -> EagerTensor:
        return EagerTensor(data)


@overload
def bind(op: TupleOp, *inputs: Tensor | Handle) -> tuple[Tensor, ...]: ...  # type: ignore[overload-overlap]
@overload
def bind(op: Op, *inputs: Tensor | Handle) -> Tensor: ...
def bind(op: Op, *inputs: Any) -> Any:
    """Apply `op` to tensors (and handles); one output, or a tuple of them where the op has several."""
    level = busy()
    if level is not None and (
        type(level) is not EagerLevel or op.layered or (level.owner != get_ident() and current() is not level)
    ):
        outputs = bind_all(op, inputs)
        return outputs if op.multiple else outputs[0]
    y = None
    quick = op.quick
    if quick is not None and not VERIFY:
        try:
            y = quick(*inputs)
        except SHORT_WAY_ENDS:
            y = None
    if level is None:
        if y is not None:
            made = blank(EagerTensor)
            made.data, made.mark = y, None
            return made
        outputs = checked(op, inputs)
        return outputs if op.multiple else outputs[0]
    if y is None:
        outputs = checked(op, inputs)
    else:
        made = blank(EagerTensor)
        made.data, made.mark = y, None
        outputs = (made,)
    if op.gradless is None:
        for recorder in level.recorders:
            recorder.record(op, inputs, outputs)
    else:
        for recorder in level.recorders:
            recorder.note_break(op, inputs, outputs)
    return outputs if op.multiple else outputs[0]


def bind_all(op: Op, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """`bind` without its short ways; always returns a tuple."""
    level = current()
    if level is None:
        return evaluate(op, inputs)
    shown = None
    if op.layered and level.recorders:
        recorders = level.recorders
        for k in reversed(range(len(recorders))):
            found = recorders[k].instead(op, inputs, recorders[k + 1 :])
            if found is not None:
                return tuple(found)
        shown, op = _prepared(op, inputs, recorders)
    outputs: tuple[Any, ...] = (
        evaluate(op, inputs) if type(level) is EagerLevel else level.process(op, inputs)
    )
    if op.gradless is None:
        for recorder in level.recorders:
            recorder.record(op, inputs, outputs)
    else:
        for recorder in level.recorders:
            recorder.note_break(op, inputs, outputs)
    return outputs if shown is None else outputs[:shown]


def _prepared(op: Op, inputs: Sequence[Handle | Tensor], recorders: Sequence[Any]) -> tuple[int | None, Op]:
    """The op with one layer of residual outputs for each recorder that follows an input, and how many outputs the caller sees.

    Every layer covers the inputs that any recorder follows, since a recorder also sees the residuals of the others.
    """
    asked = [(recorder, needs) for recorder in recorders if (needs := recorder.needs(op, inputs)) is not None]
    if not asked:
        return None, op
    shown = op.n_outputs  # type: ignore[attr-defined]
    union = tuple([any(column) for column in zip(*[needs for _, needs in asked], strict=True)])
    for recorder, _ in asked:
        op = op.augmented(recorder.transforms, union)  # type: ignore[attr-defined]
        if op.effects & (WRITES | IO) and recorder.differentiates_itself:
            # The second derivative must not run the op again, since that would repeat its effect.
            op = op.augmented(recorder.transforms, union)  # type: ignore[attr-defined]
    return shown, op


def evaluate(op: Op, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Run an op on eager tensors and handles."""
    quick = op.quick
    if quick is not None and not VERIFY:
        try:
            y = quick(*inputs)
        except SHORT_WAY_ENDS:
            y = None
        if y is not None:
            return (EagerTensor(y),)
    return checked(op, inputs)


def checked(op: Op, inputs: Sequence[Handle | Tensor]) -> tuple[Tensor, ...]:
    """Run an op after `infer` has accepted the shapes and dtypes of its inputs."""
    values = []
    for x in inputs:
        if type(x) is EagerTensor:
            values.append(x.data)
        elif isinstance(x, Handle) and not x.away:
            values.append(x)
        else:
            return _elsewhere(op, inputs)
    if not op.fits:
        try:
            check_inputs(op, inputs)
        except GraphadError as error:
            raise of_call(error)  # noqa: B904 - it is the same error
    try:
        try:
            out = op.eval(*values)
        except REPORTED:
            if op.effects or op.structured or op.extension:
                raise  # an op with effects must not run twice; its `eval` ignores floating point flags by itself
            out = unreported(op.eval, *values)
    except Exception as error:  # raised again, with the message of `infer` or with the name of the op
        error = explained(error, op, values)
        raise of_call(error)  # noqa: B904 - it is the same error, or has its cause
    if VERIFY:
        verify_outputs(op, [x.spec for x in inputs], in_tuple(op, out))
    if not op.multiple:
        return (EagerTensor(out[()] if type(out) is np.ndarray and not out.ndim else out),)
    return tuple([EagerTensor(y[()] if type(y) is np.ndarray and not y.ndim else y) for y in out])


def _elsewhere(op: Op, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Run an op with an input that is on another device than the CPU or has no value yet."""
    for x in inputs:
        if not (x.away or isinstance(x, EagerTensor | Handle)):
            raise x.out_of_scope(op)
    outputs: tuple[Any, ...] = importlib.import_module("graphad.devices.run").evaluate(op, inputs)
    return outputs


def check_inputs(op: Op, inputs: Sequence[Handle | Tensor]) -> None:
    """Call `infer`, unless it has already accepted such inputs."""
    key: list[Any] = [op]
    for x in inputs:
        if type(x) is EagerTensor:
            key.append(x.data.shape)
            key.append(x.data.dtype.num)
        else:
            key.append(x.spec)
    checked_already = tuple(key)
    if checked_already not in _checked:
        output_specs(op, [x.spec for x in inputs])
        if not op.structured and not op.transient:
            _checked.keep(checked_already, True)


def verify_outputs(op: Op, specs: Sequence[TensorSpec], outputs: Sequence[Array]) -> None:
    """Raise InternalError unless `infer` and `eval` agree; used under GRAPHAD_VERIFY and by tests."""
    for spec, y in zip(output_specs(op, specs), outputs, strict=True):
        if y.dtype != spec.dtype.numpy or not spec.describes(y.shape):
            raise InternalError(
                f"{op.name}: eval gave shape {y.shape} and dtype {y.dtype} for inputs {list(specs)}, infer says {spec}."
            )


def constant_here(data: Array) -> Tensor:
    """A NumPy value as a constant of the top level."""
    level = None if busy() is None else current()
    return EagerTensor(data) if level is None else level.constant(data)


def new_recorder(recorder: Any, again: EagerLevel | Trace | None = None, older: tuple[Any, ...] = ()) -> Any:
    """Attach a recorder to the current level, or re-attach it to the level from which it was detached. Returns: That level."""
    return add_recorder(recorder, EagerLevel, again, older)
