"""The tracing level: ops become nodes, their outputs are symbols.

A value from outside (an eager tensor, a variable, a symbol of a trace further down) becomes a capture: an input of the
graph together with the value it stands for. Numbers made while tracing become constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.dims import UNKNOWN
from graphad.core.errors import (
    InvalidArgumentError,
    OutOfScopeError,
    SymbolicConversionError,
    SymbolicValueError,
)
from graphad.core.escapes import Escapes
from graphad.core.frames import user_line, why_unconverted
from graphad.core.levels import Level, current, entered, here, is_within
from graphad.core.op import Op, output_specs
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.core.tensor import Handle, Tensor
from graphad.graph.builder import GraphBuilder
from graphad.graph.ir import Graph, spec_of_constant
from graphad.graph.walk import expanded_nodes
from graphad.ops.hints import HINTS
from graphad.trace.folded import learn, note

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.core.dtypes import DType
    from graphad.eager.variable import Variable


# The most nodes of a graph with all calls inlined; a larger one would take minutes per call, doubling with each level.
EXPANDED_LIMIT = 2_000_000


def _whose(traced: str) -> str:
    """What is traced under that name, and how to return its values, for messages."""
    return f"{_PLACES.get(traced) or f'the traced function {traced!r}'}. {_CURES.get(traced, _CURE)}"


class SymbolicTensor(Tensor):
    """A tensor that stands for a value of a graph that is being traced; it has a shape and a dtype but no data."""

    __slots__ = ("__weakref__", "index", "label", "line", "mark", "spec", "trace")

    def __init__(
        self, trace: Trace, index: int, spec: TensorSpec, name: str | None = None, line: str | None = None
    ) -> None:
        self.trace = trace
        self.index = index
        self.spec = spec
        self.label = name
        self.line = line
        self.mark = None

    def out_of_scope(self, op: Op) -> OutOfScopeError:
        """The error for a use of this symbol where its trace is not active."""
        made = f", made at {self.line}," if self.line else ""
        used = user_line()
        return OutOfScopeError(
            f"{op.name}: {self!r}{made} is out of scope and cannot be used here: it belongs to "
            f"{_whose(self.trace.name)}" + (f" (used at {used})." if used else ".")
        )

    @property
    def known(self) -> Any:
        builder = self.trace.builder
        value = builder.values.get(self.index)
        if value is None:
            value = builder.folded.get(self.index)
            if value is not None and np.any(value == UNKNOWN):
                return None
        return value

    def _no_value(self, message: str) -> Any:
        where = f" (the tensor was made at {self.line})" if self.line else ""
        raise SymbolicValueError(f"{message}{where}{why_unconverted()}")

    def __array__(self, dtype: DType | None = None, copy: bool | None = None) -> Any:
        raise SymbolicConversionError(
            f"Cannot convert a symbolic tf.Tensor ({self!r}) to a numpy array: it has no value while {self.trace.name!r} is "
            "traced. Use graphad's functions instead of NumPy's, or call NumPy in tf.numpy_function."
        )

    def __getattr__(self, name: str) -> Any:
        if name in ("numpy", "item", "tolist"):
            raise AttributeError(
                f"'SymbolicTensor' object has no attribute '{name}': the tensor has no value while {self.trace.name!r} is "
                "traced. Compute with the tensor itself, show it with tf.print, or return it and read its value there."
            )
        if name in HINTS:
            raise AttributeError(HINTS[name].sentence("Tensor"))
        if name == "data":  # what a property raises as an AttributeError comes here
            return Tensor.data.fget(self)  # type: ignore[attr-defined]
        raise AttributeError(f"'SymbolicTensor' object has no attribute {name!r}")

    def __format__(self, spec: str) -> str:
        if spec:
            raise SymbolicValueError(
                f"A symbolic tensor has no value to show in the format {spec!r} while {self.trace.name!r} is traced; "
                "tf.print(x) shows it whenever the function runs."
            )
        return str(self)

    def __repr__(self) -> str:
        label, dims, dtype = self._shown()
        return f"<tf.Tensor '{label}' shape={dims} dtype={dtype}>"

    def __str__(self) -> str:
        label, dims, dtype = self._shown()
        return f'Tensor("{label}", shape={dims}, dtype={dtype})'

    def _shown(self) -> tuple[str, str, str]:
        """Label, shape and dtype as text."""
        dims = "<unknown>" if self.spec.dims is None else str(tuple(self.spec.dims))
        return self.name, dims, self.spec.dtype.name

    @property
    def name(self) -> str:
        """The name of an argument, "x:0"; of what is computed the function's, with a number, "f/2:0"."""
        return f"{self.label or f'{self.trace.name}/{self.index}'}:0"


_CURE = "Return it from that function instead of storing it"
_IN_BRANCH = "Give it to a variable that both branches set"
_IN_LOOP = "What steps append to a list cannot leave the loop: use a variable, or write into a TensorArray"
_PLACES = {
    "then": "one branch of an `if` that a tensor decides",
    "else": "one branch of an `if` that a tensor decides",
    "body": "one step of a loop over tensors",
    "test": "the test of a loop over tensors",
}
# By the names of the traced functions of branches and loop bodies.
_CURES = {"then": _IN_BRANCH, "else": _IN_BRANCH, "body": _IN_LOOP, "test": _IN_LOOP}


class Trace:
    """One trace in progress.

    Attributes:
      captures: The outer values that became inputs, in the order of `capture_serials`.
      adopted: A finished trace whose symbols count as outer values here (rules of custom gradients close over them).
    """

    is_trace = True

    def __init__(self, name: str = "graph", adopted: Trace | None = None, below: Level | None = None) -> None:
        self.name = name
        self.builder = GraphBuilder()
        self.below = current() if below is None else below
        self.recorders: tuple[Any, ...] = ()
        self.owner = here()
        self.entries = 0
        self.line: str | None = None
        self.captures: list[Any] = []
        self.capture_serials: list[int] = []
        self.adopted = adopted
        self.number: dict[int, int] | None = None
        self.escapes = Escapes()
        self.creation: Any = None  # decides on variables created inside a function in progress
        self._known: dict[int, int] = {}
        # Symbols that were rebound by `place`, and their original values.
        self._arguments: dict[int, tuple[Any, int]] = {}

    def input(self, spec: TensorSpec, name: str | None = None) -> SymbolicTensor:
        """A new input of the graph."""
        return SymbolicTensor(self, self.builder.add_input(spec), spec, name, None)

    def constant(self, data: Array) -> SymbolicTensor:
        return SymbolicTensor(self, self.builder.add_constant(data), spec_of_constant(data))

    def process(self, op: Op, inputs: Sequence[Handle | Tensor]) -> tuple[SymbolicTensor, ...]:
        serials = [
            x.index if type(x) is SymbolicTensor and x.trace is self else self.serial(x, op) for x in inputs
        ]
        specs = output_specs(op, map(self.builder.specs.__getitem__, serials))
        line = self.line if self.line is not None else user_line()
        start = self.builder.add_node(op, serials, specs, line)
        if specs and not specs[0].dtype.is_complex:
            learn(self.builder, op, serials, specs, start)
        if not op.multiple:
            return (SymbolicTensor(self, start, specs[0], None, line),)
        return tuple([SymbolicTensor(self, start + k, spec, None, line) for k, spec in enumerate(specs)])

    def traced(
        self, function: Callable[..., Sequence[Any]], specs: Sequence[TensorSpec], name: str
    ) -> Traced:
        """A function as a graph of its own: a branch or the body of a loop."""
        return trace_flat(function, specs, name, keep_all=True)

    def serial(self, x: Any, op: Op) -> int:
        """The serial number of a value, which becomes a capture if it comes from outside."""
        if type(x) is SymbolicTensor and x.trace is self:
            return x.index
        known = self._known.get(id(x))
        if known is not None:
            return known
        if type(x) is SymbolicTensor and not self._is_adopted(x) and not is_within(x.trace, self.below):
            raise x.out_of_scope(op)
        return self.capture(x)

    def place(self, x: SymbolicTensor, y: SymbolicTensor) -> None:
        """Rebind `x` to the value of `y`. Tapes still identify it as `x`, and as an argument of the function it is
        unchanged."""
        self._arguments.setdefault(id(x), (x, x.index))
        x.index, x.spec = y.index, y.spec

    def capture(self, x: Handle | Tensor | Variable) -> int:
        """Make an outer value an input of the graph; returns its serial number."""
        known = self._known.get(id(x))
        if known is None:
            spec = x.spec
            if isinstance(x, Handle) and not spec.is_handle:
                spec = HandleSpec.of(spec.dims, spec.dtype)
            known = self.builder.add_input(spec)
            value = x.known if spec.dtype.is_integer and isinstance(x, Tensor) and not x.away else None
            if value is not None:
                note(self.builder, known, value)
            self.captures.append(x)  # keeps x alive, so that its id stays unique
            self.capture_serials.append(known)
            self._known[id(x)] = known
        return known

    def serial_if_known(self, x: Handle | Tensor) -> int | None:
        """The serial number under which an outer value was captured, None if it was not."""
        return self._known.get(id(x))

    def _is_adopted(self, x: SymbolicTensor) -> bool:
        """Whether x is a value of the adopted trace, or one that it captured."""
        adopted = self.adopted
        return adopted is not None and (x.trace is adopted or adopted.serial_if_known(x) is not None)

    def finish(
        self,
        outputs: Sequence[Any],
        op: Op,
        keep_all: bool = False,
        own_inputs: Sequence[SymbolicTensor] = (),
    ) -> Graph:
        """The graph with inputs `own_inputs` followed by the captures."""
        self.escapes.check(_of_user(self))
        serials = [self.serial(y, op) for y in outputs]
        first = [self._arguments.get(id(x), (x, x.index))[1] for x in own_inputs]
        order = first + self.capture_serials
        graph, self.number = self.builder.finish(serials, self.name, order, keep_all)
        size = expanded_nodes(graph)
        if size > EXPANDED_LIMIT:
            raise InvalidArgumentError(
                f"{self.name}: with the functions it calls written out it has {size} ops, more than the {EXPANDED_LIMIT} that a "
                "graph may have; call them in a loop (while_loop, map_fn, scan)."
            )
        return graph


class Traced:
    """A traced function: its graph, whose inputs are the arguments followed by the captures.

    Attributes:
      graph: The graph.
      captures: The outer values of the inputs behind the arguments.
      trace: The finished trace, whose symbols rules of custom gradients may refer to.
    """

    __slots__ = ("captures", "graph", "trace")

    def __init__(self, graph: Graph, captures: list[Tensor], trace: Trace) -> None:
        self.graph = graph
        self.captures = captures
        self.trace = trace


def _is_inside(traced: str) -> bool:
    """Whether what is traced under that name is a branch or a loop of a function."""
    return traced in _PLACES


def _of_user(trace: Trace) -> str:
    """The name of the function that a trace is part of."""
    level: Any = trace
    while _is_inside(level.name) and getattr(level.below, "name", None):
        level = level.below
    return str(level.name)


# Represents the `return` of a traced function in messages; it is never bound.
RETURN: Any = SimpleNamespace(name="return")


def trace_flat(
    function: Callable[..., Sequence[Any]],
    specs: Sequence[TensorSpec],
    name: str = "graph",
    keep_all: bool = False,
    adopted: Trace | None = None,
) -> Traced:
    """Trace a function of flat tensors that returns a flat list of tensors.

    Args:
      function: Called once with a symbol for each spec.
      specs: The inputs.
      name: The name of the graph.
      keep_all: Keep nodes that nothing reads (a user's trace: rules may still close over them).
      adopted: A finished trace whose symbols may be captured.
    """
    trace = Trace(name, adopted)
    with entered(trace):
        symbols = [trace.input(spec) for spec in specs]
        try:
            outputs = list(function(*symbols))
        except Exception:
            if adopted is None:
                trace.escapes.hand_on(trace.below)
            raise
        graph = trace.finish(outputs, RETURN, keep_all, symbols)
    return Traced(graph, trace.captures, trace)


def is_symbolic(x: Tensor) -> bool:
    """Whether `x` stands for a value of a trace."""
    return type(x) is SymbolicTensor
