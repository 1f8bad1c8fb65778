"""The exceptions that graphad raises; each is also one of Python's own."""

from graphad.core.errors import (
    ArgumentTypeError,
    DTypeError,
    EndlessRecursionError,
    FailedPreconditionError,
    GraphadError,
    InternalError,
    InvalidArgumentError,
    MissingGradientError,
    MissingRuleError,
    NonlinearGradientError,
    OutOfScopeError,
    ResourceExhaustedError,
    SymbolicConversionError,
    SymbolicValueError,
    UnavailableError,
    UnconvertibleError,
)
from graphad.core.registry import DuplicateGradientError

OperatorNotAllowedInGraphError = SymbolicValueError
InaccessibleTensorError = OutOfScopeError

__all__ = [
    "ArgumentTypeError",
    "DTypeError",
    "DuplicateGradientError",
    "EndlessRecursionError",
    "FailedPreconditionError",
    "GraphadError",
    "InaccessibleTensorError",
    "InternalError",
    "InvalidArgumentError",
    "MissingGradientError",
    "MissingRuleError",
    "NonlinearGradientError",
    "OperatorNotAllowedInGraphError",
    "OutOfScopeError",
    "ResourceExhaustedError",
    "SymbolicConversionError",
    "SymbolicValueError",
    "UnavailableError",
    "UnconvertibleError",
]
