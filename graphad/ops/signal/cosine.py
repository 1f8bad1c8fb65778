"""Discrete cosine transforms along the last axis, by SciPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

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
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, Op, define
from graphad.core.refusal import require_one_of
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.rules import FLOATING, require_kind, require_rank
from graphad.ops.signal.fourier import with_size


@define
class Dct(Op):
    """The cosine transform of one of four kinds of x [..., n] along the last axis, without a factor:
    1: y[k] = x[0] + (-1)^k x[n-1] + 2 sum of x[j] cos(pi j k / (n - 1)) for j from 1 to n - 2;
    2: y[k] = 2 sum of x[j] cos(pi (2 j + 1) k / (2 n));
    3: y[k] = x[0] + 2 sum of x[j] cos(pi j (2 k + 1) / (2 n)) for j from 1;
    4: y[k] = 2 sum of x[j] cos(pi (2 j + 1) (2 k + 1) / (4 n)).
    With `orthonormal` scaled to orthonormal matrices (not for kind 1). `transposed`: by the transposed matrix.
    """

    name = "dct"
    keeps = (False, False)
    kind: Literal[1, 2, 3, 4]
    orthonormal: bool
    transposed: bool = False

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_kind("dct", x, FLOATING, "input")
        require_rank("dct", x, 1, "input")
        if self.kind == 1 and x.dims is not None and isinstance(x.dims[-1], int) and x.dims[-1] < 2:
            raise InvalidArgumentError(
                f"dct: type 1 needs 2 numbers along the last axis; it has {x.dims[-1]}."
            )
        return x

    def eval(self, x: Array) -> Any:
        if not x.size:
            return np.array(x)
        fft, kind = library.fft(), self.kind
        wide = x.astype(np.float32) if x.dtype.itemsize < 4 else x
        if self.orthonormal:
            # The transpose of an orthonormal matrix is its inverse.
            y = fft.dct(wide, {2: 3, 3: 2}.get(kind, kind) if self.transposed else kind, norm="ortho")
        elif not self.transposed or kind == 4:
            y = fft.dct(wide, kind)
        elif kind == 1:
            # The matrix is symmetric but for columns 0 and n - 1, which count half.
            wide = np.array(wide)
            wide[..., [0, -1]] *= 2
            y = fft.dct(wide, 1)
            y[..., [0, -1]] /= 2
        elif kind == 2:
            wide = np.array(wide)
            wide[..., 0] *= 2
            y = fft.dct(wide, 3)
        else:
            y = fft.dct(wide, 2)
            y[..., 0] /= 2
        return y.astype(x.dtype, copy=False)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(Dct(self.kind, self.orthonormal, not self.transposed), g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(self, x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        row = axes[0]
        return row if row is None or row < len(specs[0].dims or ()) - 1 else MIXED


def _kind(op: str, type: int, axis: AxisLike, norm: str | None) -> tuple[Any, bool]:
    if type not in (1, 2, 3, 4):
        raise InvalidArgumentError(f"{op}: type is {type!r}; 1, 2, 3 or 4 is taken.")
    require_one_of(op, "axis", axis, (-1,), "the last axis, -1, is taken")
    if norm not in (None, "ortho"):
        raise InvalidArgumentError(f'{op}: norm is {norm!r}; None or "ortho" is taken.')
    if type == 1 and norm == "ortho":
        raise InvalidArgumentError(f"{op}: type 1 has no orthonormal form; use norm=None.")
    return int(type), norm == "ortho"


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
      n: To how many samples the input is cut or continued by zeros.
      axis: -1: the last axis.
      norm: "ortho" for an orthonormal matrix, which type 1 does not have; None for none.
    Returns: Tensor [..., n] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): another type, axis or norm; DTypeError (a TypeError): another dtype.
    Source: Ahmed, Natarajan and Rao, Discrete cosine transform, 1974; the types as of Wang and Hunt, 1985.
    Example:
      >>> signal.dct([1.0, 1.0], norm="ortho").numpy()
      array([1.4142135, 0.       ], dtype=float32)
    """
    kind, orthonormal = _kind("dct", type, axis, norm)
    x = lift(input)
    if n is not None:
        x = with_size(x, -1, n)
    return bind(Dct(kind, orthonormal), x)


def idct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """The cosine transform that undoes `dct` of this type, but for a factor where `norm` is None: it is `dct` of type 3 for 2,
    and 2 for 3.

    Args:
      input: Float tensor [..., samples].
      type: 1, 2, 3 or 4.
      n: None: cut the input, or continue it by zeros.
      axis: -1: the last axis.
      norm: "ortho" for an orthonormal matrix, which type 1 does not have; None for none.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): another type, axis or norm, or an `n`; DTypeError (a TypeError): another
      dtype.
    Source: Ahmed, Natarajan and Rao, Discrete cosine transform, 1974; the types as of Wang and Hunt, 1985.
    Example:
      >>> signal.idct(signal.dct([1.0, 2.0], norm="ortho"), norm="ortho").numpy()
      array([0.9999999, 1.9999999], dtype=float32)
    """
    if n is not None:
        raise InvalidArgumentError("idct: n must be None; cut the input, or continue it by zeros.")
    return dct(input, {2: 3, 3: 2}.get(type, type), None, axis, norm)


__all__ = ["dct", "idct"]
