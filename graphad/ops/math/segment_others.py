"""Products of all other members of a segment: derivatives of segment products of every order, without a division.

With directions c1, c2, ... the members are polynomials x + c1 t1 + c2 t2 + ..., and the result is the coefficient of t1 t2 ...
in the product of the others. The derivative by x has the cotangent as a further direction; the derivative by a direction has
the cotangent in place of that direction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, BatchContext, Cotangents, Ranked, RowAxes, RowAxis, VjpContext
from graphad.core.bind import bind
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import require_kind, require_same_dtype
from graphad.core.op import MIXED, Op, define, no_form
from graphad.core.schema import Count, IntegerSpec
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import as_dtype_of, widened
from graphad.ops.array.order import stable_order
from graphad.ops.array.support import all_stacked
from graphad.ops.math.complexes import conjugate
from graphad.ops.rules import NUMERIC

if TYPE_CHECKING:
    from graphad.devices.array import DeviceArray


Polynomial = dict[
    int, Any
]  # from a set of directions, as a bit mask, to its coefficients; a missing one is 0


@define
class SegmentOthers(Op):
    """y[b, i, k] is the sum, over all ways to choose a member j(m) for each direction, all different and none i, of the product
    of the directions[m][b, j(m), k] and of data[b, j, k] of all members j that are neither chosen nor i; without directions it
    is the product of all other members. Members of the segment of i are the j with ids[b, j] = ids[b, i]; where the id is
    negative, y is 0. b stands for `batch_dims` axes; the shape of ids is the first part of that of data, and i stands for its
    axes after b.
    """

    name = "segment_others"
    words = {"ids": "segment_ids"}
    keeps = (True, False)
    takes_symbols = False
    batch_dims: Count = 0
    lower = no_form("the members of a segment are found by sorting")

    def infer(self, data: TensorSpec, ids: IntegerSpec, *directions: TensorSpec) -> TensorSpec:
        require_kind(self.name, data, NUMERIC, "data")
        dims = data.dims
        for direction in directions:
            require_same_dtype(self.name, data, direction, ("data", "a direction"))
            if not are_compatible(dims, direction.dims):
                raise InvalidArgumentError(
                    f"{self.name}: data has shape {format_dims(dims)}, a direction {format_dims(direction.dims)}; they must be "
                    "equal."
                )
        if dims is not None and ids.dims is not None and not are_compatible(dims[: len(ids.dims)], ids.dims):
            raise InvalidArgumentError(
                f"{self.name}: data has shape {format_dims(dims)}, segment_ids {format_dims(ids.dims)}; the shape of "
                "segment_ids must be the first part of the shape of data."
            )
        return data

    def eval(self, data: Array, ids: Array, *directions: Array) -> Array:
        lead, tail = np.shape(ids)[: self.batch_dims], np.shape(data)[np.ndim(ids) :]
        flat = np.reshape(ids, (math.prod(lead), math.prod(np.shape(ids)[self.batch_dims :])))
        if not directions and len(lead) == 0 and not tail:
            found = _by_division(np.reshape(data, -1), flat[0])
            if found is not None:
                return found.reshape(np.shape(data))  # type: ignore[no-any-return]
        out = arrays.zeros((*flat.shape, *tail), data.dtype, data)
        row, column = np.nonzero(flat >= 0)
        if len(row):
            at = row * (int(flat.max()) + 1) + flat[row, column]
            order = stable_order(at)
            row, column, at = row[order], column[order], at[order]

            def members(x: DeviceArray | Array) -> Any:
                return widened(np.reshape(x, out.shape)[row, column])

            polynomial = {0: members(data)}
            polynomial |= {1 << m: members(c) for m, c in enumerate(directions)}
            before = _running(polynomial, _places(at))
            reverse = {s: x[::-1] for s, x in polynomial.items()}
            behind = {s: x[::-1] for s, x in _running(reverse, _places(at[::-1])).items()}
            found = _factor(before, behind, (1 << len(directions)) - 1)
            out[row, column] = 0 if found is None else as_dtype_of(found, data)
        return out.reshape(np.shape(data))

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        x, ids, *directions = ctx.inputs
        x, directions = conjugate(x), [conjugate(c) for c in directions]
        out: list[Any] = [bind(self, x, ids, *directions, g) if ctx.needs(0) else None, None]
        for m in range(len(directions)):
            others = [c for k, c in enumerate(directions) if k != m]
            out.append(bind(self, x, ids, *others, g) if ctx.needs(m + 2) else None)
        return tuple(out)

    def batch(self, ctx: BatchContext, data: Ranked, ids: Ranked, *directions: Ranked) -> Tensor:
        return bind(SegmentOthers(self.batch_dims + 1), *all_stacked(ctx, (data, ids, *directions)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        data, ids = {axes[0], *axes[2:]} - {None}, axes[1]
        if not data:
            return None if ids is None else MIXED
        axis = data.pop()
        if data or not isinstance(axis, int):
            return MIXED
        if axis < self.batch_dims and ids in (None, axis):
            return axis
        return axis if ids is None and axis >= len(specs[1].dims or ()) else MIXED


_DIVIDED = 64  # members; fewer are as quick without


def _by_division(x: Array, ids: Any) -> Any:
    """The product of each segment divided by each of its members; None if one is zero, or a product is near a limit of float64,
    or for other dtypes than floats.
    """
    if x.size < _DIVIDED or x.dtype.kind != "f" or (ids < 0).any():
        return None
    wide = x.astype(np.float64)
    if not np.minimum.reduce(np.abs(wide)) > 0:
        return None
    products = arrays.full(int(ids.max()) + 1, 1.0, np.float64, x)
    with np.errstate(all="ignore"):
        np.multiply.at(products, ids, wide)
    sizes = np.abs(products)
    if not (np.minimum.reduce(sizes) >= _LEAST and np.maximum.reduce(sizes) <= 1 / _LEAST):
        return None
    found = np.take(products, ids, mode="clip")
    found /= wide
    with np.errstate(all="ignore"):  # what is too large for the dtype is infinite there
        return found.astype(x.dtype)


_LEAST = 1e-200  # products that have all of their digits, and whose quotients have


def _places(at: Any) -> Array:
    """For members sorted by segment, the position of each within its segment."""
    every = arrays.arange(0, len(at), np.int64, at)
    starts = arrays.full(len(at), True, np.bool_, at)
    starts[1:] = at[1:] != at[:-1]
    first = np.maximum.accumulate(np.where(starts, every, 0))
    return every - first


def _running(polynomial: Polynomial, place: Array) -> Polynomial:
    """The product of all members before each one, combined from spans of 1, 2, 4, ... members."""
    product = {s: x.copy() for s, x in polynomial.items()}
    span, most = 1, int(place.max())
    while span <= most:
        (here,) = np.nonzero(place >= span)
        left = {s: x[here - span] for s, x in product.items()}
        right = {s: x[here] for s, x in product.items()}
        for s in _sums(product):
            found = _factor(left, right, s)
            if found is not None:
                product.setdefault(s, np.zeros_like(product[0]))[here] = found
        span *= 2
    (later,) = np.nonzero(place > 0)
    out = {}
    for s, x in product.items():
        out[s] = np.full_like(x, 0 if s else 1)
        out[s][later] = x[later - 1]
    return out


def _sums(product: Polynomial) -> list[int]:
    return sorted({a | b for a in product for b in product if not a & b})


def _factor(a: Polynomial, b: Polynomial, s: int) -> Any:
    """The coefficients of one set of directions in a product, None for 0."""
    found = None
    for part, x in a.items():
        if part & ~s or s & ~part not in b:
            continue
        term = x * b[s & ~part]
        found = term if found is None else found + term
    return found
