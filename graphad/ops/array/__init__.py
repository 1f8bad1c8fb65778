"""Create, reshape, join, slice, gather, scatter, sort.

This family stands below all others: what it needs of arithmetic it writes with the tensors' own operators.
"""

from graphad.core.late import attach

__getattr__, __dir__, __all__ = attach(__name__, at_once=True, late="distinct padding partition sorting "
                                       "tiling".split())  # fmt: skip
