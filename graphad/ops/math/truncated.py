"""Quotients rounded towards 0 with their remainders, and greatest common divisors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import TensorLike, VjpContext
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_pair
from graphad.core.op import no_gradient
from graphad.core.tensor import Tensor
from graphad.ops.elementwise import binary_function, elementwise
from graphad.ops.math.arithmetic import ADD, FLOORDIV, MUL, NEG, SUB, no_zero
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import LESS, LOGICAL_AND, NOT_EQUAL
from graphad.ops.math.integers import whole_quotient
from graphad.ops.math.remainders import MANY, truncated
from graphad.ops.math.rounding import trunc
from graphad.ops.rules import INTEGER, REAL, unbroadcast

if TYPE_CHECKING:
    from graphad.core.annotations import Array


def _remainder(x: Array, y: Array) -> Any:
    if x.dtype.kind in "iu":
        no_zero("truncatemod", y)
        found = whole_quotient(x, y, np.trunc)
        if found is not None:
            return x - found * y
        return np.fmod(x, y)
    return np.fmod(x, y) if x.size < MANY else truncated(x, y)


def _remainder_vjp(ctx: VjpContext, g: Tensor) -> tuple[Tensor | None, Tensor | None]:
    x, y = ctx.inputs
    return (
        unbroadcast(ctx, 0, g) if ctx.needs(0) else None,
        unbroadcast(ctx, 1, bind(NEG, g * truncatediv(x, y))) if ctx.needs(1) else None,
    )


TruncateMod = elementwise(
    "truncatemod",
    _remainder,
    vjp=_remainder_vjp,
    scalar="fmod",
    kinds=REAL,
    refuses="zero",
    takes_symbols=False,
    doc="x - y * trunc(x / y), computed exactly: 0 or of the sign of x. An integer 0 as y is an error; a float 0 gives NaN.",
)
Gcd = elementwise(
    "gcd",
    np.gcd,
    vjp=no_gradient("its result is integers"),
    kinds=INTEGER,
    keeps=(False, False),
    takes_symbols=False,
    doc="The greatest common divisor of x and y, not negative; 0 for two zeros.",
)
truncatemod = binary_function(
    TruncateMod,
    "The remainder x - y * trunc(x / y), with the sign of x, elementwise, operands of one real dtype broadcast together.",
)
gcd = binary_function(
    Gcd, "The greatest common divisor, elementwise, operands of one integer dtype broadcast together."
)


def _quotient(x: Array, y: Array) -> Any:
    no_zero("truncatediv", y)
    found = whole_quotient(x, y, np.trunc)
    if found is not None:
        return found
    down = x // y
    return down + ((x - down * y != 0) & ((x < 0) != (y < 0))).astype(x.dtype)


def _by_floors(self: Any, x: Tensor, y: Tensor) -> Tensor:
    """The same, from the quotient rounded down."""
    down = bind(FLOORDIV, x, y)
    if not x.dtype.min:
        return down  # no number is negative
    rest = bind(SUB, x, bind(MUL, down, y))  # of the sign of y
    inexact = bind(LOGICAL_AND, bind(NOT_EQUAL, rest, zero := lift(0, x.dtype)), bind(LESS, x ^ y, zero))
    return bind(ADD, down, cast(inexact, x.dtype))


TruncateDiv = elementwise(
    "truncatediv",
    _quotient,
    vjp=no_gradient("its result is integers"),
    kinds=INTEGER,
    keeps=(False, False),
    refuses="zero",
    takes_symbols=False,
    expand=_by_floors,
    doc="x / y cut off towards 0, for integers. A 0 as y is an error.",
)
_TRUNCATE_DIV = TruncateDiv()


def truncatediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y rounded towards 0, elementwise, operands of one real dtype broadcast together. No gradient.

    Args:
      x, y: Tensors of any shapes that broadcast together, one real dtype.
    Returns: Tensor of the broadcast shape and the same dtype.
    Raises: InvalidArgumentError: an integer is divided by 0.
    """
    x, y = lift_pair("truncatediv", x, y)
    return bind(_TRUNCATE_DIV, x, y) if x.dtype.is_integer else trunc(x / y)
