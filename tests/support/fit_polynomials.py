"""Weighted minimax fits behind graphad/compiler/cpu/vectormath/polynomials.py.

Every table there comes from one `Fit` below: a smooth function g, its interval, the weight that turns an error of g into
a relative error of the elementary function, and the budget that decides the degree.  Run this file to write them again:
`python tests/support/fit_polynomials.py > graphad/compiler/cpu/vectormath/polynomials.py`.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass

from mpmath import mp, mpf

mp.dps = 60

Real = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Fit:
    """g on [lo, hi] by a polynomial; weight(t) * (g(t) - p(t)) stays below the budget of each format."""

    name: str
    g: Real
    weight: Real
    lo: str
    hi: str
    note: str
    formats: tuple[tuple[str, int, int], ...]  # (table key, bits of the budget, bits of a coefficient)
    parts: int = 1  # coefficients that share power 0: the second is what rounding left


def round_to(value: mpf, bits: int) -> mpf:
    """The nearest float64 or float32."""
    nearest = float(value)
    if bits == 24:
        (nearest,) = struct.unpack("f", struct.pack("f", nearest))
    return mpf(nearest)


def grid_of(lo: mpf, hi: mpf, count: int) -> list[mpf]:
    """Points that crowd at both ends as the extremes of a Chebyshev polynomial do."""
    middle, half = (lo + hi) / 2, (hi - lo) / 2
    return [middle - half * mp.cos(mp.pi * i / (count - 1)) for i in range(count)]


def horner(coefficients: list[mpf], t: mpf) -> mpf:
    """The polynomial's value, coefficients low order first."""
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * t + c
    return total


def minimax(points: list[mpf], goal: list[mpf], weight: list[mpf], degree: int) -> tuple[list[mpf], mpf]:
    """Remez exchange on a grid: coefficients, low order first, and the largest weighted error."""
    size = degree + 2
    chosen = [round(i * (len(points) - 1) / (size - 1)) for i in range(size)]
    best: tuple[list[mpf], mpf] = ([], mpf("inf"))
    for _ in range(12):
        rows = mp.matrix(size, size)
        side = mp.matrix(size, 1)
        for row, i in enumerate(chosen):
            power = weight[i]
            for column in range(degree + 1):
                rows[row, column] = power
                power *= points[i]
            rows[row, degree + 1] = mpf(-1) ** row
            side[row] = weight[i] * goal[i]
        solved = mp.lu_solve(rows, side)
        coefficients = [solved[j] for j in range(degree + 1)]
        level = abs(solved[degree + 1])
        error = [w * (g - horner(coefficients, t)) for t, g, w in zip(points, goal, weight, strict=True)]
        worst = max(abs(e) for e in error)
        best = min(best, (coefficients, worst), key=lambda pair: pair[1])
        chosen = _alternation(error, size)
        if worst <= level * mpf("1.02") or len(chosen) < size:
            break
    return best


def _alternation(error: list[mpf], size: int) -> list[int]:
    """Indices of `size` extremes of alternating sign, the largest ones kept."""
    peaks: list[int] = []
    for i, e in enumerate(error):
        if e == 0:
            continue
        if peaks and (error[peaks[-1]] > 0) == (e > 0):
            if abs(e) > abs(error[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    while len(peaks) > size:  # drop the weaker end: alternation survives
        peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
    return peaks


def fit(task: Fit, budget_bits: int, coefficient_bits: int) -> tuple[list[mpf], mpf]:
    """The smallest degree within the budget; low coefficients are rounded first and the others fitted again around them."""
    lo, hi = mpf(mp.mpmathify(task.lo)), mpf(mp.mpmathify(task.hi))
    points = grid_of(lo, hi, 500)
    goal = [task.g(t) for t in points]
    weight = [task.weight(t) for t in points]
    for degree in range(1, 30):
        coefficients, worst = minimax(points, goal, weight, degree)
        if worst < mpf(2) ** -budget_bits:
            break
    else:
        raise ValueError(f"{task.name}: no degree below 30 reaches 2**-{budget_bits}")
    if task.parts == 2:
        high = round_to(coefficients[0], coefficient_bits)
        final = [high, *(round_to(c, coefficient_bits) for c in [coefficients[0] - high, *coefficients[1:]])]
        folded = [final[0] + final[1], *final[2:]]
        return final, max(
            abs(w * (g - horner(folded, t))) for t, g, w in zip(points, goal, weight, strict=True)
        )
    final = []
    rest, scale = list(goal), list(weight)
    while len(final) <= degree:
        final.append(round_to(coefficients[0], coefficient_bits))
        rest = [(g - final[-1]) / t for g, t in zip(rest, points, strict=True)]
        scale = [w * t for w, t in zip(scale, points, strict=True)]
        left = degree - len(final)
        refitted, reached = (
            minimax(points, rest, scale, left) if left >= 1 and len(final) < 4 else ([], mpf("inf"))
        )
        coefficients = refitted if reached < 2 * worst else coefficients[1:]
    error = max(abs(w * (g - horner(final, t))) for t, g, w in zip(points, goal, weight, strict=True))
    return final, error


def _atanh_rest(w: mpf) -> mpf:
    s = mp.sqrt(w)
    return (2 * mp.atanh(s) - 2 * s) / (s * w)


def _log_erfc(t: mpf) -> mpf:
    return mp.log(mp.erfc(t))


def _scaled_erfc(t: mpf) -> mpf:
    x = mpf("2.5") * (1 + t) / (1 - t)
    return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)


BOTH = (("f64", 58, 53), ("f32", 28, 24))
WIDE = (("f64", 59, 53), ("f32", 29, 24))

FITS = (
    Fit(
        "EXP",
        lambda r: (mp.exp(r) - 1 - r) / r**2,
        lambda r: abs(r**2 / mp.expm1(r)),
        "-0.3470001",
        "0.347",
        "e**r = 1 + r + r**2 * p(r), |r| <= ln(2)/2; relative to expm1(r)",
        (("f64", 59, 53), ("f32", 27, 24), ("wide", 33, 53)),
    ),
    Fit(
        "LOG",
        _atanh_rest,
        lambda w: w / 2,
        "1e-9",
        "0.029438",
        "2 atanh(s) = 2 s + s * w * p(w), w = s**2, s = f / (2 + f), 1 + f in [sqrt(1/2), sqrt(2)]",
        (("f64", 58, 53), ("f32", 28, 24), ("wide", 43, 53)),
    ),
    Fit("LOG_UNIT", _atanh_rest, lambda w: w / 2, "1e-9", "0.111112", "as LOG, for 1 + f in [1, 2]", BOTH),
    Fit(
        "LOG_TAIL",
        lambda w: (_atanh_rest(w) - mpf(2) / 3) / w,
        lambda w: w * w / 2,
        "1e-9",
        "0.029438",
        "2 atanh(s) = 2 s + s**3 * 2/3 + s**5 * p(w), for pow",
        (("f64", 69, 53),),
    ),
    Fit(
        "TANH",
        lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z,
        "1e-9",
        "0.3907",
        "tanh(x) = x + x * z * p(z), z = x**2, |x| <= 0.625",
        (("f32", 28, 24),),
    ),
    Fit(
        "SINH",
        lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z,
        "1e-9",
        "0.1205",
        "sinh(r) = r + r * z * p(z), z = r**2, |r| <= ln(2)/2",
        WIDE,
    ),
    Fit(
        "COSH",
        lambda z: (mp.cosh(mp.sqrt(z)) - 1) / z,
        lambda z: z,
        "1e-9",
        "0.1205",
        "cosh(r) = 1 + z * p(z)",
        WIDE,
    ),
    Fit(
        "ERF",
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1,
        lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)),
        "1e-9",
        "1.0001",
        "erf(x) = x + x * p(z), z = x**2, |x| <= 1",
        WIDE,
    ),
    Fit(
        "LOG_ERFC",
        lambda u: _log_erfc(u + 2),
        lambda u: mp.erfc(u + 2) / mp.erf(u + 2),
        "-1.0001",
        "3.96",
        "erfc(t) = exp(p(t - 2)), 1 <= t <= 5.95; relative to erf(t)",
        WIDE,
    ),
    Fit(
        "ERFC",
        _scaled_erfc,
        lambda t: 1 / _scaled_erfc(t),
        "-0.66667",
        "0.8323",
        "erfc(x) = exp(-x**2) * p(t) / (1 + 2 x), t = (x - 5/2) / (x + 5/2), 1/2 <= x <= 27.3; p[0] in two parts",
        (("f64", 59, 53),),
        parts=2,
    ),
    Fit(
        "ERFC_SHORT",
        _scaled_erfc,
        lambda t: 1 / _scaled_erfc(t),
        "-0.66667",
        "0.6033",
        "as ERFC, to x = 10.1",
        (("f32", 28, 24),),
        parts=2,
    ),
    Fit(
        "SIN",
        lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)),
        "1e-9",
        "0.6175",
        "sin(r) = r + r * z * p(z), z = r**2, |r| <= pi/4",
        (("f64", 57, 53), ("f32", 26, 24)),
    ),
    Fit(
        "COS",
        lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
        lambda z: z**2,
        "1e-9",
        "0.6175",
        "cos(r) = 1 - z/2 + z**2 * p(z)",
        WIDE,
    ),
    Fit(
        "ATAN",
        lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)),
        "1e-9",
        "0.17158",
        "atan(t) = t + t * z * p(z), z = t**2, |t| <= tan(pi/8)",
        BOTH,
    ),
    Fit(
        "ASIN",
        lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z * mp.sqrt(z) / mp.asin(mp.sqrt(z)),
        "1e-9",
        "0.2501",
        "asin(s) = s + s * z * p(z), z = s**2, |s| <= 1/2",
        BOTH,
    ),
)

HEADER = '''"""Minimax polynomials of the vector functions, low order first, one table per function and float format.

Written by tests/support/fit_polynomials.py, which holds intervals and weights; do not edit by hand.
"f64" and "f32" are evaluated in their own format, "wide" is float64 arithmetic with a float32 budget.
"""

from __future__ import annotations
'''


def main() -> None:
    print(HEADER)
    print("Table = dict[str, tuple[float, ...]]")
    for task in FITS:
        print(f"\n# {task.note}")
        print(f"{task.name}: Table = {{")
        for key, budget, bits in task.formats:
            coefficients, error = fit(task, budget, bits)
            print(
                f"{task.name} {key}: degree {len(coefficients) - 1}, error 2**{float(mp.log(error, 2)):.1f}",
                file=sys.stderr,
            )
            print(f'    "{key}": (')
            for c in coefficients:
                print(f"        {float(c)!r},")
            print("    ),")
        print("}")


if __name__ == "__main__":
    main()
