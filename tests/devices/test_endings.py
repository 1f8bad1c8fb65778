"""Products on a device that end with a vector, a limit or the sums of an operand are one call of cuBLASLt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.cuda import epilogues
from graphad.compiler.units import describe
from tests.devices import fake_cublaslt, fake_driver
from tests.devices.fake_cublaslt import BGRADA, BGRADB, BIAS, RELU
from tests.devices.test_plans import close, plans_of, there

numbers = np.random.default_rng(7)


def real(*shape: int, dtype: Any = np.float32) -> Any:
    return numbers.normal(size=shape).astype(dtype)


def compiled(f: Callable[..., Any], *values: Any) -> tuple[Any, Any]:
    """What a function gives on the CPU and as a plan on the device."""
    made = tf.function(f, jit_compile=True)
    want = made(*map(tf.constant, values))
    given = [there(x) for x in values]
    found = made(*given)
    for mine, other in zip(tf.nest.flatten(found), tf.nest.flatten(want), strict=True):
        close(mine, other.numpy())
    (bound,) = plans_of(made.get_concrete_function(*given))
    return made, bound


def kinds(bound: Any) -> list[str]:
    return [unit.kind for unit in bound.partition.units]


def add(x: Any, w: Any, b: Any) -> Any:
    return x @ w + b


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (add, [(4, 5), (5, 6), (6,)]),
        (lambda x, w, b: tf.nn.bias_add(x @ w, b), [(4, 5), (5, 6), (6,)]),
        (lambda x, w, b: b + tf.matmul(x, w, True, True), [(5, 4), (6, 5), (6,)]),
        (add, [(4, 5), (5, 6), (1, 6)]),
        (add, [(7, 4, 5), (7, 5, 6), (6,)]),
        (add, [(2, 7, 4, 5), (5, 6), (6,)]),
        (lambda x, w, b: x @ w + b[1:7], [(4, 5), (5, 6), (8,)]),
        (lambda x, w, b: x[:, 1:6] @ tf.transpose(w) + b, [(4, 7), (6, 5), (6,)]),
        (add, [(1, 5), (5, 6), (6,)]),
        (add, [(4, 1), (1, 1), (1,)]),
    ],
    ids="plain bias_add turned row stacks shared part strided one_row one".split(),
)
def test_a_vector_is_added_by_the_product(function: Any, shapes: Any, dtype: Any) -> None:
    _, bound = compiled(function, *[real(*shape, dtype=dtype) for shape in shapes])
    assert [ending for ending, *_ in fake_cublaslt.calls] == [BIAS]
    assert kinds(bound) == ["gemm"] and not fake_driver.launches and not fake_driver.products
    assert "ending" in describe(bound.partition) and "add" in describe(bound.partition)


def test_other_sums_stay_loops() -> None:
    cases: list[tuple[Any, Any]] = [
        (add, [(4, 5), (5, 6), (4, 1)]),  # one number a row
        (add, [(4, 5), (5, 6), (4, 6)]),
        (lambda x, w, b: x @ w + b[::2], [(4, 5), (5, 6), (12,)]),
        (lambda x, w, b: (x @ w + b, x @ w), [(4, 5), (5, 6), (6,)]),  # the product is a result too
        (lambda x, w, b: x @ w * b, [(4, 5), (5, 6), (6,)]),
        (lambda x, w, b: tf.tanh(x @ w + b), [(4, 5), (5, 6), (6,)]),
        (lambda x, w, b: x @ w + (x @ w)[0], [(4, 5), (5, 6), (6,)]),
    ]
    for function, shapes in cases:
        compiled(function, *[real(*shape) for shape in shapes])
    assert not fake_cublaslt.calls and fake_driver.products


@pytest.fixture
def relaxed() -> Any:
    tf.config.set_relaxed_arithmetic(True)
    yield
    tf.config.set_relaxed_arithmetic(False)


def test_a_limit_is_part_of_the_product_where_arithmetic_is_relaxed(relaxed: Any) -> None:
    _, bound = compiled(lambda x, w, b: tf.nn.relu(x @ w + b), real(4, 5), real(5, 6), real(6))
    assert kinds(bound) == ["gemm"]
    compiled(lambda x, w: tf.nn.relu(x @ w), real(4, 5), real(5, 6))
    compiled(lambda x, w: tf.maximum(x @ w, 1.0), real(4, 5), real(5, 6))
    assert [ending for ending, *_ in fake_cublaslt.calls] == [BIAS | RELU, RELU]


def test_a_limit_keeps_nan_where_it_is_not() -> None:
    x = real(4, 5)
    x[1, 2] = np.nan
    f, _ = compiled(lambda x, w, b: tf.nn.relu(x @ w + b), x, real(5, 6), real(6))
    assert np.isnan(f(there(x), there(real(5, 6)), there(real(6))).numpy()[1]).all()


def two_layers(x: Any, w: Any, b: Any, v: Any, c: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch([x, w, b, v, c])
        y = tf.reduce_mean(((x @ w + b) @ v + c) ** 2)
    return [y, *tape.gradient(y, [x, w, b, v, c])]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_training_step_has_endings_forwards_and_backwards(dtype: Any) -> None:
    shapes = (4, 5), (5, 6), (6,), (6, 3), (3,)
    compiled(two_layers, *[real(*shape, dtype=dtype) for shape in shapes])
    endings = [ending for ending, *_ in fake_cublaslt.calls]
    assert sorted(endings) == [BIAS, BGRADA, BGRADA]


def test_the_first_operand_is_added_up_too() -> None:
    def f(x: Any, y: Any, w: Any) -> Any:
        z = y @ w
        return tf.matmul(z, x, transpose_a=True), tf.reduce_sum(z, 0)

    compiled(f, real(4, 5), real(4, 3), real(3, 6))
    assert [ending for ending, *_ in fake_cublaslt.calls] == [BGRADB]


@pytest.mark.parametrize("status", [epilogues.NOT_SUPPORTED, epilogues.INVALID_VALUE])
@pytest.mark.parametrize("function", [two_layers, add])
def test_where_the_library_has_no_such_product_the_loop_runs(
    function: Any, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_cublaslt, "refusal", [status])
    monkeypatch.setattr(fake_cublaslt, "has_none", [lambda product: True])
    shapes = [(4, 15), (15, 6), (6,), (6, 3), (3,)][: 5 if function is two_layers else 3]
    compiled(function, *[real(*shape) for shape in shapes])
    assert not fake_cublaslt.calls and fake_driver.products and fake_driver.launches


def test_sizes_that_are_not_known_and_none_at_all() -> None:
    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([None, 6])])
    def f(x: Any, w: Any) -> Any:
        return x @ w + tf.range(6.0)

    for rows, inner in ((4, 5), (9, 3), (1, 1), (0, 5), (3, 0)):
        x, w = real(rows, inner), real(inner, 6)
        close(f(there(x), there(w)), x @ w + np.arange(6, dtype=np.float32))
    assert [call[1:4] for call in fake_cublaslt.calls] == [(6, 4, 5), (6, 9, 3), (6, 1, 1)]


def test_addresses_that_are_less_aligned_have_an_algorithm_of_their_own() -> None:
    f = tf.function(add, jit_compile=True)
    x, w = real(4, 5), real(5, 6)
    for first in (0, 1, 4, 3):
        b = real(12)
        y = f(there(x), there(w), there(b)[first : first + 6])
        close(y, x @ w + b[first : first + 6])
    assert len(fake_cublaslt.calls) == 4


def test_a_loop_whose_addresses_move_has_endings_too() -> None:
    def f(x: Any, w: Any, b: Any) -> Any:
        states = tf.scan(lambda h, row: (h + row) @ w + b, x, initializer=tf.zeros([2, 3]))
        with tf.GradientTape() as tape:
            tape.watch((x, w, b))
            y = tf.reduce_sum(tf.scan(lambda h, row: (h * row) @ w + b, x, initializer=tf.ones([2, 3])) ** 2)
        return [states, y, *tape.gradient(y, (x, w, b))]

    compiled(f, real(4, 2, 3), real(3, 3), real(3))
    assert [call[0] for call in fake_cublaslt.calls].count(BIAS) >= 8


def test_graphs_hold_them_and_tf32_is_only_on_demand() -> None:
    f, (x, w, b) = tf.function(add, jit_compile=True), (real(8, 8), real(8, 8), real(8))
    given, want, found = [there(v) for v in (x, w, b)], x @ w + b, {}
    try:
        for is_enabled in (False, True, False):
            tf.config.experimental.enable_tensor_float_32_execution(is_enabled)
            for _ in range(4):
                found[is_enabled] = np.abs(f(*given).numpy() - want).max()
            assert found[is_enabled] > 1e-5 if is_enabled else found[is_enabled] < 1e-5
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(False)


def test_descriptions_are_destroyed_with_their_plan() -> None:
    words = [0, 0, 0, 0, BIAS, 0, 4, 6, 5, 0, 0, 5, 6, 6, 1, 0, 0, 0]
    before = set(fake_cublaslt.alive)
    described = epilogues.Description(words)
    mine = set(fake_cublaslt.alive) - before  # those of plans of other tests go when they like
    assert len(mine) == 5
    del described
    assert not mine & set(fake_cublaslt.alive)


def test_late_streams_give_the_same(late_streams: Any) -> None:
    values = [real(*shape) for shape in ((4, 5), (5, 6), (6,), (6, 3), (3,))]
    f = tf.function(two_layers, jit_compile=True)
    want = f(*map(tf.constant, values))
    given = [there(x) for x in values]
    for _ in range(5):
        for mine, other in zip(f(*given), want, strict=True):
            close(mine, other.numpy())


def test_explain_tells_the_ending() -> None:
    f = tf.function(add, jit_compile=True)
    told = str(tf.explain(f)(*[there(real(*shape)) for shape in ((4, 5), (5, 6), (6,))]))
    assert "ending over (4, 6): add" in told
