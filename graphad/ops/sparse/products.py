"""Products of a sparse matrix given by its rows, and a dense one: what a tape records of them.

The places of the values are two vectors: the column of each, row by row, and where each row begins among them. The derivative by
the values is a product of rows and columns at these places alone, and the other way round, so two ops have all derivatives of
both.
"""

from __future__ import annotations

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, Cotangents, VjpContext
from graphad.core.bind import bind
from graphad.core.dtypes import float32, float64
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import require_one_of
from graphad.core.op import Op, define, no_batch, no_form, no_rows
from graphad.core.schema import Count, IndexSpec, IntegerSpec
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.accumulate import add_at, summed
from graphad.ops.rules import same_dtype

_BLOCK = 1 << 14  # values, whose rows stay in the cache


def _require(op: str, columns: TensorSpec, starts: TensorSpec, *others: TensorSpec, rank: int) -> None:
    """Raises: DTypeError, InvalidArgumentError: dtypes or ranks that do not fit; `rank` is that of the first of the others."""
    require_one_of(op, same_dtype(op, others), (float32, float64), "the dtype")
    for spec, wanted in zip((columns, starts, *others), (1, 1, rank, 2), strict=True):
        if spec.dims is not None and len(spec.dims) != wanted:
            raise InvalidArgumentError(
                f"{op}: a part has shape {format_dims(spec.dims)}; it must have rank {wanted}."
            )


def _counts(op: str, columns: Array, starts: Array, n: int, width: int) -> np.ndarray:
    """The number of values of each row. Raises: InvalidArgumentError: the places are none of a matrix with so many columns."""
    if len(columns) != n or not len(starts) or starts[0] != 0 or starts[-1] != n:
        raise InvalidArgumentError(
            f"{op}: rows begin at {np.asarray(starts[:1]).tolist()} and end at {np.asarray(starts[-1:]).tolist()}, with "
            f"{len(columns)} columns; there are {n} values, which must be divided among the rows from 0 on."
        )
    counts: np.ndarray = starts[1:] - starts[:-1]
    if counts.size and counts.min() < 0:
        raise InvalidArgumentError(f"{op}: row {int(np.argmin(counts))} ends before it begins.")
    if n and columns.view(f"u{columns.itemsize}").max() >= width:  # as large as can be if negative
        raise InvalidArgumentError(f"{op}: a column is not in [0, {width}).")
    return counts


_ROWS = "how many values each row of a sparse matrix has is in the data"


@define
class SparseProduct(Op):
    """A b for the sparse matrix A with `width` columns, or its transpose times b if `adjoint`. Inputs: the values of A row by
    row, the column of each, where each row begins among them and at the end their number, and b. Products are added value by
    value, as they follow each other.
    """

    name = "sparse_product"
    adjoint: bool
    width: Count
    lower = no_form(_ROWS)

    def infer(self, values: TensorSpec, columns: IndexSpec, starts: IntegerSpec, b: TensorSpec) -> TensorSpec:
        _require("sparse_product", columns, starts, values, b, rank=1)
        height = None if starts.dims is None or starts.dims[0] is None else starts.dims[0] - 1
        count, inner = (self.width, height) if self.adjoint else (height, self.width)
        if not are_compatible(b.dims, (inner, None)):
            raise InvalidArgumentError(
                f"sparse_product: b has shape {format_dims(b.dims)}; its first size must be {inner}."
            )
        return b.with_dims((count, None if b.dims is None else b.dims[1]))

    def eval(self, values: Array, columns: Array, starts: Array, b: Array) -> Array:
        counts = _counts("sparse_product", columns, starts, len(values), self.width)
        scipy = library.sparse() if arrays.is_here(values) else None
        if scipy is not None:
            matrix = scipy.csr_array((values, columns, starts), shape=(len(counts), self.width))
            y: Array = (matrix.T if self.adjoint else matrix) @ b
            return y
        rows = np.repeat(arrays.arange(0, len(counts), np.int64, values), counts)
        to, of = (columns, rows) if self.adjoint else (rows, columns)
        out = arrays.zeros((self.width if self.adjoint else len(counts), b.shape[1]), b.dtype, b)
        add_at(out, to, np.take(b, of, 0) * values[:, None])
        return out

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        values, columns, starts, b = ctx.inputs
        values_bar = b_bar = None
        if ctx.needs(0):
            by_row, by_column = (b, g) if self.adjoint else (g, b)
            values_bar = bind(ProductsAt(self.width), columns, starts, by_row, by_column)
        if ctx.needs(3):
            b_bar = bind(SparseProduct(not self.adjoint, self.width), values, columns, starts, g)
        return values_bar, None, None, b_bar

    batch = no_batch("SciPy multiplies one sparse matrix at a time")
    rows = no_rows("the places of all rows share one list")


@define
class ProductsAt(Op):
    """The elements of a b^T at the places of a sparse matrix with `width` columns. Inputs: the column of each place, row by row,
    where each row begins among them and at the end their number, a with a row for each row and b with one for each column.
    """

    name = "products_at"
    width: Count
    lower = no_form(_ROWS)

    def infer(self, columns: IndexSpec, starts: IntegerSpec, a: TensorSpec, b: TensorSpec) -> TensorSpec:
        _require("products_at", columns, starts, a, b, rank=2)
        height = None if starts.dims is None or starts.dims[0] is None else starts.dims[0] - 1
        inner = None if b.dims is None else b.dims[1]
        if not (are_compatible(a.dims, (height, inner)) and are_compatible(b.dims, (self.width, None))):
            raise InvalidArgumentError(
                f"products_at: a and b have shapes {format_dims(a.dims)} and {format_dims(b.dims)}; for {height} rows and "
                f"{self.width} columns they must have as many, and one second size."
            )
        return a.with_dims(columns.dims)

    def eval(self, columns: Array, starts: Array, a: Array, b: Array) -> Array:
        n = len(columns)
        counts = _counts("products_at", columns, starts, n, self.width)
        if a.shape[1] == 1:
            single = np.repeat(a[:, 0], counts)
            single *= np.take(b[:, 0], columns) if self.width != 1 else b[0, 0]
            return single
        out, by_row = arrays.empty(n, a.dtype, a), np.repeat(a, counts, 0)
        for first in range(0, n, _BLOCK):
            part = slice(first, first + _BLOCK)
            products = np.take(b, columns[part], 0)
            products *= by_row[part]
            out[part] = summed(products, (1,))
        return out

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        columns, starts, a, b = ctx.inputs
        a_bar = b_bar = None
        if ctx.needs(2):
            a_bar = bind(SparseProduct(False, self.width), g, columns, starts, b)
        if ctx.needs(3):
            b_bar = bind(SparseProduct(True, self.width), g, columns, starts, a)
        return None, None, a_bar, b_bar

    batch = no_batch("the places are those of one matrix")
    rows = no_rows("the places of all rows share one list")
