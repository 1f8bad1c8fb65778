"""The cotangent of a part, added where it belongs: to that of the whole, without an array of zeros around it."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from graphad.core.annotations import Array, VjpContext
from graphad.core.ieee import heard, hush, unhush
from graphad.ops.array.keys import normal_key, steps_key

_MANY, _SHORT = 4096, 64  # elements of all, and of a line


def add_part(op: Any, ctx: VjpContext, g: Array, into: np.ndarray) -> bool:
    """Add g, the cotangent of the part of x at `op.key`, to that of x; the bits are those of a sum with zeros around g.

    Returns: False, with nothing added, where the part has steps.
    """
    key = op.with_numbers([x.data for x in ctx.inputs[1:]])[0] if op.refers else op.key
    starts, strides, sizes = normal_key(key, into.shape)
    if strides.count(1) != len(strides):
        return False
    settings = heard()
    try:
        hush()  # a report would come when half of the sum is there
        where = steps_key(starts, strides, sizes)
        if into.size >= _MANY and sizes and sizes[-1] < into.shape[-1] <= _SHORT:
            # Lines so short that a pass over the parts beside them takes longer than one over all.
            total = into[where] + np.reshape(g, sizes)
            into += into.dtype.type(0)
            into[where] = total
            return True
        inner: list[builtins.slice] = []
        for start, size, whole in zip(starts, sizes, into.shape, strict=True):
            for a, b in ((0, start), (start + size, whole)):
                if a < b:
                    around = into[(*inner, builtins.slice(a, b))]
                    around += around.dtype.type(0)  # -0.0 and 0.0 are 0.0
            inner.append(builtins.slice(start, start + size))
        part = into[where]
        part += np.reshape(g, sizes)
    finally:
        unhush(settings)
    return True
