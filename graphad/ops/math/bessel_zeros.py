"""Bessel functions of order 0 and 1 close to their zeros, where libraries are exact relative to 1 alone.

Around a zero z the function is its Taylor series in x - z, a difference that is exact in two parts. The coefficients follow from
the slope there by Bessel's equation, x^2 f'' + x f' + (x^2 - n^2) f = 0. The zeros and slopes were computed with 45 digits.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.ops.choice import chosen

Array = Any

# For each function its zeros up to 25, in two parts each, with the slopes there.
_ZEROS = {
    "j0": (
        (2.404825557695773, -1.176691651530894e-16, -0.5191474972894667),
        (5.520078110286311, 8.088597146146722e-17, 0.34026480655836816),
        (8.653727912911013, -2.92812607320779e-16, -0.27145229992838193),
        (11.791534439014281, 2.812956912778735e-16, 0.23245983136472478),
        (14.930917708487787, -7.070514505983074e-16, -0.20654643307799603),
        (18.071063967910924, -9.658048089426209e-16, 0.18772880304043943),
        (21.21163662987926, 4.947077428784068e-16, -0.17326589422922986),
        (24.352471530749302, 9.169067133951066e-16, 0.16170155068925002),
    ),
    "j1": (
        (3.8317059702075125, -1.5269184090088067e-16, -0.402759395702553),
        (7.015586669815619, -9.414165653410389e-17, 0.30011575252613254),
        (10.173468135062722, 4.482162274768888e-16, -0.2497048770578432),
        (13.323691936314223, 2.600408064718813e-16, 0.21835940724787295),
        (16.470630050877634, -1.619019544798128e-15, -0.1964653714686572),
        (19.615858510468243, -1.004445634526616e-15, 0.18006337534431555),
        (22.760084380592772, -4.925749373614922e-16, -0.16718460047381806),
    ),
    "y0": (
        (0.8935769662791675, 2.6596231539720385e-17, 0.8794208024971948),
        (3.957678419314858, -1.0764340697562706e-16, -0.40254267177502423),
        (7.086051060301773, -8.835285723085408e-17, 0.3000976149104752),
        (10.222345043496418, -7.967395050308809e-16, -0.2497012375146848),
        (13.361097473872764, -6.626109493712529e-16, 0.21835829659767134),
        (16.50092244152809, 1.0187464212445755e-15, -0.19646493789501676),
        (19.64130970088794, -1.3738085245174177e-15, 0.18006317633754418),
        (22.782028047291558, 1.5905927758681248e-15, -0.16718449805101074),
    ),
    "y1": (
        (2.197141326031017, -4.8259835876454966e-17, 0.5207864124022675),
        (5.429681040794135, 4.162514026670377e-16, -0.3403180455234406),
        (8.596005868331169, 2.8415838340063664e-16, 0.27145987731153354),
        (11.749154830839881, 2.9466381668409186e-17, -0.23246176601703875),
        (14.897442128336726, -6.072148995506809e-16, 0.2065471103565926),
        (18.043402276727857, -1.4499889213148965e-15, -0.1877290919149097),
        (21.188068934142212, 1.0863038864317323e-15, 0.17326603526911988),
        (24.33194257135691, 2.940063934282991e-16, -0.1617016266586241),
    ),
}
_WIDEST = 0.5  # how far from a zero the series is used, at most
_PART = 0.25  # of the distance to 0, where the series of Y end
_STEEPEST = 0.9
# In float32 the functions of libraries, which compute in float64, have lost digits this close to a zero alone.
_CLOSE = 2.0**-20


def largest(is_wide: bool) -> float:
    """No value close to a zero is larger than this."""
    return _STEEPEST * (_WIDEST if is_wide else _CLOSE)


def at_zeros(name: str, x: Array, y: Array, is_wide: bool) -> None:
    """Write the function of the numbers from -25.5 to 25.5 close to a zero of "j0", "j1", "y0" or "y1" into y.

    Args:
      x: A vector of float64; zeros of Y have no sign.
      y: Of its size.
      is_wide: Whether the result is float64, not float32.
    """
    size = np.abs(x) if name[0] == "j" else x
    last = np.maximum.reduce(chosen(np.isnan(size), 0.0, size), initial=0.0)
    for place, rest, slope in _ZEROS[name]:
        reach = min(_WIDEST, _PART * place) if is_wide else _CLOSE
        if place - reach > last:
            break
        distance = size - place
        mine = np.flatnonzero(np.abs(distance) < reach)
        if mine.size:
            step = distance[mine] - rest
            found = step * arrays.polynomial(_series(int(name[1]), place, slope), step)
            y[mine] = chosen(x[mine] < 0, -found, found) if name == "j1" else found


@functools.cache
def _series(order: int, z: float, slope: float) -> tuple[float, ...]:
    """The coefficients of the series divided by x - z, until they do not matter."""
    reach = min(_WIDEST, _PART * z)
    found = [0.0, slope]
    while (
        max(abs(found[-1]), abs(found[-2]) / z) * reach ** (len(found) - 2) > 1e-18 * abs(slope)
        or len(found) < 8
    ):
        m = len(found) - 2
        before = [found[m + k] if m + k >= 0 else 0.0 for k in (-2, -1)]
        total = z * (m + 1) * (2 * m + 1) * found[m + 1] + (m * m + z * z - order * order) * found[m]
        found.append(-(total + 2 * z * before[1] + before[0]) / (z * z * (m + 2) * (m + 1)))
    return tuple(found[1:])
