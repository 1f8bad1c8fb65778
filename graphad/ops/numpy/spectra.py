"""Fourier transforms by NumPy's names: along any axes, of any size, scaled according to `norm`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, DTypeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.device import require_cpu
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, math, signal
from graphad.ops.numpy.promotion import cast_to, inexact, rank_of, tensor_of
from graphad.ops.numpy.types import default_dtype
from graphad.ops.signal.fourier import Rfft, with_size

# The exponent of the divisor n for each norm; the square root of n is 1/2.
_FORWARD = {None: 0.0, "backward": 0.0, "ortho": 0.5, "forward": 1.0}
_WIDE = {dtypes.float16: dtypes.float32, dtypes.bfloat16: dtypes.float32}


def _scaled(y: Tensor, sizes: list[Any], power: float) -> Tensor:
    """y divided by the number of elements to a power."""
    if not power:
        return y
    real = y.dtype.real_dtype
    count: Any = 1.0
    for size in sizes:
        count = count * float(size) if isinstance(size, int) else cast_to(count, real) * math.cast(size, real)
    count = cast_to(count, real)
    factor = math.pow(count, cast_to(-power, real))
    return math.multiply(y, math.cast(factor, y.dtype))


def _power(name: str, norm: str | None) -> float:
    if norm not in _FORWARD:
        raise InvalidArgumentError(
            f"{name}: norm {norm!r} is unknown; it is 'backward', 'ortho' or 'forward'."
        )
    return _FORWARD[norm]


def _operand(x: TensorLike, is_complex: bool) -> Tensor:
    x = inexact(x)
    x = cast_to(x, _WIDE.get(x.dtype, x.dtype))
    if is_complex and not x.dtype.is_complex:
        return cast_to(x, dtypes.complex64 if x.dtype is dtypes.float32 else dtypes.complex128)
    return x


def _transformed(
    name: str, x: Any, sizes: Any, axes: Any, norm: str | None, inverse: bool, real: bool
) -> Tensor:
    power = _power(name, norm)
    x = _operand(x, not real or inverse)
    if real and not inverse and x.dtype.is_complex:
        raise InvalidArgumentError(f"{name}: x has dtype {x.dtype.name}; it must be real. Use fft.")
    rank = rank_of(name, x)
    if axes is None:
        axes = list(range(rank)) if sizes is None else list(range(rank - len(sizes), rank))
    axes = [normalize_axis(name, k, rank) for k in axes]
    if any(isinstance(n, int) and n != -1 and n < 1 for n in sizes or ()):
        raise InvalidArgumentError(f"{name}: {sizes} is asked for; a transform has one element or more.")
    if not axes:
        raise InvalidArgumentError(f"{name}: there is no axis to transform; x has rank {rank}.")
    whole = array.shape(x)
    lengths = [
        (whole[k] if x.dims[k] is None else x.dims[k])
        if sizes is None or sizes[i] in (None, -1)
        else int(sizes[i])
        for i, k in enumerate(axes)
    ]
    if real and inverse and (sizes is None or sizes[-1] is None):
        lengths[-1] = 2 * (lengths[-1] - 1)
    run = {
        (False, False): signal.fftnd,
        (True, False): signal.ifftnd,
        (False, True): signal.rfftnd,
        (True, True): signal.irfftnd,
    }[inverse, real]
    found = run(x, lengths, axes)
    return _scaled(found, lengths, -power if inverse else power) if norm not in (None, "backward") else found


def _described(name: str, inverse: bool, real: bool, doc: str, plural: bool) -> str:
    each = " along each axis" if plural else ""
    if inverse and real:
        x, found = "Complex tensor of any shape; real numbers are converted", "Real tensor"
        count = f"The size of the result{each}; 2 * (k - 1) along the last axis, of size k, by default"
    else:
        x = "Tensor of any shape, a real dtype" if real else "Tensor of any shape and dtype"
        found = "Complex tensor, the last axis of n // 2 + 1 elements" if real else "Complex tensor"
        count = f"The size to which `a` is truncated or zero-padded{each}; its own by default"
    none, whole = ("divided by n", "no factor") if inverse else ("no factor", "divided by n")
    sample = [[1.0, 2.0], [3.0, 4.0]] if plural else [1.0, 2.0, 3.0, 4.0]
    lines = [doc, "", "Args:", f"  a: {x}; integers and bools count as float64."]
    lines += [f"  {'s' if plural else 'n'}: {count}."]
    lines += ["  axes: The axes." if plural else "  axis: The axis."]
    lines += [f'  norm: "backward" ({none}), "ortho" (divided by the root of n) or "forward" ({whole}).']
    lines += [f"Returns: {found}."]
    lines += ["Raises: InvalidArgumentError (a ValueError): `norm` is unknown, or an axis is out of range."]
    lines += ["Example:", f"  >>> numpy.fft.{name}({sample}).numpy()"]
    lines += [f"  {line}" for line in repr(getattr(np.fft, name)(sample)).splitlines()]
    return "\n".join(lines)


def _one(name: str, inverse: bool, real: bool, doc: str) -> Callable[..., Tensor]:
    def function(
        a: TensorLike, n: int | None = None, axis: int = -1, norm: str | None = "backward"
    ) -> Tensor:
        return _transformed(name, a, [n], [axis], norm, inverse, real)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _described(name, inverse, real, f"{doc} along an axis.", False)
    return blaming(function)


def _several(name: str, inverse: bool, real: bool, doc: str, plane: bool) -> Callable[..., Tensor]:
    def function(
        a: TensorLike,
        s: Sequence[int] | None = None,
        axes: AxisLike = (-2, -1) if plane else None,
        norm: str | None = "backward",
    ) -> Tensor:
        return _transformed(name, a, s, axes, norm, inverse, real)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _described(
        name, inverse, real, f"{doc} along {'two axes' if plane else 'axes'}.", True
    )
    return blaming(function)


_FFT, _IFFT = "The Fourier transform", "The inverse Fourier transform"
_RFFT, _IRFFT = (
    "The Fourier transform of real numbers, its first half",
    "The inverse of the transform of real numbers",
)
fft = _one("fft", False, False, _FFT)
ifft = _one("ifft", True, False, _IFFT)
rfft = _one("rfft", False, True, _RFFT)
irfft = _one("irfft", True, True, _IRFFT)
fftn = _several("fftn", False, False, _FFT, False)
ifftn = _several("ifftn", True, False, _IFFT, False)
rfftn = _several("rfftn", False, True, _RFFT, False)
irfftn = _several("irfftn", True, True, _IRFFT, False)
fft2 = _several("fft2", False, False, _FFT, True)
ifft2 = _several("ifft2", True, False, _IFFT, True)
rfft2 = _several("rfft2", False, True, _RFFT, True)
irfft2 = _several("irfft2", True, True, _IRFFT, True)

_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


@blaming
def hfft(a: TensorLike, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Tensor:
    """The Fourier transform of a signal with Hermitian symmetry, given by its first half; real.

    Args:
      a: Tensor [..., k, ...], complex; real numbers are converted.
      n: The size of the result; 2 * (k - 1) by default.
      axis: The axis.
      norm: "backward" (no factor), "ortho" (divided by the root of n) or "forward" (divided by n).
    Returns: Real tensor [..., n, ...].
    Raises: InvalidArgumentError (a ValueError): `norm` is unknown, or the axis is out of range.
    Example:
      >>> numpy.fft.hfft([1.0, 1.0, 1.0]).numpy()
      array([4., 0., 0., 0.])
    """
    _power("hfft", norm)
    return irfft(math.conj(_operand(a, True)), n, axis, _SWAPPED[norm])


@blaming
def ihfft(a: TensorLike, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Tensor:
    """The inverse of `hfft`.

    Args:
      a: Tensor [..., size, ...], a real dtype; integers count as float64.
      n: The size to which `a` is truncated or zero-padded; its own by default.
      axis: The axis.
      norm: "backward" (divided by n), "ortho" (divided by the root of n) or "forward" (no factor).
    Returns: Complex tensor [..., n // 2 + 1, ...].
    Raises: InvalidArgumentError (a ValueError): complex numbers, `norm` is unknown, or the axis is out of range.
    Example:
      >>> numpy.fft.ihfft([4.0, 0.0, 0.0, 0.0]).numpy()
      array([1.-0.j, 1.-0.j, 1.-0.j])
    """
    _power("ihfft", norm)
    found = _halved(a, n, axis) if norm in (None, "backward") else None
    return math.conj(rfft(a, n, axis, _SWAPPED[norm]) if found is None else found)


def _halved(a: TensorLike, n: int | None, axis: int) -> Tensor | None:
    """The transform of real numbers divided by their number, along the last axis; None elsewhere.

    The adjoint of `irfft` is that but for a factor of 2, and is divided by NumPy in the dtype of the numbers.
    """
    x = _operand(a, False)
    if x.dtype.is_complex or not x.dims or normalize_axis("ihfft", axis, len(x.dims)) != len(x.dims) - 1:
        return None
    if n is not None and (not isinstance(n, int) or n < 1):
        return None
    x = x if n is None else with_size(x, -1, n)
    count = ranked(x.dims)[-1]
    if not isinstance(count, int) or not count:
        return None
    once = np.full(count // 2 + 1, 0.5)
    once[0] = 1.0
    if count % 2 == 0:
        once[-1] = 1.0
    y = bind(Rfft(1, True), x)
    return math.multiply(y, cast_to(once.astype(y.dtype.numpy), y.dtype))


@blaming
def fftfreq(n: int, d: float = 1.0, dtype: DTypeLike | None = None, *, device: str | None = None) -> Tensor:
    """The frequencies of `fft` of n elements that are d apart: 0, 1, ..., -2, -1, each divided by n d.

    Args:
      n: The number of elements, not 0.
      d: The sample spacing.
      dtype: The dtype; float64 by default.
      device: "cpu" or None.
    Returns: Vector [n] of that dtype.
    Raises: ValueError: n is not an integer; ZeroDivisionError: it is 0.
    Example:
      >>> numpy.fft.fftfreq(4).numpy()
      array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    require_cpu("fftfreq", device)
    return lift(np.fft.fftfreq(n, d).astype(_real(dtype)))


@blaming
def rfftfreq(n: int, d: float = 1.0, dtype: DTypeLike | None = None, *, device: str | None = None) -> Tensor:
    """The frequencies of `rfft` of n elements that are d apart: 0, 1, ..., n // 2, each divided by n d.

    Args:
      n: The number of elements, not 0.
      d: The sample spacing.
      dtype: The dtype; float64 by default.
      device: "cpu" or None.
    Returns: Vector [n // 2 + 1] of that dtype.
    Raises: ValueError: n is not an integer; ZeroDivisionError: it is 0.
    Example:
      >>> numpy.fft.rfftfreq(4).numpy()
      array([0.  , 0.25, 0.5 ])
    """
    require_cpu("rfftfreq", device)
    return lift(np.fft.rfftfreq(n, d).astype(_real(dtype)))


def _real(dtype: DTypeLike | None) -> Any:
    return np.float64 if dtype is None else default_dtype(dtype).numpy


@blaming
def fftshift(x: TensorLike, axes: AxisLike = None) -> Tensor:
    """`x` with frequency 0 moved to the middle of `axes`, all by default.

    Args:
      x: Tensor of any shape and dtype.
      axes: The axis or axes.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range.
    Example:
      >>> numpy.fft.fftshift([0, 1, -2, -1]).numpy()
      array([-2, -1,  0,  1])
    """
    return signal.fftshift(tensor_of(x), _list(axes))


@blaming
def ifftshift(x: TensorLike, axes: AxisLike = None) -> Tensor:
    """The inverse of `fftshift`.

    Args:
      x: Tensor of any shape and dtype.
      axes: The axis or axes.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range.
    Example:
      >>> numpy.fft.ifftshift([-2, -1, 0, 1]).numpy()
      array([ 0,  1, -2, -1])
    """
    return signal.ifftshift(tensor_of(x), _list(axes))


def _list(axes: Any) -> list[Any] | list[int] | None:
    return axes if axes is None else [axes] if isinstance(axes, int) else list(axes)
