"""The `eval` of nodes whose operands may not fit: `infer` compares sizes that only the run knows, as before an eager op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core.dtypes import from_numpy
from graphad.core.op import Op, output_specs
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec


def fitted(op: Op, specs: Sequence[TensorSpec], evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """`evaluate`, which is `eval` of the op, behind a check of its operands where their specs leave open whether they fit.

    What NumPy broadcasts it compares itself, and ops with references look at their operands once they have the numbers.
    """
    if op.structured or op.extension or op.refers or op.transient or getattr(type(op), "formula", None):
        return evaluate
    if any(spec.is_handle for spec in specs) or all(is_definite(spec.dims) for spec in specs):
        return evaluate
    accepted: tuple[Any, ...] | None = None

    def checked(*values: Any) -> Any:
        nonlocal accepted
        shapes = tuple([x.shape for x in values])
        if shapes != accepted:
            output_specs(op, [TensorSpec.of(np.shape(x), from_numpy(x.dtype)) for x in values])
            accepted = shapes
        return evaluate(*values)

    return checked
