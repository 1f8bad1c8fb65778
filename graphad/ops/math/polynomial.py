"""The division of polynomials, which are vectors of coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, Cotangents, VjpContext
from graphad.core.bind import bind
from graphad.core.errors import InvalidArgumentError
from graphad.core.ieee import unreported
from graphad.core.op import TupleOp, define, no_batch, no_form, no_rows
from graphad.core.shapes import format_dims, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.join import concat
from graphad.ops.array.padding import pad
from graphad.ops.array.transpose import reverse
from graphad.ops.math.arithmetic import NEG, SUB
from graphad.ops.math.complexes import conjugate
from graphad.ops.math.convolved import VectorConvolution
from graphad.ops.rules import INEXACT, require_kind, same_dtype


@define
class PolynomialDivision(TupleOp):
    """Quotient [n - m + 1] and remainder [m - 1] of polynomials u [n] and v [m] with n >= m >= 1, the highest power first, by
    long division: one coefficient of the quotient after the other, whose multiple of v is subtracted from what is left of u.
    """

    name = "polynomial_division"
    keeps = ((1,), (0,))
    lower = no_form(
        "each coefficient of the quotient changes those behind it, and the steps of a loop hand nothing on"
    )

    def infer(self, u: TensorSpec, v: TensorSpec) -> tuple[TensorSpec, ...]:
        same_dtype("polynomial_division", (u, v))
        require_kind("polynomial_division", u, INEXACT)
        for spec, name in ((u, "u"), (v, "v")):
            if spec.dims is not None and len(spec.dims) != 1:
                raise InvalidArgumentError(
                    f"polynomial_division: {name} has shape {format_dims(spec.dims)}; a vector is needed."
                )
        n, m = (None if spec.dims is None else spec.dims[0] for spec in (u, v))
        if type(n) is int and type(m) is int and not n >= m >= 1:
            raise _sizes(n, m)
        quotient = None if n is None or m is None else n - m + 1
        return TensorSpec.of((quotient,), u.dtype), TensorSpec.of((None if m is None else m - 1,), u.dtype)

    def eval(self, u: Array, v: Array) -> tuple[Array, Array]:
        if not len(u) >= len(v) >= 1:
            raise _sizes(len(u), len(v))
        u, v = (arrays.here(x, "polynomial division") for x in (u, v))
        return unreported(_divided, u, v)  # type: ignore[no-any-return]

    def vjp(self, ctx: VjpContext, q_bar: Tensor | None, rest_bar: Tensor | None) -> Cotangents:
        # The first coefficients of u are those of v q, a product with a lower triangle of v: its transpose is solved by a
        # division from the other end. The last ones are those of v q and the remainder.
        v, q = conjugate(ctx.inputs[1]), conjugate(ctx.outputs[0])
        (m,), (count,) = ranked(v.dims), ranked(q.dims)
        if m is None or count is None:
            raise InvalidArgumentError(
                "polynomial_division: the derivative needs to know how many coefficients u and v have; give the function "
                "arguments of known shapes."
            )
        q_bar = ctx.zeros(0) if q_bar is None else q_bar
        if rest_bar is None:
            rest_bar = ctx.zeros(1)
        elif m > 1:
            q_bar = bind(SUB, q_bar, bind(VectorConvolution(True), pad(rest_bar, [[count, 0]]), v))
        turned = bind(PolynomialDivision(), pad(reverse(q_bar, [0]), [[0, m - 1]]), v)[0]
        u_bar = concat([reverse(turned, [0]), rest_bar], 0)
        return u_bar if ctx.needs(0) else None, bind(
            NEG, bind(VectorConvolution(True), u_bar, q)
        ) if ctx.needs(1) else None

    batch = no_batch("each division is a sequence of steps of its own")
    rows = no_rows("each coefficient depends on the ones before")


def _divided(u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rest, m = u.copy(), len(v)
    steps = len(u) - m + 1
    quotient = np.empty(steps, u.dtype)
    for k in range(steps):
        quotient[k] = rest[k] / v[0]
        rest[k : k + m] -= quotient[k] * v
    return quotient, rest[steps:]


def _sizes(n: Any, m: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"polynomial_division: u has {n} coefficients and v {m}; v must have at least one, and u no fewer."
    )
