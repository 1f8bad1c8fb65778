"""Moore-Penrose inverses: their values from singular values, their derivatives not.

The derivative of a singular vector is infinite where two singular values are equal, and that of a pseudo-inverse is not: it is a
formula in the matrix and its pseudo-inverse, for changes that keep the rank.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    Ranked,
    RowAxes,
    RowAxis,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import Op, define
from graphad.core.shapes import format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.kernels import forms
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.linalg.diagonal import matrix_rows
from graphad.ops.linalg.matmul import times
from graphad.ops.linalg.systems import require_matrix
from graphad.ops.math.arithmetic import ADD, SUB
from graphad.ops.rules import same_dtype


@define
class PseudoInverse(Op):
    """y [..., n, m], which is the pseudo-inverse of x [..., m, n]. Its derivatives are those of the pseudo-inverse by x, none by
    y (Golub and Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate,
    1973).
    """

    name = "pseudo_inverse"
    keeps = (False, True), True
    aliases = {0: 0}

    def infer(self, y: TensorSpec, x: TensorSpec) -> TensorSpec:
        same_dtype("pseudo_inverse", (y, x))
        require_matrix("pseudo_inverse", y, "y", False)
        require_matrix("pseudo_inverse", x, "x", False)
        if y.dims is None or x.dims is None:
            return y
        *lead, m, n = x.dims
        turned = (*lead, n, m)
        if len(turned) != len(y.dims) or any(
            None not in pair and pair[0] != pair[1] for pair in zip(turned, y.dims, strict=True)
        ):
            raise InvalidArgumentError(
                f"pseudo_inverse: y has shape {format_dims(y.dims)}, x has shape {format_dims(x.dims)}; the last two sizes of x "
                "must be those of y, exchanged, and the others equal."
            )
        return y.with_dims(tuple([b if a is None else a for a, b in zip(y.dims, turned, strict=True)]))

    def eval(self, y: Array, x: Array) -> Array:
        return y

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        x, y = ctx.inputs[1], ctx.outputs[0]
        own = times(y, times(g, y, adjoint_b=True), adjoint_a=True)
        beside = bind(SUB, g, times(times(g, x), y))  # what is orthogonal to the columns of x
        below = bind(SUB, g, times(y, times(x, g)))  # and to its rows
        first = times(beside, times(y, y, adjoint_b=True), adjoint_a=True)
        second = times(y, times(y, below, adjoint_b=True), adjoint_a=True)
        return None, bind(SUB, bind(ADD, first, second), own)

    def batch(self, ctx: BatchContext, y: Ranked, x: Ranked) -> Tensor:
        whole = [z if ctx.stacked(k) else broadcast_to(z, (ctx.size, *z.dims)) for k, z in enumerate((y, x))]
        return bind(self, *whole)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return matrix_rows(specs, axes, (2, 2))

    def lower(self, y: TensorSpec, x: TensorSpec) -> forms.Form | None:
        return forms.View("reshape", y.dims)
