"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core.annotations import Array, Cotangents, Ranked, TensorLike, VjpContext
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dtypes import float32
from graphad.core.op import define
from graphad.core.registry import lookup
from graphad.core.tensor import Tensor
from graphad.ops.choice import are_ones, chosen, has_no_zero
from graphad.ops.directly import parts_directly
from graphad.ops.elementwise import Elementwise, binary_function, elementwise, in_float32, unary_function
from graphad.ops.math.arithmetic import (
    ABS,
    ADD,
    DIV_ZERO,
    MUL,
    MUL_ZERO,
    NEG,
    RECIPROCAL,
    SIGN,
    SQUARE,
    SUB,
    scaled,
)
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import is_inf
from graphad.ops.math.complexes import conjugate, imag, real
from graphad.ops.math.exponential import ONE, over, times
from graphad.ops.math.power import RSQRT, SQRT
from graphad.ops.math.select import where
from graphad.ops.overwrite import overwrite
from graphad.ops.rules import FLOATING, INEXACT, scalar_like, unbroadcast


def _minus_twice(x: Tensor) -> Tensor:
    return bind(MUL, scalar_like(-2.0, x), x)


def _twice(x: Tensor) -> Tensor:
    return bind(MUL, scalar_like(2.0, x), x)


def _one_minus_square(x: Tensor) -> Tensor:
    return bind(ONE_MINUS_SQUARE, x)


def _one_plus_square(x: Tensor) -> Tensor:
    return bind(ADD, scalar_like(1.0, x), bind(SQUARE, x))


def _tan_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    y = conjugate(ctx.outputs[0])
    return (scaled(ctx, g, _one_plus_square(y)),)


def _asinh_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (bind(DIV_ZERO, g, bind(COSH, conjugate(ctx.outputs[0]))),)


def _acosh_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    # Root by root: the terms of all further derivatives have one sign, so that none is infinity minus infinity at 1.
    x = conjugate(ctx.inputs[0])
    one = scalar_like(1.0, x)
    below, above = bind(RSQRT, bind(SUB, x, one)), bind(RSQRT, bind(ADD, x, one))
    return (bind(MUL_ZERO, bind(MUL_ZERO, g, below), above),)


def _atan_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x = ctx.inputs[0]
    if x.dtype.is_complex:
        return (bind(MUL_ZERO, g, bind(RECIPROCAL, conjugate(bind(ONE_PLUS_SQUARE, x)))),)
    return (bind(MUL_ZERO, g, bind(ATAN_SLOPE, x)),)


def _atan_slope_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    product = bind(MUL, ctx.outputs[0], bind(ATAN_BEND, ctx.inputs[0]))
    return (scaled(ctx, g, bind(MUL, scalar_like(-2.0, product), product)),)


def _atan_bend_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    slope, bend = bind(ATAN_SLOPE, ctx.inputs[0]), ctx.outputs[0]
    return (bind(MUL, g, bind(MUL, bind(SUB, slope, bend), bind(ADD, slope, bend))),)


def _bend(x: Array) -> Any:
    square = x * x
    return np.where(np.isinf(square), ONE[x.dtype] / x, x / (ONE[x.dtype] + square))[()]


def _atan2_bars(y: Array, x: Array, g: Array) -> tuple[Array, Array]:
    """The cotangents of floats of one shape whose squares stay in the range, no g 0. Raises: ValueError: others."""
    if y.dtype.char not in "fd" or not y.shape == x.shape == g.shape or not (y.size and has_no_zero(g)):
        raise ValueError("the usual way")
    square = x * x
    square += y * y
    low = y.dtype.type(_SCALES[y.dtype][0])
    if not (low <= np.minimum.reduce(square, None) and np.maximum.reduce(square, None) < np.inf):
        raise ValueError("the usual way")
    y_bar, x_bar = np.divide(x, square), np.divide(y, square, square)
    np.negative(x_bar, x_bar)
    if not are_ones(g, y.dtype):
        y_bar *= g
        x_bar *= g
    return y_bar, x_bar


def _atan2_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    y, x = ctx.inputs
    y_bar = x_bar = None
    if ctx.needs(0) and ctx.needs(1):
        found = parts_directly(_atan2_bars, y, x, g)
        if found is not None:
            return found
    if ctx.needs(0):
        y_bar = unbroadcast(ctx, 0, bind(MUL_ZERO, g, bind(PART_OF_INVERSE, x, y)))
    if ctx.needs(1):
        x_bar = unbroadcast(ctx, 1, overwrite(NEG, bind(MUL_ZERO, g, bind(PART_OF_INVERSE, y, x))))
    return y_bar, x_bar


def _part_of_inverse_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, y = ctx.inputs
    p, q = ctx.outputs[0], bind(PART_OF_INVERSE, y, x)
    x_bar = y_bar = None
    if ctx.needs(0):
        slope = bind(MUL, bind(SUB, q, p), bind(ADD, q, p))
        x_bar = unbroadcast(ctx, 0, bind(MUL_ZERO, g, slope))
    if ctx.needs(1):
        y_bar = unbroadcast(ctx, 1, bind(MUL_ZERO, g, bind(MUL, _minus_twice(p), q)))
    return x_bar, y_bar


# By dtype: below which sum of squares these may have lost digits, and powers of two for such small numbers and for large ones.
_SCALES = {
    np.dtype(np.float32): (2.0**-90, 2.0**100, 2.0**-70),
    np.dtype(np.float64): (2.0**-900, 2.0**600, 2.0**-600),
}


def _part_of_inverse(x: Array, y: Array) -> Any:
    low, up, down = map(x.dtype.type, _SCALES[x.dtype])
    none, one = x.dtype.type(0), x.dtype.type(1)
    square = x * x + y * y
    if type(square) is np.ndarray and square.size:
        if low <= np.minimum.reduce(square, None) and np.maximum.reduce(square, None) < np.inf:
            return np.divide(x, square, square)
    scale = chosen(square < low, up, chosen(np.isinf(square), down, one))
    x, y = x * scale, y * scale
    square = x * x + y * y
    return chosen(np.isinf(square), none, x / square * scale)


def _row(
    name: str, formula: Callable[..., Any], vjp: Callable[..., Any], keeps: Any = (True, False), *, doc: str
) -> type[Elementwise]:
    return elementwise(name, formula, vjp=vjp, kinds=INEXACT, scalar=name, keeps=keeps, doc=doc)


def _cos_of(x: Tensor) -> Tensor:
    return bind(COS, x)


def _minus_sin_of(x: Tensor) -> Tensor:
    return bind(NEG, bind(SIN, x))


def _cosh_of(x: Tensor) -> Tensor:
    return bind(COSH, x)


def _sinh_of(x: Tensor) -> Tensor:
    return bind(SINH, x)


# One op, since the rules of its steps multiply what is infinite at 1 and -1 by 0.
OneMinusSquare = elementwise(
    "one_minus_square",
    lambda x: (ONE[x.dtype] - x) * (ONE[x.dtype] + x),
    vjp=times(_minus_twice),
    kinds=INEXACT,
    scalar=(("complement", "x"), ("neg", "x"), ("complement", "b"), ("mul", "a", "c")),
    doc="1 - x^2, computed as (1 - x) (1 + x), which keeps its digits next to 1.",
)
ONE_MINUS_SQUARE = OneMinusSquare()
# One op, since a cotangent of 0 stays 0 at infinities, as the rule of a square alone does not say.
OnePlusSquare = elementwise(
    "one_plus_square",
    lambda x: ONE[x.dtype] + x * x,
    vjp=times(_twice, MUL_ZERO),
    kinds=INEXACT,
    scalar=(("mul", "x", "x"), ("neg", "a"), ("complement", "b")),
    doc="1 + x^2.",
)
ONE_PLUS_SQUARE = OnePlusSquare()
# Derivatives of one and of the other are polynomials of both, so that those of atan of all orders are 0 at infinity.
AtanSlope = elementwise(
    "atan_slope",
    lambda x: ONE[x.dtype] / (ONE[x.dtype] + x * x),
    vjp=_atan_slope_vjp,
    kinds=FLOATING,
    scalar=(("mul", "x", "x"), ("neg", "a"), ("complement", "b"), ("reciprocal", "c")),
    keeps=(True, True),
    doc="1 / (1 + x^2), the derivative of atan.",
)
AtanBend = elementwise(
    "atan_bend",
    _bend,
    vjp=_atan_bend_vjp,
    kinds=FLOATING,
    scalar=(
        ("reciprocal", "x"), ("mul", "x", "x"), ("neg", "b"), ("complement", "c"), ("div", "x", "d"), ("isinf", "b"),
        ("select", "f", "a", "e"),
    ),
    keeps=(True, True),
    doc="x / (1 + x^2), 1 / x where x^2 is out of range: minus half the second derivative of atan, divided by the first.",
)  # fmt: skip
ATAN_SLOPE, ATAN_BEND = AtanSlope(), AtanBend()


@define
class PartOfInverse(Elementwise):
    """x / (x^2 + y^2), the real part of 1 / (x + i y), also where the squares leave the range; 0 where x or y is infinite, NaN
    where both are 0.
    """

    name = "part_of_inverse"
    kinds = FLOATING
    letters = "f"
    keeps = (True, True)
    formula = staticmethod(in_float32(_part_of_inverse))
    infer, eval = Elementwise.infer, Elementwise.eval

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return _part_of_inverse_vjp(ctx, g)

    def expand(self, x: Ranked, y: Ranked) -> Tensor | None:
        a, b = (cast(x, float32), cast(y, float32)) if x.dtype.itemsize == 2 else (x, y)
        low, up, down = [scalar_like(number, a) for number in _SCALES[a.dtype.numpy]]
        none, one = scalar_like(0.0, a), scalar_like(1.0, a)
        square = a * a + b * b
        scale = where(square < low, up, where(is_inf(square), down, one))
        p, q = a * scale, b * scale
        square = p * p + q * q
        return cast(where(is_inf(square), none, p / square * scale), x.dtype)


PART_OF_INVERSE = PartOfInverse()
Sin = _row("sin", np.sin, times(_cos_of), doc="The sine.")
Cos = _row("cos", np.cos, times(_minus_sin_of), doc="The cosine.")
Tan = _row("tan", np.tan, _tan_vjp, (False, True), doc="The tangent.")
Asin = _row(
    "asin",
    np.arcsin,
    over(lambda x: bind(SQRT, _one_minus_square(x))),
    doc="The y from -pi/2 to pi/2 with sin(y) = x.",
)
Acos = _row(
    "acos",
    np.arccos,
    over(lambda x: bind(NEG, bind(SQRT, _one_minus_square(x)))),
    doc="The y from 0 to pi with cos(y) = x.",
)
Atan = _row(
    "atan",
    np.arctan,
    _atan_vjp,
    doc="The y from -pi/2 to pi/2 with tan(y) = x.",
)
# In the derivatives of asinh they are infinite where what is multiplied by them is 0.
Sinh = _row("sinh", np.sinh, times(_cosh_of, MUL_ZERO), doc="The hyperbolic sine.")
Cosh = _row("cosh", np.cosh, times(_sinh_of, MUL_ZERO), doc="The hyperbolic cosine.")
# Its derivative is computed from the output, whose square does not overflow.
Asinh = _row("asinh", np.arcsinh, _asinh_vjp, (False, True), doc="The y with sinh(y) = x.")
Acosh = _row("acosh", np.arccosh, _acosh_vjp, doc="The y >= 0 with cosh(y) = x.")
Atanh = _row("atanh", np.arctanh, over(_one_minus_square), doc="The y with tanh(y) = x.")
Atan2 = elementwise(
    "atan2",
    np.arctan2,
    vjp=_atan2_vjp,
    kinds=FLOATING,
    scalar="atan2",
    doc="The angle from -pi to pi of the point with ordinate x and abscissa y: atan(x / y) in the quadrant of their signs.",
)
SIN, COS, SINH, COSH, ATAN2 = Sin(), Cos(), Sinh(), Cosh(), Atan2()

_DTYPES = "elementwise, float and complex dtypes."
sin = unary_function(
    Sin,
    f"The sine of x in radians, {_DTYPES}",
    example=">>> sin([0.0, 1.0]).numpy()\narray([0.      , 0.841471], dtype=float32)",
)
cos = unary_function(
    Cos,
    f"The cosine of x in radians, {_DTYPES}",
    example=">>> cos([0.0, 1.0]).numpy()\narray([1.       , 0.5403023], dtype=float32)",
)
tan = unary_function(
    Tan,
    f"The tangent of x in radians, {_DTYPES}",
    example=">>> tan([0.0, 1.0]).numpy()\narray([0.       , 1.5574077], dtype=float32)",
)
asin = unary_function(
    Asin,
    f"The inverse sine, -pi/2 to pi/2; nan outside -1 to 1 for floats, {_DTYPES}",
    example=">>> asin([0.0, 1.0]).numpy()\narray([0.       , 1.5707964], dtype=float32)",
)
acos = unary_function(
    Acos,
    f"The inverse cosine, 0 to pi; nan outside -1 to 1 for floats, {_DTYPES}",
    example=">>> acos([0.0, 1.0]).numpy()\narray([1.5707964, 0.       ], dtype=float32)",
)
atan = unary_function(
    Atan,
    f"The inverse tangent, -pi/2 to pi/2, {_DTYPES}",
    example=">>> atan([0.0, 1.0]).numpy()\narray([0.       , 0.7853982], dtype=float32)",
)
sinh = unary_function(
    Sinh,
    f"The hyperbolic sine, {_DTYPES}",
    example=">>> sinh([0.0, 1.0]).numpy()\narray([0.       , 1.1752012], dtype=float32)",
)
cosh = unary_function(
    Cosh,
    f"The hyperbolic cosine, {_DTYPES}",
    example=">>> cosh([0.0, 1.0]).numpy()\narray([1.       , 1.5430807], dtype=float32)",
)
asinh = unary_function(
    Asinh,
    f"The inverse hyperbolic sine, {_DTYPES} Of floats the derivative is within 2 (1 + |y|) units in the last place, where y is "
    "the result.",
)
acosh = unary_function(
    Acosh,
    f"The inverse hyperbolic cosine; nan below 1 for floats, {_DTYPES} At 1 all derivatives are infinite.",
)
atanh = unary_function(Atanh, f"The inverse hyperbolic tangent; nan outside -1 to 1 for floats, {_DTYPES}")
atan2 = binary_function(
    Atan2,
    "The angle, from -pi to pi, of the point with ordinate `y` (the first argument) and abscissa `x`, elementwise, float dtypes.",
    arguments=("y", "x"),
    example=">>> atan2([1.0, -1.0], 1.0).numpy()\narray([ 0.7853981, -0.7853981], dtype=float32)",
)


def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """The angle of each element in the complex plane, in radians from -pi to pi; for a real dtype 0, or pi for negative
    elements.

    Args:
      input: Tensor of any shape, a float or complex dtype.
    Returns: Real tensor of the same shape.
    Raises: DTypeError (a TypeError): another dtype.
    Example:
      >>> math.angle([1.0, -1.0]).numpy()
      array([0.       , 3.1415927], dtype=float32)
    """
    x = lift(input)
    if x.dtype.is_floating:  # a step, flat on both of its sides, of the sign, which zeros have too
        copysign = lookup("copysign")()  # by name: few programs need its module
        side = bind(MUL, bind(copysign, scalar_like(1.0, x), x), bind(ABS, bind(SIGN, x)))
        return bind(ATAN2, imag(x), side)
    return bind(ATAN2, imag(x), real(x))
