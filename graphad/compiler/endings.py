"""Products that do at their end what a loop would do to the result: add a vector to each row, take the larger of it and 0, or
add up an operand along the axis that the product sums over.

The loop becomes part of the product's unit. A plan uses it where the library, asked with the numbers of a call, has no such
product; so an ending never decides what can run.

before:  %3 = product(%0, %1);  %5 = loop: add(%3, %2), maximum(., 0)
after:   %5 = product(%0, %1), then add %2, then maximum
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphad.compiler.backend import Backend
from graphad.compiler.units import GEMM, LOOP, Unit, loop_of, same_shape, turned
from graphad.kernels.forms import IN, SCALAR, TMP, Ref
from graphad.kernels.record import Record
from graphad.kernels.sites import Site, same_size

SUM_A, SUM_B = "a", "b"


class Ending(Record):
    """The operations that a product applies to its result.

    Attributes:
      vector: The values that are added to each row of the result, or None.
      is_limited: Whether the larger one of the result and 0 is what it gives.
      sums: "a" or "b": the operand that is added up along the contracted axis, as a second result; "" for neither.
      inner: The value of the product before its ending, which has no storage; None where the ending leaves it as it is.
    """

    vector: Site | None = None
    is_limited: bool = False
    sums: str = ""
    inner: int | None = None


def ended(units: Sequence[Unit], roots: set[int], backend: Backend, relaxed: bool) -> list[Unit]:
    """Units in order, products with the loops that the backend's library may do at their end.

    Args:
      roots: The storage of the graph's outputs.
      relaxed: Whether rewrites may change the last bits, and NaN.
    """
    at: list[Unit | None] = list(units)
    readers: dict[int, list[int]] = {}
    for k, unit in enumerate(units):
        for root in {site.root for site in unit.reads}:
            readers.setdefault(root, []).append(k)
    made = {unit.writes[0]: k for k, unit in enumerate(units) if unit.kind == GEMM}
    for k, loop in enumerate(units):
        if loop.kind != LOOP or len(loop.writes) != 1:
            continue
        if loop.reduced is not None:
            for p in _with_sum(units, k, readers):
                unit, ending = units[p], _sum_of(loop, units[p])
                if unit.ending is None and ending is not None and backend.ends(ending):
                    _join(unit, loop, ending, [*unit.writes, *loop.writes])
                    at[k] = None
                    break
            continue
        for site in loop.reads:
            p = made.get(site.root, k)
            unit = units[p]
            if p == k or unit.ending is not None or site.root in roots or readers[site.root] != [k]:
                continue
            ending = _ending_of(loop, site.root)
            if ending is None or not backend.ends(ending) or (ending.is_limited and not relaxed):
                continue
            _join(unit, loop, ending, loop.writes)
            at[p], at[k] = None, unit
            break
    return [unit for unit in at if unit is not None]


def _join(unit: Unit, loop: Unit, ending: Ending, writes: Sequence[int]) -> None:
    unit.nodes = [*unit.nodes, *loop.nodes]
    unit.reads = [*unit.reads, *([] if ending.vector is None else [ending.vector])]
    unit.stages, unit.ending, unit.writes = [loop], ending, list(writes)


def _ending_of(loop: Unit, value: int) -> Ending | None:
    """The ending that a loop is for a product; None if the loop computes anything else."""
    kernel = loop_of(loop).kernel
    result: Ref | None = None
    vector: tuple[Ref, Site] | None = None
    for k, site in enumerate(loop.reads):
        if site.root == value and result is None and site.is_plain and same_shape(site.shape, loop.shape):
            result = IN, k
        elif vector is None and site.root != value and _is_vector(site, loop.shape):
            vector = (IN, k), Site(site.root, site.shape[-1:], (1,), site.offset)
        else:
            return None
    dtypes = {access.dtype for access in (*kernel.inputs, *[store.access for store in kernel.outputs])}
    if result is None or not kernel.body or len(dtypes) != 1:
        return None
    body, is_limited = list(kernel.body), False
    if vector is not None:
        first = body.pop(0)
        if first.fn != "add" or set(first.args) != {result, vector[0]}:
            return None
        result = TMP, 0
    if body:
        last = body.pop(0)
        if last.fn != "maximum" or last.args[0] != result or last.args[1][0] != SCALAR:
            return None
        limit = loop.scalars[last.args[1][1]]
        if not isinstance(limit, np.ndarray | np.generic) or limit != 0:
            return None
        is_limited, result = True, (TMP, len(kernel.body) - 1)
    if body or kernel.outputs[0].ref != result:
        return None
    return Ending(None if vector is None else vector[1], is_limited, inner=value)


def _is_vector(site: Site, shape: Sequence[object]) -> bool:
    """Whether a site has one element for each of the last axis, side by side."""
    if not site.shape or not same_size(site.shape[-1], shape[-1]) or not same_size(site.strides[-1], 1):
        return False
    return all(
        same_size(step, 0) or same_size(size, 1)
        for size, step in zip(site.shape[:-1], site.strides[:-1], strict=True)
    )


def _with_sum(units: Sequence[Unit], k: int, readers: dict[int, list[int]]) -> list[int]:
    """Where the products are that read what loop `k` reads, and before which nobody wants its result."""
    loop = units[k]
    if len(loop.reads) != 1:
        return []
    first = min(readers.get(loop.writes[0], [len(units)]))
    return [p for p in readers[loop.reads[0].root] if p < first and units[p].kind == GEMM]


def _sum_of(loop: Unit, product: Unit) -> Ending | None:
    """The ending of a product that adds up the operand as a loop does; None if the loop does anything else."""
    kernel, (summed, *_) = loop_of(loop).kernel, loop.reads
    if kernel.body or loop.reduced != (0,) or len(loop.shape) != 2 or loop.results != {loop.writes[0]: "add"}:
        return None
    if not summed.is_plain or not same_shape(summed.shape, loop.shape):
        return None
    a, b = product.reads[:2]
    which = SUM_B if b == summed else SUM_A if turned(a) == summed else ""
    return Ending(sums=which) if which else None
