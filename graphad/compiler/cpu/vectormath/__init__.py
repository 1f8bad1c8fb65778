"""Vector functions as text: branch-free scalar LLVM IR that the loop vectoriser turns into packed instructions.

`recipes.function_ir` prints a module with one function, inlined wherever it is called; no call to a mathematical library
remains after code generation.  sin, cos and tan bring a second one for large angles, fmod and mod for long
quotients; these are not inlined.
Errors are stated in docs/accuracy.md.  This package only writes text: it needs neither Numba nor llvmlite.
"""

# How many operands each function has; `recipes` has what they are made of.
ARITY: dict[str, int] = {
    **dict.fromkeys(
        "exp expm1 log log1p tanh sigmoid softplus erf erfc sin cos tan "
        "exp2 log2 log10 sinh cosh asin acos atan asinh acosh atanh cbrt".split(),
        1,
    ),
    **dict.fromkeys(("atan2", "hypot", "pow", "fmod", "mod"), 2),
}
SUPPORTED: dict[str, tuple[str, ...]] = dict.fromkeys(ARITY, ("float32", "float64"))
