"""One op for every loop: `while_loop`, `scan`, `map_fn` and converted `for` are all this op, and so is its derivative.

    (limit, carry..., invariant..., xs...) -> (carry..., count, ys...)

Step t takes the carry, the invariants and slice t of each x, and gives the next carry and slice t of each y. It runs while
t < limit and `test` of the carry holds. The backward loop walks the stacks of residuals in reverse.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import Array, BatchContext, DualContext, FoldContext, Ranked, RowAxis
from graphad.core.bind import is_mistake
from graphad.core.convert import lift
from graphad.core.dims import Dim, Size
from graphad.core.errors import GraphadError, InvalidArgumentError
from graphad.core.op import MIXED, define
from graphad.core.schema import Count, Limit
from graphad.core.shapes import format_dims, is_definite
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.core.tensor import Tensor
from graphad.graph.compose import inputs_behind, with_inputs
from graphad.graph.evaluate import work
from graphad.graph.ir import Graph
from graphad.graph.prepare import SHORT, Emitter, work_of_graph
from graphad.graph.walk import with_outputs
from graphad.ops.array.support import same_row
from graphad.ops.control.duals import push_loop
from graphad.ops.control.invariant import apart
from graphad.ops.control.layers import Structured, merged
from graphad.ops.control.loop_layer import LoopLayer
from graphad.ops.control.loop_rows import batch_loop
from graphad.ops.control.operands import require, require_count, require_operands, row_of
from graphad.ops.control.rows import rows_of
from graphad.ops.control.segments import Segment, Segments
from graphad.ops.control.stacks import apart_from, closed_stack, new_stack, put, walked

if TYPE_CHECKING:
    from graphad.core.annotations import Transforms


_COUNT = TensorSpec.of((), dtypes.int32)


@lru_cache(256)
def _operands(n_carry: int, n_invariant: int, n_xs: int) -> Segments:
    return Segments(carries=n_carry, invariants=n_invariant, xs=n_xs)


@lru_cache(256)
def _inputs(n_carry: int, n_invariant: int, n_xs: int) -> Segments:
    return Segments(limit=1, carries=n_carry, invariants=n_invariant, xs=n_xs)


@lru_cache(256)
def _results(n_carry: int, n_ys: int) -> Segments:
    return Segments(carries=n_carry, ys=n_ys)


@lru_cache(256)
def _outputs(n_carry: int, n_ys: int) -> Segments:
    return Segments(carries=n_carry, count=1, ys=n_ys)


@define
class Loop(Structured):
    """Steps of `body`, until the limit or the test ends them; see the module docstring, and "Ops that hold graphs" in
    OPS.md.

    Attributes:
      test: A graph of (carry..., invariant...) to one bool, or None: then only the limit ends the loop.
      body: A graph of (carry..., invariant..., x slices...) to (carry..., y slices...).
      n_carry, n_invariant, n_xs: How many of each there are.
      reverse: Step t works on slice limit - 1 - t. There is no test then.
      steps: The number of steps where it is known beforehand, else None; the limit is compared with it.
      uniform: How many of the ys must have one shape in all steps, -1 for all; see `stacks` for the others.
    With xs, the ys have as many slices as the xs, with zeros for steps that did not run. Without xs they have one slice for each
    step.
    """

    name = "loop"
    holder = "body"
    passed = Segment(1, None)
    repeats = True
    known_as = "while_loop"
    any_sizes = True  # its batch rule takes stacks of unknown length
    test: Graph | None
    body: Graph
    n_carry: Count
    n_invariant: Count
    n_xs: Count
    reverse: bool = False
    steps: Size | None = None
    uniform: Limit = -1

    @property
    def operands(self) -> Segments:
        """The segments of the body's operands."""
        return _operands(self.n_carry, self.n_invariant, self.n_xs)

    @property
    def inputs(self) -> Segments:
        """The segments of the op's inputs."""
        return _inputs(self.n_carry, self.n_invariant, self.n_xs)

    @property
    def results(self) -> Segments:
        """The segments of the body's results."""
        return _results(self.n_carry, self.n_ys)

    @property
    def outputs(self) -> Segments:
        """The segments of the op's outputs."""
        return _outputs(self.n_carry, self.n_ys)

    def stack_of(self, result: int) -> int:
        """The number of the output that stacks a result of the body."""
        return self.outputs.ys[self.results.ys.number(result)]

    def slice_in(self, k: int) -> int:
        """The number of the body's result that output k, one of the ys, stacks."""
        return self.results.ys[self.outputs.ys.number(k)]

    @property
    def n_ys(self) -> int:
        return len(self.body.outputs) - self.n_carry

    @property
    def n_outputs(self) -> int:
        return len(self.body.outputs) + 1

    @property
    def effects(self) -> int:  # type: ignore[override]
        return self.body.effects | (0 if self.test is None else self.test.effects)

    def counted(self, steps: Size) -> Loop:
        """The same loop without its test, for a limit that is known to be the number of steps."""
        return self.changed(test=None, steps=steps)

    # -- forward -----------------------------------------------------------------------------------------------------

    def infer(self, limit: TensorSpec, *rest: TensorSpec | HandleSpec) -> tuple[TensorSpec, ...]:
        require_count(self.name, limit, "the limit")
        if self.test is not None and self.steps is not None:
            raise InvalidArgumentError(
                f"loop: it has a test and steps is {self.steps}; the test decides how many there are."
            )
        if self.test is not None:
            require_answer(self.test.output_specs[0].dims)
        results = self.body.output_specs
        starts = self.operands.carries(self.body.inputs)
        carry = [merged(a, b) for a, b in zip(starts, self.results.carries(results), strict=False)]
        length = self.steps
        if self.n_xs:  # the others may be longer because of padding
            first = rest[self.operands.xs[0]]
            length = first.dims[0] if first.dims else None
        ys = [y.with_dims(None if y.dims is None else (length, *y.dims)) for y in self.results.ys(results)]
        return (*carry, _COUNT, *ys)

    def check_operands(self, specs: Sequence[TensorSpec]) -> None:
        n, op, body = self.n_carry, self.name, self.body
        inputs, results = self.inputs, body.output_specs
        require(
            len(specs) == inputs.total,
            op,
            f"its counts ask for {inputs.total} inputs, there are {len(specs)}",
        )
        carry, invariants, xs = inputs.carries(specs), inputs.invariants(specs), inputs.xs(specs)
        require(len(results) >= n, op, f"the body gives {len(results)} values for {n} carried ones")
        require(-1 <= self.uniform <= len(results) - n, op, f"uniform is {self.uniform}")
        require_operands(op, body, [*carry, *invariants, *[row_of(op, x) for x in xs]], "the body")
        for k, (before, after) in enumerate(zip(carry, results, strict=False)):
            fits = not before.is_handle and after.dtype is before.dtype
            require(fits, op, f"carried value {k} is {before} and becomes {after}")
        if self.test is not None:
            require(not self.reverse, op, "a loop that runs backwards has no test")
            require_operands(op, self.test, [*carry, *invariants], "the test")
            answers = self.test.output_specs
            is_bool = len(answers) == 1 and answers[0].dtype.is_bool and answers[0].dims in ((), None)
            require(is_bool, op, f"the test gives {', '.join(map(str, answers))}; it must be a bool scalar")

    def eval(self, limit: Array, *values: Array) -> tuple[Array, ...]:
        functions = _functions
        found = functions.get(self)
        if found is None:
            found = functions[self] = _function_of(self, functions is _in_steps)
        return found(max(int(limit), 0), *values)  # type: ignore[no-any-return]

    def _body_for(
        self, ctx: FoldContext, specs: list[TensorSpec], others: Sequence[Any]
    ) -> tuple[Graph, list[TensorSpec]]:
        """The body for these operands, and the specs of its carries: one whose shape changes from step to step keeps unknown
        sizes."""
        while True:
            body = ctx.specialised(self.body, [*specs, *others])
            wider = [merged(a, b) for a, b in zip(specs, body.output_specs, strict=False)]
            if all(a.dims == b.dims for a, b in zip(specs, wider, strict=True)):
                return body, specs
            specs = wider

    def fold(self, ctx: FoldContext, limit: Tensor, *values: Tensor) -> Tensor | tuple[Tensor, ...] | None:
        operands = self.operands
        invariants = operands.invariants(values)
        slices = [ctx.slice_of(x) for x in operands.xs(values)]
        specs = [x.spec for x in operands.carries(values)]
        try:
            body, specs = self._body_for(ctx, specs, [*invariants, *slices])
        except GraphadError as error:
            # If no step ran, unknown sizes of slices are 0, which need not fit other sizes.
            if is_mistake(error) or not any(
                x.dims is not None and x.dims[:1] == (0,) for x in operands.xs(values)
            ):
                raise
            return ctx.node(self, (limit, *values))
        test = None if self.test is None else ctx.specialised(self.test, [*specs, *invariants])
        steps, known = self.steps, ctx.known(limit)
        if test is not None and known is not None and _always_holds(test) and _is_count(known[0]):
            test = None
        if test is None:
            if known is not None:
                wanted = known[0] if isinstance(known[0], Dim) or known[0] > 0 else 0
                if steps is not None and steps != wanted:
                    raise wrong_steps(wanted, steps)
                steps = wanted
        outputs = ctx.node(self.changed(test=test, body=body, steps=steps), (limit, *values))
        for y, value in zip(self.outputs.ys(outputs), self.results.ys(body.outputs), strict=True):
            ctx.note_slices(y, body, value)
        # The number of steps is a constant, so that sizes computed from it are known.
        if test is None and known is not None and type(steps) is int:
            return (*self.outputs.carries(outputs), lift(np.int32(steps)), *self.outputs.ys(outputs))
        return outputs

    def pruned(self, used: Sequence[bool]) -> tuple[Loop, list[int], list[int]]:
        """The op without unused outputs and the inputs only they need; see `compiler.passes.dead`."""
        operands, results = self.operands, self.body.outputs
        ys = [k for k, use in enumerate(self.outputs.ys(used)) if use]
        kept, read = self._read(used)
        carry = sorted(kept)
        invariants = [i for i in operands.invariants if i in read]
        xs = [i for i in operands.xs if i in read]
        if self.n_xs and not xs:
            xs = [operands.xs[0]]  # the length of the stacks is that of the xs
        inputs = [*carry, *invariants, *xs]
        body = with_outputs(
            self.body, [*[results[k] for k in carry], *[results[self.results.ys[k]] for k in ys]]
        )
        body = with_inputs(body, inputs)
        test = self.test
        if test is not None:  # nodes that its result does not need may read dropped inputs
            test = with_inputs(with_outputs(test, test.outputs), [*carry, *invariants])
        uniform = self.uniform if self.uniform < 0 else sum(k < self.uniform for k in ys)
        op = Loop(test, body, len(carry), len(invariants), len(xs), self.reverse, self.steps, uniform)
        outputs = [*carry, *self.outputs.count, *[self.outputs.ys[k] for k in ys]]
        return op, [*self.inputs.limit, *[self.passed[i] for i in inputs]], outputs

    def values_read(self, used: Sequence[bool], but_masks: bool = False) -> Sequence[int]:
        kept, read = self._read(used, True, but_masks)
        return [*self.inputs.limit, *[self.passed[i] for i in sorted(kept | read)]]

    def leaves_sizes(self, k: int) -> bool:
        """Whether output k is a stack of integers that only the derivative reads."""
        ys = self.outputs.ys
        residual = k in ys and 0 <= self.uniform <= ys.number(k)
        return residual and self.body.specs[self.body.outputs[self.slice_in(k)]].dtype.is_integer

    def slices_read(self, k: int) -> set[int] | None:
        """The inputs on whose values the slices of stack k depend, besides the number of steps; None if a carry is among
        them."""
        read = inputs_behind(self.body, [self.body.outputs[self.slice_in(k)]], by_value=True)
        return None if any(i in self.operands.carries for i in read) else {self.passed[i] for i in read}

    def _read(
        self, used: Sequence[bool], by_value: bool = False, but_masks: bool = False
    ) -> tuple[set[int], set[int]]:
        """The carries that the used outputs depend on, and the inputs of body and test that are read for them."""
        carries, results = self.operands.carries, self.body.outputs
        ys = [y for y, use in zip(self.results.ys(results), self.outputs.ys(used), strict=True) if use]
        tested = (
            set() if self.test is None else inputs_behind(self.test, self.test.outputs, by_value, but_masks)
        )
        kept = {k for k in carries if used[k]} | {i for i in tested if i in carries}
        while True:
            read = inputs_behind(self.body, [*[results[k] for k in kept], *ys], by_value, but_masks)
            more = kept | {i for i in read if i in carries}
            if more == kept:
                return kept, read | tested
            kept = more

    # -- derivative --------------------------------------------------------------------------------------------------

    def augmented(self, transforms: Transforms, needs: Sequence[bool]) -> Loop:
        """The same loop with stacks of residuals as further ys."""
        operands = self.operands
        active = list(self.passed(needs))
        invariant = apart(transforms, self.body, operands.invariants, active)
        step, further = (self.body, ()) if invariant is None else (invariant.rest, invariant.active)
        fixed = frozenset([*operands.invariants, *range(operands.total, len(step.inputs))])
        while True:
            # A carry is active if its start is or the body makes it so.
            pullback = transforms.pullback_of(step, [*active, *further], fixed)
            given = operands.carries(active)
            more = [a or d for a, d in zip(given, self.results.carries(pullback.differentiable), strict=True)]
            if more == given:
                break
            active = [*more, *operands.invariants(active), *operands.xs(active)]
        forward = pullback.forward
        stacked = tuple([i for i in pullback.full.inputs if i in operands.carries])
        if invariant is None:
            outputs = (*forward.outputs, *stacked)
            body = Graph(forward.inputs, forward.constants, forward.nodes, outputs, forward.name)
        else:
            body = invariant.joined(forward, stacked)
        uniform = self.n_ys if self.uniform < 0 else self.uniform
        op = self.changed(body=body, uniform=uniform)
        LoopLayer(op, self, pullback, stacked, invariant)
        return op

    def jvp(self, ctx: DualContext, x_dots: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        return push_loop(self, ctx, x_dots)[1]

    def with_tangents(self, ctx: DualContext, x_dots: Sequence[Tensor | None]) -> Any:
        """The outputs and their tangents, of one run."""
        return push_loop(self, ctx, x_dots, whole=True)

    # -- rows --------------------------------------------------------------------------------------------------------

    def batch(self, ctx: BatchContext, limit: Ranked, *values: Ranked) -> tuple[Tensor, ...]:
        return batch_loop(self, ctx, limit, values)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[RowAxis]) -> tuple[RowAxis, ...]:
        carry, invariants, xs = (
            part(axes) for part in (self.inputs.carries, self.inputs.invariants, self.inputs.xs)
        )
        if any(axis == 0 for axis in xs):
            return tuple([MIXED] * self.n_outputs)  # a scan over the rows
        xs = [axis if axis is None or axis == MIXED else axis - 1 for axis in xs]
        while True:
            found = rows_of(self.body, [*carry, *invariants, *xs])
            wider = [same_row(pair) for pair in zip(carry, found, strict=False)]
            if wider == list(carry):
                break
            carry = wider
        ys = [axis if axis is None or axis == MIXED else axis + 1 for axis in self.results.ys(found)]
        return (*carry, None, *ys)


def _always_holds(test: Graph) -> bool:
    """Whether a test returns the constant True and has no effect."""
    k = test.outputs[0] - len(test.inputs)
    return not test.effects and 0 <= k < len(test.constants) and bool(test.constants[k])


def _is_count(limit: Any) -> bool:
    """Whether a known limit is a number of steps, and not the number that stands for no limit."""
    return isinstance(limit, Dim) or limit < np.iinfo(np.int32).max


def wrong_steps(limit: Any, steps: int) -> InvalidArgumentError:
    """The error of a loop whose limit differs from its fixed number of steps."""
    return InvalidArgumentError(f"loop: the limit is {limit}, the loop was made for {steps} steps.")


def require_answer(dims: Any) -> None:
    """Raises: InvalidArgumentError: the result of a loop's test is known not to be a scalar."""
    if dims is not None and dims != ():
        raise InvalidArgumentError(
            f"loop: the test gives a value of shape {format_dims(dims)}; it must be a bool scalar. tf.reduce_all and "
            "tf.reduce_any make one truth value of many."
        )


def check_walk(limit: int, steps: int | None, *xs: Any) -> None:
    """Raise unless a loop without a test has its declared number of steps, and its stacks have a slice for each."""
    if steps is not None and limit != steps:
        raise wrong_steps(limit, steps)
    for x in xs:
        if len(x) < limit:
            raise InvalidArgumentError(
                f"loop: {limit} steps walk along values with {', '.join([str(len(x)) for x in xs])} slices; "
                "there must be one for each step."
            )


# Each loop as one Python function, created at its first run.
_inlined: weakref.WeakKeyDictionary[Loop, Callable[..., Any]] = weakref.WeakKeyDictionary()
_in_steps: weakref.WeakKeyDictionary[Loop, Callable[..., Any]] = weakref.WeakKeyDictionary()
_functions = _inlined


def run_in_steps(apart: bool) -> None:
    """Choose how loops run their steps: each by `graph.evaluate.run`, which can be watched, or inlined in one function, the
    default."""
    global _functions
    _functions = _in_steps if apart else _inlined


def _pays_apart(body: Graph) -> bool:
    """Whether each round runs as a graph of its own, which is compiled once hot: where it has a loop or many nodes, and shapes
    that do not change from round to round."""
    if not all(is_definite(spec.dims) for spec in body.inputs):
        return False
    return len(body.nodes) >= SHORT or any(node.op.repeats for node in body.nodes)


def _function_of(loop: Loop, in_steps: bool) -> Callable[..., Any]:
    emitter = Emitter()
    each = 0  # the work of a round in line

    def printed(graph: Graph, inputs: Sequence[str], function: str | None) -> list[str]:
        nonlocal each
        if in_steps or function is not None:
            return emitter.run(graph, inputs, "    ", function)
        each += work_of_graph(graph)
        return emitter.graph(graph, inputs, "    ")

    operands, names = loop.operands, [emitter.fresh("c") for _ in loop.body.inputs]
    carry, invariants, xs = operands.carries(names), operands.invariants(names), operands.xs(names)
    specs = loop.results.ys(loop.body.output_specs)
    stacks = [emitter.fresh("s") for _ in specs]
    with_length = bool(loop.n_xs) or loop.test is None
    emitter.names |= {
        "new_stack": new_stack,
        "closed_stack": closed_stack,
        "put": put,
        "apart": apart_from,
        "walked": walked,
        "int32": np.int32,
    }
    names = [emitter.name_of(spec, "q") for spec in specs]
    line = emitter.line
    line("t = 0")
    for x in xs:
        line(f"{x} = walked({x})")
    # A symbol is compared after it has become a number.
    steps = loop.steps if loop.test is None and type(loop.steps) is int else None
    if xs or steps is not None:
        emitter.names["check_walk"] = check_walk
        line(f"check_walk({', '.join(['limit', str(steps), *xs])})")
    length = f"len({xs[0]})" if xs else "limit"
    for stack in stacks:
        line(f"{stack} = None" if with_length else f"{stack} = []")
    of_test, of_body = [
        emitter.rounds(graph) if graph is not None and not in_steps and _pays_apart(graph) else None
        for graph in (loop.test, loop.body)
    ]
    line("while t < limit:")
    if loop.test is not None:
        (test,) = printed(loop.test, [*carry, *invariants], of_test)
        if loop.test.output_specs[0].dims is None:
            emitter.names["require_answer"] = require_answer
            line(f"    require_answer({test}.shape)")
        line(f"    if not {test}: break")
    complete = "limit" if loop.test is None else "-1"
    slices = []
    if xs or (stacks and with_length):
        line("    i = limit - 1 - t" if loop.reverse else "    i = t")
    for x in xs:
        slices.append(emitter.fresh("x"))
        line(f"    {slices[-1]} = {x}[i]")
    results = printed(loop.body, [*carry, *invariants, *slices], of_body)
    uniform = loop.n_ys if loop.uniform < 0 else loop.uniform
    for k, (stack, y) in enumerate(zip(stacks, loop.results.ys(results), strict=True)):
        if with_length:
            line(f"    if {stack} is None: {stack} = new_stack({length}, {complete}, {y})")
            line(f"    if {y}.ndim: {stack} = put({stack}, i, {y}, {k >= uniform})")
            line(f"    else: {stack}[i] = {y}")
        else:
            line(f"    {stack}.append(apart({y}))")
    if carry:
        comma = "," if len(carry) == 1 else ""
        line(f"    {', '.join(carry)}{comma} = {', '.join(loop.results.carries(results))}{comma}")
    line("    t += 1")
    if each:
        emitter.names["work"] = work
        line(f"work.nodes += {each} * t")
    closed = [
        f"closed_stack({stack}, {length if with_length else 't'}, {name}, {k >= uniform})"
        for k, (stack, name) in enumerate(zip(stacks, names, strict=True))
    ]
    line(f"return ({', '.join([*carry, 'int32(t)', *closed])},)")
    return emitter.compiled(
        f"def loop_({', '.join(['limit', *carry, *invariants, *xs])}):", "loop_", type(loop)
    )
