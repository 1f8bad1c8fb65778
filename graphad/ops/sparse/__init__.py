"""Sparse tensors: the nonzero values of a tensor and their indices. All functions are composed of ops on dense tensors."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
