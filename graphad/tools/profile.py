"""`profile`: which functions ran, how often, how long, in which tier and why not natively, and where inside the time went.

While a profile is open, four methods are wrapped in timers: the call of a function, its tracing, the run of an executable, and
the NumPy tier. The timers are installed when the first profile opens and removed when the last one closes, so that programs
without a profile pay nothing. The first native calls of each kind run kernel by kernel, each timed.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from graphad.compiler.plan import rounds
from graphad.compiler.plan.executable import HOT_CALLS, Executable, Sizes
from graphad.compiler.plan.host import HostPlan
from graphad.compiler.plan.native import Bound
from graphad.compiler.plan.schedule import schedule
from graphad.compiler.plan.tiers import FAILED, WAITING
from graphad.compiler.units import LOOP, Unit
from graphad.core import forks
from graphad.core.errors import FailedPreconditionError, GraphadError
from graphad.core.flags import NEVER, flags
from graphad.function.polymorphic import Function

if TYPE_CHECKING:
    from graphad.core.annotations import TensorLike
    from graphad.function.signature import Arguments


SAMPLED = 8  # native calls of one kind that run kernel by kernel
MOST_EVENTS = 200_000  # of the time line; sums go on
NATIVE, NUMPY = "native", "numpy"


class Event(NamedTuple):
    """One bar of the time line; times are those of `time.perf_counter`."""

    name: str
    kind: str  # "call", "trace", "run", "kernel", "op" or "compile"
    start: float
    seconds: float
    thread: int
    note: str = ""


@dataclass
class Total:
    """How often something ran and how long it took."""

    count: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.count += 1
        self.seconds += seconds

    @property
    def mean(self) -> float:
        return self.seconds / self.count if self.count else 0.0


@dataclass
class Ran:
    """The measurements of one graph: a function's trace, a derivative of it, or the body of a loop.

    Attributes:
      name: The name of the function, or of the graph.
      total: All runs; `inner` of it was spent in other graphs that it ran.
      tiers: Runs by tier, "native" and "numpy".
      reasons: Why NumPy's tier ran, and how often.
      kernels: Steps of native code by name, from the first calls of each kind.
      ops: Steps of NumPy's tier by op.
    """

    name: str
    total: Total = field(default_factory=Total)
    inner: float = 0.0
    tiers: dict[str, Total] = field(default_factory=lambda: defaultdict(Total))
    reasons: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    kernels: dict[str, Total] = field(default_factory=lambda: defaultdict(Total))
    ops: dict[str, Total] = field(default_factory=lambda: defaultdict(Total))


class profile:
    """A block in which functions are measured.

    Args:
      kernels: Run the first native calls of each kind kernel by kernel, to measure each. What they compute is the same.

    `str` gives tables, a notebook a page, and `save` either, or a time line that chrome://tracing and ui.perfetto.dev open. All
    threads are seen, and any number of profiles may be open. Eager ops are not seen: Python's own profilers show them.

    Attributes:
      seconds: How long the block took.
      functions: `Total`s of calls, by the names of functions, with the handling of arguments.
      traces: `Total`s of tracing, by the names of functions.
      ran: By name what ran: a `Ran` for each function, derivative and body of a loop.
      events: The time line.

    Raises: FailedPreconditionError (a RuntimeError): it is entered a second time.

    Example:
      >>> f = function(lambda x: math.sin(x) * 2.0)
      >>> with profile() as found:
      ...     y = f(constant([1.0, 2.0]))
      >>> found.ran["<lambda>"].total.count
      1
    """

    def __init__(self, kernels: bool = True) -> None:
        self.kernels = kernels
        self.seconds = 0.0
        self.functions: dict[str, Total] = defaultdict(Total)
        self.traces: dict[str, Total] = defaultdict(Total)
        self.ran: dict[str, Ran] = {}
        self.events: list[Event] = []
        self.retraced: dict[str, str] = {}
        self.compiled: dict[str, tuple[int, float]] = {}
        self._lock = forks.lock()
        self._start: float | None = None
        self._seen: dict[int, Executable] = {}

    def __enter__(self) -> profile:
        if self._start is not None:
            raise FailedPreconditionError("profile: it has been entered before; make another one.")
        _install(self)
        self._start = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        assert self._start is not None
        end = time.perf_counter()
        self.seconds = end - self._start
        _remove(self)
        for executable in self._seen.values():
            for cls in executable.classes:
                work = cls.requested
                if work is not None and work.seconds and work._started >= self._start:
                    count, seconds = self.compiled.get(executable.graph.name, (0, 0.0))
                    self.compiled[executable.graph.name] = count + work.compiled, seconds + work.seconds
                    note = f"{work.compiled} kernels"
                    self._event(executable.graph.name, "compile", work._started, work.seconds, note, 0)
        self._seen.clear()

    @property
    def start(self) -> float:
        """When the block began, as `time.perf_counter` counts; 0 before."""
        return self._start or 0.0

    def __str__(self) -> str:
        from graphad.tools.profile_report import text_of

        return text_of(self)

    def _repr_html_(self) -> str:
        from graphad.tools.profile_report import html_of

        return html_of(self)

    def save(self, path: object) -> None:
        """Write the profile to a file.

        Args:
          path: Its ending says what is written: `.json` a time line for chrome://tracing and ui.perfetto.dev, `.html` a page, any
            other the text.
        """
        from graphad.tools.profile_report import save

        save(self, path)

    # the callbacks of the timers

    def _event(self, name: str, kind: str, start: float, seconds: float, note: str, thread: int) -> None:
        if len(self.events) < MOST_EVENTS:
            self.events.append(Event(name, kind, start, seconds, thread, note))

    def _of(self, name: str) -> Ran:
        found = self.ran.get(name)
        if found is None:
            found = self.ran[name] = Ran(name)
        return found


class _Run:
    """A run under way."""

    __slots__ = ("executable", "inner", "reason", "steps", "tier")

    def __init__(self, executable: Executable) -> None:
        self.executable = executable
        self.inner = 0.0
        self.tier = NATIVE
        self.reason = ""
        self.steps: list[tuple[str, str, float, float]] = []  # (kind, name, start, seconds)


class _Stack(threading.local):
    def __init__(self) -> None:
        self.runs: list[_Run] = []


_stack = _Stack()
_open: tuple[profile, ...] = ()
_lock = forks.lock()
_put_back: list[tuple[Any, str, Any]] = []
_fast: list[tuple[Any, dict[Any, Any]]] = []  # the short ways of functions, which are not timed


class _NoQuickWay(dict[Any, Any]):
    """Replaces a function's table of short ways, and keeps nothing."""

    def __setitem__(self, key: tuple[TensorLike, ...], value: tuple[Any, ...]) -> None:
        pass


_NONE = _NoQuickWay()


def _install(opened: profile) -> None:
    global _open
    with _lock:
        if not _open:
            _replace(Function, "__call__", _calling(Function.__call__))
            _replace(Function, "_trace_new", _tracing(Function._trace_new))
            _replace(Executable, "run", _running(Executable.run))
            _replace(HostPlan, "run", _walking(HostPlan.run))
            _replace(rounds, "ROUNDS", 0)  # each round of a loop is a run, which is seen
            restored = sys.modules.get("serialization.convert.restored")
            if restored is not None:  # if not imported, there are no loaded functions
                _replace(restored.RestoredFunction, "__call__", _calling(restored.RestoredFunction.__call__))
        _open = (*_open, opened)


def _remove(closed: profile) -> None:
    global _open
    with _lock:
        _open = tuple([each for each in _open if each is not closed])
        if not _open:
            while _put_back:
                owner, name, before = _put_back.pop()
                setattr(owner, name, before)
            while _fast:
                function, table = _fast.pop()
                function._fast = table
            _native.clear()
            _hosts.clear()


def _replace(owner: object, name: str, clocked: object) -> None:
    _put_back.append((owner, name, vars(owner)[name]))
    setattr(owner, name, clocked)


def _calling(call: Callable[..., Any]) -> Callable[..., Any]:
    def clocked(self: Any, *args: TensorLike, **kwargs: Any) -> Any:
        if self._fast is not _NONE:
            with _lock:
                if _open and self._fast is not _NONE:
                    _fast.append((self, self._fast))
                    self._fast = _NONE
        start = time.perf_counter()
        try:
            return call(self, *args, **kwargs)
        finally:
            seconds = time.perf_counter() - start
            for each in _open:
                with each._lock:
                    each.functions[self._name].add(seconds)
                    each._event(self._name, "call", start, seconds, "", threading.get_ident())

    return clocked


def _tracing(trace: Callable[..., Any]) -> Callable[..., Any]:
    def clocked(self: Any, arguments: Arguments) -> Any:
        start = time.perf_counter()
        found = trace(self, arguments)
        seconds = time.perf_counter() - start
        for each in _open:
            with each._lock:
                if self._latest:
                    latest = self._latest[-1]
                    each.retraced[self._name] = _difference(
                        self, latest, (*arguments.key, *found.pinned.values())
                    )
                each.traces[self._name].add(seconds)
                each._event(self._name, "trace", start, seconds, "", threading.get_ident())
        return found

    return clocked


def _difference(function: Any, before: object, now: object) -> str:
    from graphad.function.retracing import difference

    return difference(function.signature, before, now)


def _running(run: Callable[..., Any]) -> Callable[..., Any]:
    def clocked(self: Any, values: Sequence[Any], jit_compile: bool | None = None, guards: Any = None) -> Any:
        mine = _Run(self)
        runs = _stack.runs
        above = runs[-1] if runs else None
        runs.append(mine)
        start = time.perf_counter()
        try:
            outputs = _by_kernel(self, values, jit_compile, guards) if any(p.kernels for p in _open) else None
            return run(self, values, jit_compile, guards) if outputs is None else outputs
        finally:
            seconds = time.perf_counter() - start
            runs.pop()
            if above is not None:
                above.inner += seconds
            if mine.tier == NUMPY:
                mine.reason = _why_numpy(self, values, jit_compile)
            for each in _open:
                _note(each, mine, start, seconds)

    return clocked


def _note(each: profile, mine: _Run, start: float, seconds: float) -> None:
    name, thread = mine.executable.graph.name, threading.get_ident()
    with each._lock:
        each._seen[id(mine.executable)] = mine.executable
        ran = each._of(name)
        ran.total.add(seconds)
        ran.inner += mine.inner
        ran.tiers[mine.tier].add(seconds)
        if mine.reason:
            ran.reasons[mine.reason] += 1
        each._event(name, "run", start, seconds, mine.reason or mine.tier, thread)
        for kind, step, at, took in mine.steps:
            (ran.kernels if kind == "kernel" else ran.ops)[step].add(took)
            each._event(step, kind, at, took, "", thread)


def _why_numpy(executable: Executable, values: Sequence[Any], jit_compile: bool | None) -> str:
    """Why a call was not native, in words."""
    if jit_compile is False:
        return "jit_compile=False"
    if jit_compile is None and flags.jit == NEVER:
        return "config.set_jit('never')"
    try:
        cls = executable.sizes_of(values).size_class
    except GraphadError:
        return "it raised an error"
    if cls.is_ragged:
        return "its stacks have slices of different shapes"
    compilation = cls.compilation
    if compilation.state == FAILED:
        return str(compilation.reason)
    if compilation.state == WAITING:
        return "it is being compiled in the background"
    return (
        f"a graph is compiled from its {HOT_CALLS}rd call on"
        if compilation.state is None
        else "it had just been compiled"
    )


# -- kernel by kernel ------------------------------------------------------------------------------------------------------


class _Apart(Bound):
    """A plan whose native steps run one by one, each with a clock."""

    def _runs(self, instances: Sequence[Any]) -> list[Any]:
        units = [segment.units[0] for segment in self.schedule.segments if segment.is_native]
        return [_clocked("kernel", _name_of(unit), i.run) for unit, i in zip(units, instances, strict=True)]

    def _python(self, unit: Unit, hosts: list[Any]) -> list[str]:
        known = len(hosts)
        lines = super()._python(unit, hosts)
        for k, asked in enumerate(hosts[known:], known):
            self._names[f"f{k}"] = _clocked("kernel", f"{asked.op.name} (NumPy)", self._names[f"f{k}"])
        return lines


_native: dict[int, tuple[Sizes, Any, list[int]]] = {}  # sizes -> the plan, how many calls are left to sample
_hosts: dict[int, tuple[HostPlan, HostPlan]] = {}


def _clocked(kind: str, name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    def clocked(*values: TensorLike) -> Any:
        start = time.perf_counter()
        out = f(*values)
        runs = _stack.runs
        if runs:
            runs[-1].steps.append((kind, name, start, time.perf_counter() - start))
        return out

    return clocked


def _name_of(unit: Unit) -> str:
    names = [node.op.name for node in unit.nodes] or [unit.kind]
    shown = "+".join(names) if len(names) <= 6 else f"{'+'.join(names[:5])}+{len(names) - 5} more"
    return (
        f"{shown} [{unit.loop.kernel.digest()[:8]}]" if unit.kind == LOOP and unit.loop is not None else shown
    )


def _by_kernel(executable: Any, values: Sequence[Any], jit_compile: bool | None, guards: Any) -> Any:
    """The outputs of a native call, run kernel by kernel; None if it should run as usual."""
    if jit_compile is False or flags.jit == NEVER or flags.relaxed_arithmetic is not executable._relaxed:
        return None
    sizes = executable.sizes_of(values)
    if sizes.native is None:
        return None
    found = _native.get(id(sizes))
    if found is None:
        found = _native[id(sizes)] = sizes, _apart(sizes), [SAMPLED]
    _, plan, left = found
    if plan is None or left[0] <= 0:
        return None
    left[0] -= 1
    context = guards or executable.guards(values)
    if context is None:
        return plan(values)
    with context:
        return plan(values)


def _apart(sizes: Sizes) -> Callable[[Sequence[Any]], list[Any] | None] | None:
    """The call of a plan whose steps run one by one, None if that is not possible."""
    compilation = sizes.size_class.compilation
    if compilation.schedule is None:
        return None
    try:
        made = schedule(compilation.schedule.partition, apart=True)
        return _Apart(made, sizes.numbers, compilation.address).call
    except GraphadError:
        return None


def _walking(walk: Callable[..., Any]) -> Callable[..., Any]:
    def clocked(self: Any, values: Sequence[Any]) -> Any:
        runs = _stack.runs
        if not runs:
            return walk(self, values)
        runs[-1].tier = NUMPY
        return walk(_with_clocks(self), values)

    return clocked


def _with_clocks(plan: Any) -> HostPlan:
    """A copy of a plan of the NumPy tier with timed steps."""
    found = _hosts.get(id(plan))
    if found is None:
        twin = HostPlan.__new__(HostPlan)
        twin._base, twin._outputs = plan._base, plan._outputs
        twin._steps = [
            (count, _clocked("op", asked[0].name, f), a, b, out, gone, asked)
            for count, f, a, b, out, gone, asked in plan._steps
        ]
        found = _hosts[id(plan)] = plan, twin
    return found[1]
