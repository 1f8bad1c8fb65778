"""A graph as one Python function: every eval rule bound once, one line per node, values freed after their last use.

A graph that runs many times, such as a loop body, is walked only once. Results equal those of `evaluate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.frames import note_traced_line
from graphad.core.op import Op
from graphad.core.rule_errors import explained, named
from graphad.core.shapes import are_numbers
from graphad.graph.evaluate import in_rounds, run, work_of
from graphad.graph.fitted import evaluator_of, fitted
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import last_uses

if TYPE_CHECKING:
    from graphad.core.spec import TensorSpec


SHORT = 24  # what running a graph as one of its own costs, in nodes that are called one by one otherwise


def work_of_graph(graph: Graph) -> int:
    """The work of one run, in nodes, with what is known of sizes."""
    sizes = [spec.dims for node in graph.nodes for spec in node.specs if not spec.is_handle]
    numbers = sum([math.prod(dims) for dims in sizes if dims is not None and are_numbers(dims)])
    return work_of(len(graph.nodes), numbers)


def is_in_line(op: Op, specs: Sequence[TensorSpec], n_outputs: int) -> bool:
    """Whether a branch for operands of these specs is an `if` of Python around its graphs: these are short, act on nothing, give
    all outputs, and take these shapes."""
    if not op.branches or op.effects or specs[0].dims != ():
        return False
    for graph in (op.then_graph, op.else_graph):  # type: ignore[attr-defined]
        if len(graph.outputs) != n_outputs or work_of_graph(graph) > SHORT:
            return False
        for mine, given in zip(graph.inputs, specs[1:], strict=True):
            if (
                given.is_handle
                or given.dims is None
                or not are_numbers(given.dims)
                or mine.dims != given.dims
            ):
                return False
        for node in graph.nodes:
            inner = [graph.specs[i] for i in node.inputs]
            if node.op.structured and not is_in_line(node.op, inner, len(node.specs)):
                return False
    return True


class Emitter:
    """Prints graphs as Python lines.

    Attributes:
      lines: The lines so far, without their indent.
      names: What the lines refer to: functions and constants.
      sources, ops, operands: For each line, the user's line behind it, the op that it computes, if any, and the names
        of what it computes it of.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.sources: list[str | None] = []
        self.ops: list[Op | None] = []
        self.operands: list[Sequence[str]] = []
        self.names: dict[str, Any] = {"ndarray": np.ndarray}
        self._count = 0

    def fresh(self, letter: str = "v") -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def name_of(self, value: object, letter: str) -> str:
        """A name for an object that the lines refer to."""
        name = self.fresh(letter)
        self.names[name] = value
        return name

    def line(
        self, text: str, source: str | None = None, op: Op | None = None, operands: Sequence[str] = ()
    ) -> None:
        """Append a line; `source` is the user's line behind it, `op` the op that it computes of `operands`."""
        self.lines.append(text)
        self.sources.append(source)
        self.ops.append(op)
        self.operands.append(operands)

    def graph(self, graph: Graph, inputs: Sequence[str], indent: str = "", free: bool = True) -> list[str]:
        """Lines that compute a graph; returns the names of its outputs.

        Args:
          graph: The graph.
          inputs: A name for each input.
          indent: The prefix of every line.
          free: Delete each value after its last use.
        """
        constants = [array if np.ndim(array) else array[()] for array in graph.constants]
        known: list[str] = [*inputs, *[self.name_of(value, "k") for value in constants]]
        last = last_uses(graph, _named(graph)) if free else None
        for position, node in enumerate(graph.nodes):
            known.extend(self._node(graph, node, [known[i] for i in node.inputs], indent))
            if last is not None:
                gone = [known[i] for i in last[position]]
                if gone:
                    self.line(f"{indent}del {', '.join(gone)}", node.line)
        return [known[i] for i in graph.outputs]

    def rounds(self, graph: Graph) -> str:
        """A line before the loop, after which the name that is returned is a function which runs a graph in its rounds."""
        name = self.fresh("r")
        self.line(f"{name} = {self.name_of(lambda: in_rounds(graph), 'g')}()")
        return name

    def run(
        self, graph: Graph, inputs: Sequence[str], indent: str = "", function: str | None = None
    ) -> list[str]:
        """A line that runs a graph as a whole, by a function from `rounds` if there is one; returns the names of its outputs."""
        outputs = [self.fresh() for _ in graph.outputs]
        function = function or self.name_of(lambda *values: run(graph, values), "g")
        left = f"{', '.join(outputs)}{',' if len(outputs) == 1 else ''} = " if outputs else ""
        self.line(f"{indent}{left}{function}({', '.join(inputs)})")
        return outputs

    def choice(
        self, op: Any, inputs: Sequence[str], n_outputs: int, indent: str = "", source: str | None = None
    ) -> list[str]:
        """Lines that run one of the two graphs of a branch that `is_in_line`; returns the names of its outputs."""
        outputs = [self.fresh() for _ in range(n_outputs)]
        for graph, head in ((op.then_graph, f"if {inputs[0]}:"), (op.else_graph, "else:")):
            self.line(f"{indent}{head}", source)
            results = self.graph(graph, inputs[1:], f"{indent}    ", free=False)
            for output, result in zip(outputs, results, strict=True):
                self.line(f"{indent}    {output} = {result}", source)
            self.line(f"{indent}    pass", source)
        return outputs

    def _node(self, graph: Graph, node: Node, inputs: Sequence[str], indent: str) -> list[str]:
        op, specs = node.op, [graph.specs[i] for i in node.inputs]
        if op.inlines:
            # The operands get new names, so that the call frees these and not the caller's values.
            return self.graph(op.graph, inputs, indent, free=False)  # type: ignore[attr-defined]
        if op.branches and is_in_line(op, specs, len(node.specs)):
            return self.choice(op, inputs, len(node.specs), indent, node.line)
        if op.multiple:
            outputs = [self.fresh() for _ in node.specs]
            function = self.name_of(fitted(op, specs, op.eval), "f")
            left = f"{', '.join(outputs)}{',' if len(outputs) == 1 else ''} = " if outputs else ""
            self.line(f"{indent}{left}{function}({', '.join(inputs)})", node.line, op, inputs)
            for output, spec in zip(outputs, node.specs, strict=True):
                self._scalar(output, spec, indent)
            return outputs
        output = self.fresh()
        infix = op.infix
        if infix is not None:
            self.line(f"{indent}{output} = {infix.format(*inputs)}", node.line, op, inputs)
            return [output]
        direct = evaluator_of(op, specs)
        if direct is not None:
            self.line(
                f"{indent}{output} = {self.name_of(direct, 'f')}({', '.join(inputs)})", node.line, op, inputs
            )
            return [output]
        formula = getattr(type(op), "formula", None)
        is_formula = formula is not None and type(op).eval is _shared_eval(type(op))
        function = self.name_of(formula if is_formula else fitted(op, specs, op.eval), "f")
        self.line(f"{indent}{output} = {function}({', '.join(inputs)})", node.line, op, inputs)
        if not isinstance(formula, np.ufunc):
            self._scalar(output, node.specs[0], indent)
        return [output]

    def _scalar(self, name: str, spec: TensorSpec, indent: str) -> None:
        """A 0-d array as a NumPy scalar, unless the rank rules it out."""
        if not spec.dims:
            self.line(f"{indent}if {name}.__class__ is ndarray and not {name}.ndim: {name} = {name}[()]")

    def compiled(self, head: str, name: str, whole: type[Op] | None = None) -> Callable[..., Any]:
        """The function with the first line `head` and these lines as its body; lines without an op belong to `whole`."""
        body = [f"    {line}" for line in self.lines] or ["    pass"]
        text = "\n".join([head, *body])
        place = f"<graphad {name}>"  # which tracebacks leave out
        exec(compile(text, place, "exec"), self.names)
        function: Callable[..., Any] = self.names[name]
        lines = list(zip(self.sources, self.ops, self.operands, strict=True))

        def noted(*values: Any) -> Any:
            try:
                return function(*values)
            except Exception as error:  # raised on, with the op and the traced line
                error = _noted(error, place, lines, whole)
                raise error

        return noted


def _shared_eval(kind: Any) -> Any:
    """The `eval` of the base class of elementwise ops, which only calls `formula`."""
    for base in kind.__mro__:
        if base.__name__ == "Elementwise":
            return base.eval
    return None


def _noted(error: Exception, place: str, lines: Sequence[Any], whole: type[Op] | None) -> Exception:
    """The error with the name of the op and its traced line, unless it has them already."""
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_filename == place and 2 <= trace.tb_lineno <= len(lines) + 1:
            source, op, operands = lines[trace.tb_lineno - 2]
            if op is not None:
                known = frame.f_globals | frame.f_locals
                error = explained(error, op, [known[name] for name in operands])
            elif whole is not None:
                error = named(error, whole)
            note_traced_line(error, source)
            return error
        trace = trace.tb_next
    return error


def _named(graph: Graph) -> list[int]:
    """The values that are never deleted: inputs, constants, and operands and results of inlined calls."""
    inlined = [node for node in graph.nodes if node.op.inlines]
    return [
        *range(graph.first_node_value),
        *[value for node in inlined for value in (*node.inputs, *node.outputs)],
    ]


def prepared(graph: Graph) -> Callable[..., Any]:
    """The graph as a function of its inputs that returns a tuple; cached."""
    found: Callable[..., Any] | None = graph.derived.get(prepared)
    if found is None:
        emitter = Emitter()
        inputs = [emitter.fresh("x") for _ in graph.inputs]
        outputs = emitter.graph(graph, inputs)
        emitter.line(f"return ({', '.join(outputs)}{',' if len(outputs) == 1 else ''})")
        found = graph.derived[prepared] = emitter.compiled(f"def graph_({', '.join(inputs)}):", "graph_")
    return found
