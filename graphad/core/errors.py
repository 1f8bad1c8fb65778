"""Every exception that graphad raises on purpose.

Each class is also one of Python's own exceptions, so that `except ValueError` written for another library still works.
Message form: `op: what was wrong, with the actual numbers; what is allowed or what to try.`
"""

from __future__ import annotations

from typing import Any


class GraphadError(Exception):
    """Base of all errors that graphad raises on purpose."""

    @property
    def message(self) -> str:
        """What it says; TensorFlow's errors have it under this name."""
        return str(self)


class InvalidArgumentError(GraphadError, ValueError):
    """A shape, size or value that the op cannot work with."""


class GradientMismatchError(InvalidArgumentError, AssertionError):
    """Derivatives differ from differences of the function's values.

    Attributes:
      mismatches: All that differ, the worst first.
    """

    mismatches: list[Any] = []


class RuleError(InvalidArgumentError):
    """Python or NumPy refused what a rule of an op did with what the op was given; the op has no words of its own for it."""


class OutOfRangeError(InvalidArgumentError, IndexError):
    """An element is asked for that there is not."""


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


class MissingReturnError(InvalidArgumentError, NotImplementedError):
    """A converted function returns a value on one way through it and none on another, and a tensor decides between them."""


class NotFoundError(GraphadError, LookupError):
    """A file, or a value in one, that is not there."""


class FailedPreconditionError(GraphadError, RuntimeError):
    """The call is right but comes at the wrong time, such as a gradient from a tape that is used up."""


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


class InternalError(GraphadError, AssertionError):
    """An invariant of graphad itself is broken; the message holds the printed graph. Please report it."""
