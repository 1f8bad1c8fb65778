"""Roots, reciprocals and powers.

The derivative of a root at 0 is infinite; the rules of `sqrt` and `rsqrt` return 0 where the upstream cotangent is 0, so the
gradient of a masked root has no nan. The derivative of x ** y in y uses log only where x is positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import Cotangents, TensorLike, VjpContext
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_pair
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import Op
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.array.passing import IDENTITY
from graphad.ops.directly import directly
from graphad.ops.elementwise import elementwise, in_float32, unary_function
from graphad.ops.math.arithmetic import (
    DIV,
    MUL,
    MUL_ZERO,
    MULTIPLY_NO_NAN,
    SUB,
    Reciprocal,
    multiply,
    square,
)
from graphad.ops.math.compare import GREATER, NOT_EQUAL
from graphad.ops.math.complexes import conjugate
from graphad.ops.math.exponential import LOG
from graphad.ops.math.select import SELECT
from graphad.ops.overwrite import overwrite
from graphad.ops.rules import INEXACT, NUMERIC, scalar_like, unbroadcast

if TYPE_CHECKING:
    from graphad.core.annotations import Array


def _sqrt_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    y = conjugate(ctx.outputs[0])
    return (bind(MUL_ZERO, g, bind(DIV, scalar_like(0.5, y), y)),)


def _root_jvp(self: Op, ctx: VjpContext, x_dots: Sequence[Tensor | None]) -> list[Tensor | None]:
    y, (x_dot,) = ctx.outputs[0], x_dots
    return [None if x_dot is None else bind(MUL, x_dot, bind(DIV, scalar_like(0.5, y), y))]


def _rsqrt_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    y = conjugate(ctx.outputs[0])
    # Factor by factor, so that second derivatives too are 0 where the cotangent is: y * y has a derivative that is infinite at 0.
    for _ in range(3):
        g = bind(MUL_ZERO, g, y)
    return (bind(MUL, scalar_like(-0.5, y), g),)


def _rsqrt(x: Array) -> Any:
    return x.dtype.type(1) / np.sqrt(x)


Sqrt = elementwise(
    "sqrt",
    np.sqrt,
    vjp=_sqrt_vjp,
    kinds=INEXACT,
    scalar="sqrt",
    keeps=(False, True),
    doc="The square root; for complex x the one whose real part is not negative.",
)
Rsqrt = elementwise(
    "rsqrt",
    in_float32(_rsqrt),
    vjp=_rsqrt_vjp,
    kinds=INEXACT,
    scalar="rsqrt",
    keeps=(False, True),
    doc="1 / sqrt(x).",
)
# Where all squares are 0 their slopes are, too, and infinity times 0 is NaN: backwards that happens in the rule of the squares.
RootOfSquares = elementwise(
    "root_of_squares",
    np.sqrt,
    vjp=_sqrt_vjp,
    jvp=_root_jvp,
    kinds=INEXACT,
    scalar="sqrt",
    keeps=(False, True),
    doc="The square root of a sum of squares. In forward mode its tangent is NaN where that sum is 0, as its gradient is.",
)
SQRT, RSQRT = Sqrt(), Rsqrt()


def _pow(x: Array, y: Array) -> Any:
    try:
        return x**y
    except ValueError:
        if np.any(y < 0) and getattr(y, "dtype", np.dtype(object)).kind == "i":
            raise InvalidArgumentError(
                "pow: integers to negative integer powers are not integers; cast to a float dtype first."
            ) from None
        raise


def _log_of_positive(x: Array) -> Any:
    """The logarithm of many floats, all of them positive; else None."""
    if type(x) is not np.ndarray or x.dtype.kind != "f" or not x.size or not np.minimum.reduce(x, None) > 0:
        return None
    return np.log(x)


def _pow_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, y = ctx.inputs
    x_bar = y_bar = None
    if ctx.needs(0):
        # y * x ** (y - 1), and 0 for y = 0 even where x is 0.
        slope = bind(MULTIPLY_NO_NAN, bind(POW, x, bind(SUB, y, scalar_like(1, y))), y)
        x_bar = unbroadcast(ctx, 0, bind(MUL_ZERO, g, conjugate(slope)))
    if ctx.needs(1):
        log_x = directly(_log_of_positive, x)
        if log_x is None:
            zero, one = scalar_like(0, x), scalar_like(1, x)
            mask = bind(NOT_EQUAL if x.dtype.is_complex else GREATER, x, zero)
            log_x = bind(SELECT, mask, bind(LOG, bind(SELECT, mask, x, one)), zero)
        slope = (
            overwrite(MUL, log_x, ctx.outputs[0])
            if log_x.dims == g.dims
            else bind(MUL, ctx.outputs[0], log_x)
        )
        y_bar = unbroadcast(ctx, 1, bind(MUL_ZERO, g, conjugate(slope)))
    return x_bar, y_bar


Pow = elementwise(
    "pow",
    _pow,
    vjp=_pow_vjp,
    kinds=NUMERIC,
    scalar="pow",
    applied=np.power,
    keeps=(True, True),
    keeps_alone=((True, False), ((0,), True)),
    doc="x^y; integers to negative powers are an error.",
    refuses="negative",
    takes_symbols=False,
)
POW = Pow()
_EXPONENTS = (int, float, np.integer, np.floating)

_DTYPES = "elementwise, float and complex dtypes."
sqrt = unary_function(
    Sqrt,
    f"The square root; nan for negative floats, {_DTYPES} The gradient at 0 is inf, or 0 if the upstream gradient is 0.",
    example=">>> sqrt([4.0, 9.0]).numpy()\narray([2., 3.], dtype=float32)",
)
root_of_squares = unary_function(
    RootOfSquares,
    f"The square root of a sum of squares, {_DTYPES} Its tangent is nan where that sum is 0.",
    example=">>> root_of_squares([4.0, 9.0]).numpy()\narray([2., 3.], dtype=float32)",
)
rsqrt = unary_function(
    Rsqrt,
    f"1 / sqrt(x), {_DTYPES}",
    example=">>> math.rsqrt([4.0, 16.0]).numpy()\narray([0.5 , 0.25], dtype=float32)",
)
reciprocal = unary_function(
    Reciprocal,
    f"1 / x, {_DTYPES}",
    example=">>> math.reciprocal([2.0, 4.0]).numpy()\narray([0.5 , 0.25], dtype=float32)",
)


def pow(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x ** y, elementwise, operands of one numeric dtype broadcast together.

    Args:
      x: Tensor; nan where it is a negative float and `y` is not an integer.
      y: Exponents; the Python numbers 1, 2 and 3 are computed by multiplication.
    Returns: Tensor of the broadcast shape. The gradient in `y` is 0 where x is not positive.
    Raises: InvalidArgumentError: integers with a negative exponent.
    """
    if type(y) is int and y == 2 and type(x) is EagerTensor and x.data.dtype.kind == "f":
        return square(x)
    if isinstance(y, _EXPONENTS) and not isinstance(y, bool) and y in (1, 2, 3) and not isinstance(x, Number):
        x, exponent = lift(x), int(y)
        if x.dtype.is_differentiable or (x.dtype.is_integer and isinstance(y, int | np.integer)):
            if exponent == 1:
                return bind(IDENTITY, x)
            return multiply(square(x), x) if exponent == 3 else square(x)
    x, y = lift_pair("pow", x, y)
    return bind(POW, x, y)
