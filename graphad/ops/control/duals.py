"""Forward mode of call, cond and loop: the same op on graphs that compute values and tangents.

Deriving their JVPs from their VJPs would keep dummy cotangents alive inside the sub-graphs, and a loop would stack unused
residuals.

An op that writes variables, prints or draws numbers must not run twice: its values come from the same graphs as the tangents
(`whole`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.annotations import DualContext
from graphad.core.bind import bind
from graphad.graph.builder import GraphBuilder
from graphad.graph.compose import append, rewired
from graphad.graph.walk import with_outputs
from graphad.ops.array.create import zeros_of
from graphad.ops.control.layers import add_zeros

if TYPE_CHECKING:
    from graphad.ops.control.call import Call
    from graphad.ops.control.cond import Cond
    from graphad.ops.control.loop import Loop


Duals = tuple[Sequence[Any], list[Any]]  # values, if they were asked for, and tangents


def push_call(
    op: Call, call: type[Call], ctx: DualContext, x_dots: Sequence[Any], whole: bool = False
) -> Duals:
    """The tangents of a call's outputs; `call` is the class of ops to bind."""
    which = [dot is not None for dot in x_dots]
    dual, mask = ctx.dual_of(op.graph, which)
    n = len(op.graph.outputs)
    if not whole:
        dual = with_outputs(dual, dual.outputs[n:])
    outputs = (
        bind(call(dual), *ctx.inputs, *[dot for dot in x_dots if dot is not None])
        if whole or any(mask)
        else ()
    )
    values, y_dots = (outputs[:n], outputs[n:]) if whole else ((), outputs)
    tangents = iter(y_dots)
    return values, [next(tangents) if has else None for has in mask]


def push_cond(
    op: Cond, cond: type[Cond], ctx: DualContext, x_dots: Sequence[Any], whole: bool = False
) -> Duals:
    """The tangents of a cond's outputs; `cond` is the class of ops to bind."""
    which = [dot is not None for dot in x_dots[1:]]
    sides = [(graph, *ctx.dual_of(graph, which)) for graph in (op.then_graph, op.else_graph)]
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
        if any(p is not None and side[2][p] for p, side in zip(place, sides, strict=True))
    ]
    if not kept and not whole:
        return (), [None] * len(op.kinds)
    graphs = []
    for s, (graph, dual, mask) in enumerate(sides):
        builder = GraphBuilder()
        outputs = append(builder, dual, [builder.add_input(spec) for spec in dual.inputs])
        n = len(graph.outputs)
        wanted = outputs[:n] if whole else []
        for k in kept:
            place = places[k][s]
            if place is not None:
                wanted.append(
                    outputs[n + sum(mask[:place])] if mask[place] else add_zeros(builder, outputs[place])
                )
        graphs.append(builder.finish(wanted, dual.name)[0])
    full = (*op.full, *[f for f, w in zip(op.full, which, strict=True) if w]) if op.depth else ()
    first = len(op.kinds) if whole else 0
    kinds = (*op.kinds[:first], *[op.kinds[k] for k in kept])
    dual_op = cond(graphs[0], graphs[1], kinds, op.depth, full)
    results = bind(dual_op, *ctx.inputs, *[dot for dot in x_dots[1:] if dot is not None])
    y_dots = dict(zip(kept, results[first:], strict=True))
    return results[:first], [y_dots.get(k) for k in range(len(op.kinds))]


def push_loop(op: Loop, ctx: DualContext, x_dots: Sequence[Any], whole: bool = False) -> Duals:
    """The tangents of a loop's outputs."""
    places, gives = op.operands, op.results
    which = [dot is not None for dot in x_dots[1:]]
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
    n_outputs = len(op.body.outputs)
    builder = GraphBuilder()
    outputs = append(builder, graph, [builder.add_input(spec) for spec in graph.inputs])
    tangents = {k: outputs[n_outputs + sum(mask[:k])] for k in range(n_outputs) if mask[k]}
    carries, invariants, xs = dots_of
    ys = [k for k in gives.ys if mask[k]]
    carry_dots = [tangents[k] if k in tangents else add_zeros(builder, outputs[k]) for k in carries]
    shown = gives.ys(outputs) if whole else []
    body, _ = builder.finish(
        [*gives.carries(outputs), *carry_dots, *shown, *[tangents[k] for k in ys]], dual.name
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
        read = [*taken.carries][: op.n_carry] + [*taken.invariants][: op.n_invariant]
        test = rewired(op.test, body.inputs[: taken.xs.start], read)[0]
        dual_op = dual_op.changed(test=test)
    dots = dict(enumerate(x_dots[1:]))
    operands = [
        ctx.inputs[i + 1] if kind == "x" else dots[i] if dots[i] is not None else zeros_of(ctx.inputs[i + 1])
        for kind, i in order
    ]
    results = bind(dual_op, ctx.inputs[0], *operands)
    out: list[Any] = [None] * op.n_outputs
    for place, k in enumerate(carries, op.n_carry):
        out[k] = results[place]
    found = dual_op.outputs.ys(results)
    for k, y_dot in zip(ys, found[len(shown) :], strict=True):
        out[op.outputs.ys[k - gives.ys.start]] = y_dot
    values = [*results[: op.n_carry], *dual_op.outputs.count(results), *found[: len(shown)]] if whole else ()
    return values, out
