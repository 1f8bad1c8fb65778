"""Elementwise functions of NumPy's that are put together from several ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.errors import DTypeError
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.array.create import IDENTITY
from graphad.ops.math import digits, truncated
from graphad.ops.math.cast import bitcast
from graphad.ops.numpy.promotion import NUMBERS, cast_to, inexact, operands, promoted, tensor_of
from graphad.ops.numpy.ufuncs import (
    bitwise_and,
    degrees,
    floor_divide,
    greater,
    isfinite,
    isinf,
    isnan,
    less,
    maximum,
    minimum,
    nextafter,
    remainder,
    right_shift,
    trunc,
)


def divmod(x1: TensorLike, x2: TensorLike, /) -> tuple[Tensor, Tensor]:
    """`(floor_divide(x1, x2), remainder(x1, x2))`, elementwise.

    Args: x1, x2: Tensors of shapes that broadcast together, of integer or float dtypes, which become one first.
    Returns: Two tensors of the shape that they have together: quotients, without a gradient, and what is left.
    Raises: DTypeError (a TypeError): complex numbers or bools; InvalidArgumentError (a ValueError): shapes that do not
      broadcast.
    Example:
      >>> [x.numpy().tolist() for x in numpy.divmod([7.0, -7.0], 3.0)]
      [[2.0, -3.0], [1.0, 2.0]]
    """
    return floor_divide(x1, x2), remainder(x1, x2)


def modf(x: TensorLike, /) -> tuple[Tensor, Tensor]:
    """The fraction and the whole part of each element, both with its sign.

    Args: x: Tensor of any shape, a float dtype; integers and bools become floats.
    Returns: Two tensors of the shape of x: fractions, whose gradient is that of x, and whole parts, which have none.
    Raises: DTypeError (a TypeError): complex numbers.
    Example:
      >>> [x.numpy().tolist() for x in numpy.modf([1.5, -2.25])]
      [[0.5, -0.25], [1.0, -2.0]]
    """
    (x,) = operands(np.modf, x)
    whole = math.trunc(x)
    rest = math.where(math.is_inf(x), array.zeros_like(x), math.subtract(x, whole))
    return digits.copysign(rest, x), whole


def ldexp(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """x1 * 2^x2, elementwise, with no overflow on the way.

    Args:
      x1: Tensor of any shape, a float dtype; integers become floats.
      x2: Tensor of an integer dtype, of a shape that broadcasts with that of x1. No gradient.
    Returns: Tensor of the shape that they have together, of the dtype of x1.
    Raises: DTypeError (a TypeError): another dtype; InvalidArgumentError (a ValueError): shapes that do not broadcast.
    Example:
      >>> numpy.ldexp([1.0, 3.0], [2, -1]).numpy()
      array([4. , 1.5])
    """
    x1, x2 = operands(np.ldexp, x1, x2)
    # In two steps, since one may overflow where the result does not.
    half = math.right_shift(x2, cast_to(1, x2.dtype))
    steps = (half, math.subtract(x2, half))
    for step in steps:
        x1 = math.multiply(x1, digits.exp2(math.cast(step, x1.dtype)))
    return x1


def frexp(x: TensorLike, /) -> tuple[Tensor, Tensor]:
    """Mantissa and exponent: x = mantissa * 2^exponent with 0.5 <= |mantissa| < 1.

    Args: x: Tensor of any shape, a float dtype; integers become floats.
    Returns: (mantissa of the dtype of x, whose gradient is that of x divided by the power, exponent, int32). 0, infinities and
      NaN are their own mantissas, with exponent 0.
    Raises: DTypeError (a TypeError): complex numbers.
    Example:
      >>> [part.numpy().tolist() for part in numpy.frexp([8.0, -0.75, 0.0])]
      [[0.5, -0.75, 0.0], [4, 0, 0]]
    """
    (x,) = operands(np.frexp, x)
    wide = cast_to(x, dtypes.float64)
    plain = math.logical_and(isfinite(wide), math.not_equal(wide, cast_to(0.0, dtypes.float64)))
    small = less(math.abs(wide), cast_to(float(np.finfo(np.float64).tiny), dtypes.float64))
    normal = math.where(small, math.multiply(wide, cast_to(2.0**54, dtypes.float64)), wide)
    bits = bitwise_and(right_shift(bitcast(normal, dtypes.int64), 52), 0x7FF)
    exponent = math.cast(bits, dtypes.int32) - math.where(small, lift(1022 + 54), lift(1022))
    exponent = math.where(plain, exponent, array.zeros_like(exponent))
    return ldexp(x, math.negative(exponent)), exponent


def spacing(x: TensorLike, /) -> Tensor:
    """The distance from x to the next number away from 0, with the sign of x.

    Args: x: Tensor of any shape, float32 or float64; integers become floats.
    Returns: Tensor of the shape of x; NaN for infinities.
    Raises: DTypeError (a TypeError): complex numbers.
    Example:
      >>> bool(numpy.spacing(1.0) == 2.0**-52)
      True
    """
    (x,) = operands(np.spacing, x)
    size = math.abs(x)
    return digits.copysign(math.subtract(nextafter(size, float("inf")), size), x)


def bitwise_count(x: TensorLike, /) -> Tensor:
    """How many bits of |x| are set.

    Args: x: Tensor of any shape, an integer dtype.
    Returns: Tensor of the shape of x, uint8. No gradient.
    Raises: DTypeError (a TypeError): another dtype.
    Source: Warren, Hacker's Delight, 2002, 5-1.
    Example:
      >>> numpy.bitwise_count([7, -8]).numpy()
      array([3, 1], dtype=uint8)
    """
    x = tensor_of(x)
    if not x.dtype.is_integer and not x.dtype.is_bool:
        raise DTypeError(f"bitwise_count: takes no {x.dtype.name}, but integers.")
    n = math.cast(math.abs(cast_to(x, dtypes.int64)) if x.dtype.kind == "int" else x, dtypes.uint64)
    for width in (1, 2, 4, 8, 16, 32):
        mask = lift(np.uint64((2**64 - 1) // (2**width + 1)))  # every second field of that width
        n = bitwise_and(n, mask) + bitwise_and(right_shift(n, lift(np.uint64(width))), mask)
    return math.cast(n, dtypes.uint8)


def signbit(x: TensorLike, /) -> Tensor:
    """Which elements have their sign bit set: negative numbers, and -0.0.

    Args: x: Tensor of any shape, a float dtype; integers become floats.
    Returns: Bool tensor of the shape of x. No gradient.
    Raises: DTypeError (a TypeError): complex numbers.
    Example:
      >>> numpy.signbit([-0.0, 0.0, -2.0]).numpy()
      array([ True, False,  True])
    """
    x = tensor_of(x)
    if not x.dtype.is_floating:
        (x,) = operands(np.signbit, x)
    whole = {2: dtypes.int16, 4: dtypes.int32, 8: dtypes.int64}[x.dtype.itemsize]
    return math.less(math.bitcast(x, whole), cast_to(0, whole))


def round(a: TensorLike, decimals: int = 0) -> Tensor:
    """Rounded to a number of decimals, halves to even.

    Args:
      a: Tensor of any shape, a numeric dtype; of complex numbers both parts are rounded. Bools become float16.
      decimals: How many decimals, a Python int; negative ones round to tens, hundreds and so on.
    Returns: Tensor of the shape and dtype of a. No gradient.
    Raises: ArgumentTypeError (a TypeError): what no tensor is made of.
    Example:
      >>> numpy.round([1.25, 2.35], 1).numpy()
      array([1.2, 2.4])
    """
    a = tensor_of(a)
    if a.dtype.is_complex:
        return math.complex(round(math.real(a), decimals), round(math.imag(a), decimals))
    if a.dtype.is_bool:
        a = math.cast(a, dtypes.float16)
    if not decimals or (decimals > 0 and a.dtype.is_integer):
        return math.round(a)
    if a.dtype.is_integer:
        scale = cast_to(10**-decimals, a.dtype)
        return math.cast(
            math.multiply(math.round(math.divide(a, scale)), cast_to(float(10**-decimals), dtypes.float64)),
            a.dtype,
        )
    scale = cast_to(10.0 ** (decimals if decimals > 0 else -decimals), a.dtype)
    if decimals > 0:
        return math.divide(math.round(math.multiply(a, scale)), scale)
    return math.multiply(math.round(math.divide(a, scale)), scale)


around = round


def fix(x: TensorLike) -> Tensor:
    """Each element without its fraction: `trunc`.

    Args: x: Tensor of any shape, a real dtype.
    Returns: Tensor of the shape and dtype of x. No gradient.
    Raises: DTypeError (a TypeError): complex numbers.
    Example:
      >>> numpy.fix([1.7, -1.7]).numpy()
      array([ 1., -1.])
    """
    return trunc(x)


def real(val: TensorLike) -> Tensor:
    """The real part.

    Args: val: Tensor of any shape, a numeric dtype.
    Returns: Tensor of the shape of val, real.
    Raises: ArgumentTypeError (a TypeError): what no tensor is made of.
    Example:
      >>> numpy.real([1.0 + 2.0j]).numpy()
      array([1.])
    """
    return math.real(tensor_of(val))


def imag(val: TensorLike) -> Tensor:
    """The imaginary part, 0 for real numbers.

    Args: val: Tensor of any shape, a numeric dtype.
    Returns: Tensor of the shape of val, real.
    Raises: ArgumentTypeError (a TypeError): what no tensor is made of.
    Example:
      >>> numpy.imag([1.0 + 2.0j]).numpy()
      array([2.])
    """
    return math.imag(tensor_of(val))


def angle(z: TensorLike, deg: bool = False) -> Tensor:
    """The angle of complex numbers, from -pi to pi, or in degrees; 0 or pi for real numbers.

    Args:
      z: Tensor of any shape, a numeric dtype; integers count as float64.
      deg: Whether in degrees.
    Returns: Tensor of the shape of z, real.
    Raises: ArgumentTypeError (a TypeError): what no tensor is made of.
    Example:
      >>> numpy.angle([1j], deg=True).numpy()
      array([90.])
    """
    radians_of = math.angle(inexact(z))
    return degrees(radians_of) if deg else radians_of


def sinc(x: TensorLike) -> Tensor:
    """sin(pi x) / (pi x), and 1 for 0.

    Args: x: Tensor of any shape, a numeric dtype; integers and bools count as float64.
    Returns: Tensor of the shape of x, of that dtype; derivatives of all orders are exact at 0 too.
    Raises: ArgumentTypeError (a TypeError): what no tensor is made of.
    Example:
      >>> numpy.sinc([0.0, 0.5, 1.0]).numpy()
      array([ 1.        ,  0.63661977, -0.        ])
    """
    return math.sinc(inexact(x))


def i0(x: TensorLike) -> Tensor:
    """The modified Bessel function of the first kind of order 0.

    Args: x: Tensor of any shape, a float dtype; integers and bools count as float64.
    Returns: Tensor of the shape of x, of that dtype.
    Raises: DTypeError (a TypeError): complex numbers.
    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 9.6.
    Example:
      >>> numpy.i0([0.0, 1.0]).numpy()
      array([1.        , 1.26606588])
    """
    return math.bessel_i0(inexact(x))


def clip(
    x: TensorLike, /, min: Any = None, max: Any = None, *, a_min: Any = None, a_max: Any = None
) -> Tensor:
    """Elements below `min` become it, those above `max` become that.

    Args:
      x: Tensor of any shape, a real dtype.
      min, max: Numbers or tensors that broadcast with x; None for no bound.
      a_min, a_max: The same under NumPy's older names.
    Returns: Tensor of the shape that they have together, of the dtype that NumPy gives them. The gradient goes to x within
      the bounds
      and at them.
    Raises: DTypeError (a TypeError): complex numbers; InvalidArgumentError (a ValueError): shapes that do not broadcast.
    Example:
      >>> numpy.clip([-1.0, 0.5, 2.0], 0.0, 1.0).numpy()
      array([0. , 0.5, 1. ])
    """
    x = tensor_of(x)
    low, high = min if min is not None else a_min, max if max is not None else a_max
    given = [bound for bound in (low, high) if bound is not None]
    if not given:
        return bind(IDENTITY, x)
    if not all(type(bound) in NUMBERS for bound in given):
        x, *given = promoted(x, *given)
    low = given.pop(0) if low is not None else None
    high = given.pop(0) if high is not None else None
    if low is not None:
        x = maximum(x, _within(low, x))
    if high is not None:
        x = minimum(x, _within(high, x))
    return x


def _within(bound: Any, x: Tensor) -> Any:
    """A Python number as a bound of integers: what no integer of the dtype reaches is no bound."""
    if type(bound) in (int, bool) and x.dtype.is_integer:
        return sorted((int(x.dtype.min), bound, int(x.dtype.max)))[1]
    return bound


def nan_to_num(
    x: TensorLike,
    copy: bool = True,
    nan: TensorLike = 0.0,
    posinf: TensorLike | None = None,
    neginf: TensorLike | None = None,
) -> Tensor:
    """NaN replaced by `nan`, and infinities by the largest and lowest numbers or by what is given.

    Args:
      x: Tensor of any shape and dtype; integers and bools stay as they are.
      copy: Is taken as NumPy takes it; a new tensor is made in any case.
      nan, posinf, neginf: What is put in place of NaN, inf and -inf.
    Returns: Tensor of the shape and dtype of x. The gradient is 0 where an element was replaced.
    Raises: ArgumentTypeError (a TypeError): what no tensor is made of.
    Example:
      >>> numpy.nan_to_num([np.nan, 1.0], nan=0.5).numpy()
      array([0.5, 1. ])
    """
    x = tensor_of(x)
    if x.dtype.is_complex:
        first, second = (nan_to_num(part, copy, nan, posinf, neginf) for part in (math.real(x), math.imag(x)))
        return math.complex(first, second)
    if not x.dtype.is_floating:
        return bind(IDENTITY, x)
    high = float(x.dtype.max) if posinf is None else posinf
    low = float(x.dtype.min) if neginf is None else neginf
    x_is_nan = math.is_nan(x)
    least, most = float(x.dtype.min), float(x.dtype.max)
    if posinf is None and neginf is None and isinstance(nan, int | float) and least <= nan <= most:
        return math.clip_by_value(math.where(x_is_nan, cast_to(nan, x.dtype), x), low, high)
    infinite = math.is_inf(x)
    zero = cast_to(0.0, x.dtype)
    x = math.where(x_is_nan, cast_to(nan, x.dtype), x)
    x = math.where(math.logical_and(infinite, math.greater(x, zero)), cast_to(high, x.dtype), x)
    return math.where(math.logical_and(infinite, math.less(x, zero)), cast_to(low, x.dtype), x)


def isposinf(x: TensorLike) -> Tensor:
    """Which elements are inf.

    Args: x: Tensor of any shape, a real dtype.
    Returns: Bool tensor of the shape of x.
    Raises: DTypeError (a TypeError): complex numbers, which have no order.
    """
    x = tensor_of(x)
    return math.logical_and(isinf(x), greater(x, 0))


def isneginf(x: TensorLike) -> Tensor:
    """Which elements are -inf.

    Args: x: Tensor of any shape, a real dtype.
    Returns: Bool tensor of the shape of x.
    Raises: DTypeError (a TypeError): complex numbers, which have no order.
    """
    x = tensor_of(x)
    return math.logical_and(isinf(x), less(x, 0))


def isreal(x: TensorLike) -> Tensor:
    """Which elements have an imaginary part of 0; all of a real dtype.

    Args: x: Tensor of any shape and dtype.
    Returns: Bool tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): what no tensor is made of.
    Example:
      >>> numpy.isreal([1.0 + 0.0j, 1.0j]).numpy()
      array([ True, False])
    """
    x = tensor_of(x)
    if not x.dtype.is_complex:
        return array.ones_like(x, dtypes.bool_)
    return math.equal(math.imag(x), cast_to(0, x.dtype.real_dtype))


def iscomplex(x: TensorLike) -> Tensor:
    """Which elements have an imaginary part that is not 0; none of a real dtype.

    Args: x: Tensor of any shape and dtype.
    Returns: Bool tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): what no tensor is made of.
    """
    return math.logical_not(isreal(x))


def isclose(
    a: TensorLike, b: TensorLike, rtol: TensorLike = 1e-05, atol: TensorLike = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Which elements of a and b differ by `atol + rtol * |b|` at most; an infinity is close to itself alone.

    Args:
      a, b: Tensors of shapes that broadcast together, any dtypes.
      rtol, atol: The relative and the absolute difference that is allowed.
      equal_nan: Whether NaN is close to NaN.
    Returns: Bool tensor of the shape that they have together.
    Raises: InvalidArgumentError (a ValueError): shapes that do not broadcast.
    Example:
      >>> numpy.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1]).numpy()
      array([ True, False])
    """
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
    a: TensorLike, b: TensorLike, rtol: TensorLike = 1e-05, atol: TensorLike = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether all elements are close; see `isclose`.

    Args:
      a, b: Tensors of shapes that broadcast together, any dtypes.
      rtol, atol: The relative and the absolute difference that is allowed.
      equal_nan: Whether NaN is close to NaN.
    Returns: Bool scalar.
    Raises: InvalidArgumentError (a ValueError): shapes that do not broadcast.
    Example:
      >>> bool(numpy.allclose([1.0, 2.0], [1.0, 2.0 + 1e-9]))
      True
    """
    return math.reduce_all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: TensorLike, a2: TensorLike, equal_nan: bool = False) -> Tensor:
    """Whether two tensors have the same shape and the same elements.

    Args:
      a1, a2: Tensors of any shapes and dtypes.
      equal_nan: Whether NaN is equal to NaN.
    Returns: Bool scalar.
    Raises: ArgumentTypeError (a TypeError): what no tensor is made of.
    Example:
      >>> bool(numpy.array_equal([1, 2], [1.0, 2.0]))
      True
    """
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
    """Whether two tensors broadcast together and have the same elements then.

    Args: a1, a2: Tensors of any shapes and dtypes.
    Returns: Bool scalar.
    Raises: ArgumentTypeError (a TypeError): what no tensor is made of.
    Example:
      >>> bool(numpy.array_equiv([1, 2], [[1, 2], [1, 2]]))
      True
    """
    a1, a2 = promoted(a1, a2)
    try:
        same = math.equal(a1, a2)
    except ValueError:
        return tensor_of(False)
    return math.reduce_all(same)


def lcm(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """The least common multiple of integers, not negative; 0 where one is 0.

    Args: x1, x2: Tensors of shapes that broadcast together, of integer dtypes, which become one first.
    Returns: Tensor of the shape that they have together, of that dtype.
    Raises: DTypeError (a TypeError): another dtype; InvalidArgumentError (a ValueError): shapes that do not broadcast.
    Example:
      >>> numpy.lcm([4, 6], 10).numpy()
      array([20, 30])
    """
    x1, x2 = operands(np.lcm, x1, x2)
    divisor = truncated.gcd(x1, x2)
    return math.abs(math.floordiv(x1, math.maximum(divisor, array.ones_like(divisor))) * x2)
