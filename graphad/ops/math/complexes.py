"""Complex numbers: parts, conjugates, and complex numbers from parts.

Cotangents are conjugated: for a holomorphic f the rule multiplies by conj(f'(x)), so that minus the gradient is a descent
direction of a real loss. `conjugate` returns a real tensor itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Cotangents, TensorLike, VjpContext
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_own, lift_pair
from graphad.core.dtypes import DType, as_dtype, complex64, complex128, float32, float64
from graphad.core.kinds import require_one_of
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.array.create import zeros_of
from graphad.ops.elementwise import elementwise
from graphad.ops.rules import FLOATING, NUMERIC, scalar_like, unbroadcast

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.devices.array import DeviceArray


def part_dtype(dtype: DType) -> DType:
    """The dtype of the real and imaginary part."""
    return float32 if dtype is complex64 else float64 if dtype is complex128 else dtype


def complex_dtype(dtype: DType) -> DType:
    """The complex dtype whose parts have `dtype`."""
    return complex64 if dtype is float32 else complex128


def _joined_dtype(dtype: DType) -> DType:
    return complex_dtype(require_one_of("complex", dtype, (float32, float64), "the dtype of the parts"))


def join_parts(x: Any, y: Any) -> Array:
    """x + i y of arrays."""
    dtype = np.complex64 if x.dtype == np.float32 else _joined_dtype(as_dtype(x.dtype)).numpy
    out = arrays.empty(np.broadcast_shapes(x.shape, y.shape), dtype, y if isinstance(x, np.generic) else x)
    out.real, out.imag = x, y
    return out if out.ndim else out[()]


def _join_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (
        unbroadcast(ctx, 0, bind(REAL_PART, g)) if ctx.needs(0) else None,
        unbroadcast(ctx, 1, bind(IMAG_PART, g)) if ctx.needs(1) else None,
    )


def _real_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (bind(COMPLEX, g, scalar_like(0.0, g)) if ctx.inputs[0].dtype.is_complex else g,)


def _imag_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (bind(COMPLEX, scalar_like(0.0, g), g),)


def _conj_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (bind(CONJ, g),)


def _part(x: Array) -> Array:
    return x.real.copy() if type(x) is np.ndarray else x.real


def _imaginary(x: DeviceArray | Array) -> Array | DeviceArray:
    return x.imag.copy() if type(x) is np.ndarray else x.imag


COMPLEX_KIND = frozenset({"complex"})
Complex = elementwise(
    "complex",
    join_parts,
    vjp=_join_vjp,
    kinds=FLOATING,
    result=_joined_dtype,
    applied="complex",
    keeps=(False, False),
    doc="x + iy; the result is the complex dtype with parts of the operands' dtype.",
)
RealPart = elementwise(
    "real",
    _part,
    vjp=_real_vjp,
    kinds=COMPLEX_KIND,
    result=part_dtype,
    applied="real",
    keeps=(False, False),
    doc="The real part; the result has the dtype of the parts.",
)
ImagPart = elementwise(
    "imag",
    _imaginary,
    vjp=_imag_vjp,
    kinds=COMPLEX_KIND,
    result=part_dtype,
    applied="imag",
    keeps=(False, False),
    doc="The imaginary part; the result has the dtype of the parts.",
)
Conj = elementwise(
    "conj",
    np.conj,
    vjp=_conj_vjp,
    takes_symbols=False,
    kinds=NUMERIC,
    keeps=(False, False),
    doc="Real part minus i times imaginary part.",
)
COMPLEX, REAL_PART, IMAG_PART, CONJ = Complex(), RealPart(), ImagPart(), Conj()


def conjugate(x: Tensor) -> Tensor:
    """The conjugate, for use in rules: `x` itself unless its dtype is complex."""
    is_complex = x.data.dtype.kind == "c" if type(x) is EagerTensor else x.dtype.is_complex
    return bind(CONJ, x) if is_complex else x


def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """real + i * imag.

    Args:
      real: Tensor of dtype float32 or float64.
      imag: Tensor of the same dtype that broadcasts with `real`.
    Returns: Tensor of dtype complex64 or complex128.
    Raises: DTypeError (a TypeError): another dtype, or two; InvalidArgumentError (a ValueError): shapes that do not broadcast.
    Example:
      >>> complex([1.0, 2.0], [0.0, 1.0]).numpy()
      array([1.+0.j, 2.+1.j], dtype=complex64)
    """
    real, imag = lift_pair("complex", real, imag)
    return bind(COMPLEX, real, imag)


def real(input: TensorLike, name: str | None = None) -> Tensor:
    """The real part; `input` itself unless its dtype is complex.

    Args:
      input: Tensor of any shape, a numeric dtype.
    Returns: Real tensor of the same shape.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> math.real([1 + 2j]).numpy()
      array([1.])
    """
    x = lift_own(input)
    return bind(REAL_PART, x) if x.dtype.is_complex else x


def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """The imaginary part; zeros unless the dtype is complex.

    Args:
      input: Tensor of any shape, a numeric dtype.
    Returns: Real tensor of the same shape.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> math.imag([1 + 2j]).numpy()
      array([2.])
    """
    x = lift(input)
    if x.dtype.is_complex:
        return bind(IMAG_PART, x)
    return zeros_of(x)


def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """The complex conjugate; `x` itself unless its dtype is complex.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> math.conj([1 + 2j]).numpy()
      array([1.-2.j])
    """
    return conjugate(lift_own(x))
