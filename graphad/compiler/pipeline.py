"""The order of the passes, with the reason for each position.

simplify  canonical forms, constant folding and exact algebra in one sweep: each makes work for the others, and one sweep over
          the graph with all rules reaches the fixpoint that separate passes would need several rounds for; it numbers values as
          it goes, so equal ones are merged here as well. Small branches become selections, so that loops around them compile.
          Variables that rounds assign become carried values, so that the loop has no effect. What a loop looks up by its counter
          becomes slices of stacks that it iterates over, a buffer whose rows it writes near its counter a window; stacks of one
          length are not brought to the shape of each other; invariant nodes move before the loop, where equal ones are merged
          again.
relaxed only on request: rewrites that may change the last bits see the simplified graph.
dead last: the sweeps leave replaced nodes behind, and traced gradients leave unused outputs.

`carried` is a further one, for native runs only: loops that may raise carry variables too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from graphad.compiler.passes import algebra, canonical, dead, fold
from graphad.compiler.passes.rewrite import RuleTable, combined, sweep
from graphad.core import bind as door
from graphad.core.dims import apart_from
from graphad.core.op import WRITES
from graphad.graph.ir import Graph
from graphad.kernels.record import Record


class Options(Record):
    """What passes may do. `relaxed`: rewrites that may change the last bits of a result."""

    relaxed: bool = False


DEFAULT = Options()
Pass = Callable[[Graph, Options], Graph]


@functools.cache
def _rules(relaxed: bool, structured: bool, again: bool = False) -> RuleTable:
    tables = [canonical.TABLE, fold.TABLE, algebra.EXACT]
    if relaxed:
        tables.append(algebra.RELAXED)
    if structured:  # imported for such graphs only, since many programs have none
        from graphad.compiler.passes import branches, hoist, lengths, variables, walks, windows

        tables.append(combined((variables.TABLE, variables.AGAIN)) if again else variables.TABLE)
        tables += [branches.TABLE, walks.TABLE, windows.TABLE, lengths.TABLE, hoist.TABLE]
    return combined(tables)


def _rules_for(graph: Graph, relaxed: bool) -> RuleTable:
    return _rules(relaxed, any(node.op.branches or node.op.repeats for node in graph.nodes))


def simplify(graph: Graph, options: Options = DEFAULT) -> Graph:
    """Canonical forms, constants and algebra in one sweep."""
    return sweep(graph, _rules_for(graph, False), fold.ON_CONSTANTS)


def relax(graph: Graph, options: Options = DEFAULT) -> Graph:
    """The relaxed group, if `options` ask for it."""
    return sweep(graph, _rules_for(graph, True), fold.ON_CONSTANTS) if options.relaxed else graph


def carried(graph: Graph, options: Options = DEFAULT) -> Graph:
    """An optimised graph whose loops and conds carry variables although they may raise; the same object if there are none.

    An error leaves the variables as they were before the call. So it is for runs that are made again without it then.
    """
    if not any(node.op.structured and node.op.effects & WRITES for node in graph.nodes):
        return graph
    return dead.run(sweep(graph, _rules(options.relaxed, True, again=True), fold.ON_CONSTANTS), options)


PASSES: tuple[tuple[str, Pass], ...] = (("simplify", simplify), ("relaxed", relax), ("dead", dead.run))


def optimise(
    graph: Graph,
    options: Options = DEFAULT,
    literals: frozenset[int] = frozenset(),
    seen: Callable[[str, Graph], Any] | None = None,
) -> Graph:
    """The graph after all passes.

    Args:
      graph: A specialised graph.
      options: What passes may do.
      literals: Numbers from which every size symbol is known to differ.
      seen: Called with the name of each pass and its result.
    """
    with apart_from(literals):
        for name, apply in PASSES:
            after = apply(graph, options)
            if door.VERIFY and after is not graph:
                from graphad.graph.verify import verify

                verify(after, f"pass {name}")
            if seen is not None:
                seen(name, after)
            graph = after
    return graph
