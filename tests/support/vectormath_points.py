"""The test points of the vector functions, and the reference results there.

`points` covers every binade and then the region where each function does something; `EXACT` answers with 50 digits, `DOUBLE` in
float64 for judging float32.  `python -m tests.support.vectormath_points` prints the table of docs/accuracy.md.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp, mpf

from graphad.compiler.cpu.vectormath import ARITY, SUPPORTED
from tests.support.vectormath_harness import compile_loop, every_binade, ulp_errors, ulp_errors_exact


def _mp_softplus(x: mpf) -> mpf:
    return mp.log1p(mp.exp(x)) if x < 60 else x + mp.log1p(mp.exp(-x))


def _mp_sigmoid(x: mpf) -> mpf:
    return 1 / (1 + mp.exp(-x)) if x > -1e6 else mpf(0)


def _fmod(x: mpf, y: mpf) -> mpf:
    """By fractions, whose numbers have as many digits as they need."""
    a, b = Fraction(float(x)), abs(Fraction(float(y)))
    rest = abs(a) - b * (abs(a) // b)
    return mpf(rest.numerator) / rest.denominator * (-1 if a < 0 else 1)


def _mod(x: mpf, y: mpf) -> mpf:
    rest = _fmod(x, y)
    return rest + y if rest and (rest < 0) != (y < 0) else rest


def _double_mod(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    rest = np.fmod(x, y)
    return np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + y, rest)


EXACT: dict[str, Callable[..., mpf]] = {
    "exp": mp.exp,
    "expm1": mp.expm1,
    "log": mp.log,
    "log1p": mp.log1p,
    "tanh": mp.tanh,
    "sigmoid": _mp_sigmoid,
    "softplus": _mp_softplus,
    "erf": mp.erf,
    "erfc": lambda x: mp.erfc(max(min(x, mpf(1000)), mpf(-1000))),
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "exp2": lambda x: mp.power(2, x),
    "log2": lambda x: mp.log(x, 2),
    "log10": mp.log10,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "asin": mp.asin,
    "acos": mp.acos,
    "atan": mp.atan,
    "atan2": mp.atan2,
    "asinh": mp.asinh,
    "acosh": mp.acosh,
    "atanh": mp.atanh,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "hypot": mp.hypot,
    "pow": mp.power,
    "fmod": _fmod,
    "mod": _mod,
}


def _by_element(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.array([function(v) for v in x.tolist()])


def _np_sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1.0) / (1 + e)


DOUBLE: dict[str, Callable[..., np.ndarray]] = {
    "sigmoid": _np_sigmoid,
    "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    "erf": _by_element(math.erf),
    "erfc": _by_element(math.erfc),
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "pow": np.power,
    "mod": _double_mod,
}

# The interesting interval of each function: (float32, float64).
_WIDE_EXP = ((-104.5, 89.5), (-746.0, 710.5))
INTERVAL: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "exp": _WIDE_EXP,
    "expm1": ((-20, 89.5), (-40, 710.5)),
    "exp2": ((-152, 129), (-1080, 1025)),
    "tanh": ((-10, 10), (-20, 20)),
    "sigmoid": ((-104.5, 20), (-746, 40)),
    "softplus": ((-104.5, 20), (-746, 40)),
    "erf": ((-4.5, 4.5), (-6.5, 6.5)),
    "erfc": ((-4.5, 10.5), (-6.5, 27.5)),
    "sinh": ((-90, 90), (-711, 711)),
    "cosh": ((-90, 90), (-711, 711)),
    "log": ((0, 10), (0, 10)),
    "log2": ((0, 10), (0, 10)),
    "log10": ((0, 10), (0, 10)),
    "log1p": ((-1, 10), (-1, 10)),
    "acosh": ((1, 10), (1, 10)),
    "asin": ((-1, 1), (-1, 1)),
    "acos": ((-1, 1), (-1, 1)),
    "atanh": ((-1, 1), (-1, 1)),
}


def points(name: str, dtype: str, count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """About `count` arguments inside the function's domain, one array per operand."""
    rng = np.random.default_rng(seed)
    if name == "pow":
        return _powers(dtype, count, rng, seed)
    part = count // 4
    if ARITY[name] == 2:
        spread = rng.normal(size=2 * part), rng.normal(size=2 * part) * 10.0 ** rng.integers(-3, 3, 2 * part)
        return tuple(
            np.concatenate([every_binade(dtype, 2 * part, seed + i), values.astype(dtype)])
            for i, values in enumerate(spread)
        )
    low, high = INTERVAL.get(name, ((-10.0, 10.0), (-10.0, 10.0)))[dtype == "float64"]
    top = {"asin": 0, "acos": 0, "atanh": 0}.get(name)
    bottom = 0 if name == "acosh" else None
    binades = every_binade(dtype, part, seed, bottom, top)
    if low >= 0:
        binades = np.abs(binades)
    if name == "log1p":
        binades = np.where(binades <= -1, -binades, binades)
    chosen = [
        binades,
        rng.uniform(low, high, part).astype(dtype),
        rng.uniform(max(low, -1.5), min(high, 1.5), part).astype(dtype),
    ]
    if name in ("sin", "cos", "tan"):
        multiples = np.where(
            rng.random(part) < 0.5, rng.integers(-200, 200, part), rng.integers(-(2**40), 2**40, part)
        )
        chosen.append((multiples * (math.pi / 2)).astype(dtype))
    elif low > -1.5 and name != "log1p":
        near = 1 + np.abs(every_binade(dtype, part, seed + 1, -20, -1)) * (1 if low >= 1 else -1)
        chosen.append(near.astype(dtype))
    else:
        chosen.append(rng.uniform(-0.7, 0.7, part).astype(dtype))
    values = np.concatenate(chosen)
    # rounding to float32 can reach an end of the domain, where the edge tests take over
    return (
        values[(values > low) & (values < high)]
        if low > -1.5 and high <= 1
        else values[values > low]
        if low >= -1
        else values,
    )


def _powers(dtype: str, count: int, rng: np.random.Generator, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Bases of every size with exponents that carry the result over the whole range of the format."""
    part = count // 4
    base = np.concatenate(
        [
            np.abs(every_binade(dtype, part, seed)),
            rng.uniform(0.1, 3, part).astype(dtype),
            (1 + rng.normal(size=part) * 1e-3).astype(dtype),
            rng.uniform(0.1, 30, part).astype(dtype),
        ]
    )
    logarithm = np.log(base.astype(np.float64))
    logarithm = np.where(np.abs(logarithm) < 1e-7, 1.0, logarithm)
    reach = (-750.0, 712.0) if dtype == "float64" else (-106.0, 90.0)
    exponent = rng.uniform(*reach, base.size) / logarithm
    exponent[-part:] = rng.integers(-10, 20, part)
    return base, exponent.astype(dtype)


def errors(
    name: str, dtype: str, count: int, seed: int = 0
) -> tuple[np.ndarray, tuple[np.ndarray, ...], np.ndarray]:
    """(errors in ulp, arguments, results): float32 judged in float64, float64 with 50 digits."""
    arguments = points(name, dtype, count, seed)
    got = compile_loop(name, dtype)(*arguments)
    return judged(name, arguments, got), arguments, got


def judged(name: str, arguments: tuple[np.ndarray, ...], got: np.ndarray) -> np.ndarray:
    """Errors in ulp of results of any origin."""
    if got.dtype == np.float32:
        reference: Any = DOUBLE.get(name) or getattr(np, name)
        with np.errstate(all="ignore"):
            return ulp_errors(got, reference(*(a.astype(np.float64) for a in arguments)))
    with mp.workdps(50):
        exact = [EXACT[name](*map(mpf, row)) for row in zip(*(a.tolist() for a in arguments), strict=True)]
        return ulp_errors_exact(got, exact)


def main() -> None:
    for name in sys.argv[1:] or SUPPORTED:
        cells = []
        for dtype, count in (("float32", 4_000_000), ("float64", 40_000)):
            found, arguments, got = errors(
                name, dtype, 400_000 if name in ("erf", "erfc") and count > 1e6 else count, seed=11
            )
            worst = int(np.argmax(found))
            cells.append(f"{found[worst]:.3f} | {found.mean():.2f}")
            print("   ", dtype, [float(a[worst]) for a in arguments], float(got[worst]), flush=True)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
