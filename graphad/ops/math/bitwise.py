"""Bitwise logic on integers. None of it has a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core.op import no_gradient
from graphad.kernels.scalars import mul_high
from graphad.ops.elementwise import Elementwise, binary_function, elementwise, unary_function
from graphad.ops.rules import INTEGER

_discrete = no_gradient("integers have no derivative")


def _bitwise(name: str, formula: Callable[..., Any], scalar: str, doc: str) -> type[Elementwise]:
    return elementwise(
        name,
        formula,
        vjp=_discrete,
        kinds=INTEGER,
        scalar=scalar,
        keeps=(False, False),
        doc=doc,
        takes_symbols=False,
    )


BitwiseAnd = _bitwise("bitwise_and", np.bitwise_and, "and", doc="The bits set in both x and y.")
BitwiseOr = _bitwise("bitwise_or", np.bitwise_or, "or", doc="The bits set in x or y or both.")
BitwiseXor = _bitwise("bitwise_xor", np.bitwise_xor, "xor", doc="The bits set in exactly one of x and y.")
Invert = _bitwise("invert", np.invert, "not", doc="Every bit of x flipped.")
LeftShift = _bitwise("left_shift", np.left_shift, "shl", doc="x * 2^y.")
RightShift = _bitwise("right_shift", np.right_shift, "shr", doc="x / 2^y rounded towards minus infinity.")
MulHigh = _bitwise(
    "mul_high",
    mul_high,
    "mulhigh",
    doc="The upper half of the bits of the product of x and y, which has twice as many.",
)

_INTEGERS = "operands of one integer dtype broadcast together."

bitwise_and = binary_function(
    BitwiseAnd,
    f"The bits set in both x and y, {_INTEGERS}",
    example=">>> math.bitwise_and(6, 3).numpy()\nnp.int32(2)",
)
bitwise_or = binary_function(
    BitwiseOr,
    f"The bits set in x or y or both, {_INTEGERS}",
    example=">>> math.bitwise_or(6, 3).numpy()\nnp.int32(7)",
)
bitwise_xor = binary_function(BitwiseXor, f"The bits set in exactly one of x and y, {_INTEGERS}")
invert = unary_function(Invert, "Every bit of x flipped, integer dtypes.")
left_shift = binary_function(LeftShift, f"The bits of x shifted left by y, {_INTEGERS}")
right_shift = binary_function(RightShift, f"The bits of x shifted right by y, keeping the sign, {_INTEGERS}")
