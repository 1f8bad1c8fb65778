"""Matrix products, Einstein sums, linear systems, factorisations, norms."""

from graphad.ops.linalg import *
