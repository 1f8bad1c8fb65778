"""Errors of rules: they get the name of the op, unless they are graphad's own or a user's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphad.core.errors import GraphadError, ResourceExhaustedError, RuleError
from graphad.core.shapes import MOST_AXES

if TYPE_CHECKING:
    from graphad.core.op import Op

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
        return as_users(error)
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


def as_users(error: Exception) -> Exception:
    """Mark the error as a user's, for the loops and branches around the op too."""
    foreign: Any = error
    foreign.graphad_foreign = True
    return error
