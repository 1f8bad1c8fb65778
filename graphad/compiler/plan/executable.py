"""`Executable`: a graph ready to be called with NumPy values of any sizes that it allows.

The shapes of a call choose its size class; the class has one specialised, optimised graph and one set of kernels; the concrete
sizes have an evaluation plan and, once the kernels are there, a native one. The hot call tries the native plan that ran last,
whose guard checks the arguments, and makes no other checks.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphad.compiler.pipeline import Options, optimise
from graphad.compiler.plan.exclusive import Guards, InOrder, written
from graphad.compiler.plan.host import HostPlan
from graphad.compiler.plan.rounds import in_rounds
from graphad.core import forks, printed
from graphad.core.collector import paused
from graphad.core.dims import evaluate
from graphad.core.errors import GraphadError, ResourceExhaustedError
from graphad.core.flags import ALWAYS, AUTO, flags
from graphad.core.frames import note_traced_line
from graphad.core.op import IO
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import CPU, Handle
from graphad.graph.evaluate import set_in_rounds, set_runner, work, work_of
from graphad.graph.ir import JIT_COMPILE, Graph
from graphad.graph.walk import sub_graphs
from graphad.trace.numbered import with_numbers
from graphad.trace.size_class import SizeKey, size_class
from graphad.trace.specialise import Specialised, specialise_call

if TYPE_CHECKING:  # modules that only compiling needs are imported when something is compiled
    from graphad.compiler.plan.tiers import Compilation

HOT_CALLS = 3
HOT_WORK = 200_000  # nodes computed one by one after which compiling is requested
LOOPING = 2_000  # nodes of a call, fewer of which NumPy computes before a plan is begun
LARGE_ELEMENTS = 200_000  # elements computed by one call above which the first call requests compiling
BOUND_LIMIT = 256  # sets of concrete sizes that one executable keeps
MOST_MISSES = 3  # runs in a row without an answer
ARENA_LIMIT = 512 << 20  # bytes of workspace that native plans for other sizes may keep


class SizeClass:
    """One size class of a graph.

    Attributes:
      requested: Its native side, None as long as nobody has asked for `compilation`.
    """

    def __init__(
        self, specialised: Specialised, inputs: Sequence[TensorSpec], options: Options, place: str
    ) -> None:
        self.key = specialised.key
        self.pins = specialised.pins
        self.inputs = inputs  # as traced: for a variable the shape that it allows, not the current one
        self.options = options
        self.graph = optimise(specialised.graph, options, specialised.literals)
        self.place = place
        self._source: Graph | None = specialised.graph
        self.literals = specialised.literals
        self.requested: Compilation | None = None
        self.calls = self.misses = self.work = 0
        # Stacks whose slices differ in shape run on NumPy only.
        self.is_ragged = any(None in row for row in specialised.key)

    @property
    def compilation(self) -> Compilation:
        """The native side, made when it is first asked for."""
        if self.requested is None:
            from graphad.compiler.plan.tiers import Compilation

            with _make_lock:
                if self.requested is None:
                    source = None if _is_definite(self.graph) else self._source
                    self.requested = Compilation(self.graph, self.literals, self.options, self.place, source)
                    self._source = None
        return self.requested


def _is_definite(graph: Graph) -> bool:
    """Whether the shapes of all values are known, in sub-graphs too."""
    return all(is_definite(spec.dims) for spec in graph.specs) and all(
        _is_definite(inner) for node in graph.nodes if node.op.structured for inner in sub_graphs(node.op)
    )


class Way:
    """The choices made by the sizes of a call of one size class, and the symbols pinned then.

    Attributes:
      classes: The size classes for such calls, by the key in which the pinned symbols are numbers.
    """

    __slots__ = ("choices", "classes", "pins")

    def __init__(self, specialised: Specialised) -> None:
        self.choices = specialised.choices
        self.pins = specialised.pins
        self.classes: dict[SizeKey, SizeClass] = {}


class Sizes:
    """A size class with numbers: runs calls of exactly these shapes."""

    def __init__(self, size_class: SizeClass, numbers: dict[str, int]) -> None:
        self.size_class = size_class
        self.numbers = numbers
        self.host = HostPlan(size_class.graph, numbers)
        self.native: Any = None
        self.bound: Any = None
        self.elements = _elements(size_class.graph, numbers)
        self.work = work_of(self.host.nodes, self.elements)
        self._lock = forks.lock()

    def make_native(self) -> Any:
        """The native call, None if it is not possible."""
        with self._lock:
            # Read once, since another thread may replace it at any moment.
            compilation = self.size_class.compilation
            if self.native is None and compilation.is_ready and _can_assign(self.size_class, self.numbers):
                bound = compilation.bind(self.numbers)
                if compilation.cannot_measure and self.size_class.compilation is compilation:
                    self.size_class.requested = compilation.measure_less()
                if bound is not None and self.size_class.compilation is compilation:
                    self.bound, self.native = bound, bound.call
        return self.native


class Executable:
    """Runs one graph on one device. Any number of threads may call `run` at once.

    Attributes:
      place: The device of a call's values, such as "cpu:0" or "cuda:1".
      is_plain: Whether the values of a call are arrays whose shapes are all that is asked of them.
      options: The options of compiling, which follow the setting of the process; plans made under other options are set aside.
    """

    def __init__(self, graph: Graph, place: str = CPU) -> None:
        self.graph = graph
        self.place = place
        self._relaxed = flags.relaxed_arithmetic
        self.options = Options(self._relaxed)
        self._aside: dict[bool, Any] = {}
        self._ways: dict[SizeKey, list[Way]] = {}
        self._sizes: dict[Any, Sizes] = {}
        places = written(graph)
        self._guards = Guards(places) if places else None
        self._handles = [i for i, spec in enumerate(graph.inputs) if spec.is_handle]
        parts = [node for node in graph.nodes if node.op.structured]
        # They may read an input that is a stack of slices that differ in shape, which a loop kept for its derivative.
        self._may_be_ragged = any(i < len(graph.inputs) for node in parts for i in node.inputs)
        self._has_parts = bool(parts)
        self.is_plain = not self._handles and not self._may_be_ragged
        self._last: Any = None  # the native call that ran last
        self._lock = forks.rlock()

    @property
    def classes(self) -> list[SizeClass]:
        """The sizes of all calls so far, oldest first in each class."""
        return [
            cls for ways in list(self._ways.values()) for way in ways for cls in list(way.classes.values())
        ]

    def guards(self, values: Sequence[Any]) -> Any:
        """The context in which a call has exclusive access to the variables that it writes among these values, None if it
        writes none."""
        return None if self._guards is None else self._guards.of(values)

    def run(self, values: Sequence[Any], jit_compile: bool | None = None, guards: Any = None) -> list[Any]:
        """The outputs for NumPy values (and handles).

        Args:
          values: One value per input of the graph.
          jit_compile: True waits for compiled code, False evaluates with NumPy, None leaves it to the tiers.
          guards: The result of `guards` for the same variables, if the caller has it.
        """
        if jit_compile is None:
            if flags.jit != AUTO:
                jit_compile = flags.jit == ALWAYS
        elif self._has_parts and _thread.jit_compile is not jit_compile:
            before, _thread.jit_compile = _thread.jit_compile, jit_compile
            try:
                return self.run(values, jit_compile, guards)
            finally:
                _thread.jit_compile = before
        if flags.relaxed_arithmetic is not self._relaxed:
            self._follow()
        last = None if jit_compile is False else self._last
        try:
            if self._guards is None:
                outputs = None if last is None else last(values)
                return self._run(values, jit_compile) if outputs is None else outputs
            context = guards or self._guards.of(values)
            owned = context.owned() if type(context) is InOrder else None
            try:
                with context:
                    outputs = None if last is None else last(values)
                    return self._run(values, jit_compile) if outputs is None else outputs
            except BaseException:
                if owned is not None:
                    context.give_back(owned)
                raise
        except MemoryError as error:
            raise error if isinstance(error, GraphadError) else self._exhausted(values, error) from error

    def _run(self, values: Sequence[Any], jit_compile: bool | None) -> list[Any]:
        if self.graph.effects & IO:
            with printed.running():
                return self._chosen(values, jit_compile)
        return self._chosen(values, jit_compile)

    def _chosen(self, values: Sequence[Any], jit_compile: bool | None) -> list[Any]:
        """The outputs by the plan that there is, or by NumPy where it has no answer."""
        try:
            sizes = self.sizes_of(values)
        except GraphadError:
            if self.place == CPU and self.graph.effects & IO:
                from graphad.compiler.plan.refused import error_of_checks

                earlier = error_of_checks(self.graph, values)
                if earlier is not None:
                    raise earlier from None
            raise
        cls = sizes.size_class
        if jit_compile is False or cls.is_ragged:
            return sizes.host.run(values)
        native = sizes.native
        if native is None:
            compilation = cls.compilation if jit_compile else cls.requested
            if compilation is not None and (
                compilation.is_ready
                or (jit_compile and not compilation.has_failed and compilation.wait(self._is_part()))
            ):
                native = sizes.make_native()
                self._forget_large(sizes)
            elif compilation is None or compilation.state is None:
                cls.calls += not _thread.is_inside
                if cls.calls >= HOT_CALLS or sizes.elements >= LARGE_ELEMENTS:
                    cls.compilation.ask(sizes.numbers)
                elif cls.calls == 2 and self._pays_to_plan(cls):
                    cls.compilation.ask(sizes.numbers)
                    if cls.compilation.wait_for_plan():
                        native = sizes.make_native()
        if native is not None:
            outputs = native(values)
            if outputs is None:
                self._register(cls, values)
                outputs = native(self._fitted(cls, values))
            else:
                with self._lock:
                    if cls.options is self.options:
                        self._last = native
            if outputs is not None:
                cls.misses = 0
                return outputs  # type: ignore[no-any-return]
            outputs = sizes.host.run(values)  # an error is an answer: only other runs count as misses
            if cls.compilation.assumes:
                self._missed(cls)
            return outputs
        return self._on_host(sizes, values, jit_compile)

    def _pays_to_plan(self, cls: SizeClass) -> bool:
        """Whether a plan is made sooner than NumPy would end the second call, by the work of the first, and then runs at once."""
        if not self._has_parts or _thread.is_inside or cls.work < LOOPING:
            return False
        from graphad.compiler.plan.known import is_marked, is_worth_a_plan

        return is_worth_a_plan(cls.graph, cls.work) and is_marked(cls.graph, self.options, self.place)

    def _on_host(self, sizes: Sizes, values: Sequence[Any], jit_compile: bool | None) -> list[Any]:
        """The outputs by NumPy. Where that was much work, compiling is requested."""
        before = work.nodes
        requested = sizes.size_class.requested
        if self._has_parts and not _thread.is_inside and (requested is None or requested.state is None):
            try:
                _thread.is_inside = True
                outputs = sizes.host.run(values)
            finally:
                _thread.is_inside = False
        else:
            outputs = sizes.host.run(values)
        work.nodes += sizes.work
        if jit_compile is None:
            self._worked(sizes, work.nodes - before)
        return outputs

    def _worked(self, sizes: Sizes, nodes: int) -> None:
        """Note work; after much of it compiling is requested."""
        cls = sizes.size_class
        cls.work += nodes
        if cls.work >= HOT_WORK and (cls.requested is None or cls.requested.state is None):
            cls.compilation.ask(sizes.numbers)

    def on_host(self, values: Sequence[Any], jit_compile: bool | None) -> Sizes | None:
        """What runs such values by NumPy, if a call would run them so now without variables to guard and texts to note."""
        if self._guards is not None or self.graph.effects & IO or jit_compile:
            return None
        if jit_compile is None and flags.jit == ALWAYS:
            return None
        sizes = self.sizes_of(values)
        requested = sizes.size_class.requested
        is_native = sizes.native is not None or (requested is not None and requested.is_ready)
        return None if sizes.size_class.is_ragged or (is_native and jit_compile is None) else sizes

    def _missed(self, cls: SizeClass) -> None:
        """Note a run without an answer; after some in a row its plan gets more room for sizes, and at last assumes none."""
        with self._lock:
            self._last = None  # so that an answer is noted too
            cls.misses += 1
            if cls.misses < MOST_MISSES:
                return
            cls.requested = cls.compilation.with_more_room()
            cls.misses = 0
            for sizes in self._sizes.values():
                if sizes.size_class is cls:
                    sizes.native = sizes.bound = None

    def _is_part(self) -> bool:
        """Whether the user asked for another function, of which this graph is a loop's body or a branch."""
        return _thread.jit_compile is not None and not self._has_parts

    def _exhausted(self, values: Sequence[Any], error: MemoryError) -> GraphadError:
        """The error with graphad's message: a plan allocates memory for many ops at once, and the message names the largest
        result."""
        sizes = self.sizes_of(values)
        largest, node, shape = -1, None, None
        for each in sizes.size_class.graph.nodes:
            for spec in each.specs:
                dims = with_numbers(spec, sizes.numbers).dims
                count = 0 if dims is None else math.prod([size or 0 for size in dims]) * spec.dtype.itemsize
                if count > largest:
                    largest, node, shape = count, each, dims
        if node is None:
            return ResourceExhaustedError(f"{self.graph.name}: {error}.")
        made = ResourceExhaustedError(
            f"{node.op.name}: a result of shape {shape} takes {largest} bytes, and there is not enough memory for it "
            f"beside what else the call computes ({error}); use smaller batches."
        )
        note_traced_line(made, node.line)
        return made

    def _follow(self) -> None:
        """Switch to the plans for the current setting."""
        with self._lock:
            wanted = flags.relaxed_arithmetic
            if wanted is self._relaxed:
                return
            self._aside[self._relaxed] = self.options, self._ways, self._sizes
            kept = self._aside.pop(wanted, None)
            self.options, self._ways, self._sizes = kept or (Options(wanted), {}, {})
            self._last = None
            self._relaxed = wanted

    def are_ragged(self, values: Sequence[Any]) -> bool:
        """Whether some values are stacks of slices that may differ in shape."""
        return self._may_be_ragged and any(hasattr(v, "known_shape") for v in values)

    def shapes_of(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The shapes by which the values of a call have their `Sizes`: of a variable that of its current value."""
        if self.is_plain:
            return tuple([v.shape for v in values])
        if self.are_ragged(values):
            return tuple([_known_shape(v) for v in values])
        if self._handles:
            return tuple([v.data.shape if isinstance(v, Handle) else v.shape for v in values])
        return tuple([v.shape for v in values])

    def sizes_of(self, values: Sequence[Any]) -> Sizes:
        """The `Sizes` that runs a call with these values."""
        shapes = self.shapes_of(values)
        found = self._sizes.get(shapes)
        return found if found is not None else paused(lambda: self._bind(shapes))

    def _bind(self, shapes: tuple[Any, ...]) -> Sizes:
        with self._lock:
            found = self._sizes.get(shapes)
            if found is not None:
                return found
            key, _, numbers = size_class(self.graph, shapes)
            ways = self._ways.setdefault(key, [])
            way = next((way for way in ways if way.choices.hold_for(numbers)), None)
            cls = None
            if way is not None:
                pinned, _, numbers = (
                    size_class(self.graph, shapes, way.pins) if way.pins else (key, None, numbers)
                )
                cls = way.classes.get(pinned)
            if cls is None:
                specialised = (
                    specialise_call(self.graph, shapes)
                    if way is None
                    else specialise_call(self.graph, shapes, way.pins, way.choices)
                )
                if (
                    way is None
                    or way.pins != specialised.pins
                    or way.choices.made != specialised.choices.made
                ):
                    way = Way(specialised)
                    ways.insert(0, way)
                numbers = specialised.numbers
                cls = way.classes[specialised.key] = SizeClass(
                    specialised, self.graph.inputs, self.options, self.place
                )
            found = Sizes(cls, numbers)
            if len(self._sizes) >= BOUND_LIMIT:
                self._sizes.pop(next(iter(self._sizes)))
            self._sizes[shapes] = found
            return found

    def _forget_large(self, newest: Sizes) -> None:
        """Release the native plans of sizes not used recently when all plans together hold much memory."""
        with self._lock:
            held = [sizes for sizes in self._sizes.values() if sizes.bound is not None]
            total = sum(sum(sizes.bound.arena_bytes) for sizes in held)
            for sizes in held:
                if total <= ARENA_LIMIT:
                    return
                if sizes is not newest:
                    total -= sum(sizes.bound.arena_bytes)
                    if self._last is sizes.native:
                        self._last = None
                    sizes.native = sizes.bound = None

    def _register(self, cls: SizeClass, values: Sequence[Any]) -> None:
        """Let the native entry read the arrays of handles of these classes."""
        for i in self._handles:
            cls.compilation.backend.register_holder(type(values[i]), "data")

    def _fitted(self, cls: SizeClass, values: Sequence[Any]) -> list[Any]:
        """Values that native code can read."""
        return list(map(cls.compilation.backend.fitted, values))


def _known_shape(value: Any) -> tuple[int | None, ...] | None:
    """The shape of a value of a call; of slices that differ in shape as far as they share it."""
    data = value.data if isinstance(value, Handle) else value
    return data.known_shape() if hasattr(data, "known_shape") else data.shape  # type: ignore[no-any-return]


def _elements(graph: Graph, numbers: dict[str, int]) -> int:
    """The number of elements that one call computes."""
    total = 0
    for node in graph.nodes:
        for spec in node.specs:
            count = 1
            for size in spec.dims or ():
                if size is not None:
                    count *= size if type(size) is int else evaluate(size, numbers)
            total += count
    return total


def _can_assign(size_class: SizeClass, numbers: dict[str, int]) -> bool:
    """Whether every variable allows the shape assigned to it; if not, evaluation with NumPy raises the error."""
    graph = size_class.graph
    for node in graph.nodes:
        if node.op.stores:
            variable, given = size_class.inputs[node.inputs[0]], graph.specs[node.inputs[1]].dims
            if given is not None:
                given = tuple([None if size is None else evaluate(size, numbers) for size in given])
            if not variable.describes(given):
                return False
    return True


class _Thread(threading.local):
    """What the user has asked for, with `jit_compile`, of the function whose parts this thread runs, and whether it runs
    those of one for which compiling is not requested."""

    jit_compile: bool | None = None
    is_inside = False


_thread = _Thread()
_make_lock = forks.rlock()


def executable_of(graph: Graph, place: str = CPU) -> Executable:
    """The executable of a graph on a device, created once and kept as long as the graph."""
    key = executable_of if place == CPU else (executable_of, place)
    found: Executable | None = graph.derived.get(key)
    if found is None:
        with _make_lock:
            found = graph.derived.get(key)
            if found is None:
                # It works on a copy of the graph, so that without a reference cycle the memory of both is freed with the graph.
                twin = Graph(graph.inputs, graph.constants, graph.nodes, graph.outputs, graph.name)
                found = graph.derived[key] = Executable(twin, place)
    return found


def run(graph: Graph, values: Sequence[Any], place: str = CPU) -> list[Any]:
    """The outputs of a graph for values on a device, NumPy values on the CPU, by the best available tier.

    The body of a loop or a branch that the call runs step by step is run as the user has asked for the whole.
    """
    return executable_of(graph, place).run(values, _asked_of(graph))


def _asked_of(graph: Graph) -> bool | None:
    own: bool | None = graph.derived.get(JIT_COMPILE)
    return _thread.jit_compile if own is None else own


def _in_rounds(graph: Graph) -> Callable[..., Sequence[Any]]:
    return in_rounds(graph, executable_of(graph), _asked_of(graph))


set_runner(run)
set_in_rounds(run, _in_rounds)
