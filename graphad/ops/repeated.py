"""Cotangents of operands that were repeated: sums of products, without an array of the products."""

from __future__ import annotations

from graphad.core.annotations import VjpContext
from graphad.core.bind import bind
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
    """The same for a column and a row that were repeated to a matrix: its product with the other one."""
    if len(ranked(g.dims)) != 2 or 1 in ranked(g.dims):
        return None
    rows, columns = ranked(g.dims)
    if want == (rows, 1) and f.dims == (1, columns):
        return bind(lookup("matmul")(False, True), g, f)  # type: ignore[no-any-return]
    if want == (1, columns) and f.dims == (rows, 1):
        return bind(lookup("matmul")(True, False), f, g)  # type: ignore[no-any-return]
    return None


def _sum_to(want: tuple[RawSize, ...], have: tuple[RawSize, ...]) -> Op | None:
    """The sum of products of arrays of shape `have` whose result has the shape `want`; None where its axes are not all kept or
    all dropped."""
    axes = summed_axes(have, want)
    if len(want) == len(have):
        return lookup("sum_of_products")(axes, True)  # type: ignore[no-any-return]
    if len(axes) == len(have) - len(want):
        return lookup("sum_of_products")(axes, False)  # type: ignore[no-any-return]
    return None
