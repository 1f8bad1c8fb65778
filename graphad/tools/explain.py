"""How a function is compiled to native code, step by step, for given arguments.

    print(explain(f)(x, y))

shows the traced graph, the graph after each pass that changed it, the units it was cut into, the source of every kernel, where
each value lives, and how long a call takes on either tier. To measure that it calls the function many times, on copies of the
variables; a function that prints or draws random numbers is compiled but not called.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.pipeline import optimise
from graphad.compiler.plan.executable import Executable, Sizes
from graphad.compiler.units import Unit
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError
from graphad.core.op import IO
from graphad.core.tensor import CPU, EagerTensor, Handle
from graphad.function.concrete import ConcreteFunction
from graphad.graph.evaluate import place_of
from graphad.graph.ir import Graph
from graphad.graph.text import print_graph
from graphad.tools.profile_report import duration
from graphad.tools.svg import svg_of
from graphad.trace.specialise import specialise_call

if TYPE_CHECKING:
    from graphad.core.annotations import Array, TensorLike


REPEATS = 200
LONGEST = 0.2  # seconds spent on timing one tier


@dataclass
class Explanation:
    """The stages of one graph for one set of arguments; `str` gives them all.

    Attributes:
      name: The name of the graph.
      size_class: Its size class as text.
      graphs: The graph as traced, specialised, and after each pass that changed it.
      units: The units it was cut into; "" where nothing can be compiled.
      apart: For each value that passes between loops through memory, why these are not fused.
      kernels: Source text of each kernel, by a short name.
      buffers: Where each value lives, one line each.
      arena_bytes: Bytes of the workspace that calls share.
      tier: "native" or "numpy", and why.
      seconds: Time of one call by tier; compiling and preparing apart.
      picture: The graph as traced, as SVG; a notebook shows it, with the stages and sources folded below it.
    """

    name: str
    size_class: str = ""
    graphs: dict[str, str] = field(default_factory=dict)
    units: str = ""
    apart: list[str] = field(default_factory=list)
    kernels: dict[str, str] = field(default_factory=dict)
    buffers: list[str] = field(default_factory=list)
    arena_bytes: int = 0
    tier: str = "numpy"
    plan: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    picture: str = field(default="", repr=False)

    def _repr_html_(self) -> str:
        from graphad.core.html import box, folded, note, pre, table  # in notebooks alone

        times = table(["", "time"], [[name, duration(s)] for name, s in self.seconds.items()])
        parts = [f'<div style="overflow:auto;max-height:600px">{self.picture}</div>', note(self.tier), times]
        parts += [folded(f"graph, {stage}", pre(text)) for stage, text in self.graphs.items()]
        parts += [folded("units", pre(self.units))] if self.units else []
        parts += [folded("not fused", pre("\n".join(self.apart)))] if self.apart else []
        parts += [folded(f"kernel {name}", pre(text.rstrip())) for name, text in self.kernels.items()]
        if self.buffers:
            total = f"workspace: {self.arena_bytes} bytes"
            parts.append(folded("buffers", pre("\n".join([*self.buffers, total]))))
        parts += [folded("call", pre(self.plan.rstrip()))] if self.plan else []
        return box(f"{self.name}, size class {self.size_class}", *parts)

    def __str__(self) -> str:
        parts = [f"{self.name}, size class {self.size_class}"]
        parts += [_section(f"graph, {stage}", text) for stage, text in self.graphs.items()]
        if self.units:
            parts.append(_section("units", self.units))
        if self.apart:
            parts.append(_section("not fused", "\n".join(self.apart)))
        parts += [_section(f"kernel {name}", text.rstrip()) for name, text in self.kernels.items()]
        if self.buffers:
            total = f"workspace: {self.arena_bytes} bytes"
            parts.append(_section("buffers", "\n".join([*self.buffers, total])))
        if self.plan:
            parts.append(_section("call", self.plan.rstrip()))
        parts.append(_section("tier", self.tier))
        parts.append(
            _section("time", "\n".join(f"{name}: {duration(s)}" for name, s in self.seconds.items()))
        )
        return "\n\n".join(parts)


def explain(fn: object, jit_compile: bool = True) -> Callable[..., Explanation]:
    """How a function is compiled, for the arguments that the result is called with.

    Args:
      fn: A graphad function, a concrete one, or a graph, which is then called with NumPy values.
      jit_compile: Compile it; otherwise only NumPy's tier is described.
    Returns: A callable that gives an `Explanation`.
    Raises: ArgumentTypeError: `fn` is neither.
    """

    def explained(*args: TensorLike, **kwargs: Any) -> Explanation:
        if isinstance(fn, Graph):
            return explain_graph(fn, [_value(x) for x in args], jit_compile)
        if isinstance(fn, ConcreteFunction):
            given = fn.flat_arguments(args, kwargs)
            return explain_graph(fn.graph, [_value(x) for x in (*given, *fn.captured_inputs)], jit_compile)
        concrete = getattr(fn, "get_concrete_function", None)
        if concrete is None:
            raise ArgumentTypeError(
                f"explain: {fn!r} is not a graphad function; decorate it with @function first."
            )
        found = concrete(*args, **kwargs)
        given = found.signature.arguments(args, kwargs).values
        return explain_graph(found.graph, [_value(x) for x in (*given, *found.captured_inputs)], jit_compile)

    return explained


def explain_graph(graph: Graph, values: Sequence[Any], jit_compile: bool = True) -> Explanation:
    """The explanation of a graph for arrays of one device (and handles)."""
    out = Explanation(graph.name, picture=svg_of(graph))
    values = [_copy(x) if isinstance(x, Handle) else x for x in values]
    executable = Executable(graph, place_of(values) or CPU)
    out.graphs["traced"] = print_graph(graph, lines=True)
    start = time.perf_counter()
    sizes = executable.sizes_of(values)
    out.seconds["preparing for numpy"] = time.perf_counter() - start
    cls = sizes.size_class
    out.size_class = str(cls.key)
    special = specialise_call(graph, [_shape(v) for v in values], cls.pins).graph
    if special is not graph:
        out.graphs["specialised"] = print_graph(special)
    stages: list[tuple[str, Graph]] = []
    optimise(special, executable.options, seen=lambda name, after: stages.append((name, after)))
    before = special
    for name, after in stages:
        if after is not before:
            out.graphs[f"after {name}"] = print_graph(after)
        before = after
    if not graph.effects & IO:
        out.seconds["a call with numpy"] = _timed(lambda: executable.run(values, False))
    if jit_compile:
        _explain_native(out, executable, sizes, values)
    return out


def _explain_native(out: Explanation, executable: Executable, sizes: Sizes, values: Sequence[Any]) -> None:
    from graphad.compiler.apart import reasons
    from graphad.compiler.plan.schedule import ARENA, SCALAR
    from graphad.compiler.repeat import with_kernels
    from graphad.compiler.units import describe

    compilation = sizes.size_class.compilation
    while compilation.wait() and sizes.make_native() is None:
        if sizes.size_class.compilation is compilation:
            break
        compilation = sizes.size_class.compilation  # without what could not be bound
    unmeasured = compilation.why_unmeasured
    unmeasured = f"; sizes that only the run finds are not part of it: {unmeasured}" if unmeasured else ""
    if compilation.schedule is None or sizes.bound is None:
        if compilation.in_python is not None:
            out.units = describe(compilation.in_python)
        out.tier = f"numpy: {compilation.reason}{unmeasured}"
        return
    partition, bound = compilation.schedule.partition, sizes.bound
    out.units = describe(partition)
    out.apart = reasons(partition)
    loops = [(str(k), each) for k, unit in enumerate(partition.units) for each in with_kernels([unit])]
    for k, kernel in enumerate(compilation.kernels()):
        users = [(number, unit) for number, unit in loops if unit.loop and unit.loop.kernel == kernel]
        text = compilation.backend.emit(kernel).text
        numbers = ", ".join(dict.fromkeys(number for number, _ in users))
        # Units share kernels, so the text itself is neutral; the comments are those of the first unit.
        out.kernels[f"{k} (unit {numbers}; {kernel.digest()[:12]})"] = (
            _commented(text, users[0][1]) if users else text
        )
    for root, kind in compilation.schedule.storage.items():
        dims = partition.specs[root].dims
        shape = "?" if dims is None or None in [s if s is None else 0 for s in dims] else bound.shape(root)
        where = f" at {bound.places[root]}" if kind in (ARENA, SCALAR) and root in bound.places else ""
        life = compilation.schedule.lives.get(root)
        span = "" if life is None else f", units {life[0]} to {life[1]}"
        out.buffers.append(f"%{root}: {partition.specs[root].dtype.name}{shape}, {kind}{where}{span}")
    out.arena_bytes = sum(bound.arena_bytes)
    out.plan = bound.text
    natives = compilation.schedule.native_units
    out.tier = (
        f"native: {natives} of {len(partition.units)} units, {compilation.compiled} kernels compiled, "
        f"{bound.regions} loops shared among threads{unmeasured}"
    )
    out.seconds["compiling"] = compilation.seconds
    if not executable.graph.effects & IO:
        out.seconds["a native call"] = _timed(lambda: executable.run(values, True))


def _commented(text: str, unit: Unit) -> str:
    """A kernel's text, with the op and the user's line behind each value as a comment."""
    said = {}
    for prefix, each in [(f"z{k}_", stage) for k, stage in enumerate(unit.stages)] or [("", unit)]:
        for k, node in enumerate(each.origins):
            said[f"{prefix}v{k}"] = f"{node.op.name}, {node.line}" if node.line else node.op.name
    lines = []
    last = ""
    for line in text.splitlines():
        comment = said.get(line.strip().partition(" = ")[0], "")
        lines.append(f"{line}  # {comment}" if comment and comment != last else line)
        last = comment or last
    return "\n".join(lines) + "\n"


def _copy(handle: Handle) -> Handle:
    """A variable of its own with the same value."""
    return Handle(handle.data, handle.spec, handle.trainable)


def _timed(call: Callable[[], Any]) -> float:
    """The median time of a call."""
    taken: list[float] = []
    began = time.perf_counter()
    while len(taken) < REPEATS and time.perf_counter() - began < LONGEST:
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return sorted(taken)[len(taken) // 2]


def _value(x: TensorLike) -> Any:
    if isinstance(x, Handle):
        return x
    if isinstance(x, np.ndarray | np.generic):
        return x
    tensor = lift(x)
    if tensor.away:
        return tensor.array  # type: ignore[attr-defined]
    return tensor.data if isinstance(tensor, EagerTensor) else tensor


def _shape(value: Handle | Array) -> tuple[int, ...]:
    return value.data.shape if isinstance(value, Handle) else value.shape


def _section(title: str, text: str) -> str:
    return f"== {title} ==\n{text}"
