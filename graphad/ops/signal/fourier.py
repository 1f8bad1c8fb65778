"""Discrete Fourier transforms along the last axes, through NumPy; each is linear, and its adjoint is another one of them.

The adjoint of the complex transform is the inverse transform without its factor. The real transforms keep half of the spectrum,
since the other half is its conjugate mirror image; their adjoints account for the mirrored half by a factor of 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import (
    Array,
    AxisLike,
    BatchContext,
    Cotangents,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift, stands_for_tensor
from graphad.core.dims import Size, run_time_symbols
from graphad.core.dtypes import DType, complex64, complex128, float32, float64
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError, OutOfRangeError
from graphad.core.kinds import require_dtype
from graphad.core.op import MIXED, Op, define, else_eval
from graphad.core.refusal import members
from graphad.core.schema import Given, Positive
from graphad.core.shapes import format_dims, normalize_axis, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.kernels import forms
from graphad.ops.array.create import zeros_like
from graphad.ops.array.ensure import ensure_shape
from graphad.ops.array.padding import pad
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import sizes_of
from graphad.ops.array.slice import getitem
from graphad.ops.array.support import requested_size, static_array, static_here, static_int
from graphad.ops.array.transpose import roll, transpose
from graphad.ops.directly import directly
from graphad.ops.elementwise import named
from graphad.ops.math.cast import cast
from graphad.ops.math.complexes import complex_dtype, part_dtype
from graphad.ops.math.select import maximum
from graphad.ops.state.effects import require

if TYPE_CHECKING:
    from typing import Protocol

    class ComplexTransform(Protocol):
        """`fft` and its relatives."""

        def __call__(self, input: TensorLike, name: str | None = None) -> Tensor: ...

    class RealTransform(Protocol):
        """`rfft`, `irfft` and their relatives."""

        def __call__(
            self, input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
        ) -> Tensor: ...


def _check(op: str, x: TensorSpec, dtypes: tuple[DType, ...], rank: int) -> None:
    require_dtype(op, x, dtypes, "input")
    _require_axes(op, x, rank)


def _require_axes(op: str, x: TensorSpec | Tensor, rank: int) -> None:
    if x.dims is not None and len(x.dims) < rank:
        raise InvalidArgumentError(
            f"{op}: input has shape {format_dims(x.dims)}; it must have rank {rank} or more, for it is transformed along "
            f"its last {rank} axes."
        )


def _last(rank: int) -> tuple[int, ...]:
    return tuple(range(-rank, 0))


class _Transform(Op):
    """The base of transforms along the last `rank` axes."""

    rank: Positive
    keeps = (False, False)

    def batch(self, ctx: BatchContext, x: Ranked, *given: Ranked) -> Tensor:
        return bind(self, x, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        row = axes[0]
        return row if row is None or row < len(specs[0].dims or ()) - self.rank else MIXED


@define
class Fft(_Transform):
    """y[k] is the sum over j of x[j] exp(-2 pi i j k / n) along each of the last `rank` axes, each of its size n; with
    `inverse` the sign in the exponent is plus. `scaled` divides the result by the product of the sizes.
    """

    name = "fft"
    rank: Positive
    inverse: bool
    scaled: bool

    def infer(self, x: TensorSpec) -> TensorSpec:
        _check("fft", x, (complex64, complex128), self.rank)
        return x

    def eval(self, x: Array) -> Array:
        if not x.size:
            return np.array(x)
        norm: Any = "forward" if self.scaled is not self.inverse else "backward"
        if self.rank == 1 and type(x) is np.ndarray:  # without the bookkeeping of several axes
            return np.fft.ifft(x, norm=norm) if self.inverse else np.fft.fft(x, norm=norm)
        if self.inverse:
            return np.fft.ifftn(x, axes=_last(self.rank), norm=norm)
        return np.fft.fftn(x, axes=_last(self.rank), norm=norm)

    @else_eval("NumPy's loops take no transforms of 0 numbers, and the run may find a size of 0")
    def lower(self, x: TensorSpec) -> forms.Form | None:
        found = forms.Transformed("fft", self.rank, inverse=self.inverse, scaled=self.scaled)
        return None if run_time_symbols(ranked(x.dims)[-self.rank :]) else found

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(Fft(self.rank, not self.inverse, self.scaled), g),)


def _ends(n: int) -> list[int]:
    """The indices of the half spectrum of n real numbers that have no mirror image."""
    return [0, n // 2] if n % 2 == 0 else [0]


@define
class Rfft(_Transform):
    """The first n // 2 + 1 numbers, along the last axis, of the Fourier transform of real x [..., n] along its last `rank` axes;
    with `adjoint` it is the adjoint of `irfft` instead: numbers with a mirror image are doubled, and all are divided by the
    product of the sizes.
    """

    name = "rfft"
    rank: Positive
    adjoint: bool = False

    def infer(self, x: TensorSpec) -> TensorSpec:
        _check("rfft", x, (float32, float64), self.rank)
        dtype = complex_dtype(x.dtype)
        if x.dims is None:
            return TensorSpec.of(None, dtype)
        *lead, n = ranked(x.dims)
        return TensorSpec.of((*lead, None if n is None else n // 2 + 1), dtype)

    def eval(self, x: Array) -> Array:
        n = x.shape[-1]
        if not x.size:
            return np.zeros(
                (*x.shape[:-1], n // 2 + 1), np.complex64 if x.dtype == np.float32 else np.complex128
            )
        if not self.adjoint:
            return np.fft.rfftn(x, axes=_last(self.rank))
        y = np.fft.rfftn(x, axes=_last(self.rank), norm="forward")
        once = y[..., _ends(n)]
        y *= 2
        y[..., _ends(n)] = once
        return y

    @else_eval("NumPy's loops take no transforms of 0 numbers, and the run may find a size of 0")
    def lower(self, x: TensorSpec) -> forms.Form | None:
        found = forms.Transformed("rfft", self.rank, adjoint=self.adjoint)
        return None if run_time_symbols(ranked(x.dims)[-self.rank :]) else found

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        dims = ctx.shape(0)
        n = dims[-1] if dims is not None else None
        size, given = (n, ()) if n is not None else requested_size("rfft", _last_size(ctx.inputs[0]), "n")
        return (bind(Irfft(self.rank, size, not self.adjoint), g, *given),)


@define
class Irfft(_Transform):
    """Real numbers [..., size] of which x [..., size // 2 + 1] is the half spectrum that `rfft` gives: the inverse transform
    along the last `rank` axes; imaginary parts that such a spectrum cannot have are ignored. With `adjoint` it is the adjoint
    of `rfft` instead: the real part of the inverse transform, without its factor, of x padded with zeros.
    """

    name = "irfft"
    rank: Positive
    size: Given[Size]
    adjoint: bool = False

    def infer(self, x: TensorSpec) -> TensorSpec:
        _check("irfft", x, (complex64, complex128), self.rank)
        dtype = part_dtype(x.dtype)
        if x.dims is None:
            return TensorSpec.of(None, dtype)
        self._check_half(x.dims)
        return TensorSpec.of((*x.dims[:-1], self.size), dtype)

    def _check_half(self, dims: tuple[Size | None, ...]) -> None:
        if isinstance(dims[-1], int) and isinstance(self.size, int) and dims[-1] != self.size // 2 + 1:
            raise InvalidArgumentError(
                f"irfft: input has shape {format_dims(dims)}; for {self.size} numbers its last size must be "
                f"{self.size // 2 + 1}."
            )

    def eval(self, x: Array) -> Array:
        n = self.size
        self._check_half(x.shape)  # now that the sizes are known
        shape = (*x.shape[:-1], n)
        if not x.size or not n:
            return np.zeros(shape, np.float32 if x.dtype == np.complex64 else np.float64)
        sizes = shape[-self.rank :]
        if not self.adjoint:
            return np.fft.irfftn(x, sizes, axes=_last(self.rank))
        half = x * x.dtype.type(0.5)
        half[..., _ends(n)] = x[..., _ends(n)]
        return np.fft.irfftn(half, sizes, axes=_last(self.rank), norm="forward")

    @else_eval("NumPy's loops take no transforms of 0 numbers, and the run may find a size of 0")
    def lower(self, x: TensorSpec, *given: TensorSpec) -> forms.Form | None:
        found = forms.Transformed("irfft", self.rank, adjoint=self.adjoint)
        return None if run_time_symbols((*ranked(x.dims)[-self.rank :], self.size)) else found

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(Rfft(self.rank, not self.adjoint), g),)


def _last_size(x: TensorLike) -> Tensor:
    return getitem(sizes_of(x), -1)


def with_size(x: Any, axis: int, size: Size, argument: str = "fft_length") -> Any:
    """x truncated or zero-padded to a size along one of its last axes, counted from the end."""
    n = static_int(argument, size, argument)
    if isinstance(n, int) and n < 0:
        raise InvalidArgumentError(f"{argument}: a transform of {n} numbers; their number must be 0 or more.")
    have = None if x.dims is None else x.dims[axis]
    if isinstance(n, int) and isinstance(have, int):
        if have > n:
            x = getitem(x, (..., slice(0, n), *(slice(None),) * (-1 - axis)))
        if have >= n:
            return x
        return pad(x, [(0, 0)] * (len(x.dims) + axis) + [(0, n - have)] + [(0, 0)] * (-1 - axis))
    if x.dims is None:
        raise InvalidArgumentError(f"{argument}: the rank of the input must be known while tracing.")
    if n is None:
        words = f"{argument}: a transform of \x00 numbers; their number must be 0 or more."
        require(lift(size) >= 0, words, [lift(size)])
    x = getitem(x, (..., slice(0, size), *(slice(None),) * (-1 - axis)))
    missing = maximum(cast(size, "int32") - getitem(sizes_of(x), axis), 0)
    padded: Any = pad(x, [(0, 0)] * (len(x.dims) + axis) + [(0, missing)] + [(0, 0)] * (-1 - axis))
    if n is None:
        return padded
    return ensure_shape(padded, [*padded.dims[:axis], n, *padded.dims[axis:][1:]])


def _lengths(op: str, fft_length: object, rank: int) -> list[Any] | None:
    """The sizes `fft_length` of a transform."""
    if fft_length is None:
        return None
    known = static_array(fft_length)
    if known is not None:
        known = np.ravel(known)
        if known.dtype.kind not in "iu" or len(known) != rank:
            raise ArgumentTypeError(f"{op}: fft_length must be {rank} integers, got {fft_length!r}.")
        return [int(n) for n in known]
    vector = lift(fft_length)
    if vector.dims != (rank,):
        vector = reshape(vector, [rank])  # fails if there are more or fewer
    return [getitem(vector, k) for k in range(rank)]


def _count(op: str, fft_length: TensorLike, x: Tensor) -> int:
    """The number of sizes, one for each of the last axes. Raises: InvalidArgumentError: x does not have as many."""
    dims = lift(fft_length).dims
    if dims is None or len(dims) != 1 or not isinstance(dims[0], int) or dims[0] > len(ranked(x.dims)):
        raise InvalidArgumentError(
            f"{op}: fft_length has shape {format_dims(dims)} and the input {format_dims(x.dims)}; a vector is needed of one size "
            "for each of the last axes, or for each of `axes`."
        )
    return dims[0]


def _places(op: str, axes: Sequence[int], x: Tensor) -> list[int]:
    """Axes counted from 0. Raises: ArgumentTypeError: they are known only at run time."""
    values = static_here(axes)
    if values is None:
        raise ArgumentTypeError(f"{op}: axes must be known while tracing; give integers.")
    return [normalize_axis(op, k, x.ndim, "x", x.dims) for k in values.ravel()]


def _taken(x: TensorLike, dtype: DType) -> Tensor:
    """A tensor as it is; of lists, numbers and arrays those that no transform takes, in `dtype`, as TensorFlow reads them."""
    if stands_for_tensor(x):
        return lift(x)
    x = lift(x)
    is_taken = x.dtype.is_complex or (x.dtype.is_floating and not dtype.is_complex)
    return x if is_taken or x.dtype.is_bool else cast(x, dtype)


def _complex_transform(name: str, rank: int, inverse: bool) -> ComplexTransform:
    op = Fft(rank, inverse, inverse)

    def transform(input: TensorLike, name: str | None = None) -> Tensor:
        return bind(op, _taken(input, complex64))

    sign, factor = ("plus", ", divided by the number of elements") if inverse else ("minus", "")
    word = "inverse " if inverse else ""
    return named(
        transform,
        name,
        f"""The {word}discrete Fourier transform of complex numbers along {_axes_in_words(rank)}.

Args: input: complex64 or complex128 tensor [..., {_SIZES[rank]}]; lists and arrays of real numbers become complex64.
Returns: Tensor of the same shape and dtype: sums of x[j] exp({sign} 2 pi i j k / n) along each axis{factor}.
Raises: DTypeError (a TypeError): another dtype; InvalidArgumentError (a ValueError): a rank below {rank}.
""",
    )


_SIZES = {1: "n", 2: "m, n", 3: "l, m, n"}


def _axes_in_words(rank: int) -> str:
    return "the last axis" if rank == 1 else f"the last {rank} axes"


def _real_transform(name: str, rank: int) -> RealTransform:
    def transform(
        input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
    ) -> Tensor:
        return _rfft(_taken(input_tensor, float32), _lengths("rfft", fft_length, rank), rank)

    return named(
        transform,
        name,
        f"""The Fourier transform of real numbers along {_axes_in_words(rank)}, n // 2 + 1 numbers of n along the last one.

Args:
  input_tensor: float32 or float64 tensor [..., {_SIZES[rank]}].
  fft_length: The sizes to which the input is truncated or zero-padded, [{rank}] integers; its own by default.
Returns: Complex tensor of the same precision; the omitted numbers are conjugates of the returned ones.
Raises: DTypeError (a TypeError): another dtype; InvalidArgumentError (a ValueError): a rank below {rank}; ArgumentTypeError (a
  TypeError): `fft_length` has another form.
""",
    )


def _rfft(x: Tensor, lengths: list[int] | None, rank: int) -> Tensor:
    _require_axes("rfft", x, rank)
    for k, n in enumerate(lengths or ()):
        x = with_size(x, k - rank, n)
    return bind(Rfft(rank), x)


def _real_inverse(name: str, rank: int) -> RealTransform:
    def transform(
        input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
    ) -> Tensor:
        return _irfft(_taken(input_tensor, complex64), _lengths("irfft", fft_length, rank), rank)

    return named(
        transform,
        name,
        f"""Real numbers from half of their spectrum along {_axes_in_words(rank)}: the inverse of `rfft`.

Args:
  input_tensor: complex64 or complex128 tensor [..., {_SIZES[rank]}].
  fft_length: The size of the result along each axis, [{rank}] integers; by default 2 * (n - 1) along the last one.
Returns: Float tensor of the same precision.
Raises: DTypeError (a TypeError): another dtype; InvalidArgumentError (a ValueError): a rank below {rank}; ArgumentTypeError (a
  TypeError): `fft_length` has another form.
""",
    )


def _irfft(x: Tensor, lengths: list[int] | None, rank: int) -> Tensor:
    _require_axes("irfft", x, rank)
    if x.dims == ():
        raise OutOfRangeError("irfftnd: input_tensor has shape []; at least one axis is needed.")
    if not lengths:  # an empty list has no axis, which the op refuses
        # There are as many numbers of no frequency as of one, which are none.
        have: Any = None if x.dims is None else x.dims[-1]
        if have is None:
            have = maximum(_last_size(x), 1)
            x = with_size(x, -1, have) if x.dims is not None else x
        elif have == 0:
            x, have = with_size(x, -1, 1), 1
        last: Any = 2 * (have - 1)
    else:
        for k, n in enumerate(lengths[:-1]):
            x = with_size(x, k - rank, n)
        last = lengths[-1]
        x = with_size(x, -1, last // 2 + 1)
    size, given = requested_size("irfft", last, "fft_length")
    return bind(Irfft(rank, size), x, *given)


fft, fft2d, fft3d = (_complex_transform(f"fft{d}", k, False) for k, d in ((1, ""), (2, "2d"), (3, "3d")))
ifft, ifft2d, ifft3d = (_complex_transform(f"ifft{d}", k, True) for k, d in ((1, ""), (2, "2d"), (3, "3d")))
rfft, rfft2d, rfft3d = (_real_transform(f"rfft{d}", k) for k, d in ((1, ""), (2, "2d"), (3, "3d")))
irfft, irfft2d, irfft3d = (_real_inverse(f"irfft{d}", k) for k, d in ((1, ""), (2, "2d"), (3, "3d")))


def _along(
    op: str,
    x: Any,
    fft_length: Any,
    axes: Any,
    run: Callable[[Any, list[Any] | None, int], Any],
    norm: object,
) -> Tensor:
    """A transform along any axes, which are moved to the end and back."""
    if x.ndim is None:
        raise InvalidArgumentError(f"{op}: the rank of the input must be known while tracing.")
    if norm not in (None, "backward"):
        raise InvalidArgumentError(f'{op}: norm is {norm!r}; it must be None or "backward".')
    if axes is not None:
        axes = members(op, "axes", axes, "a list of integers or None is needed")
        count = len(axes)
    else:
        count = x.ndim if fft_length is None else _count(op, fft_length, x)
    places = [
        normalize_axis(op, k, x.ndim) for k in (range(x.ndim - count, x.ndim) if axes is None else axes)
    ]
    if len(set(places)) != len(places):
        raise InvalidArgumentError(f"{op}: axes {list(axes)} are not all different.")
    order = [*(k for k in range(x.ndim) if k not in places), *places]
    y = run(transpose(x, order), _lengths(op, fft_length, count), count)
    return transpose(y, [int(k) for k in np.argsort(order)])


@blaming
def fftnd(
    input_tensor: TensorLike,
    fft_length: TensorLike | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The Fourier transform of complex numbers along `axes`, all by default, truncated or zero-padded to `fft_length`.

    Args:
      input_tensor: Tensor [...] of a complex dtype.
      fft_length: The size along each axis to which the input is truncated or zero-padded.
      axes: The axes, all by default.
      norm: None or "backward", as in NumPy.
    Returns: Complex tensor of these sizes.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, or lengths do not fit the axes; DTypeError (a
      TypeError): another dtype.
    """
    return _along("fftnd", lift(input_tensor), fft_length, axes, _sized(False), norm)


@blaming
def ifftnd(
    input_tensor: TensorLike,
    fft_length: TensorLike | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `fftnd`.

    Args:
      input_tensor: Tensor [...] of a complex dtype.
      fft_length: The size along each axis to which the input is truncated or zero-padded.
      axes: The axes, all by default.
      norm: None or "backward", as in NumPy.
    Returns: Complex tensor of these sizes.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, or lengths do not fit the axes; DTypeError (a
      TypeError): another dtype.
    """
    return _along("ifftnd", lift(input_tensor), fft_length, axes, _sized(True), norm)


@blaming
def rfftnd(
    input_tensor: TensorLike,
    fft_length: TensorLike | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`rfft` along `axes`, which halves the last of them.

    Args:
      input_tensor: Tensor [...] of a float dtype.
      fft_length: The size along each axis to which the input is truncated or zero-padded.
      axes: The axes, all by default.
      norm: None or "backward", as in NumPy.
    Returns: Complex tensor of size n // 2 + 1 along the last of the axes.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, or lengths do not fit the axes; DTypeError (a
      TypeError): another dtype.
    """
    return _along("rfftnd", lift(input_tensor), fft_length, axes, _rfft, norm)


@blaming
def irfftnd(
    input_tensor: TensorLike,
    fft_length: TensorLike | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `rfftnd`.

    Args:
      input_tensor: Tensor [...] of a complex dtype.
      fft_length: The size of the result along each axis.
      axes: The axes, all by default.
      norm: None or "backward", as in NumPy.
    Returns: Float tensor of these sizes.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, or lengths do not fit the axes; DTypeError (a
      TypeError): another dtype.
    """
    return _along("irfftnd", lift(input_tensor), fft_length, axes, _irfft, norm)


def _sized(inverse: bool) -> Callable[[Any, list[Any] | None, int], Any]:
    def run(x: Tensor, lengths: list[Any] | None, rank: int) -> Tensor:
        for k, n in enumerate(lengths or ()):
            x = with_size(x, k - rank, n)
        return bind(Fft(rank, inverse, inverse), x)

    return run


def fftshift(x: TensorLike, axes: AxisLike = None, name: str | None = None) -> Tensor:
    """`x` with frequency 0 moved to the middle of `axes`, all by default.

    Args:
      x: Tensor of any shape and dtype.
      axes: The axis or axes.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, or there are no axes and the rank is not known
        while tracing.
    Example:
      >>> signal.fftshift([0, 1, -2, -1]).numpy()
      array([-2, -1,  0,  1], dtype=int32)
    """
    return _rolled("fftshift", x, axes, False)


def ifftshift(x: TensorLike, axes: AxisLike = None, name: str | None = None) -> Tensor:
    """The inverse of `fftshift`.

    Args:
      x: Tensor of any shape and dtype.
      axes: The axis or axes.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, or there are no axes and the rank is not known
        while tracing.
    Example:
      >>> signal.ifftshift([-2, -1, 0, 1]).numpy()
      array([ 0,  1, -2, -1], dtype=int32)
    """
    return _rolled("ifftshift", x, axes, True)


def _rolled(op: str, x: Any, axes: Any, back: bool) -> Tensor:
    x = lift(x)
    if x.ndim is None and axes is None:
        raise InvalidArgumentError(
            f"{op}: the rank of the input must be known while tracing, or the axes must be given."
        )
    places = list(range(x.ndim)) if axes is None else _places(op, axes, x)
    found = directly(np.fft.ifftshift if back else np.fft.fftshift, x, axes=places) if places else None
    if found is not None:
        return found
    shifts = []
    for k in places:
        n = x.dims[k] if x.dims is not None and isinstance(x.dims[k], int) else getitem(sizes_of(x), k)
        shifts.append(-(n // 2) if back else n // 2)
    return roll(x, shifts, places) if places else x + zeros_like(x)
