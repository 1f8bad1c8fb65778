"""What a mask takes, in terms of a slice whose size the run finds.

before:  %2 = boolean_mask(%0, %1), of shape [?, 3]
after:   %2 = cumsum(%1);  %3 = the rows of %0 at the places %2 - 1, those that are left out behind all others;  %4 = %3[:%2[-1]]

For `assume.py`, which gives the slice a symbol. The transpose looks up the places, and 0 where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import product
from graphad.core.dtypes import int32
from graphad.core.op import Op
from graphad.core.references import AT
from graphad.core.shapes import is_definite
from graphad.ops.array.broadcast import BroadcastTo
from graphad.ops.array.masks import BooleanMask, BooleanMaskGrad
from graphad.ops.array.reshape import Reshape
from graphad.ops.array.scatter import SegmentGather, TensorScatterUpdate
from graphad.ops.array.shape import SizeVector
from graphad.ops.array.slice import GetItem
from graphad.ops.math.arithmetic import SUB
from graphad.ops.math.cast import Cast
from graphad.ops.math.compare import NOT_EQUAL
from graphad.ops.math.cumulative import CumSum
from graphad.ops.math.select import SELECT, WhereIndices

_MOST_POSITIONS = 4096  # of which the coordinates are a constant


class Masks:
    """Replaces ops of one graph. `same` gives what is equal for values that certainly are."""

    def __init__(self, same: Callable[[Any], Hashable]) -> None:
        self._same = same
        self._sizes: dict[Hashable, Any] = {}  # how many elements of a mask are true
        self._rules: dict[Any, Callable[..., Any]] = {
            BooleanMask: self._taken,
            BooleanMaskGrad: self._put_back,
            WhereIndices: self._positions,
        }

    def in_slices(self, op: Op, inputs: Any) -> Any:
        """The result of an op in terms of others; None where it stays."""
        rule = self._rules.get(op.op_class)
        return None if rule is None or not all(is_definite(x.dims) for x in inputs) else rule(op, *inputs)

    def _taken(self, op: Any, x: Any, mask: Any) -> Any:
        if op.axis % max(len(x.dims), 1) or (type(mask.dims[0]) is int and not mask.dims[0]):
            return None
        return self._compacted(bind(Reshape((product(mask.dims), *x.dims[len(mask.dims) :])), x), mask)

    def _put_back(self, op: Any, g: Any, mask: Any) -> Any:
        size = self._sizes.get(self._same(mask))
        if op.axis or size is None or size.terms != getattr(g.dims[0], "terms", None):
            return None  # it has to raise where g has another size
        places, _ = _places(mask, lift(np.int32(-1)))
        return bind(Reshape((*mask.dims, *g.dims[1:])), bind(SegmentGather(), g, places))

    def _positions(self, op: Any, x: Any) -> Any:
        count = product(x.dims)
        if not x.dims or type(count) is not int or not 0 < count <= _MOST_POSITIONS:
            return None
        mask = x if x.dtype.is_bool else bind(NOT_EQUAL, x, lift(np.zeros((), x.dtype.numpy)))
        return self._compacted(lift(np.stack(np.unravel_index(np.arange(count), x.dims), 1)), mask)

    def _compacted(self, rows: Any, mask: Any) -> Any:
        """The rows at which a mask is true."""
        count = rows.dims[0]
        places, ends = _places(mask, bind(SizeVector((count,), int32, True)))
        empty = bind(BroadcastTo((count + 1, *rows.dims[1:])), lift(np.zeros((), rows.dtype.numpy)))
        moved = bind(TensorScatterUpdate(), empty, bind(Reshape((count, 1)), places), rows)
        found = bind(GetItem((("slice", None, (AT, 1), None, None),)), moved, bind(GetItem((-1,)), ends))
        self._sizes[self._same(mask)] = found.dims[0]
        return found


def _places(mask: Any, other: Any) -> tuple[Any, Any]:
    """For each element of a mask how many true ones are before it, `other` where it is false; and how many there are up to it."""
    flat = bind(Reshape((product(mask.dims),)), mask)
    ends = bind(CumSum(0), bind(Cast(int32), flat))
    return bind(SELECT, flat, bind(SUB, ends, lift(np.int32(1))), other), ends
