"""The chain of levels of a thread: the top level runs an op, and its recorders see the op afterwards.

`EagerLevel` is at the bottom, above it any mix of trace and batch levels. No level at all means eager without recorders, the
short way. A level belongs to the thread and task that entered it; other threads and tasks do not inherit it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import get_ident
from typing import TYPE_CHECKING, Any

from graphad.core.light import Protocol
from graphad.core.op import Op

if TYPE_CHECKING:
    from graphad.core.annotations import TensorLike
    from graphad.core.bind import EagerLevel
    from graphad.core.tensor import EagerTensor, Handle, Tensor
    from graphad.trace.tracer import Trace


class Recorder(Protocol):
    """Sees every op of its level after the op has run."""

    def record(self, op: Op, inputs: Sequence[Handle | Tensor], outputs: Sequence[Tensor]) -> None:
        """See one op with its inputs and outputs as values of the recorder's level."""

    def read(self, handle: Handle, value: EagerTensor) -> None:
        """See a variable's value that an op is about to use, at the eager level."""

    def needs(self, op: Op, inputs: Sequence[Handle | Tensor]) -> tuple[bool, ...] | None:
        """Which inputs of an op about to run are followed; None if none is."""

    def instead(
        self, op: Op, inputs: Sequence[Handle | Tensor], younger: Sequence[Recorder]
    ) -> Sequence[Tensor] | None:
        """The outputs of an op with sub-graphs, if this recorder runs it in its own way; `younger` see ops before it does."""

    def note_break(self, op: Op, inputs: Sequence[Handle | Tensor], outputs: Sequence[Tensor]) -> None:
        """See an op that has no gradient, after it has run."""

    def follows(self, x: Handle | Tensor) -> bool:
        """Whether an op with this input would be recorded."""

    def note_exit(self, x: object, way: str) -> None:
        """See that a value leaves to Python or NumPy, whose computations are not recorded."""

    differentiates_itself: bool  # a persistent tape: its gradients may be recorded by itself

    @property
    def transforms(self) -> Any:
        """The transforms of sub-graphs that `Op.augmented` may use."""


class Level(Protocol):
    """Gives meaning to `bind`."""

    below: Level | None
    recorders: tuple[Recorder, ...]
    owner: Any
    line: str | None
    entries: int  # in how many `entered` blocks it is

    def process(self, op: Op, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs of an op as values of this level."""

    def constant(self, data: object) -> Any:
        """A NumPy value as a value of this level."""


_level: ContextVar[Any] = ContextVar("graphad_level", default=None)
# Every short way reads this first: None means eager without recorders.
busy = _level.get


def here() -> tuple[int, int] | int:
    """The current thread, and the task if there is one."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None:
        return get_ident()
    return get_ident(), id(asyncio.current_task())


def current() -> Any:
    """The top level, None for eager without recorders; a level inherited from another thread or task does not count."""
    level = _level.get()
    # A level of this thread was entered in this task, or around the running event loop, and then encloses all of its tasks.
    # `bind` and the read of a variable ask for the thread before they call, since a call would be felt in each op of a tape.
    if level is None or (level.owner == get_ident() and (level.entries or level.recorders)):
        return level
    if level.owner != here():
        _level.set(None)
        return None
    return level


def is_within(trace: object, level: Level | None) -> bool:
    """Whether a trace, or one that has adopted it, is this level or below it."""
    while level is not None:
        if level is trace or getattr(level, "adopted", None) is trace:
            return True
        level = level.below
    return False


def chain() -> Iterator[Any]:
    """The current levels, from the top down."""
    level = current()
    while level is not None:
        yield level
        level = level.below


def is_trace(level: object) -> bool:
    """Whether a level traces ops into a graph."""
    return getattr(level, "is_trace", False)


def trace_in_progress() -> Any:
    """The topmost level that traces ops into a graph, None if there is none."""
    level = current()
    while level is not None and not getattr(level, "is_trace", False):  # `is_trace`, in line: hot
        level = level.below
    return level


def _hearing() -> Iterator[Recorder]:
    """The recorders to notify that a value leaves: not those around a function whose derivative the user wrote."""
    for level in chain():
        for recorder in reversed(level.recorders):
            if getattr(recorder, "has_rule", False):
                return
            yield recorder


def unwatched() -> Any:
    """The level to enter for a block that neither tapes nor traces see; the device of the enclosing block remains."""
    for level in chain():
        if getattr(level, "is_place", False):
            return level.alone()
    return None


def note_exit(x: TensorLike, way: str) -> None:
    """Tell the recorders that a value leaves to Python or NumPy."""
    for recorder in _hearing():
        recorder.note_exit(x, way)


def is_followed(x: Handle | Tensor) -> bool:
    """Whether a derivative with respect to something that this value depends on would end where NumPy reads it."""
    return any(recorder.follows(x) for recorder in _hearing())


class entered:
    """Make `level` the top level inside the block.

    A signal handler may raise between any two calls. An interrupt before the block begins leaves the previous level in place.
    """

    __slots__ = ("_before", "_level")

    def __init__(self, level: Any) -> None:
        self._level = level

    def __enter__(self) -> Any:
        level, before = self._level, current()
        self._before = before
        try:
            _level.set(level)
            if level is not None:
                level.entries += 1
        except BaseException:
            _level.set(before)
            raise
        return level

    def __exit__(self, *error: object) -> None:
        before = self._before
        if self._level is not None:
            self._level.entries -= 1
        _level.set(before)
        if before is not None and _is_idle(before):
            _level.set(None)


def leave_traces(before: Any) -> None:
    """After an error: return to the previous level, if a trace that began later was not left.

    An interrupt may come when a block ends, before anything was restored.
    """
    level = _level.get()
    while level is not None and level is not before:
        if is_trace(level):
            _level.set(before)
            return
        level = level.below


def make_top(level: Any) -> None:
    """Make a level, or None, the top level of this thread."""
    _level.set(level)


def _is_idle(level: Any) -> bool:
    # The eager level exists only while something records, whoever created it.
    return (
        level is not None
        and level.below is None
        and not level.recorders
        and getattr(level, "is_eager", False)
    )


def add_recorder(
    recorder: Recorder, make_eager: Any, again: EagerLevel | Trace | None = None, older: tuple[Any, ...] = ()
) -> Any:
    """Attach a recorder to the current level, which `make_eager` creates when there is none; returns the level.

    A paused recorder returns to its earlier level, `again`, if that is still in the chain, and to its place behind the recorders
    in `older`: an outer recorder must see an op before an inner one computes with its outputs.
    """
    top = level = current()
    if level is None and again is None:  # nearly always
        level = make_eager()
        level.recorders = (recorder,)
        _level.set(level)
        return level
    while again is not None and level is not None and level is not again:
        level = level.below
    level = top if level is None else level
    while getattr(level, "is_place", False):
        level = level.below  # the level of a device has no recorders; they belong to the eager level below it
    if level is None:
        level = make_eager()
        _level.set(level)
    now = level.recorders
    place = len(now)
    if again is not None:
        place = max([k + 1 for k, each in enumerate(now) if any(each is other for other in older)], default=0)
    level.recorders = (*now[:place], recorder, *now[place:])
    return level


@contextmanager
def paused(level: Any, recorder: Recorder) -> Iterator[None]:
    """Detach a recorder of the top level inside the block; the level stays, since levels above it return to it."""
    top = current()
    before = level.recorders
    level.recorders = tuple([other for other in before if other is not recorder])
    try:
        yield
    finally:
        # In the previous order: an outer recorder must see an op before an inner one computes with its outputs.
        now = level.recorders
        kept = [each for each in before if each is recorder or any(each is other for other in now)]
        level.recorders = (*kept, *[each for each in now if not any(each is other for other in kept)])
        _level.set(top if getattr(top, "is_place", False) else level)


def remove_recorder(level: Any, recorder: Recorder) -> tuple[Recorder, ...]:
    """Detach a recorder from the level that `add_recorder` returned. Returns: The recorders that were attached before it."""
    before: tuple[Recorder, ...] = level.recorders
    older: tuple[Recorder, ...] = ()
    if len(before) == 1 and before[0] is recorder:  # nearly always
        level.recorders = ()
    else:
        older = before[: next((k for k, each in enumerate(before) if each is recorder), 0)]
        level.recorders = tuple([other for other in before if other is not recorder])
    if _is_idle(level) and _level.get() is level:
        _level.set(None)
    return older
