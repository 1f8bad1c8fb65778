"""Matrix products, Einstein sums, linear systems, factorisations, norms."""

import graphad.ops.linalg.matmul  # before the function of the same name is bound
from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
