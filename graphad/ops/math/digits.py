"""NumPy functions that would lose digits if composed of other ops: logarithms to base 2 and 10, powers of 2, the cube root, the
hypotenuse, and a number with the sign of another.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import Cotangents, VjpContext
from graphad.core.bind import bind
from graphad.core.tensor import Tensor
from graphad.ops.elementwise import binary_function, elementwise, in_float32, unary_function
from graphad.ops.math.arithmetic import DIV_ZERO, DIVIDE_NO_NAN, MUL, scaled
from graphad.ops.math.complexes import conjugate
from graphad.ops.math.exponential import over
from graphad.ops.math.native_loops import natively
from graphad.ops.rules import FLOATING, INEXACT, scalar_like, unbroadcast

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.devices.array import DeviceArray


def _scaled(factor: float, x: Tensor) -> Tensor:
    return bind(MUL, x, scalar_like(factor, x))


def _log2_slope(x: Tensor) -> Tensor:
    return _scaled(math.log(2), x)


def _log10_slope(x: Tensor) -> Tensor:
    return _scaled(math.log(10), x)


def _exp2_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (scaled(ctx, g, conjugate(_scaled(math.log(2), ctx.outputs[0]))),)


def _cbrt_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    y = ctx.outputs[0]
    # 3 y^2 has a slope of 0 where the others are infinite.
    slope = bind(DIV_ZERO, bind(DIV_ZERO, g, _scaled(3.0, y)), y)
    return (slope,)


def _hypot_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return tuple(
        [
            unbroadcast(ctx, k, scaled(ctx, g, bind(DIVIDE_NO_NAN, ctx.inputs[k], ctx.outputs[0])))
            if ctx.needs(k)
            else None
            for k in (0, 1)
        ]
    )


def _copysign_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    if not ctx.needs(0):
        return None, None
    x, y = ctx.inputs
    one = scalar_like(1, x)
    signs = bind(MUL, bind(COPYSIGN, one, x), bind(COPYSIGN, one, y))
    return unbroadcast(ctx, 0, bind(MUL, g, signs)), None


def _cbrt(x: Array) -> Any:
    return np.cbrt(x)


def _hypot(x: Array, y: Array) -> Any:
    return np.hypot(x, y)


def _copysign(x: DeviceArray | Array, y: DeviceArray | Array) -> Any:
    return np.copysign(x, y)


Log2 = elementwise(
    "log2", np.log2, vjp=over(_log2_slope), kinds=INEXACT, scalar="log2", doc="The logarithm to base 2."
)
Log10 = elementwise(
    "log10", np.log10, vjp=over(_log10_slope), kinds=INEXACT, scalar="log10", doc="The logarithm to base 10."
)
Exp2 = elementwise(
    "exp2", np.exp2, vjp=_exp2_vjp, kinds=FLOATING, scalar="exp2", keeps=(False, True), doc="2^x."
)
Cbrt = elementwise(
    "cbrt",
    in_float32(_cbrt),
    vjp=_cbrt_vjp,
    kinds=FLOATING,
    scalar="cbrt",
    keeps=(False, True),
    doc="The real cube root.",
)
Hypot = elementwise(
    "hypot",
    natively(_hypot, "hypotenuse", is_light=True, operands=2),
    vjp=_hypot_vjp,
    kinds=FLOATING,
    scalar="hypot",
    keeps=(True, True),
    doc="The square root of x^2 + y^2, even if the squares would overflow.",
)
Copysign = elementwise(
    "copysign",
    natively(_copysign, "copysign", is_light=True, operands=2),
    vjp=_copysign_vjp,
    kinds=FLOATING,
    doc="|x| with the sign of y, also if that is a zero or NaN.",
)
COPYSIGN = Copysign()

_FLOATS = "elementwise, float dtypes."
log2 = unary_function(
    Log2,
    "The logarithm to base 2, exact for powers of 2, elementwise, float and complex dtypes.",
    example=">>> math.log2([8.0]).numpy()\narray([3.], dtype=float32)",
)
log10 = unary_function(
    Log10,
    "The logarithm to base 10, elementwise, float and complex dtypes.",
    example=">>> math.log10([100.0]).numpy()\narray([2.0000002], dtype=float32)",
)
exp2 = unary_function(Exp2, f"2 to the power of x, {_FLOATS}")
cbrt = unary_function(Cbrt, f"The real cube root, {_FLOATS} The gradient at 0 is inf.")
hypot = binary_function(
    Hypot,
    f"sqrt(x^2 + y^2), even if the squares would overflow, {_FLOATS} The gradient where both are 0 is 0.",
    example=">>> math.hypot(3.0, 4.0).numpy()\nnp.float32(5.0)",
)
copysign = binary_function(Copysign, f"|x| with the sign of y, {_FLOATS} No gradient in y.")
