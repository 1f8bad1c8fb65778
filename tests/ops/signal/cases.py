"""One row for every op of graphad.ops.signal, and more where lengths, axes or kinds differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from graphad.ops import signal as s
from tests.support.op_case import OpCase, complex_, real

SIZES = ("sizes",)


def _frames(x: Any, length: int, step: int) -> Any:
    return np.stack([x[..., k : k + length] for k in range(0, x.shape[-1] - length + 1, step)], axis=-2)


def _added(x: Any, step: int) -> Any:
    y = np.zeros((*x.shape[:-2], (x.shape[-2] - 1) * step + x.shape[-1]))
    for k in range(x.shape[-2]):
        y[..., k * step : k * step + x.shape[-1]] += x[..., k, :]
    return y


def _transform(name: str, kind: int, n: int, shape: tuple[int, ...], norm: str | None) -> OpCase:
    scipys = getattr(scipy.fft, name)
    return OpCase(
        getattr(s, name),
        real(*shape, n),
        type=kind,
        norm=norm,
        expected=lambda x: scipys(x, kind, norm=norm),
    )


FOURIER = [
    OpCase(s.fft, complex_(2, 5), expected=np.fft.fft),
    OpCase(s.ifft, complex_(6), expected=np.fft.ifft),
    OpCase(s.fft2d, complex_(2, 3, 4), expected=np.fft.fft2),
    OpCase(s.ifft3d, complex_(2, 3, 2), expected=np.fft.ifftn),
    OpCase(s.rfft, real(2, 6), expected=np.fft.rfft),
    OpCase(s.rfft, real(5), expected=np.fft.rfft),
    OpCase(s.rfft2d, real(2, 3, 4), expected=np.fft.rfft2),
    OpCase(s.rfft3d, real(2, 3, 3), expected=np.fft.rfftn),
    OpCase(s.rfft, real(2, 6), fft_length=[4], unknown=SIZES, expected=lambda x: np.fft.rfft(x, 4)),
    OpCase(s.rfft, real(2, 6), fft_length=[9], unknown=SIZES, expected=lambda x: np.fft.rfft(x, 9)),
    OpCase(s.irfft, complex_(2, 4), expected=np.fft.irfft),
    OpCase(s.irfft, complex_(2, 4), fft_length=[7], unknown=SIZES, expected=lambda x: np.fft.irfft(x, 7)),
    OpCase(s.irfft2d, complex_(2, 3, 3), expected=np.fft.irfft2),
    OpCase(s.irfft3d, complex_(3, 2, 3), expected=np.fft.irfftn),
    OpCase(
        s.fftnd, complex_(3, 2, 4), axes=[0, 2], unknown=SIZES, expected=lambda x: np.fft.fftn(x, axes=(0, 2))
    ),
    OpCase(s.ifftnd, complex_(3, 2, 4), axes=[1], unknown=SIZES, expected=lambda x: np.fft.ifft(x, axis=1)),
    OpCase(s.rfftnd, real(3, 4), axes=[1, 0], unknown=SIZES, expected=lambda x: np.fft.rfftn(x, axes=(1, 0))),
    OpCase(s.irfftnd, complex_(3, 4), axes=[0], unknown=SIZES, expected=lambda x: np.fft.irfft(x, axis=0)),
    OpCase(s.fftshift, real(3, 4), unknown=SIZES, expected=np.fft.fftshift),
    OpCase(s.ifftshift, real(3, 5), axes=[1], unknown=SIZES, expected=lambda x: np.fft.ifftshift(x, 1)),
]

COSINE = [
    _transform("dct", 1, 5, (2,), None),
    _transform("dct", 2, 5, (2,), None),
    _transform("dct", 3, 4, (), None),
    _transform("dct", 4, 5, (2,), None),
    _transform("dct", 2, 4, (2,), "ortho"),
    _transform("dct", 3, 5, (2,), "ortho"),
    _transform("dct", 4, 4, (), "ortho"),
    OpCase(s.idct, real(2, 5), norm="ortho", expected=lambda x: scipy.fft.idct(x, norm="ortho")),
]

SINE = [
    _transform("dst", 1, 5, (2,), None),
    _transform("dst", 2, 5, (2,), None),
    _transform("dst", 3, 4, (), None),
    _transform("dst", 4, 5, (2,), None),
    _transform("dst", 1, 4, (), "ortho"),
    _transform("dst", 2, 4, (2,), "ortho"),
    _transform("dst", 3, 5, (2,), "ortho"),
    _transform("dst", 4, 1, (), "ortho"),
    OpCase(s.dst, real(2, 5), type=1, n=7, unknown=(), expected=lambda x: scipy.fft.dst(x, 1, 7)),
    OpCase(s.idst, real(2, 5), norm="ortho", expected=lambda x: scipy.fft.idst(x, norm="ortho")),
]

FRAMES = [
    OpCase(
        s.frame, real(2, 9), frame_length=4, frame_step=3, unknown=SIZES, expected=lambda x: _frames(x, 4, 3)
    ),
    OpCase(
        s.frame, real(3), frame_length=4, frame_step=1, unknown=SIZES, expected=lambda x: np.zeros((0, 4))
    ),
    OpCase(s.overlap_and_add, real(2, 3, 5), frame_step=2, unknown=(), expected=lambda x: _added(x, 2)),
    OpCase(s.overlap_and_add, real(4, 2), frame_step=3, unknown=(), expected=lambda x: _added(x, 3)),
]

CASES = [*FOURIER, *COSINE, *SINE, *FRAMES]
