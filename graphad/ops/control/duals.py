"""Forward mode of call, cond and loop: the same op on graphs that compute values and tangents.

Deriving their JVPs from their VJPs would keep dummy cotangents alive inside the sub-graphs, and a loop would stack unused
residuals.

An op that writes variables, prints or draws numbers must not run twice: its values come from the same graphs as the tangents
(`whole`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from graphad.core.annotations import DualContext
from graphad.core.bind import bind
from graphad.graph.builder import GraphBuilder
from graphad.graph.compose import append, rewired
from graphad.graph.walk import with_outputs
from graphad.ops.array.create import zeros_of
from graphad.ops.control.layers import add_zeros
from graphad.ops.control.segments import Segments

if TYPE_CHECKING:
    from graphad.ops.control.call import Call
    from graphad.ops.control.cond import Cond
    from graphad.ops.control.loop import Loop


Duals = tuple[Sequence[Any], list[Any]]  # values, if they were asked for, and tangents
T = TypeVar("T")


def parted(outputs: Sequence[T], mask: Sequence[bool]) -> tuple[Sequence[T], dict[int, T]]:
    """The outputs of a graph that `dual_of` gave with this mask: the values, and the tangents by the number of their value."""
    found = Segments(values=len(mask), tangents=None)
    numbers = [k for k, has in enumerate(mask) if has]
    return found.values(outputs), dict(zip(numbers, found.tangents(outputs), strict=True))


def push_call(
    op: Call, call: type[Call], ctx: DualContext, x_dots: Sequence[Any], whole: bool = False
) -> Duals:
    """The tangents of a call's outputs; `call` is the class of ops to bind."""
    which = [dot is not None for dot in x_dots]
    dual, mask = ctx.dual_of(op.graph, which)
    if not whole and not any(mask):
        return (), [None] * len(mask)
    found = Segments(values=len(mask) if whole else 0, tangents=None)
    if not whole:
        dual = with_outputs(dual, list(parted(dual.outputs, mask)[1].values()))
    outputs = bind(call(dual), *ctx.inputs, *[dot for dot in x_dots if dot is not None])
    tangents = iter(found.tangents(outputs))
    return found.values(outputs), [next(tangents) if has else None for has in mask]


def push_cond(
    op: Cond, cond: type[Cond], ctx: DualContext, x_dots: Sequence[Any], whole: bool = False
) -> Duals:
    """The tangents of a cond's outputs; `cond` is the class of ops to bind."""
    dots = op.passed(x_dots)
    which = [dot is not None for dot in dots]
    sides = [ctx.dual_of(graph, which) for graph in (op.then_graph, op.else_graph)]
    # For each output its position among the outputs of either branch.
    places: list[tuple[Any, Any]] = []
    counts = [0, 0]
    for kind in op.kinds:
        here = [kind != "else", kind != "then"]
        places.append((counts[0] if here[0] else None, counts[1] if here[1] else None))
        counts = [counts[0] + here[0], counts[1] + here[1]]
    pairs = list(enumerate(places))
    kept = [
        k
        for k, place in pairs
        if any(p is not None and mask[p] for p, (_, mask) in zip(place, sides, strict=True))
    ]
    if not kept and not whole:
        return (), [None] * len(op.kinds)
    graphs = []
    for s, (dual, mask) in enumerate(sides):
        builder = GraphBuilder()
        outputs = append(builder, dual, [builder.add_input(spec) for spec in dual.inputs])
        values, tangents = parted(outputs, mask)
        wanted = [*values] if whole else []
        for k in kept:
            place = places[k][s]
            if place is not None:
                wanted.append(tangents[place] if mask[place] else add_zeros(builder, values[place]))
        graphs.append(builder.finish(wanted, dual.name)[0])
    full = (*op.full, *[f for f, w in zip(op.full, which, strict=True) if w]) if op.depth else ()
    found = Segments(values=len(op.kinds) if whole else 0, tangents=len(kept))
    kinds = (*found.values(op.kinds), *[op.kinds[k] for k in kept])
    dual_op = cond(graphs[0], graphs[1], kinds, op.depth, full)
    results = bind(dual_op, *ctx.inputs, *[dot for dot in dots if dot is not None])
    y_dots = dict(zip(kept, found.tangents(results), strict=True))
    return found.values(results), [y_dots.get(k) for k in range(len(op.kinds))]


def push_loop(op: Loop, ctx: DualContext, x_dots: Sequence[Any], whole: bool = False) -> Duals:
    """The tangents of a loop's outputs."""
    places, gives = op.operands, op.results
    dots = op.passed(x_dots)
    which = [dot is not None for dot in dots]
    while True:
        # A carry has a tangent if its start has one or the body's result has one.
        dual, mask = ctx.dual_of(op.body, which)
        given = places.carries(which)
        more = [a or b for a, b in zip(given, gives.carries(mask), strict=True)]
        if more == given:
            break
        which[: len(more)] = more
    with_dots = [i for i, w in enumerate(which) if w]
    kinds = (places.carries, places.invariants, places.xs)
    dots_of = [[i for i in with_dots if i in kind] for kind in kinds]
    # The dual has all inputs and then all tangents; the loop wants carries, invariants and xs together.
    order = [
        key
        for kind, mine in zip(kinds, dots_of, strict=True)
        for key in (*[("x", i) for i in kind], *[("dot", i) for i in mine])
    ]
    position = {key: k for k, key in enumerate(order)}
    keys = [("x", i) for i in range(places.total)] + [("dot", i) for i in with_dots]
    specs = [dual.inputs[keys.index(key)] for key in order]
    graph, _ = rewired(dual, specs, [position[key] for key in keys])
    builder = GraphBuilder()
    outputs = append(builder, graph, [builder.add_input(spec) for spec in graph.inputs])
    made, tangents = parted(outputs, mask)
    carries, invariants, xs = dots_of
    ys = [k for k in gives.ys if mask[k]]
    carry_dots = [tangents[k] if k in tangents else add_zeros(builder, made[k]) for k in carries]
    shown = gives.ys(made) if whole else []
    body, _ = builder.finish(
        [*gives.carries(made), *carry_dots, *shown, *[tangents[k] for k in ys]], dual.name
    )
    dual_op = op.changed(
        test=None,
        body=body,
        n_carry=op.n_carry + len(carries),
        n_invariant=op.n_invariant + len(invariants),
        n_xs=op.n_xs + len(xs),
        uniform=0,
    )
    if op.test is not None:
        taken = dual_op.operands
        tested = [*taken.carries(body.inputs), *taken.invariants(body.inputs)]
        read = [position["x", i] for i in (*places.carries, *places.invariants)]
        test = rewired(op.test, tested, read)[0]
        dual_op = dual_op.changed(test=test)
    xs_given = op.passed(ctx.inputs)
    operands = [
        xs_given[i] if kind == "x" else dots[i] if dots[i] is not None else zeros_of(xs_given[i])
        for kind, i in order
    ]
    results = bind(dual_op, *op.inputs.limit(ctx.inputs), *operands)
    found = Segments(carries=op.n_carry, carry_dots=len(carries), count=1, ys=len(shown), y_dots=len(ys))
    out: list[Any] = [None] * op.n_outputs
    for k, y_dot in zip(carries, found.carry_dots(results), strict=True):
        out[k] = y_dot
    for k, y_dot in zip(ys, found.y_dots(results), strict=True):
        out[op.stack_of(k)] = y_dot
    values = [*found.carries(results), *found.count(results), *found.ys(results)] if whole else ()
    return values, out
