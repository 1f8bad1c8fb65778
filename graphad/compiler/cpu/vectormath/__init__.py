"""Vector functions as text: branch-free scalar LLVM IR that the loop vectoriser turns into packed instructions.

`recipes.function_ir` prints a module with one function, inlined wherever it is called; no call to a mathematical library
remains after code generation.  sin, cos and tan bring a second one for large angles, fmod and mod for long
quotients; these are not inlined.
Errors are stated in docs/accuracy.md.  This package only writes text: it needs neither Numba nor llvmlite.
"""

from graphad.kernels.scalars import TABLE

# The functions, by the module with the formula of that name.
_BY_MODULE = {
    "exponential": "exp expm1 exp2 sigmoid tanh sinh cosh",
    "logarithm": "log log1p log2 log10 softplus asinh acosh atanh",
    "error_function": "erf erfc",
    "trigonometric": "sin cos tan asin acos atan atan2",
    "power": "pow cbrt hypot",
    "remainders": "fmod mod",
}
MODULES: dict[str, str] = {name: module for module, names in _BY_MODULE.items() for name in names.split()}
ARITY: dict[str, int] = {name: TABLE[name].arity for name in MODULES}  # how many operands each function has
SUPPORTED: dict[str, tuple[str, ...]] = dict.fromkeys(MODULES, ("float32", "float64"))
