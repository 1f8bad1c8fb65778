"""`tf.math.special`: Bessel functions of order 0 and 1, Dawson's, Fresnel's and exponential integrals, the dilogarithm, by SciPy;
and what `scipy.special` of tensors needs: `gamma` and `erfcx`.

Derivatives are formulas in the same functions, so every order exists; those of float32 and below are computed in float64. The
accuracy is SciPy's, or that of `series`: `dawsn` and `spence`, I0 and I1 are within 4 units in the last place, Fresnel's
integrals, K0 and K1 within 8, `expint` within 16. For |x| up to 25 j0, j1, y0 and y1 are within 32, their zeros included, from
there to 2^22 within 8 of the larger of the result and a thousandth of the amplitude sqrt(2 / (pi |x|)); beyond, the error is
within 4 units of the amplitude: small in absolute terms, but not relative to a result close to a zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Cotangents, UnaryFunction, VjpContext
from graphad.core.bind import bind
from graphad.core.dtypes import float32, float64
from graphad.core.tensor import EagerTensor
from graphad.ops import library
from graphad.ops.array.passing import stop_gradient
from graphad.ops.choice import chosen
from graphad.ops.directly import directly, is_free
from graphad.ops.elementwise import elementwise, unary_function
from graphad.ops.math import bessel_far, bessel_zeros, series
from graphad.ops.math.arithmetic import MUL_ZERO, NEG
from graphad.ops.math.arithmetic import abs as absolute
from graphad.ops.math.arithmetic import sign as _sign
from graphad.ops.math.bessel_modified import FAR_SLOPE, far_slope, modified, second
from graphad.ops.math.by_scipy import but, ended, here_or, of_scipy
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import equal, greater, greater_equal, less
from graphad.ops.math.exponential import exp, log
from graphad.ops.math.gamma import digamma
from graphad.ops.math.native_loops import MANY, is_positive, natively
from graphad.ops.math.power import sqrt
from graphad.ops.math.rounding import rint
from graphad.ops.math.select import where
from graphad.ops.math.trigonometric import cos, sin
from graphad.ops.rules import FLOATING, scalar_like

if TYPE_CHECKING:
    from types import ModuleType

    from graphad.core.annotations import Array
    from graphad.core.op import Op
    from graphad.core.tensor import Tensor


# Below these sizes a quotient of two numbers that vanish together is a series, since the derivatives of the quotient would be
# differences of nearly equal numbers, divided by a small one. The next terms are below 2^-56 of the sum.
_NEAR_BESSEL, _NEAR_LOG = 0.5, 0.25
_OF_BESSEL = tuple(0.5 / (math.factorial(k) * math.factorial(k + 1)) for k in range(9))
_OF_LOG = tuple(2.0 / (2 * k + 1) for k in range(11))


def _series(factors: Sequence[float], x: Tensor) -> Tensor:
    total = scalar_like(factors[-1], x)
    for factor in factors[-2::-1]:
        total = total * x + scalar_like(factor, x)
    return total


def _over(y: Tensor, x: Tensor, sign: float, scaled: bool = False) -> Tensor:
    """y / x for y = I1(x), with sign 1, perhaps `scaled` by exp(-|x|), or J1(x), with sign -1: close to 0 in powers of
    sign (x / 2)^2."""

    def near(x: Tensor) -> Tensor:
        found = _series(_OF_BESSEL, scalar_like(0.25 * sign, x) * x * x)
        return found * exp(bind(NEG, absolute(x))) if scaled else found

    is_near = less(absolute(x), scalar_like(_NEAR_BESSEL, x))
    return _where(is_near, near, x, 0.0, y / where(is_near, scalar_like(1, x), x))


def _where(
    condition: Tensor, formula: Callable[[Tensor], Tensor], x: Tensor, other: float, y: Tensor
) -> Tensor:
    """Elementwise `formula(x)` where a condition holds, else y; arrays that nothing follows compute it there alone, to the same
    bits.

    Args:
      other: What else the formula is given in place of x where it would have no answer.
    """
    if is_free(condition, x, y) and type(y.data) is np.ndarray and x.dims == y.dims == condition.dims:
        places = np.flatnonzero(condition.data)
        if not places.size:
            return y
        found = y.data.copy()
        found.reshape(-1)[places] = formula(EagerTensor(x.data.reshape(-1)[places])).data
        return EagerTensor(found)
    return where(condition, formula(where(condition, x, scalar_like(other, x))), y)


def _log_over(x: Tensor) -> Tensor:
    """log(x) / (x - 1): close to 1 in powers of ((x - 1) / (x + 1))^2."""
    one = scalar_like(1, x)
    u = x - one
    is_near = less(absolute(u), scalar_like(_NEAR_LOG, x))
    near = where(is_near, u, scalar_like(0, x))
    over = one / (near + scalar_like(2, x))
    ratio = near * over
    return where(is_near, over * _series(_OF_LOG, ratio * ratio), log(x) / where(is_near, one, u))


def _oscillating(name: str, far: Callable[[Any], Any], tiny: Callable[[Any], Any] | None = None) -> Any:
    """J or Y: SciPy's function, the series close to zeros, and from 25 on that for large arguments, which ends with 0; next to 0
    the first term, where SciPy's steps leave the range."""

    def of_special(special: ModuleType) -> Callable[..., Any]:
        function_of_scipy = getattr(special, name)

        def function(x: Array) -> Any:
            y = arrays.as_array(function_of_scipy(x))
            is_wide = y.dtype.itemsize == 8
            size = np.abs(x) if name[0] == "j" else x
            border = _FAR if is_wide else _FAR_IN_FLOAT32
            # Close to a zero the value is small, so that most elements are looked at once only.
            is_other = (size >= border) | (np.abs(y) < bessel_zeros.largest(is_wide))
            # A float32 is not tiny for SciPy, which computes in float64.
            has_tiny = tiny is not None and is_wide
            if has_tiny and name[0] == "y":  # J is small there
                is_other |= y == -np.inf
            others = np.flatnonzero(is_other)
            if others.size:
                y = arrays.copy(y)
                wide = arrays.of_dtype(arrays.as_array(x).reshape(-1)[others], np.float64)
                found = arrays.of_dtype(y.reshape(-1)[others], np.float64)
                bessel_zeros.at_zeros(name, wide, found, is_wide)
                size = np.abs(wide) if name[0] == "j" else wide
                parts: list[tuple[Any, Callable[[Any], Any]]] = [(size >= border, ending)]
                if tiny is not None and has_tiny:
                    parts.append((_is_tiny(size), tiny))
                y.reshape(-1)[others] = series.by_part(wide, parts, found)
            return y if y.ndim else y[()]

        return function

    def ending(x: Array) -> Array:
        return chosen(np.isinf(x), 0.0, far(chosen(np.isinf(x), _FAR, x)))

    return of_special


_FAR = 25.0
_TINY = 1e-9  # below, the next term of a series, with the square of x, does not count
# Up to here a float64 has as many digits behind the point as a result in float32 needs.
_FAR_IN_FLOAT32 = 2.0**16


def _large_i(order: int) -> Callable[[Any], Any]:
    """I of a number whose exponential overflows before it does."""

    def formula(x: Array) -> Array:
        special, root = library.special(), np.exp(0.5 * np.abs(x))
        scaled: Array = (special.i0e if order == 0 else special.i1e)(x)
        found: Array = scaled * root * root
        return found

    return formula


def _far_slope(order: int, sign: float, x: Tensor) -> Tensor:
    """The derivative of the scaled functions for large x > 0, by their asymptotic series: differences would lose digits.

    sqrt(2 pi x) exp(-x) I(x) and sqrt(2 x / pi) exp(x) K(x) are the sums of sign ** k a(k) x ** -k.
    """
    size, factors = far_slope(order, sign)
    over = scalar_like(1, x) / x
    total = scalar_like(factors[-1], x)
    for factor in factors[-2::-1]:
        total = total * over + scalar_like(factor, x)
    return scalar_like(-size, x) * over * sqrt(over) * total


def _scaled(order: int, sign: float, near: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The derivative of a scaled function: a formula of differences, and for large x the series."""

    def slope(x: Tensor, y: Tensor) -> Tensor:
        size = absolute(x) if sign < 0 else x
        is_far = greater_equal(size, scalar_like(FAR_SLOPE, x))

        def far(x: Tensor) -> Tensor:
            found = _far_slope(order, sign, absolute(x) if sign < 0 else x)
            return found * _sign(x) if sign < 0 and order == 0 else found

        return _where(is_far, far, x, FAR_SLOPE, near(x, y))

    return slope


def _dawsn_slope(x: Tensor, y: Tensor) -> Tensor:
    """1 - 2 x y, and for large x the asymptotic series of the same."""
    one, end = scalar_like(1, x), scalar_like(series.FAR_DAWSON, x)
    is_far = greater_equal(absolute(x), end)
    over = one / where(is_far, x, end)
    square = over * over
    total = _series(series.DAWSON_SLOPE, square)
    return where(is_far, bind(NEG, total * square), one - scalar_like(2, x) * where(is_far, end, x) * y)


_FAR_ERFCX = 12.0


def _erfcx_slope(x: Tensor, y: Tensor) -> Tensor:
    """2 x y - 2 / sqrt(pi), and for large x the asymptotic series of the same."""
    one, end = scalar_like(1, x), scalar_like(_FAR_ERFCX, x)
    is_far = greater_equal(x, end)
    over = one / where(is_far, x, end)
    square = over * over
    total = scalar_like(0, x)
    for k in range(13, 0, -1):
        total = (total + scalar_like((-0.5) ** k * math.prod(range(1, 2 * k, 2)), x)) * square
    size = scalar_like(2.0 / math.sqrt(math.pi), x)
    return where(is_far, size * total, scalar_like(2, x) * where(is_far, end, x) * y - size)


def _quarters(x: Tensor) -> Tensor:
    """pi x ** 2 / 2 up to whole turns, for float64: the square in two parts, each reduced exactly."""
    four = scalar_like(4, x)
    here = stop_gradient(x)
    # From 2^54 on the angle is a number of whole turns, which counts as 0.
    still = where(less(absolute(here), scalar_like(2.0**54, x)), here, here * scalar_like(0, x))
    split = still * scalar_like(2.0**27 + 1, x)
    head = split - (split - still)
    rest = still - head
    whole = still * still
    lost = ((head * head - whole) + scalar_like(2, x) * head * rest) + rest * rest
    turned = (whole - four * rint(whole / four)) + (lost - four * rint(lost / four))
    half = scalar_like(0.5, x)  # before the sum, which may leave the range
    slope = (x - here) * (half * x + half * here) * scalar_like(math.pi, x)  # 0, and has the derivative
    return scalar_like(math.pi / 2, x) * turned + slope


def _expint_slope(x: Tensor) -> Tensor:
    is_end = greater(x, scalar_like(720, x))  # infinite, as its derivatives are
    inner = where(is_end, scalar_like(1, x), x)
    half = exp(scalar_like(0.5, x) * inner)  # e^x overflows before e^x / x does
    # In this order no step of its derivatives overflows before they do.
    return where(is_end, exp(x), half * (half / inner))


_SECTIONS = {
    "bessel_i": "10.25",
    "bessel_k": "10.25",
    "bessel_j": "10.2",
    "bessel_y": "10.2",
    "dawsn": "7.2",
    "expint": "6.2",
    "fresnel": "7.2",
    "erfcx": "7.2",
    "gamma": "5.2",
}


def _vjp_of(
    slope: Callable[[Any], Any], is_function: bool = False, loop: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """The rule of a derivative, computed in float64: most are differences, and the derivatives of the others are.

    Args:
      is_function: Whether it is one function, or its negative, which is rounded once in float32 too.
      loop: What `_in_loop` gives for it.
    """

    def vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
        x = ctx.inputs[0]
        if is_function and x.dtype is float32:
            return (bind(MUL_ZERO, g, slope(x)),)
        found = None if loop is None else loop(x)
        return (bind(MUL_ZERO, g, cast(slope(cast(x, float64)), x.dtype) if found is None else found),)

    return vjp


def _vjp_by_value(
    slope: Callable[[Any, Any], Any], loop: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """The same where the derivative is computed from x and the value."""

    def vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
        x, y = ctx.inputs[0], ctx.outputs[0]
        if x.dtype is float64:
            return (bind(MUL_ZERO, g, slope(x, y)),)
        found = None if loop is None else loop(x)
        return (bind(MUL_ZERO, g, _by_float64(slope, ctx.op, x) if found is None else found),)

    return vjp


def _by_float64(slope: Callable[[Any, Any], Any], op: Op, x: Tensor) -> Tensor:
    """A derivative that is computed from x and the value, in float64 and rounded."""
    wide = cast(x, float64)
    return cast(slope(wide, bind(op, wide)), x.dtype)


def _in_loop(
    name: str, by_float64: Callable[[Tensor], Tensor], native: Any
) -> Callable[[Tensor], Tensor | None]:
    """The derivative of many float32 numbers that nothing follows, by the loop of this name; None for others.

    Args:
      by_float64: Computes it in the usual way, where the loop is not good.
      native: As in `_row`.
    """
    of_arrays = natively(lambda x: by_float64(EagerTensor(x)).data, name, None if native is True else native)

    def slope(x: Tensor) -> Tensor | None:
        return directly(of_arrays, x) if x.dtype is float32 and is_free(x) and x.data.size >= MANY else None

    return slope


def _row(
    name: str,
    source: str,
    slope: Callable[..., Any],
    doc: str,
    function: Callable[..., Any] | None = None,
    digits: str = "",
    here: Callable[[Any], Any] | None = None,
    by_x: bool = False,
    native: Any = None,
    is_function: bool = False,
) -> UnaryFunction:
    """One function: its name, SciPy's name, its derivative from x and y, or `by_x` alone, what it computes, a sentence on its
    digits, a formula of our own for the CPU, where the `native` loop is good, True for everywhere, and what
    `_vjp_of` says of `is_function`."""
    by_library = of_scipy(function or (lambda special: getattr(special, source)))
    formula = by_library if here is None else here_or(here, by_library, name[8] == "1")
    loop: Any = None
    if native is not None and not is_function:
        loop = _in_loop(
            f"{name}_slope",
            (lambda x: cast(slope(cast(x, float64)), x.dtype))
            if by_x
            else lambda x: _by_float64(slope, op_class(), x),
            native,
        )
    op_class = elementwise(
        name,
        formula if native is None else natively(formula, name, None if native is True else native),
        vjp=_vjp_of(slope, is_function, loop) if by_x else _vjp_by_value(slope, loop),
        kinds=FLOATING,
        keeps=(True, not by_x),
        doc=doc + ".",
    )
    section = next(number for start, number in _SECTIONS.items() if name.startswith(start))
    return unary_function(
        op_class,
        f"{doc}, elementwise, float dtypes.{digits and f' {digits}'}",
        source=f"NIST Digital Library of Mathematical Functions, {section}.",
    )


_OF_J_AND_Y = (
    "Up to 25 within 32 units in the last place; from there to 2^22 within 8 units of the larger of the result and a thousandth "
    "of sqrt(2 / (pi abs(x))); beyond, the error is within 4 units of that root."
)
_OF_I = "Within 4 units in the last place."
_OF_SCALED_I = "Within 4 units in the last place, the derivative up to 64 within 8 units of the larger of 1 and the result."
_OF_SCALED = "Within 4 units in the last place, the derivative up to 64 within 8 units of the larger of 1 and the result."
_OF_K0 = "Within 4 units in the last place up to 600."
_OF_DAWSN = "Within 4 units in the last place, the derivative up to 12 within 4 units of the larger of 1 and the result."


def _is_tiny(x: Array) -> Any:
    return (x > 0) & (x < _TINY)


def _is_least(x: Array) -> Any:
    return x == 5e-324  # half of which is 0, so that SciPy's K is NaN


def _infinities(x: Array) -> Array:
    return np.full_like(x, np.inf)


def _k0e_slope(x: Tensor, y: Tensor) -> Tensor:
    is_pole = equal(y, scalar_like(math.inf, x))  # 1 / x is larger than the logarithm
    return where(is_pole, scalar_like(0, x), y) - bessel_k1e(x)


def _k1e_slope(x: Tensor, y: Tensor) -> Tensor:
    return y * (scalar_like(1, x) - scalar_like(1, x) / x) - bessel_k0e(x)


def _i1_slope(x: Tensor, y: Tensor) -> Tensor:
    size = absolute(y)
    is_end = equal(size, scalar_like(math.inf, x))  # infinite as the terms of the difference are
    return where(is_end, size, bessel_i0(x) - _over(where(is_end, x, y), x, 1.0))


bessel_i0: UnaryFunction = _row(
    "bessel_i0",
    "i0",
    lambda x: bessel_i1(x),
    "The modified Bessel function of the first kind of order 0",
    ended("i0", lambda x: np.abs(x) >= 700, _large_i(0), np.abs),
    _OF_I,
    modified(0, scaled=False),
    native=True,
    by_x=True,
    is_function=True,
)
bessel_i0e: UnaryFunction = _row(
    "bessel_i0e",
    "i0e",
    _scaled(0, -1.0, lambda x, y: bessel_i1e(x) - _sign(x) * y),
    "exp(-|x|) times the modified Bessel function I0",
    digits=_OF_SCALED_I,
    here=modified(0, scaled=True),
    native=True,
)
bessel_i1: UnaryFunction = _row(
    "bessel_i1", "i1", _i1_slope,
    "The modified Bessel function of the first kind of order 1",
    ended("i1", lambda x: np.abs(x) >= 700, _large_i(1), lambda x: x),
    _OF_I,
    modified(1, scaled=False),
    native=True,
)  # fmt: skip
bessel_i1e: UnaryFunction = _row(
    "bessel_i1e", "i1e", _scaled(1, -1.0, lambda x, y: bessel_i0e(x) - _sign(x) * y - _over(y, x, 1.0, True)),
    "exp(-|x|) times the modified Bessel function I1",
    digits=_OF_SCALED_I,
    here=modified(1, scaled=True),
    native=True,
)  # fmt: skip
bessel_k0: UnaryFunction = _row(
    "bessel_k0",
    "k0",
    lambda x: bind(NEG, bessel_k1(x)),
    "The modified Bessel function of the second kind of order 0",
    but("k0", lambda x: (x > 0) & (x <= 2), second(scaled=False), in_float32=False),
    _OF_K0,
    by_x=True,
    is_function=True,
    native=is_positive,
)
bessel_k0e: UnaryFunction = _row(
    "bessel_k0e",
    "k0e",
    _scaled(0, 1.0, _k0e_slope),
    "exp(x) times the modified Bessel function K0",
    but("k0e", lambda x: (x > 0) & (x <= 2), second(scaled=True), in_float32=False),
    _OF_SCALED,
    native=is_positive,
)
bessel_k1: UnaryFunction = _row(
    "bessel_k1", "k1", lambda x, y: bind(NEG, bessel_k0(x)) - y / x,
    "The modified Bessel function of the second kind of order 1",
    but("k1", _is_least, _infinities, in_float32=False),
    native=is_positive,
)  # fmt: skip
bessel_k1e: UnaryFunction = _row(
    "bessel_k1e",
    "k1e",
    _scaled(1, 1.0, _k1e_slope),
    "exp(x) times the modified Bessel function K1",
    but("k1e", _is_least, _infinities, in_float32=False),
    _OF_SCALED,
    native=is_positive,
)
bessel_j0: UnaryFunction = _row(
    "bessel_j0",
    "j0",
    lambda x: bind(NEG, bessel_j1(x)),
    "The Bessel function of the first kind of order 0",
    _oscillating("j0", bessel_far.bessel_j0_far),
    _OF_J_AND_Y,
    by_x=True,
)
bessel_j1: UnaryFunction = _row(
    "bessel_j1",
    "j1",
    lambda x, y: bessel_j0(x) - _over(y, x, -1.0),
    "The Bessel function of the first kind of order 1",
    _oscillating("j1", bessel_far.bessel_j1_far, lambda x: 0.5 * x),
    _OF_J_AND_Y,
)
bessel_y0: UnaryFunction = _row(
    "bessel_y0",
    "y0",
    lambda x: bind(NEG, bessel_y1(x)),
    "The Bessel function of the second kind of order 0",
    _oscillating("y0", bessel_far.bessel_y0_far),
    _OF_J_AND_Y,
    by_x=True,
)
bessel_y1: UnaryFunction = _row(
    "bessel_y1",
    "y1",
    lambda x, y: bessel_y0(x) - y / x,
    "The Bessel function of the second kind of order 1",
    _oscillating("y1", bessel_far.bessel_y1_far, lambda x: (-2.0 / math.pi) / x),
    _OF_J_AND_Y,
)
erfcx: UnaryFunction = _row(
    "erfcx",
    "erfcx",
    _erfcx_slope,
    "exp(x ** 2) erfc(x)",
    digits="Within 8 units in the last place above 0, within 16 below.",
)
gamma: UnaryFunction = _row(
    "gamma",
    "gamma",
    lambda x, y: y * digamma(x),
    "The gamma function, nan at -1, -2, ...",
    digits="Within 8 units in the last place.",
)
dawsn: UnaryFunction = _row(
    "dawsn", "dawsn", _dawsn_slope,
    "exp(-x ** 2) times the integral of exp(t ** 2) from 0 to x",
    but("dawsn", lambda x: (np.abs(x) < 0.5) | ((np.abs(x) >= 10) & (np.abs(x) < np.inf)), series.dawsn, in_float32=False),
    _OF_DAWSN,
    native=True,
)  # fmt: skip
expint: UnaryFunction = _row(
    "expint",
    "expi",
    _expint_slope,
    "The integral of exp(t) / t from -inf to x, its principal value for x above 0",
    but("expi", lambda x: ((x > 0.25) & (x < 0.5)) | (x >= 40), series.expint, by_float64=True),
    by_x=True,
    native=lambda x: (x > 0) & (x < 88),
)
fresnel_cos: UnaryFunction = _row(
    "fresnel_cos", "", lambda x: cos(_quarters(x)),
    "The integral of cos(pi t ** 2 / 2) from 0 to x", but("fresnel", lambda x: np.abs(x) > 8, series.fresnel_far, 1),
    by_x=True,
    native=True,
)  # fmt: skip
fresnel_sin: UnaryFunction = _row(
    "fresnel_sin", "", lambda x: sin(_quarters(x)),
    "The integral of sin(pi t ** 2 / 2) from 0 to x", but("fresnel", lambda x: np.abs(x) > 8, series.fresnel_far, 0),
    by_x=True,
    native=True,
)  # fmt: skip


def _spence_slope(x: Tensor) -> Tensor:
    one, is_end = scalar_like(1, x), equal(x, scalar_like(math.inf, x))
    inner = where(is_end, one, x)
    return where(is_end, scalar_like(0, x), bind(NEG, _log_over(inner)))


Spence = elementwise(
    "spence",
    lambda x: series.of_array(series.spence, x),
    vjp=_vjp_of(_spence_slope),
    kinds=FLOATING,
    doc="The integral of log(t) / (1 - t) from 1 to x, nan for x below 0.",
)
spence: UnaryFunction = unary_function(
    Spence,
    "The integral of log(t) / (1 - t) from 1 to x, nan for x below 0, elementwise, float dtypes.",
    source="NIST Digital Library of Mathematical Functions, 25.12.",
)
