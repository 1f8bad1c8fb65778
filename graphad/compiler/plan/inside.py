"""Proves with symbolic sizes that units stay inside their storage, so that no check is needed when a plan is bound to
numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from graphad.compiler.repeat import DIRECT
from graphad.compiler.units import (
    BRANCH,
    CALL,
    COPY,
    GEMM,
    LOOP,
    PARTS,
    REPEAT,
    ROUTINE,
    Partition,
    Unit,
    branch_of,
    loop_of,
    passed,
    repeat_of,
)
from graphad.core.dims import UndecidedSize, at_most, product
from graphad.core.shapes import is_definite, ranked
from graphad.kernels.sites import Site, reach, row_strides, same_size


def stays_inside(part: Partition, unit: Unit) -> bool:
    """Whether the walks of a unit stay inside the storage that the specs of their roots imply, for all sizes of the size class.

    False if the symbols do not decide it. For a loop op this covers the copies and fills before its first round, the inputs of
    its body and test, and the values that they compute in the place of a result.
    """
    try:
        for site, extents, strides, itemsize in _walks(part, unit):
            spec = part.specs[site.root]
            if not is_definite(spec.dims) or spec.dtype.itemsize != itemsize:
                return False
            total = part.elements.get(site.root)
            if total is None:
                total = part.elements[site.root] = product(spec.dims)
            first, end = reach(extents, strides)
            if not same_size(site.offset, 0):
                first, end = site.offset + first, site.offset + end
            if not at_most(0, first) or not (same_size(end, total) or at_most(end, total)):
                return False
    except UndecidedSize:
        return False
    return True


def _walks(part: Partition, unit: Unit) -> Iterator[tuple[Site, Sequence[Any], Sequence[Any], int]]:
    """Each walk of a unit: site, extents and strides in elements, bytes of an element; nothing if it has no elements."""
    targets = [part.site(value) for value in unit.writes]
    if unit.stages:
        for each in unit.stages:
            yield from _walks(part, each)
        if unit.kind != GEMM:
            return
    if unit.kind == LOOP:
        loop = loop_of(unit)
        if not any(same_size(extent, 0) for extent in loop.extents):
            for site, walk in zip((*unit.reads, *targets), loop.walks(), strict=True):
                yield site, *walk
        return
    walks: list[tuple[Site, Site]] = []  # a site, and the site whose shape and dtype it is walked with
    if unit.kind == PARTS:
        for piece in unit.parts:
            sites = [piece.source] if isinstance(piece.source, Site) else []
            walks += [(site, piece.target) for site in (*sites, piece.target)]
    elif unit.kind == COPY:
        walks = [(unit.reads[0], targets[0]), (targets[0], targets[0])]
    elif unit.kind in (GEMM, ROUTINE, CALL):
        walks = [(site, site) for site in (*unit.reads, *targets)]
    elif unit.kind == REPEAT:
        carries = repeat_of(unit).op.operands.carries(passed(unit))
        known = [target for target in targets if part.is_known(target)]  # for the others the run makes room
        walks = [*zip(carries, known), *[(target, target) for target in known]]
        yield from _rounds(part, unit, targets)
    elif unit.kind == BRANCH:
        walks = [(target, target) for target in targets]
        yield from _branches(unit, targets)
    for site, shaped in walks:
        if not any(same_size(size, 0) for size in shaped.shape):
            yield site, shaped.shape, site.strides, part.specs[shaped.root].dtype.itemsize


def _branches(
    unit: Unit, targets: Sequence[Site]
) -> Iterator[tuple[Site, Sequence[Any], Sequence[Any], int]]:
    """The values outside of a cond that its branches access, in C order."""
    yield unit.reads[0], (), (), 1
    branch = branch_of(unit)
    for part, values, direct in zip(branch.partitions, branch.values, branch.direct, strict=True):
        whole = [(site, part.specs[k]) for k, site in enumerate(passed(unit))]
        whole += [(targets[k], part.specs[value]) for k, value in enumerate(values) if value is not None]
        whole += [(targets[k], part.specs[root]) for root, k in direct.items()]
        for site, spec in whole:
            dims = ranked(spec.dims)
            yield site, dims, row_strides(dims), spec.dtype.itemsize


def _rounds(
    part: Partition, unit: Unit, targets: Sequence[Site]
) -> Iterator[tuple[Site, Sequence[Any], Sequence[Any], int]]:
    """The values outside of a loop that its rounds access: values in C order, or the contiguous slices of a stack."""
    repeat = repeat_of(unit)
    op = repeat.op
    reads = passed(unit)
    body, operands, ys = repeat.body, op.operands, [targets[k] for k in op.outputs.ys]
    whole = [(targets[k], body.specs[k]) for k in operands.carries]
    whole += [
        (site, body.specs[k]) for k, site in zip(operands.invariants, operands.invariants(reads), strict=True)
    ]
    if repeat.test is not None:
        whole += [
            (site, repeat.test.specs[k])
            for (site, _), k in zip(whole, (*operands.carries, *operands.invariants), strict=True)
        ]
    for k, value in enumerate(op.results.carries(body.outputs)):
        if repeat.ways[k] == DIRECT:
            whole.append((targets[k], body.specs[body.sites[value].root]))
    stacked = [(site, body.specs[k]) for k, site in zip(operands.xs, operands.xs(reads), strict=True)]
    for values in (
        repeat.stacked.items(),
        *[[(v, y) for y, v in m.items()] for m in (repeat.early, repeat.late)],
    ):
        stacked += [(ys[y], body.specs[value]) for value, y in values]
    for site, spec in whole:
        if is_definite(spec.dims):
            dims = ranked(spec.dims)
            yield site, dims, row_strides(dims), spec.dtype.itemsize
    for site, spec in stacked:
        if not part.is_known(site):
            continue
        if not is_definite(spec.dims):
            raise UndecidedSize(frozenset())
        dims = (site.shape[0], *spec.dims)
        yield site, dims, row_strides(dims), spec.dtype.itemsize
