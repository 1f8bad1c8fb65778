"""Symmetric windows in float64. Those of `graphad.signal` are periodic by default and of any float dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.refusal import refuse
from graphad.core.tensor import Tensor
from graphad.ops import math
from graphad.ops.numpy.elementwise import i0
from graphad.ops.numpy.promotion import by_numpy, cast_to, tensor_of


def bartlett(M: int) -> Tensor:
    """The Bartlett window, a triangle that is 0 at both ends.

    Args: M: The number of points; a number below 1 gives none.
    Returns: Vector [M], float64.
    Raises: TypeError: `M` is not a number.
    Source: Blackman and Tukey, The measurement of power spectra, 1958.
    Example:
      >>> numpy.bartlett(5).numpy()
      array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _constant("bartlett", np.bartlett, M)


def blackman(M: int) -> Tensor:
    """The Blackman window, 0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1)).

    Args: M: The number of points; a number below 1 gives none.
    Returns: Vector [M], float64.
    Raises: TypeError: `M` is not a number.
    Source: Blackman and Tukey, The measurement of power spectra, 1958.
    Example:
      >>> numpy.blackman(5).numpy().round(2) + 0.0
      array([0.  , 0.34, 1.  , 0.34, 0.  ])
    """
    return _constant("blackman", np.blackman, M)


def hamming(M: int) -> Tensor:
    """The Hamming window, 0.54 - 0.46 cos(2 pi n / (M - 1)).

    Args: M: The number of points; a number below 1 gives none.
    Returns: Vector [M], float64.
    Raises: TypeError: `M` is not a number.
    Source: Blackman and Tukey, The measurement of power spectra, 1958.
    Example:
      >>> numpy.hamming(5).numpy()
      array([0.08, 0.54, 1.  , 0.54, 0.08])
    """
    return _constant("hamming", np.hamming, M)


def hanning(M: int) -> Tensor:
    """The Hann window, 0.5 - 0.5 cos(2 pi n / (M - 1)).

    Args: M: The number of points; a number below 1 gives none.
    Returns: Vector [M], float64.
    Raises: TypeError: `M` is not a number.
    Source: Blackman and Tukey, The measurement of power spectra, 1958.
    Example:
      >>> numpy.hanning(5).numpy()
      array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _constant("hanning", np.hanning, M)


def _constant(name: str, function: Any, points: int) -> Tensor:
    return lift(by_numpy(name, function, points))


def kaiser(M: int, beta: TensorLike) -> Tensor:
    """The Kaiser window, i0(beta sqrt(1 - (2 n / (M - 1) - 1)^2)) / i0(beta).

    Args:
      M: The number of points; a number below 1 gives none.
      beta: A scalar, differentiable: 0 gives a rectangle, larger ones a narrower window.
    Returns: Vector [M], float64.
    Raises: ArgumentTypeError (a TypeError): `M` is not a number.
    Source: Kaiser, Digital filters, in System analysis by digital computer, 1966.
    Example:
      >>> numpy.kaiser(3, 14.0).numpy().round(6)
      array([8.e-06, 1.e+00, 8.e-06])
    """
    try:
        half, single = (M - 1) / 2.0, bool(M == 1)
    except (TypeError, ValueError) as cause:
        refuse(cause, "kaiser", "M", M, "an integer is needed, the number of points")
    beta = cast_to(tensor_of(beta), dtypes.float64)
    if single:
        return lift(np.ones(1))
    places = by_numpy("kaiser", np.arange, 0, M)
    inside = np.sqrt(np.maximum(1.0 - ((places - half) / half) ** 2, 0.0))
    return math.divide(i0(beta * lift(inside)), i0(beta))
