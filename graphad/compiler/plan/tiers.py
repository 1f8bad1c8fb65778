"""Towards tier 1: native code of a plan, once its kernels are compiled.

For a plan that is large or called often, a thread partitions the graph and finds kernels in the cache, the compile worker
compiles the missing ones, and when all have addresses the plan switches. After any failure it stays at tier 0 (`host.py`), with
one line in the log.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from graphad.compiler.pipeline import DEFAULT, Options
from graphad.core import bind as door
from graphad.core import forks
from graphad.core.collector import paused
from graphad.core.errors import GraphadError, ResourceExhaustedError, UnavailableError
from graphad.core.op import IO, WRITES
from graphad.graph.ir import Graph

if TYPE_CHECKING:  # modules that only compiling needs are imported when something is compiled
    from graphad.compiler.backend import Backend
    from graphad.compiler.plan.native import Bound
    from graphad.compiler.plan.schedule import Schedule
    from graphad.compiler.units import Partition
    from graphad.kernels.forms import Kernel
    from graphad.kernels.stages import Stages

SWITCH = 0.0005  # seconds after which a busy caller yields to the preparing thread, which itself yields at every call into LLVM


_TOLD = 3  # steps whose reasons are in the log
_MOST_FOR_A_PLAN = 1.0  # seconds that a call waits for one: the thread may have others to make first
MORE_ROOM = 32  # times as much, after some runs without an answer
LESS_ROOM = 8  # a part of it, where there is not as much memory
MOST_ROOM = 1 << 20
WAITING, READY, FAILED = "waiting", "ready", "failed"


class Compilation:
    """The native side of one size class: its schedule and the addresses of its kernels. `source` is the graph before it was
    optimised, if sizes in it may be assumed; `room` is that for sizes without a bound that runs find, 0 for that of a first
    plan, None if they find no sizes.

    Attributes:
      state: None until the first request, then WAITING, READY or FAILED.
      reason: Why it failed.
      seconds: The time from the first request until it was ready.
      compiled: How many kernels were compiled rather than found in the cache.
      assumes: Whether its schedule assumes sizes of slices, so that a run may have no answer for others.
      is_open: Whether some of these have no bound, so that its memory may be too small for them.
      cannot_measure: Whether it could not be bound, since rows depend on sizes that a run finds in no simple way.
      why_unmeasured: Why sizes that runs find are not part of native code, "" where they are, or there are none.
      in_python: The partition, where all of its units are steps in Python.
    """

    def __init__(
        self,
        graph: Graph,
        literals: frozenset[int],
        options: Options = DEFAULT,
        device: str = "cpu",
        source: Graph | None = None,
        room: int | None = 0,
    ) -> None:
        self.graph = graph
        self.device = device
        self.literals = literals
        self.options = options
        self.state: str | None = None
        self.reason: str | None = None
        self.schedule: Schedule | None = None
        self.addresses: dict[Kernel | Stages, int] = {}
        self.seconds = 0.0
        self.compiled = 0
        self.assumes = self.is_open = False
        self._source = source
        self._room = room
        self._before = 0  # the room of the plan before
        self.cannot_measure = False
        self.why_unmeasured = ""
        self.in_python: Partition | None = None
        self._lock = forks.lock()
        self._awaited = False
        self._missing: set[Kernel | Stages | None] = set()
        self._started = 0.0
        self._is_planned: threading.Event | None = None  # set once the background has a plan, or has failed

    @property
    def backend(self) -> Backend:
        """The backend, imported at first use."""
        from graphad.compiler.backend import backend_of

        return backend_of(self.device)

    @property
    def is_ready(self) -> bool:
        return self.state == READY

    @property
    def has_failed(self) -> bool:
        return self.state == FAILED

    def ask(self, numbers: Mapping[str, int]) -> None:
        """Compile the kernels in the background; returns at once. `numbers` are the sizes of the requesting call."""
        with self._lock:
            if self.state is not None:
                return
            self.state = WAITING
            self._started = time.perf_counter()
            self._is_planned = threading.Event()
            _waiting.add(self)
        _background(lambda: self._guarded(lambda: self._prepare(numbers)))

    def wait_for_plan(self) -> bool:
        """Wait until the background has planned what was asked for. Returns: whether the plan can run natively, since all its
        kernels were in the cache."""
        planned = self._is_planned
        if planned is not None and not planned.wait(_MOST_FOR_A_PLAN):
            return False
        return self.is_ready

    def wait(self, is_part: bool = False) -> bool:
        """Compile the kernels now; `is_part` says that the user asked for a function of which this graph is a part.

        Returns: whether the plan can run natively.
        """
        with self._lock:
            if self.state in (READY, FAILED):
                return self.state == READY
            self.state = WAITING
            self._awaited = not is_part
            self._started = self._started or time.perf_counter()
            _waiting.add(self)
        try:
            _apart_from_signals(lambda: self._guarded(self._build))
        except BaseException:  # such as Ctrl-C: the wait is over, so a later call may request again
            self.forget_request()
            raise
        return self.state == READY

    def forget_request(self) -> None:
        """Reset the request, after its thread or worker is gone."""
        with self._lock:
            if self.state == WAITING:
                self.state = None

    def address(self, kernel: Kernel | Stages) -> int:
        return self.addresses[kernel]

    def kernels(self) -> list[Kernel | Stages]:
        """The distinct kernels of the plan."""
        if self.schedule is None:
            return []
        return list(dict.fromkeys(loop.kernel for loop in self.schedule.partition.loops))

    def fail(self, reason: str) -> None:
        """Stay at tier 0, and wake the threads that wait for compiled code."""
        if self.state != FAILED:
            self.state, self.reason = FAILED, reason
            import logging  # slow to import and rarely needed

            level = logging.WARNING if self._awaited else logging.INFO
            logging.getLogger("graphad").log(level, "graphad: %s runs on NumPy: %s", self.graph.name, reason)

    def _plan(self) -> list[Kernel | Stages]:
        return paused(self._planned)  # includes the imports

    def _planned(self) -> list[Kernel | Stages]:
        from graphad.compiler.partition import partition
        from graphad.compiler.pipeline import carried
        from graphad.compiler.plan.schedule import schedule
        from graphad.compiler.units import why_in_python
        from graphad.core.dims import apart_from

        if self.schedule is None:
            with apart_from(self.literals):
                made = self._with_assumed_sizes()
                self.assumes = made is not None
                if made is None:
                    made = self._made_again(carried(self.graph, self.options))
                if made is None or (made.partition.graph is not self.graph and made.has_loops_in_python):
                    made = self._made_again(self.graph)
                if made is None:
                    made = schedule(partition(self.graph, self.options, self.backend))
            if not made.native_units:
                self.in_python = made.partition
                why = [f"; {why_in_python(made.partition, unit, 'it')}" for unit in made.partition.units]
                raise GraphadError(f"none of its nodes has a kernel{''.join([*dict.fromkeys(why)][:_TOLD])}")
            self.schedule = made
        kernels = self.kernels()
        for kernel in kernels:
            reason = self.backend.why_not(kernel)
            if reason is not None:
                raise GraphadError(reason)
        return kernels

    def _with_assumed_sizes(self) -> Schedule | None:
        """The schedule with the sizes that slices have unless they are clipped; None where native code would not gain by it."""
        if self._source is None:
            return None
        from graphad.compiler.passes.assume import ROOM, assumed, is_checked, relies
        from graphad.compiler.pipeline import carried, optimise
        from graphad.compiler.units import why_in_python
        from graphad.core.dims import related

        for measures in (True, False) if self._room is not None and self.backend.has_measures else (False,):
            found = assumed(self._source, measures, self._room or ROOM)
            if found is None or (measures and not found.rooms):
                continue
            with related(found.relations):
                graph = optimise(found.graph, self.options, self.literals)
                ways = [carried(graph, self.options), graph]
            for each in dict.fromkeys(ways):
                try:
                    with related(found.relations):
                        made = self._made_again(each, True, bool(found.rooms))
                except UnavailableError as error:
                    self.why_unmeasured = str(error)
                    continue
                if made is None or (each is not graph and made.has_loops_in_python):
                    continue
                if not is_checked(made.partition.graph, found.checks):
                    continue
                hosts = [segment.units[0] for segment in made.segments if not segment.is_native]
                if found.rooms and (hosts or len(made.segments) > 1):
                    why = [why_in_python(made.partition, unit, "it") for unit in hosts]
                    self.why_unmeasured = "; ".join([*dict.fromkeys(why)][:_TOLD])
                    continue
                if not any(relies(node.op, found.checks) for unit in hosts for node in unit.nodes):
                    made.partition.rooms, made.partition.relations = found.rooms, found.relations
                    self.why_unmeasured = self.why_unmeasured if not found.rooms else ""
                    self.is_open = found.is_open
                    return made
        return None

    def assume_nothing(self) -> Compilation:
        """A compilation of the same graph that assumes no sizes of slices."""
        return Compilation(self.graph, self.literals, self.options, self.device)

    def measure_less(self) -> Compilation:
        """One for the same graph with less room for sizes without a bound, since products of them need too much memory, but more
        than earlier ones have had; or one in which no size is found by the run."""
        less = self._room // LESS_ROOM if self._room and self.is_open else 0
        room = less if less > self._before else None
        made = Compilation(self.graph, self.literals, self.options, self.device, self._source, room)
        made._before = self._before
        made.why_unmeasured = self.why_unmeasured
        return made

    def with_more_room(self) -> Compilation:
        """A compilation for runs that found no result in this one: with more room for sizes without a bound, or without such
        sizes."""
        from graphad.compiler.passes.assume import ROOM

        room = MORE_ROOM * (self._room or ROOM)
        if not self.is_open or room > MOST_ROOM:
            return self.assume_nothing()
        made = Compilation(self.graph, self.literals, self.options, self.device, self._source, room)
        made._before = self._room or ROOM
        return made

    def _made_again(self, graph: Graph, always: bool = False, has_calls: bool = False) -> Schedule | None:
        """The schedule of a graph with routines, None if a run without an answer could not be made again; with `always` no error
        is taken for that of the op."""
        from graphad.compiler.partition import partition
        from graphad.compiler.plan.schedule import schedule

        part = partition(graph, self.options, self.backend, True, has_calls)
        made = schedule(part, is_made_again=always or bool(graph.effects & (WRITES | IO)))
        return None if not made.is_single and made.acts_before() else made

    def _build(self) -> None:
        kernels = self._plan()
        missing = paused(lambda: [kernel for kernel in kernels if not self._found(kernel)])
        self.compiled = max(self.compiled, len(missing))
        events = []
        for kernel in missing:  # all requests at once, so that the worker never idles
            done = threading.Event()
            if self.backend.request(kernel, lambda *_, done=done: done.set()):
                events.append(done)
        from graphad.core.progress import Progress

        with Progress("Compiling", len(events), "kernel") as progress:
            for done in events:
                while not done.wait(0.25):
                    progress.advance()
                progress.advance(1)
        for kernel in missing:
            self.addresses[kernel] = self.backend.build(kernel)
        self._ready()

    def _found(self, kernel: Kernel | Stages) -> bool:
        if kernel not in self.addresses:
            address = self.backend.find(kernel)
            if address is None:
                return False
            self.addresses[kernel] = address
        return True

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # any error: NumPy gives the same results
            self.fail(f"{type(error).__name__}: {error}")
            if door.VERIFY and not isinstance(error, GraphadError):
                raise
        finally:
            if self._is_planned is not None:
                self._is_planned.set()

    def _prepare(self, numbers: Mapping[str, int]) -> None:
        from graphad.compiler.plan.native import bind

        kernels = self._plan()
        missing = paused(lambda: [kernel for kernel in kernels if not self._found(kernel)])
        self.compiled = len(missing)
        self._missing = {None, *missing}  # None stands for the rehearsal
        for kernel in missing:
            if not self.backend.request(kernel, self._receiver(kernel)):
                self.fail("there is no compile worker")
                return
        # While the worker compiles, load everything that the first native call needs, so that the caller's thread does not
        # stall.
        assert self.schedule is not None
        # with other numbers it can be bound, or is made anew
        with contextlib.suppress(ResourceExhaustedError, UnavailableError):
            bind(self.schedule, numbers, lambda kernel: 0).rehearse()
        self._arrived(None)

    def _receiver(self, kernel: Kernel | Stages) -> Callable[[int | None, str | None], None]:
        def receive(address: int | None, reason: str | None) -> None:
            if address is None:
                self.fail(reason or "the compile worker died")
                return
            self.addresses[kernel] = address
            self._arrived(kernel)

        return receive

    def _arrived(self, kernel: Kernel | Stages | None) -> None:
        with self._lock:
            self._missing.discard(kernel)
            done = not self._missing
        if done:
            self._ready()

    def _ready(self) -> None:
        with self._lock:
            if self.state != FAILED:
                self.seconds = time.perf_counter() - self._started
                self.state = READY
        if self.is_ready:
            from graphad.compiler.plan.known import mark

            mark(self.graph, self.options, self.device)

    def bind(self, numbers: Mapping[str, int]) -> Bound | None:
        """The plan bound to numbers, None if that is not possible."""
        schedule = self.schedule
        assert schedule is not None
        try:
            return paused(lambda: _bound(schedule, numbers, self.address))
        except ResourceExhaustedError:
            return None  # the calls of NumPy say which op asks for so much
        except GraphadError as error:
            if schedule.partition.rooms:
                self.cannot_measure, self.why_unmeasured = True, str(error)
            else:
                self.fail(f"{type(error).__name__}: {error}")
            return None


def _bound(schedule: Schedule, numbers: Mapping[str, int], address: Callable[[Any], int]) -> Bound:
    from graphad.compiler.plan.native import bind

    return bind(schedule, numbers, address)


def _apart_from_signals(work: Callable[[], None]) -> None:
    """Do the work in a thread in which no signal handler runs.

    Handlers run in the main thread, between any two instructions. Their exceptions are for the caller and must not count as
    failures of the work.
    """
    if threading.current_thread() is not threading.main_thread():
        work()
        return
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # raised again in the caller's thread
            failures.append(error)

    thread = threading.Thread(target=guarded, name="graphad compilation", daemon=True)
    if not forks.started(thread):
        work()
        return
    thread.join()
    if failures:
        raise failures[0]


_waiting: weakref.WeakSet[Compilation] = weakref.WeakSet()  # the requests in progress
_IDLE = 5.0  # seconds after which the preparing thread ends
_tasks: deque[Callable[[], None]] = deque()
_more = threading.Event()  # there are tasks; those before it was last cleared were seen
_thread: threading.Thread | None = None
_thread_lock = forks.lock()


def _background(task: Callable[[], None]) -> None:
    """Run a task in the single preparing thread, which ends after some idle time.

    Where there can be no thread now, the task waits for the next one: until then its graph runs as NumPy calls.
    """
    global _thread
    with _thread_lock:
        _tasks.append(task)
        _more.set()
        if _thread is None or not _thread.is_alive():
            thread = threading.Thread(
                target=_serve, args=(_tasks, _more), name="graphad-prepare", daemon=True
            )
            _thread = thread if forks.started(thread) else None


def _serve(tasks: deque[Callable[[], None]], more: threading.Event) -> None:
    global _thread
    while True:
        more.clear()
        if not tasks:
            if not more.wait(_IDLE):
                with _thread_lock:
                    if not tasks:
                        _thread = None
                        return
            continue
        task = tasks.popleft()
        with forks.settled:
            interval = sys.getswitchinterval()
            sys.setswitchinterval(min(interval, SWITCH))
            try:
                task()
            finally:
                sys.setswitchinterval(interval)


@forks.in_child
def _start_anew() -> None:
    """In a forked child: thread and worker are gone; the next request starts both."""
    global _thread, _tasks, _more
    _thread, _tasks, _more = None, deque(), threading.Event()
    for compilation in tuple(_waiting):
        compilation.forget_request()
