"""The `eval` of nodes whose operands may turn out not to fit: `infer` compares the sizes of the run first, as for an eager op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core.dtypes import from_numpy
from graphad.core.op import Op, output_specs
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec

_MOST = 256  # checked shapes that a node remembers: a loop that grows an array has the same shapes in its next call


def fitted(op: Op, specs: Sequence[TensorSpec], evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """`evaluate`, the `eval` of an op, preceded by a check of the operands if their specs do not prove that they fit.

    No check is needed where NumPy compares the operands while it broadcasts them, or for ops with references, which check their
    operands once they have the numbers.
    """
    if op.structured or op.extension or op.refers or op.transient or getattr(type(op), "formula", None):
        return evaluate
    if op.eval_checks or any(spec.is_handle for spec in specs):
        return evaluate
    if all(is_definite(spec.dims) for spec in specs):
        return evaluate
    accepted: set[Any] = set()

    def check(shapes: Any, values: Sequence[Any]) -> None:
        output_specs(op, [TensorSpec.of(np.shape(x), from_numpy(x.dtype)) for x in values])
        if len(accepted) >= _MOST:
            accepted.clear()
        accepted.add(shapes)

    def of_one(x: Any) -> Any:
        if x.shape not in accepted:
            check(x.shape, [x])
        return evaluate(x)

    def of_several(*values: Any) -> Any:
        shapes = tuple([x.shape for x in values])
        if shapes not in accepted:
            check(shapes, values)
        return evaluate(*values)

    return of_one if len(specs) == 1 else of_several
