"""The text of each function: `function_ir` prints a module with one of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from graphad.compiler.cpu.vectormath import ARITY, MODULES, special
from graphad.compiler.cpu.vectormath.text import FORMATS, Block, Format, Value, module_text

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
      name: One of `SUPPORTED`; `ARITY` says how many operands it takes. Or one of `EAGER`.
      dtype_name: "float32" or "float64".
    Returns: The module's text, without target triple or data layout.
    Raises: KeyError: the function or dtype is not in `SUPPORTED`.
    """
    if name in EAGER:
        arity, recipe = EAGER[name]
    else:
        formulas = import_module(f"graphad.compiler.cpu.vectormath.{MODULES[name]}")
        arity, recipe = ARITY[name], getattr(formulas, name)
    form: Format = FORMATS[dtype_name]
    block = Block()
    parameters = [Value(block, f"%{letter}", form.real) for letter in "xy"[:arity]]
    result = recipe(form, *parameters)
    return module_text(symbol(name, dtype_name), form, block, parameters, result)
