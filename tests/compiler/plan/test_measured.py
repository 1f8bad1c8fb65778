"""Slices and masks of a size that only the run finds are part of the one native call, whatever the size: with NumPy's results, in
loops and branches, and with their gradients."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.plan import measured
from graphad.core.dims import Dim, UndecidedSize, at_most, run_time_symbols
from graphad.core.errors import UnavailableError
from graphad.tools.explain import explain

_rng = np.random.default_rng(5)
N = 12
X = _rng.normal(size=(N, 4)).astype(np.float32)
W = _rng.normal(size=(4, 3)).astype(np.float32)
SIZES = (5, 12, 1, 0, 7)


def softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True)) if x.size else x
    return e / e.sum(axis, keepdims=True)


# what is computed of the slice, and the same by NumPy
PROGRAMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sum": (tf.reduce_sum, np.sum),
    "mean": (lambda y: tf.reduce_mean(y, 0), lambda y: y.mean(0)),
    "max": (lambda y: tf.reduce_max(y, 1), lambda y: y.max(1)),
    "softmax of columns": (lambda y: tf.nn.softmax(y, 0), lambda y: softmax(y, 0)),
    "softmax of rows": (tf.nn.softmax, lambda y: softmax(y, 1)),
    "product": (lambda y: y @ W, lambda y: y @ W),
    "gram": (lambda y: tf.matmul(y, y, transpose_a=True), lambda y: y.T @ y),
    "transpose": (lambda y: tf.transpose(y) * 2, lambda y: y.T * 2),
    "running": (lambda y: tf.cumsum(y, 0), lambda y: np.cumsum(y, 0)),
    "sorted rows": (lambda y: tf.sort(y, 1), lambda y: np.sort(y, 1)),
    "joined": (lambda y: tf.concat([y, X, y + 1], 0), lambda y: np.concatenate([y, X, y + 1])),
    "reversed": (lambda y: tf.reverse(y, [0]) + 1, lambda y: y[::-1] + 1),
    "padded": (lambda y: tf.pad(y, [[1, 2], [0, 0]]), lambda y: np.pad(y, [[1, 2], [0, 0]])),
    "flat": (lambda y: tf.reshape(y, [-1]) * 3, lambda y: y.reshape(-1) * 3),
    "counted": (
        lambda y: tf.reduce_sum(y) / tf.cast(tf.size(y) + 1, tf.float32),
        lambda y: np.sum(y) / np.float32(y.size + 1),
    ),
    "shape": (
        lambda y: tf.shape(y + 1)[0] + tf.cast(y[:, 0] > 9, tf.int32),
        lambda y: np.full(len(y), len(y)),
    ),
    "distances": (
        lambda y: tf.reduce_sum((y[:, None] - X) ** 2, -1),
        lambda y: ((y[:, None] - X) ** 2).sum(-1),
    ),
    "part of a part": (lambda y: y[1:] * 2, lambda y: y[1:] * 2),
    "lookups": (lambda y: tf.gather(X, tf.argmax(y, 1)), lambda y: X[y.argmax(1)]),
    "segments": (
        lambda y: tf.math.unsorted_segment_sum(y, tf.argmax(y, 1), 4),
        lambda y: np.stack([y[y.argmax(1) == k].sum(0) for k in range(4)]),
    ),
    "complex": (lambda y: tf.abs(tf.complex(y, y) * 2), lambda y: np.abs((y + 1j * y) * 2)),
}


def in_python(f: Any, *given: Any) -> list[str]:
    """The steps in Python."""
    units = explain(f)(*given).units or "     host: all"
    return [line for line in units.splitlines() if line[3:].startswith("  host") or "calls NumPy" in line]


def agrees(f: Any, want: Callable[..., Any], *given: Any) -> None:
    found, wanted = f(*map(tf.constant, given)).numpy(), np.asarray(want(*given))
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_slices(name: str) -> None:
    of, want = PROGRAMS[name]
    f = tf.function(lambda x, n: of(x[:n]), jit_compile=True)
    g = tf.function(lambda x, m: of(tf.boolean_mask(x, m)), jit_compile=True)
    for n in SIZES:
        if n or name != "mean":  # of which NumPy warns
            agrees(f, lambda x, n: want(x[:n]), X, n)
            mask = _rng.permutation(N) < n
            agrees(g, lambda x, m: want(x[m]), X, mask)
    assert not in_python(f, tf.constant(X), tf.constant(5))
    assert not in_python(g, tf.constant(X), tf.constant(np.arange(N) < 5))


@pytest.mark.parametrize("name", ["sum", "mean", "softmax of columns", "product", "gram", "running"])
def test_slices_of_each_round(name: str) -> None:
    of, want = PROGRAMS[name]

    def total(x: Any, n: Any) -> Any:
        found = tf.constant(0.0)
        for i in tf.range(1, n + 1):
            if i % 3 != 0:
                found += tf.reduce_sum(of(x[:i])) - tf.reduce_mean(x[i - 1 : i + 2])
        return found

    def wanted(x: Any, n: int) -> Any:
        rounds = [i for i in range(1, n + 1) if i % 3]
        return np.float32(sum(np.sum(want(x[:i])) - x[i - 1 : i + 2].mean() for i in rounds))

    f = tf.function(total, jit_compile=True)
    for n in (12, 1, 7):
        np.testing.assert_allclose(
            f(tf.constant(X), tf.constant(n)).numpy(), wanted(X, n), rtol=1e-4, atol=1e-4
        )
    assert not in_python(f, tf.constant(X), tf.constant(5))


def test_means_of_all_sizes() -> None:
    """Bits of floats grow evenly with a size between powers of two, and in no simple way beyond."""
    x = _rng.normal(size=64).astype(np.float32)

    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        out = tf.TensorArray(tf.float32, 64)
        for i in tf.range(64):
            out = out.write(i, tf.reduce_mean(x[: i + 1]))
        return out.stack()

    want = np.cumsum(x.astype(np.float64)) / np.arange(1, 65)
    np.testing.assert_allclose(f(tf.constant(x)).numpy(), want, atol=1e-6)
    assert not in_python(f, tf.constant(x))


def test_gradients() -> None:
    def value(x: Any, part: Callable[[Any], Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.tanh(part(x))
            loss = tf.reduce_sum(y * y) + tf.reduce_mean(part(x))
        return loss, tape.gradient(loss, x)

    f = tf.function(lambda x, n: value(x, lambda x: x[n:]), jit_compile=True)
    g = tf.function(lambda x, m: value(x, lambda x: tf.boolean_mask(x, m)), jit_compile=True)
    for n in SIZES[:3]:
        mask = _rng.permutation(N) < n
        taken = np.arange(N) >= n - 1
        for (_, found), chosen in (
            (g(tf.constant(X), mask), mask),
            (f(tf.constant(X), tf.constant(n - 1)), taken),
        ):
            t = np.tanh(X)
            want = (2 * t * (1 - t * t) + 1 / (4 * chosen.sum())) * chosen[:, None]
            np.testing.assert_allclose(found.numpy(), want, rtol=2e-5, atol=1e-6)
    assert not in_python(f, tf.constant(X), tf.constant(5))
    assert not in_python(g, tf.constant(X), tf.constant(taken))


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, np.int32, np.float64, np.complex128])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_masks_along_an_axis(axis: int, dtype: Any) -> None:
    x = np.asarray(_rng.normal(size=(5, 6, 7)) * 9).astype(dtype)

    def taken(x: Any, m: Any, inner: Any) -> Any:
        return tf.boolean_mask(x, m, axis=axis), tf.boolean_mask(x[..., 0], inner)

    f = tf.function(taken, jit_compile=True)
    for share in (0.5, 0.0, 1.0, 0.2):
        m, inner = _rng.random(x.shape[axis]) < share, _rng.random((5, 6)) < share
        a, b = f(tf.constant(x), m, inner)
        np.testing.assert_array_equal(a.numpy(), np.compress(m, x, axis))
        np.testing.assert_array_equal(b.numpy(), x[..., 0][inner])
    assert not in_python(f, tf.constant(x), tf.constant(m), tf.constant(inner))


# Truth values whose bytes are not 0 and 1, as views of other arrays have them.
BYTES = np.array([0, 255, 1, 0, 7, 2, 255, 0, 0, 128, 0, 3], np.uint8)


@pytest.mark.parametrize("is_row", [False, True])
def test_any_byte_of_a_mask_but_0_is_true(is_row: bool) -> None:
    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None, 4]), tf.TensorSpec([None], tf.bool)])
    def f(x: Any, mask: Any) -> Any:
        x = x if is_row else x[:, 0]
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.boolean_mask(x, mask) * 2
            total = tf.reduce_sum(y * y)
        return y, tape.gradient(total, x), tf.where(mask)[:, 0] + 1

    for _ in range(3):
        y, slope, places = (t.numpy() for t in f(tf.constant(X), tf.constant(BYTES.view(bool))))
        x, true = X if is_row else X[:, 0], BYTES > 0
        np.testing.assert_array_equal(y, x[true] * 2)
        np.testing.assert_array_equal(slope, np.where(true[:, None] if is_row else true, x * 8, 0))
        np.testing.assert_array_equal(places, np.flatnonzero(true) + 1)


def test_any_byte_but_0_is_the_complex_number_1() -> None:
    f = tf.function(lambda mask: tf.cast(mask, tf.complex64) * 2j, jit_compile=True)
    for _ in range(3):
        np.testing.assert_array_equal(f(tf.constant(BYTES.view(bool))).numpy(), (BYTES > 0) * 2j)


def test_where_a_mask_is_true() -> None:
    f = tf.function(lambda x: tf.where(x > 0), jit_compile=True)
    g = tf.function(lambda x: (tf.gather_nd(x, tf.where(x > 1)), tf.where(x)), jit_compile=True)
    for scale in (1.0, 0.0, -1.0):
        x = X * np.float32(scale)
        np.testing.assert_array_equal(f(tf.constant(x)).numpy(), np.argwhere(x > 0))
        values, places = g(tf.constant(x))
        np.testing.assert_array_equal(values.numpy(), x[x > 1])
        np.testing.assert_array_equal(places.numpy(), np.argwhere(x))
    assert not in_python(f, tf.constant(X)) and not in_python(g, tf.constant(X))


def test_bounds_are_clipped_and_count_from_the_end() -> None:
    f = tf.function(lambda x, a, b: x[a:b:2] + 1, jit_compile=True)
    for a in (-99, -3, 0, 2, 12, 99):
        for b in (-99, -2, 0, 5, 12, 99):
            np.testing.assert_array_equal(
                f(tf.constant(X), tf.constant(a), tf.constant(b)).numpy(), X[a:b:2] + 1
            )
    assert not in_python(f, tf.constant(X), tf.constant(1), tf.constant(7))


def test_many_rows() -> None:
    """Sizes at which products and sums go other ways."""
    x, w = _rng.normal(size=(3000, 16)).astype(np.float32), _rng.normal(size=(16, 24)).astype(np.float32)
    f = tf.function(lambda x, n: (x[:n] @ w, tf.reduce_sum(x[:n], 0), tf.nn.softmax(x[:n])), jit_compile=True)
    for n in (3000, 1, 0, 2, 17, 1023, 2999):
        product, total, rows = f(tf.constant(x), tf.constant(n))
        np.testing.assert_allclose(product.numpy(), x[:n] @ w, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(total.numpy(), x[:n].sum(0), rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(rows.numpy(), softmax(x[:n], 1), rtol=1e-4)


def test_errors_are_those_of_the_op() -> None:
    f = tf.function(lambda x, m: tf.boolean_mask(x, m)[2] + 1, jit_compile=True)
    mask = np.arange(N) % 3 == 0
    np.testing.assert_array_equal(f(tf.constant(X), mask).numpy(), X[6] + 1)
    with pytest.raises(
        tf.errors.OutOfRangeError, match="slice index 2 of dimension 0 out of bounds: the size is 1"
    ):
        f(tf.constant(X), np.arange(N) == 3)
    np.testing.assert_array_equal(f(tf.constant(X), mask).numpy(), X[6] + 1)


# what is computed of two slices, and the same by NumPy
PRODUCTS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "gram and a number": (
        lambda y, z: tf.matmul(y, y, transpose_b=True) + z[0, 0],
        lambda y, z: y @ y.T + (z[0, 0] if len(z) else 0),
    ),
    "all pairs in one sum": (
        lambda y, z: tf.reduce_sum(tf.sin(y[:, None] * y[None])),
        lambda y, z: np.sin(y[:, None] * y[None]).sum(),
    ),
    "pairs of two": (
        lambda y, z: tf.reduce_sum(tf.tanh(tf.matmul(y, z, transpose_b=True))),
        lambda y, z: np.tanh(y @ z.T).sum(),
    ),
    "pairs, flat": (
        lambda y, z: tf.reshape(y[:, None, 0] * z[None, :, 1], [-1]) * 2,
        lambda y, z: (y[:, None, 0] * z[None, :, 1]).reshape(-1) * 2,
    ),
    "triples": (
        lambda y, z: tf.reduce_sum(tf.cos(y[:, None, None, 0] * y[None, :, None, 1] * z[:, 2])),
        lambda y, z: np.cos(y[:, None, None, 0] * y[None, :, None, 1] * z[:, 2]).sum(),
    ),
    "squares of pairs": (
        lambda y, z: tf.matmul(tf.matmul(y, y, transpose_b=True), tf.matmul(y, z, transpose_b=True)),
        lambda y, z: y @ y.T @ (y @ z.T),
    ),
    "joined pairs": (
        lambda y, z: tf.concat([tf.reshape(tf.matmul(y, y, transpose_b=True), [-1]), z[:, 0]], 0) + 1,
        lambda y, z: np.concatenate([(y @ y.T).reshape(-1), z[:, 0]]) + 1,
    ),
    "attention": (
        lambda y, z: tf.matmul(tf.nn.softmax(tf.matmul(y, z, transpose_b=True)), z),
        lambda y, z: softmax(y @ z.T, 1) @ z if len(z) else np.zeros_like(y),
    ),
}
PAIRS = ((5, 3), (12, 1), (1, 12), (0, 7), (7, 0), (12, 12), (2, 9), (0, 0), (9, 2))


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_sizes(name: str) -> None:
    """As many elements as n n, n m and n n m, whatever n and m are, one growing as the other falls."""
    of, want = PRODUCTS[name]
    f = tf.function(lambda x, n, m: of(x[:n], x[:m]), jit_compile=True)
    g = tf.function(lambda x, p, q: of(tf.boolean_mask(x, p), tf.boolean_mask(x, q)), jit_compile=True)
    for n, m in PAIRS:
        if name != "gram and a number" or m:
            agrees(f, lambda x, n, m: want(x[:n], x[:m]), X, n, m)
            masks = [_rng.permutation(N) < k for k in (n, m)]
            agrees(g, lambda x, p, q: want(x[p], x[q]), X, *masks)
    assert not in_python(f, *map(tf.constant, (X, 5, 3)))
    assert not in_python(g, *map(tf.constant, (X, np.arange(N) < 5, np.arange(N) < 3)))


@pytest.mark.parametrize("name", PRODUCTS)
def test_gradients_of_products_of_sizes(name: str) -> None:
    of = PRODUCTS[name][0]

    def slope(x: Any, n: Any, m: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(of(x[:n], x[:m]) ** 2)
        return tape.gradient(y, x)

    f = tf.function(slope, jit_compile=True)
    for n, m in PAIRS:
        if name != "gram and a number" or m:
            agrees(f, lambda *given: slope(*map(tf.constant, given)).numpy(), X, n, m)
    assert not in_python(f, *map(tf.constant, (X, 5, 3)))


def test_products_of_the_sizes_of_rounds_and_of_what_is_outside() -> None:
    def total(x: Any, n: Any, m: Any) -> Any:
        outside, found = x[:m], tf.constant(0.0)
        for i in tf.range(n):
            each = tf.matmul(x[:i], outside, transpose_b=True)
            found += tf.reduce_sum(tf.sin(each)) + tf.reduce_sum(
                tf.cos(tf.matmul(each, each, transpose_b=True))
            )
        return found

    def want(x: Any, n: int, m: int) -> Any:
        pairs = [x[:i] @ x[:m].T for i in range(n)]
        return np.float32(sum(np.sin(y).sum() + np.cos(y @ y.T).sum() for y in pairs))

    f = tf.function(total, jit_compile=True)
    for n, m in PAIRS:
        np.testing.assert_allclose(f(*map(tf.constant, (X, n, m))).numpy(), want(X, n, m), 1e-4, 1e-3)
    assert not in_python(f, *map(tf.constant, (X, 5, 3)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_words_that_two_sizes_change_together(dtype: Any) -> None:
    """The number of all elements of [n, m] is a product of sizes, in which each alone is found evenly."""
    x = X.astype(dtype)
    f = tf.function(lambda x, n, m: tf.reduce_sum(tf.tanh(x[:n, :m])), jit_compile=True)
    g = tf.function(lambda x, n, m: tf.reshape(x[:n, m:] * 2, [-1]) + 1, jit_compile=True)
    for n, m in ((2, 4), (12, 4), (5, 2), (0, 3), (7, 3), (3, 0), (12, 1)):
        agrees(f, lambda x, n, m: np.sum(np.tanh(x[:n, :m])), x, n, m)
        agrees(g, lambda x, n, m: (x[:n, m:] * 2).reshape(-1) + 1, x, n, m)


def test_words_that_products_of_sizes_change() -> None:
    """A word is a sum of sizes and products that shapes have. What is no such sum has no plan."""
    from graphad.compiler.rows import GROUP, GROUP_COUNT, GROUP_POWER, M_LAST, MEASURED, Row

    finders = [Row(1, [0] * MEASURED, finds=name) for name in ("~0", "~1")]
    numbers = {"~0": 20, "~1": 16}

    def rows(*terms: Callable[[int, int], int]) -> Callable[[Any], list[Row]]:
        return lambda numbers: [*finders, Row(2, [term(numbers["~0"], numbers["~1"]) for term in terms])]

    def groups(words: list[int]) -> list[tuple[int, list[int]]]:
        found = []
        while words:
            count = words[GROUP_COUNT]
            found.append((words[GROUP_POWER], words[GROUP + 1 : GROUP + 2 * count : 2]))
            words = words[GROUP + 2 * count :]
        return found

    found = measured.patched(rows(lambda n, m: 3 * n + 5 * m, lambda n, m: m), numbers)
    assert [groups(list(row.words[MEASURED:])) for row in found[:2]] == [[(1, [3])], [(1, [5, 1])]]
    products = [("~0", "~0"), ("~0", "~1"), ("~0", "~0", "~1")]
    sums = (lambda n, m: n * n * m + 7 * n, lambda n, m: 9 - n * m - n * n)
    found = measured.patched(rows(*sums), numbers, products)
    assert groups(list(found[0].words[MEASURED:])) == [(1, [7]), (2, [-1]), (1, [-1]), (2, [1])]
    assert groups(list(found[1].words[MEASURED:])) == [(1, [-1]), (1, [1])]
    factors = [patch.path for patch in found[1].patches if patch.inner == M_LAST and patch.path != (2,)]
    assert factors == [(0,), (0,), (0,)]
    for term in (lambda n, m: n * m, lambda n, m: 7 - n * m, lambda n, m: n + m * (n - 20)):
        with pytest.raises(UnavailableError, match="in no simple way"):
            measured.patched(rows(term), numbers)
    for term in (lambda n, m: n * m * m, lambda n, m: n * n * n, lambda n, m: n // 3, lambda n, m: n ^ m):
        with pytest.raises(UnavailableError, match="in no simple way"):
            measured.patched(rows(term), numbers, products)


@pytest.mark.parametrize("count", [20, 100_000])
def test_largest_sizes_that_no_machine_has_memory_for(count: int) -> None:
    """All pairs of what a mask and a slice take: as large as 40 GB, though the actual ones are few."""
    x, mask = _rng.normal(size=count).astype(np.float32), np.zeros(count, np.bool_)
    mask[7:13] = True
    f = tf.function(
        lambda x, m, n: tf.boolean_mask(x, m)[:, None] * x[:n][None] + 1,
        jit_compile=True,
    )
    for n in (5, 0, 3):
        agrees(f, lambda x, m, n: x[m][:, None] * x[:n] + 1, x, mask, n)
    assert bool(in_python(f, *map(tf.constant, (x, mask, 5)))) == (count > 20)


def test_gradient_of_a_slice_of_a_slice() -> None:
    """The shape of the outer one is an input of its derivative, whose size is a symbol."""

    def f(x: Any, n: Any, m: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(x[n:][m:] ** 2) + tf.reduce_sum(x[n : n + 5][m : m + 3] ** 3)
        return tape.gradient(loss, x)

    def want(x: Any, n: int, m: int) -> Any:
        out = np.zeros_like(x)
        out[n:][m:] += 2 * x[n:][m:]
        out[n : n + 5][m : m + 3] += 3 * x[n : n + 5][m : m + 3] ** 2
        return out

    compiled = tf.function(f, jit_compile=True)
    for n, m in ((3, 2), (0, 0), (9, 1), (12, 3), (4, 4), (2, 11), (7, 3)):
        agrees(compiled, want, X, n, m)


def test_no_backend_is_looked_up_before_kernels_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its import takes longer than all else of a first call, which goes on while another thread has it."""
    from graphad.compiler.plan.tiers import Compilation

    graph = tf.function(lambda x: x + 1).get_concrete_function(tf.constant(X)).graph
    with monkeypatch.context() as patch:
        patch.setattr(Compilation, "backend", property(lambda _: pytest.fail("a backend was looked up")))
        made = Compilation(graph, frozenset())
    assert made.backend.has_measures


def test_threads_find_sizes_of_their_own() -> None:
    f = tf.function(lambda x, m: tf.boolean_mask(x, m) * 2, jit_compile=True)
    f(tf.constant(X), X[:, 0] > 0)
    together, wrong = threading.Barrier(3), []

    def many(seed: int) -> None:
        rng = np.random.default_rng(seed)
        together.wait()
        for _ in range(200):
            mask = rng.random(N) < rng.random()
            if not np.array_equal(f(tf.constant(X), mask).numpy(), X[mask] * 2):
                wrong.append(mask)

    threads = [threading.Thread(target=many, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_results_do_not_share_the_workspace() -> None:
    f = tf.function(lambda x, n: (x[:n] * 2, tf.reshape(x[:n], [-1]) + 0), jit_compile=True)
    a, b = f(tf.constant(X), tf.constant(5))
    f(tf.constant(-X), tf.constant(7))
    np.testing.assert_array_equal(a.numpy(), X[:5] * 2)
    np.testing.assert_array_equal(b.numpy(), X[:5].reshape(-1))


def test_sizes_that_the_run_finds_equal_only_themselves() -> None:
    n, m = Dim.run_time(0), Dim.run_time(1)
    assert n == n and 2 * n == n + n and at_most(0, n) and at_most(n, n + m)
    assert n != m and n != 1 and n != 0 and n != 5 and 2 * n != 8
    assert run_time_symbols([n, 3, 2 * n + m, Dim.symbol("a")]) == n.symbols | m.symbols
    with pytest.raises(UndecidedSize):
        n < 5  # noqa: B015


def test_a_size_that_no_row_finds_before_it_is_needed_is_refused() -> None:
    from graphad.compiler.rows import MEASURED, Row

    finder = Row(1, [0] * MEASURED, finds="~0")

    def rows(numbers: Any) -> list[Row]:
        return [Row(2, [numbers["~0"]]), finder]

    with pytest.raises(UnavailableError, match="a size that only the run finds"):
        measured.patched(rows, {"~0": 20})
    found = measured.patched(lambda numbers: rows(numbers)[::-1], {"~0": 20})
    assert [(patch.path, patch.inner) for patch in found[0].patches] == [((1,), 0)]
    with pytest.raises(UnavailableError, match="in no simple way"):
        measured.patched(lambda numbers: [finder, Row(2, [numbers["~0"] ** 2])], {"~0": 20})
