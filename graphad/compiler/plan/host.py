"""Tier 0 of a plan: NumPy walks the optimised graph, with every eval looked up in advance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.errors import InternalError
from graphad.core.frames import note_traced_line
from graphad.core.ieee import heard, hush, unhush
from graphad.core.op import evaluated
from graphad.core.rule_errors import explained
from graphad.graph.fitted import OPERATORS, evaluator_of, fitted
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import last_uses
from graphad.trace.numbered import with_numbers, with_sizes

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.core.op import Op
    from graphad.core.spec import TensorSpec
    from graphad.devices.array import DeviceArray
    from graphad.ops.control.stacks import RaggedStack

RUNS = 256  # of a part, after which a function of its own is made: it takes as long as a hundred runs or two save
_INFIX: dict[Any, str] = {function: infix for infix, function in OPERATORS.items()}
GIVEN_LIMIT = 65_536  # the most elements of a kept value that depends only on sizes


def as_value(y: object) -> Any:
    """The result of `eval` as an operand: a NumPy scalar for shape (), never an array of rank 0."""
    return y[()] if type(y) is np.ndarray and not y.ndim else y


def own(y: Array, *sources: object) -> Array:
    """A host step's result as an output: a NumPy scalar for shape (), a copy if it is a view or one of `sources`."""
    if type(y) is np.ndarray:
        if not y.ndim:
            return y[()]
        if y.base is not None:
            return y.copy()
        for source in sources:
            if y is source:
                return y.copy()
    return y


class HostPlan:
    """The nodes of a graph with concrete sizes, ready to be evaluated one after another."""

    __slots__ = ("_base", "_function", "_nodes", "_numbers", "_outputs", "_runs", "_specs", "_steps")

    def __init__(self, graph: Graph, numbers: Mapping[str, int]) -> None:
        self._function: Callable[..., Sequence[Any]] | None = None
        self._runs = 0
        self._base: list[Any] = [
            *map(as_value, graph.constants),
            *[None] * (graph.size - graph.first_node_value),
        ]
        last = last_uses(graph, range(graph.first_node_value))
        aliased = _aliased(graph)
        self._steps = []
        self._nodes: list[tuple[Node, Op, tuple[int, ...]]] = []  # of the steps, for those of known sizes
        known = graph.specs
        self._specs, self._numbers = known, numbers
        for node, gone in zip(graph.nodes, map(tuple, last), strict=True):
            op = with_sizes(node.op, numbers)
            if not node.inputs and not op.effects and not op.multiple and not op.structured:
                # It depends only on sizes: computed once, unless it is large.
                try:
                    value = as_value(op.eval())
                except Exception as error:
                    error = explained(error, op, [])
                    note_traced_line(error, node.line)
                    raise error
                if np.size(value) <= GIVEN_LIMIT:
                    self._base[node.start - len(graph.inputs)] = value
                    aliased.add(node.start)
                    continue
            self._nodes.append((node, op, gone))
            self._steps.append(_step(node, op, [known[i] for i in node.inputs], gone, None))
        self._outputs = []
        for value in graph.outputs:
            self._outputs.append((value, value in aliased, with_numbers(known[value], numbers)))
            aliased.add(value)  # it is returned repeatedly, so it is shared

    @property
    def nodes(self) -> int:
        """How many it evaluates in a run."""
        return len(self._steps)

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The outputs for input values, which belong to the caller."""
        known = self._known(values)
        return [_result(known[value], shared, spec) for value, shared, spec in self._outputs]

    def run_part(self, values: Sequence[Any]) -> Sequence[Any]:
        """The same for a part of a graph, whose outputs may be views of others, of constants and of the input values."""
        function = self._function
        if function is None:
            if not self._runs:
                self._know_sizes()
            self._runs += 1
            if self._runs <= RUNS:
                known = self._known(values)
                return [known[value] for value, _, _ in self._outputs]
            function = self._function = self._printed(len(values))
        settings = heard()
        try:
            hush()
            return function(*values)
        finally:
            unhush(settings)

    def _know_sizes(self) -> None:
        """Let each step be the function for its sizes: a call alone does not win back what finding it takes."""
        steps = []
        for node, op, gone in self._nodes:
            specs = [with_numbers(self._specs[i], self._numbers) for i in node.inputs]
            steps.append(_step(node, op, specs, gone, evaluator_of(op, specs)))
        self._steps = steps

    def _printed(self, n_inputs: int) -> Callable[..., Sequence[Any]]:
        """The steps as a function of Python, which has no table to walk."""
        from graphad.graph.prepare import Emitter  # most plans do not run so often

        emitter = Emitter()
        names = [f"v{value}" for value in range(n_inputs + len(self._base))]
        for place, value in enumerate(self._base):
            if value is not None:
                emitter.names[names[n_inputs + place]] = value
        for count, f, _, b, out, gone, (op, inputs, source) in self._steps:
            operands = [names[i] for i in inputs]
            infix = _INFIX.get(f)
            if infix is not None:
                text = infix.format(*operands)
            else:
                text = f"{emitter.name_of(f, 'f')}({', '.join(operands)})"
            results = names[out : out + (b if count < 0 else 1)]
            left = f"{', '.join(results)}{',' if count < 0 and results else ''}"
            emitter.line(f"{left} = {text}" if results else text, source, op, operands)
            freed = [names[i] for i in gone if names[i] not in emitter.names]  # what is given stays
            if freed:
                emitter.line(f"del {', '.join(freed)}", source)
        emitter.line(f"return [{', '.join([names[value] for value, _, _ in self._outputs])}]")
        return emitter.compiled(f"def round_({', '.join(names[:n_inputs])}):", "round_")

    def _known(self, values: Sequence[Any]) -> list[Any]:
        """All values that the outputs may be."""
        known = [*values, *self._base]
        asked: tuple[Any, tuple[int, ...], str | None] | None = None
        settings = heard()
        try:
            hush()  # native code raises no warnings either
            for count, f, a, b, out, gone, asked in self._steps:  # noqa: B007
                if count == 2:
                    known[out] = f(known[a], known[b])
                elif count == 1:
                    known[out] = f(known[a])
                elif count == 0:
                    known[out] = f(*[known[i] for i in a])
                else:
                    known[out : out + b] = f(*[known[i] for i in a])
                for i in gone:
                    known[i] = None
        except Exception as error:
            if asked is not None:
                op, inputs, line = asked
                error = explained(error, op, [known[i] for i in inputs])
                note_traced_line(error, line)
            raise error
        finally:
            unhush(settings)
        return known


def _step(
    node: Node,
    op: Op,
    specs: Sequence[TensorSpec],
    gone: tuple[int, ...],
    direct: Callable[..., Any] | None,
) -> tuple[Any, ...]:
    """(number of inputs, function, its operands, its results, values not read after it, node); `direct` is the op's function for
    its sizes."""
    asked = op, node.inputs, node.line
    if op.multiple:
        f: Any = direct or fitted(op, specs, lambda *values: evaluated(op, values, len(node.specs)))
        return -1, f, node.inputs, len(node.specs), node.start, gone, asked
    f = direct or fitted(op, specs, op.evaluator)
    dims = node.specs[0].dims
    if direct is None and not dims and not isinstance(f, np.ufunc):  # these return scalars for scalars
        operator = None if dims is None else OPERATORS.get(op.infix or "")  # as operators do
        f = operator or _valued(f)
    if len(node.inputs) == 2:
        return 2, f, node.inputs[0], node.inputs[1], node.start, gone, asked
    if len(node.inputs) == 1:
        return 1, f, node.inputs[0], 0, node.start, gone, asked
    return 0, f, node.inputs, 0, node.start, gone, asked


def _valued(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: as_value(f(*values))


def _result(y: DeviceArray | RaggedStack | Array, shared: bool, spec: TensorSpec) -> Any:
    if (y.shape != spec.dims and not spec.describes(y.shape)) or y.dtype != spec.dtype.numpy:
        raise InternalError(
            f"plan: a result has shape {y.shape} and dtype {y.dtype} where its graph says {spec.dims} and {spec.dtype.name}"
        )
    if type(y) is np.ndarray:
        return y.copy() if shared else own(y) if y.base is not None else y
    return y


def _aliased(graph: Graph) -> set[int]:
    """Values that are an input or a constant, or an operand that an eval may have returned."""
    found = set(range(graph.first_node_value))
    for node in graph.nodes:
        if node.op.aliases or node.op.returns_input:
            found.update(node.outputs)
    return found
