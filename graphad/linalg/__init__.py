"""Matrix products, Einstein sums, linear systems, factorisations, norms."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
