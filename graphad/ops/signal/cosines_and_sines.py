"""Discrete cosine and sine transforms along the last axis, through SciPy; on a device through its Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from graphad.core import arrays
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
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, Op, define, no_form
from graphad.core.refusal import require_one_of
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.rules import FLOATING, require_kind, require_rank
from graphad.ops.signal.fourier import with_size

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}  # up to a factor


class Transform(Op):
    """A real linear transform of x [..., n] along the last axis, of one of four types; its matrix, or the transposed one.
    Subclasses are made with `@define`, which adds the attributes.
    """

    keeps = (False, False)
    kind: Literal[1, 2, 3, 4]
    orthonormal: bool
    transposed: bool
    # By type, the elements with half the weight: of operand and result for type 1, of the operand for type 3, and of the
    # operand of type 3 as the transposed matrix of type 2.
    halves: ClassVar[Mapping[int, list[int]]]
    lower = no_form("each element of a transform depends on all, and a library computes them together")

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_kind(self.name, x, FLOATING, "input")
        require_rank(self.name, x, 1, "input")
        return x

    def eval(self, x: Array) -> Array:
        if not x.size:
            return arrays.copy(x)
        transform = getattr(library.fft(), self.name) if arrays.is_here(x) else self.by_fourier
        wide: Any = x.astype(np.float32) if x.dtype.itemsize < 4 else x
        kind = _INVERSE[self.kind] if self.transposed else self.kind
        if self.orthonormal:  # The transpose of an orthonormal matrix is its inverse.
            y = transform(wide, kind, norm="ortho")
        elif self.transposed and (halved := self.halves.get(self.kind)):
            if self.kind != 3:
                wide = arrays.copy(wide)
                wide[..., halved] *= 2
            y = transform(wide, kind)
            if self.kind != 2:
                y[..., halved] /= 2
        else:
            y = transform(wide, kind)
        return y.astype(x.dtype, copy=False)  # type: ignore[no-any-return]

    def by_fourier(self, x: Any, kind: int, norm: str | None = None) -> Any:
        """SciPy's function of this name by complex transforms, for arrays on a device."""
        raise NotImplementedError

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(type(self)(self.kind, self.orthonormal, not self.transposed), g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(self, x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        row = axes[0]
        return row if row is None or row < len(specs[0].dims or ()) - 1 else MIXED


@define
class Dct(Transform):
    """The cosine transform of x [..., n] along the last axis, of one of four types and without a factor:
    1: y[k] = x[0] + (-1)^k x[n-1] + 2 sum of x[j] cos(pi j k / (n - 1)) for j from 1 to n - 2;
    2: y[k] = 2 sum of x[j] cos(pi (2 j + 1) k / (2 n));
    3: y[k] = x[0] + 2 sum of x[j] cos(pi j (2 k + 1) / (2 n)) for j from 1;
    4: y[k] = 2 sum of x[j] cos(pi (2 j + 1) (2 k + 1) / (4 n)).
    `orthonormal` scales it to an orthonormal matrix (not for type 1). `transposed` multiplies by the transposed matrix.
    """

    name = "dct"
    halves = {1: [0, -1], 2: [0], 3: [0]}
    kind: Literal[1, 2, 3, 4]
    orthonormal: bool
    transposed: bool = False

    def infer(self, x: TensorSpec) -> TensorSpec:
        y = super().infer(x)
        if self.kind == 1 and x.dims is not None and isinstance(x.dims[-1], int) and x.dims[-1] < 2:
            raise InvalidArgumentError(
                f"dct: type 1 needs 2 numbers along the last axis; it has {x.dims[-1]}."
            )
        return y

    def by_fourier(self, x: Any, kind: int, norm: str | None = None) -> Any:
        return _cosines(x, kind, norm)


@define
class Dst(Transform):
    """The sine transform of x [..., n] along the last axis, of one of four types and without a factor:
    1: y[k] = 2 sum of x[j] sin(pi (j + 1) (k + 1) / (n + 1));
    2: y[k] = 2 sum of x[j] sin(pi (2 j + 1) (k + 1) / (2 n));
    3: y[k] = (-1)^k x[n-1] + 2 sum of x[j] sin(pi (j + 1) (2 k + 1) / (2 n)) for j up to n - 2;
    4: y[k] = 2 sum of x[j] sin(pi (2 j + 1) (2 k + 1) / (4 n)).
    `orthonormal` scales it to an orthonormal matrix. `transposed` multiplies by the transposed matrix.
    """

    name = "dst"
    halves = {2: [-1], 3: [-1]}
    kind: Literal[1, 2, 3, 4]
    orthonormal: bool
    transposed: bool = False

    def by_fourier(self, x: Any, kind: int, norm: str | None = None) -> Any:
        n = x.shape[-1]
        if kind == 1:
            zero = np.zeros_like(x[..., :1])
            y = -np.fft.rfft(np.concatenate([zero, x, zero, -x[..., ::-1]], -1)).imag[..., 1 : n + 1]
            return y if norm is None else y * x.dtype.type(math.sqrt(0.5 / (n + 1)))
        signs = np.where(np.arange(n) % 2, -1, 1).astype(x.dtype)
        if kind == 2:
            return _cosines(x * signs, kind, norm)[..., ::-1]
        return _cosines(x[..., ::-1], kind, norm) * signs


def _cosines(x: Any, kind: int, norm: str | None) -> Any:
    """SciPy's `dct` by complex transforms.

    The cosine of type 2, 3 or 4 is the real part of exp(-pi i j k / n) times factors of j and k alone, and the first part of a
    transform of 2 n numbers; type 1 is that of the numbers mirrored.
    """
    n = x.shape[-1]
    if kind == 1:
        return np.fft.rfft(np.concatenate([x, x[..., n - 2 : 0 : -1]], -1)).real
    k = np.arange(n)
    turned = np.exp(-0.5j * np.pi * k / n).astype(np.result_type(x.dtype, np.complex64))
    scale = np.full(n, 2.0)
    scale[:1] = 1.0 if kind == 3 else 2.0
    if norm == "ortho":
        scale *= np.sqrt(0.5 / n)
        scale[:1] *= {2: np.sqrt(0.5), 3: np.sqrt(2.0)}.get(kind, 1.0)
    scale = scale.astype(x.dtype)
    if kind == 3:
        return np.fft.fft(x * scale * turned, 2 * n)[..., :n].real
    if kind == 2:
        return (np.fft.fft(x, 2 * n)[..., :n] * turned).real * scale
    half = np.exp(-0.25j * np.pi * (2 * k + 1) / n).astype(turned.dtype)
    return (np.fft.fft(x * turned, 2 * n)[..., :n] * half).real * scale


def _kind(op: str, type: int, axis: AxisLike, norm: str | None) -> tuple[Any, bool]:
    if type not in (1, 2, 3, 4):
        raise InvalidArgumentError(f"{op}: type is {type!r}; it must be 1, 2, 3 or 4.")
    require_one_of(op, "axis", axis, (-1,), "only the last axis, -1, is supported")
    if norm not in (None, "ortho"):
        raise InvalidArgumentError(f'{op}: norm is {norm!r}; it must be None or "ortho".')
    return int(type), norm == "ortho"


def _given(op: str, input: TensorLike, n: int | None) -> Tensor:
    x = lift(input)
    if n is None:
        return x
    require_rank(op, x.spec, 1, "input")
    return with_size(x, -1, n, "n")  # type: ignore[no-any-return]


@blaming
def dct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete cosine transform of one of four types along the last axis.

    Args:
      input: Float tensor [..., samples].
      type: 1, 2, 3 or 4.
      n: The number of samples to which the input is truncated or zero-padded.
      axis: -1, the last axis.
      norm: "ortho" for an orthonormal transform, which type 1 does not have; None for the unscaled one.
    Returns: Tensor [..., n] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): another type, axis or norm; DTypeError (a TypeError): another dtype.
    Source: Ahmed, Natarajan and Rao, Discrete cosine transform, 1974; the types as of Wang and Hunt, 1985.
    Example:
      >>> signal.dct([1.0, 1.0], norm="ortho").numpy()
      array([1.4142135, 0.       ], dtype=float32)
    """
    kind, orthonormal = _kind("dct", type, axis, norm)
    if kind == 1 and orthonormal:
        raise InvalidArgumentError("dct: type 1 has no orthonormal form; use norm=None.")
    return bind(Dct(kind, orthonormal), _given("dct", input, n))


@blaming
def idct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `dct` of this type, up to a factor if `norm` is None: `dct` of type 3 for type 2, and of type 2 for type
    3.

    Args:
      input: Float tensor [..., samples].
      type: 1, 2, 3 or 4.
      n: Must be None; truncate or zero-pad the input instead.
      axis: -1, the last axis.
      norm: "ortho" for an orthonormal transform, which type 1 does not have; None for the unscaled one.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): another type, axis or norm, or an `n`; DTypeError (a TypeError): another
      dtype.
    Source: Ahmed, Natarajan and Rao, Discrete cosine transform, 1974; the types as of Wang and Hunt, 1985.
    Example:
      >>> signal.idct(signal.dct([1.0, 2.0], norm="ortho"), norm="ortho").numpy()
      array([0.9999999, 1.9999999], dtype=float32)
    """
    if n is not None:
        raise InvalidArgumentError("idct: n must be None; truncate or zero-pad the input instead.")
    return dct(input, _INVERSE.get(type, type), None, axis, norm)


@blaming
def dst(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The discrete sine transform of one of four types along the last axis. TensorFlow has none; types, factors and norms are
    those of `scipy.fft.dst`.

    Args:
      input: Float tensor [..., samples].
      type: 1, 2, 3 or 4.
      n: The number of samples to which the input is truncated or zero-padded.
      axis: -1, the last axis.
      norm: "ortho" for an orthonormal transform; None for the unscaled one.
    Returns: Tensor [..., n] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): another type, axis or norm; DTypeError (a TypeError): another dtype.
    Source: Jain, A fast Karhunen-Loeve transform for a class of random processes, 1976; the types as of Wang and Hunt, 1985.
    Example:
      >>> signal.dst([1.0, 1.0], type=1, norm="ortho").numpy()
      array([1.4142135, 0.       ], dtype=float32)
    """
    kind, orthonormal = _kind("dst", type, axis, norm)
    return bind(Dst(kind, orthonormal), _given("dst", input, n))


@blaming
def idst(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The inverse of `dst` of this type, up to a factor if `norm` is None, as `idct` is that of `dct`: `dst` of type 3 for type
    2, and of type 2 for type 3.

    Args:
      input: Float tensor [..., samples].
      type: 1, 2, 3 or 4.
      n: Must be None; truncate or zero-pad the input instead.
      axis: -1, the last axis.
      norm: "ortho" for an orthonormal transform; None for the unscaled one.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): another type, axis or norm, or an `n`; DTypeError (a TypeError): another
      dtype.
    Source: as of `dst`.
    Example:
      >>> signal.idst(signal.dst([1.0, 2.0], norm="ortho"), norm="ortho").numpy().round(5)
      array([1., 2.], dtype=float32)
    """
    if n is not None:
        raise InvalidArgumentError("idst: n must be None; truncate or zero-pad the input instead.")
    return dst(input, _INVERSE.get(type, type), None, axis, norm)
