"""Forward mode: what an op does to tangents, derived from its VJP, and `ForwardAccumulator`.

The VJP is linear in its cotangent, so pulling a tangent back through it gives the JVP: trace the rule with a dummy
cotangent, differentiate that with respect to the dummy, and drop what only the dummy needs. If the rest depends on the dummy's
value, the rule is not linear and there is no forward mode. Call, cond and loop push tangents through their graphs.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, overload
from weakref import ref

from graphad.core.annotations import NestLike, Transforms, Value
from graphad.core.bind import bind, bind_all, new_recorder
from graphad.core.composites import flatten_records
from graphad.core.convert import lift
from graphad.core.device import along
from graphad.core.errors import FailedPreconditionError, InvalidArgumentError, NonlinearGradientError
from graphad.core.frames import user_line
from graphad.core.leaving import NUMBERS
from graphad.core.levels import entered, paused, remove_recorder
from graphad.core.memo import Memo
from graphad.core.op import Op, output_specs
from graphad.core.rule_errors import named
from graphad.core.shapes import are_compatible, is_definite, ranked
from graphad.core.sparse import Sparse, values_of
from graphad.core.spec import TensorSpec
from graphad.core.tensor import VALUES, EagerTensor, Handle, Mark, Tensor
from graphad.gradient.backward import Context, Dropped, add_bars, backward
from graphad.gradient.recorder import Recorder, mark_of
from graphad.gradient.transforms import TRANSFORMS
from graphad.gradient.unconnected import UnconnectedGradients, unconnected_mode
from graphad.graph.compose import inputs_behind
from graphad.graph.ir import Graph, Node
from graphad.graph.replay import replay
from graphad.graph.walk import acts, last_steps
from graphad.ops.array.create import ones_of, zeros_of
from graphad.ops.array.ensure import EnsureShape
from graphad.trace.specialise import specialise
from graphad.trace.tracer import RETURN, Trace

if TYPE_CHECKING:
    from graphad.gradient.backward import Entry


_derived = Memo("jvp", 2048)


class Derived:
    """The JVP of one op as a graph: its inputs are the op's inputs, its outputs, the tangents, ones, and the captures.

    Attributes:
      positions: For each output of the op the output of the graph that is its tangent, or None.
      ones: (k, read) for each input that takes ones with the shape of output k; if `read` is false, any value will do.
    """

    __slots__ = ("captures", "graph", "ones", "positions")

    def __init__(
        self,
        graph: Graph,
        positions: list[int | None],
        ones: list[tuple[int, bool]],
        captures: list[Tensor],
    ) -> None:
        self.graph = graph
        self.positions = positions
        self.ones = ones
        self.captures = captures


def push(
    op: Op,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    x_dots: Sequence[Tensor | None],
    transforms: Transforms,
) -> list[Tensor | None]:
    """The tangents of the outputs for tangents of the inputs (None for zero), as values of the current level.

    Raises:
      NonlinearGradientError: the op's gradient is not linear in its cotangent.
      FailedPreconditionError: the op runs a graph that writes variables or prints, and would do so again.
    """
    if op.structured and acts(op):
        raise _twice(op)
    own = getattr(op, "jvp", None)
    if own is not None:
        context = DualContext(op, inputs, outputs, transforms)
        return list(own(context, x_dots))
    if not outputs:  # the recorder dropped these inputs, since no rule reads them
        outputs = [Dropped(spec.dims, spec.dtype) for spec in output_specs(op, [x.spec for x in inputs])]
    derived = _derive(op, inputs, outputs, [dot is not None for dot in x_dots], transforms)
    if any(
        read and type(outputs[k]) is Dropped and not is_definite(outputs[k].dims) for k, read in derived.ones
    ):
        # Only a run gives the shapes of the ones; its values are not read.
        outputs = bind_all(op, [zeros_of(x) if type(x) is Dropped else x for x in inputs])
    given = [dot for dot in x_dots if dot is not None]
    # The upstream gradients are ones, so an element that is 0 in the rule was not taken by a `where`.
    ones = [ones_of(outputs[k]) if read else None for k, read in derived.ones]
    operands = [*inputs, *outputs, *given, *ones, *derived.captures]
    # Constants of the graph and what it makes of none are where its operands are.
    away = next((x for x in operands if x is not None and x.away and getattr(x, "has_value", True)), None)
    with nullcontext() if away is None else along(away):
        y_dots = replay(derived.graph, operands)
    return [None if position is None else y_dots[position] for position in derived.positions]


def run_with_tangents(
    op: Op, inputs: Sequence[Value], x_dots: Sequence[Tensor | None], transforms: Transforms
) -> tuple[Sequence[Value], list[Tensor | None]]:
    """The outputs of an op that must run once, and their tangents.

    Raises: FailedPreconditionError: the op has no graphs of both.
    """
    run = getattr(op, "with_tangents", None)
    if run is None:
        raise _twice(op)
    found: tuple[Sequence[Value], list[Tensor | None]] = run(DualContext(op, inputs, (), transforms), x_dots)
    return found


def _twice(op: Op) -> FailedPreconditionError:
    return FailedPreconditionError(
        f"{op.name}: forward mode would run the effects of the called function twice; use a GradientTape."
    )


class DualContext(Context):
    """The context of the JVP rule of an op with sub-graphs."""

    __slots__ = ()

    def __init__(self, op: Op, inputs: Sequence[Any], outputs: Sequence[Any], transforms: Transforms) -> None:
        super().__init__(op, inputs, outputs, [True] * len(inputs), transforms)

    def dual_of(self, graph: Graph, which: Sequence[bool]) -> tuple[Graph, tuple[bool, ...]]:
        """The graph that computes outputs and their tangents; see `dual_of`."""
        return dual_of(graph, which, self.transforms)


def _derive(
    op: Op, inputs: Sequence[Any], outputs: Sequence[Any], mask: Sequence[bool], transforms: Transforms
) -> Derived:
    specs = tuple([x.spec for x in inputs])
    out_specs = tuple([y.spec for y in outputs])
    key = (op, specs, out_specs, tuple(mask))  # the sizes of outputs may depend on the values of these inputs
    known = _derived.get(key)
    if known is None:
        known = _derive_new(op, specs, out_specs, mask, transforms)
        if not known.captures and not op.transient and not op.structured:
            known = _derived.keep(key, known)
    return known


def _derive_new(
    op: Op,
    specs: Sequence[TensorSpec],
    out_specs: Sequence[TensorSpec],
    mask: Sequence[bool],
    transforms: Transforms,
) -> Derived:
    trace = Trace(f"{op.name}_jvp")
    with entered(trace):
        xs = [trace.input(spec) for spec in specs]
        ys = [trace.input(spec) for spec in out_specs]
        recorder = Recorder(transforms)
        dummies = [trace.input(spec) if spec.dtype.is_differentiable else None for spec in out_specs]
        marks = [recorder.follow(dummy) if dummy is not None else None for dummy in dummies]
        trace.recorders = (recorder,)
        needs = [
            Mark() if m and spec.dtype.is_differentiable else None
            for m, spec in zip(mask, specs, strict=True)
        ]
        try:
            found = op.vjp(Context(op, xs, ys, needs, transforms), *dummies)
        except Exception as error:  # raised on, under the name of the op
            error = named(error, op)
            raise error
        x_bars = [None if x_bar is None else lift(x_bar) for x_bar in found]
        trace.recorders = ()
        dots = [
            trace.input(TensorSpec.of(spec.dims, spec.dtype)) if m else None
            for spec, m in zip(specs, mask, strict=True)
        ]
        # The rule is linear in the upstream gradients, so pulling tangents of the inputs back through it gives those of the
        # outputs.
        seeds: dict[Any, Any] = {}
        for x_bar, dot in zip(x_bars, dots, strict=True):
            if x_bar is None or dot is None:
                continue
            if x_bar.mark is not None and x_bar.mark in recorder.tracked:
                seeds[x_bar.mark] = add_bars(seeds.get(x_bar.mark), dot)
        wanted = {mark for mark in marks if mark is not None}
        backward(recorder.entries, seeds, wanted, transforms, is_forward=True)
        y_dots = [None if mark is None else seeds.get(mark) for mark in marks]
        kept = [lift(dot) for dot in y_dots if dot is not None]
        given = [dot for dot in dots if dot is not None]
        operands = [*xs, *ys, *given]
        serials = [trace.serial(y, RETURN) for y in kept]
        order = [x.index for x in (*operands, *(d for d in dummies if d is not None))]
        graph, _ = trace.builder.finish(serials, trace.name, [*order, *trace.capture_serials])
    if _has_unknown_parts(graph) and all(spec.is_definite for spec in graph.inputs):
        # Sizes that are unknown in the sub-graphs are known here.
        graph = specialise(graph, graph.inputs, expanding=False, keeps_rules=True)
    numbers = [k for k, dummy in enumerate(dummies) if dummy is not None]
    places = iter(range(len(kept)))
    positions = [None if dot is None else next(places) for dot in y_dots]
    ones = _upstream(op, graph, numbers, len(operands))
    return Derived(graph, positions, ones, list(trace.captures))


def _has_unknown_parts(graph: Graph) -> bool:
    """Whether a graph holds sub-graphs that a trace with known sizes makes simpler."""
    ops = [node.op for node in graph.nodes]
    return any(op.structured for op in ops) and not any(op.closes_over for op in ops)


def _upstream(op: Op, graph: Graph, numbers: Sequence[int], first: int) -> list[tuple[int, bool]]:
    """The outputs whose upstream gradients are inputs of the graph, from `first` on, and whether anything reads them.

    Raises: NonlinearGradientError: a result depends on their values.
    """
    read = {i for node in graph.nodes for i in node.inputs} | set(graph.outputs)
    found = [(k, i in read) for i, k in enumerate(numbers, first)]
    # A rule may read unknown sizes from the upstream gradient, or which elements a `where` took, and is still linear in it.
    if any(there for _, there in found):
        behind = inputs_behind(graph, graph.outputs, by_value=True, but_masks=True)
        if not behind.isdisjoint(range(first, first + len(found))):
            raise _nonlinear(op)
    return found


def _nonlinear(op: Op) -> NonlinearGradientError:
    rule = getattr(getattr(op, "rule", None), "name", getattr(op, "rule_name", op.name))
    rule = rule.partition(":")[0]  # users do not know a closed rule by its digest
    return NonlinearGradientError(
        f"{op.name}: the gradient of {rule!r} is not linear in its upstream gradient, so it has no forward mode; "
        "use reverse mode (GradientTape), or a gradient function that is linear."
    )


def dual_of(graph: Graph, which: Sequence[bool], transforms: Transforms) -> tuple[Graph, tuple[bool, ...]]:
    """The graph that computes tangents besides the values.

    Args:
      graph: The graph.
      which: Which inputs have a tangent.
    Returns: A graph of (inputs..., tangents...) to (outputs..., tangents of outputs...), and which outputs have one.
    """
    graph = transforms.closed(graph)
    trace = Trace(f"{graph.name}_dual")
    with entered(trace):
        xs = [trace.input(spec) for spec in graph.inputs]
        dots = [
            trace.input(TensorSpec.of(spec.dims, spec.dtype)) if w else None
            for spec, w in zip(graph.inputs, which, strict=True)
        ]
        tangents: dict[int, Any] = {id(x): dot for x, dot in zip(xs, dots, strict=True) if dot is not None}

        def on_node(node: Node, values: list[Any]) -> tuple[Any, ...]:
            x_dots = [tangents.get(id(value)) for value in values]
            is_followed = node.op.gradless is None and any(dot is not None for dot in x_dots)
            y_dots: Sequence[Any] = ()
            outputs: Sequence[Any]
            if is_followed and node.op.structured and acts(node.op):
                outputs, y_dots = run_with_tangents(node.op, values, x_dots, transforms)
            else:
                outputs = bind_all(node.op, values)
                if is_followed:
                    y_dots = push(node.op, values, outputs, x_dots, transforms)
            tangents.update(
                (id(y), dot) for y, dot in zip(outputs, y_dots, strict=is_followed) if dot is not None
            )
            alive.extend(outputs)
            return tuple(outputs)

        alive: list[Any] = list(xs)  # keeps symbols alive, so that their ids stay unique
        ys = replay(graph, xs, on_node)
        y_dots = [tangents.get(id(y)) for y in ys]
        outputs = [*ys, *(dot for dot in y_dots if dot is not None)]
        done = trace.finish(outputs, RETURN, False, [*xs, *(dot for dot in dots if dot is not None)])
    return done, tuple([dot is not None for dot in y_dots])


def push_entries(
    entries: Sequence[Entry], tangents: dict[Mark, Tensor], transforms: Transforms, kept: Set[Mark]
) -> dict[Mark, Tensor]:
    """Tangents by mark, pushed through recorded entries in order; `tangents` is changed in place.

    Tangents that no later entry reads are removed, unless their marks are in `kept`: in a chunk of a Jacobian each has many rows.
    """
    read_last: dict[int, list[Mark]] = {}
    for mark, k in last_steps((*entry[4], *entry[3]) for entry in entries).items():
        if mark is not None and mark not in kept:
            read_last.setdefault(k, []).append(mark)
    for k, (op, inputs, outputs, marks, out_marks) in enumerate(entries):
        x_dots = [None if mark is None else tangents.get(mark) for mark in marks]
        if all(dot is None for dot in x_dots):
            continue
        for mark, y_dot in zip(out_marks, push(op, inputs, outputs, x_dots, transforms), strict=True):
            if mark is not None and y_dot is not None:
                tangents[mark] = y_dot
        x_dots.clear()
        for mark in read_last.get(k, ()):
            tangents.pop(mark, None)
    return tangents


def push_forward(
    entries: Sequence[Entry],
    targets: Sequence[Tensor],
    sources: Sequence[Handle | Tensor],
    dots: Sequence[Tensor],
    transforms: Transforms,
) -> list[Tensor]:
    """The tangents of targets for tangents of sources, through what a tape has recorded; zeros where nothing connects them.

    Raises: FailedPreconditionError: an op on the way writes variables or prints, and would do so again.
    """
    tangents = {mark_of(x): dot for x, dot in zip(sources, dots, strict=True)}
    push_entries(entries, tangents, transforms, {mark_of(y) for y in targets})
    found = [tangents.get(mark_of(y)) for y in targets]
    return [zeros_of(y) if dot is None else dot for y, dot in zip(targets, found, strict=True)]


class ForwardAccumulator:
    """Computes Jacobian-vector products as operations run.

    Args:
      primals: A tensor or variable, or a nest of these.
      tangents: A nest like `primals`, each of the primal's shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a tangent of another shape than its primal, or more or fewer of them;
      DTypeError (a TypeError): a primal without derivatives.
    Example:
      >>> x = constant([2.0, 3.0])
      >>> with ForwardAccumulator(x, constant([1.0, 0.0])) as accumulator:
      ...     y = x * x
      >>> accumulator.jvp(y).numpy()
      array([4., 0.], dtype=float32)

    Attributes:
      exit: (way, the user's line) of the first value with a tangent that left as an array, or else as a number.
    """

    differentiates_itself = False
    exit: tuple[str, str | None] | None = None

    def __init__(self, primals: NestLike, tangents: NestLike) -> None:
        self.transforms = TRANSFORMS
        flat, dots = ([values_of(x) for x in flatten_records(given)[0]] for given in (primals, tangents))
        if len(flat) != len(dots):
            raise InvalidArgumentError(f"ForwardAccumulator: {len(dots)} tangents for {len(flat)} primals.")
        self._level: Any = None
        # id -> (weak reference to the primal, tangent)
        self._tangents: dict[int, tuple[Any, Any]] = {}
        for x, dot in zip(flat, dots, strict=True):
            if not isinstance(x, VALUES):
                raise InvalidArgumentError(
                    f"ForwardAccumulator: primal {x!r} is neither a Tensor nor a Variable."
                )
            if id(x) in self._tangents:
                raise InvalidArgumentError(
                    f"ForwardAccumulator: {x!r} was specified as a primal multiple times; give it once, with the sum of "
                    "its tangents."
                )
            dot = lift(dot, x.spec.dtype)
            if not are_compatible(dot.dims, x.spec.dims):
                raise InvalidArgumentError(
                    f"ForwardAccumulator: a tangent has shape {dot.shape}, its primal {x.spec.shape}."
                )
            if dot.dims != x.spec.dims and x.spec.dims is not None:
                dot = bind(EnsureShape(ranked(x.spec.dims)), dot)
            self._put(x, dot)

    def _put(self, x: Handle | Tensor, dot: Tensor) -> None:
        key, myself = id(x), ref(self)

        def forget(_: object) -> None:
            accumulator = myself()
            if accumulator is not None:
                accumulator._tangents.pop(key, None)

        self._tangents[key] = ref(x, forget), dot

    def _tangent(self, x: object) -> Any:
        found = self._tangents.get(id(x))
        return None if found is None else found[1]

    def __enter__(self) -> ForwardAccumulator:
        if self._level is not None:
            raise InvalidArgumentError(
                "ForwardAccumulator: it is already recording; enter it again after its block, or make a second one."
            )
        self._level = new_recorder(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        remove_recorder(self._level, self)
        self._level = None

    def needs(self, op: Op, inputs: Sequence[Any]) -> None:
        return None

    def instead(self, op: Op, inputs: Sequence[Any], younger: Sequence[Any]) -> Sequence[Any] | None:
        """Runs an op with effects together with its tangents."""
        if not op.structured or op.gradless is not None or not acts(op):
            return None
        x_dots = [self._tangent(x) for x in inputs]
        if all(dot is None for dot in x_dots):
            return None
        if any(recorder.needs(op, inputs) is not None for recorder in younger):
            raise FailedPreconditionError(
                f"{op.name}: a GradientTape inside of a ForwardAccumulator follows a function with effects (it writes variables, "
                "prints or draws numbers), and its gradient would have no tangent; enter the tape around the accumulator."
            )
        with paused(self._level, self):
            outputs, y_dots = run_with_tangents(op, inputs, x_dots, self.transforms)
        self._put_all(outputs, y_dots)
        return outputs

    def note_break(self, op: Op, inputs: Sequence[Handle | Tensor], outputs: Sequence[Tensor]) -> None:
        """Does nothing: ops without a gradient carry no tangent."""

    def follows(self, x: Handle | Tensor) -> bool:
        return self._tangent(x) is not None

    def note_exit(self, x: Any, way: str) -> None:
        before = self.exit
        if (before is None or (before[0] in NUMBERS and way not in NUMBERS)) and self.follows(x):
            self.exit = way, user_line()

    def read(self, handle: Handle, value: EagerTensor) -> None:
        """A variable's value has the variable's tangent."""
        dot = self._tangent(handle)
        if dot is not None:
            self._put(value, dot)

    def record(self, op: Op, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        x_dots = [self._tangent(x) for x in inputs]
        if all(dot is None for dot in x_dots):
            return
        with paused(self._level, self):
            y_dots = push(op, inputs, outputs, x_dots, self.transforms)
        self._put_all(outputs, y_dots)

    def _put_all(self, outputs: Sequence[Any], y_dots: Sequence[Any]) -> None:
        for y, dot in zip(outputs, y_dots, strict=True):
            if dot is not None:
                self._put(y, dot)

    @overload
    def jvp(
        self, primals: Tensor | Handle, unconnected_gradients: UnconnectedGradients | str = ...
    ) -> Tensor: ...
    @overload
    def jvp(self, primals: NestLike, unconnected_gradients: UnconnectedGradients | str = ...) -> Any: ...
    def jvp(self, primals: NestLike, unconnected_gradients: UnconnectedGradients | str = "none") -> Any:
        """The tangents of values computed inside the block.

        Args:
          primals: A tensor, or a nest of tensors; a sparse value has a tangent of the same form.
          unconnected_gradients: 'none' or 'zero': the tangent of values that do not depend on the primals.
        """
        zero = unconnected_mode(unconnected_gradients) is UnconnectedGradients.ZERO
        flat, rebuild = flatten_records(primals)
        return rebuild([self._jvp(x, zero) for x in flat])

    def _jvp(self, x: Tensor, zero: bool) -> Any:
        if isinstance(x, Sparse):
            dot = self._jvp(x.values, zero)
            return None if dot is None else x.with_values(dot)
        dot = self._tangent(x)
        return zeros_of(x) if dot is None and zero else dot
