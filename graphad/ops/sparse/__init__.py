"""Sparse tensors: a tensor by those of its values that are not 0, and where they are. All is made of ops on dense tensors."""

from graphad.core.late import attach

__getattr__, __dir__, __all__ = attach(__name__)
