"""SciPy's solvers on functions of tensors, with derivatives of the function; and differentiable solutions."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
