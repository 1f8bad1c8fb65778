"""Eager ops, the evaluation plan and native code agree to the last bit wherever each step has one right result.

That is everywhere but in vector functions and in sums. Only `set_relaxed_arithmetic` changes it, at once and for what was
compiled before as well.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import graphad as tf
from graphad.compiler.partition import partition
from graphad.compiler.pipeline import optimise
from graphad.compiler.plan.executable import Executable, executable_of
from graphad.core import dtypes
from graphad.core.bind import bind
from graphad.core.errors import GraphadError
from graphad.core.registry import all_ops
from graphad.graph.evaluate import evaluate
from graphad.ops.elementwise import Elementwise
from graphad.trace.specialise import specialise
from graphad.trace.tracer import trace_flat
from tests.support.bits import assert_same_bits, exact_natively, is_exact

REAL = [dtype for dtype in dtypes.ALL if not dtype.is_complex]


@pytest.fixture(autouse=True)
def exact_arithmetic() -> Any:
    yield
    tf.config.set_relaxed_arithmetic(False)


# -- every elementwise op, at special and at random values --


def numbers(dtype: Any) -> np.ndarray:
    """Special values and a few others."""
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        values = [0, 1, 2, 3, 5, 7, 8, 31, 33, 63, 64, 100, info.max, info.max - 1, info.min, info.min + 1]
        return np.array(
            [x for x in (*values, *[-x for x in values]) if info.min <= x <= info.max], dtype.numpy
        )
    info = np.finfo(np.float32 if dtype is dtypes.bfloat16 else dtype.numpy)
    ends = [float(x) for x in (info.max, info.tiny, info.tiny / 8, info.eps)]
    values = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 88.0, 1e-3, 1 / 3, np.pi, 1e4 / 7, *ends, np.inf]
    with np.errstate(over="ignore"):
        return np.array([*values, *[-x for x in values], np.nan]).astype(dtype.numpy)


def arity(kind: Any) -> int:
    if isinstance(kind.formula, np.ufunc):
        return kind.formula.nin
    for count in (1, 2, 3):
        for sample in (np.full(1, 0.5), np.full(1, 2), np.full(1, True)):
            try:
                kind.formula(
                    *([np.full(1, True)] if kind.name in ("where", "select") else []), *[sample] * count
                )
            except (TypeError, ValueError, np.exceptions.DTypePromotionError):
                continue
            return count + (kind.name in ("where", "select"))
    raise AssertionError(f"{kind.name} takes neither one, two nor three operands")


KINDS = [
    kind for _, kind in sorted(all_ops().items()) if issubclass(kind, Elementwise) and not kind.attributes
]


def columns(kind: Any, dtype: Any) -> list[np.ndarray]:
    count = arity(kind)
    values = numbers(dtype)
    if count == 3:
        values = values[:: max(1, len(values) // 9)]
    found = [
        np.array(c).astype(dtype.numpy) for c in zip(*itertools.product(values, repeat=count), strict=True)
    ]
    if kind.name in ("where", "select"):
        found[0] = found[0].astype(bool)
    if kind.name in ("floordiv", "mod", "truncatediv", "truncatemod") and dtype.is_integer:
        found[1][found[1] == 0] = 1
    if kind.name == "pow" and dtype.is_integer:
        found[1] = np.abs(found[1] // 2) % 5  # also of the smallest number
    return found


@pytest.mark.parametrize("dtype", REAL, ids=lambda dtype: dtype.name)
def test_every_elementwise_op_has_the_same_bits_on_every_tier(dtype: Any) -> None:
    """Those that take the same numbers are compiled together, a few in one kernel."""
    together: dict[Any, list[tuple[Any, Any]]] = {}
    operands: dict[Any, list[Any]] = {}
    for kind in KINDS:
        if dtype.kind not in kind.kinds or (kind.name == "complex" and dtype in (tf.float16, tf.bfloat16)):
            continue
        op = kind()
        xs = [tf.constant(c) for c in columns(kind, dtype)]
        specs, data = [x.spec for x in xs], [x.data for x in xs]
        eager = bind(op, *xs).data
        graph = trace_flat(lambda *xs, op=op: [bind(op, *xs)], specs).graph
        assert_same_bits(evaluate(graph, data)[0], eager, f"{op.name}, reference")
        assert_same_bits(Executable(graph).run(data, False)[0], eager, f"{op.name}, plan")
        part = partition(optimise(specialise(graph, graph.inputs)))
        if part.loops and is_exact(part):
            key = tuple((x.dtype, x.tobytes()) for x in data)
            operands[key] = xs
            together.setdefault(key, []).append((op, eager))
    for key, found in together.items():
        specs, data = [x.spec for x in operands[key]], [x.data for x in operands[key]]
        for start in range(0, len(found), 8):
            some = found[start : start + 8]
            graph = trace_flat(lambda *xs, some=some: [bind(op, *xs) for op, _ in some], specs).graph
            executable = Executable(graph)
            for (op, eager), native in zip(some, executable.run(data, True), strict=True):
                assert_same_bits(native, eager, f"{op.name}, native")
            assert exact_natively(executable, data)
    assert sum(map(len, together.values())) >= (5 if dtype.is_bool else 12)


@pytest.mark.parametrize("source", REAL, ids=lambda dtype: dtype.name)
def test_every_cast_has_the_same_bits_on_every_tier(source: Any) -> None:
    x = numbers(source)
    if source.is_floating:  # what fits everywhere: what does not has no meaning as an integer
        wide = x.astype(np.float64)
        fitting = x[np.isfinite(wide) & (np.abs(wide) < 64.0) & (wide > -0.5)]
    else:
        fitting = x

    def casts(x: Any, y: Any) -> list[Any]:
        return [tf.cast(x, target) for target in REAL] + [tf.cast(y, t) for t in REAL if not t.is_integer]

    args = tf.constant(fitting), tf.constant(x)
    for y, z in zip(tf.function(casts, jit_compile=True)(*args), casts(*args), strict=True):
        assert_same_bits(y.data, z.data, z.dtype.name)


# -- random compositions, with what passes rewrite --

CONSTANTS = (1.0, -1.0, 0.0, -0.0, 2.0, 0.25, 0.1, -3.0)
UNARY = ("negative", "abs", "square", "floor", "ceil", "sign", "relu", "reciprocal", "sqrt", "rsqrt", "round")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "squared_difference")


def applied(choice: int, x: Any, y: Any, constant: float) -> Any:
    """One step of a random program; ops that the dtype does not have leave x as it is."""
    names = (
        *UNARY,
        *BINARY,
        "where",
        "constant",
        "reversed",
        "back and forth",
        "reshape",
        "extreme",
        "through bool",
    )
    name = names[choice % len(names)]
    number = tf.constant(constant if x.dtype.is_floating else abs(int(constant)), x.dtype)
    try:
        if name in UNARY:
            return tf.nn.relu(x) if name == "relu" else getattr(tf.math, name)(x)
        if name in BINARY:
            return getattr(tf.math, name)(x, y)
        if name == "where":
            return tf.where(x > y, x, y * number)
        if name == "constant":
            return getattr(tf.math, BINARY[choice // len(names) % len(BINARY)])(x, number)
        if name == "reversed":
            return getattr(tf.math, BINARY[choice // len(names) % len(BINARY)])(number, y)
        if name == "back and forth":
            return (
                tf.cast(tf.cast(x, tf.float32 if choice % 2 else tf.float16), x.dtype)
                if x.dtype.is_floating
                else x
            )
        if name == "reshape":
            return tf.reshape(tf.expand_dims(tf.transpose(x), 0), tf.shape(x))
        if name == "extreme":
            return x - tf.reduce_max(tf.abs(y) + 1, axis=0)  # of two zeros either is the larger
        return tf.cast(tf.logical_not(tf.logical_and(x > y, y >= number)), x.dtype) * x
    except GraphadError:
        return x


def program(steps: Any, x: Any, y: Any) -> list[Any]:
    known = [x, y]
    for choice, a, b, c in steps:
        known.append(applied(choice, known[a % len(known)], known[b % len(known)], CONSTANTS[c]))
    return known[2:]


@settings(max_examples=40, phases=[Phase.explicit, Phase.generate])
@given(
    st.lists(
        st.tuples(
            st.integers(0, 400), st.integers(0, 20), st.integers(0, 20), st.integers(0, len(CONSTANTS) - 1)
        ),
        min_size=3,
        max_size=12,
    ),
    st.sampled_from(["float16", "float32", "float32", "float64", "int32", "int8", "uint8"]),
    st.integers(0, 10_000),
)
def test_random_compositions_have_the_same_bits_on_every_tier(steps: Any, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool = numbers(dtypes.as_dtype(dtype))
    data = []
    for _ in range(2):
        x = rng.normal(scale=3.0, size=(7, 19)) if dtype[0] == "f" else rng.integers(0, 100, (7, 19))
        x = x.astype(dtype)
        some = rng.random(x.shape) < 0.2
        x[some] = rng.choice(pool, int(some.sum()))
        data.append(x)
    eager = [y.data for y in program(steps, *map(tf.constant, data))]
    specs = [tf.TensorSpec([None, None], dtype)] * 2
    graph = trace_flat(lambda x, y: program(steps, x, y), specs).graph
    executable = Executable(graph)
    for tier, found in (
        ("reference", evaluate(graph, data)),
        ("plan", executable.run(data, False)),
        ("native", executable.run(data, True)),
    ):
        for k, (y, z) in enumerate(zip(found, eager, strict=True)):
            assert_same_bits(y, z, f"{tier}, step {k}")
    assert executable.sizes_of(data).native is None or exact_natively(executable, data)


# -- the setting --


def norm_of_nothing(x: Any, y: Any) -> Any:
    return tf.sqrt(x * x - y * y)


def test_equal_products_cancel_on_every_tier() -> None:
    x = np.random.default_rng(0).uniform(0.1, 9.0, 999).astype("float32")
    a, b = tf.constant(x), tf.constant(x.copy())
    np.testing.assert_array_equal(norm_of_nothing(a, b), 0.0)
    for jit_compile in (False, None, True):
        f = tf.function(norm_of_nothing, jit_compile=jit_compile)
        for _ in range(3):
            np.testing.assert_array_equal(f(a, b), 0.0)


def test_the_setting_takes_effect_at_once_and_both_ways() -> None:
    x = np.random.default_rng(0).uniform(0.1, 9.0, 999).astype("float32")
    a, b = tf.constant(x), tf.constant(x.copy())
    f = tf.function(norm_of_nothing, jit_compile=True)
    g = tf.function(lambda x: tf.math.log(x + 1.0), jit_compile=True)
    executable = executable_of(f.get_concrete_function(a, b).graph)
    tiny = tf.constant(np.full(9, 1e-12, "float32"))
    for relaxed in (False, True, False, True):
        tf.config.set_relaxed_arithmetic(relaxed)
        assert tf.config.relaxed_arithmetic() is relaxed
        for _ in range(3):
            assert (
                bool(np.isnan(f(a, b).numpy()).any()) is relaxed
            )  # what a fused step leaves is below 0 for some
            assert bool(np.all(g(tiny).numpy() > 0.0)) is relaxed  # log1p sees what 1 + x loses
        (sizes,) = executable._sizes.values()
        assert sizes.size_class.options.relaxed is relaxed
        assert all(kernel.contracts is relaxed for kernel in sizes.size_class.compilation.kernels())
    first = [cls.compilation.compiled for cls in executable.classes]
    tf.config.set_relaxed_arithmetic(False)
    f(a, b)
    tf.config.set_relaxed_arithmetic(True)
    f(a, b)
    assert [cls.compilation.compiled for cls in executable.classes] == first


def test_loops_that_run_natively_follow_the_setting() -> None:
    def f(x: Any, y: Any) -> Any:
        def step(i: Any, total: Any) -> Any:
            return i + 1, total + tf.abs(x * x - y * y)

        return tf.while_loop(lambda i, _: i < 3, step, [tf.constant(0), tf.zeros_like(x)])[1]

    x = np.random.default_rng(0).uniform(0.1, 9.0, 99).astype("float32")
    compiled = tf.function(f, jit_compile=True)
    for relaxed in (False, True):
        tf.config.set_relaxed_arithmetic(relaxed)
        found = compiled(tf.constant(x), tf.constant(x.copy())).numpy()
        assert bool(np.any(found != 0.0)) is relaxed


def test_the_environment_gives_the_first_value_of_the_setting() -> None:
    code = "import graphad; print(graphad.config.relaxed_arithmetic())"
    for text, wanted in (
        ("", "False"),
        ("0", "False"),
        ("1", "True"),
        ("true", "True"),
        ("perhaps", "False"),
    ):
        environment = {**os.environ, "GRAPHAD_RELAXED_ARITHMETIC": text}
        ran = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert ran.stdout.strip() == wanted
        assert ("'perhaps' is neither 0 nor 1" in ran.stderr) == (text == "perhaps")


@pytest.mark.parametrize("reduce", [tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_prod])
@pytest.mark.parametrize("shape, axis", [((3, 1), 1), ((1, 3), 0), ((1, 1, 2), [0, 1]), ((1,), None)])
def test_zeros_that_nothing_is_added_to_have_one_sign(reduce: Any, shape: Any, axis: Any) -> None:
    x = tf.fill(shape, -0.0)
    want = reduce(x, axis).numpy()
    for mode in (True, False):
        found = tf.function(lambda x: reduce(x, axis), jit_compile=mode, autograph=False)(x).numpy()
        assert found.tobytes() == want.tobytes()
