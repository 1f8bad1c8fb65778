"""Elementwise functions, comparisons, reductions, cumulative and special functions.

The modules by subject:

    elementwise           arithmetic, exponential, power, trigonometric, rounding, truncated, remainders,
                          integers, complexes, cast, cardinal_sine, digits, exactly
    comparing, bits       compare, select, bitwise
    reductions            reduce, element_count, statistics, sums, sum_of_products, position, cumulative
    segments, places      segment, segment_extremes, segment_others, search, counts, histogram, places
    special functions     special, gamma, gamma_tails, digamma_zeros, incomplete, parameter_slopes, beta_density, bessel,
                          bessel_far, bessel_modified, bessel_zeros, series, by_scipy, compiled_loops, native_loops
    composed              composed, polynomial, convolved, fake_quantisation
"""

import graphad.ops.math.cast  # before the function of the same name is bound
from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
