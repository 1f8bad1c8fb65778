"""Errors of an op's rules as messages that name the op.

Rules rely on what traced code guarantees, and NumPy raises where a graph from a file or unknown ranks break that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.dtypes import as_dtype
from graphad.core.errors import GraphadError, ResourceExhaustedError, RuleError, mark_foreign
from graphad.core.op import Op, output_specs
from graphad.core.shapes import MOST_AXES
from graphad.core.spec import TensorSpec

# What NumPy and Python raise if an op does not accept its operands; other errors have other causes.
RAW_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
)


def named(error: Exception, op: Op | type[Op]) -> Exception:
    """The error of a rule with the op's name; unchanged if it is graphad's own or comes from a user's function.

    Rules rely on what traced code guarantees, which an op from a file with operands of unknown rank may violate.
    """
    if (
        isinstance(error, GraphadError)
        or not isinstance(error, RAW_ERRORS)
        or hasattr(error, "graphad_foreign")
    ):
        return error
    if op.extension:
        return mark_foreign(error)
    said = str(error)
    is_large = said.startswith(TOO_LARGE)
    if is_large:
        said = NO_MEMORY
    elif said.startswith(_MANY_AXES):
        said = f"the result would have more than the {MOST_AXES} axes that a tensor may have"
    elif isinstance(error, OverflowError):
        said = "a number is too large for the integers of the machine"
    kind = ResourceExhaustedError if is_large or isinstance(error, MemoryError) else RuleError
    made = kind(f"{op.name}: {said.rstrip('.') or type(error).__name__}.")
    made.__cause__ = error
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    return made


NO_MEMORY = "an array of it would have more bytes than there are addresses"
# What NumPy says, as a ValueError, of a shape that no memory could hold.
_MANY_AXES = ("maximum supported dimension", "number of dimensions must be within")
TOO_LARGE = (
    "array is too big",
    "iterator is too large",
    "Maximum allowed dimension exceeded",
    "Maximum allowed size exceeded",
)


def explained(error: Exception, op: Op, values: Sequence[Any]) -> Exception:
    """The error of `infer` for values on which `eval` has failed; if it accepts them, the error of `eval` with the op's name.

    While tracing with unknown ranks `infer` may have found no fault; NumPy's own message does not name the op.
    """
    if isinstance(error, GraphadError) or op.structured or op.extension:
        return named(error, op)
    try:
        specs = [
            x.spec if hasattr(x, "spec") else TensorSpec.of(np.shape(x), as_dtype(x.dtype)) for x in values
        ]
        output_specs(op, specs)
    except GraphadError as said:
        said.__cause__ = error
        return said
    except RAW_ERRORS:  # `infer` itself cannot handle them
        pass
    return named(error, op)
