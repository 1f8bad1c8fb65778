"""Elementwise functions, comparisons, reductions, cumulative and special functions."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__, at_once=True, late="bessel composed counts digits gamma histogram incomplete places "
    "position segment segment_extremes series special statistics trigonometric truncated".split())  # fmt: skip
