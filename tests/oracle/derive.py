"""Value, first and second derivatives of one case, written once for TensorFlow, which fills the data, and for graphad."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def flatten(value: Any) -> list[Any]:
    """Results in order: a single tensor, or those of a list or tuple (named tuples too)."""
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flatten(item)]
    return [value]


def run_case(
    tf: Any,
    call: str,
    inputs: Mapping[str, Any],
    sources: Sequence[str],
    cotangents: Sequence[Any] | None = None,
    weights: Sequence[Any] | None = None,
) -> dict[str, list[Any]]:
    """`call` on tensors, and its derivatives by the tensors named in `sources`.

    `cotangents` weight the outputs (None: no derivatives wanted), `weights` weight the gradients, whose weighted sum is then
    differentiated once more (None: no second derivatives). An entry is None where the path is not connected.
    """
    code = compile(call, call, "eval")
    values = {"tf": tf, "np": np, **inputs}
    if cotangents is None:
        return {"outputs": flatten(eval(code, values))}
    tensors = [inputs[name] for name in sources]
    with tf.GradientTape() as outer:
        outer.watch(tensors)
        with tf.GradientTape() as inner:
            inner.watch(tensors)
            outputs = flatten(eval(code, values))
        # Integer and boolean outputs take no cotangent; with none left there is nothing to derive.
        smooth = [(y, c) for y, c in zip(outputs, cotangents, strict=True) if c is not None]
        first = inner.gradient([y for y, _ in smooth], tensors, output_gradients=[c for _, c in smooth])
        first = [None if g is None else tf.convert_to_tensor(g) for g in first]
        second: list[Any] = [None] * len(tensors)
        if weights is None:
            return {"outputs": outputs, "first": first}
        parts = [tf.reduce_sum(g * w) for g, w in zip(first, weights, strict=True) if g is not None]
        total = tf.add_n(parts) if parts else None
    if total is not None:
        second = [None if g is None else tf.convert_to_tensor(g) for g in outer.gradient(total, tensors)]
    return {"outputs": outputs, "first": first, "second": second}
