"""A graph cut into units, in three steps, after one that only some backends take.

expand Where the backend wants it, nodes become others that have kernel forms (`passes/expand.py`).
lower Every node becomes a unit: a loop, a matrix product, a copy, a step on the host, or just another view of the same storage
(`lower.py`).
fuse    Loops over one shape become one (`fuse.py`), up to the limits of `cuts.py`; values that nothing outside reads are not
stored.
end     Loops that only end a product become part of it, where the backend's library has such products (`endings.py`).
stack Units are ordered by dependencies and effects, native ones together as long as possible. Loops over the same rows become
stages of one kernel (`stack.py`); loops over the same elements become a chain that runs block by block (`blocks.py`).
"""

from __future__ import annotations

from typing import Any

from graphad.compiler.backend import Backend, backend_of
from graphad.compiler.blocks import in_blocks
from graphad.compiler.endings import ended
from graphad.compiler.fuse import Fused, Group
from graphad.compiler.lower import Lowered
from graphad.compiler.passes.expand import expanded
from graphad.compiler.pipeline import DEFAULT, Options
from graphad.compiler.stack import stacked
from graphad.compiler.units import LOOP, Partition, Unit
from graphad.core.dims import run_time_symbols
from graphad.graph.ir import Graph
from graphad.kernels import forms
from graphad.kernels.collapse import Operand, collapse
from graphad.kernels.fuse import Composer


def partition(
    graph: Graph,
    options: Options = DEFAULT,
    backend: Backend | None = None,
    has_routines: bool = False,
    has_calls: bool = False,
) -> Partition:
    """The units of a specialised, optimised graph, for a backend; None: the CPU's.

    With `has_routines` units may be routines, which may have no answer: a run must be such that it can be made again. With
    `has_calls` ops without native code are called where the backend can do that: what a round of a loop does, or a plan with
    sizes that its runs find, is native as a whole or not at all.
    """
    backend = backend or backend_of("cpu")
    if backend.expands:
        graph = expanded(graph)
    lowered = Lowered(graph, options, backend, has_routines, has_calls and backend.has_calls)
    fused = Fused(lowered)
    units = _units(lowered, fused)
    roots = {lowered.site(value).root for value in lowered.outputs}
    has_numbers = not any(run_time_symbols(spec.dims or ()) for spec in lowered.specs)
    if backend.has_endings and has_numbers:
        units = ended(units, roots, backend, options.relaxed)
    if backend.has_stages:
        units = stacked(units, roots, lowered.specs, backend.stages_add)
    if backend.has_blocks and has_numbers:
        units = in_blocks(units, roots, lowered.specs)
    found = (graph, units, lowered.sites, lowered.specs, lowered.outputs, lowered.given, lowered.reads)
    return Partition(backend, *found)


def _units(lowered: Lowered, fused: Fused) -> list[Unit]:
    """The groups as units in order, loops with their kernels."""
    stored = {lowered.site(value).root for value in lowered.outputs}
    for group in fused.live:
        stored |= fused.reads(group)
    kernels: dict[forms.Kernel, forms.Kernel] = {}
    for group in fused.live:
        if group.kind == LOOP:
            _compose(lowered, fused, group, stored, kernels)
    live = [group for group in fused.live if group.kind != LOOP or group.unit.writes]
    needs = {group.index: _needs(fused, group) for group in live}
    return [group.unit for group in fused.ordered(live, needs)]


def _needs(fused: Fused, group: Group) -> set[int]:
    """The groups that must run before a group."""
    made = [fused.group_of(site.root) for site in group.unit.reads]
    links = {fused.find(index) for index in fused.links(group)}
    return ({index for index in made if index is not None} | links) - {group.index}


def _compose(
    lowered: Lowered, fused: Fused, group: Group, stored: set[int], kernels: dict[forms.Kernel, forms.Kernel]
) -> None:
    """Make the kernel of a loop: its nodes' bodies as one, its operands by their strides."""
    unit, composer = group.unit, Composer()
    values: dict[int, Any] = {}
    scalars: dict[int, Any] = {}
    for node in sorted([*group.nodes, *group.again.values()], key=lambda node: node.start):
        composer.origin = node
        args = []
        for value in node.inputs:
            if value in values and fused.is_inside(group, value):
                args.append(values[value])
                continue
            number, dtype = lowered.number(value), lowered.specs[value].dtype
            if number is not None:
                scalars[value] = number
                args.append(composer.scalar(value, dtype))
            else:
                args.append(composer.input(value, dtype))
        form = lowered.forms[node.start]
        (values[node.start],) = composer.apply(form.source if isinstance(form, forms.Reduce) else form, args)
    unit.nodes, unit.weight, unit.reduced, unit.results = (
        group.nodes,
        group.weight,
        group.reduced,
        group.results,
    )
    unit.writes = [node.start for node in unit.nodes if node.start in stored]
    composed = composer.finish([values[value] for value in unit.writes])
    unit.origins = composed.origins
    unit.reads = [lowered.sites[value] for value in composed.inputs]  # type: ignore[index]
    unit.scalars = [scalars[value] for value in composed.scalars]  # type: ignore[index]
    operands = [Operand(site.shape, site.strides) for site in unit.reads]
    combines = [unit.results.get(value) for value in unit.writes]
    relaxed = lowered.options.relaxed
    loop = collapse(composed.map, unit.shape, operands, unit.reduced or (), combines, contracts=relaxed)
    # One object for equal kernels, so that later look-ups are quick.
    kernel = kernels.setdefault(loop.kernel, loop.kernel)
    unit.loop = loop if kernel is loop.kernel else loop.replaced(kernel=kernel)
