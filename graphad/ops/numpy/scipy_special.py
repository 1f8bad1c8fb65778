"""SciPy's special functions on tensors: `scipy.special.erf(t)` is the op, so that a tape follows it.

The rows are the ufuncs of `scipy.special` for whose values and derivatives there are ops. SciPy itself is not imported here.
"""

from __future__ import annotations

import math as numbers
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import dtypes
from graphad.core.convert import lift
from graphad.core.errors import UnsupportedOptionError
from graphad.ops import array, math
from graphad.ops.math import bessel
from graphad.ops.numpy.promotion import cast_to

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor

Function = Callable[..., Any]


def of_scipy(ufunc: Function) -> str | None:
    """The name of a ufunc in `scipy.special`, None for one from elsewhere."""
    special = sys.modules.get("scipy.special")
    name: str = ufunc.__name__
    return name if special is not None and getattr(special, name, None) is ufunc else None


def recorded(name: str) -> Function | None:
    """The function of `scipy.special` on tensors, None if it is not among the rows."""
    function = _ROWS.get(name)
    return None if function is None else lambda *xs: function(*_operands(xs))


def _operands(xs: Sequence[Any]) -> Sequence[Tensor]:
    """Operands of one float dtype; integers become float64, as SciPy has it. Raises: UnsupportedOptionError: complex ones."""
    tensors = [lift(x) for x in xs]
    if any(x.dtype.is_complex for x in tensors):
        raise UnsupportedOptionError("complex numbers")
    floats = [np.dtype(x.dtype.as_numpy_dtype) for x in tensors if x.dtype.is_floating]
    dtype = dtypes.as_dtype(np.result_type(*floats)) if floats else dtypes.float64
    return [x if x.dtype is dtype else cast_to(x, dtype) for x in tensors]


def _logit(p: Tensor) -> Any:
    """log(p / (1 - p)); near 1/2, where that is near 0, from what is exact there: 2 p - 1."""
    one, half, quarter = (cast_to(number, p.dtype) for number in (1, 0.5, 0.25))
    is_middle = math.less(math.abs(p - half), quarter)
    inner, outer = math.where(is_middle, p, half), math.where(is_middle, half, p)
    middle = math.log1p((inner - (one - inner)) / (one - inner))
    return math.where(is_middle, middle, math.log(outer) - math.log1p(-outer))


def _ndtr(x: Tensor) -> Any:
    return math.multiply(
        cast_to(0.5, x.dtype), math.erfc(math.multiply(cast_to(-numbers.sqrt(0.5), x.dtype), x))
    )


def _log_ndtr(x: Tensor) -> Any:
    """The logarithm of `ndtr`: below -1 from erfcx, which has its digits where erfc is small or 0."""
    one, root = cast_to(-1, x.dtype), cast_to(-numbers.sqrt(0.5), x.dtype)
    is_low = math.less(x, one)
    low, high = math.where(is_low, x, one), math.where(is_low, one, x)
    half = cast_to(0.5, x.dtype)
    below = math.log(half * bessel.erfcx(root * low)) - half * low * low
    return math.where(is_low, below, math.log1p(-half * math.erfc(-root * high)))


def _beta(a: Tensor, b: Tensor) -> Any:
    """By gamma functions where they are in range, which keeps all digits; beyond, by logarithms."""
    zero = cast_to(0, a.dtype)
    x, y, is_pole, sign = _reflected(a, b)
    found = sign * _beta_of(x, math.where(is_pole, cast_to(1, a.dtype), y))
    is_negative = math.logical_and(_is_pole(y), math.less(sign, zero))
    pole = math.where(is_negative, cast_to(-np.inf, a.dtype), cast_to(np.inf, a.dtype))
    return math.where(is_pole, pole, found)


def _is_pole(x: Tensor) -> Any:
    """Where the gamma function has a pole."""
    return math.logical_and(math.less_equal(x, cast_to(0, x.dtype)), math.equal(x, math.floor(x)))


def _sign_of_gamma(x: Tensor) -> Any:
    """-1 where the gamma function is negative, else 1; no matter what at its poles."""
    one, two = cast_to(1, x.dtype), cast_to(2, x.dtype)
    is_odd = math.equal(math.floormod(math.floor(x), two), one)
    return math.where(math.logical_and(math.less(x, cast_to(0, x.dtype)), is_odd), -one, one)


def _reflected(a: Tensor, b: Tensor) -> tuple[Any, Any, Any, Any]:
    """Operands of the beta function without poles of the gamma function that cancel.

    For an integer b, B(a, b) = (-1)^b B(1 - a - b, b): finite at a pole in a if 1 - a - b > 0.

    Returns: The operands, 1 in place of poles; where the function is infinite, its sign is then that of a; the sign of the rest.
    """
    zero, one, two = (cast_to(number, a.dtype) for number in (0, 1, 2))
    a, b = a + array.zeros_like(b), b + array.zeros_like(a)
    first = _is_pole(a)
    second = math.logical_and(_is_pole(b), math.logical_not(first))
    is_any = math.logical_or(first, second)
    x, y = math.where(second, b, a), math.where(second, a, b)
    z = one - x - y
    turns = math.logical_and(math.logical_and(is_any, math.equal(y, math.floor(y))), math.greater(z, zero))
    is_odd = math.equal(math.floormod(y, two), one)
    sign = math.where(math.logical_and(turns, is_odd), -one, one)
    is_finite = math.logical_and(turns, math.greater(y, zero))
    is_pole = math.logical_and(is_any, math.logical_not(is_finite))
    return math.where(is_pole, one, math.where(turns, z, x)), y, is_pole, sign


def _beta_of(a: Tensor, b: Tensor) -> Any:
    one = cast_to(1, a.dtype)
    low, high = (cast_to(number, a.dtype) for number in ((1e-40, 150) if a.dtype.size == 8 else (1e-7, 30)))
    x, y = a + array.zeros_like(b), b + array.zeros_like(a)
    first, second, both = math.abs(x), math.abs(y), math.abs(x + y)
    fits = math.logical_and(
        math.less(math.maximum(math.maximum(first, second), both), high),
        math.logical_and(math.greater(math.minimum(first, second), low), math.logical_not(_is_pole(x + y))),
    )
    inner = [math.where(fits, z, one) for z in (x, y)]
    outer = [math.where(fits, one, z) for z in (x, y)]
    found = bessel.gamma(inner[0]) * bessel.gamma(inner[1]) / bessel.gamma(inner[0] + inner[1])
    sign = _sign_of_gamma(outer[0]) * _sign_of_gamma(outer[1]) * _sign_of_gamma(outer[0] + outer[1])
    return math.where(fits, found, sign * math.exp(_betaln_of(*outer)))


def _betaln(a: Tensor, b: Tensor) -> Any:
    x, y, is_pole, _ = _reflected(a, b)
    one = cast_to(1, a.dtype)
    return math.where(is_pole, cast_to(np.inf, a.dtype), _betaln_of(x, math.where(is_pole, one, y)))


def _betaln_of(a: Tensor, b: Tensor) -> Any:
    return math.lbeta(array.stack([a + array.zeros_like(b), b + array.zeros_like(a)], -1))


def _loggamma(x: Tensor) -> Any:
    zero, one = cast_to(0, x.dtype), cast_to(1, x.dtype)
    is_below = math.less(x, zero)
    return math.where(is_below, cast_to(np.nan, x.dtype), math.lgamma(math.where(is_below, one, x)))


def _where_zero(x: Tensor, sign: float, otherwise: Tensor) -> Any:
    """`otherwise`, but 0 with an infinite slope of that sign at x = 0, as the root is; there x log(x) has the slope -inf."""
    zero, one = cast_to(0, x.dtype), cast_to(1, x.dtype)
    is_zero = math.equal(x, zero)
    root = math.sqrt(math.where(is_zero, x, one) + zero)  # + 0 turns -0 into 0
    return math.where(is_zero, root if sign > 0 else zero - root, otherwise)


def _entr(x: Tensor) -> Any:
    below = cast_to(-np.inf, x.dtype)
    is_below = math.less(x, cast_to(0, x.dtype))
    inner = math.where(is_below, cast_to(1, x.dtype), x)
    return math.where(is_below, below, _where_zero(inner, 1.0, -math.xlogy(inner, inner)))


def _or_nan(function: Function) -> Function:
    """A product that is 0 for a factor x of 0, but NaN where the other one is."""

    def with_nan(x: Tensor, y: Tensor) -> Any:
        return math.where(math.is_nan(y), x * y, function(x, y))

    return with_nan


def _relative(x: Tensor, y: Tensor) -> Any:
    """x log(x / y); 0 at x = 0, infinite where x or y are out of their range."""
    zero, one, most = (cast_to(number, x.dtype) for number in (0, 1, np.inf))
    are_inside = math.logical_and(math.greater_equal(x, zero), math.greater(y, zero))
    a, b = math.where(are_inside, x, one), math.where(are_inside, y, one)
    is_zero = math.equal(y, zero)
    nothing = math.where(math.logical_and(math.equal(x, zero), is_zero), zero, most)
    are_nan = math.logical_or(math.is_nan(x), math.is_nan(y))
    outside = math.where(are_nan, cast_to(np.nan, x.dtype), nothing)
    ratio = a / b
    is_near = math.logical_and(
        math.greater(ratio, cast_to(0.5, x.dtype)), math.less(ratio, cast_to(2, x.dtype))
    )
    near = a * math.log1p((math.where(is_near, a, b) - b) / b)
    # A quotient out of range, or with few digits, whose logarithm is in range.
    tiny = cast_to(float(x.dtype.info.tiny), x.dtype)
    in_range = math.logical_and(math.is_finite(ratio), math.greater(ratio, tiny))
    is_lost = math.logical_and(math.is_finite(a + b), math.logical_not(in_range))
    is_lost = math.logical_and(is_lost, math.greater(a, zero))
    apart = math.log(math.where(is_lost, a, one)) - math.log(math.where(is_lost, b, one))
    by_quotient = math.xlogy(a, math.where(math.logical_or(is_near, is_lost), one, ratio))
    by_log = _where_zero(a, -1.0, math.where(is_lost, a * apart, by_quotient))
    return math.where(are_inside, math.where(is_near, near, by_log), outside)


def _psi(x: Tensor) -> Any:
    """At 0 the limit from the side that its sign names; a pole of both signs elsewhere."""
    is_zero = math.equal(x, cast_to(0, x.dtype))
    one = cast_to(1, x.dtype)
    inner = math.where(is_zero, one, x)
    return math.where(is_zero, -one / math.where(is_zero, x, one), math.digamma(inner))


def _divergence(x: Tensor, y: Tensor) -> Any:
    """x log(x / y) - x + y, of which little is left where x is near y: in float64."""
    x, y, dtype = math.cast(x, dtypes.float64), math.cast(y, dtypes.float64), x.dtype
    zero = cast_to(0, x.dtype)
    are_inside = math.logical_and(math.greater_equal(x, zero), math.greater_equal(y, zero))
    is_infinite = math.logical_and(math.greater(x, zero), math.equal(y, zero))  # also where x is
    are_inside = math.logical_and(are_inside, math.logical_not(is_infinite))
    value = _relative(x, y)
    return math.cast(math.where(are_inside, value - x + y, value), dtype)


def _huber(delta: Tensor, r: Tensor) -> Any:
    half, size = cast_to(0.5, r.dtype), math.abs(r)
    value = math.where(math.less_equal(size, delta), half * r * r, delta * (size - half * delta))
    return math.where(math.less(delta, cast_to(0, r.dtype)), cast_to(np.inf, r.dtype), value)


_ROWS: dict[str, Function] = {
    "cbrt": math.cbrt,
    "exp2": math.exp2,
    "expm1": math.expm1,
    "log1p": math.log1p,
    "erf": math.erf,
    "erfc": math.erfc,
    "erfinv": math.erfinv,
    "erfcinv": math.erfcinv,
    "ndtr": _ndtr,
    "ndtri": math.ndtri,
    "log_ndtr": _log_ndtr,
    "erfcx": bessel.erfcx,
    "gamma": bessel.gamma,
    "loggamma": _loggamma,
    "beta": _beta,
    "betaln": _betaln,
    "gammaln": math.lgamma,
    "psi": _psi,
    "gammainc": math.igamma,
    "gammaincc": math.igammac,
    "betainc": math.betainc,
    "expit": math.sigmoid,
    "log_expit": math.log_sigmoid,
    "logit": _logit,
    "xlogy": _or_nan(math.xlogy),
    "xlog1py": _or_nan(math.xlog1py),
    "entr": _entr,
    "rel_entr": _relative,
    "kl_div": _divergence,
    "huber": _huber,
    "i0": bessel.bessel_i0,
    "i0e": bessel.bessel_i0e,
    "i1": bessel.bessel_i1,
    "i1e": bessel.bessel_i1e,
    "j0": bessel.bessel_j0,
    "j1": bessel.bessel_j1,
    "y0": bessel.bessel_y0,
    "y1": bessel.bessel_y1,
    "k0": bessel.bessel_k0,
    "k0e": bessel.bessel_k0e,
    "k1": bessel.bessel_k1,
    "k1e": bessel.bessel_k1e,
    "dawsn": bessel.dawsn,
    "expi": bessel.expint,
    "spence": bessel.spence,
    "fresnel": lambda x: (bessel.fresnel_sin(x), bessel.fresnel_cos(x)),
}
