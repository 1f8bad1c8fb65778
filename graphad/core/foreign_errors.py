"""TensorFlow's errors that graphad hardly raises itself, for programs that catch or raise them."""

from __future__ import annotations

from graphad.core.errors import (
    ABORTED,
    ALREADY_EXISTS,
    CANCELLED,
    DATA_LOSS,
    DEADLINE_EXCEEDED,
    PERMISSION_DENIED,
    UNAUTHENTICATED,
    UNIMPLEMENTED,
    GraphadError,
)


class CancelledError(GraphadError, RuntimeError):
    """The operation was cancelled."""

    error_code = CANCELLED


class UnknownError(GraphadError, RuntimeError):
    """An error of unknown cause."""


class DeadlineExceededError(GraphadError, RuntimeError):
    """A time limit has passed."""

    error_code = DEADLINE_EXCEEDED


class AlreadyExistsError(GraphadError, RuntimeError):
    """What should be created exists already."""

    error_code = ALREADY_EXISTS


class PermissionDeniedError(GraphadError, RuntimeError):
    """The caller lacks the permission."""

    error_code = PERMISSION_DENIED


class AbortedError(GraphadError, RuntimeError):
    """The operation was aborted, for instance because of a conflict between writers."""

    error_code = ABORTED


class UnimplementedError(GraphadError, NotImplementedError):
    """The operation is not implemented."""

    error_code = UNIMPLEMENTED


class DataLossError(GraphadError, RuntimeError):
    """Data is lost or damaged beyond recovery."""

    error_code = DATA_LOSS


class UnauthenticatedError(GraphadError, RuntimeError):
    """The caller is not authenticated."""

    error_code = UNAUTHENTICATED
