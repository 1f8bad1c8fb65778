"""NumPy's functions, with NumPy's names and rules, composed of graphad's ops. `graphad.numpy` lists them, NumPy's own functions
dispatch to them for a tensor, and the methods of tensors call them.

Each function is defined once, here, and has no derivative rules of its own. The modules are imported at first use.

The modules by subject:

    dtypes                promotion, types, modes, behavior
    making                creation, grids, indexed, windows, random
    elementwise           ufuncs, elementwise, bits, scipy_special
    shapes                shapes, joining, padding, places
    choosing              choosing, sets
    reductions            reductions, differences, skipping, statistics, quantiles, covariance, histograms, folding
    linear algebra        products, matrices, norms, linalg
    others                polynomials, spectra, fft, applying
"""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
