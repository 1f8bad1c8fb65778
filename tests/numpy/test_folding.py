"""Methods of NumPy's ufuncs on tensors: values, dtypes and derivatives, and what stays as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

X = np.random.default_rng(0).uniform(0.5, 2.0, (3, 4))
N = np.random.default_rng(1).integers(1, 30, (3, 4))
UFUNCS = [
    *(
        np.add,
        np.subtract,
        np.multiply,
        np.divide,
        np.maximum,
        np.minimum,
        np.fmax,
        np.fmin,
        np.hypot,
        np.logaddexp,
    ),
    *(
        np.logical_and,
        np.logical_or,
        np.logical_xor,
        np.gcd,
        np.lcm,
        np.bitwise_or,
        np.bitwise_xor,
    ),
]
OF_INTEGERS = (np.gcd, np.lcm, np.bitwise_or, np.bitwise_xor)


def _agree(call: Any, x: np.ndarray) -> None:
    wanted, given = call(x), tf.constant(x)
    array = call(given)  # that of NumPy itself, since nothing follows the tensor
    assert isinstance(array, np.ndarray | np.generic) and array.dtype == wanted.dtype
    np.testing.assert_array_equal(array, wanted)
    results = [tf.function(call)(given)]
    if x.dtype.kind == "f":
        with tf.GradientTape() as tape:
            tape.watch(given)
            results.append(call(given))
    for found in results:
        assert isinstance(found, tf.Tensor) or wanted.dtype.kind in "iub"
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_methods_of_ufuncs_give_what_they_give_for_arrays(ufunc: Any) -> None:
    x = N if ufunc in OF_INTEGERS else X
    _agree(lambda x: ufunc.reduce(x), x)
    _agree(lambda x: ufunc.reduce(x, axis=1, keepdims=True), x)
    if ufunc not in (np.subtract, np.divide, np.lcm):
        _agree(lambda x: ufunc.reduce(x, axis=None), x)
        _agree(lambda x: ufunc.reduce(x, axis=(0, 1)), x)
    _agree(lambda x: ufunc.accumulate(x), x)
    _agree(lambda x: ufunc.accumulate(x, axis=-1), x)
    _agree(lambda x: ufunc.reduceat(x, [0, 2, 1]), x)
    _agree(lambda x: ufunc.reduceat(x, [1, 3], axis=1), x)
    _agree(lambda x: ufunc.outer(x, x[0]), x)


def test_options_of_reductions_are_numpys() -> None:
    mask = X > 1.0
    _agree(lambda x: np.maximum.reduce(x, axis=None, initial=0.0, where=mask), X)
    _agree(lambda x: np.maximum.reduce(x, dtype=np.float32), X)
    _agree(lambda x: np.add.reduce(x, axis=None, dtype=np.float32, initial=2.0, keepdims=True), X)
    _agree(lambda x: np.logaddexp.reduce(x, axis=1, initial=0.5, where=mask), X)
    _agree(lambda x: np.subtract.reduce(x, axis=1, initial=0.5), X)


@pytest.mark.parametrize("name", ["maximum", "hypot", "divide", "logaddexp"])
def test_folds_have_derivatives(name: str) -> None:
    ufunc = getattr(np, name)
    for call in (
        lambda x: ufunc.reduce(x, axis=1),
        lambda x: ufunc.accumulate(x, axis=0),
        lambda x: ufunc.reduceat(x, [0, 2], axis=1),
    ):
        theirs, ours = tf.test.compute_gradient(call, [tf.constant(X)])
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4, atol=1e-6)


def test_a_tensor_is_not_written_into_by_at() -> None:
    for x in (tf.constant([1.0, 1.0]), tf.Variable([1.0, 1.0])):
        with pytest.raises(TypeError, match=r"np\.add\.at: tensors are immutable"):
            np.add.at(x, [0], 1.0)
        np.testing.assert_array_equal(x, [1.0, 1.0])
    array = np.zeros(2)
    np.add.at(array, [0, 0], tf.constant(1.0))
    np.testing.assert_array_equal(array, [2.0, 0.0])


EDGES = np.array([2.0, 1.0, 2.0, 3.0, np.nan, 5.0, -np.inf, np.inf])


@pytest.mark.parametrize(
    "ufunc", [np.maximum, np.minimum, np.subtract, np.logaddexp], ids=lambda ufunc: ufunc.__name__
)
@pytest.mark.parametrize("x", [EDGES, EDGES[:4], EDGES[:1], X[:, :0]], ids=["edges", "ties", "one", "none"])
def test_running_values_are_the_same_with_and_without_a_tape(ufunc: Any, x: np.ndarray) -> None:
    with np.errstate(invalid="ignore"):
        wanted = ufunc.accumulate(x, -1)
        _agree(lambda x: ufunc.accumulate(x, -1), x)
    given = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(given)
        found = ufunc.accumulate(given, -1)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_the_running_maximum_gives_its_derivative_to_the_first_of_equal_elements() -> None:
    x = tf.constant([[1.0, 3.0, 3.0, 2.0, 5.0], [4.0, 4.0, 1.0, 0.0, 4.0]])

    def loss(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(np.maximum.accumulate(x, 1) * [1.0, 2.0, 3.0, 4.0, 5.0])

    wanted = [[1.0, 9.0, 0.0, 0.0, 5.0], [15.0, 0.0, 0.0, 0.0, 0.0]]
    for call in (loss, tf.function(loss)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call(x)
        np.testing.assert_array_equal(tape.gradient(y, x), wanted)


SEGMENTS = (np.add, np.multiply, np.maximum, np.minimum)


@pytest.mark.parametrize("indices", [[0, 2, 1], [1, 1, 3], [2], [0, 1, 2, 3], []], ids=str)
@pytest.mark.parametrize("ufunc", SEGMENTS, ids=lambda ufunc: ufunc.__name__)
def test_parts_are_reduced_at_indices_in_any_order(ufunc: Any, indices: list[int]) -> None:
    at = np.array(indices, np.int64)
    _agree(lambda x: ufunc.reduceat(x, at, axis=1), X)
    _agree(lambda x: ufunc.reduceat(x, at, 1), (4 * X).astype(np.int16))
    if indices:
        given = tf.constant(X)
        with tf.GradientTape() as tape:
            tape.watch(given)
            loss = tf.reduce_sum(ufunc.reduceat(given, at, 1) ** 2)
        step, direction = 1e-6, np.cos(np.arange(X.size)).reshape(X.shape)
        ends = [(ufunc.reduceat(X + sign * step * direction, at, 1) ** 2).sum() for sign in (1, -1)]
        slope = np.sum(tape.gradient(loss, given).numpy() * direction)
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=1e-6)


def test_an_index_of_reduceat_that_is_out_of_range_is_refused() -> None:
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(IndexError, match="index 4 is out of range; the axis has size 4"):
            np.add.reduceat(x, [0, 4], 1)


def test_many_parts_are_one_op() -> None:
    x, at = tf.constant(np.arange(100_000.0)), np.arange(0, 100_000, 10)
    trace = tf.function(lambda x: np.add.reduceat(x, at)).get_concrete_function(x)
    assert len(trace.graph.nodes) < 20
