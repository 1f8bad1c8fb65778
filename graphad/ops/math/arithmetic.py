"""Sums, products and quotients: the ops behind + - * / // % and their derivatives.

Cotangents of complex values are conjugated. Divisions that must not give nan at 0 are ops of their own, since a `where`
around a division would still multiply 0 by its infinite derivative.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import (
    Array,
    Cotangents,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift_pair
from graphad.core.dtypes import float32, float64
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import no_gradient
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.array.create import zeros_of
from graphad.ops.choice import are_ones, negated, product, quotient, signs, without_nan
from graphad.ops.elementwise import binary_function, elementwise, named, unary_function
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import IS_FINITE, LOGICAL_OR, NOT_EQUAL, TAKEN
from graphad.ops.math.complexes import COMPLEX, IMAG_PART, REAL_PART, conjugate, part_dtype
from graphad.ops.math.integers import whole_quotient
from graphad.ops.math.remainders import floored
from graphad.ops.math.select import SELECT
from graphad.ops.overwrite import overwrite
from graphad.ops.repeated import summed_products
from graphad.ops.rules import (
    INEXACT,
    NUMERIC,
    OF_THE_OTHER,
    REAL,
    scalar_like,
    unbroadcast,
)
from graphad.ops.short import of_two

if TYPE_CHECKING:
    from graphad.devices.array import DeviceArray


def _neg_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (bind(NEG, g),)


def _add_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    if ctx.is_free:
        if ctx.inputs[0].dims == g.data.shape:
            return g, g if ctx.inputs[1].dims == g.data.shape else unbroadcast(ctx, 1, g)
    x_bar = unbroadcast(ctx, 0, g) if ctx.needs(0) else None
    return x_bar, unbroadcast(ctx, 1, g) if ctx.needs(1) else None


def _sub_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x_bar = unbroadcast(ctx, 0, g) if ctx.needs(0) else None
    return x_bar, unbroadcast(ctx, 1, bind(NEG, g)) if ctx.needs(1) else None


def _mul_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, y = ctx.inputs
    return (
        _unbroadcast_product(ctx, 0, g, conjugate(y)) if ctx.needs(0) else None,
        _unbroadcast_product(ctx, 1, g, conjugate(x)) if ctx.needs(1) else None,
    )


def _unbroadcast_product(ctx: VjpContext, i: int, g: Tensor, f: Tensor) -> Tensor:
    """The product summed to the shape of input i."""
    found = summed_products(ctx, i, g, f, ctx.is_masked)
    return unbroadcast(ctx, i, bind(MUL_ZERO if ctx.is_masked else MUL, g, f)) if found is None else found


def _quick_mul_vjp(op: object, ctx: VjpContext, g: Array) -> Cotangents | None:
    """The same for real numbers of one shape."""
    x, y = ctx.inputs
    if g.dtype.kind != "f" or x.dtype is not y.dtype or x.dims != y.dims:
        return None
    x_bar = EagerTensor(product(g, y.data)) if ctx.needs(0) else None
    return x_bar, EagerTensor(product(g, x.data)) if ctx.needs(1) else None


def _div_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    y, x_bar, y_bar = ctx.inputs[1], None, None
    over = bind(DIV_ZERO, g, conjugate(y))
    if ctx.needs(0):
        x_bar = unbroadcast(ctx, 0, over)
    if ctx.needs(1):
        out = conjugate(ctx.outputs[0])
        total = summed_products(ctx, 1, over, out, True)
        if total is None:
            y_bar = unbroadcast(ctx, 1, overwrite(NEG, bind(MUL_ZERO, over, out)))
        else:
            y_bar = bind(NEG, total)
    return x_bar, y_bar


def no_zero(op: str, y: DeviceArray | Array) -> None:
    # Sizes arrive as objects while a graph is specialised; they are never 0 there.
    is_whole = getattr(y, "dtype", np.dtype(object)).kind in "iu"
    if is_whole and not (np.all(y) if y.ndim else y):
        raise InvalidArgumentError(f"{op}: Integer division by zero; make sure that no element of y is 0.")


def _floordiv(x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iuO":
        return np.floor(x / y)
    no_zero("floordiv", y)
    found = whole_quotient(x, y, np.floor)
    return x // y if found is None else found


def _mod(x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iuO":
        return floored(x, y)
    no_zero("mod", y)
    found = whole_quotient(x, y, np.floor)
    return x % y if found is None else x - found * y


def _mod_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, y = ctx.inputs
    return (
        unbroadcast(ctx, 0, g) if ctx.needs(0) else None,
        unbroadcast(ctx, 1, bind(NEG, bind(MUL, g, bind(FLOORDIV, x, y)))) if ctx.needs(1) else None,
    )


_OF_A_QUOTIENT = ((1,), False), ((1,), True)  # what the derivatives by x and by y read of x / y


def _product_into(x: Array, y: Array, out: Array) -> Array:
    return x if are_ones(y, x.dtype) else np.multiply(x, y, out)


Neg = elementwise(
    "neg",
    negated,
    vjp=_neg_vjp,
    scalar="neg",
    applied=np.negative,
    into=np.negative,
    keeps=(False, False),
    doc="-x.",
    infix="-{}",
)
Add = elementwise(
    "add",
    operator.add,
    vjp=_add_vjp,
    scalar="add",
    applied=np.add,
    into=np.add,
    keeps=(False, False),
    doc="x + y.",
    infix="{} + {}",
    counts=1,
)
Sub = elementwise(
    "sub",
    operator.sub,
    vjp=_sub_vjp,
    scalar="sub",
    applied=np.subtract,
    keeps=(False, False),
    doc="x - y.",
    infix="{} - {}",
    counts=-1,
)
Mul = elementwise(
    "mul",
    product,
    vjp=_mul_vjp,
    quick_vjp=_quick_mul_vjp,
    scalar="mul",
    applied=np.multiply,
    into=staticmethod(_product_into),
    keeps_alone=OF_THE_OTHER,
    doc="x * y.",
    infix="{} * {}",
    __module__=__name__,  # not that of its formula: the pages list it here
)
Div = elementwise(
    "div",
    operator.truediv,
    vjp=_div_vjp,
    scalar="div",
    applied=np.divide,
    kinds=INEXACT,
    keeps=((1,), True),
    keeps_alone=_OF_A_QUOTIENT,
    doc="x / y.",
)
Floordiv = elementwise(
    "floordiv",
    _floordiv,
    vjp=no_gradient("a quotient rounded down is piecewise constant"),
    scalar="floordiv",
    kinds=REAL,
    keeps=(False, False),
    doc="x / y rounded towards minus infinity; for floats, the floor of the rounded quotient. An integer 0 as y is an error.",
    refuses="zero",
)
Mod = elementwise(
    "mod",
    _mod,
    vjp=_mod_vjp,
    scalar="mod",
    kinds=REAL,
    doc="x - y * floor(x / y), computed exactly: 0 or of the sign of y. An integer 0 as y is an error; a float 0 gives NaN.",
    refuses="zero",
)
NEG, ADD, SUB, MUL, DIV, FLOORDIV, MOD = Neg(), Add(), Sub(), Mul(), Div(), Floordiv(), Mod()


def scaled(ctx: VjpContext, g: Tensor, slope: Tensor) -> Tensor:
    """A cotangent of a rule times a derivative. Where zeros of `g` are elements that were not taken they stay 0 in all further
    derivatives too, whatever that of `slope` is."""
    return bind(MUL_ZERO if ctx.is_masked and not ctx.is_free else MUL, g, slope)


def _square_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x = conjugate(ctx.inputs[0])
    twice = bind(ADD, x, x)
    return (scaled(ctx, g, twice) if ctx.is_masked else overwrite(MUL, twice, g),)


def _squared_difference_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, y = ctx.inputs
    twice, away = bind(MUL, scalar_like(2, g), g), bind(SUB, x, y)
    bar = scaled(ctx, twice, away) if ctx.is_masked else overwrite(MUL, away, twice)
    return (
        unbroadcast(ctx, 0, bar) if ctx.needs(0) else None,
        unbroadcast(ctx, 1, bind(NEG, bar)) if ctx.needs(1) else None,
    )


def _squared_difference(x: Any, y: Any) -> Any:
    d = x - y
    return np.multiply(d, d, d) if type(d) is np.ndarray else d * d


Square = elementwise(
    "square",
    lambda x: x * x,
    vjp=_square_vjp,
    scalar="square",
    applied=np.multiply,
    doc="x * x.",
    infix="{0} * {0}",
)
SquaredDifference = elementwise(
    "squared_difference",
    _squared_difference,
    vjp=_squared_difference_vjp,
    kinds=REAL,
    scalar=(("sub", "x", "y"), ("square", "a")),
    doc="(x - y)^2.",
)
SQUARE = Square()


def _divide_no_nan_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    y, x_bar, y_bar = ctx.inputs[1], None, None
    if ctx.is_masked:  # zeros of g stay in all further derivatives, and those beside y of 0 are among them
        is_kept = bind(NOT_EQUAL, y, scalar_like(0, y))
        over = bind(DIV_ZERO, bind(MULTIPLY_NO_NAN, g, cast(is_kept, g.dtype)), conjugate(y))
    else:
        over = bind(DIVIDE_NO_NAN, g, conjugate(y))
    if ctx.needs(0):
        x_bar = unbroadcast(ctx, 0, over)
    if ctx.needs(1):
        slope = bind(MUL_ZERO if ctx.is_masked else MUL, over, conjugate(ctx.outputs[0]))
        y_bar = unbroadcast(ctx, 1, overwrite(NEG, slope))
    return x_bar, y_bar


def _multiply_no_nan_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, y = ctx.inputs
    x_bar = None
    if ctx.needs(0):
        op, g_kept = MULTIPLY_NO_NAN, g
        if ctx.is_masked:  # zeros of g stay in further derivatives, and y of 0 passes over what is not finite
            is_kept = bind(LOGICAL_OR, bind(NOT_EQUAL, y, scalar_like(0, y)), bind(IS_FINITE, g))
            op, g_kept = MUL_ZERO, bind(MULTIPLY_NO_NAN, g, cast(is_kept, g.dtype))
        x_bar = unbroadcast(ctx, 0, bind(op, g_kept, conjugate(y)))
    return x_bar, unbroadcast(ctx, 1, bind(MULTIPLY_NO_NAN, conjugate(x), g)) if ctx.needs(1) else None


def _of_taken(ctx: VjpContext, g: Tensor, g_bar: Tensor) -> Tensor:
    """What is pulled back to a cotangent `g`: 0 where that is 0 beside a pole, and so stayed 0, in place of an infinity that
    further rules would multiply by zeros."""
    if ctx.is_forward or (ctx.is_free and bool(np.isfinite(g_bar.data).all())):
        return g_bar
    kept = bind(TAKEN, bind(NOT_EQUAL, g, scalar_like(0, g)), bind(IS_FINITE, g_bar))
    return bind(SELECT, kept, g_bar, scalar_like(0, g_bar))


def _mul_zero_vjp(ctx: VjpContext, f_first: Tensor) -> Cotangents:
    g, f = ctx.inputs
    g_bar = None
    if ctx.needs(0):
        g_bar = unbroadcast(ctx, 0, _of_taken(ctx, g, bind(MUL_ZERO, f_first, conjugate(f))))
    return g_bar, unbroadcast(ctx, 1, bind(MUL_ZERO, conjugate(g), f_first)) if ctx.needs(1) else None


def _div_zero_vjp(ctx: VjpContext, f_first: Tensor) -> Cotangents:
    g, f = map(conjugate, ctx.inputs)
    g_bar = unbroadcast(ctx, 0, _of_taken(ctx, g, bind(DIV_ZERO, f_first, f))) if ctx.needs(0) else None
    f_bar = None
    if ctx.needs(1):  # 0 where g is 0, even if `f_first` is infinite
        slope = bind(DIV_ZERO, bind(DIV_ZERO, bind(MUL_ZERO, g, f_first), f), f)
        f_bar = unbroadcast(ctx, 1, overwrite(NEG, slope))
    return g_bar, f_bar


DivideNoNan = elementwise(
    "divide_no_nan",
    lambda x, y: without_nan(y, x / y),
    vjp=_divide_no_nan_vjp,
    kinds=INEXACT,
    keeps=((1,), True),
    keeps_alone=_OF_A_QUOTIENT,
    scalar=(("nonzero", "y"), ("div", "x", "y"), ("abs", "y"), ("select", "a", "b", "c")),
    doc="x / y, and 0 where y is 0.",
)
MultiplyNoNan = elementwise(
    "multiply_no_nan",
    lambda x, y: without_nan(y, x * y),
    vjp=_multiply_no_nan_vjp,
    kinds=INEXACT,
    keeps_alone=OF_THE_OTHER,
    scalar=(("nonzero", "y"), ("mul", "x", "y"), ("abs", "y"), ("select", "a", "b", "c")),
    doc="x * y, and 0 where y is 0, even if x is infinite or NaN.",
)
MulZero = elementwise(
    "mul_zero",
    lambda g, f: without_nan(g, product(g, f)),
    vjp=_mul_zero_vjp,
    kinds=INEXACT,
    keeps_alone=OF_THE_OTHER,
    scalar=(("nonzero", "x"), ("mul", "x", "y"), ("abs", "x"), ("select", "a", "b", "c")),
    doc="g * f, and 0 where g is 0, even if f is infinite or NaN.",
)
DivZero = elementwise(
    "div_zero",
    lambda g, f: without_nan(g, quotient(g, f)),
    vjp=_div_zero_vjp,
    kinds=INEXACT,
    scalar=(("nonzero", "x"), ("div", "x", "y"), ("abs", "x"), ("select", "a", "b", "c")),
    doc="g / f, and 0 where g is 0, even if f is 0 or NaN.",
)
DIVIDE_NO_NAN, MULTIPLY_NO_NAN = DivideNoNan(), MultiplyNoNan()
# In derivative rules: a cotangent of 0, as from a branch that `where` did not take, stays 0 at a pole.
MUL_ZERO, DIV_ZERO = MulZero(), DivZero()


def _reciprocal_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (bind(RECIPROCAL_GRAD, conjugate(ctx.outputs[0]), g),)


def _reciprocal_grad_vjp(ctx: VjpContext, h: Tensor) -> Cotangents:
    y, g = ctx.inputs
    y_bar = g_bar = None
    if ctx.needs(0):
        # g first: where it is 0 so are the further derivatives and the tangent
        twice = conjugate(bind(MUL, scalar_like(-2.0, y), y))
        y_bar = unbroadcast(ctx, 0, bind(MUL_ZERO, bind(MUL_ZERO, conjugate(g), h), twice))
    if ctx.needs(1):
        g_bar = unbroadcast(ctx, 1, bind(RECIPROCAL_GRAD, conjugate(y), h))
    return y_bar, g_bar


def _reciprocal_slope(y: Any, g: Any) -> Any:
    slope = product(y, g)  # a view of y where g begins with ones
    if type(slope) is not np.ndarray or slope.shape != np.shape(y):
        return -(slope * y)
    slope = np.multiply(slope, y, slope if slope.flags.owndata else None)
    return np.negative(slope, slope)


Reciprocal = elementwise(
    "reciprocal",
    lambda x: x.dtype.type(1) / x,
    vjp=_reciprocal_vjp,
    kinds=INEXACT,
    scalar="reciprocal",
    into=staticmethod(lambda x, out: np.divide(x.dtype.type(1), x, out)),
    keeps=(False, True),
    doc="1 / x.",
)
ReciprocalGrad = elementwise(
    "reciprocal_grad",
    lambda y, g: without_nan(g, _reciprocal_slope(y, g)),
    vjp=_reciprocal_grad_vjp,
    kinds=INEXACT,
    scalar=(
        ("nonzero", "y"),
        ("mul", "y", "x"),
        ("mul", "b", "x"),
        ("neg", "c"),
        ("abs", "y"),
        ("select", "a", "d", "e"),
    ),
    doc="-g * y^2, and 0 where g is 0.",
)
RECIPROCAL, RECIPROCAL_GRAD = Reciprocal(), ReciprocalGrad()


def _abs_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x = ctx.inputs[0]
    if not x.dtype.is_complex:
        return (overwrite(MUL, bind(SIGN, x), g),)
    # Part by part: dividing a complex number by a subnormal magnitude would pass through infinity.
    parts = (bind(DIVIDE_NO_NAN, bind(part, x), ctx.outputs[0]) for part in (REAL_PART, IMAG_PART))
    return (bind(COMPLEX, *(bind(MUL, g, part) for part in parts)),)


Abs = elementwise(
    "abs",
    np.abs,
    vjp=_abs_vjp,
    scalar="abs",
    result=part_dtype,
    keeps=(True, True),
    doc="|x|; for complex x the real absolute value, in the dtype of its parts. The lowest integer stays as it is.",
)


def _sign_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    if not g.dtype.is_complex:
        return (zeros_of(g),)
    x = ctx.inputs[0]
    y = bind(SIGN, x)
    # x / |x| is only the phase: a change of x in its own direction does not change it
    along = bind(REAL_PART, bind(MUL, conjugate(g), y))
    across = bind(SUB, g, bind(MUL, y, cast(along, x.dtype)))
    return (bind(DIVIDE_NO_NAN, across, cast(bind(ABS, x), x.dtype)),)


Sign = elementwise(
    "sign",
    signs,
    vjp=_sign_vjp,
    kinds=NUMERIC,
    scalar="sign",
    keeps=(True, False),
    doc="-1, 0 or 1, NaN for NaN; x / |x| for complex x other than 0.",
)
ABS, SIGN = Abs(), Sign()


negative = unary_function(
    Neg,
    "-x, elementwise, any numeric dtype.",
    "negative",
    example=">>> negative([1.0, -2.0]).numpy()\narray([-1.,  2.], dtype=float32)",
)
abs = unary_function(
    Abs,
    "The absolute value, elementwise; a real tensor for complex `x`. The gradient at 0 is chosen to be 0.",
    "abs",
    example=">>> abs([-1.0, 2.0]).numpy()\narray([1., 2.], dtype=float32)",
)
square = unary_function(
    Square,
    "x * x, elementwise, any numeric dtype.",
    example=">>> square([2.0, 3.0]).numpy()\narray([4., 9.], dtype=float32)",
)
_SAME = "elementwise, operands of one numeric dtype broadcast together."
add = binary_function(
    Add, f"x + y, {_SAME}", example=">>> add([1.0, 2.0], 3.0).numpy()\narray([4., 5.], dtype=float32)"
)
subtract = binary_function(
    Sub,
    f"x - y, {_SAME}",
    "subtract",
    example=">>> subtract([1.0, 2.0], 3.0).numpy()\narray([-2., -1.], dtype=float32)",
)
multiply = binary_function(
    Mul,
    f"x * y, {_SAME}",
    "multiply",
    example=">>> multiply([1.0, 2.0], 3.0).numpy()\narray([3., 6.], dtype=float32)",
    quick=operator.mul,
)
floordiv = binary_function(
    Floordiv,
    f"x / y rounded towards minus infinity, {_SAME} No gradient.",
    example=">>> math.floordiv([7, -7], 2).numpy()\narray([ 3, -4], dtype=int32)",
)
mod = binary_function(
    Mod,
    f"The remainder x - y * floor(x / y), with the sign of y, {_SAME}",
    example=">>> math.mod([7, -7], 3).numpy()\narray([1, 2], dtype=int32)",
)
floormod = binary_function(
    Mod,
    f"The remainder x - y * floor(x / y), with the sign of y, {_SAME}",
    "floormod",
    example=">>> math.floormod([7, -7], 3).numpy()\narray([1, 2], dtype=int32)",
)
_squared_difference_of_reals = binary_function(SquaredDifference, "Of real numbers.")


def squared_difference(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """(x - y) * conj(x - y), elementwise, operands of one numeric dtype broadcast together.

    Args:
      x, y: Tensors of one numeric dtype that broadcast together.
    Returns: Tensor of the broadcast shape and the same dtype.
    Raises: DTypeError (a TypeError): another dtype or dtypes that differ; InvalidArgumentError (a ValueError): shapes that do
      not broadcast.
    Example:
      >>> math.squared_difference([1.0, 2.0], 4.0).numpy()
      array([9., 4.], dtype=float32)
    """
    x, y = lift_pair("squared_difference", x, y)
    if not x.dtype.is_complex:
        return _squared_difference_of_reals(x, y)
    d = bind(SUB, x, y)
    return bind(MUL, d, conjugate(d))


_divide_no_nan = binary_function(DivideNoNan, "Of floats or complex numbers.", "divide_no_nan")
multiply_no_nan = binary_function(
    MultiplyNoNan,
    "x * y, and 0 where y is 0 even if x is infinite or NaN, elementwise, float or complex operands broadcast together.",
    example=">>> math.multiply_no_nan([1.0], [0.0]).numpy()\narray([0.], dtype=float32)",
)


def divide_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x / y, and 0 where y is 0 (with gradient 0), elementwise, operands of one numeric dtype broadcast together.

    Integers give floats, as by `/`.

    Args:
      x, y: Tensors of one numeric dtype that broadcast together.
    Returns: Tensor of the broadcast shape; floats for integers.
    Raises: DTypeError (a TypeError): dtypes that differ; InvalidArgumentError (a ValueError): shapes that do not broadcast.
    Example:
      >>> math.divide_no_nan([1.0, 2.0], [0.0, 4.0]).numpy()
      array([0. , 0.5], dtype=float32)
    """
    if type(x) is not EagerTensor or type(y) is not EagerTensor or x.data.dtype.kind in "iu":
        x, y = _as_floats(*lift_pair("divide_no_nan", x, y))
    return _divide_no_nan(x, y)


def _as_floats(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Two integers of one dtype cast to the float dtype in which they are divided; others unchanged."""
    if x.dtype.is_integer and x.dtype is y.dtype:
        wide = float32 if x.dtype.itemsize < 4 else float64
        return cast(x, wide), cast(y, wide)
    return x, y


def _divided(x: TensorLike, y: TensorLike) -> Tensor:
    return bind(DIV, *_as_floats(*lift_pair("div", x, y)))


divide = named(
    of_two(operator.truediv, INEXACT, _divided),
    "divide",
    """x / y, elementwise, operands of one numeric dtype broadcast together.

    Integers of 8 and 16 bits give float32, wider ones float64. Division by 0 gives inf or nan.

    Args:
      x, y: Tensors of any shapes that broadcast together, a numeric dtype, the same one for both.
    Returns: Tensor with the shape to which the arguments broadcast, of the same dtype; floats for integers.
    Raises: DTypeError (a TypeError): another dtype or dtypes that differ; InvalidArgumentError (a ValueError): shapes that do not
      broadcast.
    Example:
      >>> divide([1.0, 2.0], 4.0).numpy()
      array([0.25, 0.5 ], dtype=float32)
    """,
)
truediv = divide
sign = unary_function(
    Sign,
    "-1, 0 or 1 by the sign of x, elementwise (x / |x| for complex x, 0 at 0). The gradient is zeros, not None;\n"
    "of complex x that of x / |x|.",
    example=">>> sign([-3.0, 0.0, 2.0]).numpy()\narray([-1.,  0.,  1.], dtype=float32)",
)
