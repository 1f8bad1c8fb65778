"""The exceptions that graphad raises; each is also one of Python's own."""

from graphad.core.errors import ABORTED as ABORTED
from graphad.core.errors import ALREADY_EXISTS as ALREADY_EXISTS
from graphad.core.errors import CANCELLED as CANCELLED
from graphad.core.errors import DATA_LOSS as DATA_LOSS
from graphad.core.errors import DEADLINE_EXCEEDED as DEADLINE_EXCEEDED
from graphad.core.errors import FAILED_PRECONDITION as FAILED_PRECONDITION
from graphad.core.errors import INTERNAL as INTERNAL
from graphad.core.errors import INVALID_ARGUMENT as INVALID_ARGUMENT
from graphad.core.errors import NOT_FOUND as NOT_FOUND
from graphad.core.errors import OK as OK
from graphad.core.errors import OUT_OF_RANGE as OUT_OF_RANGE
from graphad.core.errors import PERMISSION_DENIED as PERMISSION_DENIED
from graphad.core.errors import RESOURCE_EXHAUSTED as RESOURCE_EXHAUSTED
from graphad.core.errors import UNAUTHENTICATED as UNAUTHENTICATED
from graphad.core.errors import UNAVAILABLE as UNAVAILABLE
from graphad.core.errors import UNIMPLEMENTED as UNIMPLEMENTED
from graphad.core.errors import UNKNOWN as UNKNOWN
from graphad.core.errors import ArgumentTypeError as ArgumentTypeError
from graphad.core.errors import AxisError as AxisError
from graphad.core.errors import CaughtInTraceError as CaughtInTraceError
from graphad.core.errors import DTypeError as DTypeError
from graphad.core.errors import EndlessRecursionError as EndlessRecursionError
from graphad.core.errors import FailedPreconditionError as FailedPreconditionError
from graphad.core.errors import GradientMismatchError as GradientMismatchError
from graphad.core.errors import GraphadError as GraphadError
from graphad.core.errors import InternalError as InternalError
from graphad.core.errors import InvalidArgumentError as InvalidArgumentError
from graphad.core.errors import MatrixError as MatrixError
from graphad.core.errors import MissingGradientError as MissingGradientError
from graphad.core.errors import MissingReturnError as MissingReturnError
from graphad.core.errors import MissingRuleError as MissingRuleError
from graphad.core.errors import NonlinearGradientError as NonlinearGradientError
from graphad.core.errors import NotFoundError as NotFoundError
from graphad.core.errors import OutOfRangeError as OutOfRangeError
from graphad.core.errors import OutOfScopeError as OutOfScopeError
from graphad.core.errors import ResourceExhaustedError as ResourceExhaustedError
from graphad.core.errors import StructureError as StructureError
from graphad.core.errors import SymbolicConversionError as SymbolicConversionError
from graphad.core.errors import SymbolicValueError as SymbolicValueError
from graphad.core.errors import UnavailableError as UnavailableError
from graphad.core.errors import UnconvertibleError as UnconvertibleError
from graphad.core.errors import UndefinedResultError as UndefinedResultError
from graphad.core.foreign_errors import AbortedError as AbortedError
from graphad.core.foreign_errors import AlreadyExistsError as AlreadyExistsError
from graphad.core.foreign_errors import CancelledError as CancelledError
from graphad.core.foreign_errors import DataLossError as DataLossError
from graphad.core.foreign_errors import DeadlineExceededError as DeadlineExceededError
from graphad.core.foreign_errors import PermissionDeniedError as PermissionDeniedError
from graphad.core.foreign_errors import UnauthenticatedError as UnauthenticatedError
from graphad.core.foreign_errors import UnimplementedError as UnimplementedError
from graphad.core.foreign_errors import UnknownError as UnknownError
from graphad.core.registry import DuplicateGradientError as DuplicateGradientError

InaccessibleTensorError = OutOfScopeError
OpError = GraphadError
OperatorNotAllowedInGraphError = SymbolicValueError
