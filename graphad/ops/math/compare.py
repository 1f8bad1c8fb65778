"""Comparisons and logic: ops whose result is bool. None of them has a gradient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphad.core.annotations import Array, BatchContext, FoldContext, Ranked, RowAxes, RowAxis
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import run_time_symbols
from graphad.core.dtypes import bool_
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import Op, define, no_form, no_gradient
from graphad.core.shapes import Dims, broadcast_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.elementwise import binary_function, comparison, unary_function
from graphad.ops.rules import (
    ANY,
    BOOLEAN,
    INEXACT,
    REAL,
    align_stacked,
    elementwise_rows,
    same_dtype,
)

_constant = no_gradient("a truth value is piecewise constant")

Equal = comparison(
    "equal",
    lambda x, y: np.equal(x, y),
    _constant,
    ANY,
    "eq",
    applied=np.equal,
    doc="x = y; NaN equals nothing.",
)
NotEqual = comparison(
    "not_equal", lambda x, y: np.not_equal(x, y), _constant, ANY, "ne", applied=np.not_equal, doc="Not x = y."
)
Less = comparison(
    "less",
    lambda x, y: np.less(x, y),
    _constant,
    REAL,
    "lt",
    doc="x < y, false for NaN.",
    infix="{} < {}",
    compares=("<", 0),
)
LessEqual = comparison(
    "less_equal",
    lambda x, y: np.less_equal(x, y),
    _constant,
    REAL,
    "le",
    doc="x <= y, false for NaN.",
    infix="{} <= {}",
    compares=("<", 1),
)
Greater = comparison(
    "greater",
    lambda x, y: np.greater(x, y),
    _constant,
    REAL,
    "gt",
    doc="x > y, false for NaN.",
    infix="{} > {}",
    compares=(">", 0),
)
GreaterEqual = comparison(
    "greater_equal",
    lambda x, y: np.greater_equal(x, y),
    _constant,
    REAL,
    "ge",
    doc="x >= y, false for NaN.",
    infix="{} >= {}",
    compares=(">", 1),
)
LogicalAnd = comparison("logical_and", np.logical_and, _constant, BOOLEAN, "and", doc="x and y.")
LogicalOr = comparison("logical_or", np.logical_or, _constant, BOOLEAN, "or", doc="x or y.")
LogicalXor = comparison("logical_xor", np.logical_xor, _constant, BOOLEAN, "xor", doc="x or y, and not both.")
LogicalNot = comparison("logical_not", np.logical_not, _constant, BOOLEAN, "not", doc="Not x.")
Taken = comparison(
    "taken",
    np.logical_or,
    _constant,
    BOOLEAN,
    "or",
    doc="x or y: whether an element of a cotangent is kept, where x tells that a `where` took it and y that it is finite.",
    tells_taken=True,
)
IsNan = comparison("is_nan", np.isnan, _constant, INEXACT, "isnan", doc="Whether x is NaN.")
IsInf = comparison("is_inf", np.isinf, _constant, INEXACT, "isinf", doc="Whether x is inf or -inf.")
IsFinite = comparison(
    "is_finite", np.isfinite, _constant, INEXACT, "isfinite", doc="Whether x is neither infinite nor NaN."
)


EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = (
    Equal(),
    NotEqual(),
    Less(),
    LessEqual(),
    Greater(),
    GreaterEqual(),
)
LOGICAL_AND, LOGICAL_OR, IS_FINITE, TAKEN = LogicalAnd(), LogicalOr(), IsFinite(), Taken()

_BROADCAST = "operands of one dtype broadcast together. No gradient."
_REALS = "operands of one real dtype broadcast together. No gradient."
_BOOLS = "operands of dtype bool broadcast together."


@define
class Equals(Op):
    """x = y elementwise, operands of one dtype broadcast together, or whether they differ if `negated`; of shapes that do not
    broadcast a scalar: False, or True if `negated`. Unknown sizes are taken to broadcast. The result is bool.
    """

    name = "equals"
    keeps = (False, False)
    negated: bool

    def infer(self, x: TensorSpec, y: TensorSpec) -> TensorSpec:
        same_dtype(self._op.name, (x, y))
        return TensorSpec.of(self._dims(x.dims, y.dims), bool_)

    @property
    def _op(self) -> Op:
        return NOT_EQUAL if self.negated else EQUAL

    def _dims(self, x: Dims, y: Dims) -> Dims:
        try:
            return broadcast_dims(self._op.name, x, y)
        except InvalidArgumentError:
            if run_time_symbols([*(x or ()), *(y or ())]):
                raise  # they may have one size
            return ()

    def eval(self, x: Array, y: Array) -> Array:
        if self._dims(x.shape, y.shape) == () != x.shape + y.shape:
            return np.bool_(self.negated)  # type: ignore[return-value]
        return (np.not_equal if self.negated else np.equal)(x, y)  # type: ignore[no-any-return]

    def fold(self, ctx: FoldContext, x: Ranked, y: Ranked) -> Tensor | None:
        self._dims(x.dims, y.dims)
        return compare_or(self._op, x, y, self.negated)

    vjp = _constant
    lower = no_form("its operands may have shapes that do not broadcast")

    def batch(self, ctx: BatchContext, x: Ranked, y: Ranked) -> Tensor:
        return bind(self._op, *align_stacked(ctx, (x, y)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return elementwise_rows(specs, axes)


def compare_or(op: Op, x: Tensor, y: Tensor, mismatch: bool) -> Tensor:
    """`op` of two tensors, or the scalar `mismatch` where their shapes do not broadcast."""
    try:
        broadcast_dims(op.name, x.dims, y.dims)
    except InvalidArgumentError:
        return lift(mismatch)
    return bind(op if _certainly_fit(x.dims, y.dims) else Equals(mismatch), x, y)


def _certainly_fit(x: Dims, y: Dims) -> bool:
    """Whether shapes that may broadcast do, whatever the sizes are that are not known."""
    if x is None or y is None:
        return x == () or y == ()
    pairs = zip(reversed(x), reversed(y), strict=False)
    return all(None not in pair or 1 in [size for size in pair if type(size) is int] for pair in pairs)


equal = binary_function(Equal, f"x == y, elementwise, {_BROADCAST}")
not_equal = binary_function(NotEqual, f"x != y, elementwise, {_BROADCAST}")
less = binary_function(
    Less, f"x < y, elementwise, {_REALS}", example=">>> less([1, 2], 2).numpy()\narray([ True, False])"
)
less_equal = binary_function(
    LessEqual,
    f"x <= y, elementwise, {_REALS}",
    example=">>> less_equal([1, 2], 2).numpy()\narray([ True,  True])",
)
greater = binary_function(
    Greater, f"x > y, elementwise, {_REALS}", example=">>> greater([1, 2], 1).numpy()\narray([False,  True])"
)
greater_equal = binary_function(
    GreaterEqual,
    f"x >= y, elementwise, {_REALS}",
    example=">>> greater_equal([1, 2], 2).numpy()\narray([False,  True])",
)
logical_and = binary_function(
    LogicalAnd,
    f"Whether both x and y are true, elementwise, {_BOOLS}",
    example=">>> logical_and([True, False], True).numpy()\narray([ True, False])",
)
logical_or = binary_function(
    LogicalOr,
    f"Whether x or y or both are true, elementwise, {_BOOLS}",
    example=">>> logical_or([True, False], False).numpy()\narray([ True, False])",
)
logical_xor = binary_function(
    LogicalXor,
    f"Whether exactly one of x and y is true, elementwise, {_BOOLS}",
    example=">>> math.logical_xor([True, False], True).numpy()\narray([False,  True])",
)
logical_not = unary_function(
    LogicalNot,
    "Whether x is false, elementwise, dtype bool.",
    example=">>> logical_not([True, False]).numpy()\narray([False,  True])",
)
is_nan = unary_function(
    IsNan,
    "Which elements are NaN, for float and complex dtypes.",
    example=">>> math.is_nan([1.0, float('nan')]).numpy()\narray([False,  True])",
)
is_inf = unary_function(
    IsInf,
    "Which elements are infinite, for float and complex dtypes.",
    example=">>> math.is_inf([1.0, float('inf')]).numpy()\narray([False,  True])",
)
is_finite = unary_function(
    IsFinite,
    "Which elements are neither infinite nor NaN, for float and complex dtypes.",
    example=">>> math.is_finite([1.0, float('inf')]).numpy()\narray([ True, False])",
)
