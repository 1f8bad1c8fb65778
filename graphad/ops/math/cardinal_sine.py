"""sin(pi x) / (pi x) and its derivatives, all of one formula.

With z = pi x the derivative of order n is pi^n s(n), where s(n) is the integral over 0 <= t <= 1 of t^n cos(z t + n pi / 2). By
parts, z s(n) + n s(n - 1) = sin(z + n pi / 2). The recurrence runs up from s(0) = sin(z) / z where z is large, and down from
s(n + k) = 0 where it is small. The downward one does not divide by z, so 0 and its neighbourhood are no special case.
"""

from __future__ import annotations

import math

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, Cotangents, TensorLike, VjpContext
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.op import define
from graphad.core.schema import between, declare
from graphad.core.tensor import Tensor
from graphad.ops.choice import chosen
from graphad.ops.elementwise import Elementwise
from graphad.ops.math.complexes import join_parts
from graphad.ops.math.exponential import times
from graphad.ops.rules import INEXACT

OrderOfSinc = int
declare(between("OrderOfSinc", 0, 600))  # pi^621 is more than a float64 holds


@define
class Sinc(Elementwise):
    """sin(pi x) / (pi x), 1 for x = 0, or its derivative of that `order`, at most 600; 0 for an infinite x."""

    name = "sinc"
    kinds = INEXACT
    words = {"order": "the derivative"}
    order: OrderOfSinc = 0

    def eval(self, x: Array) -> Array:  # type: ignore[override]
        if self.order < 2 and x.dtype.kind != "c":
            return _slope(x) if self.order else _value(x)
        wide = _rows(x, np.float64)
        y = _integral(self.order, wide)
        y = (math.pi**self.order * y if self.order else y).astype(x.dtype)
        return y if x.ndim else y[0]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return times(lambda x: bind(Sinc(self.order + 1), x))(ctx, g)


def _rows(x: Array, least: type) -> Array:
    """x with an axis at least, in its dtype or the wider one of `least`."""
    wide = arrays.of_dtype(x, np.result_type(x, least))
    return wide.reshape(x.shape or (1,))


def _value(given: Array) -> Array:
    """s(0), with the same steps as below, in float32 for dtypes of two bytes, else in that of x."""
    x = _rows(given, np.float32)
    pi = x.dtype.type(math.pi)
    turns = np.rint(x)
    sine = x - turns  # exact, as below
    sine *= pi
    np.sin(sine, out=sine)
    sine *= _parity(turns)
    z = pi * x
    is_zero = z == 0
    if is_zero.any():
        z[is_zero] = sine[is_zero] = 1.0
    sine /= z
    at_infinity = np.isinf(x)
    if at_infinity.any():
        sine[at_infinity] = 0.0
    y = sine.astype(given.dtype, copy=False)
    return y if given.ndim else y[0]  # type: ignore[no-any-return]


def _parity(turns: Array) -> Array:
    """1 for even whole numbers, -1 for odd ones; the numbers are written over."""
    turns *= 0.5
    turns -= np.rint(turns)  # 0, or a half of either sign
    np.abs(turns, out=turns)
    turns *= -4
    turns += 1
    return turns


# s(1) = -z times these in powers of z^2
_NEAR = tuple((-1) ** k * (2 * k + 2) / math.factorial(2 * k + 3) for k in range(10))


def _slope(given: Array) -> Array:
    """pi s(1): the formula below in fewer steps, since it is in the gradient of every sinc; in the dtype of `_value`."""
    x = _rows(given, np.float32)
    pi = x.dtype.type(math.pi)
    turns = np.rint(x)
    rest = x - turns
    sine = np.sin(pi * rest)
    cosine = arrays.contiguous(np.sin(pi * (x.dtype.type(0.5) - np.abs(rest))))
    z = arrays.contiguous(pi * x)
    small = np.flatnonzero(np.abs(z) <= 1)
    near = z.reshape(-1)[small]
    z.reshape(-1)[small] = 1.0
    sine /= z
    cosine -= sine
    is_lost = np.abs(cosine) < 0.25 * np.abs(sine)  # next to the zeros of the slope
    cosine /= z
    parity = _parity(turns)
    cosine *= parity
    cosine.reshape(-1)[small] = 0.0 - near * arrays.polynomial(_NEAR, near * near)
    cosine *= pi
    if x.dtype.itemsize == 4 and is_lost.any():
        places = np.flatnonzero(is_lost)
        cosine.reshape(-1)[places] = _slope(arrays.of_dtype(x.reshape(-1)[places], np.float64))
    is_end = np.isinf(z)  # pi x leaves the range before x does
    if is_end.any():
        cosine[is_end] = np.where(np.isinf(x), 0.0, parity / x)[is_end]
    y = cosine.astype(given.dtype, copy=False)
    return y if given.ndim else y[0]


_PI_HIGH = 3.1415926218032837  # the first 26 bits of pi
_PI_LOW = 1.2246467991473532e-16  # what math.pi lacks of it


def _of_sum(sine: np.ndarray, cosine: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sine and cosine of a + i pi y, those of a given."""
    z, high = math.pi * y, 134217729.0 * y
    high = high - (high - y)  # the first 26 bits of y
    lost = (_PI_HIGH * high - z) + (_PI_HIGH * (y - high) + (math.pi - _PI_HIGH) * y) + _PI_LOW * y
    lost = chosen(np.abs(z) < 800, lost, 0.0)  # what z lacks of pi y, of which e^z loses |z| times as much
    sinh, cosh = np.sinh(z), np.cosh(z)
    sinh, cosh = sinh + lost * cosh, cosh + lost * sinh
    return join_parts(sine * cosh, cosine * sinh), join_parts(cosine * cosh, -(sine * sinh))


def _integral(n: int, x: np.ndarray) -> np.ndarray:
    """s(n) for z = pi x."""
    turns = np.rint(x.real)
    rest = x - turns  # exact, so that large x lose nothing and whole ones give 0
    sign = np.where(np.mod(turns, 2) == 0, 1.0, -1.0)
    sine, cosine = np.sin(math.pi * rest.real), np.sin(math.pi * (0.5 - np.abs(rest.real)))
    if x.dtype.kind == "c":
        sine, cosine = _of_sum(sine, cosine, x.imag)
    quarters = [sign * sine, sign * cosine]
    quarters += [-quarters[0], -quarters[1]]  # sin(z + k pi / 2) for k = 0 to 3
    z = math.pi * x
    is_small = np.abs(z) <= n
    near = chosen(is_small, z, 0.0)
    down = np.zeros_like(z)
    further = 20 + math.isqrt(78 * n) if n else 1  # then what was left out is below 2^-56 of the result
    further = further if is_small.any() else 0
    for k in range(n + further, n, -1):
        down = (quarters[k % 4] - near * down) / k
    far = chosen(is_small, 1.0, z)
    up = quarters[0] / far
    for k in range(1, n + 1):
        up = (quarters[k % 4] - k * up) / far
    found = chosen(is_small, down, up)
    return chosen(np.isinf(x), 0.0, found) if x.dtype.kind == "f" else found


def sinc(x: TensorLike, name: str | None = None) -> Tensor:
    """sin(pi x) / (pi x), and 1 for 0, elementwise, float and complex dtypes.

    Args:
      x: Tensor of any shape, a float or complex dtype.
    Returns: Tensor of the same shape and dtype, within 4 units in the last place, and so are its derivatives; of float64 and
      complex128, these are next to their zeros within 4 units of their largest value divided by 1 + abs(x).
    Raises: DTypeError (a TypeError): another dtype.
    Source: Woodward and Davies, Information theory and inverse probability in telecommunication, 1952.
    Example:
      >>> math.sinc([0.0, 0.5]).numpy()
      array([1.        , 0.63661975], dtype=float32)
    """
    return bind(Sinc(), lift(x))
