"""Sizes that only the run knows are compared as in eager code: no rewriting of the graph loses an error, and none is added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.graph import fitted

X = np.arange(5, dtype=np.float32)
ROWS = np.ones((5, 3), np.float32)
IDS = np.array([0, 1, 1, 0, 2], np.int32)

# of an array and a number: what drops an operand, or computes without one, compares it all the same
OF_A_NUMBER: dict[str, Callable[[Any, Any], Any]] = {
    "times ones": lambda x, n: x * tf.ones([n]),
    "ones times": lambda x, n: tf.ones([n]) * x,
    "divided by ones": lambda x, n: x / tf.ones([n]),
    "less zeros": lambda x, n: x - tf.zeros([n]),
    "power of ones": lambda x, n: x ** tf.ones([n]),
    "squares": lambda x, n: x ** tf.fill([n], 2.0),
    "less": lambda x, n: tf.cast(x < tf.zeros([n]), tf.float32),
    "where it does not matter": lambda x, n: tf.where(tf.ones([n]) > 0.5, x, x),
    "where all hold": lambda x, n: tf.where(tf.ones([n]) > 0.5, x, x + 1),
    "sum of several": lambda x, n: tf.add_n([x, x[:n]]),
    "mask": lambda x, n: tf.boolean_mask(x, tf.zeros([n]) > 1),
    "mask of a part": lambda x, n: tf.boolean_mask(x[:n], x > 2),
    "mask of another part": lambda x, n: tf.boolean_mask(x[:n], x[:2] > 2),
    "scattered": lambda x, n: tf.scatter_nd(tf.range(n)[:, None], x, [9]),
    "broadcast": lambda x, n: tf.broadcast_to(x, [n]),
    "broadcast twice": lambda x, n: tf.broadcast_to(tf.broadcast_to(x[:1], [n]), [3]),
    "ones in another shape": lambda x, n: tf.reshape(tf.ones([n]), [3]),
    "in another shape twice": lambda x, n: tf.reshape(tf.reshape(x, [n, -1]), [5]),
    "in another shape and back": lambda x, n: tf.reshape(tf.reshape(x, [n, 5]), tf.shape(x)),
    "transposed twice": lambda x, n: tf.transpose(tf.transpose(tf.reshape(x, [n, -1]))),
    "sum of zeros": lambda x, n: tf.reduce_sum(x * tf.zeros([n])),
    "sum of ones": lambda x, n: tf.reduce_sum(tf.reshape(tf.ones([n]), [-1, 3]), 1),
    "part of all": lambda x, n: tf.concat([x, tf.zeros([n])], 0)[:5],
    "all parts": lambda x, n: tf.split(x, [2, n], 0)[0],
    "product with ones": lambda x, n: tf.linalg.matvec(tf.ones([2, n]), x),
    "einsum": lambda x, n: tf.einsum("i,i->i", x, tf.ones([n])),
    "repeated": lambda x, n: tf.repeat(x, tf.ones([n], tf.int32)),
    "segments": lambda x, n: tf.math.segment_sum(x, tf.range(n)),
    "smallest of segments": lambda x, n: tf.math.unsorted_segment_min(x, tf.zeros_like(x, tf.int32), n),
    "stacked": lambda x, n: tf.stack([x, x[:n]]),
    "range": lambda x, n: tf.range(n, 3),
    "matrix": lambda x, n: tf.reshape(x, [n, -1]),
    "largest": lambda x, n: tf.math.top_k(x, n)[0],
    "one-hot": lambda x, n: tf.one_hot([0, 1], n),
}


def outcome(f: Callable[..., Any], *given: Any) -> Any:
    try:
        return f(*map(tf.constant, given)).numpy()
    except tf.errors.GraphadError as error:
        return type(error)


@pytest.mark.parametrize("jit_compile", [None, True])
@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_errors_and_results_are_those_of_eager_code(name: str, jit_compile: bool | None) -> None:
    f = OF_A_NUMBER[name]
    known = tf.function(f, jit_compile=jit_compile)
    spec = [tf.TensorSpec([None]), tf.TensorSpec([], tf.int32)]
    open_ = tf.function(f, jit_compile=jit_compile, input_signature=spec)
    for x in (X, X[:0], X[:1]):
        for n in (5, 0, 1, 3, -1):
            want = outcome(f, x, np.int32(n))
            for compiled in (known, open_):
                for _ in range(2):
                    found = outcome(compiled, x, np.int32(n))
                    if isinstance(want, type):
                        assert found is want, (x, n)
                    else:
                        np.testing.assert_allclose(found, want, rtol=1e-6, strict=True)


# of the positive numbers of two vectors, which are one or several
OF_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "tensordot": lambda x, y: tf.tensordot(x, y, 1),
    "tensordot of rows": lambda x, y: tf.tensordot(x[:, None] * [1.0, 2.0], y, [[0], [0]]),
    "summed over": lambda x, y: tf.einsum("i,i->", x, y),
    "not summed over": lambda x, y: tf.einsum("i,i->i", x, y),
    "three": lambda x, y: tf.einsum("i,i,j->j", x, y, x),
    "further axes": lambda x, y: tf.einsum("...,...j->j", x, y[:, None]),
    "matrices": lambda x, y: tf.matmul(x[None], y[:, None]),
}


@pytest.mark.parametrize("jit_compile", [None, True])
@pytest.mark.parametrize("name", OF_TWO)
def test_sums_of_products_broadcast_what_eager_code_does(name: str, jit_compile: bool | None) -> None:
    def f(x: Any, y: Any) -> Any:
        return OF_TWO[name](tf.boolean_mask(x, x > 0), tf.boolean_mask(y, y > 0))

    compiled = tf.function(f, jit_compile=jit_compile)
    for n, m in ((4, 4), (1, 4), (4, 1), (1, 1), (4, 3), (4, 0), (0, 0)):
        given = np.float32([k < n for k in range(5)]), np.float32([k < m for k in range(5)])
        want = outcome(f, *given)
        for _ in range(2):
            found = outcome(compiled, *given)
            if isinstance(want, type):
                assert found is want, (n, m)
            else:
                np.testing.assert_allclose(found, want, rtol=1e-6, strict=True)


def test_rows_times_ones_of_another_length() -> None:
    f = tf.function(lambda x, n: tf.ones([n, 3]) * x, jit_compile=True)
    for x, n in ((ROWS, 2), (ROWS[:0], 2)):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=rf"mul: Incompatible shapes: \(2, 3\) and \({len(x)}"
        ):
            f(tf.constant(x), tf.constant(n))
    np.testing.assert_array_equal(f(tf.constant(ROWS), tf.constant(5)).numpy(), ROWS)
    np.testing.assert_array_equal(f(tf.constant(ROWS[:0]), tf.constant(1)).numpy(), ROWS[:0])


@pytest.mark.parametrize("of", ["segment_min", "segment_max", "segment_sum", "segment_mean", "segment_prod"])
def test_segments_of_no_numbers(of: str) -> None:
    segments = getattr(tf.math, of)
    for spec in (None, [tf.TensorSpec([None]), tf.TensorSpec([None], tf.int32)]):
        f = tf.function(lambda x, ids: segments(x, ids), jit_compile=True, input_signature=spec)
        for _ in range(2):
            assert f(tf.constant(X[:0]), tf.constant(IDS[:0])).shape == (0,)


def test_counts_of_no_numbers() -> None:
    f = tf.function(tf.math.bincount, jit_compile=True, input_signature=[tf.TensorSpec([None], tf.int32)])
    for ids in (IDS, IDS[:0], IDS[:1]):
        np.testing.assert_array_equal(f(tf.constant(ids)).numpy(), np.bincount(ids))


def test_sizes_that_are_refused_have_the_words_of_eager_code() -> None:
    for f in (
        lambda n: tf.one_hot([0], n),
        lambda n: tf.math.top_k(X, n)[0],
        lambda n: tf.math.unsorted_segment_sum(X, IDS, n),
        lambda n: tf.eye(n),
    ):
        said = []
        for g in (f, tf.function(f), tf.function(f, jit_compile=True)):
            with pytest.raises(tf.errors.InvalidArgumentError) as caught:
                g(tf.constant(-1))
            said.append(str(caught.value).split("\n")[0])
        assert said[0] == said[1] == said[2] and "is -1; it must be 0 or more" in said[0]


def test_shapes_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of arrays that grow; what joins arrays needs no look, for NumPy compares their sizes."""
    looked = []
    output_specs = fitted.output_specs

    def noted(op: Any, specs: Any) -> Any:
        looked.append(op.name)
        return output_specs(op, specs)

    monkeypatch.setattr(fitted, "output_specs", noted)
    shapes = tf.TensorShape([]), tf.TensorShape([None])

    @tf.function
    def f(x: Any) -> Any:
        def more(i: Any, y: Any) -> Any:
            return i + 1, tf.concat([tf.cumsum(y), x[:1]], 0)

        return tf.while_loop(lambda i, y: i < 9, more, (0, x), shape_invariants=shapes)[1]

    for _ in range(2):
        f(tf.constant(X))
        assert looked == ["cumsum"] * 10  # one when it is prepared
