"""The trace in which a graph is specialised: shape arithmetic folds, calls are inlined, and ops become their simpler forms.

Known integers are a `KnownTensor`. It becomes a constant, or a node with sizes, only when an op that does not fold reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.bind import bind
from graphad.core.dims import Dim, UndecidedSize, apart_from
from graphad.core.dtypes import DType
from graphad.core.errors import InvalidArgumentError
from graphad.core.frames import note_traced_line
from graphad.core.levels import entered
from graphad.core.op import Op, in_tuple, output_specs
from graphad.core.rule_errors import named
from graphad.core.shapes import are_compatible, format_dims, is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor
from graphad.graph.ir import Graph
from graphad.graph.walk import expanded_nodes
from graphad.ops.array.reshape import Reshape
from graphad.ops.array.shape import SizeVector, packed
from graphad.trace.counted import steps_of
from graphad.trace.known import KNOWN_LIMIT, KnownSlices, KnownTensor, SlicesSpec, slices_of
from graphad.trace.size_class import literal_sizes
from graphad.trace.specialise import CUSTOM, FOLDS, INLINES, PLAIN, rule_of, specialise, with_closed_rules
from graphad.trace.tracer import RETURN, SymbolicTensor, Trace

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.core.dims import Size
    from graphad.core.tensor import Handle, Tensor


# A graph with more nodes, calls inlined, keeps its larger calls as calls, so that shared graphs are specialised once.
INLINED_NODES = 100_000
SMALL_CALL = 1_000


def replayed(
    graph: Graph,
    specs: Sequence[TensorSpec],
    expanding: bool,
    known: Sequence[Any] | None,
    keeps_rules: bool,
    shared: dict[Any, Graph],
    making: Callable[..., Specialiser] | None,
) -> Graph:
    """The graph replayed with definite input specs; see `specialise`."""
    with apart_from(literal_sizes(graph)):
        trace = (making or Specialiser)(graph.name, expanding, keeps_rules, shared)
        trace.making = making
        trace.keeps_calls = expanded_nodes(graph) > INLINED_NODES
        with entered(trace):
            inputs = [trace.input(spec) for spec in specs]
            values: list[Any] = list(inputs)
            for i, value in enumerate(known or ()):
                if type(value) is KnownSlices:
                    trace.slices[inputs[i].index] = value
                elif value is not None:
                    values[i] = KnownTensor(value, specs[i].dtype)
            outputs = trace.replay(graph, values)
            done = trace.finish(outputs, RETURN, False, inputs)
            number: Any = trace.number
            slices = {number[i]: found for i, found in trace.slices.items() if i in number}
            if slices:
                done.derived[KnownSlices] = slices
            return done


class Specialiser(Trace):
    """A trace in which shape arithmetic folds; it is also the context of `fold` rules.

    Attributes:
      keeps_calls: The graph is too large to inline all its calls.
      making: See `specialise`.
      copies_plain: Whether nodes that no rule simplifies are copied where their inputs have the same specs.
    """

    copies_plain = True

    def __init__(self, name: str, expanding: bool, keeps_rules: bool, shared: dict[Any, Graph]) -> None:
        super().__init__(name)
        self.keeps_calls = False
        self.making: Callable[..., Specialiser] | None = None
        self._expanding = expanding
        self._keeps_rules = keeps_rules
        self._shared = shared
        self.slices: dict[int, KnownSlices] = {}

    def process(self, op: Op, inputs: Sequence[Any]) -> tuple[Any, ...]:
        rule = rule_of(type(op))
        if rule != PLAIN:
            simpler = self._simpler(op, rule, inputs)
            if simpler is not None:
                return simpler
        if inputs and not op.effects and not op.structured:
            first = self.known_values(inputs[0])
            if first is not None:
                values = [first, *[self.known_values(x) for x in inputs[1:]]]
                if not any(value is None for value in values):
                    computed = self._computed(op, inputs, values)
                    if computed is not None:
                        return computed
        return self.node(op, inputs)

    def node(self, op: Op, inputs: Sequence[Handle | Tensor]) -> tuple[Any, ...]:
        """The outputs of an op that is bound without folding."""
        serials = [
            x.index if type(x) is SymbolicTensor and x.trace is self else self.serial(x, op) for x in inputs
        ]
        known = self.builder.specs
        specs = output_specs(op, [known[i] for i in serials])
        start = self.builder.add_node(op, serials, specs, self.line)
        return tuple([SymbolicTensor(self, start + k, spec, None, self.line) for k, spec in enumerate(specs)])

    def require_fit(self, graph: Graph, given: Sequence[Any]) -> None:
        """Raises: InvalidArgumentError: the sizes of values or specs differ from those that the graph's results rely on."""
        for i, (spec, x) in enumerate(zip(graph.inputs, given, strict=True)):
            if not are_compatible(spec.dims, x.dims):
                raise InvalidArgumentError(
                    f"{graph.name}: argument {i} has shape {format_dims(x.dims)}; the graph takes {format_dims(spec.dims)}."
                )

    def specialised(self, graph: Graph, operands: Sequence[Any]) -> Graph:
        """A sub-graph for operands that are values of this trace, or specs; known sizes become part of the graph."""
        graph = with_closed_rules(graph) if self._keeps_rules else graph
        known = [None if isinstance(x, TensorSpec) else self.known_operand(x) for x in operands]
        specs = [x if isinstance(x, TensorSpec) else x.spec for x in operands]
        self.require_fit(graph, specs)
        key = None
        if all(values is None for values in known):
            # Functions that call another twice double the calls at each level, so that the same call is specialised often.
            key = graph, tuple([spec.dims for spec in specs])
            found = self._shared.get(key)
            if found is not None:
                return found
        done = specialise(graph, specs, self._expanding, known, self._keeps_rules, self._shared, self.making)
        if key is not None:
            self._shared[key] = done
        return done

    def known_operand(self, x: SlicesSpec | Tensor) -> Any:
        """What is known of an operand of a sub-graph: its integers, those of every slice, or None."""
        values = self.known_values(x)
        if values is not None:
            return values
        if type(x) is SlicesSpec:
            return x.slices
        mask = self.mask_of(x)
        if mask is not None and mask.size <= KNOWN_LIMIT:
            return mask
        return self.slices.get(x.index) if type(x) is SymbolicTensor and x.trace is self else None

    def slice_of(self, x: Tensor) -> KnownTensor | SlicesSpec | TensorSpec:
        """A slice of a stack as an operand of `specialised`: the integers that every slice holds, or its spec."""
        values = self.known_values(x)
        spec = TensorSpec.of(None if x.dims is None else tuple(x.dims[1:]), x.dtype)
        if values is not None:
            rows = [np.ravel(row).tolist() for row in values]
            values = values[0] if rows and all(row == rows[0] for row in rows) else None
        elif values is None and type(x) is SymbolicTensor and x.trace is self:
            slices = self.slices.get(x.index)
            if slices is not None and slices.depth > 1:
                return SlicesSpec(spec, KnownSlices(slices.values, slices.depth - 1))
            values = None if slices is None else slices.values
        return spec if values is None else KnownTensor(values, x.dtype)

    def note_slices(self, stack: Tensor, graph: Graph, value: int) -> None:
        """Record what every slice of a stack holds, if `value` of the body that produces it, or its slices, are known."""
        if type(stack) is not SymbolicTensor:
            return
        values, slices = self._held(graph, value), slices_of(graph, value)
        if values is not None:
            self.slices[stack.index] = KnownSlices(values)
        elif slices is not None:
            self.slices[stack.index] = KnownSlices(slices.values, slices.depth + 1)

    def note_stack(self, stack: Tensor, graph: Graph, value: int) -> None:
        """Record what the slices of a sub-graph's output hold."""
        slices = slices_of(graph, value)
        if slices is not None and type(stack) is SymbolicTensor:
            self.slices[stack.index] = slices

    def integers_of(self, graph: Graph, value: int) -> KnownTensor | None:
        """The integers that a value of a specialised sub-graph holds for all operands, None if they depend on these."""
        values = self._held(graph, value)
        return None if values is None else KnownTensor(values, graph.specs[value].dtype)

    def _held(self, graph: Graph, value: int) -> Array | None:
        place = value - len(graph.inputs)
        if not graph.specs[value].dtype.is_integer or place < 0:
            return None
        if place < len(graph.constants):
            return graph.constants[place]
        node = next(node for node in graph.nodes if value in node.outputs)
        if type(node.op) is not SizeVector:
            return None
        values = _packed(node.op.dims, node.op.dtype)
        return values[0] if node.op.scalar else values

    def number_of(self, x: Tensor) -> Any:
        """The NumPy value of a constant, None for other values."""
        if type(x) is SymbolicTensor and x.trace is self:
            return self.builder.values.get(x.index)
        return x.data if type(x) is EagerTensor else None

    def mask_of(self, x: Any) -> Any:
        """The booleans of a mask or a predicate that is known, else None; sizes of results depend on them."""
        data = x.values if type(x) is KnownTensor else self.number_of(x)
        return data if data is not None and data.dtype.kind == "b" else None

    def _simpler(self, op: Any, rule: int, inputs: Sequence[Any]) -> tuple[Any, ...] | None:
        """The replacement of an op in the definite graph, None for the op itself."""
        if rule == INLINES:
            return tuple(self.inline(op.graph, inputs))
        if rule == CUSTOM and self._keeps_rules:
            return None
        if rule == CUSTOM:  # its derivative is no longer needed: it passes its operands through
            return tuple(op.inputs.ys(inputs))
        if op.holds_sizes:
            return (self._sizes(op.dims, op.dtype, op.scalar),)
        if not op.structured and not all(is_definite(x.dims) for x in inputs):
            return None
        if op.repeats:
            return self._loop(op, inputs)
        if not op.structured:
            # The simpler ops might accept operands for which this op raises an error.
            output_specs(op, [x.spec for x in inputs])
        if op.refers:
            found = self._settled(op, inputs)
        else:
            found = op.fold(self, *inputs) if rule == FOLDS else None
        if found is None and self._expanding:
            found = op.expand(*inputs)
        if found is None:
            return None
        return tuple(found) if op.multiple else (found,)

    def _settled(self, op: Any, inputs: Sequence[Any]) -> Any:
        """An op whose sizes are inputs, with their known numbers and symbols; None if none is known."""
        own, given = op.split(inputs)
        values = [self.known_values(x) for x in given]
        rest = [x for x, value in zip(given, values, strict=True) if value is None]
        if rest and len(rest) == len(given):
            return None
        made = op.op_class(*op.with_numbers(values))
        if rest:
            return bind(made, *own, *rest[: made.given])
        found = made.settled(self, *own)
        return bind(made, *own) if found is None else found

    def _loop(self, op: Any, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """A loop with specialised body and test; a loop that turns out to be counted loses its test."""
        limit, *values = inputs
        if op.test is not None and not op.reverse and not op.effects:
            carry, invariants = op.operands.carries(values), op.operands.invariants(values)
            steps = steps_of(self, op, limit, carry, invariants)
            if steps is not None:
                op = op.counted(steps)
                limit = self.size(steps, limit.dtype)
        outputs = list(op.fold(self, limit, *values))
        known = self.known(limit) if op.test is None else None
        if known is not None and (isinstance(known[0], Dim) or known[0] >= 0):
            (count,) = op.outputs.count
            outputs[count] = self.size(known[0], outputs[count].dtype)  # it runs exactly that often
        return tuple(outputs)

    def inline(self, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
        """The outputs of a sub-graph on values of this trace: inlined, or by a call if the graph is too large."""
        self.require_fit(graph, inputs)
        graph = with_closed_rules(graph) if self._keeps_rules else graph
        if not self.keeps_calls or expanded_nodes(graph) <= SMALL_CALL:
            return self.replay(graph, inputs)
        from graphad.ops.control.call import Call  # which few graphs need

        inner = self.specialised(graph, inputs)
        outputs = list(self.node(Call(inner), inputs))
        for k, value in enumerate(inner.outputs):
            integers = self.integers_of(inner, value)
            outputs[k] = outputs[k] if integers is None else integers
        return outputs

    def replay(self, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
        """The outputs of a graph on values of this trace, its nodes bound one by one."""
        known: list[Any] = [*inputs, *[self.constant(array) for array in graph.constants]]
        old = graph.specs
        outer = self.line
        builder = self.builder
        for node in graph.nodes:
            op = node.op
            self.line = node.line or outer
            values = [known[i] for i in node.inputs]
            unchanged = self.copies_plain and bool(values) and rule_of(type(op)) == PLAIN
            for value, i in zip(values, node.inputs, strict=True):
                # Unchanged specs are the same objects: then the node's own specs are right, and `infer` need not run.
                if (
                    value.spec is not old[i]
                    or type(value) is not SymbolicTensor
                    or value.spec.dtype.kind == "int"
                ):
                    unchanged = False
                    break
            if unchanged:
                start = builder.add_node(op, [value.index for value in values], node.specs, self.line)
                known.extend(
                    [SymbolicTensor(self, start + k, spec, None, None) for k, spec in enumerate(node.specs)]
                )
                continue
            try:
                known.extend(self.process(op, values))
            except UndecidedSize:
                raise
            except Exception as error:  # raised on, with the op and the traced line
                error = named(error, op)
                note_traced_line(error, node.line)
                raise error
        self.line = outer
        return [known[i] for i in graph.outputs]

    # the context of fold rules

    def known(self, x: Tensor) -> list[Any] | None:
        """The sizes that an integer value holds, in row-major order, or None where they are not known."""
        values = self.known_values(x)
        return None if values is None else [_plain(size) for size in np.ravel(values)]

    def sizes(self, dims: Sequence[Dim | int], dtype: DType) -> Any:
        """A vector of sizes as data."""
        return self._sizes(dims, dtype, False)

    def size(self, dim: Size, dtype: DType) -> Any:
        """One size as a scalar."""
        return self._sizes((dim,), dtype, True)

    def _sizes(self, dims: Sequence[Any], dtype: DType, scalar: bool) -> KnownTensor | SymbolicTensor:
        if not dtype.is_integer:
            op = SizeVector(tuple(dims), dtype, scalar)
            start = self.builder.add_node(op, (), (op.infer(),), self.line)
            return SymbolicTensor(self, start, op.infer(), None, self.line)
        values = _packed(dims, dtype)
        return KnownTensor(values[0] if scalar else values, dtype)

    def known_values(self, x: Any) -> Any | None:
        """The array behind an integer value, None where it is not known."""
        kind = type(x)
        if kind is KnownTensor:
            return x.values
        if kind is SymbolicTensor and x.trace is self:
            data = self.builder.values.get(x.index)
        elif kind is EagerTensor:
            data = x.data
        else:
            return None
        if data is None or data.dtype.kind not in "iu" or data.size > KNOWN_LIMIT:
            return None
        return data

    def _computed(self, op: Op, inputs: Sequence[Any], values: Sequence[Any]) -> tuple[Any, ...] | None:
        """Integer and boolean results for known sizes, by the op's own `eval`; None if that is not possible."""
        specs = output_specs(op, [x.spec for x in inputs])
        if not all(spec.dtype.kind in ("int", "uint", "bool") for spec in specs):
            return None
        symbolic = [i for i, value in enumerate(values) if _is_symbolic(value)]
        if symbolic:
            taken = op.takes_symbols
            if taken is False or op.extension or any(i >= len(values) - op.given for i in symbolic):
                return None
            if taken is not True and not all(i in taken for i in symbolic):
                return None
            # Rules use the dtype, which a single symbol lacks.
            values = [_as_array(value) if isinstance(value, Dim) else value for value in values]
        try:
            outputs = in_tuple(op, op.eval(*values))
        except UndecidedSize:
            if all(is_definite(spec.dims) for spec in specs):
                return None
            raise
        if any(np.size(y) > KNOWN_LIMIT for y in outputs):
            return None
        return tuple(
            [
                self.constant(_scalar(np.asarray(y, spec.dtype.numpy)))
                if spec.dtype.kind == "bool"
                else KnownTensor(_tidy(y, spec.dtype), spec.dtype)
                for y, spec in zip(outputs, specs, strict=True)
            ]
        )

    def serial(self, x: Any, op: Op) -> int:
        kind = type(x)
        if kind is KnownTensor:
            if x.serial is None:
                x.serial = self._materialise(x)
            return x.serial  # type: ignore[no-any-return]
        if kind is EagerTensor:
            return self.builder.add_constant(x.data)
        return super().serial(x, op)

    def _materialise(self, x: KnownTensor) -> int:
        values, dtype = x.values, x.spec.dtype
        if not _is_symbolic(values):
            array = np.asarray(values, dtype.numpy)
            return self.builder.add_constant(array if array.ndim else array[()])
        scalar = not np.ndim(values)
        op = SizeVector(tuple(_plain(size) for size in np.ravel(values)), dtype, scalar)
        start = self.builder.add_node(op, (), (op.infer(),), self.line)
        if np.ndim(values) > 1:
            reshape = Reshape(x.spec.dims or ())
            start = self.builder.add_node(reshape, (start,), (x.spec,), self.line)
        return start


def _plain(size: Array | Size) -> Any:
    return size if isinstance(size, Dim) else int(size)


def _is_symbolic(values: Array | Dim) -> bool:
    return isinstance(values, Dim) or values.dtype == object


def _as_array(size: Dim) -> np.ndarray:
    out = np.empty((), object)
    out[()] = size
    return out


def _packed(sizes: Sequence[Dim | int], dtype: DType) -> Array:
    """Sizes as an int array where all are numbers, else as an object array."""
    if any(isinstance(size, Dim) for size in sizes):
        out = np.empty(len(sizes), object)
        out[:] = [_plain(size) for size in sizes]
        return out
    return packed("shape", [int(size) for size in sizes], dtype)


def _tidy(values: Array | Size, dtype: DType) -> Array | Dim:
    """The result of an `eval`, with its proper dtype unless it contains symbols."""
    if isinstance(values, Dim):
        return values
    array = np.asarray(values)
    if array.dtype == object:
        if not any(isinstance(size, Dim) for size in array.flat):
            return _scalar(array.astype(dtype.numpy))
        return array if array.ndim else array[()]
    return _scalar(array.astype(dtype.numpy, copy=False))


def _scalar(array: np.ndarray) -> Array:
    return array if array.ndim else array[()]
