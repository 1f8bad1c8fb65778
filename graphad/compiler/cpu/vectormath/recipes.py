"""Which functions there are, of how many operands, and their text: `function_ir` prints a module with one of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from graphad.compiler.cpu.vectormath import error_function, exponential, logarithm, power, trigonometric
from graphad.compiler.cpu.vectormath.text import FORMATS, Block, Format, Value, module_text

__all__ = ["ARITY", "SUPPORTED", "function_ir", "symbol"]

_RECIPES: dict[str, tuple[int, Callable[..., Value]]] = {
    "exp": (1, exponential.exp),
    "expm1": (1, exponential.expm1),
    "log": (1, logarithm.log),
    "log1p": (1, logarithm.log1p),
    "tanh": (1, exponential.tanh),
    "sigmoid": (1, exponential.sigmoid),
    "softplus": (1, logarithm.softplus),
    "erf": (1, error_function.erf),
    "erfc": (1, error_function.erfc),
    "sin": (1, trigonometric.sin),
    "cos": (1, trigonometric.cos),
    "tan": (1, trigonometric.tan),
    "exp2": (1, exponential.exp2),
    "log2": (1, logarithm.log2),
    "log10": (1, logarithm.log10),
    "sinh": (1, exponential.sinh),
    "cosh": (1, exponential.cosh),
    "asin": (1, trigonometric.asin),
    "acos": (1, trigonometric.acos),
    "atan": (1, trigonometric.atan),
    "atan2": (2, trigonometric.atan2),
    "asinh": (1, logarithm.asinh),
    "acosh": (1, logarithm.acosh),
    "atanh": (1, logarithm.atanh),
    "cbrt": (1, power.cbrt),
    "hypot": (2, power.hypot),
    "pow": (2, power.pow),
}

SUPPORTED: dict[str, tuple[str, ...]] = dict.fromkeys(_RECIPES, ("float32", "float64"))
ARITY: dict[str, int] = {name: arity for name, (arity, _) in _RECIPES.items()}


def symbol(name: str, dtype_name: str) -> str:
    """The name of the function that `function_ir` defines, `graphad_tanh_f32`."""
    return f"graphad_{name}_{FORMATS[dtype_name].key}"


@cache
def function_ir(name: str, dtype_name: str) -> str:
    """An LLVM IR module with one `weak_odr alwaysinline` function, and what it calls itself.

    Args:
      name: A key of `SUPPORTED`; atan2 and pow take two operands, the others one.
      dtype_name: "float32" or "float64".
    Returns: The module's text, without target triple or data layout.
    Raises: KeyError: the function or dtype is not in `SUPPORTED`.
    """
    arity, recipe = _RECIPES[name]
    form: Format = FORMATS[dtype_name]
    block = Block()
    parameters = [Value(block, f"%{letter}", form.real) for letter in "xy"[:arity]]
    result = recipe(form, *parameters)
    return module_text(symbol(name, dtype_name), form, block, parameters, result)
