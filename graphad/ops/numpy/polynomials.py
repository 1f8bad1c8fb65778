"""Polynomials as vectors of coefficients, that of the highest power first."""

from __future__ import annotations

import numpy as np

from graphad.core.annotations import TensorLike
from graphad.core.errors import InvalidArgumentError
from graphad.core.refusal import refuse
from graphad.core.shapes import ranked
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops import array, linalg, math
from graphad.ops.math.complexes import complex_dtype
from graphad.ops.numpy.creation import arange
from graphad.ops.numpy.grids import vander
from graphad.ops.numpy.matrices import eigvals, lstsq
from graphad.ops.numpy.products import convolve
from graphad.ops.numpy.promotion import cast_to, inexact, promoted, rank_of, tensor_of


def _coefficients(name: str, p: TensorLike) -> Tensor:
    p = tensor_of(p)
    if rank_of(name, p) == 0:
        p = array.expand_dims(p, 0)
    if p.ndim != 1:
        raise InvalidArgumentError(f"{name}: coefficients of rank {p.ndim} were given; they are a vector.")
    return p


def _length(name: str, p: Tensor) -> int:
    size = ranked(p.dims)[0]
    if not isinstance(size, int):
        raise InvalidArgumentError(f"{name}: the number of coefficients must be known while tracing.")
    return size


def polyval(p: TensorLike, x: TensorLike) -> Tensor:
    """The polynomial with coefficients `p`, that of the highest power first, at x.

    Args:
      p: Vector [degree + 1], a numeric dtype.
      x: Tensor of any shape; both dtypes become one.
    Returns: Tensor of the shape of x, by Horner's rule.
    Raises: InvalidArgumentError (a ValueError): `p` is a scalar.
    Example:
      >>> numpy.polyval([1.0, 0.0, 2.0], 3.0).numpy()
      np.float64(11.0)
    """
    p, x = promoted(p, x)
    found = array.zeros_like(x)
    for coefficient in array.unstack(p):
        found = found * x + coefficient
    return found


def polyadd(a1: TensorLike, a2: TensorLike) -> Tensor:
    """The sum of two polynomials.

    Args: a1, a2: Vectors of coefficients, the highest power first; numeric dtypes, which become one.
    Returns: Vector as long as the longer one.
    Raises: InvalidArgumentError (a ValueError): one is not a vector.
    Example:
      >>> numpy.polyadd([1, 2], [9, 5, 4]).numpy()
      array([9, 6, 6])
    """
    a1, a2 = promoted(_coefficients("polyadd", a1), _coefficients("polyadd", a2))
    n, m = _length("polyadd", a1), _length("polyadd", a2)
    return array.pad(a1, [[max(m - n, 0), 0]]) + array.pad(a2, [[max(n - m, 0), 0]])


def polysub(a1: TensorLike, a2: TensorLike) -> Tensor:
    """The difference of two polynomials.

    Args: a1, a2: Vectors of coefficients, the highest power first; numeric dtypes, which become one.
    Returns: Vector as long as the longer one.
    Raises: InvalidArgumentError (a ValueError): one is not a vector.
    Example:
      >>> numpy.polysub([2, 10, -2], [3, 10, -4]).numpy()
      array([-1,  0,  2])
    """
    a1, a2 = promoted(_coefficients("polysub", a1), _coefficients("polysub", a2))
    return polyadd(a1, math.negative(a2))


def polymul(a1: TensorLike, a2: TensorLike) -> Tensor:
    """The product of two polynomials.

    Args: a1, a2: Vectors of coefficients, the highest power first; numeric dtypes, which become one.
    Returns: Vector [n + m - 1], with the zeros that it begins with.
    Raises: InvalidArgumentError (a ValueError): one is not a vector or is empty.
    Example:
      >>> numpy.polymul([1, 2], [1, -2]).numpy()
      array([ 1,  0, -4])
    """
    return convolve(_coefficients("polymul", a1), _coefficients("polymul", a2))


def polydiv(u: TensorLike, v: TensorLike) -> tuple[Tensor, Tensor]:
    """Quotient and remainder of two polynomials.

    Args:
      u: Vector of coefficients, the highest power first; float or complex, integers count as float64.
      v: What it is divided by; its first coefficient is not 0.
    Returns: (quotient [n - m + 1], remainder), of the dtype of both together. The remainder has m - 1 coefficients, one at
      least; leading zeros of it are left out as NumPy does where the values are known.
    Raises: InvalidArgumentError (a ValueError): one is not a vector.
    Example:
      >>> [part.numpy().tolist() for part in numpy.polydiv([3.0, 5.0, 2.0], [2.0, 1.0])]
      [[1.5, 1.75], [0.25]]
    """
    u, v = promoted(inexact(_coefficients("polydiv", u)), inexact(_coefficients("polydiv", v)))
    n, m = _length("polydiv", u), _length("polydiv", v)
    rest, quotients = array.unstack(u), []
    divisor = array.unstack(v)
    for k in range(n - m + 1):
        quotients.append(rest[k] / divisor[0])
        for j in range(m):
            rest[k + j] = rest[k + j] - quotients[-1] * divisor[j]
    quotient = array.stack(quotients) if quotients else array.zeros_like(u[:1])
    remainder = array.stack(rest[max(n - m + 1, 0) :] or [array.zeros_like(u[0])])
    if isinstance(remainder, EagerTensor):
        kept = np.flatnonzero(~np.isclose(remainder.data, 0, rtol=1e-14))
        remainder = remainder[int(kept[0]) if kept.size else -1 :]
    return quotient, remainder


def polyder(p: TensorLike, m: int = 1) -> Tensor:
    """The coefficients of the derivative of order `m`.

    Args:
      p: Vector of coefficients, the highest power first, a numeric dtype.
      m: The order, from 0.
    Returns: Vector [n - m], empty for a polynomial of lower degree.
    Raises: InvalidArgumentError (a ValueError): `m` is negative, or `p` is not a vector.
    Example:
      >>> numpy.polyder([1, 1, 1, 1]).numpy()
      array([3, 2, 1])
    """
    p = _coefficients("polyder", p)
    if m < 0:
        raise InvalidArgumentError(f"polyder: m is {m}; it must not be negative.")
    for _ in range(m):
        n = _length("polyder", p)
        p, powers = promoted(p[:-1], arange(max(n - 1, 0), 0, -1))
        p = p * powers
    return p


def polyint(p: TensorLike, m: int = 1, k: TensorLike | None = None) -> Tensor:
    """The coefficients of an antiderivative of order `m`.

    Args:
      p: Vector of coefficients, the highest power first; float or complex, integers count as float64.
      m: The order, from 0.
      k: The constants of integration, one for each time, or one for all; 0 by default.
    Returns: Vector [n + m].
    Raises: InvalidArgumentError (a ValueError): `m` is negative, there are not as many constants, or `p` is not a vector.
    Example:
      >>> numpy.polyint([3.0, 2.0, 1.0]).numpy()
      array([1., 1., 1., 0.])
    """
    p = inexact(_coefficients("polyint", p))
    if m < 0:
        raise InvalidArgumentError(f"polyint: m is {m}; it must not be negative.")
    given = _coefficients("polyint", 0 if k is None else k)
    constants = array.unstack(given) * (m if ranked(given.dims)[0] == 1 else 1)
    if len(constants) != m:
        raise InvalidArgumentError(
            f"polyint: k has {len(constants)} constants for m = {m}; give one for each."
        )
    for constant in constants:
        p, powers = promoted(p, arange(_length("polyint", p), 0, -1))
        p = array.concat([*promoted(p / powers, array.expand_dims(cast_to(constant, p.dtype), 0))], 0)
    return p


def poly(seq_of_zeros: TensorLike) -> Tensor:
    """The coefficients of the polynomial with these zeros, or of the characteristic polynomial of a square matrix.

    Args: seq_of_zeros: Vector of zeros, or matrix [n, n]; float or complex, integers count as float64.
    Returns: Vector [n + 1] that begins with 1: complex for complex zeros, real for a real matrix.
    Raises: InvalidArgumentError (a ValueError): neither a vector nor a square matrix.
    Example:
      >>> numpy.poly([1.0, 2.0]).numpy()
      array([ 1., -3.,  2.])
    """
    zeros = inexact(seq_of_zeros)
    dtype = zeros.dtype
    if rank_of("poly", zeros) == 2:
        zeros = eigvals(zeros)
    if zeros.ndim != 1:
        raise InvalidArgumentError(
            f"poly: a tensor of rank {zeros.ndim} was given; give a vector or a square matrix."
        )
    found = array.ones([1], zeros.dtype)
    for zero in array.unstack(zeros):
        found = convolve(found, array.stack([array.ones_like(zero), -zero]))
    return found if dtype is zeros.dtype else math.real(found)


def roots(p: TensorLike) -> Tensor:
    """The zeros of a polynomial, as the eigenvalues of its companion matrix.

    Args: p: Vector of coefficients, the highest power first; float or complex, integers count as float64. Zeros at its ends
      are looked for where the values are known; while tracing the first coefficient must not be 0.
    Returns: Complex vector, in no order; differentiable where the zeros are simple.
    Raises: InvalidArgumentError (a ValueError): `p` is not a vector.
    Source: Edelman and Murakami, Polynomial roots from companion matrix eigenvalues, 1995.
    Example:
      >>> numpy.sort(numpy.roots([1.0, -3.0, 2.0])).numpy()
      array([1.+0.j, 2.+0.j])
    """
    p = inexact(_coefficients("roots", p))
    dtype = p.dtype if p.dtype.is_complex else complex_dtype(p.dtype)
    behind = 0
    if isinstance(p, EagerTensor):
        places = np.flatnonzero(p.data)
        if not places.size:
            return cast_to(p, dtype)[:0]
        behind = p.data.size - 1 - int(places[-1])
        p = p[int(places[0]) : int(places[-1]) + 1]
    n = _length("roots", p) - 1
    if n < 1:
        found = cast_to(p[:0], dtype)
    else:
        first = array.expand_dims(-p[1:] / p[0], 0)
        found = eigvals(array.concat([first, linalg.eye(n - 1, n, dtype=p.dtype)], 0))
    return array.pad(found, [[0, behind]])


def polyfit(
    x: TensorLike,
    y: TensorLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: TensorLike | None = None,
    cov: bool | str = False,
) -> Tensor | tuple[Tensor | float, ...]:
    """The polynomial of a degree that comes closest to points, by least squares.

    Args:
      x: Vector [points], a float or complex dtype; integers count as float64.
      y: Tensor [points] or [points, several].
      deg: The degree.
      rcond: Singular values below this part of the largest count as 0; the number of points times the epsilon of the dtype
        by default.
      full: Whether to return the squares of what is left over, the rank, the singular values and rcond as well.
      w: Vector [points] of factors of the residuals.
      cov: Whether to return the covariance matrix as well, scaled by the residuals, or "unscaled".
    Returns: Tensor [deg + 1] or [deg + 1, several], the highest power first; a tuple where more is asked for. All of them are
      differentiable.
    Raises: InvalidArgumentError (a ValueError): `x` is not a vector, `deg` is negative, or sizes differ.
    Example:
      >>> numpy.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).numpy().round(6)
      array([2., 1.])
    """
    x, y = promoted(inexact(x), inexact(y))
    if rank_of("polyfit", x) != 1 or rank_of("polyfit", y) not in (1, 2):
        raise InvalidArgumentError(
            f"polyfit: x has rank {x.ndim} and y {y.ndim}; x must be a vector, y a vector or a matrix."
        )
    try:
        negative = bool(deg < 0)
    except (TypeError, ValueError) as cause:
        refuse(cause, "polyfit", "deg", deg, "an integer is needed, the degree")
    if negative:
        raise InvalidArgumentError(f"polyfit: deg is {deg}; it must not be negative.")
    points = _length("polyfit", x)
    if ranked(y.dims)[0] != points:
        raise InvalidArgumentError(
            f"polyfit: x has {points} points and y has {ranked(y.dims)[0]}; give as many."
        )
    bound = points * float(x.dtype.info.eps) if rcond is None else rcond
    powers = vander(x, deg + 1)
    if w is not None:
        factors = cast_to(inexact(w), x.dtype)
        powers = powers * array.expand_dims(factors, 1)
        y = y * (factors if y.ndim == 1 else array.expand_dims(factors, 1))
    scale = math.sqrt(math.reduce_sum(powers * powers, 0))
    scaled, rest, rank, singular = lstsq(powers / scale, y, bound)
    per_row = scale if y.ndim == 1 else array.expand_dims(scale, 1)
    found: Tensor = scaled / per_row
    if full:
        return found, rest, rank, singular, bound
    if not cov:
        return found
    outer = array.expand_dims(scale, 1) * array.expand_dims(scale, 0)
    base = linalg.inv(linalg.matmul(powers, powers, transpose_a=True) * (1.0 / outer)) / outer
    if cov == "unscaled":
        return found, base if y.ndim == 1 else array.expand_dims(base, -1)
    if points <= deg + 1:
        raise InvalidArgumentError(
            f"polyfit: {points} points say nothing of the covariance for degree {deg}; more than {deg + 1} are needed."
        )
    factor = rest / (points - deg - 1)
    if y.ndim == 1:
        return found, base * factor
    return found, array.expand_dims(base, -1) * factor
