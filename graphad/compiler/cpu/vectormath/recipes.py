"""The text of each function: `function_ir` prints a module with one of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from graphad.compiler.cpu.vectormath import ARITY, MODULES, exact, power, remainders, special, special_slopes
from graphad.compiler.cpu.vectormath.text import FORMATS, Block, Format, Value, module_text

# Functions of eager arrays in float32 alone: the number of operands, the dtype that they are widened to, if it is another one,
# and the recipe.
EAGER: dict[str, tuple[int, str, Callable[..., Value]]] = {
    "erfinv": (1, "float64", special.erfinv),
    "lgamma": (1, "float64", special.lgamma),
    "digamma": (1, "float64", special.digamma),
    **{
        f"polygamma_{n}": (1, "float64", special.derivative_of_digamma(n))
        for n in range(1, special.ORDERS + 1)
    },
    "logaddexp": (2, "float64", special.logaddexp),
    "erfc_of_float32": (1, "float64", special.erfc),
    "erfcinv": (1, "float64", special.erfcinv),
    "ndtri": (1, "float64", special.ndtri),
    **{
        f"bessel_{letter}{order}{'e' if scaled else ''}": (1, "float64", function(order, scaled))
        for letter, function in (("i", special.modified), ("k", special.second))
        for order in (0, 1)
        for scaled in (False, True)
    },
    "dawsn": (1, "float64", special.dawsn),
    "expint": (1, "float64", special.expint),
    "fresnel_sin": (1, "float64", special.fresnel(True)),
    "fresnel_cos": (1, "float64", special.fresnel(False)),
    "zeta": (2, "float64", special.zeta),
    **{
        f"bessel_{name}_slope": (1, "float64", function(int(name[1]), name.endswith("e")))
        for function, names in (
            (special_slopes.modified_slope, ("i0e", "i1", "i1e")),
            (special_slopes.second_slope, ("k0e", "k1", "k1e")),
        )
        for name in names
    },
    "dawsn_slope": (1, "float64", special_slopes.dawsn_slope),
    "expint_slope": (1, "float64", special_slopes.expint_slope),
    "fresnel_sin_slope": (1, "float64", special_slopes.fresnel_slope(True)),
    "fresnel_cos_slope": (1, "float64", special_slopes.fresnel_slope(False)),
    "zeta_by_x": (2, "float64", special_slopes.zeta_by_x),
    "hypotenuse": (2, "float32", power.hypot),
    "nextafter": (2, "float32", exact.nextafter),
    "copysign": (2, "float32", exact.copy_sign),
    "heaviside": (2, "float32", exact.heaviside),
    "floor_divide": (2, "float32", exact.floor_divide),
    "truncated": (2, "float32", remainders.fmod),
    "floored": (2, "float32", remainders.mod),
    "gelu": (1, "float32", exact.gelu),
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
        arity, _, recipe = EAGER[name]
    else:
        formulas = import_module(f"graphad.compiler.cpu.vectormath.{MODULES[name]}")
        arity, recipe = ARITY[name], getattr(formulas, name)
    form: Format = FORMATS[dtype_name]
    block = Block()
    parameters = [Value(block, f"%{letter}", form.real) for letter in "xy"[:arity]]
    result = recipe(form, *parameters)
    return module_text(symbol(name, dtype_name), form, block, parameters, result)
