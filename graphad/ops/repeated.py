"""Cotangents of operands that were repeated: sums of products, without an array of the products."""

from __future__ import annotations

from graphad.core.annotations import VjpContext
from graphad.core.bind import bind
from graphad.core.dims import product
from graphad.core.dtypes import float32, float64
from graphad.core.op import Op
from graphad.core.registry import lookup
from graphad.core.shapes import Dims, RawSize, ranked
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import summed_axes
from graphad.ops.directly import is_eager, is_finite


def summed_products(ctx: VjpContext, i: int, g: Tensor, f: Tensor, zeros_stay: bool) -> Tensor | None:
    """The products of two tensors summed to the shape of input i, of values at hand; None for others.

    Args:
      zeros_stay: Whether a product is 0 where g is, whatever f is. Where the sums are finite, it is so by itself.
    """
    want = ctx.shape(i)
    if want is None or g.dims is None or g.dims == want or not (is_eager(g) and is_eager(f)):
        return None
    if g.dtype is not f.dtype or g.dtype not in (float32, float64):
        return None
    if g.dims == f.dims:
        op = _sum_to(want, g.dims)
        found = None if op is None else bind(op, g, f)
    else:
        found = _by_matrix(g, f, want)
    return None if found is None or (zeros_stay and not is_finite(found)) else found


def _by_matrix(g: Tensor, f: Tensor, want: Dims) -> Tensor | None:
    """The same for operands that were repeated along each other's axes, as a column and a row are to a matrix: the product of a
    matrix, with the axes of the one as its rows, with the other one."""
    have, given = ranked(g.dims), ranked(f.dims)
    if want is None or not len(want) == len(given) == len(have):
        return None
    kept, summed = [], []
    for k, size in enumerate(have):
        if want[k] == size and given[k] == 1:
            kept.append(k)
        elif want[k] == 1 and given[k] == size:
            summed.append(k)
        else:
            return None
    rows, columns = (product([have[k] for k in axes]) for axes in (kept, summed))
    if rows < _FEWEST or columns < _FEWEST:
        return None
    is_turned = max(summed) < min(kept)  # then it lies in memory as the transpose does
    shape = (columns, rows) if is_turned else (rows, columns)
    if not is_turned and max(kept) > min(summed):
        g = bind(lookup("transpose")((*kept, *summed)), g)
    matrix = bind(lookup("reshape")(shape), g)
    vector = bind(lookup("reshape")((columns, 1)), f)
    return bind(lookup("reshape")(want), bind(lookup("matmul")(is_turned, False), matrix, vector))  # type: ignore[no-any-return]


_FEWEST = 2  # rows and columns of a matrix


def _sum_to(want: tuple[RawSize, ...], have: tuple[RawSize, ...]) -> Op | None:
    """The sum of products of arrays of shape `have` whose result has the shape `want`; None where its axes are not all kept or
    all dropped."""
    axes = summed_axes(have, want)
    if len(want) == len(have):
        return lookup("sum_of_products")(axes, True)  # type: ignore[no-any-return]
    if len(axes) == len(have) - len(want):
        return lookup("sum_of_products")(axes, False)  # type: ignore[no-any-return]
    return None
