"""Elementwise functions that are NumPy's ufuncs: a table of the ufuncs and the ops that compute them.

`_unary` and `_binary` turn an op into a function: its operands get the dtypes in which the ufunc computes, so that integers
become floats as in NumPy. Operands that the op does not take, such as rounded integers or added bools, are handled separately.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.kinds import REAL, require_kind
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.array.passing import IDENTITY
from graphad.ops.directly import directly, has_no_nan
from graphad.ops.math import digits, incomplete, truncated
from graphad.ops.math.native_loops import natively
from graphad.ops.numpy.promotion import NUMBERS, by_value, cast_to, operands, promoted

_Unary = Callable[..., Tensor]


def _of_real(name: str, op: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """An op that takes complex numbers as the function of a ufunc that takes none."""
    return lambda x: op(require_kind(name, x, REAL))


def _same(x: Tensor) -> Tensor:
    return bind(IDENTITY, x)


def _false(x: TensorLike) -> Tensor:
    return array.zeros_like(x, dtypes.bool_)


def _true(x: TensorLike) -> Tensor:
    return array.ones_like(x, dtypes.bool_)


def _unary(
    ufunc: np.ufunc,
    sentence: str,
    sample: list[Any],
    op: Callable[..., Any],
    discrete: Callable[..., Any] | None = None,
) -> _Unary:
    """NumPy's `ufunc` computed by an op; `discrete` handles integers and bools if the op does not take them."""

    def function(x: TensorLike) -> Tensor:
        if not (isinstance(x, Tensor) and x.dtype.is_differentiable):
            (x,) = operands(ufunc, x)
            if discrete is not None and not x.dtype.is_differentiable:
                return discrete(x)  # type: ignore[no-any-return]
        return op(x)  # type: ignore[no-any-return]

    return _described(function, ufunc, sentence, sample)


def _binary(
    ufunc: np.ufunc,
    sentence: str,
    sample: list[Any],
    op: Callable[..., Any],
    bools: Callable[..., Any] | None = None,
    of_truth: bool = False,
) -> _Unary:
    """NumPy's `ufunc` computed by an op; `bools` handles bools if the op does not take them. `of_truth`: only whether an operand
    is nonzero matters, so that Python's numbers fit every dtype."""

    is_comparison = ufunc in _COMPARISONS

    def function(x1: TensorLike, x2: TensorLike) -> Tensor:
        if of_truth:
            x1, x2 = (bool(x) if type(x) in NUMBERS else x for x in (x1, x2))
        elif is_comparison:
            x1, x2 = by_value(x1, x2), by_value(x2, x1)
        if not (
            isinstance(x1, Tensor)
            and isinstance(x2, Tensor)
            and x1.dtype is x2.dtype
            and x1.dtype.is_differentiable
        ):
            x1, x2 = operands(ufunc, x1, x2)
            if bools is not None and x1.dtype.is_bool and x2.dtype.is_bool:
                return bools(x1, x2)  # type: ignore[no-any-return]
        return op(x1, x2)  # type: ignore[no-any-return]

    return _described(function, ufunc, sentence, sample)


_COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


_LETTERS = {"bool": "?", "integer": "bBhHiIlLqQ", "float": "efd", "complex": "FD"}


def _described(function: _Unary, ufunc: np.ufunc, sentence: str, sample: list[Any]) -> _Unary:
    """The function with its name and docstring: the dtypes are those that the ufunc has loops for, the example is NumPy's."""
    name = function.__name__ = function.__qualname__ = ufunc.__name__
    loops = [loop for loop in ufunc.types if loop[0] in "?bBhHiIlLqQefdFD"]
    taken = [kind for kind, letters in _LETTERS.items() if any(loop[0] in letters for loop in loops)]
    known = " or ".join([", ".join(taken[:-1]), taken[-1]] if taken[1:] else taken)
    text = (
        "of any dtype"
        if len(taken) == 4
        else f"of a {known} dtype"
        if taken[0] != "integer"
        else f"of an {known} dtype"
    )
    if "integer" not in taken:
        wide = "float64" if len(loops) < 3 else "float16, float32 or float64, by their size"
        text += f"; integers and bools become {wide}"
    errors = "" if len(taken) == 4 else "DTypeError (a TypeError): another dtype."
    kind, dtype = (
        ("Bool tensor", "") if all(loop[-1] == "?" for loop in loops) else ("Tensor", ", of that dtype")
    )
    dtype = ", real" if name == "absolute" else dtype
    if ufunc.nin == 1:
        arguments, shape = ["x: Tensor of any shape,"], "the shape of x"
    else:
        arguments, shape = (
            ["x1, x2: Tensors of shapes that broadcast together,"],
            "the shape that they have together",
        )
        arguments.append("  The result has the promoted dtype.")
        errors = f"{errors[:-1]}; " if errors else ""
        errors += "InvalidArgumentError (a ValueError): shapes that do not broadcast."
    arguments[0] += f" {text}."
    lines = [
        sentence,
        "",
        "Args:",
        *[f"  {line}" for line in arguments],
        f"Returns: {kind} of {shape}{dtype}.",
    ]
    lines += [
        f"Raises: {errors or 'ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.'}"
    ]
    if sample:
        lines += ["Example:", f"  >>> numpy.{name}({', '.join(map(repr, sample))}).numpy().tolist()"]
        lines.append(f"  {ufunc(*map(np.asarray, sample)).tolist()}")
    function.__doc__ = "\n".join(lines)
    return function


def _bytes(compare: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison of bools as the numbers 0 and 1."""
    return lambda x, y: compare(math.cast(x, dtypes.uint8), math.cast(y, dtypes.uint8))


def _alike(compare: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison of signed with unsigned integers, which NumPy compares by value."""

    def run(x: Any, y: Any) -> Any:
        if {x.dtype, y.dtype} != {dtypes.int64, dtypes.uint64}:
            return compare(x, y) if x.dtype is y.dtype else compare(*promoted(x, y))
        # Their promoted dtype, float64, has not all of their values.
        negative = math.less(x if x.dtype is dtypes.int64 else y, lift(np.int64(0)))
        below = compare(*(lift(np.int64(n)) for n in ((-1, 0) if x.dtype is dtypes.int64 else (0, -1))))
        return math.where(negative, below, compare(*(math.cast(z, dtypes.uint64) for z in (x, y))))

    return run


def _as_bools(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*xs: Any) -> Any:
        return function(*[x if x.dtype.is_bool else math.not_equal(x, cast_to(0, x.dtype)) for x in xs])

    return run


abs = absolute = _unary(
    np.absolute,
    "The absolute value; real for complex x. The gradient at 0 is chosen to be 0.",
    [[-1.5, 2.0]],
    math.abs,
    lambda x: _same(x) if x.dtype.is_bool else math.abs(x),
)
acos = arccos = _unary(
    np.arccos, "The inverse cosine, from 0 to pi; NaN outside -1 to 1.", [[0.0, 1.0]], math.acos
)
acosh = arccosh = _unary(
    np.arccosh, "The inverse hyperbolic cosine, 0 or more; NaN below 1.", [[1.0, 2.0]], math.acosh
)
asin = arcsin = _unary(
    np.arcsin, "The inverse sine, from -pi/2 to pi/2; NaN outside -1 to 1.", [[0.0, 1.0]], math.asin
)
asinh = arcsinh = _unary(np.arcsinh, "The inverse hyperbolic sine.", [[0.0, 1.0]], math.asinh)
atan = arctan = _unary(np.arctan, "The inverse tangent, from -pi/2 to pi/2.", [[0.0, 1.0]], math.atan)
atanh = arctanh = _unary(
    np.arctanh, "The inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond.", [[0.0, 0.5]], math.atanh
)
bitwise_invert = bitwise_not = invert = _unary(
    np.invert,
    "Every bit flipped; for bools the negation.",
    [[0, 5]],
    math.invert,
    lambda x: math.logical_not(x) if x.dtype.is_bool else math.invert(x),
)
cbrt = _unary(
    np.cbrt,
    "The cube root, negative for negative numbers. The gradient at 0 is infinite.",
    [[8.0, -27.0]],
    digits.cbrt,
)
ceil = _unary(np.ceil, "The smallest integer not below x. No gradient.", [[1.2, -1.7]], math.ceil, _same)
conj = conjugate = _unary(
    np.conjugate, "The complex conjugate; real numbers are unchanged.", [[1.0, 1j]], math.conj, _same
)
cos = _unary(np.cos, "The cosine of an angle in radians.", [[0.0, 1.0]], math.cos)
cosh = _unary(np.cosh, "The hyperbolic cosine.", [[0.0, 1.0]], math.cosh)
deg2rad = radians = _unary(
    np.radians,
    "Degrees converted to radians: x pi / 180.",
    [[0.0, 180.0]],
    _of_real("radians", lambda x: math.multiply(x, cast_to(np.pi / 180.0, x.dtype))),
)
degrees = rad2deg = _unary(
    np.degrees,
    "Radians converted to degrees: 180 x / pi.",
    [[0.0, 1.0]],
    _of_real("degrees", lambda x: math.multiply(x, cast_to(180.0 / np.pi, x.dtype))),
)
exp = _unary(np.exp, "e to the power x.", [[0.0, 1.0]], math.exp)
exp2 = _unary(
    np.exp2,
    "2 to the power x.",
    [[0.0, 3.0]],
    lambda x: (
        math.exp(math.multiply(x, cast_to(np.log(2.0), x.dtype))) if x.dtype.is_complex else digits.exp2(x)
    ),
)
expm1 = _unary(np.expm1, "exp(x) - 1, accurate near 0.", [[0.0, 1e-10]], math.expm1)
fabs = _unary(
    np.fabs,
    "The absolute value of a real number, as a float. The gradient at 0 is chosen to be 0.",
    [[-1.5, 2.0]],
    _of_real("fabs", math.abs),
)
floor = _unary(np.floor, "The largest integer not above x. No gradient.", [[1.7, -1.2]], math.floor, _same)
isfinite = _unary(
    np.isfinite,
    "Whether x is neither infinite nor NaN; integers and bools always are.",
    [],
    math.is_finite,
    _true,
)
isinf = _unary(
    np.isinf,
    "Whether x is inf or -inf, or has such a part; integers and bools never are.",
    [],
    math.is_inf,
    _false,
)
isnan = _unary(
    np.isnan, "Whether x is NaN, or has such a part; integers and bools never are.", [], math.is_nan, _false
)
log = _unary(np.log, "The natural logarithm; -inf at 0, NaN below 0 for real dtypes.", [[1.0, 2.0]], math.log)
log10 = _unary(
    np.log10,
    "The logarithm to base 10; -inf at 0, NaN below 0 for real dtypes.",
    [[1.0, 1000.0]],
    digits.log10,
)
log1p = _unary(
    np.log1p,
    "log(1 + x), accurate near 0; -inf at -1, NaN below it for real dtypes.",
    [[0.0, 1e-10]],
    math.log1p,
)
log2 = _unary(
    np.log2, "The logarithm to base 2; -inf at 0, NaN below 0 for real dtypes.", [[1.0, 8.0]], digits.log2
)
logical_not = _unary(
    np.logical_not,
    "Whether x is 0 or False. No gradient.",
    [[0.0, 2.0]],
    _as_bools(math.logical_not),
    _as_bools(math.logical_not),
)
negative = _unary(np.negative, "-x.", [[1.0, -2.0]], math.negative)
positive = _unary(np.positive, "x itself, as a new tensor.", [[1.0, -2.0]], _same, _same)
reciprocal = _unary(
    np.reciprocal,
    "1 / x, rounded towards 0 for integers, of which 0 has none.",
    [[2.0, 4.0]],
    math.reciprocal,
    lambda x: truncated.truncatediv(cast_to(1, x.dtype), x),
)
rint = _unary(
    np.rint,
    "The nearest integer, halves to even ones; of both parts of complex numbers. No gradient.",
    [[0.5, 1.7]],
    lambda x: (
        math.complex(math.rint(math.real(x)), math.rint(math.imag(x))) if x.dtype.is_complex else math.rint(x)
    ),
)
sign = _unary(
    np.sign,
    "-1, 0 or 1 by the sign of x, NaN for NaN; for complex x, x / abs(x). The gradient of real x is 0.",
    [[-3.0, 0.0, 2.0]],
    math.sign,
)
sin = _unary(np.sin, "The sine of an angle in radians.", [[0.0, 1.0]], math.sin)
sinh = _unary(np.sinh, "The hyperbolic sine.", [[0.0, 1.0]], math.sinh)
sqrt = _unary(
    np.sqrt,
    "The square root; NaN below 0 for real dtypes. The gradient at 0 is infinite.",
    [[4.0, 9.0]],
    math.sqrt,
)
square = _unary(np.square, "x^2.", [[2.0, -3.0]], math.square)
tan = _unary(np.tan, "The tangent of an angle in radians.", [[0.0, 1.0]], math.tan)
tanh = _unary(np.tanh, "The hyperbolic tangent.", [[0.0, 1.0]], math.tanh)
trunc = _unary(np.trunc, "x rounded towards 0. No gradient.", [[1.7, -1.7]], math.trunc, _same)

add = _binary(np.add, "x1 + x2; for bools the logical or.", [[1.0, 2.0], 3.0], math.add, math.logical_or)
arctan2 = atan2 = _binary(
    np.arctan2,
    "The angle of the point (x2, x1) from the first axis, from -pi to pi. The gradient at the origin is NaN.",
    [[1.0, 0.0], [0.0, -1.0]],
    math.atan2,
)
bitwise_and = _binary(
    np.bitwise_and, "The bits that are set in both.", [[6, 5], 3], math.bitwise_and, math.logical_and
)
bitwise_left_shift = left_shift = _binary(
    np.left_shift,
    "The bits of x1 shifted left by x2; bits beyond the dtype are lost.",
    [[1, 5], 2],
    math.left_shift,
)
bitwise_or = _binary(
    np.bitwise_or, "The bits that are set in one or both.", [[6, 5], 3], math.bitwise_or, math.logical_or
)
bitwise_right_shift = right_shift = _binary(
    np.right_shift,
    "The bits of x1 shifted right by x2, keeping the sign.",
    [[8, 5], 1],
    math.right_shift,
)
bitwise_xor = _binary(
    np.bitwise_xor, "The bits that are set in exactly one.", [[6, 5], 3], math.bitwise_xor, math.logical_xor
)
copysign = _binary(
    np.copysign,
    "|x1| with the sign of x2, also if that is -0.0 or NaN. The gradient goes to x1.",
    [[1.0, 2.0], [-0.0, 3.0]],
    digits.copysign,
)
divide = true_divide = _binary(
    np.divide, "x1 / x2; 0 as divisor gives inf, -inf or NaN.", [[1.0, 3.0], 2.0], math.divide
)
equal = _binary(np.equal, "Whether x1 and x2 are equal. No gradient.", [[1.0, 2.0], 2.0], _alike(math.equal))


def _floor_divide(x: Tensor, y: Tensor) -> Tensor:
    """NumPy's quotient without the remainder, since x / y may round up to a whole number; at infinities the standard's."""
    if not x.dtype.is_floating:
        return math.floordiv(x, y)
    found = directly(_whole_quotient, x, y)
    if found is not None:
        return found
    dtype = x.dtype
    x, y = array.stop_gradient(x), array.stop_gradient(y)
    if dtype.itemsize == 2:
        x, y = math.cast(x, dtypes.float32), math.cast(y, dtypes.float32)
    zero, one = cast_to(0.0, x.dtype), cast_to(1.0, x.dtype)
    rest = truncated.truncatemod(x, y)  # exact, of the sign of x
    is_above = math.logical_and(
        math.not_equal(rest, zero), math.not_equal(math.less(rest, zero), math.less(y, zero))
    )
    whole = math.subtract(math.divide(math.subtract(x, rest), y), math.where(is_above, one, zero))
    ratio = math.divide(x, y)
    whole = math.where(math.equal(whole, zero), digits.copysign(zero, ratio), math.rint(whole))
    whole = math.where(math.equal(y, zero), ratio, whole)
    is_odd = math.logical_or(math.is_inf(x), math.is_inf(y))
    return cast_to(math.where(is_odd, math.floor(ratio), whole), dtype)


_QUOTIENT = natively(np.floor_divide, "floor_divide", is_light=True, operands=2)
_STEP = natively(np.heaviside, "heaviside", is_light=True, operands=2)


def _whole_quotient(x: Any, y: Any) -> Any:
    return _at_infinities(_QUOTIENT(x, y), x, y)


def quotient_and_rest(x: Any, y: Any) -> tuple[Any, Any]:
    """`floor_divide` and `remainder` of floats at once."""
    found, rest = np.divmod(x, y)
    return _at_infinities(found, x, y), rest


def _at_infinities(found: Any, x: Any, y: Any) -> Any:
    is_odd = np.isinf(x) | np.isinf(y)
    return np.where(is_odd, np.floor(x / y), found) if is_odd.any() else found


floor_divide = _binary(
    np.floor_divide,
    "The largest integer not above x1 / x2, exactly; an integer 0 as x2 is an error. No gradient.",
    [[7.0, -7.0], 2.0],
    _floor_divide,
)
greater = _binary(
    np.greater,
    "Whether x1 is larger than x2. No gradient.",
    [[1.0, 3.0], 2.0],
    _alike(math.greater),
    _bytes(math.greater),
)
greater_equal = _binary(
    np.greater_equal,
    "Whether x1 is larger than x2 or equal to it. No gradient.",
    [[1.0, 2.0], 2.0],
    _alike(math.greater_equal),
    _bytes(math.greater_equal),
)
hypot = _binary(
    np.hypot,
    "The length of (x1, x2), without intermediate overflow or underflow. The gradient at the origin is chosen to be 0.",
    [[3.0, 5.0], [4.0, 12.0]],
    digits.hypot,
)
less = _binary(
    np.less,
    "Whether x1 is smaller than x2. No gradient.",
    [[1.0, 3.0], 2.0],
    _alike(math.less),
    _bytes(math.less),
)
less_equal = _binary(
    np.less_equal,
    "Whether x1 is smaller than x2 or equal to it. No gradient.",
    [[1.0, 2.0], 2.0],
    _alike(math.less_equal),
    _bytes(math.less_equal),
)
logaddexp = _binary(
    np.logaddexp, "log(exp(x1) + exp(x2)) without overflow.", [[0.0, 1000.0], 0.0], math.logaddexp
)
logical_and = _binary(
    np.logical_and,
    "Whether both are true, or nonzero. No gradient.",
    [[1.0, 0.0], [2.0, 3.0]],
    _as_bools(math.logical_and),
    of_truth=True,
)
logical_or = _binary(
    np.logical_or,
    "Whether at least one is true, or nonzero. No gradient.",
    [[1.0, 0.0], [0.0, 0.0]],
    _as_bools(math.logical_or),
    of_truth=True,
)
logical_xor = _binary(
    np.logical_xor,
    "Whether exactly one is true, or nonzero. No gradient.",
    [[1.0, 2.0], [0.0, 3.0]],
    _as_bools(math.logical_xor),
    of_truth=True,
)
maximum = _binary(
    np.maximum,
    "The larger one, NaN if either is NaN. At a tie the gradient goes to x1.",
    [[1.0, 5.0], 3.0],
    math.maximum,
    math.logical_or,
)
minimum = _binary(
    np.minimum,
    "The smaller one, NaN if either is NaN. At a tie the gradient goes to x1.",
    [[1.0, 5.0], 3.0],
    math.minimum,
    math.logical_and,
)


def _remainder(x: Tensor, y: Tensor) -> Tensor:
    found = directly(np.remainder, x, y) if x.dtype.is_floating else None
    if found is not None:
        return found
    rest = math.mod(x, y)  # a 0 has the sign of x
    if not x.dtype.is_floating:
        return rest
    zero = cast_to(0.0, x.dtype)
    turned = math.negative(math.add(math.negative(rest), zero))
    return math.where(math.less(y, zero), turned, math.add(rest, zero))


mod = remainder = _binary(
    np.remainder,
    "x1 - x2 floor(x1 / x2), which has the sign of x2; an integer 0 as x2 is an error.",
    [[7.0, -7.0], 3.0],
    _remainder,
)
multiply = _binary(
    np.multiply, "x1 x2; for bools the logical and.", [[1.0, 2.0], 3.0], math.multiply, math.logical_and
)
nextafter = _binary(
    np.nextafter,
    "The next representable number from x1 towards x2. No gradient.",
    [[1.0], 2.0],
    incomplete.nextafter,
)
not_equal = _binary(
    np.not_equal, "Whether x1 and x2 differ. No gradient.", [[1.0, 2.0], 2.0], _alike(math.not_equal)
)
pow = power = _binary(np.power, "x1 to the power x2.", [[2.0, 3.0], 2.0], math.pow)
subtract = _binary(np.subtract, "x1 - x2.", [[1.0, 2.0], 3.0], math.subtract)


def _logaddexp2(x: Tensor, y: Tensor) -> Tensor:
    # Chosen by a mask, not by `maximum`: its derivatives at a tie are not those of this function, which has no kink there.
    is_first = math.greater_equal(x, y)
    large, least = math.where(is_first, x, y), math.where(is_first, y, x)
    are_infinite = math.logical_and(math.equal(large, least), math.is_inf(large))
    gap = math.where(are_infinite, array.zeros_like(large), math.subtract(least, large))
    ratio = cast_to(float(np.log2(np.e)), x.dtype)
    return math.add(large, math.multiply(math.log1p(digits.exp2(gap)), ratio))


def _heaviside(x: Tensor, y: Tensor) -> Tensor:
    found = directly(_STEP, x, y)
    if found is not None:
        return found
    zero, one = cast_to(0, x.dtype), cast_to(1, x.dtype)
    step = math.where(math.less(x, zero), zero, math.where(math.equal(x, zero), y, one))
    return math.where(math.is_nan(x), x, step)


def _skipping_nan(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Any, y: TensorLike) -> Any:
        found = function(x, y)
        if not x.dtype.is_floating or has_no_nan(found):
            return found
        return math.where(math.is_nan(x), y, math.where(math.is_nan(y), x, found))

    return run


logaddexp2 = _binary(
    np.logaddexp2,
    "The logarithm to base 2 of 2^x1 + 2^x2 without overflow.",
    [[0.0, 2000.0], 0.0],
    _logaddexp2,
)
fmod = _binary(
    np.fmod,
    "The remainder of x1 / x2, with the sign of x1; an integer 0 as x2 is an error.",
    [[7.0, -7.0], 3.0],
    truncated.truncatemod,
)
heaviside = _binary(
    np.heaviside,
    "0 where x1 < 0, x2 where x1 = 0, 1 where x1 > 0; NaN for NaN. The gradient goes to x2 where x1 = 0.",
    [[-1.0, 0.0, 1.0], 0.5],
    _heaviside,
)
fmax = _binary(
    np.fmax,
    "The larger one; if one is NaN, the other. At a tie the gradient goes to x1.",
    [[1.0, 5.0], 3.0],
    _skipping_nan(math.maximum),
    math.logical_or,
)
fmin = _binary(
    np.fmin,
    "The smaller one; if one is NaN, the other. At a tie the gradient goes to x1.",
    [[1.0, 5.0], 3.0],
    _skipping_nan(math.minimum),
    math.logical_and,
)


def _float_power(x: Tensor, y: Tensor) -> Tensor:
    wide = dtypes.complex128 if x.dtype.is_complex else dtypes.float64
    return math.pow(cast_to(x, wide), cast_to(y, wide))


float_power = _binary(
    np.float_power, "x1 to the power x2, computed in float64 or complex128.", [[2, 3], 0.5], _float_power
)


gcd = _binary(np.gcd, "The greatest common divisor, 0 or more. No gradient.", [[12, 18], 8], truncated.gcd)
