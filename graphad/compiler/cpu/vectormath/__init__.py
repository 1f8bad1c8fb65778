"""Vector functions as text: branch-free scalar LLVM IR that the loop vectoriser turns into packed instructions.

`recipes.function_ir` prints a module with one function, inlined wherever it is called; no call to a mathematical library
remains after code generation.  sin, cos and tan bring a second one for large angles, which is not inlined.
Errors are stated in docs/accuracy.md.  This package only writes text: it needs neither Numba nor llvmlite.
"""
