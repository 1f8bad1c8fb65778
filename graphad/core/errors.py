"""Every exception that graphad raises on purpose.

Each class is also one of Python's own exceptions, so that `except ValueError` written for another library still works.
Message form: `op: what was wrong, with the actual numbers; what is allowed or what to try.`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import threading

# TensorFlow's values of `error_code`.
OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class GraphadError(Exception):
    """Base of all errors that graphad raises on purpose.

    Args:
      what: The message; or TensorFlow's arguments, a node, an op and the message, of which only the message is kept.
      node_def, op, message: TensorFlow's arguments by name.
    Attributes:
      error_code: The number that TensorFlow's errors of this kind have, such as `errors.INVALID_ARGUMENT`.
      op, node_def: None, for TensorFlow programs that read them.
    """

    error_code = UNKNOWN
    op: Any = None
    node_def: Any = None

    def __init__(
        self, *what: str, node_def: object = None, op: object = None, message: str | None = None
    ) -> None:
        if message is not None:
            what = (message,)
        super().__init__(*(what[2:3] if len(what) > 2 and isinstance(what[2], str) else what))

    @property
    def message(self) -> str:
        """The message, under TensorFlow's name."""
        return str(self)

    @property
    def experimental_payloads(self) -> dict[Any, Any]:
        """An empty dict; in TensorFlow it holds what other machines add."""
        return {}


class InvalidArgumentError(GraphadError, ValueError):
    """A shape, size or value that the op cannot work with."""

    error_code = INVALID_ARGUMENT


class AxisError(InvalidArgumentError, np.exceptions.AxisError):
    """A tensor has no axis of that number."""


class MatrixError(InvalidArgumentError, np.linalg.LinAlgError):
    """A matrix without the inverse, solution or factors that are asked for, or for which an iteration did not find them."""


class GradientMismatchError(InvalidArgumentError, AssertionError):
    """Derivatives differ from differences of the function's values.

    Attributes:
      mismatches: All that differ, the worst first.
    """

    mismatches: list[Any] = []


class RuleError(InvalidArgumentError):
    """Python or NumPy raised inside a rule of an op, and the op has no message of its own for the case."""


class DeviceDataError(InvalidArgumentError):
    """The CPU needs data that are on another device."""


class NoDataError(InvalidArgumentError, AttributeError):
    """A tensor has no data, since it stands for values that are not computed yet."""


class OutOfRangeError(InvalidArgumentError, IndexError):
    """An index is out of range, or a sequence has ended."""

    error_code = OUT_OF_RANGE


class UnsupportedOptionError(InvalidArgumentError):
    """An option of a NumPy function that graphad's function does not have."""


class DTypeError(InvalidArgumentError, TypeError):
    """A dtype that the op does not accept, or two dtypes that differ."""


class ArgumentTypeError(GraphadError, TypeError):
    """An object of the wrong kind was passed."""


class UnconvertibleError(ArgumentTypeError, ValueError):
    """A Python object that cannot become a tensor."""


class StructureError(ArgumentTypeError, ValueError):
    """Two nests that must have the same structure differ in it."""


class FrozenFieldError(GraphadError, AttributeError):
    """A field of an extension type was assigned outside of its constructor."""


class ResourceExhaustedError(GraphadError, MemoryError):
    """There is not enough memory for a result."""

    error_code = RESOURCE_EXHAUSTED


class UndefinedResultError(InvalidArgumentError, NotImplementedError):
    """A linear operator has no such result: it is not square, not self-adjoint, or known to be singular."""


class MissingReturnError(InvalidArgumentError, NotImplementedError):
    """A converted function returns a value on one path and none on another, and a tensor decides which path is taken."""


class CaughtInTraceError(InvalidArgumentError, NotImplementedError):
    """An exception of a branch or loop that a tensor decides was caught outside of it."""


class NotFoundError(GraphadError, LookupError):
    """A file, or a value in one, does not exist."""

    error_code = NOT_FOUND


class FailedPreconditionError(GraphadError, RuntimeError):
    """The call is valid but comes at the wrong time, such as a second gradient from a tape that is not persistent."""

    error_code = FAILED_PRECONDITION


class EndlessRecursionError(FailedPreconditionError, RecursionError):
    """A function calls itself again and again while it is traced, or its branches stand too deeply within each other."""


class OutOfScopeError(GraphadError, TypeError, ValueError):
    """A tensor of a trace was used outside that trace: in TensorFlow a TypeError in eager code, a ValueError in another trace."""


class SymbolicValueError(GraphadError, TypeError):
    """Python needs the number of a symbolic tensor, which has none while it is traced."""


class SymbolicConversionError(SymbolicValueError, NotImplementedError):
    """NumPy needs the array of a symbolic tensor, which has none while it is traced."""


class MissingRuleError(GraphadError, LookupError):
    """The op lacks the rule that is needed."""


class UnansweredError(MissingRuleError):
    """A rule needs sizes or values that are known only at run time."""


class MissingGradientError(MissingRuleError):
    """No gradient is defined for the op: none is built in, registered or saved."""


class NonlinearGradientError(GraphadError, ValueError):
    """A custom gradient is not linear in its upstream gradient, so it has no forward mode."""


class UnavailableError(GraphadError, RuntimeError):
    """A device or an optional package is missing."""

    error_code = UNAVAILABLE


class NotCompiledError(UnavailableError):
    """Native code that has not been compiled yet, and that a caller with another way does not wait for.

    Attributes:
      answered: Set once it is there, or will not be.
    """

    answered: threading.Event


class InternalError(GraphadError, AssertionError):
    """An invariant of graphad itself is broken; the message holds the printed graph. Please report it."""

    error_code = INTERNAL


def mark_foreign(error: Exception) -> Exception:
    """The error, marked as a user's: loops and branches around the op that raised it leave its text as it is."""
    foreign: Any = error
    foreign.graphad_foreign = True
    return error
