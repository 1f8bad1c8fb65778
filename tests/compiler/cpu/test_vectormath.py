"""The vector functions: errors within what docs/accuracy.md states, C99's special values, packed instructions only."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite")
pytest.importorskip("mpmath")

from mpmath import mp, mpf

from graphad.compiler.cpu import compile as compiling
from graphad.compiler.cpu.vectormath import ARITY, SUPPORTED
from graphad.compiler.cpu.vectormath.recipes import function_ir, symbol
from tests.support.vectormath_harness import (
    compile_loop,
    every_binade,
    optimise,
    target_machine,
    ulp_errors_exact,
)
from tests.support.vectormath_points import DOUBLE, EXACT, errors

ROOT = Path(__file__).resolve().parents[3]
CASES = [(name, dtype) for name, dtypes in SUPPORTED.items() for dtype in dtypes]
UNARY = [(name, dtype) for name, dtype in CASES if ARITY[name] == 1]
BINARY = [(name, dtype) for name, dtype in CASES if ARITY[name] == 2]
INF, NAN = math.inf, math.nan


def stated_bounds() -> dict[tuple[str, str], float]:
    """The column "max" of each row of docs/accuracy.md."""
    bounds = {}
    for line in (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8").splitlines():
        row = re.match(r"\| (\w+) \| ([\d.]+) \| [\d.]+ \| ([\d.]+) \| [\d.]+ \|", line)
        if row:
            bounds[row[1], "float32"], bounds[row[1], "float64"] = float(row[2]), float(row[3])
    return bounds


BOUNDS = stated_bounds()


def test_every_function_states_its_error_and_none_exceeds_two_ulp():
    assert set(BOUNDS) == set(CASES)
    assert max(BOUNDS.values()) <= 2.0


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_error_is_within_the_documented_bound(name, dtype):
    count = 120_000 if dtype == "float32" else 3_000
    found, arguments, got = errors(name, dtype, count, seed=5)
    worst = int(np.argmax(found))
    at = [float(a[worst]) for a in arguments]
    assert found[worst] <= BOUNDS[name, dtype], f"{name}{at} = {got[worst]!r}: {found[worst]:.3f} ulp"


# values at NaN, inf, -inf; zeros are judged by the odd and even functions below
LIMITS = {
    "exp": (INF, 0.0), "expm1": (INF, -1.0), "exp2": (INF, 0.0), "log": (INF, NAN), "log2": (INF, NAN), "log10": (INF, NAN),
    "log1p": (INF, NAN), "tanh": (1.0, -1.0), "sigmoid": (1.0, 0.0), "softplus": (INF, 0.0), "erf": (1.0, -1.0),
    "erfc": (0.0, 2.0), "sin": (NAN, NAN), "cos": (NAN, NAN), "tan": (NAN, NAN), "sinh": (INF, -INF), "cosh": (INF, INF),
    "asin": (NAN, NAN), "acos": (NAN, NAN), "atan": (math.pi / 2, -math.pi / 2), "asinh": (INF, -INF), "acosh": (INF, NAN),
    "atanh": (NAN, NAN), "cbrt": (INF, -INF),
}  # fmt: skip
ODD = ("expm1", "log1p", "tanh", "erf", "sin", "tan", "sinh", "asin", "atan", "asinh", "atanh", "cbrt")
AT_ZERO = {
    "exp": 1.0, "exp2": 1.0, "log": -INF, "log2": -INF, "log10": -INF, "sigmoid": 0.5, "softplus": math.log(2), "erfc": 1.0,
    "cos": 1.0, "cosh": 1.0, "acos": math.pi / 2, "acosh": NAN,
}  # fmt: skip


def assert_same(got: np.ndarray, expected: list[float], label: str) -> None:
    """Equal after rounding, NaN with NaN, and zeros of one sign."""
    want = np.array(expected).astype(got.dtype)
    assert np.array_equal(got, want, equal_nan=True), f"{label}: {got} is not {want}"
    zero = want == 0
    assert np.array_equal(np.signbit(got[zero]), np.signbit(want[zero])), f"{label}: sign of zero in {got}"


def last_place(values: np.ndarray) -> np.ndarray:
    """One ulp of each finite value, as float64."""
    info = np.finfo(values.dtype)
    exponents = np.maximum(np.frexp(values)[1] - 1, int(info.minexp))
    return np.ldexp(1.0, exponents - int(info.nmant))


@pytest.mark.parametrize(("name", "dtype"), UNARY)
def test_infinities_nan_and_signed_zeros(name, dtype):
    f = compile_loop(name, dtype)
    zeros = [0.0, -0.0] if name in ODD else [AT_ZERO[name]] * 2
    x = np.array([NAN, INF, -INF, 0.0, -0.0], dtype)
    assert_same(f(x), [NAN, *LIMITS[name], *zeros], name)


@pytest.mark.parametrize(("name", "dtype"), UNARY)
def test_values_at_the_edges_of_the_format(name, dtype):
    """Subnormals, the smallest normal, the largest number, powers of two and neighbours of one."""
    info = np.finfo(dtype)
    sizes = [info.smallest_subnormal, info.tiny - info.smallest_subnormal, info.tiny, info.eps, info.max]
    sizes += [0.5, 1.0, 2.0, 3.0, 10.0, 1000.0, 2.0**20, 2.0**40, 1 - info.epsneg, 1 + info.eps]
    x = np.array([s * sign for s in sizes for sign in (1, -1)], dtype)
    got = compile_loop(name, dtype)(x)
    with np.errstate(all="ignore"):
        expected = (DOUBLE.get(name) or getattr(np, name))(x.astype(np.float64))
    with np.errstate(over="ignore"):
        rounded = expected.astype(dtype)
    assert np.array_equal(np.isnan(got), np.isnan(rounded))
    assert np.array_equal(np.isinf(got), np.isinf(rounded))
    finite = np.isfinite(rounded)
    unit = last_place(rounded[finite])
    apart = np.abs(got[finite].astype(np.float64) - expected[finite]) / unit
    assert apart.max() <= 4.0  # the reference itself is off by an ulp or two of float64
    assert np.array_equal(np.signbit(got[finite]), np.signbit(rounded[finite]))


SPECIAL = [
    NAN,
    INF,
    -INF,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    2.5,
    1e30,
    -1e30,
    2.0**52 + 1,
]


@pytest.mark.parametrize(("name", "dtype"), BINARY)
def test_special_pairs_follow_c99(name, dtype):
    pairs = np.array([(x, y) for x in SPECIAL for y in SPECIAL], dtype)
    x, y = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    got = compile_loop(name, dtype)(x, y)
    expected = [c99(name, a, b) for a, b in pairs.tolist()]
    with np.errstate(over="ignore", under="ignore"):
        want = np.array(expected).astype(dtype)
    wrong = ~((got == want) | (np.isnan(got) & np.isnan(want)))
    finite = np.isfinite(got) & np.isfinite(want)
    wrong[finite] = np.abs(got[finite].astype(np.float64) - want[finite]) > 2 * last_place(want[finite])
    assert not wrong.any(), [
        (*pair, g, w) for pair, g, w in zip(pairs[wrong].tolist(), got[wrong], want[wrong])
    ]
    assert np.array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))


def c99(name: str, x: float, y: float) -> float:
    """Python's functions, which follow C99 but raise where it gives infinity or NaN."""
    if name == "mod":
        rest = c99("fmod", x, y)
        return rest + y if rest and (rest < 0) != (y < 0) else rest
    if name != "pow":
        try:
            return {"atan2": math.atan2, "hypot": math.hypot, "fmod": math.fmod}[name](x, y)
        except ValueError:
            return NAN
    try:
        return math.pow(x, y)
    except OverflowError:
        return -INF if x < 0 and y % 2 == 1 else INF
    except ValueError:
        if x != 0:
            return NAN
        return -INF if math.copysign(1, x) < 0 and y % 2 == 1 else INF


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exact_results_are_exact(dtype):
    powers = np.array([2.0**k for k in range(-100, 101)], dtype)
    assert np.array_equal(compile_loop("log2", dtype)(powers), np.arange(-100, 101).astype(dtype))
    assert np.array_equal(compile_loop("exp2", dtype)(np.arange(-100, 101).astype(dtype)), powers)
    tens = np.array([10.0**k for k in range(11)], dtype)
    assert np.array_equal(compile_loop("log10", dtype)(tens), np.arange(11).astype(dtype))
    n = np.arange(-100, 101).astype(dtype)
    assert np.array_equal(compile_loop("cbrt", dtype)(n**3), n)
    assert np.array_equal(compile_loop("pow", dtype)(np.abs(n), np.full_like(n, 2)), n * n)


@pytest.mark.parametrize(("name", "dtype"), [c for c in CASES if c[0] in ("tanh", "erf", "sigmoid")])
def test_bounded_functions_stay_in_their_bounds(name, dtype):
    """An error of an ulp must not carry a probability above one."""
    x = np.linspace(-60, 60, 400_001).astype(dtype)
    y = compile_loop(name, dtype)(x)
    assert y.max() <= 1 and y.min() >= (0 if name == "sigmoid" else -1)


ANGLES = [(name, dtype) for name in ("sin", "cos", "tan") for dtype in ("float32", "float64")]
# the numbers nearest to a multiple of pi/2 that each format has, and both sides of the limit of the plain reduction
HARD_ANGLES = {
    "float32": [16367173 * 2.0**72, 2.0**47, 2.0**47 + 2.0**24, 2.0**127],
    "float64": [
        6381956970095103 * 2.0**797,
        5.319372648326541e255,
        1e22,
        2.0**47,
        2.0**47 + 2.0**-5,
        2.0**1023,
    ],
}


@pytest.mark.parametrize(("name", "dtype"), ANGLES)
def test_large_angles_are_as_accurate_as_small_ones(name, dtype):
    hard = HARD_ANGLES[dtype]
    x = np.array([*every_binade(dtype, 2_000, 7, low=46), *hard, *(-v for v in hard)], dtype)
    got = compile_loop(name, dtype)(x)
    with mp.workdps(50):
        found = ulp_errors_exact(got, [EXACT[name](mpf(v)) for v in x.tolist()])
    worst = int(np.argmax(found))
    assert found[worst] <= BOUNDS[name, dtype], (
        f"{name}({x[worst]!r}) = {got[worst]!r}: {found[worst]:.3f} ulp"
    )


@pytest.mark.parametrize(("name", "dtype"), ANGLES)
def test_an_angle_has_one_answer_whatever_stands_next_to_it(name, dtype):
    """Large, small and special arguments in one vector, and each in a loop of its own."""
    rng = np.random.default_rng(3)
    x = np.array([1.0, 1e30, -0.0, NAN, -1e20, INF, 2.0**47, 0.5, -INF, 3e38] * 7, dtype)
    rng.shuffle(x)
    f = compile_loop(name, dtype)
    together, alone = f(x), np.array([f(x[k : k + 1])[0] for k in range(x.size)])
    assert together.tobytes() == alone.tobytes()
    assert np.array_equal(np.isnan(together), ~np.isfinite(x))


@pytest.mark.parametrize(("name", "dtype"), ANGLES)
def test_a_kernel_of_angles_is_vectorised(name, dtype):
    """What keeps the forms for several lanes alive survives the kernel compiler, with two such functions in one kernel."""
    pytest.importorskip("numba")
    code = "f32" if dtype == "float32" else "f64"
    inner = f"add_{code}({name}_{code}(x), cos_{code}(x))"
    text = (
        "def kernel(blk):\n    n = word(blk, 0)\n    o = word(blk, 1)\n    for i in range(0, n):\n"
        f"        x = ld_{code}_o0(o, i)\n        st_{code}_o0(o, i, {inner})\n"
    )
    module = str(compiling._optimised(compiling._printed(text)))
    for called in {name, "cos"}:
        assert re.search(rf"call <\d+ x \w+> @graphad_{called}_{code}_far\d+\(", module)
    assert compiling.compile_source(text)


@pytest.mark.parametrize(
    ("cpu", "width", "register"), [("haswell", None, "ymm"), ("skylake-avx512", 512, "zmm")]
)
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_the_loop_is_packed_and_calls_no_library(name, dtype, cpu, width, register):
    try:
        machine = target_machine(cpu)
    except RuntimeError:
        pytest.skip("this build of LLVM has no x86-64 back end")
    if not machine.triple.startswith("x86_64"):
        pytest.skip("the register names are those of x86-64")
    text = machine.emit_assembly(optimise(name, dtype, machine, width))
    assert re.search(rf"\bv(fn?m(add|sub)|mul)\w*p[sd]\s.*%{register}", text)
    assert not re.search(r"^\s+(call|jmp)q?\s+(?!\.L)\S", text, re.MULTILINE)
    assert register == "zmm" or "vgather" not in text
    if (name, dtype) in ANGLES:
        lanes = (width or 256) // (32 if dtype == "float32" else 64)
        assert re.search(rf"callq?\s+\.L{symbol(name, dtype)}_far{lanes}\b", text)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_module_defines_one_inlined_function_with_no_relaxed_arithmetic(name, dtype):
    """Those with arguments that are rare have one more for these, and its forms for several lanes, which are called."""
    text = function_ir(name, dtype)
    helper = symbol({"mod": "fmod"}.get(name, name), dtype)
    defined = re.findall(r"^define weak_odr .* @(\w+)\(.* (alwaysinline|noinline) ", text, re.MULTILINE)
    has_rare = (name, dtype) in ANGLES or name in ("fmod", "mod")
    far = [f"{helper}_far{n}" for n in ("", 2, 4, 8, 16)] if has_rare else []
    assert defined == [(symbol(name, dtype), "alwaysinline"), *((other, "noinline") for other in far)]
    assert len(re.findall("^define", text, re.MULTILINE)) == len(defined)
    declared = set(re.findall(r"^declare \S+ @llvm\.(\w+)\.", text, re.MULTILINE))
    assert declared <= {
        "fma",
        "fabs",
        "copysign",
        "rint",
        "sqrt",
        *(["fshl", "ctlz", "trunc", "vector"] if far else []),
    }
    assert not re.search(r"\b(fast|contract|reassoc|nnan|ninf|nsz|arcp|afn)\b", text)


def test_the_package_needs_no_compiler_to_print():
    program = (
        "import sys; from graphad.compiler.cpu.vectormath import recipes; recipes.function_ir('tanh', 'float32');"
        "print([m for m in ('numba', 'llvmlite', 'mpmath') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["TANH", "COS"])
def test_the_polynomials_come_from_the_fits(name):
    from graphad.compiler.cpu.vectormath import polynomials
    from tests.support.fit_polynomials import FITS, fit

    task = next(task for task in FITS if task.name == name)
    for key, budget, bits in task.formats:
        coefficients, _ = fit(task, budget, bits)
        assert tuple(float(c) for c in coefficients) == getattr(polynomials, name)[key]
