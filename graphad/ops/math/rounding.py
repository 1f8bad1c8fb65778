"""Rounding. It is piecewise constant and has no gradient (None), as in TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core.annotations import TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift_own
from graphad.core.op import no_gradient
from graphad.core.tensor import Tensor
from graphad.ops.elementwise import Elementwise, elementwise, unary_function
from graphad.ops.rules import FLOATING

_constant = no_gradient("rounding is piecewise constant")


def _rounding(name: str, formula: Callable[..., Any], doc: str) -> type[Elementwise]:
    return elementwise(
        name, formula, vjp=_constant, kinds=FLOATING, scalar=name, keeps=(False, False), doc=doc
    )


Floor = _rounding("floor", np.floor, "The largest integer not above x.")
Ceil = _rounding("ceil", np.ceil, "The smallest integer not below x.")
Round = _rounding("round", np.rint, "The nearest integer, halves to the even one.")
Trunc = _rounding("trunc", np.trunc, "x without its fraction.")

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
trunc = unary_function(Trunc, f"x rounded towards 0, {_NO_GRADIENT}")


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
