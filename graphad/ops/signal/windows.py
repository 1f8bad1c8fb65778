"""Windows: weights that let a frame of a signal fade in and out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dtypes import as_dtype, float32
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.array.support import static_int

if TYPE_CHECKING:
    from graphad.core.annotations import Array


def _length(op: str, window_length: object) -> int:
    n = static_int(op, window_length, "window_length")
    if n is None or n < 0:
        raise InvalidArgumentError(
            f"{op}: window_length is {window_length!r}; an int of 0 or more, known while tracing, is needed."
        )
    return int(n)


def _as(op: str, window: Array, dtype: DTypeLike | None) -> Tensor:
    dtype = as_dtype(dtype)
    if dtype.kind != "float":
        raise InvalidArgumentError(f"{op}: dtype is {dtype.name}; a float dtype is needed.")
    return lift(window.astype(dtype.numpy))


def _raised_cosine(
    op: str, window_length: object, periodic: object, dtype: DTypeLike | None, mean: float
) -> Tensor:
    n = _length(op, window_length)
    if n == 1:
        return _as(op, np.ones(1), dtype)
    steps = n if bool(periodic) and n % 2 == 0 else n - 1
    return _as(op, mean - (1 - mean) * np.cos(2 * math.pi * np.arange(n) / max(steps, 1)), dtype)


@blaming
def hann_window(
    window_length: TensorLike,
    periodic: TensorLike = True,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """0.5 - 0.5 cos(2 pi k / n) for k from 0 to window_length - 1.

    Args:
      window_length: The number of samples.
      periodic: Whether n is `window_length` if that is even; otherwise n is window_length - 1.
      dtype: A float dtype.
    Returns: Tensor [window_length] of that dtype.
    Raises: InvalidArgumentError (a ValueError): a length that is not positive or not known while tracing, or another dtype.
    Source: Harris, On the use of windows for harmonic analysis with the discrete Fourier transform, 1978.
    Example:
      >>> signal.hann_window(4).numpy()
      array([0. , 0.5, 1. , 0.5], dtype=float32)
    """
    return _raised_cosine("hann_window", window_length, periodic, dtype, 0.5)


@blaming
def hamming_window(
    window_length: TensorLike,
    periodic: TensorLike = True,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """0.54 - 0.46 cos(2 pi k / n) for k from 0 to window_length - 1.

    Args:
      window_length: The number of samples.
      periodic: Whether n is `window_length` if that is even; otherwise n is window_length - 1.
      dtype: A float dtype.
    Returns: Tensor [window_length] of that dtype.
    Raises: InvalidArgumentError (a ValueError): a length that is not positive or not known while tracing, or another dtype.
    Source: Harris, On the use of windows for harmonic analysis with the discrete Fourier transform, 1978.
    Example:
      >>> signal.hamming_window(4).numpy()
      array([0.08, 0.54, 1.  , 0.54], dtype=float32)
    """
    return _raised_cosine("hamming_window", window_length, periodic, dtype, 0.54)


def _kaiser(n: int, beta: Any) -> Any:
    if n == 1:
        return np.ones(1)
    x = 2 * np.arange(n) / max(n - 1, 1) - 1
    beta, i0e = float(beta), library.special().i0e
    inner = beta * np.sqrt(np.maximum(1 - x * x, 0))
    return i0e(inner) / i0e(beta) * np.exp(inner - beta)


@blaming
def kaiser_window(
    window_length: TensorLike,
    beta: float | Tensor = 12.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """I0(beta sqrt(1 - x^2)) / I0(beta) for `window_length` evenly spaced x from -1 to 1.

    Args:
      window_length: The number of samples.
      beta: The shape parameter; a larger one gives a narrower window.
      dtype: A float dtype.
    Returns: Tensor [window_length] of that dtype.
    Raises: InvalidArgumentError (a ValueError): a length that is not positive or not known while tracing, or another dtype.
    Source: Kaiser and Schafer, On the use of the I0-sinh window for spectrum analysis, 1980.
    Example:
      >>> signal.kaiser_window(3).numpy().round(4)
      array([1.e-04, 1.e+00, 1.e-04], dtype=float32)
    """
    return _as("kaiser_window", _kaiser(_length("kaiser_window", window_length), beta), dtype)


@blaming
def kaiser_bessel_derived_window(
    window_length: TensorLike,
    beta: float | Tensor = 12.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """The square roots of the running sum of a Kaiser window of length window_length / 2 + 1, divided by its total; then their
    mirror image.

    Args:
      window_length: The number of samples.
      beta: The shape parameter of the Kaiser window; a larger one gives a narrower window.
      dtype: A float dtype.
    Returns: Tensor [window_length] of that dtype; squares half a window apart add up to 1.
    Raises: InvalidArgumentError (a ValueError): a length that is not positive or not known while tracing, or another dtype.
    Source: Fielder and others, AC-2 and AC-3: low-complexity transform-based audio coding, 1996.
    Example:
      >>> signal.kaiser_bessel_derived_window(4).numpy().round(4)
      array([0.0073, 1.    , 1.    , 0.0073], dtype=float32)
    """
    half = np.cumsum(_kaiser(_length("kaiser_bessel_derived_window", window_length) // 2 + 1, beta))
    rising = np.sqrt(half[:-1] / half[-1])
    return _as("kaiser_bessel_derived_window", np.concatenate([rising, rising[::-1]]), dtype)


@blaming
def vorbis_window(window_length: TensorLike, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """sin(pi / 2 sin(pi (k + 1/2) / n)^2) for k from 0 to n - 1.

    Args:
      window_length: The number of samples n.
      dtype: A float dtype.
    Returns: Tensor [window_length] of that dtype; squares half a window apart add up to 1.
    Raises: InvalidArgumentError (a ValueError): a length that is not positive or not known while tracing, or another dtype.
    Source: Xiph.Org Foundation, Vorbis I specification, 1.3.2.
    Example:
      >>> signal.vorbis_window(4).numpy().round(4)
      array([0.228 , 0.9737, 0.9737, 0.228 ], dtype=float32)
    """
    n = _length("vorbis_window", window_length)
    inner = np.sin(math.pi * (np.arange(n) + 0.5) / max(n, 1))
    return _as("vorbis_window", np.sin(math.pi / 2 * inner * inner), dtype)
