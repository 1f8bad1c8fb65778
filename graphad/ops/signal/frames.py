"""Frames of signals, their spectra, and signals reconstructed from frames."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dtypes import DType, as_dtype, float32, int32
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError, OutOfRangeError
from graphad.core.kinds import FLOATING, require_kind_of
from graphad.core.shapes import normalize_axis
from graphad.core.tensor import Tensor
from graphad.ops.array.gather import Gather
from graphad.ops.array.join import concat
from graphad.ops.array.padding import pad
from graphad.ops.array.reshape import reshape
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import shape
from graphad.ops.array.slice import getitem
from graphad.ops.array.support import static_array, static_int
from graphad.ops.array.transpose import reverse, swap_axes
from graphad.ops.math.arithmetic import divide_no_nan
from graphad.ops.math.cast import cast
from graphad.ops.math.reduce import reduce_sum
from graphad.ops.math.select import maximum
from graphad.ops.signal.cosines_and_sines import dct
from graphad.ops.signal.fourier import irfft, rfft, with_size
from graphad.ops.signal.windows import hann_window, vorbis_window

if TYPE_CHECKING:
    from graphad.core.annotations import Array

Window = Callable[..., Any]


def _positive(op: str, x: TensorLike, word: str) -> int:
    n = static_int(op, x, word)
    if n is None or n < 1:
        raise InvalidArgumentError(
            f"{op}: {word} is {x!r}; an int of at least 1, known while tracing, is needed."
        )
    return int(n)


@blaming
def frame(
    signal: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    pad_end: bool = False,
    pad_value: TensorLike = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """A signal cut into frames along an axis: [..., samples, ...] becomes [..., frames, frame_length, ...].

    Args:
      signal: Tensor [..., samples, ...], any dtype.
      frame_length: The number of samples in a frame.
      frame_step: The distance between the starts of two frames.
      pad_end: Whether incomplete frames at the end are padded with `pad_value`; by default they are dropped.
      pad_value: A scalar.
      axis: The axis.
    Returns: Tensor of the same dtype.
    Raises: InvalidArgumentError (a ValueError): a length or step is not positive or not known while tracing, or the axis is
      out of range.
    Example:
      >>> signal.frame([1, 2, 3, 4, 5], 3, 2).numpy()
      array([[1, 2, 3],
             [3, 4, 5]], dtype=int32)
    """
    x: Any = lift(signal)
    length, step = (
        _positive("frame", frame_length, "frame_length"),
        _positive("frame", frame_step, "frame_step"),
    )
    if x.ndim is None:
        raise InvalidArgumentError("frame: the rank of signal must be known while tracing.")
    place = normalize_axis("frame", axis, x.ndim, "signal", x.dims)
    have = x.dims[place] if isinstance(x.dims[place], int) else getitem(shape(x), place)
    if pad_end:
        count = -(-have // step)
        missing = (count - 1) * step + length - have
        missing = max(missing, 0) if isinstance(missing, int) else maximum(missing, 0)
        sides = [(0, missing if k == place else 0) for k in range(x.ndim)]
        x = pad(x, sides, constant_values=cast(lift(pad_value), x.dtype))
    else:
        count = 1 + (have - length) // step
        count = max(count, 0) if isinstance(count, int) else maximum(count, 0)
    unit = math.gcd(length, step)
    if isinstance(have, int) and isinstance(count, int) and count and length // unit <= _FEW_PARTS:
        return _frames(x, place, length // unit, step // unit, unit, count)
    starts = range_of(count) * step
    places = getitem(starts, (slice(None), None)) + np.arange(length, dtype=np.int32)
    return bind(Gather(place, 0, False), x, places)


_FEW_PARTS = 8


def _frames(x: Any, place: int, parts: int, steps: int, unit: int, count: int) -> Tensor:
    """Frames of `parts` units, `steps` units apart: part k of all frames is units k, k + steps, ..., so that whole units are
    moved."""
    before: tuple[Any, ...] = (slice(None),) * place
    units = (count - 1) * steps + parts
    x = getitem(x, (*before, slice(0, units * unit)))
    sizes = shape(x)
    around = [k if isinstance(k, int) else getitem(sizes, i) for i, k in enumerate(x.dims)]
    x = reshape(x, [*around[:place], units, unit, *around[place + 1 :]])
    moved = [getitem(x, (*before, slice(k, k + (count - 1) * steps + 1, steps))) for k in range(parts)]
    return moved[0] if parts == 1 else concat(moved, place + 1)


def overlap_and_add(signal: TensorLike, frame_step: TensorLike, name: str | None = None) -> Tensor:
    """Frames [..., frames, length] added up at offsets `frame_step` apart: [..., (frames - 1) * frame_step + length].

    Args:
      signal: Tensor [..., frames, length], a numeric dtype.
      frame_step: The distance between the starts of two frames.
    Returns: Tensor of the same dtype.
    Raises: InvalidArgumentError (a ValueError): a rank below 2, or a step that is not positive or not known while tracing.
    Example:
      >>> signal.overlap_and_add([[1, 1, 1], [1, 1, 1]], 2).numpy()
      array([1, 1, 2, 1, 1], dtype=int32)
    """
    x: Any = lift(signal)
    step = _positive("overlap_and_add", frame_step, "frame_step")
    if x.ndim is None or x.ndim < 2 or not isinstance(x.dims[-1], int):
        raise InvalidArgumentError(
            "overlap_and_add: signal must have rank 2 or more, and frames of a length known while tracing."
        )
    length = x.dims[-1]
    parts = max(-(-length // step), 1)
    sizes = shape(x)
    lead = [k if isinstance(k, int) else getitem(sizes, i) for i, k in enumerate(x.dims[:-2])]
    frames = x.dims[-2] if isinstance(x.dims[-2], int) else getitem(sizes, -2)
    none = [(0, 0)] * len(lead)
    # Each frame is cut into parts of one step; part k of all frames is a signal that begins k steps later. Rows of frames +
    # parts # elements that are reinterpreted as rows of one element less are such signals.
    x = pad(x, [*none, (0, 0), (0, parts * step - length)])
    x = swap_axes(reshape(x, [*lead, frames, parts, step]), -3, -2)
    x = reshape(pad(x, [*none, (0, 0), (0, parts), (0, 0)]), [*lead, parts * (frames + parts), step])
    x = getitem(x, (..., slice(0, parts * (frames + parts - 1)), slice(None)))
    x = reduce_sum(reshape(x, [*lead, parts, frames + parts - 1, step]), axis=-3)
    x = reshape(x, [*lead, (frames + parts - 1) * step])
    return getitem(x, (..., slice(0, (frames - 1) * step + length)))


def _smallest_power(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


@blaming
def stft(
    signals: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    fft_length: TensorLike | None = None,
    window_fn: Window | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """Spectra of windowed frames: [..., samples] becomes complex [..., frames, fft_length // 2 + 1].

    Args:
      signals: Float tensor [..., samples].
      frame_length: The number of samples in a frame.
      frame_step: The distance between the starts of two frames.
      fft_length: The size of the transforms; by default the smallest power of 2 that holds a frame.
      window_fn: A function of (length, dtype=...) that returns the window; None for no window.
      pad_end: Whether incomplete frames at the end are padded with zeros; by default they are dropped.
    Returns: Complex tensor of the same precision.
    Raises: InvalidArgumentError (a ValueError): a length or step is not positive or not known while tracing; DTypeError (a
      TypeError): another dtype.
    Source: Allen and Rabiner, A unified approach to short-time Fourier analysis and synthesis, 1977.
    Example:
      >>> signal.stft(ones([16]), frame_length=8, frame_step=4).shape
      TensorShape([3, 5])
    """
    x = lift(signals)
    length = _positive("stft", frame_length, "frame_length")
    size = _smallest_power(length) if fft_length is None else fft_length
    frames = frame(x, length, frame_step, pad_end=pad_end)
    if window_fn is not None:
        frames = frames * window_fn(length, dtype=frames.dtype)
    return rfft(frames, [size])


@blaming
def inverse_stft_window_fn(
    frame_step: TensorLike, forward_window_fn: Window = hann_window, name: str | None = None
) -> Callable[..., Tensor]:
    """The window with which `inverse_stft` inverts `stft` with the window `forward_window_fn`.

    It is that window divided by the sum of the squares of all windows that overlap at a sample, and 0 where they are all 0.

    Args:
      frame_step: The distance between the starts of two frames.
      forward_window_fn: The window of `stft`.
    Returns: A function of (length, dtype=...) that returns a float tensor [length].
    Raises: InvalidArgumentError (a ValueError): a step that is not positive or not known while tracing.
    Source: Griffin and Lim, Signal estimation from modified short-time Fourier transform, 1984.
    Example:
      >>> signal.inverse_stft_window_fn(4)(8, dtype='float32').shape
      TensorShape([8])
    """
    step = _positive("inverse_stft_window_fn", frame_step, "frame_step")

    def window(frame_length: int, dtype: DTypeLike | None = float32) -> Tensor:
        length = _positive("inverse_stft_window_fn", frame_length, "frame_length")
        forward = lift(forward_window_fn(length, dtype=dtype))
        count = -(-length // step)
        squares = pad(forward * forward, [(0, count * step - length)])
        total = reduce_sum(reshape(squares, [count, step]), axis=0, keepdims=True)
        total = reshape(concat([total] * count, axis=0), [count * step])
        return divide_no_nan(forward, getitem(total, slice(0, length)))

    return window


@blaming
def inverse_stft(
    stfts: TensorLike,
    frame_length: TensorLike,
    frame_step: TensorLike,
    fft_length: TensorLike | None = None,
    window_fn: Window | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Signals from the spectra of their frames: the inverse transforms are windowed and added up; see `inverse_stft_window_fn`.

    Args:
      stfts: Complex tensor [..., frames, fft_length // 2 + 1].
      frame_length: The number of samples in a frame.
      frame_step: The distance between the starts of two frames.
      fft_length: The size of the transforms; by default the smallest power of 2 that holds a frame.
      window_fn: A function of (length, dtype=...) that returns the window; None for no window.
    Returns: Float tensor [..., (frames - 1) * frame_step + frame_length] of the same precision.
    Raises: InvalidArgumentError (a ValueError): a length or step is not positive or not known while tracing; DTypeError (a
      TypeError): another dtype.
    Source: Griffin and Lim, Signal estimation from modified short-time Fourier transform, 1984.
    Example:
      >>> signal.inverse_stft(signal.stft(ones([16]), 8, 4), 8, 4).shape
      TensorShape([16])
    """
    length = _positive("inverse_stft", frame_length, "frame_length")
    size = _smallest_power(length) if fft_length is None else fft_length
    frames = with_size(irfft(stfts, [size]), -1, length)
    if window_fn is not None:
        frames = frames * window_fn(length, dtype=frames.dtype)
    return overlap_and_add(frames, frame_step)


@blaming
def mdct(
    signals: TensorLike,
    frame_length: TensorLike,
    window_fn: Window | None = vorbis_window,
    pad_end: bool = False,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The modified cosine transform: [..., samples] becomes [..., frames, frame_length // 2], frames being half a frame apart.

    Args:
      signals: Float tensor [..., samples].
      frame_length: A multiple of 4.
      window_fn: A function of (length, dtype=...) that returns the window; None for no window.
      pad_end: Whether incomplete frames at the end are padded with zeros; by default they are dropped.
      norm: "ortho" for a transform that, with a window that satisfies the Princen-Bradley condition, preserves the energy.
    Returns: Tensor of the same dtype.
    Raises: InvalidArgumentError (a ValueError): `frame_length` is not a multiple of 4, or another norm; DTypeError (a
      TypeError): another dtype.
    Source: Princen, Johnson and Bradley, Subband/transform coding using filter bank designs based on time domain aliasing
      cancellation, 1987.
    Example:
      >>> signal.mdct(ones([16]), 8).shape
      TensorShape([3, 4])
    """
    length = _positive("mdct", frame_length, "frame_length")
    if length % 4:
        raise InvalidArgumentError(f"mdct: frame_length is {length}; a multiple of 4 is needed.")
    half = length // 2
    x = frame(signals, length, half, pad_end=pad_end)
    x = x * (window_fn(length, dtype=x.dtype) if window_fn is not None else _flat(x.dtype))
    quarter = length // 4
    a, b, c, d = (getitem(x, (..., slice(k * quarter, (k + 1) * quarter))) for k in range(4))
    first = -reverse(c, [-1]) - d
    second = a - reverse(b, [-1])
    return dct(concat([first, second], axis=-1), type=4, norm=norm)


def _flat(dtype: DType) -> Tensor:
    """The constant window for which overlapping squares add up to 1."""
    return lift(math.sqrt(0.5), dtype)


@blaming
def inverse_mdct(
    mdcts: TensorLike,
    window_fn: Window | None = vorbis_window,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `mdct`, where frames overlap: [..., frames, half] becomes [..., (frames + 1) * half].

    Args:
      mdcts: Float tensor [..., frames, half].
      window_fn: A function of (length, dtype=...) that returns the window; None for no window.
      norm: As for `mdct`.
    Returns: Tensor of the same dtype.
    Raises: InvalidArgumentError (a ValueError): `half` is not known while tracing, or another norm; DTypeError (a
      TypeError): another dtype.
    Source: Princen, Johnson and Bradley, Subband/transform coding using filter bank designs based on time domain aliasing
      cancellation, 1987.
    Example:
      >>> signal.inverse_mdct(signal.mdct(ones([16]), 8)).shape
      TensorShape([16])
    """
    y: Any = lift(mdcts)
    if y.ndim is None or y.ndim < 2 or not isinstance(y.dims[-1], int):
        raise InvalidArgumentError(
            "inverse_mdct: mdcts must have rank 2 or more and a last size known while tracing."
        )
    half = y.dims[-1]
    z = dct(y, type=4, norm=norm)
    if norm is None:
        z = z * lift(0.5 / half, z.dtype)
    first, second = getitem(z, (..., slice(0, half // 2))), getitem(z, (..., slice(half // 2, None)))
    x = concat([second, -reverse(second, [-1]), -reverse(first, [-1]), -first], axis=-1)
    x = x * (window_fn(2 * half, dtype=x.dtype) if window_fn is not None else _flat(x.dtype))
    return overlap_and_add(x, half)


def _known_number(x: Any, word: str) -> float:
    known = static_array(x)
    if known is None or known.ndim or known.dtype.kind not in "iuf":
        raise ArgumentTypeError(
            f"linear_to_mel_weight_matrix: {word} is {x!r}; a number that is known while tracing is needed."
        )
    return float(known)


@blaming
def linear_to_mel_weight_matrix(
    num_mel_bins: TensorLike = 20,
    num_spectrogram_bins: TensorLike = 129,
    sample_rate: float = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Weights [num_spectrogram_bins, num_mel_bins] of triangles evenly spaced on the mel scale, 1127 log(1 + f / 700).

    Args:
      num_mel_bins: The number of triangles.
      num_spectrogram_bins: The number of frequencies of the spectra, from 0 to half of `sample_rate`.
      sample_rate: Samples per second.
      lower_edge_hertz, upper_edge_hertz: The lower edge of the first triangle and the upper edge of the last one.
      dtype: A float dtype.
    Returns: Tensor of that dtype.
    Raises: InvalidArgumentError (a ValueError): a number is not positive, or the edges are not in order below half of
      `sample_rate`.
    Source: O'Shaughnessy, Speech communication: human and machine, 1987.
    Example:
      >>> signal.linear_to_mel_weight_matrix(20, 129).shape
      TensorShape([129, 20])
    """
    bins, mels = (_positive("linear_to_mel_weight_matrix", n, word) for n, word in (
        (num_spectrogram_bins, "num_spectrogram_bins"), (num_mel_bins, "num_mel_bins"),
    ))  # fmt: skip
    rate, low, high = [
        _known_number(x, word)
        for x, word in (
            (sample_rate, "sample_rate"),
            (lower_edge_hertz, "lower_edge_hertz"),
            (upper_edge_hertz, "upper_edge_hertz"),
        )
    ]
    if not 0.0 <= low < high <= rate / 2:
        raise InvalidArgumentError(
            f"linear_to_mel_weight_matrix: edges are {low} and {high} hertz; 0 <= lower < upper <= sample_rate / 2 = {rate / 2} "
            "is needed."
        )
    wanted = require_kind_of("linear_to_mel_weight_matrix", as_dtype(dtype), FLOATING)

    def mel(f: Array | float) -> Any:
        return 1127.0 * np.log1p(f / 700.0)

    places = mel(np.linspace(0.0, rate / 2, bins)[1:])[:, None]
    edges = np.linspace(mel(low), mel(high), mels + 2)
    lower, centre, upper = edges[:-2], edges[1:-1], edges[2:]
    weights = np.maximum(
        0.0, np.minimum((places - lower) / (centre - lower), (upper - places) / (upper - centre))
    )
    return lift(np.concatenate([np.zeros((1, mels)), weights]).astype(wanted.numpy))


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: TensorLike, name: str | None = None) -> Tensor:
    """Mel-frequency cepstral coefficients: the cosine transform of type 2 along the last axis of n numbers, divided by sqrt(2
    n).

    Args: log_mel_spectrograms: Float tensor [..., n].
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): n is 0, or there is no axis; DTypeError (a TypeError): another dtype.
    Source: Davis and Mermelstein, Comparison of parametric representations for monosyllabic word recognition, 1980.
    Example:
      >>> signal.mfccs_from_log_mel_spectrograms([[1.0, 1.0]]).numpy()
      array([[2., 0.]], dtype=float32)
    """
    x = lift(log_mel_spectrograms)
    if x.dims == ():
        raise OutOfRangeError(
            "mfccs_from_log_mel_spectrograms: log_mel_spectrograms has shape []; an axis of mel bins is needed."
        )
    n = x.dims[-1] if x.dims is not None and isinstance(x.dims[-1], int) else getitem(shape(x), -1)
    if isinstance(n, int):
        if not n:
            raise InvalidArgumentError(
                "mfccs_from_log_mel_spectrograms: there must be at least one mel bin, got 0."
            )
        return dct(x) * lift(1.0 / math.sqrt(2.0 * n), x.dtype)
    return dct(x) / cast(cast(n, int32) * 2, x.dtype) ** 0.5
