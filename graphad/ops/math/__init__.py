"""Elementwise functions, comparisons, reductions, cumulative and special functions."""
