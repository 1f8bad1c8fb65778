"""NumPy's elementwise functions that are composed of several ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import INTEGER, require_kind
from graphad.core.shapes import is_definite
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.array.passing import IDENTITY
from graphad.ops.array.static import broadcast_static_shape
from graphad.ops.array.support import static_here
from graphad.ops.control.branch import cond
from graphad.ops.directly import directly, is_finite, is_free, parts_directly
from graphad.ops.math import digits, truncated
from graphad.ops.numpy.promotion import NUMBERS, cast_to, inexact, operands, promoted, tensor_of
from graphad.ops.numpy.ufuncs import (
    degrees,
    floor_divide,
    greater,
    isfinite,
    isinf,
    isnan,
    less,
    maximum,
    minimum,
    quotient_and_rest,
    remainder,
    trunc,
)


def divmod(x1: TensorLike, x2: TensorLike, /) -> tuple[Tensor, Tensor]:
    """`(floor_divide(x1, x2), remainder(x1, x2))`, elementwise.

    Args: x1, x2: Tensors of shapes that broadcast together, of integer or float dtypes, which are promoted.
    Returns: Two tensors of the shape that they have together: quotients, without a gradient, and remainders.
    Raises: DTypeError (a TypeError): complex numbers or bools; InvalidArgumentError (a ValueError): shapes that do not
      broadcast.
    Example:
      >>> [x.numpy().tolist() for x in numpy.divmod([7.0, -7.0], 3.0)]
      [[2.0, -3.0], [1.0, 2.0]]
    """
    x1, x2 = operands(np.floor_divide, x1, x2)
    parts = parts_directly(quotient_and_rest, x1, x2) if x1.dtype.is_floating else None
    return (parts[0], parts[1]) if parts is not None else (floor_divide(x1, x2), remainder(x1, x2))


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


@blaming
def round(a: TensorLike, decimals: int = 0) -> Tensor:
    """`a` rounded to a number of decimals, halves to even.

    Args:
      a: Tensor of any shape, a numeric dtype; of complex numbers both parts are rounded. Bools become float16.
      decimals: The number of decimals, a Python int; negative ones round to tens, hundreds and so on.
    Returns: Tensor of the shape and dtype of a. No gradient.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
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
        scale = cast_to(float(10**-decimals), dtypes.float64)
        return math.cast(
            math.multiply(math.round(math.divide(math.cast(a, dtypes.float64), scale)), scale), a.dtype
        )
    scale = cast_to(10.0 ** (decimals if decimals > 0 else -decimals), a.dtype)
    if decimals > 0:
        return math.divide(math.round(math.multiply(a, scale)), scale)
    return math.multiply(math.round(math.divide(a, scale)), scale)


around = round


def fix(x: TensorLike) -> Tensor:
    """Each element rounded towards 0: `trunc`.

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
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> numpy.real([1.0 + 2.0j]).numpy()
      array([1.])
    """
    return math.real(tensor_of(val))


def imag(val: TensorLike) -> Tensor:
    """The imaginary part, 0 for real numbers.

    Args: val: Tensor of any shape, a numeric dtype.
    Returns: Tensor of the shape of val, real.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> numpy.imag([1.0 + 2.0j]).numpy()
      array([2.])
    """
    return math.imag(tensor_of(val))


def real_if_close(a: TensorLike, tol: float = 100) -> Tensor:
    """The real part where all imaginary parts are next to 0, else `a` itself.

    Args:
      a: Tensor of any shape, a numeric dtype. The numbers of a complex one have to be known, since the dtype depends on them.
      tol: What imaginary parts stay below: above 1 times the distance from 1 to the next number, else as it is.
    Returns: Tensor of the shape of a, real if `a` is or if its imaginary parts are small.
    Raises:
      ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
      InvalidArgumentError (a ValueError): a complex tensor whose numbers only the run knows.
    Example:
      >>> numpy.real_if_close([1.0 + 1e-15j]).numpy()
      array([1.])
    """
    x = tensor_of(a)
    if not x.dtype.is_complex:
        return x
    known = static_here(x)
    if known is None:
        raise InvalidArgumentError(
            "numpy.real_if_close: whether the result is real depends on the numbers of a, which only the run knows; take "
            "numpy.real(a), or keep it complex."
        )
    bound = tol * np.finfo(known.dtype).eps if tol > 1 else tol
    return math.real(x) if bool(np.all(np.abs(known.imag) < bound)) else x


@blaming
def angle(z: TensorLike, deg: bool = False) -> Tensor:
    """The angle of complex numbers, from -pi to pi, or in degrees; 0 or pi for real numbers.

    Args:
      z: Tensor of any shape, a numeric dtype; integers count as float64.
      deg: Whether to return degrees.
    Returns: Tensor of the shape of z, real.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
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
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
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
    a: TensorLike,
    min: TensorLike | None = None,
    max: TensorLike | None = None,
    *,
    a_min: TensorLike | None = None,
    a_max: TensorLike | None = None,
) -> Tensor:
    """The elements limited to the range from `min` to `max`.

    Args:
      a: Tensor of any shape, a real dtype.
      min, max: Numbers or tensors that broadcast with `a`; None for no bound.
      a_min, a_max: NumPy's older names of the bounds.
    Returns: Tensor of their broadcast shape, of the promoted dtype. The gradient goes to `a` within the bounds and at the bounds.
    Raises: DTypeError (a TypeError): complex numbers; InvalidArgumentError (a ValueError): shapes that do not broadcast.
    Example:
      >>> numpy.clip([-1.0, 0.5, 2.0], 0.0, 1.0).numpy()
      array([0. , 0.5, 1. ])
    """
    a = tensor_of(a)
    low, high = min if min is not None else a_min, max if max is not None else a_max
    given: list[Any] = [bound for bound in (low, high) if bound is not None]
    if not given:
        return bind(IDENTITY, a)
    if not all(type(bound) in NUMBERS for bound in given):
        a, *given = promoted(a, *given)
    low = given.pop(0) if low is not None else None
    high = given.pop(0) if high is not None else None
    if low is not None and high is not None and _are_plain(a, low, high):
        found = directly(np.clip, a, a_min=low, a_max=high)
        return math.clip_by_value(a, low, high) if found is None else found
    if low is not None:
        a = maximum(a, _within(low, a))
    if high is not None:
        a = minimum(a, _within(high, a))
    return a


def _are_plain(x: Tensor, low: Any, high: Any) -> bool:
    """Whether it does not matter which bound is asked first, and no zero meets one of the other sign."""
    if not (type(low) in (int, float) and type(high) in (int, float) and low <= high):
        return False
    if x.dtype.is_integer:
        return type(low) is type(high) is int and int(x.dtype.min) <= low and high <= int(x.dtype.max)
    return x.dtype.is_floating and low != 0 and high != 0


def _within(bound: Any, x: Tensor) -> Any:
    """A Python number as a bound of integers; a bound beyond the range of the dtype is dropped."""
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
    """`x` with NaN replaced by `nan`, and infinities by the largest and lowest numbers or by given ones.

    Args:
      x: Tensor of any shape and dtype; integers and bools stay as they are.
      copy: Accepted for compatibility; a new tensor is always returned.
      nan, posinf, neginf: The replacements of NaN, inf and -inf.
    Returns: Tensor of the shape and dtype of x. The gradient is 0 where an element was replaced.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
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
    least, most = float(x.dtype.min), float(x.dtype.max)
    if posinf is None and neginf is None and isinstance(nan, int | float) and least <= nan <= most:
        found = directly(_numbers_of, x, nan=nan)
        if found is not None:
            return found
        if is_finite(x):
            return bind(IDENTITY, x)
        x_is_nan = math.is_nan(x)
        return math.clip_by_value(math.where(x_is_nan, cast_to(nan, x.dtype), x), low, high)
    x_is_nan = math.is_nan(x)
    infinite = math.is_inf(x)
    zero = cast_to(0.0, x.dtype)
    x = math.where(x_is_nan, cast_to(nan, x.dtype), x)
    x = math.where(math.logical_and(infinite, math.greater(x, zero)), cast_to(high, x.dtype), x)
    return math.where(math.logical_and(infinite, math.less(x, zero)), cast_to(low, x.dtype), x)


def _numbers_of(x: Any, nan: float) -> Any:
    if np.isfinite(x).all():
        return x.copy()
    info, kind = np.finfo(x.dtype), x.dtype.type
    return np.where(x == x, np.minimum(np.maximum(x, info.min), info.max), kind(nan))


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
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
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
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    """
    return math.logical_not(isreal(x))


@blaming
def isclose(
    a: TensorLike, b: TensorLike, rtol: TensorLike = 1e-05, atol: TensorLike = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Which elements of a and b differ by at most `atol + rtol * |b|`; an infinity is close only to itself.

    Args:
      a, b: Tensors of shapes that broadcast together, any dtypes.
      rtol, atol: The relative and the absolute tolerance.
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


@blaming
def allclose(
    a: TensorLike, b: TensorLike, rtol: TensorLike = 1e-05, atol: TensorLike = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether all elements are close; see `isclose`.

    Args:
      a, b: Tensors of shapes that broadcast together, any dtypes.
      rtol, atol: The relative and the absolute tolerance.
      equal_nan: Whether NaN is close to NaN.
    Returns: Bool scalar.
    Raises: InvalidArgumentError (a ValueError): shapes that do not broadcast.
    Example:
      >>> bool(numpy.allclose([1.0, 2.0], [1.0, 2.0 + 1e-9]))
      True
    """
    return math.reduce_all(isclose(a, b, rtol, atol, equal_nan))


@blaming
def array_equal(a1: TensorLike, a2: TensorLike, equal_nan: bool = False) -> Tensor:
    """Whether two tensors have the same shape and the same elements.

    Args:
      a1, a2: Tensors of any shapes and dtypes.
      equal_nan: Whether NaN is equal to NaN.
    Returns: Bool scalar.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> bool(numpy.array_equal([1, 2], [1.0, 2.0]))
      True
    """
    a1, a2 = promoted(a1, a2)
    if not equal_nan and a1.dims == a2.dims:
        found = directly(_are_equal, a1, a2)
        if found is not None:
            return found
    if a1.dims is not None and a2.dims is not None and len(a1.dims) != len(a2.dims):
        return tensor_of(False)
    if not a1.shape.is_compatible_with(a2.shape):
        return tensor_of(False)

    def elements() -> Tensor:
        same = math.equal(a1, a2)
        if equal_nan:
            same = math.logical_or(same, math.logical_and(isnan(a1), isnan(a2)))
        return math.reduce_all(same)

    if is_definite(a1.dims) and is_definite(a2.dims):
        return elements()
    # Elements of shapes that differ when the function runs must not be compared: they may broadcast.
    sizes, others = array.shape(a1), array.shape(a2)
    ranks = math.equal(array.rank(a1), array.rank(a2))
    is_alike = cond(ranks, lambda: math.reduce_all(math.equal(sizes, others)), lambda: tensor_of(False))
    return cond(is_alike, elements, lambda: tensor_of(False))


def _are_equal(x: Any, y: Any) -> Any:
    return (x == y).all() if type(x) is type(y) is np.ndarray else None


def array_equiv(a1: TensorLike, a2: TensorLike) -> Tensor:
    """Whether two tensors broadcast together and then have the same elements.

    Args: a1, a2: Tensors of any shapes and dtypes.
    Returns: Bool scalar.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> bool(numpy.array_equiv([1, 2], [[1, 2], [1, 2]]))
      True
    """
    a1, a2 = promoted(a1, a2)
    try:
        broadcast_static_shape(a1.shape, a2.shape)
    except ValueError:
        return tensor_of(False)
    if is_definite(a1.dims) and is_definite(a2.dims):
        return math.reduce_all(math.equal(a1, a2))
    both = math.minimum(array.rank(a1), array.rank(a2))  # axes, counted from the last one
    sizes, others = (array.reverse(array.shape(x), [0])[:both] for x in (a1, a2))
    fits = (sizes == others) | (sizes == 1) | (others == 1)
    return cond(math.reduce_all(fits), lambda: math.reduce_all(math.equal(a1, a2)), lambda: tensor_of(False))


def lcm(x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """The least common multiple of integers, not negative; 0 where one is 0.

    Args: x1, x2: Tensors of shapes that broadcast together, of integer dtypes, which are promoted.
    Returns: Tensor of their broadcast shape, of that dtype.
    Raises: DTypeError (a TypeError): another dtype; InvalidArgumentError (a ValueError): shapes that do not broadcast.
    Example:
      >>> numpy.lcm([4, 6], 10).numpy()
      array([20, 30])
    """
    x1, x2 = operands(np.lcm, x1, x2)
    require_kind("lcm", x1, INTEGER, "x1")
    if is_free(x1, x2) and (x1.dtype.is_unsigned or (_has_opposites(x1) and _has_opposites(x2))):
        found = directly(np.lcm, x1, x2)
        if found is not None:
            return found
    divisor = truncated.gcd(x1, x2)
    part = math.floordiv(math.abs(x1), math.maximum(divisor, array.ones_like(divisor)))
    return part * math.abs(x2)


def _has_opposites(x: Any) -> bool:
    """Whether each integer has one of the other sign: the least of the dtype has none."""
    return bool(x.data.size) and int(np.min(x.data)) > int(x.dtype.min)
