"""Create, reshape, join, slice, gather, scatter, sort.

Modules on which `math` stands (create, join, reshape, broadcast, shape) compute with the operators of tensors.
"""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__, at_once=True, late="combine distinct "
    "indicators padding partition sorting squeezing static tiling".split())  # fmt: skip
