"""`GradientTape`: a list of entries and the set of marks it follows.

A tape belongs to the level (eager, trace, batch) it was entered in and sees that level's ops after they have run. It owns its
entries; tensors carry only a mark. So a loss that is kept keeps nothing else alive, and any number of tapes can record at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, overload

from graphad.core.bind import EagerLevel, bind, new_recorder
from graphad.core.composites import flatten_records
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, DTypeError, FailedPreconditionError, InvalidArgumentError
from graphad.core.frames import user_line, warn_user
from graphad.core.levels import remove_recorder
from graphad.core.op import WRITES, Op
from graphad.core.shapes import is_definite, ranked
from graphad.core.sparse import Sparse, values_of
from graphad.core.tensor import VALUES, EagerTensor, Handle, Tensor
from graphad.core.tracebacks import of_call
from graphad.eager.variable import Variable
from graphad.gradient.backward import add_bars, backward
from graphad.gradient.notes import Notes, Past, without_values
from graphad.gradient.ones import FEW, apart, ones_for
from graphad.gradient.recorder import Recorder, mark_of
from graphad.gradient.transforms import TRANSFORMS
from graphad.ops.array.broadcast import BroadcastTo
from graphad.ops.array.create import zeros_like

if TYPE_CHECKING:
    from graphad.core.tensor import Mark
    from graphad.gradient.unconnected import UnconnectedGradients
else:
    UnconnectedGradients = str  # the annotation as `typing.get_type_hints` sees it, without making the enum

_dtype_warnings = 5
_USUAL = frozenset((EagerTensor, Variable))

K = TypeVar("K")
S = TypeVar("S", bound=Tensor | Handle)


class GradientTape(Recorder):
    """Records operations for automatic differentiation.

    Args:
      persistent: Keep the record after a gradient has been computed, so that more gradients can be.
      watch_accessed_variables: Follow every trainable variable that is read inside the block.
    Raises: InvalidArgumentError (a ValueError), when the block is entered: the tape is recording already.
    Example:
      >>> x = constant(3.0)
      >>> with GradientTape() as tape:
      ...     tape.watch(x)
      ...     y = x * x
      >>> tape.gradient(y, x).numpy()
      6.0
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        super().__init__(TRANSFORMS, watch_accessed_variables)
        self._persistent = self.differentiates_itself = persistent
        self._level: Any = None
        self._variables: dict[int, Any] = {}
        self._notes: Notes | None = None  # created when there is something to record
        self._past: Past | None = None
        self._entered = False
        self._used = False
        self._failed: str | None = None  # the error of a failed gradient that has used up the record
        self._warned = False

    def __repr__(self) -> str:
        return f"<{self!s}>"

    def __str__(self) -> str:
        from graphad.gradient.held import in_words  # imported here: used in interactive sessions only

        state = "recording" if self._level is not None else "used" if self._used else "stopped"
        return f"GradientTape, {state if self._entered else 'not entered'}: {in_words(self)}"

    # -- recording -----------------------------------------------------------------------------------------------

    def __enter__(self) -> GradientTape:
        if self._level is not None:
            raise InvalidArgumentError(
                "Tape is still recording, This can happen if you try to re-enter an already-active tape."
            )
        self._entered = True
        self._level = new_recorder(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._level is not None:
            self._stop()

    def _stop(self) -> None:
        self._older: tuple[Any, ...] = remove_recorder(self._level, self)
        self._level = None

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Pause this tape inside the block; its record is kept, and other tapes continue.

        Raises: FailedPreconditionError (a RuntimeError): the tape was never entered, or is used up; InvalidArgumentError (a
          ValueError): it is paused already, or its block has ended.
        """
        if self._used or not self._entered:
            raise FailedPreconditionError("Trying to stop recording a tape which is not recording.")
        if self._level is None:
            raise InvalidArgumentError("Tape is not recording.")
        level = self._level
        self._stop()
        try:
            yield
        finally:
            if self._level is None:
                self._level = new_recorder(self, level, self._older)

    def reset(self) -> None:
        """Clear everything recorded and watched so far, and continue recording.

        Raises: InvalidArgumentError (a ValueError): the tape is not recording.
        """
        if self._level is None:
            raise InvalidArgumentError("Tape is not recording.")
        self.clear()
        self._variables, self._notes = {}, None

    def watch(self, tensor: object) -> None:
        """Follow a tensor, a variable, the values of IndexedSlices and SparseTensors, or a nest of these, from now on.

        Raises: InvalidArgumentError: an object is neither.
        """
        if type(tensor) is EagerTensor and tensor.data.dtype.kind in "fc":  # nearly always
            self.follow(tensor)
            return
        for x in flatten_records(tensor)[0]:
            if isinstance(x, Sparse):
                x = x.values
            if not isinstance(x, VALUES):
                raise InvalidArgumentError(
                    f"Passed in object {x!r} of type '{type(x).__name__}', not tf.Tensor or tf.Variable or ExtensionType."
                )
            if not x.spec.dtype.is_differentiable:
                _warn_dtype(x.spec.dtype.name)
                continue
            if isinstance(x, Handle):
                self._watch_variable(x)
            else:
                self.follow(x)

    def watched_variables(self) -> tuple[Handle, ...]:
        """The variables this tape follows, in the order in which they were constructed."""
        return tuple(sorted(self._variables.values(), key=lambda handle: getattr(handle, "serial", 0)))

    def note_break(self, op: Op, inputs: Sequence[Handle | Tensor], outputs: Sequence[Tensor]) -> None:
        if any(x.mark in self._tracked for x in inputs):
            self._note(op, inputs, outputs, user_line() or "")
        elif self._beyond:
            self.note_beyond(op, inputs, outputs)

    def note_beyond(self, op: Op, inputs: Sequence[Handle | Tensor], outputs: Sequence[Tensor]) -> None:
        if any(x.mark in self.notes.marks for x in inputs):
            self._note(op, inputs, outputs, None)

    def _note(self, op: Op, inputs: Sequence[Any], outputs: Sequence[Any], line: str | None) -> None:
        notes = self.notes
        self._beyond = notes.has_room()
        if self._beyond:
            marks = [x.mark for x in inputs if x.mark is not None]
            # A variable that an op writes depends on the op's operands.
            changed = [x for x in inputs if isinstance(x, Handle)] if op.effects & WRITES else []
            out_marks = [mark_of(y) for y in (*outputs, *changed)]
            notes.after.append((op, marks, out_marks, line))
            notes.marks.update(out_marks)

    def follows(self, x: Handle | Tensor) -> bool:
        return x.mark in self._tracked or (isinstance(x, Handle) and self._automatic and x.trainable)

    def note_exit(self, x: Any, way: str) -> None:
        if self.follows(x) and self.notes.has_room():
            self.notes.exits.append((way, mark_of(x), user_line()))

    def _watch_variable(self, handle: Handle) -> Mark:
        self._variables.setdefault(id(handle), handle)
        return self.follow(handle)

    # -- derivatives ---------------------------------------------------------------------------------------------

    # A gradient can be None, or IndexedSlices for a lookup; the annotations omit both.
    @overload
    def gradient(
        self,
        target: object,
        sources: Tensor | Handle,
        output_gradients: object = None,
        unconnected_gradients: UnconnectedGradients | str = "none",
    ) -> Tensor: ...
    @overload
    def gradient(
        self,
        target: object,
        sources: list[S],
        output_gradients: object = None,
        unconnected_gradients: UnconnectedGradients | str = "none",
    ) -> list[Tensor]: ...
    @overload
    def gradient(
        self,
        target: object,
        sources: tuple[S, ...],
        output_gradients: object = None,
        unconnected_gradients: UnconnectedGradients | str = "none",
    ) -> tuple[Tensor, ...]: ...
    @overload
    def gradient(
        self,
        target: object,
        sources: dict[K, S],
        output_gradients: object = None,
        unconnected_gradients: UnconnectedGradients | str = "none",
    ) -> dict[K, Tensor]: ...
    @overload
    def gradient(
        self,
        target: object,
        sources: object,
        output_gradients: object = None,
        unconnected_gradients: UnconnectedGradients | str = "none",
    ) -> Any: ...
    def gradient(
        self,
        target: object,
        sources: object,
        output_gradients: object = None,
        unconnected_gradients: UnconnectedGradients | str = "none",
    ) -> Any:
        """The gradient of the sum of all elements of `target` with respect to each source.

        Args:
          target: A tensor or a nest of tensors; IndexedSlices and SparseTensors count by their values.
          sources: A tensor, variable, IndexedSlices or SparseTensor, or a nest of these.
          output_gradients: One upstream gradient per target, ones by default.
          unconnected_gradients: 'none' or 'zero': the gradient of an unconnected source.
        Returns: A nest like `sources`: a tensor, IndexedSlices (for gather), a sparse value for a sparse source, or None.
        Raises: FailedPreconditionError (a RuntimeError): the tape is not persistent and was used before.
        """
        self._check_unused("gradients (or jacobians)")
        is_zero = unconnected_gradients != "none" and _mode(unconnected_gradients).value == "zero"
        if target is None:
            raise ArgumentTypeError(
                "Argument `target` should be a list or nested structure of Tensors, Variables or CompositeTensors to be "
                "differentiated, but received None."
            )
        targets = [target] if type(target) is EagerTensor else flatten_records(target)[0]
        given, rebuild = flatten_records(sources)
        wanted, are_sparse = given, False
        if not {*map(type, targets), *map(type, given)} <= _USUAL:
            for x in (*targets, *given):
                if not isinstance(x, VALUES):
                    targets, wanted, are_sparse = _differentiated(targets, given)
                    break
        upstream = [None] * len(targets) if output_gradients is None else _upstream(targets, output_gradients)
        level = self._level
        if level is not None:
            self._begin()
        bars: dict[Any, Any] = {}
        ones: dict[Any, EagerTensor] = {}
        spread = self._entries[-1] if self._entries and self._entries[-1][0].takes_spread else None
        for y, bar in zip(targets, upstream, strict=True):
            mark = y.mark
            if (mark is not None or any(y is x for x in wanted)) and y.dtype.is_differentiable:
                mark = mark or mark_of(y)
                if bar is None:
                    bar = ones_for(y, spread is not None and mark in spread[4], ones)
                before = bars.get(mark)
                bars[mark] = bar if before is None else add_bars(before, bar)
        marks = [x.mark or mark_of(x) for x in wanted]
        # Entries are released one by one to free memory early, unless a user's rule may raise.
        consume = not (self._persistent or self._has_foreign)
        noted = None if self._persistent or self._notes is None else without_values(self._entries)
        try:
            entries = self._entries if consume else self._entries[:]
            backward(entries, bars, set(marks), TRANSFORMS, self._leaves, consume)
        except BaseException as error:
            if consume:
                self._failed = f"{type(error).__name__}: {error}"
                self._release()
            else:
                self._resume(level)
            if isinstance(error, Exception):
                raise of_call(error)  # noqa: B904 - it is the same error
            raise
        copies: dict[int, EagerTensor] = {}
        results = list(map(bars.get, marks))
        are_all = True
        for k, bar in enumerate(results):
            if type(bar) is EagerTensor:
                if bar.data.size > FEW:
                    results[k] = apart(bar, copies)
            elif bar is None:
                are_all = False
        past = None
        if not are_all:
            from graphad.gradient.explain_none import warn_of_unconnected  # which few programs need

            unconnected = [x for x, bar in zip(wanted, results, strict=True) if bar is None]
            past = None if self._persistent else Past(self, targets, unconnected, noted)
            warn_of_unconnected("GradientTape.gradient", past or self, targets, wanted, results)
        if not self._persistent:
            self._release()
            self._past = past
        if is_zero:
            results = [zeros_like(x) if bar is None else bar for bar, x in zip(results, wanted, strict=True)]
        if are_sparse:
            results = [_as_slices(x, bar) for x, bar in zip(given, results, strict=True)]
        return rebuild(results)

    @overload
    def jacobian(
        self,
        target: object,
        sources: Tensor | Handle,
        unconnected_gradients: UnconnectedGradients | str = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Tensor: ...
    @overload
    def jacobian(
        self,
        target: object,
        sources: list[S],
        unconnected_gradients: UnconnectedGradients | str = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> list[Tensor]: ...
    @overload
    def jacobian(
        self,
        target: object,
        sources: tuple[S, ...],
        unconnected_gradients: UnconnectedGradients | str = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> tuple[Tensor, ...]: ...
    @overload
    def jacobian(
        self,
        target: object,
        sources: dict[K, S],
        unconnected_gradients: UnconnectedGradients | str = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> dict[K, Tensor]: ...
    @overload
    def jacobian(
        self,
        target: object,
        sources: object,
        unconnected_gradients: UnconnectedGradients | str = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any: ...
    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: UnconnectedGradients | str = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The derivative of every element of `target` with respect to every element of each source.

        Args:
          target: A tensor [*t].
          sources: A tensor or variable [*s], or a nest of these.
          unconnected_gradients: 'none' or 'zero': the gradient of an unconnected source.
          parallel_iterations: An upper bound on the rows computed at once; never changes values.
          experimental_use_pfor: False computes row by row, which needs a persistent tape.
        Returns: A nest like `sources` of tensors [*t, *s], or None.
        """
        self._check_unused("gradients (or jacobians)")
        mode = _checked_mode("jacobian", unconnected_gradients)
        # This imports the batch level, which most programs do not need.
        from graphad.gradient import jacobian as jacobians

        return jacobians.jacobian(self, target, sources, mode, parallel_iterations, experimental_use_pfor)

    def batch_jacobian(
        self,
        target: Tensor,
        source: Tensor | Handle,
        unconnected_gradients: UnconnectedGradients | str = "none",
        parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Tensor:
        """The Jacobian of each row of `target` with respect to the same row of `source`.

        Args:
          target: A tensor [b, *t]; row i should depend on row i of the source only. If rows are mixed, a warning names the op
          that mixes them, and the result is the Jacobian summed over the target's rows.
          source: A tensor [b, *s].
          unconnected_gradients: 'none' or 'zero'; an unconnected source gives zeros in both cases.
          parallel_iterations: An upper bound on the columns computed at once; never changes values.
          experimental_use_pfor: False computes column by column, which needs a persistent tape.
        Returns: A tensor [b, *t, *s].
        """
        self._check_unused("gradients (or jacobians)")
        mode = _checked_mode("batch_jacobian", unconnected_gradients)
        from graphad.gradient import jacobian as jacobians

        return jacobians.batch_jacobian(
            self, target, source, mode, parallel_iterations, experimental_use_pfor
        )

    def why_none(self, target: Handle | Tensor, source: Handle | Tensor) -> str:
        """Why `gradient(target, source)` is None: the missing link, with the user's line at which a path broke.

        After a gradient, a tape that is not persistent knows it only for the gradients that it has computed.

        Args:
          target, source: A tensor or variable each; a dtype other than float or complex is itself the reason.
        Returns: A sentence.
        Raises: ArgumentTypeError (a TypeError): one of them is neither a tensor nor a variable.
        """
        from graphad.gradient.explain_none import why_none

        return why_none(self, target, source)

    # -- what the other files of this package use ------------------------------------------------------------------

    @property
    def is_persistent(self) -> bool:
        return self._persistent

    @property
    def notes(self) -> Notes:
        if self._notes is None:
            self._notes = Notes()
        return self._notes

    @property
    def is_used(self) -> bool:
        return self._used

    @property
    def past(self) -> Past | None:
        """What is kept of a tape that was used up, if a gradient was None."""
        return self._past

    @property
    def follows_variables(self) -> bool:
        return self._automatic

    def _check_unused(self, what: str) -> None:
        if self._failed is not None:
            raise FailedPreconditionError(
                f"tape.gradient: an earlier gradient of this tape failed ({self._failed}), and its record is gone; "
                "use persistent=True for a tape that can be asked again."
            )
        if self._used or not self._entered:
            raise FailedPreconditionError(
                f"A non-persistent GradientTape can only be used to compute one set of {what}"
                + ("" if self._used else ", and this one was never entered")
                + ". Ask for all sources in one call, or make it with persistent=True."
            )

    def _begin(self) -> None:
        """Called once all arguments are checked, while the tape records: recording ends, or continues with a warning."""
        if not self._persistent:
            self._stop()
        elif not self._warned:
            self._warned = True
            warn_user(
                "Calling GradientTape.gradient on a persistent tape inside its context is significantly less efficient "
                "than calling it outside the context (it causes the gradient ops to be recorded on the tape)."
            )

    @contextmanager
    def computing(self) -> Iterator[None]:
        """A block that computes a derivative: the tape is used up only if it succeeds."""
        level = self._level
        if level is not None:
            self._begin()
        try:
            yield
        except BaseException:
            self._resume(level)
            raise
        if not self._persistent:
            self._release()

    def _resume(self, level: EagerLevel | None) -> None:
        """Resume recording after a derivative failed for which recording was ended."""
        if level is not None and self._level is None:
            self._level = new_recorder(self, level, self._older)

    def _release(self) -> None:
        self._used = True
        self.clear()
        self._notes = None


def _mode(value: UnconnectedGradients | str) -> UnconnectedGradients:
    from graphad.gradient.unconnected import unconnected_mode  # imported here, since few programs give it

    return unconnected_mode(value)


def _checked_mode(name: str, value: UnconnectedGradients | str) -> UnconnectedGradients:
    try:
        return _mode(value)
    except InvalidArgumentError as cause:
        raise InvalidArgumentError(
            f"Encountered an exception while vectorizing the {name} computation. {cause}"
        ) from cause


def _upstream(targets: Sequence[Any], output_gradients: object) -> list[Any]:
    given = _one_per_target(targets, output_gradients)
    if len(given) != len(targets):
        raise InvalidArgumentError(
            f"tape.gradient: {len(given)} output_gradients for {len(targets)} targets; give one for each target."
        )
    out = []
    for k, (y, bar) in enumerate(zip(targets, given, strict=True)):
        if bar is None:
            raise InvalidArgumentError(
                f"tape.gradient: output_gradients[{k}] is None (Attempt to convert a value (None) with an unsupported type to a "
                "Tensor); give zeros of the target's shape, or leave that target out."
            )
        try:
            bar = lift(bar, y.spec.dtype)
        except DTypeError as cause:
            raise DTypeError(f"tape.gradient: output_gradients do not fit their target: {cause}") from cause
        dims = y.dims
        if is_definite(dims) and bar.dims is None:
            bar = bind(BroadcastTo(dims), bar)
        elif is_definite(dims) and bar.dims != dims:
            given_dims = ranked(bar.dims)
            if len(given_dims) > len(dims) or any(
                type(b) is int and b not in (1, t) for b, t in zip(given_dims[::-1], dims[::-1], strict=False)
            ):
                raise InvalidArgumentError(
                    f"tape.gradient: Incompatible shapes: output_gradients has shape {bar.dims}, its target {dims}."
                )
            bar = bind(BroadcastTo(dims), bar)
        out.append(bar)
    return out


def _one_per_target(targets: Sequence[Tensor], output_gradients: object) -> list[Any]:
    """The leaves; if there are too many, each list of numbers counts as one array."""
    given, _ = flatten_records(output_gradients)
    if len(given) > len(targets) and all(isinstance(x, int | float | complex) for x in given):
        if isinstance(output_gradients, list | tuple) and len(output_gradients) == len(targets):
            return list(output_gradients)
        return [output_gradients]
    return given


def _differentiated(targets: list[Any], given: list[Any]) -> tuple[list[Any], list[Any], bool]:
    """The tensors to differentiate for targets and sources that are not all tensors, and whether a source is sparse.

    Raises: ArgumentTypeError: one is neither a tensor nor a variable nor sparse.
    """
    values = [[values_of(x) for x in xs] for xs in (targets, given)]
    for x in itertools.chain(*values):
        if not isinstance(x, VALUES):
            cure = (
                "leave it out of the targets and sources"
                if x is None
                else "make it a tensor by tf.constant before the computation, and use that"
            )
            raise ArgumentTypeError(
                f"tape.gradient: {x!r} of type {type(x).__name__} is neither a Tensor nor a Variable; {cure}."
            )
    return values[0], values[1], any(isinstance(x, Sparse) for x in given)


def _warn_dtype(name: str) -> None:
    global _dtype_warnings
    if _dtype_warnings > 0:
        _dtype_warnings -= 1
        warn_user(f"The dtype of the watched tensor must be floating (e.g. tf.float32), got tf.{name}")


def _as_slices(source: Sparse | Tensor, bar: object) -> Any:
    """The gradient of a sparse value: one number for each of its values."""
    if bar is None or not isinstance(source, Sparse):
        return bar
    return source.with_values(lift(bar))
