"""Derivatives and batching as functions of functions, under the names that users of JAX and autograd know."""

from graphad.core.late import attach

__getattr__, __dir__, __all__ = attach(__name__)
