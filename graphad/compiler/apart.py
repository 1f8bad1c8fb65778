"""Why loops that exchange values are not fused: one line for each value, for users who look into performance."""

from __future__ import annotations

from graphad.compiler.cuts import WEIGHT_LIMIT
from graphad.compiler.stack import LONG, MOST, SHORT, STREAMS, row_size, rows_of
from graphad.compiler.units import BLOCKS, LOOP, STAGES, Partition, Unit, same_shape
from graphad.core.dims import product
from graphad.kernels.stages import Nest


def reasons(part: Partition) -> list[str]:
    """For each value that passes from one loop to another through memory, the reason."""
    maker: dict[int, tuple[int, Unit]] = {}
    found: dict[tuple[int, int], list[str]] = {}
    for k, unit in enumerate(part.units):
        if unit.kind in (LOOP, STAGES, BLOCKS):
            for root in dict.fromkeys(site.root for site in unit.reads):
                if root in maker:
                    found.setdefault((maker[root][0], k), []).append(f"%{root}")
        for each in unit.stages or [unit]:
            for value in each.writes if unit.kind in (LOOP, STAGES, BLOCKS) else ():
                maker[value] = k, each
    lines = []
    for (source, target), values in found.items():
        unit = part.units[target]
        readers = [
            each for each in unit.stages or [unit] if any(f"%{site.root}" in values for site in each.reads)
        ]
        producer = maker[int(values[0][1:])][1]
        why = _why(part.units[source], producer, readers[0])
        lines.append(f"unit {target} reads {', '.join(values)} of unit {source} from memory: {why}")
    return lines


def _why(source: Unit, producer: Unit, reader: Unit) -> str:
    names = set(producer.results)
    is_result = any(site.root in names for site in reader.reads)
    if not is_result:
        if not same_shape(producer.shape, reader.shape):
            return f"one runs over {producer.shape}, the other over {reader.shape}"
        if producer.reduced and reader.reduced and producer.reduced != reader.reduced:
            return f"one reduces axes {producer.reduced}, the other {reader.reduced}"
        if producer.weight + reader.weight > WEIGHT_LIMIT:
            return f"together they have more than the {WEIGHT_LIMIT} steps of one kernel"
    if isinstance(source.loop, Nest):
        members = source.stages
        if row_size(reader.shape, source.loop.rows) is None:
            return f"its rows are not the {source.loop.rows} of those stages"
        operands = {site.root for each in (*members, reader) for site in each.reads}
        operands |= {value for each in (*members, reader) for value in each.writes}
        if len(members) >= MOST or len(operands) > STREAMS:
            return f"there would be more than {MOST} stages, or more than {STREAMS} arrays"
        return "it reads more than the row that produced the value, or waits for another unit"
    if rows_of(producer) is None and is_result:
        axes = producer.reduced or ()
        inside = product(producer.shape[axes[0] :]) if axes else 1
        is_row = bool(axes) and tuple(axes) == tuple(range(axes[0], len(producer.shape)))
        if isinstance(inside, int) and is_row and not SHORT <= inside <= LONG:
            return f"rows of {inside} elements are too {'short' if inside < SHORT else 'long'} for stages"
        return "it is complete only when all rows are done"
    return "it reads values of other rows, or waits for another unit"
