"""The exceptions that graphad raises; each is also one of Python's own."""

from graphad.core.errors import ArgumentTypeError as ArgumentTypeError
from graphad.core.errors import DTypeError as DTypeError
from graphad.core.errors import EndlessRecursionError as EndlessRecursionError
from graphad.core.errors import FailedPreconditionError as FailedPreconditionError
from graphad.core.errors import GradientMismatchError as GradientMismatchError
from graphad.core.errors import GraphadError as GraphadError
from graphad.core.errors import InternalError as InternalError
from graphad.core.errors import InvalidArgumentError as InvalidArgumentError
from graphad.core.errors import MissingGradientError as MissingGradientError
from graphad.core.errors import MissingReturnError as MissingReturnError
from graphad.core.errors import MissingRuleError as MissingRuleError
from graphad.core.errors import NonlinearGradientError as NonlinearGradientError
from graphad.core.errors import NotFoundError as NotFoundError
from graphad.core.errors import OutOfRangeError as OutOfRangeError
from graphad.core.errors import OutOfScopeError as OutOfScopeError
from graphad.core.errors import ResourceExhaustedError as ResourceExhaustedError
from graphad.core.errors import SymbolicConversionError as SymbolicConversionError
from graphad.core.errors import SymbolicValueError as SymbolicValueError
from graphad.core.errors import UnavailableError as UnavailableError
from graphad.core.errors import UnconvertibleError as UnconvertibleError
from graphad.core.registry import DuplicateGradientError as DuplicateGradientError

InaccessibleTensorError = OutOfScopeError
OpError = GraphadError
OperatorNotAllowedInGraphError = SymbolicValueError
