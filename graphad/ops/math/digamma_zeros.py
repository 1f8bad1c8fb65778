"""digamma close to its negative zeros, where the reflection is a difference of two equal numbers.

With a zero z and d = x - z, a difference that is exact in two parts, digamma(x) = digamma(1 - x) - pi cot(pi x) less the same for
z, which is 0, is

    digamma(1 - z - d) - digamma(1 - z) + pi sin(pi d) / (sin(pi x) sin(pi z)).

The first difference is a series in d, a tenth of the last term or less.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from graphad.core import arrays

Array = Any

# The zeros between -1 and 0, between -2 and -1, and so on, in two parts each; computed with 60 digits.
_ZEROS = (
    (-0.5040830082644554, -8.15428206243813e-18), (-1.5734984731623904, -1.574185691077347e-17),
    (-2.6107208684441447, 9.881960746978353e-17), (-3.635293366436901, 5.454396163173039e-17),
    (-4.653237761743142, -2.5492686201468193e-16), (-5.6671624415568855, -3.2153051074948335e-18),
    (-6.678418213073427, 3.470798723495241e-16), (-7.687788325031626, -1.351562494643672e-16),
    (-8.695764163816401, -3.2859903716289447e-16), (-9.702672540001863, -3.2563178405401477e-16),
    (-10.708740838254144, -6.287211750540301e-16), (-11.714133061228955, 8.598250154343834e-16),
    (-12.718971025749207, -4.752312432106917e-16), (-13.723347457363827, 4.528278691518058e-16),
    (-14.727334416018529, -3.6618399963139786e-17), (-15.730988906332882, 1.0551956373365842e-16),
    (-16.734356723955734, -1.2039501631800144e-15), (-17.73747515997759, -5.125776230727235e-16),
    (-18.7403749447801, 7.757330874026816e-16), (-19.74308167259022, 6.505672516695227e-16),
    (-20.745616863607527, 9.370177952348924e-16), (-21.74799876820113, -1.2246233990931817e-15),
    (-22.75024298430606, -1.1268600266054163e-15), (-23.752362937385183, 8.157017519280734e-16),
    (-24.75437025782297, -1.316906917865066e-15), (-25.756275080771037, 1.3077979683180938e-15),
    (-26.758086286661367, 1.1334337131725835e-15), (-27.759811695826706, -1.120148225799811e-16),
    (-28.761458227264864, -1.5405711086887488e-15), (-29.763032029127462, -4.657204559411395e-16),
    (-30.76453858671817, -1.0553524434167124e-15), (-31.765982812458248, -6.70609301293155e-16),
)  # fmt: skip
_REACH = 0.1  # how far from a zero
_TERMS = 12


@functools.cache
def _table() -> tuple[np.ndarray, np.ndarray]:
    return np.array([z for z, _ in _ZEROS]), np.array([rest for _, rest in _ZEROS])


@functools.cache
def _factors(derivative: Any) -> list[np.ndarray]:
    """The coefficients of the series at each zero, the last first."""
    zeros = _table()[0]
    return [derivative(n, 1.0 - zeros) * ((-1.0) ** n / math.factorial(n)) for n in range(_TERMS, 0, -1)]


def at_zeros(x: Array, y: Array, derivative: Any) -> None:
    """Write digamma of the numbers that are close to a zero into y, if they are here: the table is not on other devices.

    Args:
      x: A vector of float64 below 0.
      y: Of its size.
      derivative: The function of order and argument above 0.
    """
    if not arrays.is_here(x):
        return
    zeros, rests = _table()
    place = np.minimum(-x, len(zeros) - 0.5).astype(np.int64)
    mine = np.flatnonzero(np.abs(x - zeros[place]) < _REACH)
    if not mine.size:
        return
    place, near = place[mine], x[mine]
    zero, rest = zeros[place], rests[place]
    d = (near - zero) - rest
    series = np.zeros_like(d)
    for factors in _factors(derivative):
        series = (series + factors[place]) * d
    part = math.pi * (near + place)
    turned = np.sin(math.pi * d) / (np.sin(part) * np.sin(math.pi * ((zero + place) + rest)))
    y[mine] = series + math.pi * turned
