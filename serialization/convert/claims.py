"""Checks of the claims in a file against the ops: attributes against the schema, operands and specs against the rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.dtypes import DType
from graphad.core.errors import GraphadError
from graphad.core.schema import schema_of
from graphad.core.shapes import MOST_AXES, are_compatible
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph
from serialization.errors import CorruptModelError, LimitExceededError, shown

if TYPE_CHECKING:
    from graphad.core.op import Op


SPEC_LIMIT = 1 << 40  # the most elements of a tensor in a graph from a file
CALL_DEPTH = 100  # graphs within graphs

# -- attributes ----------------------------------------------------------------------------------------------------------


def check_attributes(op_class: Any, values: Sequence[Any]) -> None:
    """Raise unless every attribute fits the op's schema and is safe in a file."""
    wrong = schema_of(op_class).wrong(values)
    if wrong is not None:
        field, value, complaint = wrong
        raise CorruptModelError(
            f"attribute {field!r} of op {shown(op_class.name)} is {shown(value)}, which {complaint}."
        )
    for field, value in zip(op_class.attributes, values, strict=True):
        if not _is_plain(value):
            raise CorruptModelError(
                f"attribute {field!r} of op {shown(op_class.name)} is {shown(value)}, which is not a plain value."
            )


def _is_plain(x: object) -> bool:
    if type(x) is tuple:
        return all(map(_is_plain, x))
    return x is None or type(x) in (bool, int, float, str) or isinstance(x, DType | Graph)


# -- specs ---------------------------------------------------------------------------------------------------------------


def check_spec(spec: TensorSpec) -> None:
    """Raise for sizes that are impossible or implausible."""
    total = 1
    if len(spec.dims or ()) > MOST_AXES:
        raise LimitExceededError(f"a tensor of {len(spec.dims or ())} axes; there may be {MOST_AXES}.")
    for size in spec.dims or ():
        if size is None:
            continue
        if type(size) is not int or size < 0:
            raise CorruptModelError(f"{shown(size)} is not a size.")
        total *= size
    if total > SPEC_LIMIT:
        raise LimitExceededError(f"a tensor of {shown(total)} elements; a graph may have {SPEC_LIMIT}.")


def sound_spec(claimed: TensorSpec, inferred: TensorSpec, op: str) -> TensorSpec:
    """The spec of an output: the inferred one, which the file's may not contradict.

    A claim that says more than the op promises is never believed: compiled code would trust it. One that says less would hide
    from the checks of what follows that it does not fit.
    """
    fits = type(claimed) is TensorSpec and isinstance(inferred, TensorSpec) and not inferred.is_handle
    if not fits or claimed.dtype is not inferred.dtype or not are_compatible(claimed.dims, inferred.dims):
        raise CorruptModelError(f"op {shown(op)} gives {inferred}, the file says {claimed}.")
    check_spec(inferred)
    return inferred


# -- nodes ---------------------------------------------------------------------------------------------------------------


def check_operands(op: Op, inputs: Sequence[TensorSpec]) -> None:
    """Raise unless the number of inputs is right, variables are where the op takes variables, and all inputs fit."""
    schema = schema_of(op.op_class)
    least, most = schema.least + op.given, schema.most + op.given
    if not least <= len(inputs) <= most:
        count = least if least == most else f"{least} or more" if most == math.inf else f"{least} to {most}"
        raise CorruptModelError(f"op {shown(op.name)} takes {count} inputs, the file gives {len(inputs)}.")
    for i, spec in enumerate(inputs):
        wanted = schema.is_handle(i)
        if wanted is not None and spec.is_handle != wanted:
            raise CorruptModelError(
                f"op {shown(op.name)} takes a {'variable' if wanted else 'tensor'} as input {i}, the file says {spec}."
            )
    asked(op, op.check_operands, inputs)


def asked(op: Op, check: Callable[[Any], None], specs: Sequence[TensorSpec]) -> None:
    """Run a check of an op on specs from a file."""
    try:
        check(specs)
    except GraphadError as cause:
        raise CorruptModelError(
            f"op {shown(op.name)} does not take its inputs: {shown(str(cause), 300)}."
        ) from cause
