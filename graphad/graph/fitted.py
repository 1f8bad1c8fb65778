"""The functions that compute nodes one by one: those for operands of known sizes, and `eval` behind a check where operands may
not fit, in which `infer` compares sizes that only the run knows, as before an eager op.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core.dims import UndecidedSize
from graphad.core.dtypes import from_numpy
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import Op, output_specs
from graphad.core.shapes import are_numbers, format_dims, is_definite
from graphad.core.spec import TensorSpec

_MOST = 256  # checked shapes that a node remembers: a loop that grows an array has the same shapes in its next call

# What Python's operators are called by, in `Op.infix`.
OPERATORS: dict[str, Callable[..., Any]] = {
    "-{}": operator.neg,
    "{} + {}": operator.add,
    "{} - {}": operator.sub,
    "{} * {}": operator.mul,
    "{} < {}": operator.lt,
    "{} <= {}": operator.le,
    "{} > {}": operator.gt,
    "{} >= {}": operator.ge,
}


def evaluator_of(op: Op, specs: Sequence[TensorSpec]) -> Callable[..., Any] | None:
    """The op's function for operands of these specs, None where it has none or their sizes are not all numbers.

    A loop asks once and calls the function in each round. It gives the bits of `eval`, and NumPy scalars for shape (); operands
    that are not NumPy's it leaves to `eval`.
    """
    if type(op).evaluator_of is Op.evaluator_of:
        return None
    for spec in specs:
        if spec.is_handle or spec.dims is None or not are_numbers(spec.dims):
            return None
    return op.evaluator_of(*specs)


def fitted(op: Op, specs: Sequence[TensorSpec], evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """`evaluate`, the `eval` of an op, preceded by a check of the operands if their specs do not prove that they fit.

    No check is needed where NumPy compares the operands while it broadcasts them, or for ops with references, which check their
    operands once they have the numbers.
    """
    if op.structured or op.extension or op.refers or op.transient or getattr(type(op), "formula", None):
        return evaluate
    if op.eval_checks:
        return evaluate
    definite = True
    for spec in specs:
        if spec.is_handle:
            return evaluate
        definite = definite and is_definite(spec.dims)
    if definite:
        return evaluate
    accepted: set[Any] = set()
    try:
        made_for = output_specs(op, specs)
    except UndecidedSize:  # the op has numbers for symbols that the specs have
        made_for = ()

    def check(shapes: Any, values: Sequence[Any]) -> None:
        given = [TensorSpec.of(np.shape(x), from_numpy(x.dtype)) for x in values]
        for found, wanted in zip(output_specs(op, given), made_for, strict=False):
            if found.dims is not None and wanted.dims is not None and len(found.dims) != len(wanted.dims):
                shown = " and ".join([format_dims(spec.dims) for spec in given])
                raise InvalidArgumentError(
                    f"{op.caller}: operands of shapes {shown} give one of shape {format_dims(found.dims)}, and the function was "
                    f"traced for {format_dims(wanted.dims)}; give operands that fit each other."
                )
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
