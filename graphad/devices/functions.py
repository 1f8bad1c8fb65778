"""The functions of NumPy and SciPy that the device's library has with the same meaning, by name."""

from __future__ import annotations

# Functions of CuPy that agree with NumPy: IEEE operations, and functions within some ulps. Integer division by zero, shifts by
# more than the width, integer powers, and float quotients and remainders do not agree.
UFUNCS = frozenset(
    (
        "add subtract multiply negative positive absolute fabs sign conjugate exp exp2 expm1 log log2 log10 log1p sqrt cbrt "
        "square reciprocal sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh hypot maximum minimum "
        "fmax fmin greater greater_equal less less_equal equal not_equal "
        "logical_and logical_or logical_xor logical_not isnan isinf logaddexp nextafter gcd "
        "isfinite signbit copysign floor ceil trunc rint bitwise_and bitwise_or bitwise_xor invert frexp ldexp"
    ).split()
)
FLOATING_UFUNCS = frozenset("divide power float_power fmod".split())
FUNCTIONS = frozenset(
    (
        "reshape transpose swapaxes moveaxis expand_dims squeeze broadcast_to ravel concatenate stack where copy zeros_like "
        "ones_like full_like empty_like flip roll tile repeat pad sum prod max min amax amin all any mean cumsum cumprod clip "
        "argmax argmin matmul dot tensordot real imag conj trace tril triu diagonal "
        "sort argsort flatnonzero nonzero argwhere count_nonzero searchsorted unique broadcast_arrays"
    ).split()
)
# SciPy's functions of numbers that CuPy computes by the same formulas, and their names there where they differ.
SPECIAL = {
    name: name
    for name in (
        "i0 i0e i1 i1e j0 j1 k0 k0e k1 k1e y0 y1 ndtri erfcinv erfcx gammainc gammaincc gammaln psi gamma betainc "
        "betaln expi"
    ).split()
} | {"_zeta": "zeta"}
# Those that evals ask for by name (`DeviceArray.special`).
DEVICE_SPECIAL = frozenset("erf erfc erfinv gammaln".split())
# NumPy's factorisations; cuSOLVER's answers are checked, so that an error is one.
LINALG = frozenset("cholesky qr svd eigh eigvalsh solve inv slogdet".split())
# Ufuncs whose values may be combined in any order, for positions that occur several times.
COMBINING = frozenset("add multiply maximum minimum logical_and logical_or".split())
# The functions for the `reduce` of ufuncs.
REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
# Functions that write into their first argument, and methods of arrays that do.
IN_PLACE = frozenset("put put_along_axis place putmask fill_diagonal".split())
IN_PLACE_METHODS = frozenset("fill sort partition put".split())
# The options of `reduce` that are taken, of other ufuncs only `axis` and `keepdims`.
OPTIONS = {
    "add": {"axis", "keepdims", "dtype"},
    "multiply": {"axis", "keepdims", "dtype"},
    "maximum": {"axis", "keepdims", "initial"},
    "minimum": {"axis", "keepdims", "initial"},
}
RUNNING = {"add": "cumsum", "multiply": "cumprod"}
# Those whose running values are put together from spans.
ASSOCIATIVE = frozenset("logaddexp maximum minimum".split())
TRANSFORMS = frozenset(
    "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft".split()
)
METHODS = frozenset(
    (
        "reshape transpose swapaxes squeeze ravel flatten copy sum prod max min all any mean cumsum cumprod clip conj astype "
        "diagonal trace dot repeat view argmax argmin"
    ).split()
)
