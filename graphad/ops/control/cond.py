"""One of two graphs, selected by a predicate. If the predicate differs from row to row, each row gets the outputs of its own
branch.

Each output is marked: "both" branches compute it, or only "then" or "else" (a residual), and the other branch gives a
placeholder. So a backward branch reads only residuals of its own forward branch, and no NaN comes from a branch that was not
taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from graphad.core.annotations import (
    Array,
    BatchContext,
    DualContext,
    FoldContext,
    Ranked,
    RowAxis,
    VjpContext,
)
from graphad.core.bind import bind, is_mistake
from graphad.core.convert import lift
from graphad.core.errors import (
    InvalidArgumentError,
    UnansweredError,
)
from graphad.core.light import NamedTuple
from graphad.core.op import IO, WRITES, define
from graphad.core.schema import Count
from graphad.core.shapes import are_compatible, format_dims, is_definite
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.core.tensor import Tensor
from graphad.graph.builder import GraphBuilder
from graphad.graph.compose import append, inputs_behind, values_behind, with_inputs
from graphad.graph.evaluate import run
from graphad.graph.ir import Graph
from graphad.graph.prepare import is_in_line
from graphad.graph.walk import with_outputs
from graphad.ops.array.reshape import ExpandDims
from graphad.ops.array.support import same_row
from graphad.ops.control.duals import push_cond
from graphad.ops.control.in_line import in_line
from graphad.ops.control.layers import (
    Layer,
    Structured,
    add_zeros,
    backward_of,
    merged,
    with_stacked_outputs,
)
from graphad.ops.control.operands import fit, require, require_operands
from graphad.ops.control.parts import placeholder
from graphad.ops.control.rows import rows_of
from graphad.ops.control.segments import Segments
from graphad.ops.math.arithmetic import ADD
from graphad.ops.math.select import SELECT

if TYPE_CHECKING:
    from graphad.core.annotations import BackwardGraph, Pullback, Transforms, Value
    from graphad.core.tensor import Handle


Which = Literal["both", "then", "else", "sum"]
BOTH: Which = "both"
THEN: Which = "then"
ELSE: Which = "else"
SUM: Which = "sum"


@define
class Cond(Structured):
    """(predicate, operands...) -> outputs of `then_graph` or of `else_graph`.

    Attributes:
      then_graph, else_graph: Graphs on the operands. Their outputs are those marked for them, in order.
      kinds: For each output "both", "then", "else", or "sum": the sum over rows of what both branches give.
      depth: The rank of the predicate. Above 0 both branches run on stacks with that many leading axes.
      full: For each operand, whether it carries all these axes.
    """

    name = "cond"
    holder = "then_graph"
    inputs = Segments(predicate=1, operands=None)
    passed = inputs.operands
    branches = True
    any_sizes = True  # its batch rule accepts stacks of unknown length
    then_graph: Graph
    else_graph: Graph
    kinds: tuple[Literal["both", "then", "else", "sum"], ...]
    depth: Count = 0
    full: tuple[bool, ...] = ()

    @property
    def n_outputs(self) -> int:
        return len(self.kinds)

    @property
    def effects(self) -> int:  # type: ignore[override]
        return self.then_graph.effects | self.else_graph.effects

    # -- forward -----------------------------------------------------------------------------------------------------

    def infer(self, predicate: TensorSpec, *operands: TensorSpec | HandleSpec) -> tuple[TensorSpec, ...]:
        if not predicate.dtype.is_bool or (predicate.dims is not None and len(predicate.dims) != self.depth):
            raise InvalidArgumentError(
                f"cond: the predicate has dtype {predicate.dtype.name} and shape {format_dims(predicate.dims)}; "
                "it must be a bool scalar."
            )
        then_specs, else_specs = iter(self.then_graph.output_specs), iter(self.else_graph.output_specs)
        out = []
        for kind in self.kinds:
            if kind == THEN:
                out.append(next(then_specs))
            elif kind == ELSE:
                out.append(next(else_specs))
            else:
                out.append(merged(next(then_specs), next(else_specs)))
        return tuple(out)

    def check_operands(self, specs: Sequence[TensorSpec]) -> None:
        operands = self.passed(specs)
        full = len(self.full) == len(operands) if self.depth else not self.full
        require(full, self.name, "its marks of stacked inputs are wrong")
        for graph, other, what in self._branches():
            require_operands(self.name, graph, operands, f"the {what} branch")
            count = sum(kind != other for kind in self.kinds)
            require(
                len(graph.outputs) == count,
                self.name,
                f"the {what} branch has {len(graph.outputs)} outputs; {count} are marked for it",
            )

    def check_outputs(self, specs: Sequence[TensorSpec]) -> None:
        for graph, other, what in self._branches():
            mine = [spec for spec, kind in zip(specs, self.kinds, strict=True) if kind != other]
            for k, (a, b) in enumerate(zip(graph.output_specs, mine, strict=True)):
                require(fit(a, b), self.name, f"output {k} of the {what} branch is {a}, it should be {b}")

    def _branches(self) -> tuple[tuple[Graph, str, str], ...]:
        """Each branch, with the mark of the outputs that it lacks, and its name."""
        return (self.then_graph, ELSE, "first"), (self.else_graph, THEN, "second")

    def eval(self, predicate: Array, *operands: Array) -> tuple[Array, ...]:
        if self.depth:
            return self._eval_rows(predicate, operands)
        taken, other = (self.then_graph, self.else_graph) if predicate else (self.else_graph, self.then_graph)
        for i, (spec, x) in enumerate(zip(taken.inputs, operands, strict=True)):
            if type(x) is np.ndarray and x.shape != spec.dims and not are_compatible(spec.dims, x.shape):
                self._require_unread(taken, i, spec, x)
        values = run(taken, operands)
        if len(values) == len(self.kinds):
            return tuple(values)
        mine = ELSE if not predicate else THEN
        given = iter(values)
        absent = iter(
            [s for s, kind in zip(other.output_specs, self._of_other(mine), strict=True) if kind != BOTH]
        )
        return tuple(
            [next(given) if kind in (BOTH, mine) else placeholder(next(absent)) for kind in self.kinds]
        )

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        return in_line(self) if is_in_line(self, specs, self.n_outputs) else None

    def _require_unread(self, taken: Graph, i: int, spec: TensorSpec, x: Array) -> None:
        """Raises: InvalidArgumentError: the branch reads an operand that has another shape than it takes."""
        if i in inputs_behind(taken, taken.outputs):
            raise InvalidArgumentError(
                f"{taken.name}: argument {i} has shape {format_dims(x.shape)}; the graph takes {format_dims(spec.dims)}."
            )

    def _of_other(self, mine: str) -> list[str]:
        return [kind for kind in self.kinds if kind != mine]

    def _eval_rows(self, predicate: Array, operands: Sequence[Array | Handle]) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):  # rows that do not take a branch may divide by zero in it
            then_values, else_values = (
                iter(run(self.then_graph, operands)),
                iter(run(self.else_graph, operands)),
            )
        out = []
        for kind in self.kinds:
            if kind == THEN:
                out.append(next(then_values))
            elif kind == ELSE:
                out.append(next(else_values))
            elif kind == SUM:
                out.append(next(then_values) + next(else_values))
            else:
                a, b = next(then_values), next(else_values)
                if np.shape(a) != np.shape(b):
                    _require_one_shape(a, b)
                rows = predicate.reshape(predicate.shape + (1,) * (np.ndim(a) - predicate.ndim))
                out.append(np.where(rows, a, b))
        return tuple(out)

    def fold(
        self, ctx: FoldContext, predicate: Tensor, *operands: Tensor
    ) -> Tensor | tuple[Tensor, ...] | None:
        known = ctx.mask_of(predicate) if not self.depth else None
        if known is not None and all(kind == BOTH for kind in self.kinds):
            return tuple(ctx.inline(self.then_graph if known else self.else_graph, operands))
        then_graph, else_graph = (
            self._specialised(ctx, graph, operands) for graph in (self.then_graph, self.else_graph)
        )
        if not self.depth:
            op = Cond(then_graph, else_graph, self.kinds)
            outputs = ctx.node(op, (predicate, *operands))
            return self._with_sizes(ctx, outputs, then_graph, else_graph)
        then_values, else_values = (
            iter(ctx.inline(then_graph, operands)),
            iter(ctx.inline(else_graph, operands)),
        )
        out: list[Tensor] = []
        for kind in self.kinds:
            if kind == THEN:
                out.append(next(then_values))
            elif kind == ELSE:
                out.append(next(else_values))
            elif kind == SUM:
                out.append(bind(ADD, next(then_values), next(else_values)))
            else:
                a, b = next(then_values), next(else_values)
                if not is_definite(a.dims) or a.dims != b.dims:
                    # `eval` compares the shapes; a choice element by element would stretch axes of size 1.
                    op = Cond(then_graph, else_graph, self.kinds, self.depth, self.full)
                    return ctx.node(op, (predicate, *operands))
                out.append(select_rows(predicate, a, b))
        return tuple(out)

    def _specialised(self, ctx: FoldContext, graph: Graph, operands: Sequence[Tensor]) -> Graph:
        """A branch specialised for these operands. If that raises an error, the branch is returned unchanged: the error matters
        only if it runs.

        Residuals of a branch that was not taken have no elements along axes of unknown size. So sizes that the branch knows are
        kept, and `eval` compares them with its operands.
        """
        given = [
            x if self.depth else _known_of(x, spec) for x, spec in zip(operands, graph.inputs, strict=True)
        ]
        ctx.require_fit(graph, given)
        try:
            return ctx.specialised(graph, given)
        except InvalidArgumentError as error:
            if self.depth or is_mistake(error):
                raise
            return graph

    def _with_sizes(
        self, ctx: FoldContext, outputs: Sequence[Tensor], then_graph: Graph, else_graph: Graph
    ) -> tuple[Tensor, ...]:
        """The outputs, with sizes that a branch leaves as residuals as known integers."""
        then_values, else_values = iter(then_graph.outputs), iter(else_graph.outputs)
        out = []
        for y, kind in zip(outputs, self.kinds, strict=True):
            a = None if kind == ELSE else next(then_values)
            b = None if kind == THEN else next(else_values)
            known = None
            alone = a if b is None else b if a is None else None
            if alone is not None:
                graph, value = (then_graph if b is None else else_graph), alone
                known = ctx.integers_of(graph, value)
                ctx.note_stack(y, graph, value)
            out.append(y if known is None else known)
        return tuple(out)

    def pruned(self, used: Sequence[bool]) -> tuple[Cond, list[int], list[int]]:
        """The op without unused outputs and operands; see `compiler.passes.dead`."""
        kept = [k for k, use in enumerate(used) if use]
        graphs = []
        for graph, mine in ((self.then_graph, ELSE), (self.else_graph, THEN)):
            places = iter(graph.outputs)
            numbers = [None if kind == mine else next(places) for kind in self.kinds]
            graphs.append(with_outputs(graph, [i for k in kept if (i := numbers[k]) is not None]))
        read = sorted(
            inputs_behind(graphs[0], graphs[0].outputs) | inputs_behind(graphs[1], graphs[1].outputs)
        )
        then_graph, else_graph = (with_inputs(graph, read) for graph in graphs)
        full = tuple([self.full[i] for i in read]) if self.depth else ()
        op = Cond(then_graph, else_graph, tuple([self.kinds[k] for k in kept]), self.depth, full)
        return op, [*self.inputs.predicate, *[self.passed[i] for i in read]], kept

    def outputs_full(self) -> list[bool]:
        """For each output, whether it certainly carries all leading axes of the predicate.

        Outputs of both branches are stacked, sums are not. A residual is stacked if all axes can be traced to it; otherwise
        rows share it, and its cotangents are summed, with zeros for rows that did not take the branch.
        """
        proven = []
        for graph in (self.then_graph, self.else_graph):
            found = [
                rows_of(graph, [axis if full else None for full in self.full]) for axis in range(self.depth)
            ]
            proven.append([list(axes) == list(range(self.depth)) for axes in zip(*found, strict=True)])
        residual = joined(self.kinds, proven[0], proven[1], lambda a, b: a and b)
        return [
            kind == BOTH or (kind != SUM and full) for kind, full in zip(self.kinds, residual, strict=True)
        ]

    def values_read(self, used: Sequence[bool], but_masks: bool = False) -> Sequence[int]:
        read = {*self.inputs.predicate}
        for graph, mine in ((self.then_graph, ELSE), (self.else_graph, THEN)):
            of_graph = [use for use, kind in zip(used, self.kinds, strict=True) if kind != mine]
            read.update(self.passed[i] for i in values_behind(graph, of_graph, but_masks))
        return sorted(read)

    # -- derivative --------------------------------------------------------------------------------------------------

    def augmented(self, transforms: Transforms, needs: Sequence[bool]) -> Cond:
        """The same op with the residuals of both branches as further outputs."""
        needed = self.passed(needs)
        then_pullback = transforms.pullback_of(self.then_graph, needed)
        else_pullback = transforms.pullback_of(self.else_graph, needed)
        then_graph, else_graph = then_pullback.forward, else_pullback.forward
        more_then = len(then_graph.outputs) - len(self.then_graph.outputs)
        more_else = len(else_graph.outputs) - len(self.else_graph.outputs)
        kinds = self.kinds + (THEN,) * more_then + (ELSE,) * more_else
        op = Cond(then_graph, else_graph, kinds, self.depth, self.full)
        CondLayer(op, self, then_pullback, else_pullback)
        return op

    def jvp(self, ctx: DualContext, x_dots: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        return push_cond(self, Cond, ctx, x_dots)[1]

    def with_tangents(self, ctx: DualContext, x_dots: Sequence[Tensor | None]) -> Any:
        """The outputs and their tangents, of one run."""
        return push_cond(self, Cond, ctx, x_dots, whole=True)

    # -- rows --------------------------------------------------------------------------------------------------------

    def batch(self, ctx: BatchContext, predicate: Ranked, *operands: Ranked) -> tuple[Tensor, ...]:
        stacked = [ctx.stacked(self.passed[i]) for i in range(len(operands))]
        rows = ctx.stacked(0) or bool(self.depth)
        if rows and self.effects & (WRITES | IO):
            return ctx.rowwise(self, predicate, *operands)
        known = [ctx.operand(self.passed[i]) for i in range(len(operands))]
        try:
            then_graph, then_mask = ctx.batched_graph(self.then_graph, stacked, operands=known)
            else_graph, else_mask = ctx.batched_graph(self.else_graph, stacked, operands=known)
        except InvalidArgumentError as error:
            if rows or is_mistake(error) or any(kind != BOTH for kind in self.kinds):
                raise
            # The operands may fit only one of the branches: batch when the predicate is known.
            return ctx.waiting(self, predicate, *operands)
        mask = list(joined(self.kinds, then_mask, else_mask, lambda a, b: a or b))
        if rows:
            mask = [m or kind == BOTH for m, kind in zip(mask, self.kinds, strict=True)]
            predicate = predicate if ctx.stacked(0) else ctx.stack(predicate)
        wanted_then = [m for m, kind in zip(mask, self.kinds, strict=True) if kind != ELSE]
        wanted_else = [m for m, kind in zip(mask, self.kinds, strict=True) if kind != THEN]
        then_graph = with_stacked_outputs(then_graph, then_mask, wanted_then, ctx.size)
        else_graph = with_stacked_outputs(else_graph, else_mask, wanted_else, ctx.size)
        depth = self.depth + 1 if rows else 0
        full = tuple([s and (not self.depth or self.full[i]) for i, s in enumerate(stacked)]) if rows else ()
        outputs = bind(Cond(then_graph, else_graph, self.kinds, depth, full), predicate, *operands)
        return tuple(y if m else ctx.unstacked(y) for y, m in zip(outputs, mask, strict=True))

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[RowAxis]) -> tuple[RowAxis, ...]:
        (of_predicate,) = self.inputs.predicate(axes)
        given = self.passed(axes), self.passed(specs)
        then_axes, else_axes = rows_of(self.then_graph, *given), rows_of(self.else_graph, *given)
        return tuple(joined(self.kinds, then_axes, else_axes, lambda a, b: same_row((of_predicate, a, b))))


class CondLayer(Layer):
    """The residuals of both branches.

    Attributes:
      then_pullback, else_pullback: The pullbacks of the branches of `base`.
    """

    __slots__ = ("else_pullback", "then_pullback")

    op: Cond
    base: Cond

    def __init__(self, op: Cond, base: Cond, then_pullback: Pullback, else_pullback: Pullback) -> None:
        super().__init__(op, base)
        self.then_pullback = then_pullback
        self.else_pullback = else_pullback

    @property
    def needs(self) -> Sequence[bool]:
        return self.then_pullback.needs

    def of_outputs(self, ctx: VjpContext, y_bars: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        plan = _BackwardCond(
            self, ctx, self._branch(ctx, THEN, y_bars, ELSE), self._branch(ctx, ELSE, y_bars, THEN)
        )
        out: list[Tensor | None] = [None] * len(ctx.inputs)
        if plan.wanted:
            x_bars = bind(plan.op(), *self.op.inputs.predicate(ctx.inputs), *plan.operands)
            for i, bar in zip(plan.wanted, x_bars, strict=True):
                out[self.op.passed[i]] = bar
        return out

    def _branch(
        self, ctx: VjpContext, mark: Which, y_bars: Sequence[Tensor | None], other: Which
    ) -> _BackwardBranch:
        pullback = self.then_pullback if mark == THEN else self.else_pullback
        mine = [k for k, kind in enumerate(self.base.kinds) if kind != other]
        backward, bars = backward_of(pullback, ctx, mine, y_bars)
        # Residuals follow the outputs of the forward branch, in the order of those marked for it.
        made = [k for k, kind in enumerate(self.op.kinds) if kind != other]
        return _BackwardBranch(mark, backward, bars, [made[r] for r in backward.residuals])


class _BackwardBranch(NamedTuple):
    """The derivative of one branch."""

    mark: Which  # THEN or ELSE
    backward: BackwardGraph
    bars: dict[int, Tensor]  # the cotangents that it takes, by the op's output
    residuals: list[int]  # the outputs of the op that it reads


class _BackwardCond:
    """The cond that gives the cotangents: its branches are the backward graphs of the branches.

    Its operands are inputs of the layer's op, residuals of both branches, and cotangents. Each is identified by its kind and its
    number within that kind.

    Attributes:
      wanted: The inputs of the branches that have a cotangent by one of them.
      operands: What the cond takes, behind the predicate.
    """

    def __init__(
        self, layer: CondLayer, ctx: VjpContext, then: _BackwardBranch, other: _BackwardBranch
    ) -> None:
        self._op, self._branches = layer.op, (then, other)
        places = then.backward.places, other.backward.places
        self.wanted = sorted({*places[0], *places[1]})
        alone = [i for i in self.wanted if (i in places[0]) != (i in places[1])]
        if ctx.masks is not None:
            # The zeros for operands that only the other branch reads belong to a branch that was not taken.
            both = {*then.backward.masked} & {*other.backward.masked}
            ctx.masks.inputs += [layer.op.passed[i] for i in self.wanted if i in alone or i in both]
        self._places: dict[tuple[str, int], int] = {}
        self._full: list[bool] = []
        self.operands: list[Value] = []
        if self.wanted:
            self._collect(ctx, alone)

    def _collect(self, ctx: VjpContext, alone: Sequence[int]) -> None:
        op, (then, other) = self._op, self._branches
        outputs_full = op.outputs_full() if op.depth else [False] * len(op.kinds)
        (predicate,), operands = op.inputs.predicate(ctx.inputs), op.passed(ctx.inputs)
        for i in sorted({*then.backward.inputs, *other.backward.inputs, *alone}):
            self._add(("input", i), operands[i], bool(op.depth) and op.full[i])
        for branch in self._branches:
            for k in branch.residuals:
                self._add(("residual", k), ctx.outputs[k], outputs_full[k])
        bars = {**then.bars, **other.bars}
        # A cotangent that is summed over rows must come only from the rows that took the branch.
        summed = op.depth and not all(op.full[i] for i in self.wanted)
        for mark in (THEN, ELSE) if summed else (BOTH,):
            for k in sorted(bars):
                bar = bars[k]
                if summed and op.kinds[k] == BOTH:
                    bar = mask_rows(predicate, bar, mark == THEN)
                self._add((mark, k), bar, outputs_full[k])

    def _add(self, key: tuple[str, int], x: Value, full: bool) -> None:
        self._places[key] = len(self.operands)
        self.operands.append(x)
        self._full.append(full)

    def op(self) -> Cond:
        """The cond on the operands."""
        then_graph, else_graph = [self._graph(branch) for branch in self._branches]
        depth = self._op.depth
        if not depth:
            return Cond(then_graph, else_graph, (BOTH,) * len(self.wanted))
        kinds = tuple([BOTH if self._op.full[i] else SUM for i in self.wanted])
        return Cond(then_graph, else_graph, kinds, depth, tuple(self._full))

    def _graph(self, branch: _BackwardBranch) -> Graph:
        """The graph of one branch: the cotangents of all wanted inputs, zeros for those on which this branch does not depend."""
        builder, backward = GraphBuilder(), branch.backward
        inputs = [builder.add_input(x.spec) for x in self.operands]
        places = {key: inputs[place] for key, place in self._places.items()}
        sources = [places["input", i] for i in backward.inputs]
        sources += [places["residual", k] for k in branch.residuals]
        mark = branch.mark if any(mark == branch.mark for mark, _ in places) else BOTH
        sources += [places[mark, k] for k in branch.bars]
        found = append(builder, backward.graph, sources)
        outputs = [
            found[backward.places[i]] if i in backward.places else add_zeros(builder, places["input", i])
            for i in self.wanted
        ]
        return builder.finish(outputs, backward.graph.name)[0]


def joined(
    kinds: Sequence[str],
    then_items: Sequence[Any],
    else_items: Sequence[Any],
    join: Callable[[Any, Any], Any],
) -> list[Any]:
    """The property of each output: that of its branch, or of both joined."""
    first, second = iter(then_items), iter(else_items)
    out = []
    for kind in kinds:
        if kind == THEN:
            out.append(next(first))
        elif kind == ELSE:
            out.append(next(second))
        else:
            out.append(join(next(first), next(second)))
    return out


def _require_one_shape(a: Array, b: Array) -> None:
    """Compare the shapes of the rows of both branches.

    Only zeros may broadcast: a sum of cotangents of unknown size begins with zeros of size 1.

    Raises: InvalidArgumentError: the shapes differ.
    """
    try:
        common = np.broadcast_shapes(np.shape(a), np.shape(b))
    except ValueError:
        common = None
    if any(np.shape(x) != common and (common is None or np.any(x)) for x in (a, b)):
        raise InvalidArgumentError(
            f"cond: a tensor differs from row to row and decides which branch each row takes; one branch gives results of "
            f"shape {format_dims(np.shape(a))}, rows included, the other of shape {format_dims(np.shape(b))}. Rows that are "
            "computed at once must have one shape: give both branches the same, or use map_fn, which computes row after row."
        )


def select_rows(predicate: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Rows of `a` where the predicate holds, else of `b`; the predicate has the leading axes of both."""
    return bind(SELECT, _as_rows(predicate, a), a, b)


def mask_rows(predicate: Any, x: Any, keep: bool) -> Tensor:
    """`x` with zeros in the rows where the predicate is not `keep`."""
    if x.dims is None or len(x.dims) < len(predicate.dims):
        raise UnansweredError(f"cond: a cotangent with shape {format_dims(x.dims)} has no row axis.")
    zero = lift(x.dtype.numpy.type(0))
    rows = _as_rows(predicate, x)
    return bind(SELECT, rows, x, zero) if keep else bind(SELECT, rows, zero, x)


def _as_rows(predicate: Any, x: Any) -> Tensor:
    """The predicate with axes of size 1 behind its own, as many as `x` has more."""
    rank, missing = len(predicate.dims), len(x.dims) - len(predicate.dims)
    return bind(ExpandDims(tuple(range(rank, rank + missing))), predicate) if missing else predicate


def _known_of(x: Any, spec: Any) -> Any:
    """The operand; or, if the graph knows sizes that the operand leaves unknown, the spec with the known sizes of both."""
    mine, wanted = x.dims, spec.dims
    if wanted is None or spec.is_handle or not all(size is None or isinstance(size, int) for size in wanted):
        return x
    if mine is None:
        return spec
    if len(mine) != len(wanted):
        return x
    if not all(a is not None or b is None for a, b in zip(mine, wanted, strict=True)):
        joint = [b if a is None else a for a, b in zip(mine, wanted, strict=True)]
        return TensorSpec.of(tuple(joint), spec.dtype)
    return x
