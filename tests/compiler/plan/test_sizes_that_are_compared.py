"""Shapes with a free size, sizes that an op needs to be equal, branches and loops whose results have sizes of their own: all of
it is one native call, with NumPy's results and eager code's errors, whatever the sizes are and in whatever order they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.dims import Dim, divide_exactly, product, related
from graphad.tools.explain import explain

_rng = np.random.default_rng(11)
VECTOR, NUMBER = tf.TensorSpec([None]), tf.TensorSpec([], tf.int32)


def vector(size: int) -> np.ndarray:
    return _rng.normal(size=size).astype(np.float32)


def function(f: Callable[..., Any], numbers: int = 1) -> Any:
    return tf.function(f, input_signature=[VECTOR, *[NUMBER] * numbers], jit_compile=True)


def require_native(f: Any, *given: Any) -> None:
    told = explain(f)(*given)
    assert "host" not in told.units and told.tier.startswith("native"), told.units or told.tier
    assert "not part of it" not in told.tier


def with_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    def value(x: Any, *given: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, *given)
            loss = tf.reduce_sum(tf.sin(y))
        return y, tape.gradient(loss, x, unconnected_gradients="zero")

    return value


RESHAPED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "[n, -1]": (lambda x, n: tf.reduce_sum(tf.reshape(x, [n, -1]), 0), lambda x, n: x.reshape(n, -1).sum(0)),
    "[-1, n]": (lambda x, n: tf.reduce_max(tf.reshape(x, [-1, n]), 1), lambda x, n: x.reshape(-1, n).max(1)),
    "[n, 2, -1]": (
        lambda x, n: tf.reshape(tf.stack([x, x + 1.0]), [n, 2, -1]) * 2.0,
        lambda x, n: np.stack([x, x + 1]).reshape(n, 2, -1) * 2,
    ),
    "[n * n, -1]": (
        lambda x, n: tf.reduce_sum(tf.reshape(x, [n * n, -1]), 1),
        lambda x, n: x.reshape(n * n, -1).sum(1),
    ),
    "back": (lambda x, n: tf.reshape(tf.sin(tf.reshape(x, [n, -1])), [-1]), lambda x, n: np.sin(x)),
    "alone": (lambda x, n: tf.reshape(x, tf.stack([n, -1])), lambda x, n: x.reshape(n, -1)),
    "gram": (
        lambda x, n: tf.matmul(tf.reshape(x, [n, -1]), tf.reshape(x, [n, -1]), transpose_b=True),
        lambda x, n: x.reshape(n, -1) @ x.reshape(n, -1).T,
    ),
}


@pytest.mark.parametrize("name", RESHAPED)
def test_shapes_with_a_free_size(name: str) -> None:
    of, want = RESHAPED[name]
    f, g = function(of), function(with_gradient(of))
    for size, n in ((24, 2), (72, 6), (8, 2), (16, 1), (2, 1), (200, 10), (72, 3), (24, 2)):
        x = vector(size)
        if size % (2 * n * n):
            x = x[: 2 * n * n]
        found, wanted = f(x, n).numpy(), want(x, n)
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
        for a, b in zip(g(x, n), with_gradient(of)(tf.constant(x), tf.constant(n)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    require_native(f, tf.constant(vector(12)), tf.constant(2))
    require_native(g, tf.constant(vector(72)), tf.constant(2))


def test_what_has_no_such_shape_is_refused_as_in_eager_code() -> None:
    f = function(lambda x, n: tf.reduce_sum(tf.sin(tf.reshape(x, [n, -1])), 0))
    g = function(lambda x, n, k: tf.reduce_sum(tf.reshape(x, [n, k]), 0), 2)
    for size, n in ((12, 5), (12, 0), (7, 2), (3, 4)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="reshape"):
            f(vector(size), n)
        with pytest.raises(tf.errors.InvalidArgumentError, match="reshape"):
            g(vector(size), n, 3)
        x = vector(12)
        np.testing.assert_allclose(f(x, 4), np.sin(x).reshape(4, 3).sum(0), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(g(x, 4, 3), x.reshape(4, 3).sum(0), rtol=1e-5, atol=1e-5)
    assert f(vector(0), 3).shape == [0]
    # without elements, what is left for -1 is what the other sizes need
    assert f(vector(0), 0).shape == np.reshape(np.zeros((0, 1)), (0, 1)).sum(0).shape


def test_a_shape_in_each_round_of_a_loop() -> None:
    def total(x: Any, n: Any) -> Any:
        found = tf.constant(0.0)
        for i in tf.range(1, n + 1):
            if tf.size(x) % i == 0:
                found += tf.reduce_max(tf.reduce_sum(tf.reshape(x, [i, -1]), 0))
        return found

    f = function(total)
    for size in (12, 30, 7):
        x = vector(size)
        want = sum([x.reshape(i, -1).sum(0).max() for i in range(1, 8) if size % i == 0])
        np.testing.assert_allclose(f(x, 7), want, rtol=1e-4, atol=1e-5)
    require_native(f, tf.constant(vector(12)), tf.constant(7))


EQUAL: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "slice and mask": (
        lambda x, n: x[:n] * tf.boolean_mask(x, tf.range(tf.size(x)) < 4),
        lambda x, n: x[:n] * x[:4],
    ),
    "slice and constant": (
        lambda x, n: x[:n] + tf.constant([1.0, 2, 3, 4]),
        lambda x, n: x[:n] + [1, 2, 3, 4],
    ),
    "two masks": (
        lambda x, n: (
            tf.boolean_mask(x, tf.range(tf.size(x)) < n) - tf.boolean_mask(x, tf.range(tf.size(x)) < 4)
        ),
        lambda x, n: x[:n] - x[:4],
    ),
    "rows of three": (
        lambda x, n: tf.reduce_sum(tf.reshape(tf.boolean_mask(x, tf.range(tf.size(x)) < 12), [n, 3]), 1),
        lambda x, n: x[:12].reshape(n, 3).sum(1),
    ),
    "ensured": (lambda x, n: tf.ensure_shape(x[:n], [4]) * 3.0, lambda x, n: x[:n] * 3),
}


@pytest.mark.parametrize("name", EQUAL)
def test_sizes_that_must_be_equal(name: str) -> None:
    of, want = EQUAL[name]
    f, g = function(of), function(with_gradient(of))
    for size, n in ((20, 4), (13, 4), (20, 5), (40, 4), (20, 3), (40, 4)):
        x = vector(size)
        if n == 4:
            np.testing.assert_allclose(f(x, n), want(x, n), rtol=1e-5, atol=1e-5)
            for a, b in zip(g(x, n), with_gradient(of)(tf.constant(x), tf.constant(n)), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
            continue
        for run in (f, g):
            with pytest.raises(tf.errors.InvalidArgumentError):
                run(x, n)
    require_native(f, tf.constant(vector(20)), tf.constant(4))


def test_a_size_of_1_is_broadcast_where_equal_ones_were_assumed() -> None:
    f = function(lambda x, n: tf.reduce_sum(x[:n] * tf.boolean_mask(x, x > 0)))
    for _ in range(5):
        x = np.abs(vector(6))
        np.testing.assert_allclose(f(x, 1), np.sum(x[0] * x), rtol=1e-5)
        np.testing.assert_allclose(f(x, 6), np.sum(x * x), rtol=1e-5)


BRANCHES: dict[str, Callable[..., Any]] = {
    "known sizes": lambda x, n: tf.cond(n > 2, lambda: tf.sin(x), lambda: x[:2]),
    "a free size": lambda x, n: tf.cond(n > 2, lambda: tf.zeros([n]) + x[0], lambda: tf.cos(x)),
    "joined": lambda x, n: tf.cond(n > 2, lambda: tf.concat([x, x[:n]], 0), lambda: x * 2.0) * 3.0,
    "matrices": lambda x, n: tf.cond(n > 2, lambda: x[:n, None] * x[None, :2], lambda: x[:2, None] * x),
    "within": lambda x, n: tf.cond(
        n > 2, lambda: tf.cond(n > 4, lambda: x[:n], lambda: tf.concat([x, x], 0)), lambda: x[1:]
    ),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_branches_of_other_sizes(name: str) -> None:
    of = BRANCHES[name]
    f, g = function(of), function(with_gradient(of))
    for size, n in ((5, 1), (5, 4), (9, 6), (3, 2), (130, 120), (5, 5), (9, 0)):
        x = tf.constant(vector(size))
        want = with_gradient(of)(x, tf.constant(n))
        for found in ((f(x, n),), g(x, n)):
            for a, b in zip(found, want, strict=False):
                assert a.shape == b.shape
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    require_native(f, tf.constant(vector(6)), tf.constant(5))


def test_a_branch_that_needs_another_size_is_an_error_only_if_it_runs() -> None:
    f = function(with_gradient(lambda x, n: tf.cond(n > 2, lambda: x * x[:n], lambda: x[:2])))
    for n, fits in ((1, True), (5, True), (4, False), (5, True), (3, False), (2, True)):
        x = tf.constant(vector(5))
        if fits:
            want = with_gradient(lambda x, n: x * x[:5] if n > 2 else x[:2])(x, n)
            for a, b in zip(f(x, n), want, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
        else:
            with pytest.raises(tf.errors.InvalidArgumentError):
                f(x, n)


def grown(x: Any, n: Any, more: Callable[[Any, Any], Any]) -> Any:
    shapes = tf.TensorShape([]), tf.TensorShape([None] * len(x.shape))
    return tf.while_loop(
        lambda i, y: i < n, lambda i, y: (i + 1, more(y, x)), (0, x), shape_invariants=shapes
    )[1]


GROWTH: dict[str, Callable[[Any, Any], Any]] = {
    "by one": lambda y, x: tf.concat([y, tf.sin(y[-1:]) + x[:1]], 0),
    "by all that there was": lambda y, x: tf.concat([y, x], 0),
    "in front": lambda y, x: tf.concat([x[:2] * 0.5, y], 0),
    "to a half": lambda y, x: y[: tf.size(y) // 2] * 2.0,
}


@pytest.mark.parametrize("name", GROWTH)
def test_carried_values_grow(name: str) -> None:
    def of(x: Any, n: Any) -> Any:
        return grown(x, n, GROWTH[name])

    f, g = function(of), function(with_gradient(of))
    for size, n in ((3, 0), (3, 5), (7, 2), (2, 9), (3, 5)):
        x = tf.constant(vector(size))
        want = with_gradient(of)(x, tf.constant(n))
        for found in ((f(x, n),), g(x, n)):
            for a, b in zip(found, want, strict=False):
                assert a.shape == b.shape
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    require_native(f, tf.constant(vector(6)), tf.constant(5))


def test_growth_beyond_the_room_that_there_is() -> None:
    f = function(lambda x, n: grown(x, n, lambda y, x: tf.concat([y, x[:1] + y[-1:]], 0)))
    x = np.ones(3, np.float32)
    for n in (5, 300, 400, 500, 600, 700, 5):
        np.testing.assert_array_equal(f(x, n), [1, 1, *np.arange(1, n + 2)])


def test_a_row_in_each_round_of_a_converted_loop() -> None:
    def rows(x: Any, n: Any) -> Any:
        y = tf.zeros([0, 2])
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(y, tf.TensorShape([None, 2]))])
            y = tf.concat([y, x[None, :2] * tf.cast(i, tf.float32)], 0)
        return tf.linalg.matmul(y, y, transpose_a=True)

    f = function(rows)
    for n in (4, 0, 9):
        x = vector(3)
        y = np.arange(n, dtype=np.float32)[:, None] * x[:2]
        np.testing.assert_allclose(f(x, n), y.T @ y, rtol=1e-4, atol=1e-5)
    require_native(f, tf.constant(vector(3)), tf.constant(5))


def test_few_elements_have_room_too() -> None:
    """The arrays are smaller than the smallest room for sizes that runs find."""
    f = function(lambda x, n: tf.linalg.inv(tf.matmul(x[:n, None], x[None, :n]) + tf.eye(n)))
    for n in (3, 1, 2, 5, 0):
        x = vector(5)
        np.testing.assert_allclose(
            f(x, n), np.linalg.inv(np.outer(x[:n], x[:n]) + np.eye(n)), rtol=1e-3, atol=1e-4
        )
    require_native(f, tf.constant(vector(5)), tf.constant(3))


def test_products_of_two_sizes_that_the_run_finds() -> None:
    f = function(lambda x, n, k: tf.matmul(tf.fill([n, k], x[0]), tf.fill([k, n], x[1])), 2)
    for n, k in ((3, 4), (40, 2), (1, 1), (2, 0), (0, 3)):
        x = vector(2)
        np.testing.assert_allclose(f(x, n, k), np.full((n, n), k * x[0] * x[1]), rtol=1e-4, atol=1e-6)
    require_native(f, tf.constant(vector(2)), tf.constant(3), tf.constant(4))


def test_an_array_is_read_before_and_after_its_sizes_are_compared() -> None:
    def of(x: Any, n: Any) -> Any:
        y = tf.exp(x[:n])
        k = tf.cast(tf.reduce_sum(y) * 0.0, tf.int32) + 2
        return tf.reshape(y * 3.0, [k, -1]), tf.reduce_max(y)

    f = function(of)
    for size, n in ((9, 6), (9, 2), (5, 4), (40, 40)):
        x = vector(size)
        np.testing.assert_allclose(f(x, n)[0], 3 * np.exp(x[:n]).reshape(2, -1), rtol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(vector(9), 5)
    require_native(f, tf.constant(vector(9)), tf.constant(6))


def test_memory_of_what_comes_before_its_sizes_are_compared() -> None:
    """It holds no more than the run says later that there is; until then there may be more."""

    def of(x: Any, n: Any) -> Any:
        y = tf.cast(tf.range(n), tf.float32)
        y = tf.cumsum(y[:, None] * y, 1)
        m = tf.cast(tf.reduce_max(tf.reduce_sum(y, 0)) * 0.0, tf.int32) + n * n
        return tf.reshape(x[:m], [n, n]) * 2.0

    f = function(of)
    x = vector(100)
    for n in (3, 90, 10, 90, 0):
        if n > 10:
            with pytest.raises(tf.errors.InvalidArgumentError):
                f(x, n)
        else:
            np.testing.assert_array_equal(f(x, n), 2 * x[: n * n].reshape(n, n))
    assert "comes before what compares its sizes" in explain(f)(tf.constant(x), tf.constant(3)).tier


def test_a_size_that_must_be_0() -> None:
    f = function(lambda x, n: tf.linalg.matvec(tf.cast(tf.range(3)[:, None] > tf.range(n), tf.float32), x))
    np.testing.assert_array_equal(f(vector(0), 0), np.zeros(3))
    np.testing.assert_allclose(f(np.float32([1, 2]), 2), [0, 1, 3])
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(vector(0), 2)
    assert "InternalError" not in explain(f)(tf.constant(vector(0)), tf.constant(0)).tier


@pytest.mark.parametrize("jit", [None, True, False])
def test_a_broadcast_refuses_sizes_that_it_is_given(jit: bool | None) -> None:
    for f in (
        lambda x, n: tf.broadcast_to(x, [n]),
        lambda x, n: tf.broadcast_to(tf.broadcast_to(x, [n]), [2, n]),
        lambda x, n: tf.broadcast_to(tf.broadcast_to(x, [n]), [2, 4]),
    ):
        traced = tf.function(f, input_signature=[VECTOR, NUMBER], jit_compile=jit)
        for size, n in ((4, 4), (1, 4), (4, 3), (0, 4), (0, 3), (4, 0)):
            x = vector(size)
            if size in (1, n) and n == 4:
                np.testing.assert_array_equal(traced(x, n), f(tf.constant(x), n))
            elif size == n:
                assert traced(x, n).shape == f(tf.constant(x), n).shape
            else:
                with pytest.raises(tf.errors.InvalidArgumentError, match="broadcast"):
                    traced(x, n)


def test_polynomials_are_written_without_products_that_a_run_compares() -> None:
    n, k, m = (Dim.run_time(number) for number in range(3))
    total = 12 * Dim.symbol("a")
    assert product([n, k]) != total
    with related([(("~0", "~1"), total), (("~2",), 3 * n)]):
        assert product([n, k]) == total
        assert product([n, n, k, 2]) == 24 * Dim.symbol("a") * n
        assert divide_exactly(total, n) == k
        assert divide_exactly(2 * total, k) == 2 * n
        assert m == 3 * n
        assert m != 2 * n
        assert n != k
    assert m != 3 * n
    assert divide_exactly(total, n) is None
