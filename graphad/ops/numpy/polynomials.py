"""Polynomials as vectors of coefficients, highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.annotations import TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.errors import InvalidArgumentError
from graphad.core.refusal import refuse
from graphad.core.shapes import ranked
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops import array, linalg, math
from graphad.ops.directly import directly
from graphad.ops.math.complexes import complex_dtype
from graphad.ops.math.convolved import VectorConvolution, convolved_rows
from graphad.ops.math.polynomial import PolynomialDivision
from graphad.ops.numpy.creation import arange
from graphad.ops.numpy.grids import vander
from graphad.ops.numpy.matrices import eigvals, lstsq
from graphad.ops.numpy.products import convolve
from graphad.ops.numpy.promotion import cast_to, inexact, known_sizes, promoted, rank_of, tensor_of


def _coefficients(name: str, p: TensorLike) -> Tensor:
    p = tensor_of(p)
    if rank_of(name, p) == 0:
        p = array.expand_dims(p, 0)
    if p.ndim != 1:
        raise InvalidArgumentError(f"{name}: the coefficients have rank {p.ndim}; a vector is needed.")
    return p


def _length(name: str, p: Tensor) -> int:
    return known_sizes(name, ranked(p.dims), "the number of coefficients")[0]


def polyval(p: TensorLike, x: TensorLike) -> Tensor:
    """The polynomial with coefficients `p`, highest power first, evaluated at x.

    Args:
      p: Vector [degree + 1], a numeric dtype.
      x: Tensor of any shape; both dtypes are promoted.
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

    Args: a1, a2: Vectors of coefficients, the highest power first; numeric dtypes, which are promoted.
    Returns: Vector as long as the longer one.
    Raises: InvalidArgumentError (a ValueError): one is not a vector.
    Example:
      >>> numpy.polyadd([1, 2], [9, 5, 4]).numpy()
      array([9, 6, 6])
    """
    first, second = _as_long("polyadd", a1, a2)
    return math.add(first, second)


def _as_long(name: str, a1: TensorLike, a2: TensorLike) -> tuple[Tensor, Tensor]:
    """The coefficients of two polynomials, as many of both."""
    a1, a2 = promoted(_coefficients(name, a1), _coefficients(name, a2))
    n, m = _length(name, a1), _length(name, a2)
    return (
        array.pad(a1, [[m - n, 0]]) if n < m else a1,
        array.pad(a2, [[n - m, 0]]) if m < n else a2,
    )


def polysub(a1: TensorLike, a2: TensorLike) -> Tensor:
    """The difference of two polynomials.

    Args: a1, a2: Vectors of coefficients, the highest power first; numeric dtypes, which are promoted.
    Returns: Vector as long as the longer one.
    Raises: InvalidArgumentError (a ValueError): one is not a vector.
    Example:
      >>> numpy.polysub([2, 10, -2], [3, 10, -4]).numpy()
      array([-1,  0,  2])
    """
    first, second = _as_long("polysub", a1, a2)
    return math.subtract(first, second)


def polymul(a1: TensorLike, a2: TensorLike) -> Tensor:
    """The product of two polynomials.

    Args: a1, a2: Vectors of coefficients, the highest power first; numeric dtypes, which are promoted.
    Returns: Vector [n + m - 1], including leading zeros.
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
      v: The divisor; its first coefficient must not be 0.
    Returns: (quotient [n - m + 1], remainder), of the promoted dtype. The remainder has m - 1 coefficients, at least one; if
      the values are known, its leading zeros are removed as NumPy does.
    Raises: InvalidArgumentError (a ValueError): one is not a vector or is empty.
    Example:
      >>> [part.numpy().tolist() for part in numpy.polydiv([3.0, 5.0, 2.0], [2.0, 1.0])]
      [[1.5, 1.75], [0.25]]
    """
    u, v = promoted(inexact(_coefficients("polydiv", u)), inexact(_coefficients("polydiv", v)))
    n, m = _length("polydiv", u), _length("polydiv", v)
    if not n or not m:
        raise InvalidArgumentError(f"polydiv: u has {n} and v {m} coefficients; each must have at least one.")
    if n < m:
        quotient, remainder = array.zeros_like(u[:1]), u
    else:
        quotient, remainder = bind(PolynomialDivision(), u, v)
        remainder = remainder if m > 1 else array.zeros_like(u[:1])
    if isinstance(remainder, EagerTensor):
        kept = np.flatnonzero(~np.isclose(remainder.data, 0, rtol=1e-14))
        remainder = remainder[int(kept[0]) if kept.size else -1 :]
    return quotient, remainder


@blaming
def polyder(p: TensorLike, m: int = 1) -> Tensor:
    """The coefficients of the derivative of order `m`.

    Args:
      p: Vector of coefficients, the highest power first, a numeric dtype.
      m: The order, 0 or more.
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
        if n < 2:
            break  # nothing is left
    return p


@blaming
def polyint(p: TensorLike, m: int = 1, k: TensorLike | None = None) -> Tensor:
    """The coefficients of an antiderivative of order `m`.

    Args:
      p: Vector of coefficients, the highest power first; float or complex, integers count as float64.
      m: The order, 0 or more.
      k: The constants of integration, one for each integration or one for all; 0 by default.
    Returns: Vector [n + m].
    Raises: InvalidArgumentError (a ValueError): `m` is negative, the number of constants is not `m`, or `p` is not a vector.
    Example:
      >>> numpy.polyint([3.0, 2.0, 1.0]).numpy()
      array([1., 1., 1., 0.])
    """
    p = inexact(_coefficients("polyint", p))
    if m < 0:
        raise InvalidArgumentError(f"polyint: m is {m}; it must not be negative.")
    found = directly(np.polyint, p, m=m) if k is None else None
    if found is not None:
        return found
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
    """The coefficients of the polynomial with given zeros, or of the characteristic polynomial of a square matrix.

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
    count = known_sizes("poly", ranked(zeros.dims), "the number of zeros")[0]
    # NumPy rounds products of complex numbers differently for vectors of different lengths.
    found: Any = None if zeros.dtype.is_complex or count > _LONG else directly(_multiplied_out, zeros)
    if found is None:
        found = _multiplied(zeros, count)
    return found if dtype is zeros.dtype else math.real(found)


_LONG = 512  # coefficients; products of longer polynomials are taken one by one, which needs less memory


def _multiplied(zeros: Tensor, count: int) -> Tensor:
    """The coefficients of the product of all x - zero: one half of the factors is multiplied by the other, then one
    half of these products by the other, and so on.

    The factors are read as 1 - zero / x, so that 1 fills up their number to a power of 2.
    """
    if not count:
        return array.ones([1], zeros.dtype)
    zeros = array.pad(zeros, [[0, _missing(count)]])
    rows: Any = array.stack([array.ones_like(zeros), -zeros], 1)
    while rows.dims[0] > 1:
        rows = bind(VectorConvolution(), *array.split(rows, 2))
    return rows[0, : count + 1]  # type: ignore[no-any-return]


def _missing(count: int) -> int:
    """What `count` lacks to the next power of 2."""
    return (1 << (count - 1).bit_length()) - count


def _multiplied_out(zeros: np.ndarray) -> np.ndarray | None:
    """`_multiplied` on a NumPy array, None where the bits would differ."""
    if zeros.dtype.itemsize < 4:
        return None  # NumPy adds these in float32
    count = len(zeros)
    rows = np.zeros((max(count + _missing(count), 1), 2), zeros.dtype)
    rows[:count, 1] = zeros
    rows = -rows
    rows[:, 0] = 1
    while len(rows) > 1:
        rows = convolved_rows(rows[: len(rows) // 2], rows[len(rows) // 2 :])
    return rows[0, : count + 1]


def roots(p: TensorLike) -> Tensor:
    """The zeros of a polynomial, as the eigenvalues of its companion matrix.

    Args: p: Vector of coefficients, the highest power first; float or complex, integers count as float64. If the values are
      known, zero coefficients at the ends are removed; while tracing the first coefficient must not be 0.
    Returns: Complex vector, in no particular order; differentiable where the zeros are simple.
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
    """The least-squares polynomial of a given degree through points.

    Args:
      x: Vector [points], a float or complex dtype; integers count as float64.
      y: Tensor [points] or [points, several].
      deg: The degree.
      rcond: Singular values below this fraction of the largest count as 0; by default the number of points times the machine
        epsilon.
      full: Whether to return the squared residuals, the rank, the singular values and rcond as well.
      w: Vector [points]: the weights of the residuals.
      cov: Whether to return the covariance matrix as well, scaled by the residuals, or "unscaled".
    Returns: Tensor [deg + 1] or [deg + 1, several], the highest power first; a tuple if more is requested. All of them are
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
            f"polyfit: x has {points} points and y has {ranked(y.dims)[0]}; the numbers must be equal."
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
            f"polyfit: {points} points do not determine the covariance for degree {deg}; more than {deg + 1} are needed."
        )
    factor = rest / (points - deg - 1)
    if y.ndim == 1:
        return found, base * factor
    return found, array.expand_dims(base, -1) * factor
