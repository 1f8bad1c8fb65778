"""Elementwise functions: a table of NumPy's ufuncs and the ops that are theirs, and what is put together from several.

`_unary` and `_binary` make a function of an op: its operands get the dtypes in which the ufunc computes, so that integers become
floats where they do in NumPy. What the op does not take, integers that are rounded or bools that are added, has its own way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.bind import bind
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.array.create import IDENTITY
from graphad.ops.math import digits, incomplete, truncated
from graphad.ops.numpy.promotion import NUMBERS, cast_to, inexact, operands, promoted, tensor_of

_Unary = Callable[..., Tensor]


def _same(x: TensorLike) -> Tensor:
    return bind(IDENTITY, x)


def _false(x: TensorLike) -> Tensor:
    return array.zeros_like(x, dtypes.bool_)


def _true(x: TensorLike) -> Tensor:
    return array.ones_like(x, dtypes.bool_)


def _unary(ufunc: np.ufunc, op: Callable[..., Any], discrete: Callable[..., Any] | None = None) -> _Unary:
    """NumPy's `ufunc` by an op; `discrete` is what it is for integers and bools where the op does not take them."""

    def function(x: TensorLike, /) -> Tensor:
        if not (isinstance(x, Tensor) and x.dtype.is_differentiable):
            (x,) = operands(ufunc, x)
            if discrete is not None and not x.dtype.is_differentiable:
                return discrete(x)  # type: ignore[no-any-return]
        return op(x)  # type: ignore[no-any-return]

    return _named(function, ufunc.__name__)


def _binary(ufunc: np.ufunc, op: Callable[..., Any], bools: Callable[..., Any] | None = None) -> _Unary:
    """NumPy's `ufunc` by an op; `bools` is what it is for bools where the op does not take them."""

    def function(x1: TensorLike, x2: TensorLike, /) -> Tensor:
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

    return _named(function, ufunc.__name__)


def _named(function: _Unary, name: str, doc: str | None = None) -> _Unary:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc or f"`numpy.{name}` of tensors, elementwise."
    return function


def _bytes(compare: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison of bools as of the numbers 0 and 1."""
    return lambda x, y: compare(math.cast(x, dtypes.uint8), math.cast(y, dtypes.uint8))


def _alike(compare: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison of operands that NumPy compares as they are: signed with unsigned numbers."""

    def run(x: Any, y: Any) -> Any:
        return compare(x, y) if x.dtype is y.dtype else compare(*promoted(x, y))

    return run


def _as_bools(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*xs: Any) -> Any:
        return function(*[x if x.dtype.is_bool else math.not_equal(x, cast_to(0, x.dtype)) for x in xs])

    return run


abs = absolute = _unary(np.absolute, math.abs, lambda x: _same(x) if x.dtype.is_bool else math.abs(x))
acos = arccos = _unary(np.arccos, math.acos)
acosh = arccosh = _unary(np.arccosh, math.acosh)
asin = arcsin = _unary(np.arcsin, math.asin)
asinh = arcsinh = _unary(np.arcsinh, math.asinh)
atan = arctan = _unary(np.arctan, math.atan)
atanh = arctanh = _unary(np.arctanh, math.atanh)
bitwise_invert = bitwise_not = invert = _unary(
    np.invert, math.invert, lambda x: math.logical_not(x) if x.dtype.is_bool else math.invert(x)
)
cbrt = _unary(np.cbrt, digits.cbrt)
ceil = _unary(np.ceil, math.ceil, _same)
conj = conjugate = _unary(np.conjugate, math.conj, _same)
cos = _unary(np.cos, math.cos)
cosh = _unary(np.cosh, math.cosh)
deg2rad = radians = _unary(np.radians, lambda x: math.multiply(x, cast_to(np.pi / 180.0, x.dtype)))
degrees = rad2deg = _unary(np.degrees, lambda x: math.multiply(x, cast_to(180.0 / np.pi, x.dtype)))
exp = _unary(np.exp, math.exp)
exp2 = _unary(np.exp2, digits.exp2)
expm1 = _unary(np.expm1, math.expm1)
fabs = _unary(np.fabs, math.abs)
floor = _unary(np.floor, math.floor, _same)
isfinite = _unary(np.isfinite, math.is_finite, _true)
isinf = _unary(np.isinf, math.is_inf, _false)
isnan = _unary(np.isnan, math.is_nan, _false)
log = _unary(np.log, math.log)
log10 = _unary(np.log10, digits.log10)
log1p = _unary(np.log1p, math.log1p)
log2 = _unary(np.log2, digits.log2)
logical_not = _unary(np.logical_not, _as_bools(math.logical_not), _as_bools(math.logical_not))
negative = _unary(np.negative, math.negative)
positive = _unary(np.positive, _same, _same)
reciprocal = _unary(np.reciprocal, math.reciprocal)
rint = _unary(np.rint, math.rint)
sign = _unary(np.sign, math.sign)
sin = _unary(np.sin, math.sin)
sinh = _unary(np.sinh, math.sinh)
sqrt = _unary(np.sqrt, math.sqrt)
square = _unary(np.square, math.square)
tan = _unary(np.tan, math.tan)
tanh = _unary(np.tanh, math.tanh)
trunc = _unary(np.trunc, math.trunc, _same)

add = _binary(np.add, math.add, math.logical_or)
arctan2 = atan2 = _binary(np.arctan2, math.atan2)
bitwise_and = _binary(np.bitwise_and, math.bitwise_and, math.logical_and)
bitwise_left_shift = left_shift = _binary(np.left_shift, math.left_shift)
bitwise_or = _binary(np.bitwise_or, math.bitwise_or, math.logical_or)
bitwise_right_shift = right_shift = _binary(np.right_shift, math.right_shift)
bitwise_xor = _binary(np.bitwise_xor, math.bitwise_xor, math.logical_xor)
copysign = _binary(np.copysign, digits.copysign)
divide = true_divide = _binary(np.divide, math.divide)
equal = _binary(np.equal, _alike(math.equal))
floor_divide = _binary(np.floor_divide, math.floordiv)
greater = _binary(np.greater, _alike(math.greater), _bytes(math.greater))
greater_equal = _binary(np.greater_equal, _alike(math.greater_equal), _bytes(math.greater_equal))
hypot = _binary(np.hypot, digits.hypot)
less = _binary(np.less, _alike(math.less), _bytes(math.less))
less_equal = _binary(np.less_equal, _alike(math.less_equal), _bytes(math.less_equal))
logaddexp = _binary(np.logaddexp, math.logaddexp)
logical_and = _binary(np.logical_and, _as_bools(math.logical_and))
logical_or = _binary(np.logical_or, _as_bools(math.logical_or))
logical_xor = _binary(np.logical_xor, _as_bools(math.logical_xor))
maximum = _binary(np.maximum, math.maximum, math.logical_or)
minimum = _binary(np.minimum, math.minimum, math.logical_and)
mod = remainder = _binary(np.remainder, math.mod)
multiply = _binary(np.multiply, math.multiply, math.logical_and)
nextafter = _binary(np.nextafter, incomplete.nextafter)
not_equal = _binary(np.not_equal, _alike(math.not_equal))
pow = power = _binary(np.power, math.pow)
subtract = _binary(np.subtract, math.subtract)


def _logaddexp2(x: Any, y: Any) -> Tensor:
    large, least = math.maximum(x, y), math.minimum(x, y)
    gap = math.where(math.equal(large, least), array.zeros_like(large), math.subtract(least, large))
    ratio = cast_to(float(np.log2(np.e)), x.dtype)
    return math.add(large, math.multiply(math.log1p(digits.exp2(gap)), ratio))


def _fmod(x: Any, y: Any) -> Tensor:
    if x.dtype.is_integer:
        rest = math.mod(x, y)
        none = cast_to(0, x.dtype)
        other = math.logical_and(
            math.not_equal(rest, none), math.not_equal(math.less(x, none), math.less(y, none))
        )
        return math.where(other, math.subtract(rest, y), rest)
    return digits.copysign(math.mod(math.abs(x), math.abs(y)), x)


def _heaviside(x: Any, y: Any) -> Tensor:
    zero, one = cast_to(0, x.dtype), cast_to(1, x.dtype)
    step = math.where(math.less(x, zero), zero, math.where(math.equal(x, zero), y, one))
    return math.where(math.is_nan(x), x, step)


def _skipping_nan(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Any, y: Any) -> Any:
        if not x.dtype.is_floating:
            return function(x, y)
        return math.where(math.is_nan(x), y, math.where(math.is_nan(y), x, function(x, y)))

    return run


logaddexp2 = _binary(np.logaddexp2, _logaddexp2)
fmod = _binary(np.fmod, _fmod)
heaviside = _binary(np.heaviside, _heaviside)
fmax = _binary(np.fmax, _skipping_nan(math.maximum), math.logical_or)
fmin = _binary(np.fmin, _skipping_nan(math.minimum), math.logical_and)
float_power = _binary(np.float_power, math.pow)


def divmod(x1: TensorLike, x2: TensorLike, /) -> tuple[Tensor, Tensor]:
    """(floor_divide(x1, x2), remainder(x1, x2)), elementwise."""
    return floor_divide(x1, x2), remainder(x1, x2)


def modf(x: TensorLike, /) -> tuple[Tensor, Tensor]:
    """The fraction and the whole part of each element, both with its sign."""
    (x,) = operands(np.modf, x)
    whole = math.trunc(x)
    rest = math.where(math.is_inf(x), array.zeros_like(x), math.subtract(x, whole))
    return digits.copysign(rest, x), whole


def ldexp(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """x1 * 2^x2, elementwise, x2 of an integer dtype."""
    x1, x2 = operands(np.ldexp, x1, x2)
    half = math.floordiv(
        x2, cast_to(2, x2.dtype)
    )  # in two steps, since one may overflow where the result does not
    steps = (half, math.subtract(x2, half))
    for step in steps:
        x1 = math.multiply(x1, digits.exp2(math.cast(step, x1.dtype)))
    return x1


def signbit(x: TensorLike, /) -> Tensor:
    """Which elements have their sign bit set: negative numbers, and -0.0."""
    x = tensor_of(x)
    if not x.dtype.is_floating:
        (x,) = operands(np.signbit, x)
    one = cast_to(1.0, x.dtype)
    return math.less(digits.copysign(one, x), cast_to(0.0, x.dtype))


def round(x: TensorLike, /, decimals: int = 0) -> Tensor:
    """Rounded to a number of decimals, halves to even.

    Args:
      x: Tensor of a numeric dtype; of complex numbers both parts are rounded.
      decimals: How many decimals, a Python int.
    """
    x = tensor_of(x)
    if x.dtype.is_complex:
        return math.complex(round(math.real(x), decimals), round(math.imag(x), decimals))
    if x.dtype.is_bool:
        x = math.cast(x, dtypes.float16)
    if not decimals or (decimals > 0 and x.dtype.is_integer):
        return math.round(x)
    if x.dtype.is_integer:
        scale = cast_to(10**-decimals, x.dtype)
        return math.cast(
            math.multiply(math.round(math.divide(x, scale)), cast_to(float(10**-decimals), dtypes.float64)),
            x.dtype,
        )
    scale = cast_to(10.0 ** (decimals if decimals > 0 else -decimals), x.dtype)
    if decimals > 0:
        return math.divide(math.round(math.multiply(x, scale)), scale)
    return math.multiply(math.round(math.divide(x, scale)), scale)


around = round


def fix(x: TensorLike, /) -> Tensor:
    """Each element without its fraction."""
    return trunc(x)


def real(x: TensorLike, /) -> Tensor:
    """The real part."""
    return math.real(tensor_of(x))


def imag(x: TensorLike, /) -> Tensor:
    """The imaginary part."""
    return math.imag(tensor_of(x))


def angle(z: TensorLike, deg: bool = False) -> Tensor:
    """The angle of complex numbers, from -pi to pi, or in degrees."""
    radians_of = math.angle(inexact(z))
    return degrees(radians_of) if deg else radians_of


def sinc(x: TensorLike, /) -> Tensor:
    """sin(pi x) / (pi x), and 1 for 0."""
    return math.sinc(inexact(x))


def i0(x: TensorLike, /) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
    return math.bessel_i0(inexact(x))


def clip(
    x: TensorLike, /, min: Any = None, max: Any = None, *, a_min: Any = None, a_max: Any = None
) -> Tensor:
    """Elements below `min` become it, those above `max` become that.

    Args:
      x: Tensor of a real dtype.
      min, max: Numbers or tensors that broadcast with x; None for no bound.
    """
    x = tensor_of(x)
    low, high = min if min is not None else a_min, max if max is not None else a_max
    given = [bound for bound in (low, high) if bound is not None]
    if not given:
        return _same(x)
    if not all(type(bound) in NUMBERS for bound in given):
        x, *given = promoted(x, *given)
    low = given.pop(0) if low is not None else None
    high = given.pop(0) if high is not None else None
    if low is not None:
        x = maximum(x, _within(low, x))
    if high is not None:
        x = minimum(x, _within(high, x))
    return x


def _within(bound: Any, x: Any) -> Any:
    """A Python number as a bound of integers: what no integer of the dtype reaches is no bound."""
    if type(bound) in (int, bool) and x.dtype.is_integer:
        return sorted((int(x.dtype.min), bound, int(x.dtype.max)))[1]
    return bound


def nan_to_num(
    x: TensorLike, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Tensor:
    """NaN replaced by `nan`, and infinities by the largest and lowest numbers or by what is given."""
    x = tensor_of(x)
    if x.dtype.is_complex:
        first, second = (nan_to_num(part, copy, nan, posinf, neginf) for part in (math.real(x), math.imag(x)))
        return math.complex(first, second)
    if not x.dtype.is_floating:
        return _same(x)
    high = float(x.dtype.max) if posinf is None else posinf
    low = float(x.dtype.min) if neginf is None else neginf
    infinite = math.is_inf(x)
    zero = cast_to(0.0, x.dtype)
    x = math.where(math.is_nan(x), cast_to(nan, x.dtype), x)
    x = math.where(math.logical_and(infinite, math.greater(x, zero)), cast_to(high, x.dtype), x)
    return math.where(math.logical_and(infinite, math.less(x, zero)), cast_to(low, x.dtype), x)


def isposinf(x: TensorLike, /) -> Tensor:
    """Which elements are inf."""
    x = tensor_of(x)
    return math.logical_and(isinf(x), greater(x, 0))


def isneginf(x: TensorLike, /) -> Tensor:
    """Which elements are -inf."""
    x = tensor_of(x)
    return math.logical_and(isinf(x), less(x, 0))


def isreal(x: TensorLike, /) -> Tensor:
    """Which elements have an imaginary part of 0."""
    x = tensor_of(x)
    if not x.dtype.is_complex:
        return _true(x)
    return math.equal(math.imag(x), cast_to(0, x.dtype.real_dtype))


def iscomplex(x: TensorLike, /) -> Tensor:
    """Which elements have an imaginary part that is not 0."""
    return math.logical_not(isreal(x))


def isclose(
    a: TensorLike, b: TensorLike, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Which elements of a and b differ by `atol + rtol * |b|` at most; infinities only from others than themselves."""
    a, b = promoted(a, b)
    if not a.dtype.is_differentiable:
        a, b = math.cast(a, dtypes.float64), math.cast(b, dtypes.float64)
    bound = math.add(
        tensor_of(atol, a.dtype.real_dtype), math.multiply(tensor_of(rtol, a.dtype.real_dtype), math.abs(b))
    )
    near = math.less_equal(math.abs(math.subtract(a, b)), bound)
    same = math.equal(a, b)
    finite = math.logical_and(isfinite(a), isfinite(b))
    found = math.logical_or(math.logical_and(near, finite), same)
    return math.logical_or(found, math.logical_and(isnan(a), isnan(b))) if equal_nan else found


def allclose(
    a: TensorLike, b: TensorLike, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether all elements are close; see `isclose`."""
    return math.reduce_all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: TensorLike, a2: TensorLike, equal_nan: bool = False) -> Tensor:
    """Whether two tensors have the same shape and the same elements."""
    a1, a2 = promoted(a1, a2)
    if a1.dims is not None and a2.dims is not None and len(a1.dims) != len(a2.dims):
        return tensor_of(False)
    if not a1.shape.is_compatible_with(a2.shape):
        return tensor_of(False)
    same = math.equal(a1, a2)
    if equal_nan:
        same = math.logical_or(same, math.logical_and(isnan(a1), isnan(a2)))
    return math.reduce_all(same)


def array_equiv(a1: TensorLike, a2: TensorLike) -> Tensor:
    """Whether two tensors broadcast together and have the same elements then."""
    a1, a2 = promoted(a1, a2)
    try:
        same = math.equal(a1, a2)
    except ValueError:
        return tensor_of(False)
    return math.reduce_all(same)


gcd = _binary(np.gcd, truncated.gcd)


def lcm(x1: Any, x2: Any, /) -> Tensor:
    """The least common multiple of integers, not negative; 0 where one is 0."""
    x1, x2 = operands(np.lcm, x1, x2)
    divisor = truncated.gcd(x1, x2)
    return math.abs(math.floordiv(x1, math.maximum(divisor, array.ones_like(divisor))) * x2)
