"""One row for every op of graphad.ops.math, and more where shapes, axes, dtypes or edges differ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

import graphad as tf
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.ops import math as m
from graphad.ops.math import bessel
from graphad.ops.math.bitwise import MulHigh
from graphad.ops.math.compare import TAKEN, Equals
from graphad.ops.math.convolved import VectorConvolution
from graphad.ops.math.cumulative import ProductOfOthers
from graphad.ops.math.incomplete import Log1pmx
from graphad.ops.math.polynomial import PolynomialDivision
from graphad.ops.math.power import root_of_squares
from graphad.ops.math.search import searchsorted, sequence_mask
from graphad.ops.math.special import Growth
from graphad.ops.math.trigonometric import ATAN_BEND, ATAN_SLOPE, PART_OF_INVERSE
from graphad.ops.math.truncated import gcd
from tests.support.op_case import OpCase, boolean, complex_, integer, positive, real, unit

INF, NAN = np.inf, np.nan


def atan_slope(x: Any) -> Any:
    return bind(ATAN_SLOPE, lift(x))


def atan_bend(x: Any) -> Any:
    return bind(ATAN_BEND, lift(x))


def part_of_inverse(x: Any, y: Any) -> Any:
    return bind(PART_OF_INVERSE, lift(x), lift(y))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _softplus(x: Any) -> Any:
    return np.logaddexp(x, 0)


def exclusive_but_first(x: Any) -> Any:
    return m.cumulative_logsumexp(x, axis=1, exclusive=True)[:, 1:]  # the first is the lowest number there is


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf)(x)


def _erfc(x: Any) -> Any:
    return np.vectorize(math.erfc)(x)


def equals(x: Any, y: Any) -> Any:
    return bind(Equals(False), x, y)


def taken(x: Any, y: Any) -> Any:
    return bind(TAKEN, x, y)


def mul_high(x: Any, y: Any) -> Any:
    return bind(MulHigh(), x, y)


def upper_half(x: Any, y: Any) -> Any:
    return (x.astype(object) * y.astype(object) >> 8 * x.dtype.itemsize).astype(x.dtype)


def log1pmx(x: Any) -> Any:
    return bind(Log1pmx(), x)


def exp_square(x: Any) -> Any:
    return bind(Growth(), x, tf.stop_gradient(m.erfc(tf.abs(x))))


def exp_square_in_rows(x: Any) -> Any:
    return bind(Growth(), x, tf.stop_gradient(m.erfc(tf.abs(tf.broadcast_to(x, [2, 3])))))


def next_to_nine(x: Any) -> Any:
    return m.nextafter(x, tf.constant(9.0, x.dtype))


def next_float32(i: Any) -> Any:
    return m.nextafter(m.cast(i, np.float32), tf.constant(9.0))


def bits_of_bfloat16(i: Any) -> Any:
    return m.bitcast(m.cast(i, tf.bfloat16), tf.uint16)


def others(x: Any, axis: int) -> Any:
    return bind(ProductOfOthers(axis), x)


def _others(x: Any, axis: int) -> Any:
    parts = [np.prod(np.delete(x, k, axis), axis) for k in range(x.shape[axis])]
    return np.stack(parts, axis)


def divided(u: Any, v: Any) -> Any:
    return list(bind(PolynomialDivision(), u, v))


def _divided(u: Any, v: Any) -> Any:
    quotient, rest = np.polydiv(u, v)
    return [quotient, np.concatenate([np.zeros(len(v) - 1 - len(rest)), rest])[: len(v) - 1]]


def convolved(a: Any, v: Any) -> Any:
    return bind(VectorConvolution(), a, v)


def correlated(a: Any, v: Any) -> Any:
    return bind(VectorConvolution(True), a, v)


def _row_by_row(function: Any) -> Any:
    """A function of two vectors for all rows of two arrays."""
    return np.vectorize(function, signature="(n),(m)->(k)")


def _correlated(a: Any, v: Any) -> Any:
    return np.correlate(a, np.conj(v), "valid")


def in_x(function: Any, *parameters: float) -> Any:
    """A function of its last argument alone."""

    def of_x(x: Any) -> Any:
        return function(*[tf.constant(p, x.dtype) for p in parameters], x)

    of_x.__name__ = f"{function.__name__}{parameters}"
    return of_x


ENDS = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -3.0])
UNARY = [
    (m.negative, np.negative, real),
    (m.abs, np.abs, real),
    (m.square, np.square, real),
    (m.reciprocal, np.reciprocal, positive),
    (m.sqrt, np.sqrt, positive),
    (root_of_squares, np.sqrt, positive),
    (m.rsqrt, lambda x: x**-0.5, positive),
    (m.exp, np.exp, real),
    (m.expm1, np.expm1, real),
    (m.log, np.log, positive),
    (m.log1p, np.log1p, positive),
    (m.sigmoid, _sigmoid, real),
    (m.tanh, np.tanh, real),
    (m.softplus, _softplus, real),
    (m.log_sigmoid, lambda x: -_softplus(-x), real),
    (m.sin, np.sin, real),
    (m.cos, np.cos, real),
    (m.tan, np.tan, unit),
    (m.asin, np.arcsin, unit),
    (m.acos, np.arccos, unit),
    (m.atan, np.arctan, real),
    (atan_slope, lambda x: 1 / (1 + x * x), real),
    (atan_bend, lambda x: x / (1 + x * x), real),
    (m.sinh, np.sinh, real),
    (m.cosh, np.cosh, real),
    (m.asinh, np.arcsinh, real),
    (m.acosh, lambda x: np.arccosh(x), lambda *s: real(*s, low=1.2, high=3.0)),
    (m.atanh, np.arctanh, unit),
    (m.sinc, np.sinc, real),
    (m.log2, np.log2, positive),
    (m.log10, np.log10, positive),
    (m.exp2, np.exp2, real),
    (m.cbrt, np.cbrt, positive),
    (m.erf, _erf, real),
    (m.erfc, _erfc, real),
    (m.softsign, lambda x: x / (1 + np.abs(x)), real),
    (m.lgamma, np.vectorize(math.lgamma), positive),
]
SCIPY = [
    *[
        OpCase(getattr(bessel, name), positive(2, 3), expected=getattr(scipy.special, source))
        for name, source in (
            ("bessel_i0", "i0"),
            ("bessel_i0e", "i0e"),
            ("bessel_i1", "i1"),
            ("bessel_i1e", "i1e"),
            ("bessel_j0", "j0"),
            ("bessel_j1", "j1"),
            ("bessel_k0", "k0"),
            ("bessel_k0e", "k0e"),
            ("bessel_k1", "k1"),
            ("bessel_k1e", "k1e"),
            ("bessel_y0", "y0"),
            ("bessel_y1", "y1"),
            ("dawsn", "dawsn"),
            ("expint", "expi"),
            ("spence", "spence"),
            ("erfcx", "erfcx"),
            ("gamma", "gamma"),
        )
    ],
    *[
        OpCase(getattr(bessel, name), real(4), expected=getattr(scipy.special, source))
        for name, source in (
            ("bessel_i0e", "i0e"),
            ("bessel_i1e", "i1e"),
            ("bessel_j1", "j1"),
            ("dawsn", "dawsn"),
        )
    ],
    OpCase(bessel.fresnel_cos, real(2, 3), expected=lambda x: scipy.special.fresnel(x)[1]),
    OpCase(bessel.fresnel_sin, real(2, 3), expected=lambda x: scipy.special.fresnel(x)[0]),
    OpCase(divided, real(7), positive(3), expected=_divided, unknown=()),
    OpCase(divided, real(3), positive(1), expected=lambda u, v: [u / v, np.zeros(0)], unknown=()),
    OpCase(divided, real(3), positive(3), expected=_divided, unknown=()),
    OpCase(convolved, real(9), real(3), expected=np.convolve),
    OpCase(convolved, real(2), real(5), expected=np.convolve, label="second longer"),
    OpCase(convolved, real(2, 3, 4), real(2, 3, 2), expected=_row_by_row(np.convolve)),
    OpCase(convolved, complex_(5), complex_(3), expected=np.convolve),
    OpCase(convolved, integer(5), integer(3), expected=np.convolve, order=0),
    OpCase(correlated, real(9), real(3), expected=_correlated),
    OpCase(correlated, real(9), real(7), expected=_correlated, label="few results"),
    OpCase(correlated, real(1), real(1), expected=_correlated),
    OpCase(correlated, real(2, 5), real(2, 3), expected=_row_by_row(_correlated)),
    OpCase(correlated, complex_(5), complex_(4), expected=_correlated),
    OpCase(log1pmx, real(3, 4, low=-0.9, high=2.0), expected=lambda x: np.log1p(x) - x),
    OpCase(exp_square, real(3, 4, low=-1.7, high=1.7), expected=lambda x: np.exp(x * x)),
    OpCase(exp_square_in_rows, real(1, 3), expected=lambda x: np.exp(x * x).repeat(2, 0)),
    OpCase(m.ndtri, real(2, 3, low=0.05, high=0.95), expected=scipy.special.ndtri),
    OpCase(m.erfcinv, real(2, 3, low=0.1, high=1.9), expected=scipy.special.erfcinv),
    OpCase(in_x(m.igamma, 1.7), positive(2, 3), expected=lambda x: scipy.special.gammainc(1.7, x)),
    OpCase(in_x(m.igammac, 0.6), positive(2, 3), expected=lambda x: scipy.special.gammaincc(0.6, x)),
    OpCase(m.igamma, positive(2, 3), positive(3, seed=1), expected=scipy.special.gammainc),
    OpCase(m.igammac, positive(3), positive(2, 3, seed=1), expected=scipy.special.gammaincc),
    OpCase(
        in_x(m.betainc, 1.7, 0.8),
        real(2, 3, low=0.1, high=0.9),
        expected=lambda x: scipy.special.betainc(1.7, 0.8, x),
    ),
    OpCase(
        m.betainc,
        positive(3),
        positive(2, 1, seed=1),
        real(3, low=0.1, high=0.9),
        expected=scipy.special.betainc,
    ),
    OpCase(m.zeta, real(2, 3, low=1.4, high=6.0), positive(3), expected=scipy.special.zeta, tolerance=1e-4),
    OpCase(in_x(m.zeta, 3.0), positive(2, 3), expected=lambda q: scipy.special.zeta(3.0, q)),
    OpCase(in_x(m.polygamma, 0.0), positive(2, 3), expected=scipy.special.psi),
    OpCase(in_x(m.polygamma, 2.0), positive(2, 3), expected=lambda x: scipy.special.polygamma(2, x)),
    OpCase(next_to_nine, real(3), expected=lambda x: np.nextafter(x, 9.0), float32=False),
    OpCase(next_float32, integer(3), expected=lambda i: np.nextafter(i.astype(np.float32), np.float32(9.0))),
]

CASES = [OpCase(f, make(3, 4), expected=formula) for f, formula, make in UNARY]
CASES += [OpCase(f, make(), expected=formula, label="scalar") for f, formula, make in UNARY[:3]]
CASES += [
    OpCase(m.hypot, real(3, 4), real(4, seed=1), expected=np.hypot),
    OpCase(m.copysign, real(3, 4), real(3, 1, seed=1), expected=np.copysign),
    OpCase(m.log2, complex_(3), expected=np.log2, label="complex"),
    OpCase(m.erfinv, unit(3, 4)),
    OpCase(m.digamma, positive(3, 4)),
    OpCase(m.lgamma, real(3, 4, low=-2.9, high=-2.1), label="negative"),
    OpCase(m.digamma, real(3, 4, low=-2.9, high=-2.1), label="negative", tolerance=1e-4, float32=False),
    OpCase(m.erf, real(20, low=-6, high=6), expected=_erf, label="wide"),
    OpCase(m.erfc, real(20, low=-6, high=25), expected=_erfc, label="wide", float32=False),
    OpCase(m.sign, real(3, 4), expected=np.sign),
    OpCase(m.negative, np.zeros((0, 3)), expected=np.negative, label="empty"),
    OpCase(m.floor, real(3, 4), expected=np.floor, order=0),
    OpCase(m.ceil, real(3, 4), expected=np.ceil, order=0),
    OpCase(m.round, np.array([0.5, 1.5, 2.5, -0.5, 1.2]), expected=np.rint, order=0),
    OpCase(m.rint, real(3, 4), expected=np.rint, order=0),
    OpCase(m.trunc, real(3, 4), expected=np.trunc, order=0),
    OpCase(m.abs, integer(3, 4), expected=np.abs),
    OpCase(m.sign, integer(3, 4), expected=np.sign),
    OpCase(m.sign, complex_(3, 4), expected=lambda z: z / np.abs(z), label="complex"),
]
CASES += [
    OpCase(f, complex_(2, 3), expected=formula)
    for f, formula in [
        (m.negative, np.negative),
        (m.abs, np.abs),
        (m.square, np.square),
        (m.reciprocal, lambda x: 1 / x),
        (m.sqrt, np.sqrt),
        (m.exp, np.exp),
        (m.expm1, np.expm1),
        (m.log, np.log),
        (m.log1p, np.log1p),
        (m.tanh, np.tanh),
        (m.sigmoid, _sigmoid),
        (m.sin, np.sin),
        (m.cos, np.cos),
        (m.sinc, np.sinc),
        (m.tan, np.tan),
        (m.asin, np.arcsin),
        (m.acos, np.arccos),
        (m.atan, np.arctan),
        (m.sinh, np.sinh),
        (m.cosh, np.cosh),
        (m.asinh, np.arcsinh),
        (m.acosh, np.arccosh),
        (m.atanh, np.arctanh),
        (m.conj, np.conj),
        (m.real, np.real),
        (m.imag, np.imag),
        (m.angle, np.angle),
    ]
]
CASES += [OpCase(m.complex, real(2, 3), real(3, seed=1), expected=lambda x, y: x + 1j * y)]

BINARY = [
    (m.add, np.add, real),
    (m.subtract, np.subtract, real),
    (m.multiply, np.multiply, real),
    (m.divide, np.divide, positive),
    (m.pow, np.power, positive),
    (m.maximum, np.maximum, real),
    (m.minimum, np.minimum, real),
    (m.squared_difference, lambda x, y: (x - y) ** 2, real),
    (m.divide_no_nan, np.divide, positive),
    (m.multiply_no_nan, np.multiply, real),
    (m.atan2, np.arctan2, real),
    (part_of_inverse, lambda x, y: x / (x * x + y * y), positive),
    (m.logaddexp, np.logaddexp, real),
    (m.xlogy, lambda x, y: x * np.log(y), positive),
    (m.xdivy, np.divide, positive),
    (m.mod, np.mod, positive),
]
for _f, _formula, _make in BINARY:
    CASES += [
        OpCase(_f, _make(3, 4), _make(3, 4, seed=1), expected=_formula),
        OpCase(_f, _make(2, 1, 3), _make(4, 1, seed=1), expected=_formula),
        OpCase(_f, _make(), _make(2, 2, seed=1), expected=_formula),
    ]
CASES += [
    OpCase(f, complex_(2, 3), complex_(3, seed=2), expected=formula)
    for f, formula in [
        (m.add, np.add),
        (m.subtract, np.subtract),
        (m.multiply, np.multiply),
        (m.divide, np.divide),
        (m.pow, np.power),
        (m.divide_no_nan, np.divide),
        (m.multiply_no_nan, np.multiply),
    ]
]
CASES += [
    OpCase(m.add, real(0, 3), real(1, seed=1), expected=np.add, label="empty"),
    OpCase(m.add, integer(3, 4), integer(4, seed=1), expected=np.add),
    OpCase(m.multiply, integer(3, 4), integer(4, seed=1), expected=np.multiply),
    OpCase(m.divide, integer(3), integer(3, low=1, seed=1), expected=np.divide),
    OpCase(m.floordiv, integer(3, 4), integer(4, low=1, seed=1), expected=np.floor_divide),
    OpCase(m.floordiv, real(3, 4), positive(4, seed=1), expected=np.floor_divide, order=0),
    OpCase(m.mod, integer(3, 4), integer(4, low=1, seed=1), expected=np.mod),
    OpCase(m.floormod, real(3, 4), positive(4, seed=1), expected=np.mod, order=1),
    OpCase(m.pow, integer(3, low=1), integer(3, low=0, seed=1), expected=np.power),
    OpCase(m.pow, real(3, 4), 2, expected=lambda x: x**2, label="square"),
    OpCase(m.pow, real(3, 4), 3.0, expected=lambda x: x**3, label="cube"),
    OpCase(m.pow, real(3, 4), 1, expected=lambda x: x, label="itself"),
    OpCase(
        m.pow, real(3, 4), -2.0, expected=lambda x: x**-2.0, label="negative", tolerance=1e-3, float32=False
    ),
    OpCase(m.pow, 2.0, real(3, 4), expected=lambda y: 2.0**y, label="of a number"),
    OpCase(m.maximum, integer(3, 4), integer(4, seed=1), expected=np.maximum),
    OpCase(m.add_n, [real(2, 3), real(2, 3, seed=1), real(2, 3, seed=2)], expected=lambda x, y, z: x + y + z),
    OpCase(m.add_n, [real(2, 3)], expected=lambda x: x),
    OpCase(
        m.divide_no_nan,
        np.array([1.0, 0.0, 2.0]),
        [0.0, 0.0, 2.0],
        expected=lambda x: np.array([0, 0, 1.0]),
        label="zeros",
    ),
]

_c, _x, _y = boolean(3, 4), real(3, 4), real(3, 4, seed=1)
CASES += [
    OpCase(m.where, _c, _x, _y, expected=np.where),
    OpCase(m.where, boolean(4), real(3, 1), real(seed=1), expected=np.where),
    OpCase(m.where, _c, complex_(3, 4), complex_(3, 4, seed=2), expected=np.where),
    OpCase(m.clip_by_value, real(3, 4), -1.0, 1.0, expected=lambda x: np.clip(x, -1, 1)),
    OpCase(
        m.clip_by_value,
        real(3, 4),
        real(4, low=-1.5, high=-0.5, seed=1),
        real(3, 1, low=0.5, high=1.5, seed=2),
        expected=np.clip,
    ),
]
CASES += [
    OpCase(f, real(3, 4), real(4, seed=1), expected=formula, order=0)
    for f, formula in [
        (m.equal, np.equal),
        (m.not_equal, np.not_equal),
        (equals, np.equal),
        (m.less, np.less),
        (m.less_equal, np.less_equal),
        (m.greater, np.greater),
        (m.greater_equal, np.greater_equal),
    ]
]
CASES += [
    OpCase(f, integer(3, 4), integer(4, seed=1), expected=g)
    for f, g in [(m.equal, np.equal), (m.less, np.less)]
]
CASES += [
    OpCase(f, boolean(3, 4), boolean(4, seed=1), expected=g)
    for f, g in [
        (m.logical_and, np.logical_and),
        (m.logical_or, np.logical_or),
        (m.logical_xor, np.logical_xor),
        (taken, np.logical_or),
    ]
]
CASES += [
    OpCase(f, integer(3, 4), integer(4, seed=1), expected=g)
    for f, g in [
        (m.bitwise_and, np.bitwise_and),
        (m.bitwise_or, np.bitwise_or),
        (m.bitwise_xor, np.bitwise_xor),
    ]
]
CASES += [
    OpCase(f, integer(3, 4), integer(4, low=0, seed=1), expected=g)
    for f, g in [(m.left_shift, np.left_shift), (m.right_shift, np.right_shift)]
]
CASES += [
    OpCase(mul_high, x, y, expected=lambda x, y: upper_half(x, y))
    for x, y in [
        (integer(3, 4) * 2**28, integer(4, seed=1) * 2**28),
        (integer(3, 4).astype(np.int64) * 2**60, integer(4, seed=1).astype(np.int64) * (2**60 - 1)),
        (
            np.array([0, 1, 2**64 - 1, 2**63 + 5], np.uint64),
            np.array([2**64 - 1, 2**64 - 1, 2**64 - 1, 3], np.uint64),
        ),
        (np.array([200, 255], np.uint8), np.array([3, 255], np.uint8)),
    ]
]
_odd = np.array([0.0, INF, -INF, NAN, 1.5])
CASES += [
    OpCase(m.invert, integer(3, 4), expected=np.invert),
    OpCase(m.logical_not, boolean(3, 4), expected=np.logical_not),
    OpCase(m.is_nan, _odd, expected=np.isnan, order=0),
    OpCase(m.is_inf, _odd, expected=np.isinf, order=0),
    OpCase(m.is_finite, _odd, expected=np.isfinite, order=0),
    OpCase(m.cast, real(3, 4), np.int32, expected=lambda x: x.astype(np.int32), order=0),
    OpCase(m.cast, real(3, 4), np.complex128, expected=lambda x: x.astype(np.complex128), float32=False),
    OpCase(m.cast, complex_(3, 4), np.float64, expected=np.real, float32=False),
    OpCase(m.cast, integer(3, 4), np.float64, expected=lambda x: x.astype(np.float64)),
    OpCase(m.cast, boolean(3, 4), np.int64, expected=lambda x: x.astype(np.int64)),
    OpCase(
        m.saturate_cast,
        real(3, 4, low=-400, high=400),
        np.int8,
        expected=lambda x: np.clip(x, -128, 127).astype(np.int8),
        order=0,
    ),
    OpCase(m.bitcast, integer(3, 4), np.float32, expected=lambda x: x.view(np.float32)),
    *[
        OpCase(
            m.bitcast,
            ENDS.astype(kind.as_numpy_dtype),
            other,
            order=0,
            float32=False,
            expected=lambda x, other=other: x.view(other.as_numpy_dtype),
        )
        for kind, other in (
            (tf.float64, tf.int64),
            (tf.float32, tf.int32),
            (tf.float16, tf.int16),
        )
    ],
    OpCase(m.bitcast, complex_(4), np.complex128, order=0, float32=False, expected=lambda x: x),
    OpCase(
        bits_of_bfloat16,
        integer(3),
        expected=lambda i: (i.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16),
    ),
    OpCase(m.bitcast, integer(3, 4), np.uint8, expected=lambda x: x.view(np.uint8).reshape(3, 4, 4)),
    OpCase(m.bitcast, integer(3, 2), np.int64, expected=lambda x: x.view(np.int64).reshape(3)),
]

for _axis, _keep in [
    (None, False),
    (None, True),
    (0, False),
    (-1, True),
    ([0, 2], False),
    ((1, -1), True),
    ([], False),
]:
    _np_axis = tuple(_axis) if isinstance(_axis, list) else _axis
    for _f, _g in [
        (m.reduce_sum, np.sum),
        (m.reduce_mean, np.mean),
        (m.reduce_prod, np.prod),
        (m.reduce_max, np.max),
        (m.reduce_min, np.min),
        (
            m.reduce_logsumexp,
            lambda x, axis, keepdims: np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims)),
        ),
    ]:

        def _formula(x: Any, g: Any = _g, axis: Any = _np_axis, keepdims: bool = _keep) -> Any:
            return g(x, axis=axis, keepdims=keepdims)

        CASES.append(OpCase(_f, positive(2, 3, 2), axis=_axis, keepdims=_keep, expected=_formula))
_with_zeros = np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 1.5], [1.0, 2.0, 3.0]])
CASES += [
    OpCase(m.reduce_sum, integer(2, 3), axis=1, expected=lambda x: np.sum(x, 1, dtype=x.dtype)),
    OpCase(m.reduce_sum, complex_(2, 3), axis=1, expected=lambda x: np.sum(x, 1)),
    OpCase(m.reduce_mean, complex_(2, 3), axis=0, expected=lambda x: np.mean(x, 0)),
    OpCase(m.reduce_prod, complex_(2, 3), axis=0, expected=lambda x: np.prod(x, 0)),
    OpCase(m.reduce_sum, np.zeros((0, 3)), axis=0, expected=lambda x: np.zeros(3), label="empty"),
    OpCase(m.reduce_max, integer(2, 3), axis=1, expected=lambda x: np.max(x, 1)),
    OpCase(m.reduce_sum, real(), expected=lambda x: x, label="scalar"),
    OpCase(m.reduce_prod, _with_zeros, axis=1, expected=lambda x: np.prod(x, 1), label="zeros"),
    OpCase(m.reduce_prod, _with_zeros, expected=np.prod, label="zeros"),
    OpCase(m.reduce_all, boolean(3, 4), axis=1, expected=lambda x: np.all(x, 1)),
    OpCase(m.reduce_any, boolean(3, 4), axis=0, expected=lambda x: np.any(x, 0)),
    OpCase(m.reduce_all, boolean(3, 4), expected=np.all),
    OpCase(m.argmax, real(3, 4), axis=1, expected=lambda x: np.argmax(x, 1), order=0),
    OpCase(m.argmin, real(3, 4, 2), axis=-1, expected=lambda x: np.argmin(x, -1), order=0),
    OpCase(
        m.argmax,
        real(3, 4),
        expected=lambda x: np.argmax(x, 0).astype(np.int32),
        order=0,
        output_type=np.int32,
    ),
    OpCase(m.reduce_variance, real(3, 4), axis=1, expected=lambda x: np.var(x, 1)),
    OpCase(m.reduce_variance, real(3, 4), expected=np.var),
    OpCase(m.reduce_variance, complex_(3, 4), axis=0, expected=lambda x: np.var(x, 0)),
    OpCase(m.reduce_std, real(3, 4), axis=0, keepdims=True, expected=lambda x: np.std(x, 0, keepdims=True)),
    OpCase(m.reduce_euclidean_norm, real(3, 4), axis=1, expected=lambda x: np.linalg.norm(x, axis=1)),
    OpCase(m.norm, real(3, 4), expected=lambda x: np.sqrt(np.sum(x * x))),
    OpCase(m.norm, real(3, 4), ord=1, axis=1, expected=lambda x: np.sum(np.abs(x), 1)),
    OpCase(m.norm, real(3, 4), ord=INF, axis=0, expected=lambda x: np.max(np.abs(x), 0)),
    OpCase(m.norm, positive(3, 4), ord=3, axis=0, expected=lambda x: np.sum(np.abs(x) ** 3, 0) ** (1 / 3)),
    OpCase(m.norm, complex_(3, 4), axis=0, expected=lambda x: np.linalg.norm(x, axis=0)),
    OpCase(
        m.norm,
        real(2, 3, 4),
        ord=1,
        axis=[-2, -1],
        expected=lambda x: np.linalg.norm(x, 1, (-2, -1)),
        unknown=("sizes",),
    ),
    OpCase(m.count_nonzero, integer(3, 4), axis=1, expected=lambda x: np.count_nonzero(x, 1)),
]
for _options in [
    {},
    {"axis": 1},
    {"axis": -1, "exclusive": True},
    {"reverse": True},
    {"axis": 1, "exclusive": True, "reverse": True},
]:
    CASES += [OpCase(m.cumsum, real(3, 4), **_options), OpCase(m.cumprod, real(3, 4), **_options)]
CASES += [
    OpCase(m.cumsum, real(3, 4), expected=lambda x: np.cumsum(x, 0)),
    OpCase(m.cumprod, _with_zeros, axis=1, expected=lambda x: np.cumprod(x, 1), label="zeros"),
    OpCase(others, _with_zeros, axis=1, expected=lambda x: _others(x, 1), label="zeros"),
    OpCase(others, real(5, 2), axis=0, expected=lambda x: _others(x, 0)),
    OpCase(others, complex_(2, 4), axis=-1, expected=lambda x: _others(x, 1)),
    OpCase(others, real(3, 1), axis=1, expected=np.ones_like, label="one"),
    OpCase(others, np.zeros((2, 0)), axis=1, expected=lambda x: x, label="empty"),
    OpCase(m.cumprod, complex_(2, 3), axis=1, expected=lambda x: np.cumprod(x, 1)),
    OpCase(m.cumsum, integer(5), expected=lambda x: np.cumsum(x, dtype=x.dtype)),
    OpCase(m.cumulative_logsumexp, real(3, 4), axis=1, expected=lambda x: np.log(np.cumsum(np.exp(x), 1))),
    OpCase(m.cumulative_logsumexp, real(3, 4), axis=0, reverse=True),
    OpCase(exclusive_but_first, real(3, 4)),
    OpCase(m.where, boolean(3, 4), expected=np.argwhere, batched=False),
    OpCase(m.where, integer(3, 4), expected=np.argwhere, batched=False),
    OpCase(m.cumsum, np.zeros((0,)), expected=lambda x: x, label="empty"),
    OpCase(m.cumprod, np.zeros((0,)), expected=lambda x: x, label="empty"),
]


def segments_of(ids: Any) -> Any:
    def segment_sum(x: Any) -> Any:
        return m.segment_sum(x, ids)

    return segment_sum


def _segments(x: Any, ids: Any, combine: Any = np.sum) -> Any:
    return np.stack(
        [combine(x[ids == k], 0) if (ids == k).any() else np.zeros(x.shape[1:]) for k in range(max(ids) + 1)]
    )


IDS = np.array([0, 0, 2, 3], np.int32)
CASES += [
    OpCase(m.segment_sum, real(4, 2), IDS, batched=False, unknown=(), expected=_segments),
    OpCase(segments_of(IDS), real(4, 2), expected=lambda x: _segments(x, IDS)),
    OpCase(
        m.segment_mean,
        real(4),
        IDS,
        batched=False,
        unknown=(),
        expected=lambda x, i: _segments(x, i, np.mean),
    ),
    OpCase(
        m.unsorted_segment_mean,
        real(4, 2),
        IDS[::-1].copy(),
        num_segments=4,
        expected=lambda x, i: _segments(x, i, np.mean),
    ),
    OpCase(
        searchsorted,
        np.array([0.0, 1.0, 1.0, 3.0]),
        real(5),
        order=0,
        expected=lambda s, x: np.searchsorted(s, x).astype(np.int32),
    ),
    OpCase(
        searchsorted,
        np.array([[0, 1, 1], [2, 4, 6]], np.int32),
        integer(2, 5),
        side="right",
        out_type="int64",
        expected=lambda s, x: np.stack([np.searchsorted(a, b, "right") for a, b in zip(s, x, strict=True)]),
    ),
    OpCase(
        sequence_mask, integer(2, 3, low=0, high=5), maxlen=4, expected=lambda n: np.arange(4) < n[..., None]
    ),
    *SCIPY,
]


def _unsorted(combine: Any, empty: float) -> Any:
    def formula(x: Any, ids: Any, num_segments: int = 4) -> Any:
        tail = x.shape[ids.ndim :]
        flat, parts = x.reshape(-1, *tail), []
        for k in range(num_segments):
            rows = flat[ids.ravel() == k]
            parts.append(combine(rows, 0) if len(rows) else np.full(tail, empty))
        return np.stack(parts)

    return formula


_SCATTERED = np.array([2, -1, 0, 2, 1, 3, 2], np.int32)
for _name, _combine, _empty in [("max", np.max, 0.0), ("min", np.min, 0.0), ("prod", np.prod, 1.0)]:
    _unsorted_f, _sorted_f = (
        getattr(tf.math, f"unsorted_segment_{_name}"),
        getattr(tf.math, f"segment_{_name}"),
    )
    CASES += [
        OpCase(_unsorted_f, real(7, 2), _SCATTERED, num_segments=4, expected=_unsorted(_combine, _empty)),
        OpCase(
            _sorted_f,
            real(4),
            IDS,
            batched=False,
            unknown=(),
            expected=_unsorted(_combine, _empty),
            label="sorted",
        ),
    ]
CASES += [
    OpCase(
        tf.math.unsorted_segment_max,
        real(2, 3),
        np.array([[0, 1, 1], [0, 1, 0]]),
        num_segments=2,
        label="of a matrix",
    ),
]
_sqrt_n = _unsorted(lambda rows, axis: np.sum(rows, axis) / np.sqrt(len(rows)), 0.0)
CASES += [
    OpCase(tf.math.unsorted_segment_prod, complex_(4), IDS, num_segments=4, label="complex"),
    OpCase(
        tf.math.unsorted_segment_prod,
        np.array([2.0, 0.0, 3.0, 5.0]),
        np.array([0, 0, 0, 1]),
        num_segments=2,
        label="a zero",
    ),
    OpCase(tf.math.unsorted_segment_sqrt_n, real(7, 2), _SCATTERED, num_segments=4, expected=_sqrt_n),
    OpCase(tf.truncatemod, real(3, 4), positive(4, seed=1), expected=np.fmod),
    OpCase(tf.truncatemod, integer(3, 4), np.array([-3, 2, 5, -1], np.int32), expected=np.fmod),
    OpCase(tf.truncatediv, real(3, 4), positive(4, seed=1), expected=lambda x, y: np.trunc(x / y), order=0),
    OpCase(
        tf.truncatediv,
        integer(3, 4),
        np.array([-3, 2, 5, -1], np.int32),
        expected=lambda x, y: np.trunc(x / y).astype(x.dtype),
    ),
    OpCase(
        tf.histogram_fixed_width,
        real(3, 4),
        [-1.0, 1.0],
        nbins=5,
        order=0,
        expected=lambda x: np.histogram(np.clip(x, -1, 1), 5, (-1, 1))[0].astype(np.int32),
    ),
    OpCase(
        tf.histogram_fixed_width_bins,
        real(3, 4),
        [-1.0, 1.0],
        nbins=5,
        order=0,
        expected=lambda x: np.clip(np.floor((x + 1) * 2.5), 0, 4).astype(np.int32),
    ),
    OpCase(gcd, integer(3, 4), integer(4, seed=1), expected=np.gcd),
    OpCase(tf.scalar_mul, 3.0, real(3), expected=lambda x: 3 * x),
    OpCase(
        tf.unravel_index,
        integer(2, 3, low=0, high=12),
        np.array([3, 4], np.int32),
        expected=lambda i, d: np.stack(np.unravel_index(i, d)).astype(np.int32),
    ),
]
