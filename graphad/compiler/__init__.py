"""From a graph to something that runs: passes, kernels, cache, plan, executables.

Imported when the first graph runs, since a program that stays eager needs none of it.

The modules by subject:

    a graph               pipeline, foresight
    into units            partition, lower, raising, fuse, cuts, endings, order, chain, stack, blocks, units
    loops and branches    repeat, branch, rounds
    into source text      source, plain, lowering, oracle
    into code             service, launch, worker, cache, objects, assembly
    on a device           backend, rows, spots
    for users             apart
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphad.graph.evaluate import set_runner
from graphad.graph.ir import Graph

if TYPE_CHECKING:
    from graphad.compiler.plan.executable import Executable


def executable_of(graph: Graph) -> Executable:
    """The executable of a graph, made at first use and kept with it."""
    from graphad.compiler.plan import executable

    return executable.executable_of(graph)


def _run_first(graph: Graph, values: Sequence[Any], *place: str) -> list[Any]:
    """Runs one graph; importing the executables replaces this function by their `run`."""
    from graphad.compiler.plan import executable

    return executable.run(graph, values, *place)


set_runner(_run_first)
