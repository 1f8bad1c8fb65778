"""Derivatives and batching as functions of functions, with the names of JAX and autograd."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
