"""Functions whose sizes are unknown while traced make the same plan for a Jacobian as eager code, once sizes are known."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import graphad as tf
from graphad.gradient import jacobian_plan
from graphad.vectorize import vectorize_graph
from tests.gradient.test_jacobian_plan import jacobian_of
from tests.support.memory import least_peak


@pytest.fixture
def budget():
    before = tf.config.jacobian_budget()
    yield tf.config.set_jacobian_budget
    tf.config.set_jacobian_budget(before)


RNG = np.random.default_rng(5)
VECTOR, MATRIX = tf.TensorSpec([None], tf.float64), tf.TensorSpec([None, None], tf.float64)


def spread(x):
    """Many rows, few columns."""
    return tf.reshape(tf.sin(x[:, None] * tf.constant(np.linspace(1.0, 2.0, 9))), [-1])


def gathered(x):
    """Few rows, many columns."""
    return tf.reduce_sum(tf.reshape(tf.exp(x) * x, [-1, 2]), 0)


def looped(x):
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y * x) + x), (0, x))[1]


def branching(x):
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * x * tf.reduce_sum(x), lambda: tf.sin(x))


FUNCTIONS = {
    "spread": spread,
    "gathered": gathered,
    "looped": looped,
    "branching": branching,
    "same": tf.tanh,
}


def gradient_of(f):
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    return gradient


def batch_jacobian_of(f):
    def jacobian(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x)
        return tape.batch_jacobian(y, x)

    return jacobian


def squared(f):
    return lambda x: tf.reduce_sum(f(x) ** 2)


WAYS = {
    "jacobian": (jacobian_of, VECTOR),
    "row by row": (lambda f: jacobian_of(f, experimental_use_pfor=False), VECTOR),
    "two at once": (lambda f: jacobian_of(f, parallel_iterations=2), VECTOR),
    "jacfwd": (tf.autodiff.jacfwd if hasattr(tf.autodiff, "jacfwd") else tf.jacfwd, VECTOR),
    "jacrev": (tf.autodiff.jacrev if hasattr(tf.autodiff, "jacrev") else tf.jacrev, VECTOR),
    "gradient of the jacobian": (lambda f: gradient_of(squared(jacobian_of(f))), VECTOR),
    "jacobian of the jacobian": (lambda f: jacobian_of(jacobian_of(f)), VECTOR),
    "jacobian of the gradient": (lambda f: jacobian_of(gradient_of(squared(f))), VECTOR),
    "hessian": (lambda f: lambda x: tf.hessians(squared(f)(x), x), VECTOR),
    "batch jacobian": (lambda f: batch_jacobian_of(lambda x: tf.vectorized_map(f, x)), MATRIX),
    "gradient of the batch jacobian": (
        lambda f: gradient_of(squared(batch_jacobian_of(lambda x: tf.vectorized_map(f, x)))),
        MATRIX,
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("way", WAYS)
def test_the_numbers_are_those_of_eager_code_for_every_chunk(way, name, budget):
    transform, spec = WAYS[way]
    f = transform(FUNCTIONS[name])
    eager = f
    if way == "hessian":
        eager = jacobian_of(gradient_of(squared(FUNCTIONS[name])))
    x = RNG.standard_normal((6,) if spec is VECTOR else (3, 4))
    want = None
    for size in (1 << 22, 256):
        budget(size)
        found = {}
        for jit in (False, True):
            traced = tf.function(f, input_signature=[spec], jit_compile=jit)
            found[f"jit {jit}"] = traced(tf.constant(x))
            found[f"outside, jit {jit}"] = traced(tf.constant(x[:2])), traced(tf.constant(x))
        want = eager(tf.constant(x)) if want is None else want
        for how, result in found.items():
            result = result[-1] if isinstance(result, tuple) else result
            result = result[0] if isinstance(result, list) else result
            np.testing.assert_allclose(result, want, rtol=1e-9, atol=1e-12, err_msg=f"{how}, {size} bytes")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_through_a_function_whose_jacobian_is_cut(name, budget):
    """The outer tape stands outside: forward and backward are two compiled graphs."""
    f = jacobian_of(FUNCTIONS[name])
    x = tf.constant(RNG.standard_normal(4))
    want = [gradient_of(squared(f))(x), jacobian_of(gradient_of(squared(f)))(x)]
    for size in (1 << 22, 100):
        budget(size)
        g = tf.function(f, input_signature=[VECTOR])
        found = [gradient_of(squared(g))(x), jacobian_of(gradient_of(squared(g)))(x)]
        for a, b in zip(found, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_jacobians_of_unknown_sizes_are_saved_and_loaded(tmp_path, budget):
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.spread = tf.function(gradient_of(squared(jacobian_of(spread))), input_signature=[VECTOR])
            self.jacobian = tf.function(jacobian_of(spread), input_signature=[VECTOR])
            self.rows = tf.function(batch_jacobian_of(tf.sin), input_signature=[MATRIX])

    model = Model()
    x = tf.constant(RNG.standard_normal(5))
    tf.saved_model.save(model, str(tmp_path / "model"))
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    for size in (1 << 22, 128):
        budget(size)
        for name in ("spread", "jacobian"):
            np.testing.assert_allclose(getattr(loaded, name)(x), getattr(model, name)(x), rtol=1e-12)
        np.testing.assert_allclose(loaded.rows(x[:, None]), model.rows(x[:, None]), rtol=1e-12)
        np.testing.assert_allclose(gradient_of(squared(loaded.jacobian))(x), loaded.spread(x), rtol=1e-9)


# -- one plan -------------------------------------------------------------------------------------------------------------


def plans(monkeypatch, compute) -> list[object]:
    """The chunks that were chosen."""
    found: list[object] = []
    chunk_of, within = jacobian_plan.chunk_of, vectorize_graph.chunk_of

    def seen(count, specs, at_once):
        chunk = chunk_of(count, specs, at_once)
        found.append("all" if chunk is count else chunk)
        return chunk

    monkeypatch.setattr(jacobian_plan, "chunk_of", seen)
    monkeypatch.setattr(vectorize_graph, "chunk_of", seen)
    compute()
    monkeypatch.setattr(jacobian_plan, "chunk_of", chunk_of)
    monkeypatch.setattr(vectorize_graph, "chunk_of", within)
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("name", ["spread", "gathered", "same"])
@pytest.mark.parametrize("size", [100, 1000, 10_000])
def test_eager_code_and_functions_of_known_and_unknown_sizes_make_one_plan(name, size, budget, monkeypatch):
    f = jacobian_of(FUNCTIONS[name])
    x = tf.constant(RNG.standard_normal(12))
    budget(size)
    eager = plans(monkeypatch, lambda: f(x))
    assert len(eager) == 1
    for spec in (tf.TensorSpec([12], tf.float64), VECTOR):
        compute = tf.function(f, input_signature=[spec], jit_compile=False)
        assert plans(monkeypatch, lambda compute=compute: compute(x))[0] == eager[0]


def test_a_function_of_unknown_sizes_is_specialised_once_for_all_sizes_with_the_same_plan(budget):
    f = tf.function(jacobian_of(spread), input_signature=[VECTOR], jit_compile=False)
    executable = f.get_concrete_function().executable
    budget(10_000)
    for n in (3, 4, 5, 6):
        f(tf.constant(RNG.standard_normal(n)))
    assert len(executable.classes) == 1
    big = tf.constant(RNG.standard_normal(40))
    np.testing.assert_allclose(f(big), jacobian_of(spread)(big), rtol=1e-12)  # in chunks
    assert len(executable.classes) == 2
    for n in (7, 8):
        x = tf.constant(RNG.standard_normal(n))
        np.testing.assert_allclose(f(x), jacobian_of(spread)(x), rtol=1e-12)
    assert len(executable.classes) == 2


def test_columns_are_chosen_by_the_sizes_of_a_call(budget):
    """More columns than rows in one call, the other way round in the next one."""

    def f(matrix, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(tf.linalg.matvec(matrix, x))
        return tape.jacobian(y, x)

    g = tf.function(f, input_signature=[MATRIX, VECTOR])
    for rows, columns in [(20, 3), (3, 20), (40, 2), (2, 40), (1, 1), (5, 1), (1, 5), (0, 3), (3, 0)]:
        a, x = tf.constant(RNG.standard_normal((rows, columns))), tf.constant(RNG.standard_normal(columns))
        np.testing.assert_allclose(g(a, x), f(a, x), rtol=1e-12, atol=1e-14)


# -- memory ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "columns"), [(6_000, 16), (16, 6_000)])
def test_a_jacobian_takes_little_more_memory_than_its_result_whatever_is_known_of_sizes(
    budget, rows, columns
):
    def f(matrix, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sin(tf.linalg.matvec(matrix, x))
        return tape.jacobian(y, x)

    a = tf.constant(np.random.default_rng(0).standard_normal((rows, columns)))
    x = tf.constant(np.linspace(0.0, 1.0, columns))
    budget(1 << 18)
    g = tf.function(f, input_signature=[MATRIX, VECTOR], jit_compile=False)
    bound = 5 * rows * columns * 8
    assert least_peak(lambda: g(a, x), bound) < bound


CHILD = """
import sys
import numpy as np
import graphad as tf
from tests.support.memory import most_resident

matrix = tf.constant(np.random.default_rng(0).standard_normal((20_000, 64)).astype(np.float32))
w = tf.constant(np.linspace(-1.0, 1.0, 64).astype(np.float32))

def f(matrix, w):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(w)
        y = tf.tanh(tf.linalg.matvec(matrix, w))
    return tape.jacobian(y, w)

def derived(matrix, w):
    with tf.GradientTape() as tape:
        tape.watch(w)
        y = tf.reduce_sum(f(matrix, w) ** 2)
    return tape.gradient(y, w)

run = {"jacobian": f, "gradient": derived}[sys.argv[1]]
signature = [tf.TensorSpec([None, None]), tf.TensorSpec([None])]
if sys.argv[2] == "unknown":
    run = tf.function(run, input_signature=signature)
run(matrix[:50, :3], w[:3])
before = most_resident()
for _ in range(3):
    run(matrix, w)
print((most_resident() - before) >> 20)
"""


@pytest.mark.parametrize("what", ["jacobian", "gradient"])
def test_a_tall_jacobian_of_unknown_sizes_takes_megabytes_and_not_gigabytes(what):
    """With a row for each of 20,000 targets the identity alone would be 1.6 GB.

    9 and 28 MB are measured; LLVM, which the first native call of a machine loads, takes 80 of its own.
    """
    found = subprocess.run(
        [sys.executable, "-c", CHILD, what, "unknown"],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    assert int(found.stdout) < 256


def test_columns_of_complex_numbers_of_unknown_size():
    weights = tf.constant(np.arange(40.0) - 2.0 + 1j * np.arange(40.0) ** 2)  # many rows, few columns

    def outer(x, at_once=True):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = tf.tensordot(weights, x * x, 0)
        return tape.jacobian(y, x, experimental_use_pfor=at_once)

    unknown = tf.function(outer, input_signature=[tf.TensorSpec([None], tf.complex128)])
    for size in (1, 2, 9):
        x = tf.constant(np.arange(1.0, size + 1.0) * (2.0 - 1j))
        rows = outer(x, at_once=False)  # pulled back one by one
        np.testing.assert_allclose(outer(x), rows, rtol=1e-12)
        np.testing.assert_allclose(unknown(x), rows, rtol=1e-12)


def test_a_loop_without_a_round_that_may_return_early_and_whose_ranks_are_unknown():
    """No round tells the sizes that its derivative asks for."""

    def f(x):
        for _ in tf.range(0):
            x = tf.tanh(x) + 0.5 * x
            if tf.size(x) > 3 and tf.reduce_sum(x) > 0.0:
                return x * 2.0
        return x * x

    traced = tf.function(f, input_signature=[tf.TensorSpec(None, tf.float64)])
    inside = tf.function(jacobian_of(traced), input_signature=[tf.TensorSpec(None, tf.float64)])
    for shape in ((3, 2), (2,), (), (0, 2)):
        x = tf.constant(RNG.normal(size=shape))
        wanted = jacobian_of(lambda x: x * x)(x)
        np.testing.assert_array_equal(jacobian_of(traced)(x), wanted)
        np.testing.assert_array_equal(inside(x), wanted)
