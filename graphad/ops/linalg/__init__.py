"""Matrix products, Einstein sums, linear systems, factorisations, norms.

The modules by subject:

    products              matmul, contraction, axis_products, direct
    systems, factors      systems, determinants, factors, eigen, banded, tridiagonal, iterative
    diagonals             diagonal, diagonals
    matrix functions      functions, functions_there, composed, pseudo_inverse, norms
    linear operators      operators, shaped, held, structured, circulant, identities, low_rank,
                          operator_products, operator_slices
"""

import graphad.ops.linalg.matmul  # before the function of the same name is bound
from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
