"""Matrix products. The gradient is two more products, with transpose flags in place of transposed copies."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    DTypeLike,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.blame import blamed, blaming
from graphad.core.convert import lift, lift_pair
from graphad.core.dims import product
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, Op, define
from graphad.core.shapes import Dims, broadcast_dims, format_dims, is_definite, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.accumulate import widened
from graphad.ops.array.reshape import ExpandDims, Reshape, Squeeze
from graphad.ops.linalg.direct import SMALL, dot
from graphad.ops.linalg.direct import matmul as product_of_stacks
from graphad.ops.linalg.held import MadeOf, is_operator
from graphad.ops.math.cast import cast
from graphad.ops.math.complexes import CONJ
from graphad.ops.rules import NUMERIC, OF_THE_OTHER, align_stacked, require_numeric, same_dtype, unbroadcast
from graphad.ops.short import of_two


@define
class MatMul(Op):
    """y[..., i, k] is the sum over j of a[..., i, j] * b[..., j, k]; leading axes broadcast. `transpose_a` and `transpose_b`
    exchange the last two axes of an operand first.
    """

    name = "matmul"
    rounds_once = True
    total = True
    keeps_alone = OF_THE_OTHER
    transpose_a: bool = False
    transpose_b: bool = False

    def infer(self, a: TensorSpec, b: TensorSpec) -> TensorSpec:
        dtype = same_dtype("matmul", (a, b))
        require_numeric("matmul", a, "a")
        for word, x in (("a", a), ("b", b)):
            if x.dims is not None and len(x.dims) < 2:
                raise InvalidArgumentError(
                    f"matmul: {word} has shape {format_dims(x.dims)}; it must be a matrix or a stack of matrices (rank 2 or "
                    "more). Use matvec for a vector on the right, tensordot for other contractions."
                )
        if a.dims is None or b.dims is None:
            return TensorSpec.of(None, dtype)
        rows, inner = (a.dims[-1], a.dims[-2]) if self.transpose_a else (a.dims[-2], a.dims[-1])
        other, columns = (b.dims[-1], b.dims[-2]) if self.transpose_b else (b.dims[-2], b.dims[-1])
        if inner is not None and other is not None and inner != other:
            i, j = -2 if self.transpose_a else -1, -1 if self.transpose_b else -2
            raise InvalidArgumentError(
                f"matmul: inner sizes differ: a has shape {format_dims(a.dims)}, b has shape {format_dims(b.dims)}; "
                f"a.shape[{i}] must equal b.shape[{j}]."
            )
        lead = broadcast_dims("matmul", a.dims[:-2], b.dims[:-2])
        return TensorSpec.of(None if lead is None else (*lead, rows, columns), dtype)

    def eval(self, a: Array, b: Array) -> Array:
        return _product(a, b, self.transpose_a, self.transpose_b)  # type: ignore[no-any-return]

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        a_dims, b_dims = ranked(specs[0].dims), ranked(specs[1].dims)
        if not len(a_dims) == len(b_dims) == 2 or specs[0].dtype.numpy.char not in "fd":
            return None
        work = max(product(a_dims) * max(b_dims), product(b_dims) * max(a_dims))
        if not 0 < work < SMALL:
            return None
        evaluate, turn_a, turn_b = self.eval, self.transpose_a, self.transpose_b

        def small(a: Array, b: Array) -> Any:
            if type(a) is type(b) is np.ndarray:
                return (a.T if turn_a else a).dot(b.T if turn_b else b)
            return evaluate(a, b)

        return small

    def quick(self, x: Tensor, y: Tensor) -> Array | None:
        a, b = x.data, y.data
        dtype = a.dtype
        if dtype is not b.dtype or dtype.char not in "fd" or b.ndim != 2:
            return None
        if a.ndim != 2:
            return None if self.transpose_a else _rows_times(a, b.T if self.transpose_b else b)
        if self.transpose_a:
            a = a.T
        if self.transpose_b:
            b = b.T
        try:
            return a.dot(b) if a.size * b.shape[1] < SMALL else dot(a, b)
        except ValueError:
            return None  # the inner sizes differ: `infer` raises the error

    def quick_vjp(self, ctx: VjpContext, g: Array) -> Cotangents | None:
        if self.transpose_a or self.transpose_b or g.dtype.char not in "fd":
            return None
        a: Any
        b: Any
        a, b = ctx.inputs
        if g.ndim != 2:
            return _bars_of_rows(ctx, a, b, g) if len(b.dims) == 2 else None
        product = np.ndarray.dot if g.size * b.dims[0] < SMALL else dot
        return (
            EagerTensor(product(g, b.data.T)) if ctx.needs(0) else None,
            EagerTensor(product(a.data.T, g)) if ctx.needs(1) else None,
        )

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        a: Any
        b: Any
        a, b = ctx.inputs
        ta, tb = self.transpose_a, self.transpose_b
        if g.has_value and len(ranked(g.dims)) == 2 and not g.dtype.is_complex:
            # The plain case, first because it is frequent.
            return (
                (bind(_OF[tb, True], b, g) if ta else bind(_OF[False, not tb], g, b))
                if ctx.needs(0)
                else None,
                (bind(_OF[True, ta], g, a) if tb else bind(_OF[not ta, False], a, g))
                if ctx.needs(1)
                else None,
            )
        if g.dtype.is_complex:
            a = bind(CONJ, a) if ctx.needs(1) else a
            b = bind(CONJ, b) if ctx.needs(0) else b
        a_bar = b_bar = None
        if ctx.needs(0):
            a_bar = bind(MatMul(tb, True), b, g) if ta else bind(MatMul(False, not tb), g, b)
            a_bar = _to_input(ctx, 0, a_bar)
        if ctx.needs(1):
            b_bar = bind(MatMul(True, ta), g, a) if tb else _right(a, g, ta, ctx.shape(1))
            b_bar = _to_input(ctx, 1, b_bar)
        return a_bar, b_bar

    def batch(self, ctx: BatchContext, a: Ranked, b: Ranked) -> Tensor:
        if ctx.stacked(0) and not ctx.stacked(1) and len(b.dims) == 2 and not self.transpose_a:
            # One product of all rows instead of one per matrix.
            flat = bind(self, bind(Reshape((product(a.dims[:-1]), a.dims[-1])), a), b)
            return bind(Reshape((*a.dims[:-1], ranked(flat.dims)[-1])), flat)
        return bind(self, *align_stacked(ctx, (a, b)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        shapes = [spec.dims or () for spec in specs]
        if axes[0] is None and axes[1] is None:
            return None
        lead = broadcast_dims("matmul", shapes[0][:-2], shapes[1][:-2]) or ()
        found = set()
        for k, (dims, axis) in enumerate(zip(shapes, axes, strict=True)):
            if axis is None:
                continue
            place = axis - len(dims)
            if place < -2:
                if dims[axis] != lead[place + 2]:
                    return MIXED
                found.add(place)
                continue
            # The contracted axis mixes rows; so does a free axis of one operand when the other has rows too.
            free = (-1 if self.transpose_a else -2) if k == 0 else (-2 if self.transpose_b else -1)
            if place != free or axes[1 - k] is not None:
                return MIXED
            found.add(-2 if k == 0 else -1)
        return found.pop() + len(lead) + 2 if len(found) == 1 else MIXED

    def lower(self, a: TensorSpec, b: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Contract(self.transpose_a, self.transpose_b)


MATMUL = MatMul()
_OF = {(a, b): MatMul(a, b) for a in (False, True) for b in (False, True)}


def _rows_times(a: Array, b: Array) -> Array | None:
    """The product of a stack of matrices and one matrix, as `_product` has it: one product of all rows."""
    if a.ndim < 3 or not a.size or not a.flags.c_contiguous:
        return None
    rows = a.reshape(-1, a.shape[-1])
    try:
        y = rows.dot(b) if a.size * b.shape[1] < SMALL else dot(rows, b)
    except ValueError:
        return None  # the inner sizes differ
    return y.reshape(*a.shape[:-1], b.shape[1])


def _bars_of_rows(ctx: VjpContext, a: Any, b: Any, g: Array) -> Cotangents | None:
    """The cotangents of such a product, the same ones."""
    if g.ndim < 3 or not g.size or not g.flags.c_contiguous:
        return None
    rows = g.reshape(-1, g.shape[-1])
    product = np.ndarray.dot if g.size * b.dims[0] < SMALL else dot
    a_bar = b_bar = None
    if ctx.needs(0):
        a_bar = EagerTensor(product(rows, b.data.T).reshape(*g.shape[:-1], b.dims[0]))
    if ctx.needs(1):
        b_bar = EagerTensor(product(a.data.reshape(-1, b.dims[0]).T, rows))
    return a_bar, b_bar


def _product(a: Array, b: Array, transpose_a: bool, transpose_b: bool) -> Any:
    """The product; half precision is accumulated in float32."""
    dtype = a.dtype
    a, b = widened(a), widened(b)
    if transpose_a:
        a = np.swapaxes(a, -1, -2)
    if transpose_b:
        b = np.swapaxes(b, -1, -2)
    if b.ndim == 2 and a.ndim > 2 and a.flags.c_contiguous and a.size:
        y = product_of_stacks(a.reshape(-1, a.shape[-1]), b).reshape((*a.shape[:-1], b.shape[-1]))
    else:
        y = product_of_stacks(a, b)
    return y if y.dtype is dtype else y.astype(dtype)


def _to_input(ctx: VjpContext, i: int, g: Tensor) -> Tensor:
    """The cotangent summed over leading axes along which input i was repeated."""
    a, b = ctx.shape(0), ctx.shape(1)
    if a is not None and b is not None and len(a) == 2 and len(b) == 2:
        return g
    return unbroadcast(ctx, i, g)


def _right(a: Tensor, g: Tensor, transpose_a: bool, dims: Dims) -> Tensor:
    """The cotangent of b in y = a b. If one matrix b serves a stack of a's, one long product sums over the stack."""
    if (
        dims is not None
        and len(dims) == 2
        and not transpose_a
        and is_definite(a.dims)
        and len(a.dims) > 2
        and is_definite(g.dims)
    ):
        a = bind(Reshape((product(a.dims[:-1]), a.dims[-1])), a)
        g = bind(Reshape((product(g.dims[:-1]), g.dims[-1])), g)
    return bind(MatMul(not transpose_a, False), a, g)


def times(a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False) -> Tensor:
    """The product of tensors with flags that transpose and, for complex dtypes, conjugate."""
    if a.dtype.is_complex:
        a = bind(CONJ, a) if adjoint_a else a
        b = bind(CONJ, b) if adjoint_b else b
    return bind(MatMul(adjoint_a, adjoint_b), a, b)


def adjoint(x: Tensor) -> Tensor:
    """The last two axes exchanged, and conjugated for complex dtypes."""
    # Few programs need the module.
    y: Tensor = importlib.import_module("graphad.ops.array.transpose").swap_axes(x, -1, -2)
    return bind(CONJ, y) if x.dtype.is_complex else y


def product_of_arrays(a: Array, b: Array) -> Any:
    """The product of NumPy values. Raises: ValueError: they are no matrices or stacks of them, or the sizes differ."""
    if a.ndim == 2 == b.ndim and a.dtype.char in "fd":
        return a.dot(b) if a.size * b.shape[1] < SMALL else dot(a, b)
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError("the usual way has the words for it")
    return _product(a, b, False, False)


def _of_any(a: Any, b: Any) -> Tensor:
    if isinstance(a, MadeOf) or isinstance(b, MadeOf):  # as `is_operator` says, without two calls
        return _of_operators(a, b, False, False)  # type: ignore[no-any-return]
    return bind(MATMUL, *lift_pair("matmul", a, b))


def _of_operators(a: Any, b: Any, adjoint_a: bool, adjoint_b: bool) -> Any:
    """The product where an operand is a linear operator."""
    if is_operator(a):
        return a.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b)
    return adjoint(b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a))


plain_product = of_two(product_of_arrays, NUMERIC, _of_any)


def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: DTypeLike | None = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The matrix product of `a` and `b`, over leading axes that broadcast.

    Args:
      a: Tensor [..., n, k], any numeric dtype, or a `LinearOperator`.
      b: Tensor [..., k, m] of the same dtype, or a `LinearOperator`.
      transpose_a, transpose_b: Exchange the last two axes of an operand first.
      adjoint_a, adjoint_b: Exchange them and conjugate.
      a_is_sparse, b_is_sparse, grad_a, grad_b: Accepted for compatibility; they change nothing.
      output_type: The dtype in which the product is computed and returned; that of the operands by default.
    Returns: Tensor [..., n, m]; of two operators an operator.
    Raises: InvalidArgumentError: an operand is a vector or scalar, or the inner sizes differ.
    Example:
      >>> matmul([[1.0, 2.0]], [[3.0], [4.0]]).numpy()
      array([[11.]], dtype=float32)
    """
    if output_type is not None:
        a, b = lift_pair("matmul", a, b)
        a, b = cast(a, output_type), cast(b, output_type)
    try:
        if transpose_a or transpose_b or adjoint_a or adjoint_b:
            return _general(a, b, transpose_a, transpose_b, adjoint_a, adjoint_b)
    except Exception as error:  # as `blaming` does, without a further call for the usual product
        raise blamed(matmul, (a, b, transpose_a, transpose_b, adjoint_a, adjoint_b), {}, error)  # noqa: B904 - it is the same error, or has its cause
    return plain_product(a, b)


def _general(a: Any, b: Any, ta: bool, tb: bool, aa: bool, ab: bool) -> Tensor:
    if (ta and aa) or (tb and ab):
        word = "a" if ta and aa else "b"
        raise InvalidArgumentError(
            f"matmul: Only one of `transpose_{word}` and `adjoint_{word}` can be True; an adjoint is transposed already."
        )
    if is_operator(a) or is_operator(b):
        if ta or tb:
            raise InvalidArgumentError(
                "matmul: a linear operator has an adjoint and no transpose; use adjoint_a or adjoint_b."
            )
        return _of_operators(a, b, aa, ab)  # type: ignore[no-any-return]
    a, b = lift_pair("matmul", a, b)
    if aa and a.dtype.is_complex:
        a = bind(CONJ, a)
    if ab and b.dtype.is_complex:
        b = bind(CONJ, b)
    return bind(MatMul(bool(ta or aa), bool(tb or ab)), a, b)


@blaming
def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of a matrix and a vector, over leading axes that broadcast.

    Args:
      a: Tensor [..., n, k] of any numeric dtype.
      b: Tensor [..., k] of the same dtype.
      transpose_a, adjoint_a: Exchange the last two axes of the matrix first; `adjoint_a` conjugates too.
      a_is_sparse, b_is_sparse: Accepted for compatibility; they change nothing.
    Returns: Tensor [..., n].
    Raises: InvalidArgumentError (a ValueError): the sizes do not fit; DTypeError (a TypeError): dtypes that differ.
    Example:
      >>> linalg.matvec([[1, 2], [3, 4]], [1, 1]).numpy()
      array([3, 7], dtype=int32)
    """
    if is_operator(a):
        return matmul(a, bind(ExpandDims((-1,)), lift(b)), transpose_a, adjoint_a=adjoint_a)[..., 0]
    a, b = lift_pair("matvec", a, b)
    if b.dims is not None and not b.dims:
        raise InvalidArgumentError("matvec: b is a scalar; it must have rank 1 or more.")
    y = _general(a, bind(ExpandDims((-1,)), b), transpose_a, False, adjoint_a, False)
    return bind(Squeeze((-1,)), y)
