"""SciPy's solvers on functions of tensors, with derivatives made from the function; solutions that can be differentiated."""

from graphad.core.late import attach

__getattr__, __dir__, __all__ = attach(__name__)
