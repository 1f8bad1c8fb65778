"""Settings of this process.

GRAPHAD_JIT and GRAPHAD_RELAXED_ARITHMETIC in the environment give the first values of `jit` and `relaxed_arithmetic`.
"""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
