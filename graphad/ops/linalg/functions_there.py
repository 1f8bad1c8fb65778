"""Functions of square matrices on a device, made of products, solutions and eigenvalues.

The exponential is scaled, approximated by a fraction and squared (Higham, 2005). Roots and logarithms of Hermitian matrices come
from their eigenvalues; those of others take Schur's factorisation, which no device has.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import arrays

if TYPE_CHECKING:
    from graphad.core.annotations import Array

# Of the diagonal fraction of Pade of degree 13, from the lowest power on, and the norm up to which it has all digits.
_DEGREE = 13
_FRACTION = tuple(
    math.factorial(2 * _DEGREE - k) * math.factorial(_DEGREE)
    / (math.factorial(2 * _DEGREE) * math.factorial(_DEGREE - k) * math.factorial(k))
    for k in range(_DEGREE + 1)
)  # fmt: skip
_NORM = 5.371920351148152
_MOST_SQUARES = 1100  # of what a float64 holds


def expm(x: Any) -> Any:
    """The exponential of a stack of matrices, computed in float64 or complex128."""
    if not x.size:
        return arrays.copy(x)
    a: Any = x.astype(np.result_type(x.dtype, np.float64))
    norm = np.max(np.sum(np.abs(a), -2), -1)
    is_finite = np.isfinite(norm)
    squares = np.ceil(np.log2(np.maximum(np.where(is_finite, norm, 1.0) / _NORM, 1.0)))
    a = np.where(is_finite[..., None, None], a, 0.0) * np.exp2(-squares)[..., None, None]
    y = _fraction(a)
    for k in range(min(int(squares.max()), _MOST_SQUARES)):
        y = np.where((squares > k)[..., None, None], y @ y, y)
    return np.where(is_finite[..., None, None], y, np.nan).astype(x.dtype)


def _fraction(a: Any) -> Any:
    """The fraction of Pade, whose parts of odd and of even powers are shared by its upper and lower part."""
    one = a.given(np.eye(a.shape[-1], dtype=a.dtype))
    square = a @ a
    odd, even = _FRACTION[_DEGREE] * one, _FRACTION[_DEGREE - 1] * one
    for k in range(_DEGREE - 2, 0, -2):
        odd = odd @ square + _FRACTION[k] * one
        even = even @ square + _FRACTION[k - 1] * one
    odd = a @ odd
    return np.linalg.solve(even - odd, even + odd)


def _is_hermitian(x: Any) -> bool:
    return bool(np.isfinite(x).all()) and bool((x == np.swapaxes(x.conj(), -2, -1)).all())


def of_hermitian(x: Any, of: str) -> Any:
    """ "sqrtm" or "logm" of a stack of Hermitian matrices; None if one is not, or has no logarithm."""
    if not (x.size and _is_hermitian(x)):
        return None
    values, vectors = np.linalg.eigh(x.astype(np.result_type(x.dtype, np.float64)))
    if of == "logm":
        if not (values > 0).all():
            return None
        found = np.log(values)
    else:
        found = np.sqrt(np.maximum(values, 0.0))
        lost = np.sqrt(np.maximum(-values, 0.0))  # of negative ones, the imaginary part
        if x.dtype.kind == "c":
            found = found + 1j * lost
        else:
            eps = 100 * float(np.finfo(x.dtype).eps)
            is_real = lost.max(-1, keepdims=True) <= eps * found.max(-1, keepdims=True)
            found = np.where(is_real, found, np.nan)
    y = (vectors * found[..., None, :]) @ np.swapaxes(vectors.conj(), -2, -1)
    return y.astype(x.dtype)


def along(x: Any, d: Array, of: str) -> Any:
    """The derivative of "sqrtm" or "logm" in the direction d: in the basis of eigenvectors it is a product with differences of
    the function over differences of eigenvalues (Daleckii and Krein, 1965). None for matrices that are not Hermitian with
    positive eigenvalues.
    """
    if not (x.size and _is_hermitian(x)):
        return None
    values, vectors = np.linalg.eigh(x.astype(np.result_type(x.dtype, np.float64)))
    if not (values > 0).all():
        return None
    here, other = values[..., :, None], values[..., None, :]
    if of == "sqrtm":
        slopes = 1.0 / (np.sqrt(here) + np.sqrt(other))
    else:
        apart = (here - other) / other
        is_one = apart == 0
        slopes = np.where(is_one, 1.0, np.log1p(apart) / np.where(is_one, 1.0, apart)) / other
    turned = np.swapaxes(vectors.conj(), -2, -1)
    found = vectors @ ((turned @ d.astype(vectors.dtype) @ vectors) * slopes) @ turned
    return found.astype(np.result_type(x.dtype, d.dtype))
