"""Values and derivatives at 0, infinities, NaN and huge numbers, as TensorFlow has them, in every way to run.

A cotangent that is exactly 0 wins over an infinite or undefined slope, where TensorFlow often has NaN: a masked pole is harmless.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

INF, NAN = float("inf"), float("nan")
RUNS = {"eager": None, "tier 0": False, "native": True}


def derivatives(f: Callable[[Any], Any], x: Any, run: bool | None, order: int) -> np.ndarray:
    def whole(x: Any) -> Any:
        if order == 0:
            return f(x)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            first = inner.gradient(y, x)
        return first if order == 1 else outer.gradient(first, x)

    x = tf.constant(x, tf.float64)
    found = whole(x) if run is None else tf.function(whole, jit_compile=run)(x)
    return found.numpy()


def _masked(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: tf.where(x > 0.7, f(x), tf.zeros_like(x))


POLES = [0.0, -0.0, -1.0, -2.0, -0.5]
MASKED: dict[str, tuple[Callable[[Any], Any], list[float], tuple[int, ...]]] = {
    "sqrt": (tf.sqrt, [*POLES, -INF], (1, 2)),
    "rsqrt": (tf.math.rsqrt, [*POLES, -INF, NAN, 1e-310], (1, 2)),
    "reciprocal": (tf.math.reciprocal, [*POLES, NAN], (1, 2)),
    "quotient": (lambda x: x / x, [*POLES, NAN], (1, 2)),
    "quotient with a number above": (lambda x: 2.0 / x, [*POLES, NAN], (1, 2)),
    "quotient of quotients": (lambda x: (1.0 / x) / (1.0 / x), [0.0, -0.0], (1,)),
    "power": (lambda x: x**0.5, POLES, (1, 2)),
    "power above 1": (lambda x: x**1.5, POLES, (1, 2)),
    "inverse root": (lambda x: 1.0 / tf.sqrt(x), POLES, (1, 2)),
    "logarithm of a root": (lambda x: tf.math.log(tf.sqrt(x)), POLES, (1, 2)),
    "variable power": (lambda x: x**x, POLES, (1, 2)),
    "negative power": (lambda x: tf.pow(x, -1.5), POLES, (1, 2)),
    "log": (tf.math.log, [*POLES, NAN], (1, 2)),
    "log1p": (tf.math.log1p, [-1.0, -2.0, NAN], (1, 2)),
    "log2": (lambda x: tf.numpy.log2(x), [*POLES, NAN], (1, 2)),
    "asin": (tf.asin, [-1.0, -2.0, -1e20], (1, 2)),
    "acos": (tf.acos, [-1.0, -2.0, -1e20], (1, 2)),
    "acosh": (tf.acosh, [0.5, 0.0, -1.0, NAN], (1, 2)),
    "x log x": (lambda x: x * tf.math.log(x), [*POLES, NAN, -INF], (1, 2)),
    "root by a vector": (
        lambda x: tf.sqrt(x) * tf.constant([[2.0], [3.0]], tf.float64),
        [*POLES, NAN],
        (1, 2),
    ),
    "entropy of rows": (
        lambda x: tf.reduce_sum(x[:, None] * tf.math.log(x[:, None]), 1),
        [*POLES, NAN],
        (1, 2),
    ),
    "transposed": (
        lambda x: tf.transpose(tf.reshape(x * tf.math.log(x), [1, -1]))[:, 0],
        [*POLES, NAN],
        (1, 2),
    ),
    "function": (tf.function(lambda x: x * tf.math.log(x)), [*POLES, NAN, -INF], (1, 2)),
    "function of functions": (
        tf.function(lambda x: tf.function(lambda x: x * tf.math.log(x))(x) + tf.exp(-x)),
        [*POLES, NAN, -INF, -1e4],
        (1, 2),
    ),
    "function that overflows": (tf.function(lambda x: x * tf.exp(-x * x * x)), [-20.0, -INF], (1, 2)),
    "branch": (
        lambda x: tf.cond(tf.reduce_any(x > -1e9), lambda: x * tf.math.log(x), lambda: x),
        [*POLES, NAN],
        (1, 2),
    ),
    "branch in a function": (
        tf.function(lambda x: tf.cond(tf.reduce_any(x > -1e9), lambda: x * tf.math.log(x), lambda: x)),
        [*POLES, NAN],
        (1, 2),
    ),
    "maximum of rows": (lambda x: tf.reduce_max(tf.stack([x, 2.0 * x], 1), 1), [NAN], (1,)),
    "minimum of rows": (lambda x: tf.reduce_min(tf.stack([x, 2.0 * x], 1), 1), [NAN], (1,)),
    "product of rows": (lambda x: tf.reduce_prod(tf.stack([x, x, x], 1), 1), [NAN, -INF, -1e200], (1, 2)),
    "running product of rows": (
        lambda x: tf.math.cumprod(tf.stack([x, x, x], 1), 1)[:, 2],
        [NAN, -INF, -1e200],
        (1, 2),
    ),
    "running product of the elements before": (
        lambda x: tf.math.cumprod(tf.stack([x, x, x, x], 1), 1, exclusive=True, reverse=True)[:, 0],
        [NAN, -INF],
        (1, 2),
    ),
    "running sum of rows": (
        lambda x: tf.cumsum(tf.stack([x * tf.math.log(x), x], 1), 1)[:, 1],
        [*POLES, NAN],
        (1, 2),
    ),
    "running logsumexp of rows": (
        lambda x: tf.math.cumulative_logsumexp(tf.stack([x, 0.5 * x], 1), 1)[:, 1],
        [NAN, -INF],
        (1, 2),
    ),
    "norm of rows": (lambda x: tf.norm(tf.stack([x, 3.0 * x], 1), axis=1), [NAN, -INF, 0.0], (1, 2)),
    "logsumexp of rows": (lambda x: tf.reduce_logsumexp(tf.stack([x, 0.5 * x], 1), 1), [NAN, -INF], (1, 2)),
    "softmax of rows": (lambda x: tf.nn.softmax(tf.stack([x, 0.5 * x], 1))[:, 0], [NAN, -INF], (1, 2)),
    "log softmax of rows": (
        lambda x: tf.nn.log_softmax(tf.stack([x, 0.5 * x], 1))[:, 0],
        [NAN, -INF],
        (1, 2),
    ),
    "product that overflows": (lambda x: x * tf.exp(-x * x * x), [-20.0, -INF], (1, 2)),
    "exp that overflows": (lambda x: tf.exp(-x), [-1e4, -INF], (1, 2)),
    "sin(x) / x": (lambda x: tf.sin(x) / x, [0.0, -INF, NAN], (1, 2)),
    "norm": (lambda x: tf.sqrt(x * x), [0.0, -INF, NAN], (1, 2)),
    "igamma": (lambda x: tf.math.igamma(tf.constant(1.5, tf.float64), x), [*POLES, NAN, -INF], (1, 2)),
    "igamma by its parameter": (
        lambda x: tf.math.igamma(x, tf.constant(1.5, tf.float64)),
        [*POLES, NAN],
        (1, 2),
    ),
    "betainc": (
        lambda x: tf.math.betainc(*tf.constant([1.5, 2.5], tf.float64), x / 8.0),
        [*POLES, NAN, -INF],
        (1, 2),
    ),
    "atanh": (tf.atanh, [-1.0], (1, 2)),
    "atan2": (lambda x: tf.atan2(x, x), [0.0, -0.0], (1,)),
    "exp": (lambda x: tf.exp(-x), [-2.0, -0.5], (1, 2)),
    "cbrt": (tf.math.cbrt, [0.0, -0.0], (1, 2)),
    "xlogy": (lambda x: tf.math.xlogy(1.0, x), [*POLES, NAN], (1, 2)),
    "lgamma": (tf.math.lgamma, [0.0, -1.0, -2.0], (1, 2)),
    "digamma": (tf.math.digamma, [0.0, -1.0, -2.0], (1, 2)),
    "erfinv": (tf.math.erfinv, [-1.0, -2.0], (1, 2)),
    "erfcinv": (tf.math.erfcinv, [0.0, -1.0], (1, 2)),
    "ndtri": (tf.math.ndtri, [0.0, -1.0], (1, 2)),
    "bessel k0": (tf.math.special.bessel_k0, [0.0, -1.0], (1, 2)),
    "expint": (tf.math.special.expint, [0.0], (1, 2)),
    "softsign": (tf.math.softsign, [*POLES, -INF], (1, 2)),
}

# The second derivative multiplies what the rule of the outer function was given, 0, by the infinite slope of the inner one.
OUTER: dict[str, Callable[[Any], Any]] = {
    "exp": tf.exp,
    "exp2": np.exp2,
    "expm1": tf.math.expm1,
    "sin": tf.sin,
    "tan": tf.tan,
    "tanh": tf.tanh,
    "sigmoid": tf.sigmoid,
    "softplus": tf.math.softplus,
    "softsign": tf.math.softsign,
    "gelu": tf.nn.gelu,
    "silu": tf.nn.silu,
    "elu": lambda y: tf.nn.elu(-y),
    "erf": tf.math.erf,
    "square": tf.square,
    "cube": lambda y: y**3,
    "squared difference": lambda y: tf.math.squared_difference(y, 1.0 - y),
    "hypot": lambda y: np.hypot(y, 1.0 + y),
    "logaddexp": lambda y: np.logaddexp(y, 2.0 * y),
    "logsumexp of rows": lambda y: tf.reduce_logsumexp(tf.stack([y, 2.0 * y], 1), 1),
    "softmax of rows": lambda y: tf.nn.softmax(tf.stack([y, 2.0 * y], 1))[:, 0],
    "log softmax of rows": lambda y: tf.nn.log_softmax(tf.stack([y, 2.0 * y], 1))[:, 0],
    "product of rows": lambda y: tf.reduce_prod(tf.stack([y, 1.0 + y], 1), 1),
    "variance of rows": lambda y: tf.math.reduce_variance(tf.stack([y, 1.0 + y], 1), 1),
    "norm of rows": lambda y: tf.norm(tf.stack([y, 1.0 + y], 1), axis=1),
}
MASKED |= {
    f"{name} of a root": (lambda x, f=f: f(tf.sqrt(x)), [0.0, -1.0], (1, 2)) for name, f in OUTER.items()
}
# Sums of products. Their operands have no NaN, which would be part of a sum whatever it is multiplied by.
SUMMED: dict[str, Callable[[Any], Any]] = {
    "running product": lambda rows: tf.math.cumprod(rows, 1)[:, 1],
    "running product of those before": lambda rows: tf.math.cumprod(rows, 1, exclusive=True)[:, 1],
    "running product from the end": lambda rows: tf.math.cumprod(rows, 1, reverse=True)[:, 0],
    "running logsumexp": lambda rows: tf.math.cumulative_logsumexp(rows, 1)[:, 1],
    "matrix product": lambda rows: tf.matmul(rows[:, None, :], rows[:, :, None])[:, 0, 0],
    "square of a matrix product": lambda rows: tf.matmul(rows, tf.ones((2, 1), tf.float64))[:, 0] ** 2,
    "einsum": lambda rows: tf.einsum("ij,ij->i", rows, rows),
    "normalised row": lambda rows: tf.math.l2_normalize(rows, 1)[:, 0],
    "clipped row": lambda rows: tf.clip_by_norm(rows, 0.5, 1)[:, 0],
    "determinant": lambda rows: tf.linalg.det(tf.linalg.diag(rows) + 0.1),
    "inverse": lambda rows: tf.linalg.inv(tf.linalg.diag(rows) + 0.1)[:, 0, 0],
    "solution": lambda rows: tf.linalg.solve(tf.linalg.diag(rows) + 0.1, rows[:, :, None])[:, 0, 0],
    "spectrum": lambda rows: tf.abs(tf.signal.rfft(rows))[:, 1],
    "layer normalisation": lambda rows: tf.nn.layer_normalization(rows)[:, 0],
    "segment sum": lambda rows: tf.math.segment_sum(rows * rows, tf.range(tf.shape(rows)[0]))[:, 0],
    "sparse cross entropy": lambda rows: tf.nn.sparse_softmax_cross_entropy_with_logits(
        tf.zeros_like(rows[:, 0], tf.int32), rows
    ),
    "recomputed product": lambda rows: tf.recompute_grad(lambda z: z * tf.exp(z))(rows)[:, 0],
}
MASKED |= {
    "sparse cross entropy of no number": (
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits([0, 1], tf.stack([x, 1.0 - x], 1)),
        [NAN, -INF],
        (1, 2),
    ),
    "square of acosh": (lambda x: tf.acosh(1.0 - x) ** 2, [0.0], (1, 2)),
    "square of acos": (lambda x: tf.acos(1.0 + x) ** 2, [0.0], (1, 2)),
    "divide_no_nan of roots": (lambda x: tf.math.divide_no_nan(tf.sqrt(x), tf.sqrt(x) + 1.0), POLES, (1, 2)),
}


@pytest.mark.parametrize("run", list(RUNS))
@pytest.mark.parametrize("name", list(MASKED))
def test_a_masked_pole_gives_zero(name: str, run: str) -> None:
    f, points, orders = MASKED[name]
    for order in orders:
        found = derivatives(_masked(f), points, RUNS[run], order)
        assert not found.any(), f"order {order}: {found}"


TAKEN: dict[str, Callable[[Any], Any]] = {
    "sine": tf.sin,
    "product": lambda x: x * tf.exp(x),
    "function": tf.function(lambda x: x * tf.exp(x)),
    "sum of rows": lambda x: tf.reduce_sum(tf.stack([x, x * x], 1), 1),
    "running product of rows": lambda x: tf.math.cumprod(tf.stack([x, x + 1.0], 1), 1)[:, 1],
    "running sum of rows": lambda x: tf.cumsum(tf.stack([x, tf.sin(x)], 1), 1)[:, 1],
    "maximum of rows": lambda x: tf.reduce_max(tf.stack([tf.sin(x), x - 9.0], 1), 1),
    "difference of softmax": lambda x: tf.nn.softmax(tf.stack([x, -x], 1))[:, 0] - 0.5,
}


def _pieces(x: Any, kind: str) -> list[Any]:
    if kind == "split":
        return tf.split(x, 2)
    return tf.unstack(tf.reshape(x, (2, 2)))


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("kind", ["split", "unstack"])
@pytest.mark.parametrize("piece", [0, 1])
@pytest.mark.parametrize("is_other_read", [False, True])
def test_a_masked_pole_gives_zero_through_each_piece(
    run: str, kind: str, piece: int, is_other_read: bool
) -> None:
    def f(x: Any) -> Any:
        pieces = _pieces(tf.exp(1e4 * x), kind)  # infinite at 1, as is its slope
        y = tf.where(_pieces(x, kind)[piece] < 0.5, pieces[piece], 0.0)
        return y + pieces[1 - piece] if is_other_read else y

    x = np.zeros(4)
    x[2 * piece] = 1.0
    wanted = np.full(4, 1e4 if is_other_read else 0.0)
    wanted[2 * piece : 2 * piece + 2] = 0.0, 1e4
    np.testing.assert_array_equal(derivatives(f, x, RUNS[run], 1), wanted)


@pytest.mark.parametrize("run", list(RUNS))
@pytest.mark.parametrize("name", list(TAKEN))
def test_a_cotangent_that_happens_to_be_zero_where_an_element_is_taken_keeps_its_derivative(
    name: str, run: str
) -> None:
    f = TAKEN[name]
    plain = derivatives(lambda x: f(x) ** 2, [0.0, 0.25], RUNS[run], 2)
    found = derivatives(lambda x: tf.where(x > -5.0, f(x), 0.0) ** 2, [0.0, 0.25], RUNS[run], 2)
    np.testing.assert_allclose(found, plain, rtol=1e-12)
    assert found[0] != 0.0


@pytest.mark.parametrize(
    ("name", "run"),
    [(name, run) for name in SUMMED for run in ("eager", "tier 0")]
    + [("matrix product", "native"), ("sparse cross entropy", "native")],
)
def test_a_masked_sum_of_products_of_roots_has_derivatives(name: str, run: str) -> None:
    def f(x: Any) -> Any:
        root = tf.sqrt(x)
        return SUMMED[name](tf.stack([root, 1.0 + 2.0 * root], 1))

    for order in (1, 2):
        found = derivatives(_masked(f), [0.0, 0.0], RUNS[run], order)
        np.testing.assert_array_equal(found, [0.0, 0.0], err_msg=f"order {order}")


@pytest.mark.parametrize("run", ["eager", "tier 0"])
@pytest.mark.parametrize("reverse", [False, True])
def test_an_infinite_element_in_no_product_does_not_reach_the_slopes_of_others(
    run: str, reverse: bool
) -> None:
    """1, x and x y are the products of those before each of x, y, z."""
    numbers = [2.0, 3.0, INF]
    x = numbers[::-1] if reverse else numbers
    found = derivatives(lambda x: tf.math.cumprod(x, exclusive=True, reverse=reverse), x, RUNS[run], 1)
    wanted = [4.0, 2.0, 0.0]
    np.testing.assert_array_equal(found, wanted[::-1] if reverse else wanted)


@pytest.mark.parametrize("run", ["eager", "tier 0"])
@pytest.mark.parametrize(
    ("x", "wanted"),
    [
        ([1e200, 1e200, 3.0], [2 * 3.0 + 3 * 1e200, 3.0 + 3 * 1e200, 3 * 1e200]),
        ([INF, 2.0, 3.0], [12.0, INF, INF]),
        ([2.0, INF, -3.0], [INF, 3.0, INF]),
    ],
)
def test_second_derivatives_of_a_product_that_overflows_are_products_of_others(
    x: list[float], wanted: list[float], run: str
) -> None:
    weights = tf.constant([1.0, 2.0, 3.0], tf.float64)
    weighted = lambda x: tf.reduce_sum(weights * tf.grad(tf.reduce_prod)(x))  # noqa: E731
    found = derivatives(weighted, x, RUNS[run], 1)
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("run", list(RUNS))
@pytest.mark.parametrize("order", [1, 2])
def test_a_running_product_does_not_read_what_comes_after_those_taken(run: str, order: int) -> None:
    """Of 1, x, x y, x y NaN with the last not taken: the derivatives are those without the NaN."""
    taken = tf.constant([True, True, False])

    def products(x: Any) -> Any:
        return tf.where(taken, tf.math.cumprod(tf.concat([x[:2], x[2:] * NAN], 0)), 0.0)

    found = derivatives(products, [2.0, 3.0, 5.0], RUNS[run], order)
    np.testing.assert_array_equal(found, [[4.0, 2.0, 0.0], [1.0, 1.0, 0.0]][order - 1])


@pytest.mark.parametrize("run", list(RUNS))
@pytest.mark.parametrize("name", ["square", "matrix product"])
def test_a_tangent_of_a_masked_derivative_is_zero(name: str, run: str) -> None:
    """Forward mode over reverse mode, with an infinite slope where nothing was taken."""

    def slope(x: Any) -> Any:
        f = OUTER[name] if name in OUTER else lambda z: SUMMED[name](tf.stack([z, 1.0 + z], 1))
        return tf.grad(lambda x: tf.reduce_sum(_masked(lambda x: f(tf.sqrt(x)))(x)))(x)

    def pushed(x: Any) -> Any:
        return tf.jvp(slope, (x,), (tf.ones_like(x),))[1]

    x = tf.constant([0.0, 4.0], tf.float64)
    found = pushed(x) if RUNS[run] is None else tf.function(pushed, jit_compile=RUNS[run])(x)
    np.testing.assert_allclose(found, [0.0, 0.0 if name == "square" else -1.0 / 16.0], atol=1e-12)


@pytest.mark.parametrize("run", list(RUNS))
def test_a_masked_product_of_roots_has_a_second_derivative(run: str) -> None:
    """x = sqrt(x) sqrt(x) is linear; the slope of a root is infinite at 0."""

    def slope(x: Any) -> Any:
        return tf.grad(
            lambda x: tf.reduce_sum(tf.where(x > 0.0, tf.math.multiply_no_nan(tf.sqrt(x), tf.sqrt(x)), 0.0))
        )(x)

    second = tf.grad(lambda x: tf.reduce_sum(slope(x) * [1.0, 2.0]))
    x = tf.constant([0.0, 4.0])
    np.testing.assert_array_equal(tf.function(second)(x) if RUNS[run] else second(x), [0.0, 0.0])


@pytest.mark.parametrize("run", list(RUNS))
def test_a_masked_product_still_passes_over_what_is_not_finite(run: str) -> None:
    """Beside a factor of 0 an infinite cotangent counts as 0, a finite one keeps its derivative by that factor."""
    call = tf.function(lambda f, *x: f(*x)) if RUNS[run] else lambda f, *x: f(*x)
    x, y = tf.constant([2.0, 3.0, 5.0]), tf.constant([0.0, 2.0, 0.0])
    taken = tf.constant([True, True, False])

    def slopes(x: Any, y: Any, f: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch((x, y))
            with tf.GradientTape() as inner:
                inner.watch((x, y))
                z = tf.reduce_sum(tf.where(taken, f(tf.math.multiply_no_nan(x, y)), 0.0))
            x_bar, y_bar = inner.gradient(z, (x, y))
        return x_bar, y_bar, tape.gradient(x_bar, y), tape.gradient(y_bar, x)

    for found, want in zip(
        call(lambda x, y: slopes(x, y, tf.sqrt), x, y)[:2],
        ([0.0, 1.0 / 6.0**0.5, 0.0], [INF, 1.5 / 6.0**0.5, 0.0]),
        strict=True,
    ):
        np.testing.assert_allclose(found, want, rtol=1e-6)
    for found in call(lambda x, y: slopes(x, y, lambda z: z), x, y)[2:]:
        np.testing.assert_array_equal(found, [1.0, 1.0, 0.0])


@pytest.mark.parametrize("run", list(RUNS))
def test_what_only_the_other_branch_reads_gets_zeros_without_nan(run: str) -> None:
    @tf.function
    def f(x: Any) -> Any:
        rows = tf.reduce_max(tf.stack([x, 2.0 * x], 1), 1)
        big = tf.exp(x)
        return tf.cond(
            x[0] < -1e9, lambda: tf.reduce_sum(rows * big), lambda: tf.reduce_sum(tf.sin(x[:1]) ** 2)
        )

    found = derivatives(f, [0.0, NAN, 1e4], RUNS[run], 1)
    np.testing.assert_array_equal(found, [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(derivatives(f, [0.0, NAN, 1e4], RUNS[run], 2), [2.0, 0.0, 0.0])


# (function, order of the derivative, points, results)
KNOWN: dict[str, tuple[Callable[[Any], Any], int, list[float], list[float]]] = {
    "asinh' far out": (tf.asinh, 1, [1e20, -1e20, 1e300, INF, 0.0], [1e-20, 1e-20, 1e-300, 0.0, 1.0]),
    "acosh' at 1 and far out": (tf.acosh, 1, [1.0, 1e20, INF], [INF, 1e-20, 0.0]),
    "acosh'' at 1": (tf.acosh, 2, [1.0], [-INF]),
    "softsign' far out": (tf.math.softsign, 1, [INF, -INF, 1e200, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0, 0.25]),
    "softsign'' far out": (tf.math.softsign, 2, [INF, -INF, 1e200, 1.0], [0.0, 0.0, 0.0, -0.25]),
    "elu' at 0": (tf.nn.elu, 1, [0.0, -0.0, -INF], [1.0, 1.0, 0.0]),
    "elu'' at 0": (tf.nn.elu, 2, [0.0, -0.0, 1.0, -INF], [0.0, 0.0, 0.0, 0.0]),
    # What is not below 0 is as it is: NaN, whose slope is that from above.
    "elu' at NaN": (tf.nn.elu, 1, [NAN, 1.0], [1.0, 1.0]),
    "elu'' at NaN": (tf.nn.elu, 2, [NAN, 1.0], [0.0, 0.0]),
    "selu' at NaN": (tf.nn.selu, 1, [NAN, 1.0], [1.0507009873554805, 1.0507009873554805]),
    "selu'' at NaN": (tf.nn.selu, 2, [NAN, 1.0], [0.0, 0.0]),
    "relu6": (tf.nn.relu6, 0, [NAN, INF, -INF, 6.0], [NAN, 6.0, 0.0, 6.0]),
    "relu6'": (tf.nn.relu6, 1, [6.0, 0.0, 7.0, 3.0], [0.0, 0.0, 0.0, 1.0]),
    "rsqrt'": (tf.math.rsqrt, 1, [0.0, INF, 4.0], [-INF, 0.0, -0.0625]),
    "reciprocal'": (tf.math.reciprocal, 1, [0.0, INF, 2.0], [-INF, 0.0, -0.25]),
}


@pytest.mark.parametrize("run", list(RUNS))
@pytest.mark.parametrize("name", list(KNOWN))
def test_derivatives_at_special_points_are_tensorflows(name: str, run: str) -> None:
    f, order, points, wanted = KNOWN[name]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(derivatives(f, points, RUNS[run], order), wanted, rtol=1e-11)


@pytest.mark.parametrize("run", list(RUNS))
def test_a_nan_is_passed_over_by_positions(run: str) -> None:
    x = tf.constant([[1.0, NAN, 3.0], [NAN, NAN, 2.0], [NAN, NAN, NAN], [-INF, NAN, INF], [NAN, -INF, -INF]])

    def both(x: Any) -> Any:
        return tf.argmax(x, 1), tf.argmin(x, 1)

    jit = RUNS[run]
    largest, smallest = both(x) if jit is None else tf.function(both, jit_compile=jit)(x)
    assert largest.numpy().tolist() == [2, 2, 0, 2, 0]
    assert smallest.numpy().tolist() == [0, 2, 0, 0, 1]


@pytest.mark.parametrize("run", list(RUNS))
def test_matrices_that_are_not_finite_have_factors_that_are_nan(run: str) -> None:
    x = tf.constant([[[1.0, INF], [INF, 1.0]], [[4.0, 0.0], [0.0, 9.0]], [[INF, 0.0], [0.0, 1.0]]])
    jit = RUNS[run]
    found = (tf.linalg.cholesky if jit is None else tf.function(tf.linalg.cholesky, jit_compile=jit))(
        x
    ).numpy()
    np.testing.assert_array_equal(found[1], [[2.0, 0.0], [0.0, 3.0]])
    assert np.isnan(found[0][1, 1]) and found[0][0, 1] == 0.0
    with pytest.raises(ValueError, match="positive definite"):
        tf.linalg.cholesky(tf.constant([[[1.0, INF], [INF, 1.0]], [[-1.0, 0.0], [0.0, 1.0]]]))


@pytest.mark.parametrize("run", list(RUNS))
def test_a_shape_of_nothing_is_completed_from_the_axes_that_are_not_empty(run: str) -> None:
    jit = RUNS[run]
    for given, asked, wanted in (
        ([0, 3, 4], [0, -1], (0, 12)),
        ([0, 3, 4], [-1, 0], (12, 0)),
        ([0, 3, 4], [-1, 4], (0, 4)),
        ([0, 3], [-1], (0,)),
    ):

        def again(x: Any, asked: Any = tuple(asked)) -> Any:
            return tf.reshape(x, asked)

        def by_value(x: Any, sizes: Any) -> Any:
            return tf.reshape(x, sizes)

        x, sizes = tf.zeros(given), tf.constant(asked)
        if jit is None:
            assert tuple(again(x).shape) == tuple(by_value(x, sizes).shape) == wanted
        else:
            assert tuple(tf.function(again, jit_compile=jit)(x).shape) == wanted
            assert tuple(tf.function(by_value, jit_compile=jit)(x, sizes).shape) == wanted


def test_integers_and_complex_numbers_are_taken_where_tensorflow_takes_them() -> None:
    i = tf.constant([1, 2])
    assert tf.math.divide_no_nan(i, tf.constant([0, 4])).numpy().tolist() == [0.0, 0.5]
    assert tf.math.divide_no_nan(i, tf.constant([0, 4])).dtype is tf.float64
    assert tf.math.divide_no_nan(tf.cast(i, tf.int8), tf.cast(i, tf.int8)).dtype is tf.float32
    assert tf.math.squared_difference(tf.constant([1 + 2j]), tf.constant([0j])).numpy().tolist() == [5 + 0j]
    assert tf.linspace(0, 1, 5).numpy().tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert tf.linspace(tf.constant(0), tf.constant(10), 3).dtype is tf.float64


def test_axes_and_batch_shapes_may_be_tensors_that_are_known_when_the_function_runs() -> None:
    swap = tf.function(lambda x, perm: tf.transpose(x, perm))
    x = tf.constant(np.arange(6.0).reshape(2, 3))
    assert swap(x, tf.constant([1, 0])).shape == (3, 2)
    assert swap(x, tf.constant([0, 1])).shape == (2, 3)
    with pytest.raises(ValueError, match="not a permutation"):
        swap(x, tf.constant([0, 0]))
    stacks = tf.function(
        lambda n, x: tf.eye(n, batch_shape=tf.shape(x)),
        input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec([None, None])],
    )
    assert stacks(2, tf.zeros([3, 1])).shape == (3, 1, 2, 2)
    np.testing.assert_array_equal(
        stacks(2, tf.zeros([3, 1])).numpy(), np.broadcast_to(np.eye(2), (3, 1, 2, 2))
    )


@pytest.mark.parametrize("jit", [False, True])
def test_what_is_computed_from_sizes_may_be_negative(jit: bool) -> None:
    def program(x: Any) -> Any:
        n = tf.shape(x)[0]
        return n - 5, tf.shape(x) - 5, tf.maximum(n - 5, -1) * 2, tf.range(-2, n), tf.range(n - 5, 3)

    f = tf.function(program, input_signature=[tf.TensorSpec([None], tf.float64)], jit_compile=jit)
    for n in (0, 1, 2, 4, 7):
        wanted = n - 5, [n - 5], max(n - 5, -1) * 2, range(-2, n), range(n - 5, 3)
        for y, want in zip(f(tf.zeros([n], tf.float64)), wanted, strict=True):
            np.testing.assert_array_equal(y.numpy(), list(want) if isinstance(want, range) else want)


@pytest.mark.parametrize("specs", [([None], [None]), (None, None), ([None], [1]), ([3], [None])], ids=str)
def test_an_operand_that_turns_out_to_be_broadcast_keeps_its_shape_and_derivatives(specs: Any) -> None:
    """Sizes that are both unknown need not be equal: what is added up for a broadcast operand is added up once."""

    def program(x: Any, s: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch([x, s])
            with tf.GradientTape() as tape:
                tape.watch([x, s])
                y = tf.reduce_sum(tf.sin(tf.where(x > 0.0, tf.exp(x * s) * s, x / s)))
            first = tape.gradient(y, [x, s])
            total = tf.reduce_sum(tf.sin(first[0])) + tf.reduce_sum(tf.sin(first[1]))
        return first + outer.gradient(total, [x, s])

    x, s = tf.constant([1.0, -2.0, 0.5], tf.float64), tf.constant([0.3], tf.float64)
    wanted = program(x, s)
    signature = [tf.TensorSpec(shape, tf.float64) for shape in specs]
    for mode in (False, True):
        found = tf.function(program, input_signature=signature, jit_compile=mode)(x, s)
        for a, b in zip(found, wanted, strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("shape", [[None], None], ids=str)
def test_operands_of_unknown_sizes_add_exact_zeros_where_they_are_not_taken(shape: Any) -> None:
    def program(x: Any, s: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([x, s])
            y = tf.reduce_sum(tf.where(s > 0.0, x / s, 0.0))
        return tape.gradient(y, [x, s])

    x, s = tf.constant([1.0, -2.0, 0.5]), tf.constant([2.0, 0.0, 4.0])
    spec = tf.TensorSpec(shape, tf.float32)
    by_x, by_s = tf.function(program, input_signature=[spec, spec])(x, s)
    np.testing.assert_array_equal(by_x, [0.5, 0.0, 0.25])
    np.testing.assert_array_equal(by_s, [-0.25, 0.0, -0.03125])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_what_only_masked_products_of_a_row_are_made_of_gets_zeros(exclusive: bool, reverse: bool) -> None:
    place = slice(None, None, -1 if reverse else 1)
    x = tf.constant(np.array([np.inf, 2.0, 3.0])[place])
    for function in (tf.math.cumprod, tf.math.cumulative_logsumexp):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x, exclusive=exclusive, reverse=reverse)
            masked = tf.where(np.array([True, False, False])[place], y, 0.0)
        assert tape.gradient(masked, x).numpy()[place].tolist()[1:] == [0, 0]


@pytest.mark.parametrize("shape", [[None], None], ids=str)
def test_a_derivative_of_a_tangent_of_unknown_size_is_0_where_it_is_not_taken(shape: Any) -> None:
    @tf.function(input_signature=[tf.TensorSpec(shape)])
    def program(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.autodiff.ForwardAccumulator(x, x) as forward:
                y = tf.where(x > 0.0, tf.math.rsqrt(x), 0.0)
            y_dot = forward.jvp(y)
        return tape.gradient(y_dot, x)

    np.testing.assert_allclose(program(tf.constant([-1.0, 0.0, 4.0])), [0.0, 0.0, 0.03125])


SECOND = {
    "asin": (tf.asin, [-1.0, 1.0], [-INF, INF]),
    "acos": (tf.acos, [-1.0, 1.0], [INF, -INF]),
    "atanh": (tf.atanh, [-1.0, 1.0], [-INF, INF]),
    "acosh": (tf.acosh, [1.0], [-INF]),
    "cbrt": (tf.math.cbrt, [-0.0, 0.0, 1e-250], [INF, -INF, -INF]),
}


@pytest.mark.parametrize("run", list(RUNS))
@pytest.mark.parametrize("name", list(SECOND))
def test_second_derivatives_are_infinite_where_the_first_ones_are(name: str, run: str) -> None:
    f, points, want = SECOND[name]
    np.testing.assert_array_equal(derivatives(f, points, RUNS[run], 2), want)


@pytest.mark.parametrize("run", list(RUNS))
@pytest.mark.parametrize("f", [tf.atan, tf.asinh, tf.acosh])
def test_second_derivatives_vanish_where_the_function_ends_at_infinity(f: Any, run: str) -> None:
    points = [INF] if f is tf.acosh else [-INF, INF]
    for order in (1, 2):
        np.testing.assert_array_equal(derivatives(f, points, RUNS[run], order), np.zeros(len(points)))


def test_a_tangent_of_a_masked_gradient_of_a_reciprocal_is_0() -> None:
    x = tf.constant([0.0, 2.0], tf.float64)
    gradient = tf.grad(lambda x: tf.reduce_sum(tf.where(x > 0.0, tf.math.reciprocal(x), 0.0)))
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        slope = gradient(x)
    np.testing.assert_array_equal(accumulator.jvp(slope), [0.0, 0.25])
