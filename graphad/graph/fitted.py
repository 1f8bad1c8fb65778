"""The `eval` of nodes whose operands may not fit: `infer` compares sizes that only the run knows, as before an eager op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core.dtypes import from_numpy
from graphad.core.op import Op, output_specs
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec

_MOST = 256  # shapes that a node remembers: those of a loop that grows an array come again in the next call


def fitted(op: Op, specs: Sequence[TensorSpec], evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """`evaluate`, which is `eval` of the op, behind a check of its operands where their specs leave open whether they fit.

    What NumPy broadcasts it compares itself, and ops with references look at their operands once they have the numbers.
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
