"""The text of each function: `function_ir` prints a module with one of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from graphad.compiler.cpu.vectormath import (
    ARITY,
    SUPPORTED,
    error_function,
    exponential,
    logarithm,
    power,
    remainders,
    special,
    trigonometric,
)
from graphad.compiler.cpu.vectormath.text import FORMATS, Block, Format, Value, module_text

__all__ = ["ARITY", "EAGER", "SUPPORTED", "function_ir", "symbol"]

_RECIPES: dict[str, Callable[..., Value]] = {
    "exp": exponential.exp,
    "expm1": exponential.expm1,
    "log": logarithm.log,
    "log1p": logarithm.log1p,
    "tanh": exponential.tanh,
    "sigmoid": exponential.sigmoid,
    "softplus": logarithm.softplus,
    "erf": error_function.erf,
    "erfc": error_function.erfc,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "exp2": exponential.exp2,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "sinh": exponential.sinh,
    "cosh": exponential.cosh,
    "asin": trigonometric.asin,
    "acos": trigonometric.acos,
    "atan": trigonometric.atan,
    "atan2": trigonometric.atan2,
    "asinh": logarithm.asinh,
    "acosh": logarithm.acosh,
    "atanh": logarithm.atanh,
    "cbrt": power.cbrt,
    "hypot": power.hypot,
    "pow": power.pow,
    "fmod": remainders.fmod,
    "mod": remainders.mod,
}
# Functions of eager arrays in float32 alone, with the number of operands; computed in float64.
EAGER: dict[str, tuple[int, Callable[..., Value]]] = {
    "erfinv": (1, special.erfinv),
    "lgamma": (1, special.lgamma),
    "digamma": (1, special.digamma),
    **{f"polygamma_{n}": (1, special.derivative_of_digamma(n)) for n in range(1, special.ORDERS + 1)},
    "logaddexp": (2, special.logaddexp),
}


def symbol(name: str, dtype_name: str) -> str:
    """The name of the function that `function_ir` defines, `graphad_tanh_f32`."""
    return f"graphad_{name}_{FORMATS[dtype_name].key}"


@cache
def function_ir(name: str, dtype_name: str) -> str:
    """An LLVM IR module with one `weak_odr alwaysinline` function, and what it calls itself.

    Args:
      name: A key of `SUPPORTED`; `ARITY` says how many operands it takes. Or one of `EAGER`.
      dtype_name: "float32" or "float64".
    Returns: The module's text, without target triple or data layout.
    Raises: KeyError: the function or dtype is not in `SUPPORTED`.
    """
    arity, recipe = EAGER[name] if name in EAGER else (ARITY[name], _RECIPES[name])
    form: Format = FORMATS[dtype_name]
    block = Block()
    parameters = [Value(block, f"%{letter}", form.real) for letter in "xy"[:arity]]
    result = recipe(form, *parameters)
    return module_text(symbol(name, dtype_name), form, block, parameters, result)
