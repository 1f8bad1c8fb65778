"""Rounding and signs. Piecewise constant: rounding ends a gradient (None), `sign` passes zeros, as in TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.annotations import Cotangents, TensorLike, VjpContext
from graphad.core.bind import bind
from graphad.core.convert import lift_own
from graphad.core.op import no_gradient
from graphad.core.references import entries_of
from graphad.core.shapes import is_definite
from graphad.core.tensor import Tensor
from graphad.ops.array.shape import BroadcastTo, shape
from graphad.ops.elementwise import elementwise, unary_function
from graphad.ops.rules import FLOATING, NUMERIC, scalar_like


def zeros_of(x: Any) -> Tensor:
    """Zeros with the shape and dtype of x."""
    zero = scalar_like(0, x)
    if is_definite(x.dims):
        return bind(BroadcastTo(x.dims), zero) if x.dims else zero
    return bind(BroadcastTo(entries_of(x.dims)), zero, shape(x))


def _sign_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    if not g.dtype.is_complex:
        return (zeros_of(g),)
    from graphad.ops.math.arithmetic import (  # which stand on this module, as the next two do
        abs,
        divide_no_nan,
    )
    from graphad.ops.math.cast import cast
    from graphad.ops.math.complexes import conj, real

    x = ctx.inputs[0]
    # x / |x| only turns: of what changes x, the part along x has no effect
    along = real(conj(g) * bind(SIGN, x))
    across = g - bind(SIGN, x) * cast(along, x.dtype)
    return (divide_no_nan(across, cast(abs(x), x.dtype)),)


_constant = no_gradient("rounding is piecewise constant")


def _rounding(name: str, formula: Any, doc: str) -> Any:
    return elementwise(
        name, formula, vjp=_constant, kinds=FLOATING, scalar=name, keeps=(False, False), doc=doc
    )


Floor = _rounding("floor", np.floor, "The largest integer not above x.")
Ceil = _rounding("ceil", np.ceil, "The smallest integer not below x.")
Round = _rounding("round", np.rint, "The nearest integer, halves to the even one.")
Trunc = _rounding("trunc", np.trunc, "x without its fraction.")
Sign = elementwise(
    "sign",
    np.sign,
    vjp=_sign_vjp,
    kinds=NUMERIC,
    scalar="sign",
    keeps=(True, False),
    doc="-1, 0 or 1, NaN for NaN; x / |x| for complex x other than 0.",
)
SIGN = Sign()

_NO_GRADIENT = "elementwise, float dtypes. No gradient."
floor = unary_function(
    Floor,
    f"The largest integer not above x, {_NO_GRADIENT}",
    example=">>> floor([1.7, -1.2]).numpy()\narray([ 1., -2.], dtype=float32)",
)
ceil = unary_function(
    Ceil,
    f"The smallest integer not below x, {_NO_GRADIENT}",
    example=">>> math.ceil([1.2, -1.7]).numpy()\narray([ 2., -1.], dtype=float32)",
)
rint = unary_function(
    Round,
    f"The nearest integer, halves to the even one, {_NO_GRADIENT}",
    "rint",
    example=">>> math.rint([0.5, 1.5]).numpy()\narray([0., 2.], dtype=float32)",
)
trunc = unary_function(Trunc, f"x without its fraction, {_NO_GRADIENT}")
sign = unary_function(
    Sign,
    "-1, 0 or 1 by the sign of x, elementwise (x / |x| for complex x, 0 at 0). The gradient is zeros, not None;\n"
    "of complex x that of x / |x|.",
    example=">>> sign([-3.0, 0.0, 2.0]).numpy()\narray([-1.,  0.,  1.], dtype=float32)",
)


def round(x: TensorLike, name: str | None = None) -> Tensor:
    """The nearest integer, halves to the even one, elementwise; `x` itself for integer dtypes. No gradient.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Example:
      >>> round([0.5, 1.5, 2.7]).numpy()
      array([0., 2., 3.], dtype=float32)
    """
    x = lift_own(x)
    return x if x.dtype.is_integer else bind(Round(), x)
