"""Numbers that are known while a function is traced: sizes, eager tensors of few integers, and what is computed from them.

Floats between integers count too if they are computed from a known size, as in `cast(ceil(n / 2), int32)`, and so do truth
values, as in `where(k < 0, k + n, k)`. The nodes stay in the graph; a use as a shape, an axis or a limit looks the value up. So
the body of a loop may slice by the sizes of its operands, and a shape assembled from known and unknown sizes keeps the known
ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from graphad.core.dims import UNKNOWN
from graphad.core.errors import GraphadError
from graphad.core.op import Op, in_tuple
from graphad.core.rule_errors import RAW_ERRORS
from graphad.core.shapes import are_numbers
from graphad.core.spec import TensorSpec
from graphad.graph.builder import GraphBuilder

if TYPE_CHECKING:
    from graphad.core.annotations import Array


MOST = 64  # elements; a longer vector does not hold sizes
_ROUNDED = int(np.float32(UNKNOWN))  # UNKNOWN after a cast to float32


def learn(
    builder: GraphBuilder, op: Op, serials: Sequence[int], specs: Sequence[TensorSpec], start: int
) -> None:
    """Record the numbers that a node computes, where they are known."""
    if op.gives_sizes:
        dims = builder.specs[serials[0]].dims
        if dims is not None:
            sizes = np.array([size if type(size) is int else UNKNOWN for size in dims], np.int64)
            given = sizes.astype(specs[0].dtype.numpy)
            # a narrow dtype may be too small for sizes and for UNKNOWN
            if np.array_equal(given, sizes):
                note(builder, start, given)
        return
    if op.effects or op.structured or op.transient or not serials:
        return
    values = []
    unknown = 0
    comes_from_sizes = False
    for serial in serials:
        value = builder.values.get(serial)
        if value is None:
            value = builder.folded.get(serial)
            comes_from_sizes |= value is not None
        if value is None and op.moves:  # beside known sizes, the value stands for as many unknown ones
            unknown += 1
            value = _unknown(builder.specs[serial])
        if value is None or value.dtype.kind not in "biuf" or value.size > MOST:
            return
        values.append(value)
    if unknown == len(values) or not (comes_from_sizes or all(x.dtype.kind in "biu" for x in values)):
        return
    if any(_has_many(spec) for spec in specs):
        return
    # Moved elements may be unknown, but positions must be known.
    decisive = values[len(values) - op.given :] if op.moves else values
    if any(np.any(value == UNKNOWN) for value in decisive):
        return
    try:
        with np.errstate(all="ignore"):
            outputs = in_tuple(op, op.eval(*values))
    except (GraphadError, *RAW_ERRORS):
        return  # the node stays in the graph, and raises the same error when it runs
    has_unknown = any(np.any(value == UNKNOWN) for value in values)
    for k, (y, spec) in enumerate(zip(outputs, specs, strict=True)):
        if getattr(y, "dtype", None) != spec.dtype.numpy or (has_unknown and not _holds_unknown(y.dtype)):
            continue  # a cast to bool or unsigned integers makes UNKNOWN an ordinary number
        if has_unknown and y.dtype.kind == "i":
            y = np.where(y == _ROUNDED, y.dtype.type(UNKNOWN), y)
        note(builder, start + k, y)


def _holds_unknown(dtype: np.dtype) -> bool:
    return dtype.kind in "if" and dtype.itemsize >= 4


def _has_many(spec: TensorSpec) -> bool:
    """Whether it is known to have more elements than a vector of sizes."""
    return spec.dims is not None and are_numbers(spec.dims) and math.prod(spec.dims) > MOST


def _unknown(spec: TensorSpec) -> Array | None:
    """Stands for integers that are known only at run time, None if their number is not known either."""
    dims, dtype = spec.dims, spec.dtype.numpy
    if dtype.kind != "i" or dtype.itemsize < 4 or dims is None or not are_numbers(dims):
        return None
    return np.full(dims, UNKNOWN, dtype) if math.prod(dims) <= MOST else None


def note(builder: GraphBuilder, serial: int, value: Array) -> None:
    """Record the numbers of a value, if they may be sizes or lead to some."""
    # narrower integers cannot hold UNKNOWN; results of comparisons of sizes do not contain it
    kind = value.dtype.kind
    if value.size <= MOST and (kind == "b" or (value.dtype.itemsize >= 4 and kind in "iuf")):
        builder.folded[serial] = value
