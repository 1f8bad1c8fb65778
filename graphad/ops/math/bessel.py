"""`tf.math.special`: Bessel functions of order 0 and 1, Dawson's, Fresnel's and exponential integrals, the dilogarithm, by SciPy.

Derivatives are formulas in the same functions, so every order is there. Digits are SciPy's, or those of `series`: `dawsn`
and `spence` are within 4 units in the last place, Fresnel's integrals and the modified Bessel functions within 8, `expint`
within 16. The error of j0, j1, y0 and y1 is within 8 units of the larger of 1 and the result up to 25, and within 4 units of
sqrt(2 / (pi |x|)), which is how far they swing there, beyond: close to a zero only that is small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import UnaryFunction
from graphad.core.bind import bind
from graphad.ops import library
from graphad.ops.elementwise import elementwise, unary_function
from graphad.ops.math import series
from graphad.ops.math.arithmetic import NEG, sign
from graphad.ops.math.compare import equal
from graphad.ops.math.exponential import exp, log
from graphad.ops.math.select import where
from graphad.ops.math.trigonometric import cos, sin
from graphad.ops.rules import FLOATING, scalar_like

if TYPE_CHECKING:
    from types import ModuleType

    from graphad.core.annotations import Array
    from graphad.core.tensor import Tensor


def of_scipy(function: Callable[[Any], Callable[..., Any]], operands: int = 1) -> Callable[..., Any]:
    """A formula that SciPy computes, in float32 for operands of two bytes.

    Args:
      function: `scipy.special` to the function.
      operands: How many the function takes; SciPy is not imported to be asked for it.
    """

    def formula(x: Any, *rest: Any) -> Any:
        dtype = x.dtype
        wide = [y.astype(np.float32) if y.dtype.itemsize == 2 else y for y in (x, *rest)]
        with np.errstate(all="ignore"):
            y = function(library.special())(*wide)
        return y if y.dtype is dtype else y.astype(dtype)

    formula.is_wide = True  # type: ignore[attr-defined]
    formula.nin = operands  # type: ignore[attr-defined]
    return formula


def _over(y: Tensor, x: Tensor, at_zero: float) -> Tensor:
    """y / x, and `at_zero` where x is 0."""
    none = equal(x, scalar_like(0, x))
    return where(none, scalar_like(at_zero, x), y / where(none, scalar_like(1, x), x))


def _but(
    source: str, near: Callable[[Any], Any], formula: Callable[[Any], Any], place: int | None = None
) -> Any:
    """SciPy's function, but elsewhere a formula of `series`.

    Args:
      near: Where the formula is taken.
      place: Which of several results it is.
    """

    def of_special(special: ModuleType) -> Callable[..., Any]:
        def function(x: Array) -> Any:
            y = np.asarray(
                getattr(special, source)(x) if place is None else getattr(special, source)(x)[place]
            )
            mask = np.asarray(near(x))
            if mask.any():
                y = np.array(y)
                wide = np.asarray(x, np.float64)[mask]
                y[mask] = formula(wide) if place is None else formula(wide)[place]
            return y if y.ndim else y[()]

        return function

    return of_special


_SECTIONS = {
    "bessel_i": "10.25",
    "bessel_k": "10.25",
    "bessel_j": "10.2",
    "bessel_y": "10.2",
    "dawsn": "7.2",
    "expint": "6.2",
    "fresnel": "7.2",
}


def _row(
    name: str,
    source: str,
    slope: Callable[[Any, Any], Any],
    doc: str,
    function: Callable[..., Any] | None = None,
) -> Any:
    """One function: its name, SciPy's name, its derivative from x and y, and what it computes."""
    op_class = elementwise(
        name,
        of_scipy(function or (lambda special: getattr(special, source))),
        vjp=lambda ctx, g: (g * slope(ctx.inputs[0], ctx.outputs[0]),),
        kinds=FLOATING,
        keeps=(True, True),
        doc=doc + ".",
    )
    section = next(number for start, number in _SECTIONS.items() if name.startswith(start))
    return unary_function(
        op_class,
        doc + ", elementwise, float dtypes.",
        source=f"NIST Digital Library of Mathematical Functions, {section}.",
    )


def _k1e_slope(x: Tensor, y: Tensor) -> Tensor:
    return y - y / x - bessel_k0e(x)


bessel_i0: UnaryFunction = _row(
    "bessel_i0", "i0", lambda x, y: bessel_i1(x), "The modified Bessel function of the first kind of order 0"
)
bessel_i0e: UnaryFunction = _row(
    "bessel_i0e",
    "i0e",
    lambda x, y: bessel_i1e(x) - sign(x) * y,
    "exp(-|x|) times the modified Bessel function I0",
)
bessel_i1: UnaryFunction = _row(
    "bessel_i1", "i1", lambda x, y: bessel_i0(x) - _over(y, x, 0.5),
    "The modified Bessel function of the first kind of order 1",
)  # fmt: skip
bessel_i1e: UnaryFunction = _row(
    "bessel_i1e", "i1e", lambda x, y: bessel_i0e(x) - sign(x) * y - _over(y, x, 0.5),
    "exp(-|x|) times the modified Bessel function I1",
)  # fmt: skip
bessel_k0: UnaryFunction = _row(
    "bessel_k0",
    "k0",
    lambda x, y: bind(NEG, bessel_k1(x)),
    "The modified Bessel function of the second kind of order 0",
)
bessel_k0e: UnaryFunction = _row(
    "bessel_k0e", "k0e", lambda x, y: y - bessel_k1e(x), "exp(x) times the modified Bessel function K0"
)
bessel_k1: UnaryFunction = _row(
    "bessel_k1", "k1", lambda x, y: bind(NEG, bessel_k0(x)) - y / x,
    "The modified Bessel function of the second kind of order 1",
)  # fmt: skip
bessel_k1e: UnaryFunction = _row(
    "bessel_k1e", "k1e", _k1e_slope, "exp(x) times the modified Bessel function K1"
)
bessel_j0: UnaryFunction = _row(
    "bessel_j0",
    "j0",
    lambda x, y: bind(NEG, bessel_j1(x)),
    "The Bessel function of the first kind of order 0",
    _but("j0", lambda x: (np.abs(x) >= 25) & (np.abs(x) < np.inf), series.bessel_j0_far),
)
bessel_j1: UnaryFunction = _row(
    "bessel_j1",
    "j1",
    lambda x, y: bessel_j0(x) - _over(y, x, 0.5),
    "The Bessel function of the first kind of order 1",
    _but("j1", lambda x: (np.abs(x) >= 25) & (np.abs(x) < np.inf), series.bessel_j1_far),
)
bessel_y0: UnaryFunction = _row(
    "bessel_y0",
    "y0",
    lambda x, y: bind(NEG, bessel_y1(x)),
    "The Bessel function of the second kind of order 0",
    _but("y0", lambda x: (x >= 25) & (x < np.inf), series.bessel_y0_far),
)
bessel_y1: UnaryFunction = _row(
    "bessel_y1",
    "y1",
    lambda x, y: bessel_y0(x) - y / x,
    "The Bessel function of the second kind of order 1",
    _but("y1", lambda x: (x >= 25) & (x < np.inf), series.bessel_y1_far),
)
dawsn: UnaryFunction = _row(
    "dawsn", "dawsn", lambda x, y: scalar_like(1, x) - scalar_like(2, x) * x * y,
    "exp(-x ** 2) times the integral of exp(t ** 2) from 0 to x",
    _but("dawsn", lambda x: (np.abs(x) < 0.5) | ((np.abs(x) >= 10) & (np.abs(x) < np.inf)), series.dawsn),
)  # fmt: skip
expint: UnaryFunction = _row(
    "expint",
    "expi",
    lambda x, y: exp(x) / x,
    "The integral of exp(t) / t from -inf to x, its principal value for x above 0",
    _but("expi", lambda x: ((x > 0.25) & (x < 0.5)) | ((x >= 40) & (x < np.inf)), series.expint),
)
fresnel_cos: UnaryFunction = _row(
    "fresnel_cos", "", lambda x, y: cos(scalar_like(math.pi / 2, x) * x * x),
    "The integral of cos(pi t ** 2 / 2) from 0 to x", _but("fresnel", lambda x: np.abs(x) > 8, series.fresnel_far, 1),
)  # fmt: skip
fresnel_sin: UnaryFunction = _row(
    "fresnel_sin", "", lambda x, y: sin(scalar_like(math.pi / 2, x) * x * x),
    "The integral of sin(pi t ** 2 / 2) from 0 to x", _but("fresnel", lambda x: np.abs(x) > 8, series.fresnel_far, 0),
)  # fmt: skip


def _spence_slope(x: Tensor, y: Tensor) -> Tensor:
    return bind(NEG, _over(log(x), x - scalar_like(1, x), 1.0))


Spence = elementwise(
    "spence",
    lambda x: series.of_array(series.spence, x),
    vjp=lambda ctx, g: (g * _spence_slope(ctx.inputs[0], ctx.outputs[0]),),
    kinds=FLOATING,
    keeps=(True, True),
    doc="The integral of log(t) / (1 - t) from 1 to x, nan for x below 0.",
)
spence: UnaryFunction = unary_function(
    Spence,
    "The integral of log(t) / (1 - t) from 1 to x, nan for x below 0, elementwise, float dtypes.",
    source="NIST Digital Library of Mathematical Functions, 25.12.",
)

__all__ = [
    "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0", "bessel_j1", "bessel_k0", "bessel_k0e", "bessel_k1",
    "bessel_k1e", "bessel_y0", "bessel_y1", "dawsn", "expint", "fresnel_cos", "fresnel_sin", "spence",
]  # fmt: skip
