"""The batch level: user code sees one row, ops run on stacks that carry the loop axis first.

An op without an input that is stacked at this level goes to the level below unchanged. Otherwise its batch rule runs there:
recorders below see the rule's ops, recorders of this level see one op on rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.bind import bind, bind_all, check_inputs
from graphad.core.convert import lift
from graphad.core.dims import questions
from graphad.core.errors import InvalidArgumentError, OutOfScopeError, UnansweredError
from graphad.core.escapes import Escapes
from graphad.core.levels import current, entered, here
from graphad.core.memo import Memo
from graphad.core.op import Op, in_tuple, output_specs
from graphad.core.references import entries_of
from graphad.core.rule_errors import named
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Tensor
from graphad.graph.ir import Graph
from graphad.graph.replay import replay
from graphad.ops.array.broadcast import BroadcastTo
from graphad.ops.array.create import zeros
from graphad.ops.array.join import concat, stack
from graphad.ops.array.reshape import ExpandDims, Reshape, reshape
from graphad.ops.array.shape import shape
from graphad.ops.control.layers import merged
from graphad.ops.control.stacks import known_spec
from graphad.ops.hints import HINTS
from graphad.ops.math.cast import cast
from graphad.ops.math.reduce import reduce_sum
from graphad.trace.known import KNOWN_LIMIT, KnownSlices
from graphad.trace.specialise import specialise
from graphad.trace.tracer import Trace, Traced, trace_flat
from graphad.vectorize.closing import closed

if TYPE_CHECKING:
    from graphad.core.annotations import Array, Value
    from graphad.core.dims import Dim, Size
    from graphad.core.tensor import Handle


class BatchedTensor(Tensor):
    """One row, as the user's code sees it, of a stack that the level below holds."""

    __slots__ = ("__weakref__", "level", "mark", "spec", "stacked")

    def __init__(self, level: BatchLevel, stacked: object) -> None:
        self.level = level
        self.stacked = stacked
        spec = known_spec(stacked)
        self.spec = TensorSpec.of(None if spec.dims is None else spec.dims[1:], spec.dtype)
        self.mark = None

    def out_of_scope(self, op: Op) -> OutOfScopeError:
        return OutOfScopeError(
            f"{op.name}: {self!r} is a row of a vectorized computation and cannot be used outside of it."
        )

    def __getattr__(self, name: str) -> Any:
        if name == "data":  # an AttributeError inside of a property leads here too
            return Tensor.data.fget(self)  # type: ignore[attr-defined]
        if name in HINTS:
            raise AttributeError(HINTS[name].sentence("Tensor"))
        told = (
            ": all rows are computed together, and one of them has no value. Compute with the tensor itself, and read values of "
            "the result."
            if name in ("numpy", "item", "tolist")
            else ""
        )
        raise AttributeError(f"'BatchedTensor' object has no attribute {name!r}{told}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"<tf.Tensor: one row, shape={self.spec.shape} dtype={self.spec.dtype.name}>"


class Unstacked:
    """An output of a batch rule that is the same in every row."""

    __slots__ = ("value",)

    def __init__(self, value: Tensor) -> None:
        self.value = value


class BatchContext:
    """The context of a batch rule; see `core.annotations.BatchContext`."""

    __slots__ = ("_inputs", "_stacked", "level", "op", "size")

    def __init__(
        self, level: BatchLevel, op: Op, inputs: Sequence[Handle | Tensor], stacked: Sequence[bool]
    ) -> None:
        self.level = level
        self.op = op
        self.size = level.size
        self._inputs = inputs
        self._stacked = stacked

    def stacked(self, i: int) -> bool:
        return self._stacked[i]

    def row_spec(self, i: int) -> TensorSpec:
        """The spec of input i as the user's code sees it."""
        return known_spec(self._inputs[i])

    def row(self, i: int) -> Any:
        """Input i as the user's code sees it."""
        return self._inputs[i]

    def operand(self, i: int) -> Any:
        """Input i if it is the same in every row, else its spec; an operand for `batched_graph`."""
        return self._inputs[i].spec if self._stacked[i] else self._inputs[i]

    def slice_operand(self, i: int) -> Any:
        """What is known of one slice of input i, a stack that a loop iterates over."""
        find = getattr(self.level.below, "slice_of", None)
        if find is not None and not self._stacked[i]:
            return find(self._inputs[i])
        spec = known_spec(self._inputs[i])
        return spec.with_dims(None if spec.dims is None else tuple(spec.dims[1:]))

    def unstacked(self, value: Tensor) -> Any:
        return Unstacked(value)

    def stack(self, x: Tensor) -> Any:
        """An unstacked value repeated for every row."""
        return repeated(x, self.size)

    def batched_graph(
        self,
        graph: Graph,
        stacked: Sequence[bool] | None = None,
        operands: Sequence[Any] | None = None,
    ) -> tuple[Graph, tuple[bool, ...]]:
        """The graph batched over its inputs, and which of its outputs are stacked.

        Args:
          graph: A graph on rows.
          stacked: Which of its inputs are stacked; by default its inputs are those of the op.
          operands: Its inputs (or their specs) as the user's code sees them, if they are not those of the op.
        """
        if operands is None and stacked is None:
            operands = [self.operand(i) for i in range(len(self._inputs))]
        graph = closed(graph)
        if operands is not None and any(not spec.is_definite for spec in graph.specs):
            graph = _definite(graph, operands, self.level.below)
        return batched(graph, tuple(self._stacked if stacked is None else stacked), self.size)

    def batched_later(self, graph: Graph, stacked: Sequence[bool]) -> Callable[[], Graph]:
        """A function that returns the batched graph with all outputs stacked, for a graph that may be recursive."""
        size = self.size
        return lambda: batched(closed(graph), tuple(stacked), size, True)[0]

    def lasting(self, graph: Graph, operands: Sequence[Any], n: int) -> list[Any]:
        """The operands of a loop's body; the first n, the carries, have the sizes that stay the same in all steps."""
        operands, graph = list(operands), closed(graph)
        while any(not spec.is_definite for spec in graph.inputs[:n]):
            after = _definite(graph, operands, self.level.below).output_specs
            wider = [merged(a, b) for a, b in zip(operands[:n], after, strict=False)]
            if all(a.dims == b.dims for a, b in zip(operands, wider, strict=False)):
                break
            operands[:n] = wider
        return operands

    def waiting(self, op: Op, *xs: Value) -> tuple[Any, ...]:
        """The op batched when it runs, for what only values decide."""
        return self.level.waiting(op, xs, self._stacked)

    def rowwise(self, op: Op, *xs: Value) -> Any:
        """The op run once per row, for ops without a better rule. The number of rows must be known."""
        if not isinstance(self.size, int):
            rule = op.batch_given if op.refers else op.batch
            why = getattr(rule, "reason", "its operands differ from row to row in more than their values")
            raise UnansweredError(f"{op.name}: there is no batch rule for an unknown number of rows: {why}.")
        from graphad.ops.array.slice import getitem  # ops with a rule of their own need no slices

        rows = []
        for i in range(self.size):
            out = bind_all(op, [getitem(x, i) if self._stacked[k] else x for k, x in enumerate(xs)])
            rows.append(out)
        if not rows:
            return self._no_rows(op, xs)
        outputs = tuple([stack([row[k] for row in rows]) for k in range(len(rows[0]))])
        return outputs if op.multiple else outputs[0]

    def _no_rows(self, op: Op, xs: Sequence[Any]) -> Any:
        """The result of `rowwise` for zero rows: a stacked operand reshaped, so that tapes can follow it."""
        rows = [x.spec.with_dims(x.dims[1:]) if self._stacked[k] else x.spec for k, x in enumerate(xs)]
        outputs = []
        for spec in output_specs(op, rows):
            if not is_definite(spec.dims) and op.effects:
                raise InvalidArgumentError(
                    f"{op.name}: vectorizing over zero rows is not possible: a row has shape {spec.shape}."
                )
            stacked = [x for k, x in enumerate(xs) if self._stacked[k]]
            like = next((x for x in stacked if x.dtype is spec.dtype), None)
            if like is None:
                like = cast(stacked[0], spec.dtype)
            if is_definite(spec.dims):
                outputs.append(bind(Reshape((0, *spec.dims)), like))
            else:  # without rows the shapes come from a row of zeros
                zero = [
                    zeros(row.dims, row.dtype) if self._stacked[k] else xs[k] for k, row in enumerate(rows)
                ]
                sizes = shape(bind_all(op, zero)[len(outputs)])
                outputs.append(reshape(like, concat([lift(np.array([0], np.int32)), sizes], 0)))
        return tuple(outputs) if op.multiple else outputs[0]


class BatchLevel:
    """Gives meaning to ops on rows.

    Args:
      size: The number of rows; a number, or a size symbol.
    """

    def __init__(self, size: Size) -> None:
        self.size = size
        self.below = current()
        self.recorders: tuple[Any, ...] = ()
        self.owner = here()
        self.entries = 0
        self.escapes = Escapes()
        self._line: str | None = None

    @property
    def line(self) -> str | None:
        return self._line

    @line.setter
    def line(self, line: str | None) -> None:
        self._line = line
        if self.below is not None:
            self.below.line = line

    def traced(self, function: Callable[..., Any], specs: Sequence[TensorSpec], name: str) -> Traced:
        """A function of rows as a graph on rows: a branch or the body of a loop."""
        return trace_flat(function, specs, name, keep_all=True)

    def wrap(self, value: Tensor, stacked: bool = True) -> Tensor:
        """A value of the level below as a value of this level."""
        return BatchedTensor(self, value) if stacked else value

    def constant(self, data: Array) -> Tensor:
        return EagerTensor(data) if self.below is None else self.below.constant(data)

    def is_stacked(self, x: Tensor) -> bool:
        return type(x) is BatchedTensor and x.level is self

    def process(self, op: Op, inputs: Sequence[Any]) -> tuple[Any, ...]:
        stacked = [type(x) is BatchedTensor and x.level is self for x in inputs]
        with entered(self.below):
            if not any(stacked) and not op.per_row:
                return bind_all(op, inputs)
            values = [x.stacked if s else x for x, s in zip(inputs, stacked, strict=True)]
            if not getattr(op, "any_sizes", False) and not all(
                is_definite(known_spec(x).dims) for x in values
            ):
                if isinstance(self.below, BatchLevel) and all(is_definite(x.dims) for x in values):
                    # Otherwise the waiting op would be expanded into a waiting op without end.
                    if any(map(self.below.is_stacked, values)):
                        raise UnansweredError(
                            f"{op.name}: slices of an operand differ in size from step to step."
                        )
                return self._rows_of(self.waiting(op, values, stacked))
            check_inputs(op, inputs)  # the op may accept stacks although it raises an error for their rows
            context = BatchContext(self, op, inputs, stacked)
            try:
                out = op.batch(context, *values)
            except Exception as error:  # raised on, under the name of the op
                error = named(error, op)
                raise error
        return self._rows_of(in_tuple(op, out))

    def _rows_of(self, outputs: Sequence[Tensor | Unstacked]) -> tuple[Tensor, ...]:
        """The outputs of a batch rule as values of this level."""
        return tuple([y.value if type(y) is Unstacked else BatchedTensor(self, y) for y in outputs])

    def waiting(self, op: Op, values: Sequence[Any], stacked: Sequence[bool]) -> tuple[Any, ...]:
        """The op on rows as one op of the level below, for sizes that depend on values: it is batched when it runs and the sizes
        are known.

        Outputs that are the same in all rows, such as the sizes of a row, are returned once; they are known even without rows.
        """
        specs = [
            spec.with_dims(None if spec.dims is None else tuple(spec.dims[1:])) if s else spec
            for spec, s in zip(map(known_spec, values), stacked, strict=True)
        ]
        # An op that must run per row but reads no row: the number of rows would be unknown.
        if not any(stacked):
            raise UnansweredError(f"{op.name}: a batch rule needs known sizes, or an operand with rows.")
        from graphad.vectorize.vectorize_graph import Vectorize

        row = trace_flat(lambda *rows: list(bind_all(op, rows)), specs, op.name, keep_all=True)
        once = Vectorize.same_in_all_rows(row.graph, stacked)
        outputs = bind_all(Vectorize(row.graph, tuple(stacked), tuple(once)), values)
        return tuple([Unstacked(y) if k in once else y for k, y in enumerate(outputs)])

    def lower_to(self, x: Any, stacked: bool, ctx: BatchContext) -> Any:
        """A value of this level as a value below: a stack if `stacked`, else the sum over rows (for a cotangent)."""
        if stacked:
            return x.stacked if self.is_stacked(x) else ctx.stack(x)
        if not self.is_stacked(x):
            return x
        return reduce_sum(x.stacked, axis=0)


_DEFINITE_LIMIT = 64


def _definite(graph: Graph, operands: Sequence[Any], below: object) -> Graph:
    """The graph for operands of known sizes; known integers are folded into it, since shapes may depend on them."""
    find = getattr(below, "known_operand", _small_integers)
    known = [None if isinstance(x, TensorSpec) else find(x) for x in operands]
    specs = [x if isinstance(x, TensorSpec) else known_spec(x) for x in operands]
    return definite(graph, specs, known, True)


def definite(
    graph: Graph, specs: Sequence[TensorSpec], known: Sequence[Array | None], differentiable: bool = False
) -> Graph:
    """The specialised graph, cached on the graph; in a differentiable form if `differentiable`, else only for running."""
    key = (
        tuple([spec.dims for spec in specs]),
        tuple([_key_of(value) for value in known]),
        differentiable,
    )
    made = graph.derived.get(_definite)
    if made is None:
        made = graph.derived.setdefault(_definite, Memo("definite graph", _DEFINITE_LIMIT))
    found: Graph | None = made.get(key)
    if found is None:
        before = questions()
        found = specialise(graph, specs, not differentiable, known, keeps_rules=differentiable)
        # A graph that depends on choices is valid only for calls with the same ones.
        if questions() == before:
            found = made.keep(key, found)
    return found


def _key_of(known: Any) -> tuple[int, tuple[Any, ...] | Any, tuple[Any, ...]] | None:
    if known is None:
        return None
    values = known.values if type(known) is KnownSlices else known
    return (
        known.depth if type(known) is KnownSlices else 0,
        np.shape(values),
        tuple(np.ravel(values).tolist()),
    )


def _small_integers(x: Handle | Tensor) -> Array | None:
    data = x.data if type(x) is EagerTensor else None
    return data if data is not None and data.dtype.kind in "iu" and data.size <= KNOWN_LIMIT else None


def repeated(x: Tensor, size: Any) -> Tensor:
    """x stacked `size` times."""
    if not is_definite(x.dims):
        return bind(BroadcastTo((size, *entries_of(x.dims))), x, shape(x))
    return bind(BroadcastTo((size, *x.dims)), bind(ExpandDims((0,)), x))


def batched(
    graph: Graph, stacked: tuple[bool, ...], size: Dim | int, all_stacked: bool = False
) -> tuple[Graph, tuple[bool, ...]]:
    """The graph with some inputs stacked, and which outputs are stacked then; cached on the graph.

    Args:
      graph: A graph with definite shapes and without Python rules (closed).
      stacked: Which inputs carry the loop axis.
      size: The number of rows.
      all_stacked: Repeat outputs that are the same in every row.
    """
    known = graph.derived.setdefault(batched, {})
    key = (stacked, size, all_stacked)
    if key not in known:
        before = questions()
        found = _batch(graph, stacked, size, all_stacked)
        if questions() != before:  # it is valid only for calls with these choices
            return found
        known[key] = found
    return known[key]  # type: ignore[no-any-return]


def _batch(
    graph: Graph, stacked: tuple[bool, ...], size: Size, all_stacked: bool
) -> tuple[Graph, tuple[bool, ...]]:
    trace = Trace(f"{graph.name}_batched")
    with entered(trace):
        inputs = [
            trace.input(spec.with_dims((size, *(spec.dims or ()))) if s else spec)
            for spec, s in zip(graph.inputs, stacked, strict=True)
        ]
        level = BatchLevel(size)
        with entered(level):
            rows = [level.wrap(x, s) for x, s in zip(inputs, stacked, strict=True)]
            outputs = replay(graph, rows)
        mask = [level.is_stacked(y) for y in outputs]
        values = [y.stacked if s else y for y, s in zip(outputs, mask, strict=True)]
        if all_stacked:
            values = [y if s else repeated(y, size) for y, s in zip(values, mask, strict=True)]
            mask = [True] * len(mask)
        done = trace.finish(values, level_name, False, inputs)
    return done, tuple(mask)


class _LevelName:
    name = "vectorize"


level_name: Any = _LevelName()


def stack_rows(level: BatchLevel, y: Any) -> Tensor:
    """A result of this level as a stack of the level below, which is current."""
    return y.stacked if level.is_stacked(y) else repeated(lift(y), level.size)
