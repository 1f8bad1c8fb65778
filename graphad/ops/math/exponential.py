"""Exponentials, logarithms and what is built from them: sigmoid, tanh, softplus.

If the derivative is cheap to compute from the output, the output is kept instead of the input. `tanh` and `sigmoid` have
backward ops of their own because they are so frequent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, Cotangents, TensorLike, VjpContext, VjpRule
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.ieee import guard, heard, unhush, unreported
from graphad.core.op import Op
from graphad.core.tensor import Tensor
from graphad.ops.choice import are_ones, chosen, has_no_zero
from graphad.ops.directly import parts_directly
from graphad.ops.elementwise import binary_function, elementwise, in_float32, unary_function
from graphad.ops.math.arithmetic import ADD, MUL, MUL_ZERO, NEG, RECIPROCAL, SQUARE, SUB, abs, scaled
from graphad.ops.math.cast import Cast
from graphad.ops.math.compare import NOT_EQUAL
from graphad.ops.math.complexes import conjugate
from graphad.ops.math.exactly import product, total
from graphad.ops.math.native_loops import natively
from graphad.ops.overwrite import overwrite
from graphad.ops.rules import FLOATING, INEXACT, scalar_like, unbroadcast

if TYPE_CHECKING:
    from graphad.devices.array import DeviceArray


def times(derivative: Callable[[Tensor], Tensor], multiply: Op = MUL) -> VjpRule:
    """The rule that multiplies by (the conjugate of) a derivative computed from the input.

    With MUL_ZERO as `multiply` a cotangent of 0 stays 0 where the derivative is infinite.
    """

    def vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
        slope = conjugate(derivative(ctx.inputs[0]))
        return (scaled(ctx, g, slope) if multiply is MUL else bind(multiply, g, slope),)

    vjp.__module__ = derivative.__module__
    return vjp


def over(denominator: Callable[[Tensor], Tensor]) -> VjpRule:
    """The rule that divides by (the conjugate of) an expression in the input.

    It multiplies by the reciprocal, whose own derivative is 0 for a cotangent of 0, and a cotangent of 0 stays 0: the derivatives
    of a masked log have no NaN.
    """

    def vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
        x = ctx.inputs[0]
        below = denominator(x)
        step = bind if below is x else overwrite
        return (bind(MUL_ZERO, g, step(RECIPROCAL, conjugate(below))),)

    vjp.__module__ = denominator.__module__
    return vjp


def _exp_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (scaled(ctx, g, conjugate(ctx.outputs[0])),)


def _sigmoid(x: Any) -> Any:
    if x.dtype.kind == "c":
        is_low = x.real < -40.0  # then the 1 below the fraction is lost, and e^-x may overflow
        one = x.dtype.type(1)
        return np.where(is_low, np.exp(x), np.reciprocal(np.exp(np.where(is_low, one, -x)) + one))[()]
    if not np.ndim(x):  # NumPy returns a scalar here, which is not writable
        return x.dtype.type(1) / (np.exp(-x) + x.dtype.type(1)) or np.exp(x)
    settings = heard()
    try:
        guard()
        y = np.negative(x)
        np.exp(y, y)
        y += 1
        return np.reciprocal(y, y)
    except FloatingPointError:  # e^-x overflows, where e^x has the same digits
        return unreported(_sigmoid_of_low, x)
    finally:
        unhush(settings)


def _sigmoid_of_low(x: Any) -> Any:
    one = x.dtype.type(1)
    y = one / (np.exp(-x) + one)
    return chosen(y == 0, np.exp(x), y)


def _softplus(x: DeviceArray | Array) -> Any:
    if type(x) is not np.ndarray or not x.ndim:
        return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    y = np.abs(x)
    for step in (np.negative, np.exp, np.log1p):
        step(y, y)
    y += np.maximum(x, 0)
    return y


def _softplus_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (scaled(ctx, g, bind(SIGMOID, ctx.inputs[0])),)


def _tanh_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (bind(TANH_GRAD, conjugate(ctx.outputs[0]), g),)


def _sigmoid_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (bind(SIGMOID_GRAD, conjugate(ctx.outputs[0]), g),)


def _tanh_grad_vjp(ctx: VjpContext, h: Tensor) -> Cotangents:
    y, g = ctx.inputs
    y_bar = g_bar = None
    if ctx.needs(0):
        slope = conjugate(bind(MUL, scalar_like(-2.0, y), y))
        y_bar = unbroadcast(ctx, 0, bind(MUL, slope, bind(MUL_ZERO, conjugate(g), h)))
    if ctx.needs(1):
        g_bar = unbroadcast(ctx, 1, bind(TANH_GRAD, conjugate(y), h))
    return y_bar, g_bar


def _sigmoid_grad_vjp(ctx: VjpContext, h: Tensor) -> Cotangents:
    y, g = ctx.inputs
    y_bar = g_bar = None
    if ctx.needs(0):
        slope = conjugate(bind(SUB, scalar_like(1.0, y), bind(MUL, scalar_like(2.0, y), y)))
        y_bar = unbroadcast(ctx, 0, bind(MUL, slope, bind(MUL_ZERO, conjugate(g), h)))
    if ctx.needs(1):
        g_bar = unbroadcast(ctx, 1, bind(SIGMOID_GRAD, conjugate(y), h))
    return y_bar, g_bar


def _logaddexp(x: Array, y: Array) -> Any:
    """In float64 for float32, and rounded once."""
    if x.dtype != np.float32:
        return np.logaddexp(x, y)
    return np.logaddexp(x, y, dtype=np.float64).astype(np.float32)


def _logaddexp_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, y = ctx.inputs
    share = bind(SIGMOID, bind(SUB, x, y))
    other = bind(SIGMOID, bind(SUB, y, x))
    return (
        unbroadcast(ctx, 0, scaled(ctx, g, share)) if ctx.needs(0) else None,
        unbroadcast(ctx, 1, scaled(ctx, g, other)) if ctx.needs(1) else None,
    )


def _plus_one(x: Tensor) -> Tensor:
    return bind(ADD, x, scalar_like(1.0, x))


def _softsign_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    # By the reciprocal, not by a quotient: an infinite x gives 0.
    return (scaled(ctx, g, bind(SQUARE, bind(RECIPROCAL, _plus_one(abs(ctx.inputs[0]))))),)


def _exp_of(x: Tensor) -> Tensor:
    return bind(EXP, x)


def _expm1(x: DeviceArray | Array) -> Any:
    """`np.expm1`; complex numbers with an infinite part, a NaN or an imaginary part of 0 follow C's Annex G for exp."""
    y = np.expm1(x)
    if x.dtype.kind != "c":
        return y
    a, b = x.real, x.imag
    is_real, lost = b == 0, ~np.isfinite(b)
    if not (is_real | np.isinf(a)).any():
        return y
    found = arrays.copy(y)
    found.real = np.where(is_real, np.expm1(a) + 0.0, found.real)
    found.imag = np.where(is_real, b, found.imag)
    for end, real, imaginary in ((-np.inf, -1.0, 0.0), (np.inf, np.inf, np.nan)):
        at_end = lost & (a == end)
        found.real = np.where(at_end, real, found.real)
        found.imag = np.where(at_end, imaginary, found.imag)
    return found if found.ndim else found[()]


def _log1p(x: DeviceArray | Array) -> Any:
    """`np.log1p`; for complex numbers NumPy takes the logarithm of |1 + x|, which has no digits left where that is close to 1."""
    y = np.log1p(x)
    if x.dtype.kind != "c":
        return y
    a, b = arrays.of_dtype(x.real, np.float64), arrays.of_dtype(x.imag, np.float64)
    is_near = np.abs(a * (a + 2.0) + b * b) < 0.5
    if not is_near.any():
        return y
    a, b = chosen(is_near, a, 0.0), chosen(is_near, b, 0.0)
    (first, more), (second, rest) = product(a, a), product(b, b)
    large, lost = total(2.0 * a, first)
    large, further = total(large, second)
    found = arrays.copy(y)
    found.real = np.where(is_near, 0.5 * np.log1p(large + (lost + further + more + rest)), y.real)
    return found if found.ndim else found[()]


Exp = elementwise("exp", np.exp, vjp=_exp_vjp, kinds=INEXACT, scalar="exp", keeps=(False, True), doc="e^x.")


Expm1 = elementwise(
    "expm1",
    _expm1,
    vjp=times(_exp_of),
    kinds=INEXACT,
    scalar="expm1",
    doc="e^x - 1, exact near 0.",
)
Log = elementwise(
    "log", np.log, vjp=over(lambda x: x), kinds=INEXACT, scalar="log", doc="The natural logarithm."
)
Log1p = elementwise(
    "log1p", _log1p, vjp=over(_plus_one), kinds=INEXACT, scalar="log1p", doc="log(1 + x), exact near 0."
)
Tanh = elementwise(
    "tanh",
    np.tanh,
    vjp=_tanh_vjp,
    kinds=INEXACT,
    scalar="tanh",
    keeps=(False, True),
    doc="The hyperbolic tangent.",
)
Sigmoid = elementwise(
    "sigmoid",
    in_float32(_sigmoid),
    vjp=_sigmoid_vjp,
    kinds=INEXACT,
    scalar="sigmoid",
    keeps=(False, True),
    doc="1 / (1 + e^-x).",
)
Softplus = elementwise(
    "softplus",
    in_float32(_softplus),
    vjp=_softplus_vjp,
    kinds=FLOATING,
    scalar="softplus",
    doc="log(1 + e^x), without overflow.",
)
Softsign = elementwise(
    "softsign",
    in_float32(lambda x: x / (np.abs(x) + x.dtype.type(1))),
    vjp=_softsign_vjp,
    kinds=FLOATING,
    scalar=(("abs", "x"), ("neg", "a"), ("complement", "b"), ("div", "x", "c")),
    doc="x / (1 + |x|).",
)


class _Ones(dict[np.dtype[Any], Any]):
    """1 in each dtype, created at first use: with a Python number older versions of NumPy promote bfloat16 to float32."""

    def __missing__(self, dtype: np.dtype[Any]) -> Array:
        one = self[dtype] = np.ones((), dtype)
        return one


ONE = _Ones()
TanhGrad = elementwise(
    "tanh_grad",
    lambda y, g: g * (ONE[y.dtype] - y * y),
    vjp=_tanh_grad_vjp,
    kinds=INEXACT,
    scalar=(("mul", "x", "x"), ("complement", "a"), ("mul", "y", "b")),
    doc="g * (1 - y^2).",
)
SigmoidGrad = elementwise(
    "sigmoid_grad",
    lambda y, g: g * (y * (ONE[y.dtype] - y)),
    vjp=_sigmoid_grad_vjp,
    kinds=INEXACT,
    scalar=(("complement", "x"), ("mul", "x", "a"), ("mul", "y", "b")),
    doc="g * y * (1 - y).",
)
Logaddexp = elementwise(
    "logaddexp",
    natively(_logaddexp, "logaddexp", operands=2),
    vjp=_logaddexp_vjp,
    kinds=FLOATING,
    scalar=(
        ("maximum", "x", "y"),
        ("minimum", "x", "y"),
        ("sub", "b", "a"),
        ("exp", "c"),
        ("log1p", "d"),
        ("add", "a", "e"),
        ("isinf", "a"),
        ("select", "g", "a", "f"),  # c is nan where both are the same infinity
    ),
    doc="log(e^x + e^y), without overflow.",
)
EXP, LOG = Exp(), Log()
SIGMOID, TANH_GRAD, SIGMOID_GRAD, SOFTPLUS = Sigmoid(), TanhGrad(), SigmoidGrad(), Softplus()

_DTYPES = "elementwise, float and complex dtypes."
exp = unary_function(
    Exp,
    f"e ** x, {_DTYPES}",
    example=">>> exp([0.0, 1.0]).numpy()\narray([1.      , 2.718282], dtype=float32)",
)
expm1 = unary_function(
    Expm1,
    f"e ** x - 1, accurate near 0, {_DTYPES}",
    example=">>> math.expm1(1e-10).numpy()\nnp.float32(1e-10)",
)
log = unary_function(
    Log,
    f"The natural logarithm; -inf at 0, nan below, {_DTYPES}",
    example=">>> math.log([1.0, 10.0]).numpy()\narray([0.       , 2.3025851], dtype=float32)",
)
log1p = unary_function(
    Log1p,
    f"log(1 + x), accurate near 0, {_DTYPES}",
    example=">>> math.log1p(1e-10).numpy()\nnp.float32(1e-10)",
)
tanh = unary_function(
    Tanh,
    f"The hyperbolic tangent, {_DTYPES}",
    example=">>> tanh([0.0, 1.0]).numpy()\narray([0.       , 0.7615942], dtype=float32)",
)
sigmoid = unary_function(
    Sigmoid,
    f"1 / (1 + e ** -x), {_DTYPES} The derivative is y * (1 - y) of the result y, as TensorFlow's, which is 0 once y is 1.",
    example=">>> sigmoid([0.0, 2.0]).numpy()\narray([0.5     , 0.880797], dtype=float32)",
)
softplus = unary_function(
    Softplus,
    "log(1 + e ** x) without overflow, elementwise, float dtypes.",
    argument="features",
    example=">>> math.softplus([0.0, 100.0]).numpy()\narray([  0.6931472, 100.       ], dtype=float32)",
    source="Dugas, Bengio, Belisle, Nadeau and Garcia, Incorporating second-order functional knowledge for better option "
    "pricing, 2001.",
)
softsign = unary_function(
    Softsign,
    "x / (1 + |x|), elementwise, float dtypes.",
    argument="features",
    example=">>> math.softsign([0.0, 1.0]).numpy()\narray([0. , 0.5], dtype=float32)",
    source="Turian, Bergstra and Bengio, Quadratic features and deep architectures for chunking, 2009.",
)
logaddexp = binary_function(
    Logaddexp,
    "log(e ** x + e ** y) without overflow, elementwise, float operands broadcast together.",
    example=">>> math.logaddexp([1000.0], [1000.0]).numpy()\narray([1000.6932], dtype=float32)",
)


def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """log(sigmoid(x)) = -softplus(-x), accurate for any x, elementwise, float dtypes.

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    """
    return bind(NEG, bind(SOFTPLUS, bind(NEG, lift(x))))


def _present(x: Tensor) -> Tensor:
    """1 where x is nonzero, else 0."""
    return bind(Cast(x.dtype), bind(NOT_EQUAL, x, scalar_like(0, x)))


def _xlogy_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, y = ctx.inputs
    return (
        unbroadcast(ctx, 0, bind(MUL_ZERO, g, conjugate(bind(XLOGY, _present(x), y))))
        if ctx.needs(0)
        else None,
        unbroadcast(ctx, 1, bind(MUL_ZERO, g, conjugate(bind(XDIVY, x, y)))) if ctx.needs(1) else None,
    )


def _xdivy_bars(x: Array, y: Array, g: Array) -> tuple[Array, Array]:
    """The cotangents of floats of one shape, none of the x and g 0. Raises: ValueError: others."""
    if x.dtype.kind != "f" or not x.shape == y.shape == g.shape or not (has_no_zero(x) and has_no_zero(g)):
        raise ValueError("the usual way")
    x_bar, y_bar = np.divide(y.dtype.type(1), y), np.negative(x)
    np.divide(y_bar, y, y_bar)
    np.divide(y_bar, y, y_bar)
    if not are_ones(g, y.dtype):
        x_bar *= g
        y_bar *= g
    return x_bar, y_bar


def _xdivy_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, y = ctx.inputs
    x_bar = y_bar = None
    if ctx.needs(0) and ctx.needs(1):
        found = parts_directly(_xdivy_bars, x, y, g)
        if found is not None:
            return found
    if ctx.needs(0):
        x_bar = unbroadcast(ctx, 0, bind(MUL_ZERO, g, conjugate(bind(XDIVY, _present(x), y))))
    if ctx.needs(1):
        slope = bind(XDIVY, bind(XDIVY, bind(NEG, x), y), y)  # the square of y may be out of range
        y_bar = unbroadcast(ctx, 1, bind(MUL_ZERO, g, conjugate(slope)))
    return x_bar, y_bar


def _zero_where_zero(x: DeviceArray | Array, out: DeviceArray | Array) -> Array:
    if type(out) is np.ndarray and has_no_zero(x):
        return out
    out = chosen(x == 0, out.dtype.type(0), out)
    return out if out.ndim else out[()]


Xlogy = elementwise(
    "xlogy",
    lambda x, y: _zero_where_zero(x, x * np.log(y)),
    vjp=_xlogy_vjp,
    kinds=INEXACT,
    scalar=(("nonzero", "x"), ("log", "y"), ("mul", "x", "b"), ("abs", "x"), ("select", "a", "c", "d")),
    doc="x * log(y), and 0 where x is 0.",
)
Xdivy = elementwise(
    "xdivy",
    lambda x, y: _zero_where_zero(x, x / y),
    vjp=_xdivy_vjp,
    kinds=INEXACT,
    scalar=(("nonzero", "x"), ("div", "x", "y"), ("abs", "x"), ("select", "a", "b", "c")),
    doc="x / y, and 0 where x is 0.",
)
XLOGY, XDIVY = Xlogy(), Xdivy()

_ZERO = "elementwise, float or complex operands broadcast together. The gradient in x is 0 there too."
xlogy = binary_function(
    Xlogy,
    f"x * log(y), and 0 where x is 0 whatever y is, {_ZERO}",
    example=">>> math.xlogy([0.0, 2.0], [0.0, 1.0]).numpy()\narray([0., 0.], dtype=float32)",
)
xdivy = binary_function(Xdivy, f"x / y, and 0 where x is 0 whatever y is, {_ZERO}")
