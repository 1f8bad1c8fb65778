"""`gradients` and `hessians`: derivatives of what a traced function has computed so far, without a tape.

The nodes between the sources and the targets in the graph being traced become the entries of a new tape. An op with sub-graphs
gets its residuals in place, so that nothing runs twice. Values of outer functions are followed into the one being traced; so are
those of a finished trace over which a gradient function closes, whose ops with sub-graphs run once more for their residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.annotations import NestLike, TensorLike
from graphad.core.bind import bind
from graphad.core.composites import flatten_records, is_record
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, DTypeError, FailedPreconditionError, InvalidArgumentError
from graphad.core.levels import chain, current, trace_in_progress
from graphad.core.nest import is_nested
from graphad.core.op import Op, in_tuple, output_specs
from graphad.core.shapes import is_definite
from graphad.core.tensor import VALUES
from graphad.gradient.tape import GradientTape
from graphad.gradient.transforms import TRANSFORMS
from graphad.gradient.unconnected import UnconnectedGradients, unconnected_mode
from graphad.graph.ir import Node
from graphad.ops.array.create import ones_like, zeros
from graphad.ops.array.join import concat
from graphad.ops.array.passing import IDENTITY
from graphad.ops.array.shape import shape
from graphad.trace.tracer import SymbolicTensor, Trace

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor


# The key of a value: a trace and a serial number, or the id of a variable or tensor that all traces capture.
Place = tuple[Any, int]


class AggregationMethod:
    """How gradients along several paths are added; it has no effect."""

    ADD_N = DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(
    ys: NestLike,
    xs: NestLike,
    grad_ys: NestLike = None,
    name: str | None = None,
    gate_gradients: bool = False,
    aggregation_method: object = None,
    stop_gradients: NestLike = None,
    unconnected_gradients: object = UnconnectedGradients.NONE,
) -> NestLike:
    """The gradients of the sum of `ys` with respect to each of `xs`, inside a traced function.

    Args:
      ys: A tensor, or a list of tensors.
      xs: A tensor or variable, or a list or nest of these; what the function captures counts too.
      grad_ys: One upstream gradient for each of `ys`; None, for all or for one, means ones.
      name, gate_gradients, aggregation_method: Accepted for compatibility.
      stop_gradients: Tensors that count as constants; they may be among `xs`.
      unconnected_gradients: 'none' or 'zero': what an unconnected one of `xs` gets.
    Returns: A list with a tensor, IndexedSlices or None for each of `xs`; a nest like `xs` where that is a dict.
    Raises: FailedPreconditionError (a RuntimeError): no function is being traced; use a GradientTape.
    """
    sources, rebuild = flatten_records(xs)
    targets = _values("gradients", "ys", ys)
    mode = unconnected_mode(unconnected_gradients)
    given = _upstream(targets, grad_ys)
    tape, found = _tape_of_graph("gradients", targets, _checked("gradients", "xs", sources), stop_gradients)
    for k, (y, bar) in enumerate(zip(found, given, strict=True)):
        if bar is not None and not y.dtype.is_differentiable:
            raise DTypeError(
                f"gradients: grad_ys[{k}] belongs to a tensor of dtype {y.dtype.name}, which has no gradient; leave both out."
            )
    bars = [ones_like(y) if bar is None else bar for y, bar in zip(found, given, strict=True)]
    kept = [k for k, y in enumerate(found) if y.dtype.is_differentiable]
    results = tape.gradient([found[k] for k in kept], sources, [bars[k] for k in kept], mode)
    if results is None:
        results = tape.gradient(found, sources, None, mode)
    return rebuild(results) if isinstance(xs, dict) or is_record(xs) else results


def hessians(
    ys: NestLike,
    xs: NestLike,
    gate_gradients: bool = False,
    aggregation_method: object = None,
    name: str = "hessians",
) -> list[Any]:
    """The second derivatives of the sum of `ys` with respect to each of `xs`, inside a traced function.

    Args:
      ys: A tensor, or a list of tensors.
      xs: A tensor or variable [*s], or a list of these.
      gate_gradients, aggregation_method, name: Accepted for compatibility.
    Returns: A list with a tensor [*s, *s] for each of `xs`, zeros where `ys` are linear in it.
    Raises:
      FailedPreconditionError (a RuntimeError): no function is being traced; use a GradientTape.
      InvalidArgumentError: `ys` do not depend on one of `xs`.
    """
    out = []
    sources = _values("hessians", "xs", xs)
    for k, (x, first) in enumerate(zip(sources, _first_derivatives(ys, sources), strict=True)):
        if first is None:
            raise InvalidArgumentError(
                f"hessians: None values not supported: ys do not depend on xs[{k}], {x!r}; leave it out."
            )
        tape, (target,) = _tape_of_graph("hessians", [first], [x], None)
        second = tape.jacobian(target, x)
        if second is None:
            known = is_definite(x.dims)
            second = zeros((*x.dims, *x.dims) if known else concat([shape(x)] * 2, 0), x.spec.dtype)
        out.append(second)
    return out


def _first_derivatives(ys: TensorLike, sources: Sequence[Any]) -> list[Any]:
    found = gradients(ys, list(sources))
    return [None if g is None else lift(g) for g in found]


def _values(name: str, argument: str, given: TensorLike | None) -> list[Any]:
    return _checked(name, argument, flatten_records(given)[0])


def _checked(name: str, argument: str, given: list[Tensor]) -> list[Any]:
    if trace_in_progress() is None:
        raise FailedPreconditionError(
            f"tf.{name} is not supported when eager execution is enabled. Use tf.GradientTape instead: compute inside "
            "`with tf.GradientTape() as tape:` and call tape.gradient(y, x); or call tf.gradients inside a @tf.function."
        )
    for k, x in enumerate(given):
        if not isinstance(x, VALUES):
            raise ArgumentTypeError(
                f"{name}: {argument}[{k}] is {x!r} of type {type(x).__name__}, neither a Tensor nor a Variable; compute it "
                "from tensors inside this function."
            )
    return given


def _upstream(targets: Sequence[Any], given: list[Tensor | None] | None) -> list[Any]:
    if given is None:
        return [None] * len(targets)
    listed = list(given) if isinstance(given, list | tuple) and is_nested(given) else [given]
    if len(listed) != len(targets):
        raise InvalidArgumentError(
            f"gradients: Length mismatch. Passed {len(listed)} grad_ys for {len(targets)} ys; give one for each, None for ones."
        )
    return listed


def _tape_of_graph(
    name: str, targets: Sequence[Any], sources: Sequence[Any], stopped: list[Tensor] | None
) -> tuple[GradientTape, list[Any]]:
    """A persistent tape with the entries between sources and targets, and the objects that represent the targets on it."""
    traces = _traces()
    if current() is not traces[-1]:
        raise InvalidArgumentError(
            f"{name}: inside vectorized_map ops are not nodes of a graph; use tf.GradientTape, or call it outside."
        )
    path = _Path(traces, [*sources, *targets], [] if stopped is None else flatten_records(stopped)[0])
    for x in sources:
        path.follow(x)
    needed = path.behind(targets)
    for trace in traces:
        path.record(trace, needed)
    return path.tape, [path.known(y) for y in targets]


def _traces() -> list[Trace]:
    """The traces in progress, each after the finished one whose values it may use, outermost first."""
    found: list[Trace] = []
    for level in chain():
        trace = level if isinstance(level, Trace) else None
        while trace is not None:
            found.append(trace)
            trace = trace.adopted
    return found[::-1]


class _Path:
    """Collects the entries of a tape from the nodes of the traces in progress, outermost first."""

    def __init__(self, traces: Sequence[Trace], given: Sequence[Any], stopped: Sequence[Any]) -> None:
        self.tape = GradientTape(persistent=True, watch_accessed_variables=False)
        self.tape._entered = True
        self._traces = traces
        self._objects: dict[Place, Any] = {}
        self._captured: dict[Place, Any] = {}
        for trace in traces:
            for serial, x in zip(trace.capture_serials, trace.captures, strict=True):
                self._captured[trace, serial] = x
        # Tapes identify values by the marks of objects, so a value must stay the same object.
        for trace in traces:
            for recorder in trace.recorders:
                for _, inputs, outputs, _, _ in getattr(recorder, "entries", ()):
                    for x in (*inputs, *outputs):
                        if isinstance(x, VALUES):
                            self._objects.setdefault(self._place(x), x)
        for x in given:
            self._objects[self._place(x)] = x
        self._stopped = {self._place(x) for x in stopped}

    def _place(self, x: object) -> Place:
        while type(x) is SymbolicTensor:
            place = x.trace, x.index
            outer = self._captured.get(place)
            if outer is None:
                return place
            x = outer
        return None, id(x)

    def _places(self, trace: Trace, node: Node) -> list[Place]:
        return [self._place_of(trace, serial) for serial in node.inputs]

    def _place_of(self, trace: Trace, serial: int) -> Place:
        outer = self._captured.get((trace, serial))
        return (trace, serial) if outer is None else self._place(outer)

    def known(self, x: TensorLike) -> Any:
        """The object that represents a value."""
        return self._objects.setdefault(self._place(x), x)

    def _object(self, trace: Trace, serial: int) -> Any:
        outer = self._captured.get((trace, serial))
        if outer is not None:
            return self.known(outer)
        place = trace, serial
        found = self._objects.get(place)
        if found is None:
            found = self._objects[place] = SymbolicTensor(trace, serial, trace.builder.specs[serial])
        return found

    def follow(self, x: Any) -> None:
        if x.spec.dtype.is_differentiable:
            self.tape.follow(self.known(x))

    def _is_followed(self, place: Place) -> bool:
        x = self._objects.get(place)
        return x is not None and x.mark in self.tape.tracked

    def behind(self, targets: Sequence[Tensor]) -> set[Place]:
        """The keys of all values that the targets are computed from."""
        needed = {self._place(y) for y in targets}
        for trace in reversed(self._traces):
            for node in reversed(trace.builder.nodes):
                if any((trace, serial) in needed for serial in node.outputs):
                    needed.update(self._places(trace, node))
        return needed

    def record(self, trace: Trace, needed: set[Place]) -> None:
        """Record the nodes of one trace on paths to the targets."""
        is_finished = trace.number is not None
        nodes: list[Node] = []
        for node in tuple(trace.builder.nodes):
            nodes.append(node)
            if not any((trace, serial) in needed for serial in node.outputs):
                continue
            follows = tuple([self._is_followed(place) for place in self._places(trace, node)])
            if not any(follows):
                continue
            op, outputs = node.op, [self._output(trace, serial) for serial in node.outputs]
            inputs = [self._object(trace, serial) for serial in node.inputs]
            if op.layered and is_finished:
                op = op.augmented(TRANSFORMS, follows)  # type: ignore[attr-defined]
                outputs += in_tuple(op, bind(op, *inputs))[len(outputs) :]
            elif op.layered:
                nodes.pop()
                op, residuals = self._with_residuals(trace, node, follows, nodes)
                outputs += residuals
            if op.gradless is None:
                self.tape.record(op, inputs, outputs)
            else:
                self.tape.note_break(op, inputs, outputs)
        if not is_finished:
            trace.builder.nodes[:] = nodes

    def _output(self, trace: Trace, serial: int) -> Any:
        if (trace, serial) in self._stopped:  # ops that use it get another object
            return SymbolicTensor(trace, serial, trace.builder.specs[serial])
        return self._object(trace, serial)

    def _with_residuals(
        self, trace: Trace, node: Node, follows: tuple[bool, ...], nodes: list[Node]
    ) -> tuple[Op, list[Any]]:
        """Replace a node by one with residuals as further outputs; the original outputs come first."""
        builder = trace.builder
        op = node.op.augmented(TRANSFORMS, follows)  # type: ignore[attr-defined]
        specs = output_specs(op, [builder.specs[i] for i in node.inputs])
        start = len(builder.specs)
        builder.specs.extend(specs)
        nodes.append(Node(op, node.inputs, start, specs, node.line))
        for k, (serial, spec) in enumerate(zip(node.outputs, node.specs, strict=True)):
            nodes.append(Node(IDENTITY, (start + k,), serial, (spec,), node.line))
        more = range(start + len(node.specs), start + len(specs))
        return op, [SymbolicTensor(trace, serial, builder.specs[serial]) for serial in more]
