"""The sum of a list of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core.annotations import (
    Array,
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
from graphad.core.dims import Dim
from graphad.core.dtypes import DType, float32
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.op import Op, define
from graphad.core.refusal import members
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import as_dtype_of, is_narrow, widened
from graphad.ops.array.support import all_stacked
from graphad.ops.rules import elementwise_rows, same_dtype


@define
class AddN(Op):
    """The sum of any number of tensors of one shape, from left to right."""

    name = "add_n"
    total = True
    keeps = (False, False)

    def infer(self, *xs: TensorSpec) -> TensorSpec:
        if not xs:
            raise InvalidArgumentError("add_n: inputs is empty; give at least one tensor.")
        dtype = same_dtype("add_n", xs)
        dims = xs[0].dims
        for x in xs[1:]:
            if not are_compatible(dims, x.dims):
                raise InvalidArgumentError(
                    f"add_n: Shapes must be equal: inputs have shapes {', '.join(format_dims(spec.dims) for spec in xs)}."
                )
            if dims is None or x.dims is None:
                dims = x.dims if dims is None else dims
            else:
                dims = tuple(b if a is None else a for a, b in zip(dims, x.dims, strict=True))
        return TensorSpec.of(dims, dtype)

    def eval(self, *xs: Array) -> Array:
        total: Any = widened(xs[0])
        total = total + xs[1] if len(xs) > 1 else total
        for x in xs[2:]:
            if type(total) is np.ndarray and total.dtype == x.dtype:
                total += x  # a value of its own by now
            else:
                total = total + x  # symbols in the place of numbers
        if type(total) is Dim:
            return total  # type: ignore[return-value]
        return as_dtype_of(total, xs[0])

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return [g] * len(ctx.inputs)

    def batch(self, ctx: BatchContext, *xs: Ranked) -> Tensor:
        return bind(self, *all_stacked(ctx, xs))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return elementwise_rows(specs, axes)

    def lower(self, *xs: TensorSpec) -> kernels.forms.Form | None:
        dtype = xs[0].dtype
        if len(xs) == 1:
            return kernels.forms.identity_map(dtype)
        operands: list[kernels.forms.Ref] = [(kernels.forms.IN, k) for k in range(len(xs))]
        body: list[kernels.forms.Statement] = []

        def step(fn: str, *args: kernels.forms.Ref, dtype: DType) -> kernels.forms.Ref:
            body.append(kernels.forms.Statement(fn, args, dtype))
            return kernels.forms.TMP, len(body) - 1

        wide = float32 if is_narrow(dtype.numpy) else dtype
        if wide is not dtype:
            operands = [step("cast", x, dtype=wide) for x in operands]
        total = operands[0]
        for x in operands[1:]:
            total = step("add", total, x, dtype=wide)
        total = total if wide is dtype else step("cast", total, dtype=dtype)
        return kernels.forms.Map((dtype,) * len(xs), (), tuple(body), (total,))


def add_n(inputs: TensorLike | Sequence[TensorLike], name: str | None = None) -> Tensor:
    """The sum of a list of tensors of one shape and dtype.

    Args:
      inputs: A list or tuple of tensors, or a tensor, of whose rows it is the sum; nothing is broadcast.
    Returns: Tensor with the shape and dtype of the first.
    Raises: InvalidArgumentError: the list is empty, or shapes differ.
    Example:
      >>> add_n([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).numpy()
      array([ 9., 12.], dtype=float32)
    """
    if not isinstance(inputs, Iterable):
        raise ArgumentTypeError(f"add_n: inputs must be a list of tensors, got {type(inputs).__name__}.")
    inputs = members("add_n", "inputs", inputs, "give a list of tensors")
    if not inputs:
        raise InvalidArgumentError("add_n: inputs is empty; give at least one tensor.")
    return bind(AddN(), *[lift(x) for x in inputs])
