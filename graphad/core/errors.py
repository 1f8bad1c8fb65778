"""Every exception that graphad raises on purpose.

Each class is also one of Python's own exceptions, so that `except ValueError` written for another library still works.
Message form: `op: what was wrong, with the actual numbers; what is allowed or what to try.`
"""

from __future__ import annotations

from typing import Any

# What TensorFlow's errors have as `error_code`.
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
      what: The message; or, as TensorFlow's errors are made, a node, an op and the message, of which the message is kept.
    Attributes:
      error_code: The number that TensorFlow's errors of this kind have, such as `errors.INVALID_ARGUMENT`.
      op, node_def: None: no graph was built by hand.
    """

    error_code = UNKNOWN
    op: Any = None
    node_def: Any = None

    def __init__(self, *what: str) -> None:
        super().__init__(*(what[2:3] if len(what) > 2 and isinstance(what[2], str) else what))

    @property
    def message(self) -> str:
        """What it says; TensorFlow's errors have it under this name."""
        return str(self)

    @property
    def experimental_payloads(self) -> dict[Any, Any]:
        """Nothing: TensorFlow's errors carry what other machines add."""
        return {}


class InvalidArgumentError(GraphadError, ValueError):
    """A shape, size or value that the op cannot work with."""

    error_code = INVALID_ARGUMENT


class GradientMismatchError(InvalidArgumentError, AssertionError):
    """Derivatives differ from differences of the function's values.

    Attributes:
      mismatches: All that differ, the worst first.
    """

    mismatches: list[Any] = []


class RuleError(InvalidArgumentError):
    """Python or NumPy refused what a rule of an op did with what the op was given; the op has no words of its own for it."""


class DeviceDataError(InvalidArgumentError):
    """Data are asked for on the CPU that are on another device."""


class OutOfRangeError(InvalidArgumentError, IndexError):
    """An element is asked for that there is not."""

    error_code = OUT_OF_RANGE


class UnsupportedOptionError(InvalidArgumentError):
    """An option of a function of NumPy's that the function has there, and not here."""


class DTypeError(InvalidArgumentError, TypeError):
    """A dtype that the op does not take, or two dtypes that differ."""


class ArgumentTypeError(GraphadError, TypeError):
    """An object of the wrong kind was passed."""


class UnconvertibleError(ArgumentTypeError, ValueError):
    """A Python object that cannot become a tensor."""


class ResourceExhaustedError(GraphadError, MemoryError):
    """There is not enough memory for a result."""

    error_code = RESOURCE_EXHAUSTED


class MissingReturnError(InvalidArgumentError, NotImplementedError):
    """A converted function returns a value on one way through it and none on another, and a tensor decides between them."""


class NotFoundError(GraphadError, LookupError):
    """A file, or a value in one, that is not there."""

    error_code = NOT_FOUND


class FailedPreconditionError(GraphadError, RuntimeError):
    """The call is right but comes at the wrong time, such as a gradient from a tape that is used up."""

    error_code = FAILED_PRECONDITION


class EndlessRecursionError(FailedPreconditionError, RecursionError):
    """A function calls itself again and again while it is traced."""


class OutOfScopeError(GraphadError, TypeError):
    """A tensor of one trace was used outside that trace."""


class SymbolicValueError(GraphadError, TypeError):
    """Python asked for the number of a tensor that has none yet because it is being traced."""


class SymbolicConversionError(SymbolicValueError, NotImplementedError):
    """NumPy asked for the array of a tensor that has none yet because it is being traced."""


class MissingRuleError(GraphadError, LookupError):
    """The op has no rule for what was asked of it."""


class UnansweredError(MissingRuleError):
    """A rule needs sizes or values that are known only when the op runs: asked then, it answers."""


class MissingGradientError(MissingRuleError):
    """No gradient is defined for the op: its derivative was neither built in, registered nor saved."""


class NonlinearGradientError(GraphadError, ValueError):
    """A custom gradient is not linear in its upstream gradient, so it has no forward mode."""


class UnavailableError(GraphadError, RuntimeError):
    """A device or an optional package is not there."""

    error_code = UNAVAILABLE


class InternalError(GraphadError, AssertionError):
    """An invariant of graphad itself is broken; the message holds the printed graph. Please report it."""

    error_code = INTERNAL


# Errors of TensorFlow's that graphad itself does not raise: for programs that catch or raise them.


class CancelledError(GraphadError, RuntimeError):
    """Somebody stopped the work."""

    error_code = CANCELLED


class UnknownError(GraphadError, RuntimeError):
    """Nobody knows more."""


class DeadlineExceededError(GraphadError, RuntimeError):
    """It took too long."""

    error_code = DEADLINE_EXCEEDED


class AlreadyExistsError(GraphadError, RuntimeError):
    """What was to be made is there."""

    error_code = ALREADY_EXISTS


class PermissionDeniedError(GraphadError, RuntimeError):
    """The caller may not do it."""

    error_code = PERMISSION_DENIED


class AbortedError(GraphadError, RuntimeError):
    """The work was given up, as where two writers meet."""

    error_code = ABORTED


class UnimplementedError(GraphadError, NotImplementedError):
    """Nobody has written it."""

    error_code = UNIMPLEMENTED


class DataLossError(GraphadError, RuntimeError):
    """Data is lost or damaged for good."""

    error_code = DATA_LOSS


class UnauthenticatedError(GraphadError, RuntimeError):
    """Nobody knows who calls."""

    error_code = UNAUTHENTICATED
