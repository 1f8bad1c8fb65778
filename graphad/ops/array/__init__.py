"""Create, reshape, join, slice, gather, scatter, sort.

This family is below all others: for arithmetic it uses the operators of tensors.
"""

from graphad.core.late import attach

__getattr__, __dir__, __all__ = attach(__name__, at_once=True, late="distinct padding partition sorting "
                                       "tiling".split())  # fmt: skip
