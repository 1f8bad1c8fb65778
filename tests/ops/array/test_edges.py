"""Array ops where they meet their limits: errors, dtypes, kinks, and gradients with a form of their own."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.bind import bind
from graphad.core.indexed_slices import IndexedSlices
from graphad.ops import array as a
from graphad.ops.math.segment import SortedIds

X = np.arange(12.0).reshape(3, 4)


def _gradient(function: Callable[[Any], Any], x: Any) -> Any:
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


# -- constants -------------------------------------------------------------------------------------------------------


def test_python_numbers_become_float32_and_int32() -> None:
    assert a.constant(1.5).dtype == tf.float32
    assert a.constant([1, 2]).dtype == tf.int32
    assert a.constant(2**40).dtype == tf.int64
    assert a.constant(np.float64(1.0)).dtype == tf.float64
    assert a.constant(True).dtype == tf.bool


def test_a_scalar_fills_the_shape() -> None:
    np.testing.assert_array_equal(a.constant(2.0, shape=[2, 2]).numpy(), np.full((2, 2), 2.0))
    np.testing.assert_array_equal(a.constant([1, 2, 3, 4], shape=(2, 2)).numpy(), [[1, 2], [3, 4]])
    for run in (a.fill, tf.function(a.fill)):
        np.testing.assert_array_equal(run([2, 1], tf.constant([3.0])).numpy(), [[3.0], [3.0]])
    with pytest.raises(ValueError, match=r"fill: value has shape \(2,\); a scalar is needed"):
        a.fill([2], [1, 2])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, 2, 3], None, [2, 2]), TypeError, "Eager execution of tf.constant with unsupported shape."),
        ((1.5, tf.int32), TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
        (([[1, 2], [3]],), ValueError, "Can't convert non-rectangular Python sequence to Tensor."),
        (([True, 1],), ValueError, "Can't convert Python sequence with mixed types to Tensor."),
    ],
)
def test_constant_refuses(arguments: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        a.constant(*arguments)


def test_range_of_numbers_follows_its_arguments() -> None:
    np.testing.assert_array_equal(a.range(5).numpy(), np.arange(5))
    np.testing.assert_array_equal(a.range(5, 0, -2).numpy(), [5, 3, 1])
    np.testing.assert_allclose(a.range(0.0, 1.0, 0.25).numpy(), [0, 0.25, 0.5, 0.75])
    assert a.range(3.0).dtype == tf.float32
    np.testing.assert_array_equal(a.range(tf.constant(1), tf.constant(7), 3).numpy(), [1, 4])
    with pytest.raises(ValueError, match="Requires delta != 0"):
        a.range(0, 3, 0)
    with pytest.raises(ValueError, match="Requires start <= limit when delta"):
        a.range(3, 0)


def test_linspace_holds_both_ends() -> None:
    x = a.linspace(-10.0, 10.0, 200 + 1)
    assert x.shape == [201] and x.dtype == tf.float32
    assert float(x[0]) == -10.0 and float(x[-1]) == 10.0 and float(x[100]) == 0.0
    assert a.linspace(3.0, 4.0, 1).numpy().tolist() == [3.0]
    with pytest.raises(ValueError, match="num is -1"):
        a.linspace(0.0, 1.0, -1)


# -- indexing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (3, ValueError, "slice index 3 of dimension 0 out of bounds"),
        ((0, -5), ValueError, "slice index -5 of dimension 1 out of bounds"),
        ((0, 0, 0), ValueError, "Too many indices: 3 for a tensor with shape \\(3, 4\\)"),
        ([0.5, 1.0], TypeError, "Only integers, slices"),
        (([0, 1], [0, 1, 2]), ValueError, "do not broadcast"),
        (([0], 0, 0), ValueError, "Too many indices: 3"),
        ([0, 3], ValueError, "not in \\[0, 3\\)"),
        (1.0, TypeError, "Only integers, slices"),
        ("a", TypeError, "Only integers, slices"),
        (slice(None, None, 0), ValueError, "slice step cannot be zero"),
        ((..., ...), ValueError, "Multiple ellipses"),
    ],
)
def test_bad_keys_are_refused_eager_and_traced(key: Any, error: Any, message: str) -> None:
    x = tf.constant(X)
    with pytest.raises(error, match=message):
        x[key]
    with pytest.raises(error, match=message):
        tf.function(lambda y: y[key])(x)


def test_a_scalar_has_no_axis_for_an_array_of_indices() -> None:
    x, key = tf.constant(3.0), tf.constant([0])
    for pick in (lambda x: x[key], tf.function(lambda x: x[key])):
        with pytest.raises(ValueError, match="Too many indices: 1"):
            pick(x)


def test_scalar_tensors_and_numpy_integers_are_indices() -> None:
    x = tf.constant(X)
    np.testing.assert_array_equal(x[tf.constant(1)].numpy(), X[1])
    np.testing.assert_array_equal(x[np.int64(1) :, tf.constant(2)].numpy(), X[1:, 2])
    np.testing.assert_array_equal(x[X > 5].numpy(), X[X > 5])


def test_an_index_given_as_tensor_is_checked() -> None:
    f = tf.function(lambda x, i: x[i])
    np.testing.assert_array_equal(f(tf.constant(X), tf.constant(-1)).numpy(), X[-1])
    with pytest.raises(ValueError, match="slice index 3 of dimension 0 out of bounds"):
        f(tf.constant(X), tf.constant(3))


def test_large_indices_do_not_make_an_op_each() -> None:
    from graphad.ops.array.slice import GetItem

    def made() -> int:
        return sum(type(op) is GetItem for op in gc.get_objects())

    x = tf.constant(np.arange(2000.0))
    gc.collect()
    before = made()
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = sum(x[i] for i in range(1000, 1100))
    np.testing.assert_array_equal(tape.gradient(y, x).numpy()[999:1101], [0, *[1] * 100, 0])
    assert made() < before + 50


def test_slices_of_variables_read() -> None:
    v = tf.Variable([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(v[1:].numpy(), [2, 3])
    with tf.GradientTape() as tape:
        y = v[1] * v[1]
    np.testing.assert_array_equal(tf.convert_to_tensor(tape.gradient(y, v)).numpy(), [0, 4, 0])


# -- lookups ---------------------------------------------------------------------------------------------------------


def test_the_gradient_of_a_lookup_is_indexed_slices() -> None:
    g = _gradient(lambda x: a.gather(x, [0, 2, 0]), X)
    assert isinstance(g, IndexedSlices)
    assert g.values.shape == [3, 4] and g.indices.numpy().tolist() == [0, 2, 0]
    assert g.dense_shape.numpy().tolist() == [3, 4] and g.shape == [3, 4] and g.dtype == tf.float64
    np.testing.assert_array_equal(tf.convert_to_tensor(g).numpy(), [[2] * 4, [0] * 4, [1] * 4])


@pytest.mark.parametrize("how", [lambda f: f, tf.function], ids=["eager", "function"])
def test_the_gradient_of_gather_nd_with_a_column_of_indices_is_indexed_slices(how) -> None:
    table = tf.Variable(X)

    @how
    def slopes():
        with tf.GradientTape(persistent=True) as tape:
            column = tf.reduce_sum(a.gather_nd(table, [[0], [2], [0]]) ** 2.0)
            places = tf.reduce_sum(a.gather_nd(table, [[0, 1]]) ** 2.0)
        return tape.gradient(column, table), tape.gradient(places, table)

    g, dense = slopes()
    assert isinstance(g, IndexedSlices) and not isinstance(dense, IndexedSlices)
    assert g.indices.numpy().tolist() == [0, 2, 0] and g.dense_shape.numpy().tolist() == [3, 4]
    np.testing.assert_allclose(tf.convert_to_tensor(g), X * [[4.0], [0.0], [2.0]])


def test_indices_of_higher_rank_are_flattened() -> None:
    g = _gradient(lambda x: a.gather(x, [[0, 2], [0, 1]]), X)
    assert g.values.shape == [4, 4] and g.indices.numpy().tolist() == [0, 2, 0, 1]


def test_two_lookups_and_a_dense_use_add_up() -> None:
    g = _gradient(lambda x: [a.gather(x, [0]), a.gather(x, [0, 1]), x * 2.0], X)
    np.testing.assert_array_equal(tf.convert_to_tensor(g).numpy(), [[4] * 4, [3] * 4, [2] * 4])


def test_a_lookup_inside_a_function_gives_the_same() -> None:
    x = tf.constant(X)
    f = tf.function(lambda t: a.gather(t, [0, 2, 0]) * 3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_array_equal(
        tf.convert_to_tensor(tape.gradient(y, x)).numpy(), [[6] * 4, [0] * 4, [3] * 4]
    )


def test_indices_out_of_range_are_named() -> None:
    with pytest.raises(ValueError, match=r"gather: indices\[1\] = 3 is not in \[0, 3\)"):
        a.gather(tf.constant(X), [0, 3])
    with pytest.raises(ValueError, match=r"gather_nd: indices\[0\] = -1 is not in \[0, 3\)"):
        a.gather_nd(tf.constant(X), [[-1]])
    with pytest.raises(ValueError, match="segment_ids holds 5"):
        a.unsorted_segment_sum(tf.constant([1.0]), [5], 2)


@pytest.mark.parametrize("limit", [[3], np.array([3]), tf.constant([3]), tf.Variable([3])])
def test_a_range_takes_vectors_of_one_number(limit: Any) -> None:
    for f in (a.range, tf.function(a.range)):
        assert np.asarray(f(limit)).tolist() == [0, 1, 2]
    assert np.asarray(a.range(np.float32([-1.0]), limit, 2.0)).tolist() == [-1.0, 1.0]
    with pytest.raises((TypeError, ValueError), match="range: limit"):
        a.range(np.zeros(2))


def test_a_range_of_floats_may_end_at_a_tensor_of_integers() -> None:
    for f in (a.range, tf.function(a.range)):
        found = f(0.0, tf.constant(2), 0.5)
        assert found.dtype == tf.float32 and np.asarray(found).tolist() == [0.0, 0.5, 1.0, 1.5]
        assert f(0, tf.constant(2, tf.int64), np.float64(0.5)).dtype == tf.float64
        assert f(0, tf.constant(2, tf.float16), 0.5).dtype == tf.float16


def test_boolean_mask_has_an_unknown_size_while_traced() -> None:
    shapes = []

    @tf.function
    def positive(x: Any) -> Any:
        y = a.boolean_mask(x, x[:, 0] > 3.0)
        shapes.append(y.shape)
        return y * 2.0

    np.testing.assert_array_equal(positive(tf.constant(X)).numpy(), 2 * X[1:])
    assert shapes[0].as_list() == [None, 4]


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
def test_numbers_of_a_mask_count_as_true_unless_they_are_0(dtype: str) -> None:
    probabilities = tf.constant([[0.1, 0.2, 0.7], [0.3, 0.4, 0.3]])

    def of_labels(x: Any) -> Any:
        return a.boolean_mask(x, tf.one_hot([0, 2], 3, on_value=-2, off_value=0, dtype=dtype))

    for f in (of_labels, tf.function(of_labels)):
        with tf.GradientTape() as tape:
            tape.watch(probabilities)
            y = f(probabilities)
        np.testing.assert_array_equal(y, np.float32([0.1, 0.3]))
        np.testing.assert_array_equal(tape.gradient(y, probabilities), [[1, 0, 0], [0, 0, 1]])
    assert np.asarray(a.boolean_mask([1.0, 2.0], [np.nan, 0.0])).tolist() == [1.0]


def test_equal_elements_share_no_gradient_in_a_sort() -> None:
    g = _gradient(lambda x: a.sort(x) * tf.constant([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 2.0], np.float32))
    assert g.numpy().tolist() == [2.0, 1.0, 3.0]
    values, indices = a.top_k([1.0, 3.0, 3.0, 2.0], k=3)
    assert indices.numpy().tolist() == [1, 2, 3] and values.numpy().tolist() == [3.0, 3.0, 2.0]


# -- joining and padding -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: a.concat([X, X[:, :2]], 0), "concat: shapes .* differ at axis 1"),
        (lambda: a.concat([tf.constant(1.0)], 0), "concat: tensor 0 is a scalar"),
        (lambda: a.stack([X, X[0]]), "stack: shapes .* have different ranks"),
        (lambda: a.stack([], axis=1), "stack: there are no tensors"),
        (lambda: a.split(X, 3, axis=1), "which 3 does not divide"),
        (lambda: a.split(X, [1, 1], axis=1), "add up to 2"),
        (lambda: a.pad(X, [[1, 1]]), "paddings has 1 rows"),
        (lambda: a.pad(X, [[-1, 1], [0, 0]]), "Paddings must be non-negative"),
        (lambda: a.pad(X, [[3, 0], [0, 0]], "REFLECT"), "at most 2"),
        (lambda: a.pad(X, [[1, 1], [1, 1]], "wrap"), "Unknown padding mode: 'wrap'"),
        (lambda: a.pad(X, [[1, 1], [1, 1]], None), "Unknown padding mode: None"),
        (lambda: a.pad([1.0], [[1, 2**70]]), "integers of shape .rank, 2. are needed"),
        (lambda: a.tile(X, [2]), "tile: multiples"),
        (lambda: a.transpose(X, [0, 0]), "not a permutation"),
        (lambda: a.transpose(X, [0, 1, 2]), "perm .* has 3 entries"),
        (lambda: a.reshape(X, [5, -1]), "which 5 does not divide"),
        (lambda: a.squeeze(X, 0), "has size 3; only axes of size 1 can go"),
        (lambda: a.broadcast_to(X, [2, 3, 5]), "does not broadcast"),
        (lambda: a.one_hot([0], -1, axis=3), "axis 3 is out of range"),
        (lambda: a.gather(X, [0], axis=2), "axis 2 is out of range"),
        (lambda: a.boolean_mask(X, [True, False]), "Shapes .* are incompatible"),
        (lambda: a.top_k(X, 5), "at least k columns"),
        (lambda: a.top_k(X, tf.constant(-1)), "top_k: k is -1; it must be 0 or more"),
        (lambda: tf.function(a.top_k)(X, tf.constant(5)), r"at least k columns: .* \(3, 4\), k is 5"),
        (lambda: tf.function(a.top_k)(X, tf.constant(-1)), "top_k: k is -1; it must be 0 or more"),
        (lambda: tf.function(a.top_k)(X, tf.constant([1, 2])), "top_k: k .*a scalar is needed"),
        (lambda: tf.function(a.top_k)(X, tf.constant(1.0)), "top_k: k has dtype float32"),
        (lambda: a.zeros([-1]), "negative size"),
        (
            lambda: a.concat([a.ones([2, 4]), a.ones([2, 3])], 0),
            r"concat: shapes \(2, 4\), \(2, 3\) differ at axis 1: sizes 4 and 3",
        ),
        (
            lambda: a.concat([a.ones([2, 4]), a.ones([3])], 0),
            r"concat: shapes \(2, 4\), \(3,\) have different ranks",
        ),
        (lambda: a.gather_nd(a.ones([3]), [[7]]), r"^gather_nd: indices\[0\] = 7 is not in \[0, 3\)"),
        (lambda: a.scatter_nd([[7]], a.ones([1]), [3]), r"^scatter_nd: indices\[0\] = 7 is not in \[0, 3\)"),
        (
            lambda: a.tensor_scatter_nd_update(a.ones([3]), [[7]], a.ones([1])),
            r"^tensor_scatter_nd_update: indices\[0\] = 7 is not in \[0, 3\)",
        ),
        (
            lambda: a.tensor_scatter_nd_add(a.ones([3]), [[7]], a.ones([1])),
            r"^tensor_scatter_nd_add: indices\[0\] = 7 is not in \[0, 3\)",
        ),
        (
            lambda: a.tensor_scatter_nd_sub(a.ones([3]), [[1]], a.ones([2])),
            r"^tensor_scatter_nd_sub: updates has shape \(2,\)",
        ),
    ],
)
def test_errors_name_the_op_and_the_numbers(function: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        function()


def test_padding_with_zero_serves_every_dtype() -> None:
    widths = [[1, 0], [0, 0]]
    for dtype in (tf.bool, tf.int8, tf.float16, tf.complex64):
        x = tf.cast(tf.constant([[1, 1]]), dtype)
        for fill in (0, 0.0, False):
            y = a.pad(x, widths, constant_values=fill)
            assert y.dtype == dtype and y.numpy().tolist() == [[0, 0], [1, 1]]
    traced = tf.function(lambda x, widths: a.pad(x, widths))
    assert traced(tf.constant([[True]]), tf.constant(widths)).numpy().tolist() == [[False], [True]]


def test_padding_takes_a_tensor_as_value() -> None:
    limit = tf.reduce_max(tf.constant(X))
    y = a.pad(tf.constant(X), [[0, 0], [1, 1]], constant_values=-limit)
    assert y.numpy()[:, 0].tolist() == [-11.0] * 3


def test_the_guide_reshapes_with_tensors_in_the_list() -> None:
    @tf.function
    def as_matrix(j: Any) -> Any:
        s = tf.shape(j)
        return a.reshape(a.transpose(j, [1, 0, 3, 2]), [s[0] * s[1], s[2] * s[3]])

    j = np.arange(120.0).reshape(2, 3, 4, 5)
    np.testing.assert_array_equal(as_matrix(tf.constant(j)).numpy(), j.transpose(1, 0, 3, 2).reshape(6, 20))


def test_stop_gradient_takes_variables_and_any_dtype() -> None:
    assert a.stop_gradient(tf.Variable(2.0)).numpy() == 2.0
    assert a.stop_gradient(tf.constant([True])).dtype == tf.bool
    assert _gradient(lambda x: a.stop_gradient(x) * x, np.float32(3.0)).numpy() == 3.0


def test_identity_is_another_tensor_to_tapes() -> None:
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = a.identity(x)
        z = y * y
    gx, gy = tape.gradient(z, [x, y])
    assert gx.numpy() == gy.numpy() == 6.0


def test_zeros_like_has_no_gradient() -> None:
    assert _gradient(a.zeros_like, X) is None
    assert a.ones_like([1, 2], dtype=tf.float64).dtype == tf.float64


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda n: a.fill([n], 1.0), r"^fill: shape \(-3,\) has a negative size"),
        (lambda n: a.broadcast_to(a.ones([1]), [n]), r"^broadcast_to: shape \(-3,\) has a negative size"),
        (lambda n: a.zeros([n]), r"^zeros: shape \(-3,\)"),
        (lambda n: a.ones([2, n]), r"^ones: shape \(2, -3\)"),
        (lambda n: a.constant(1.0, shape=[n]), r"^constant: shape \(-3,\)"),
        (lambda n: a.eye(n), "^eye: num_rows is -3"),
        (lambda n: a.eye(2, n), "^eye: num_columns is -3"),
        (lambda n: a.eye(2, batch_shape=[n]), r"^eye: batch_shape \(-3,\)"),
        (lambda n: a.repeat(a.ones(2), n), "^repeat: repeats holds -3"),
        (lambda n: a.repeat(a.ones(2), [1, n]), "^repeat: repeats holds -3"),
        (lambda n: a.tile(a.ones(2), [n]), r"^tile: Expected multiples .* got \(-3,\)"),
        (lambda n: a.one_hot([0], n), "^one_hot: depth is -3"),
        (lambda n: a.scatter_nd([[0]], a.ones([1]), [n]), r"^scatter_nd: shape \(-3,\)"),
        (lambda n: a.unsorted_segment_sum(a.ones([1]), [0], n), "^unsorted_segment_sum: num_segments is -3"),
        (lambda n: a.linspace(0.0, 1.0, n), "^linspace: num is -3"),
        (lambda n: tf.random.normal([n]), r"^random.normal: shape \(-3,\)"),
        (lambda n: tf.random.uniform([n]), r"^random.uniform: shape \(-3,\)"),
        (lambda n: tf.random.stateless_uniform([n], [1, 2]), r"^random.uniform: shape \(-3,\)"),
        (lambda n: tf.random.get_global_generator().split(n), "^Generator.split: count is -3"),
    ],
)
def test_negative_sizes_are_refused_by_the_op_and_with_the_number(
    function: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        function(-3)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda n: a.fill([n], 1.0), r"broadcast_to: shape \(-3,\) has a negative size"),
        (lambda n: a.zeros([n, 2]), r"broadcast_to: shape \(-3, 2\) has a negative size"),
        (lambda n: a.eye(n), "eye: num_rows is -3"),
        (lambda n: a.repeat(a.ones(2), n), r"tile: multiples \(1, -3\) has a negative size"),
        (lambda n: a.tile(a.ones(2), [n]), r"tile: multiples \(-3,\)"),
        (lambda n: a.one_hot([0], n), "one_hot: depth is -3"),
        (lambda n: a.scatter_nd([[0]], a.ones([1]), [n]), r"scatter_nd: shape \(-3,\)"),
        (lambda n: a.linspace(0.0, 1.0, n), "linspace: num is -3"),
        (lambda n: tf.random.normal([n]), r"random: shape \(-3,\)"),
    ],
)
def test_negative_sizes_that_only_a_call_knows_are_refused_as_well(
    function: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.function(function)(tf.constant(-3))


@pytest.mark.parametrize("number", [2**63 - 1, 2**62])
@pytest.mark.parametrize("function", [lambda f, **_: f, tf.function])
def test_linspace_of_more_numbers_than_there_are_addresses(function: Any, number: int) -> None:
    spaced = function(lambda n: a.linspace(0.0, 1.0, n))
    with pytest.raises(tf.errors.ResourceExhaustedError, match="linspace"):
        spaced(tf.constant(number, tf.int64))


def test_linspace_of_no_steps_is_empty() -> None:
    assert a.linspace(0.0, 1.0, 0).shape == (0,)
    assert a.linspace(tf.constant([0.0, 1.0]), [1.0, 2.0], 0).shape == (0, 2)
    assert a.linspace(tf.constant([0.0, 1.0]), [1.0, 2.0], 0, axis=-1).shape == (2, 0)
    assert tf.function(lambda n: a.linspace(0.0, 1.0, n))(tf.constant(0)).shape == (0,)


@pytest.mark.parametrize(
    ("have", "want", "result"),
    [
        ((0, 3, 4), [0, -1], (0, 12)),
        ((0, 3, 4), [0, 3, -1], (0, 3, 4)),
        ((3, 0, 4), [-1, 0], (12, 0)),
        ((0,), [0, -1], (0, 1)),
        ((2, 0), [0, -1, 0], (0, 2, 0)),
        ((0, 3), [-1, 3], (0, 3)),
    ],
)
def test_the_open_size_of_an_empty_reshape_is_what_the_other_sizes_leave(
    have: tuple[int, ...], want: list[int], result: tuple[int, ...]
) -> None:
    x, sizes = tf.zeros(have), tf.constant(want)
    assert tuple(tf.reshape(x, want).shape) == result
    assert tuple(tf.function(lambda x: tf.reshape(x, want))(x).shape) == result
    assert tuple(tf.function(lambda x, sizes: tf.reshape(x, sizes))(x, sizes).shape) == result
    unknown = tf.function(lambda x: tf.reshape(x, want), input_signature=[tf.TensorSpec([None] * len(have))])
    assert tuple(unknown(x).shape) == result


def test_the_axis_of_a_gather_is_by_default_the_batch_axes_as_they_were_given() -> None:
    table, places = np.arange(24.0).reshape(2, 4, 3), np.array([[0, 1], [2, 0]])
    wanted = np.stack([table[k][:, places[k]] for k in range(2)])
    for call in (a.gather, tf.function(a.gather)):
        np.testing.assert_array_equal(call(table, places, batch_dims=-1), wanted)
        np.testing.assert_array_equal(call(table, places, batch_dims=1)[1], table[1, places[1]])


@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "function"])
def test_whole_floats_of_numpy_are_sizes_and_counts(mode: Callable[..., Any]) -> None:
    x = tf.ones([1, 4, 4, 1])
    sizes = np.array([2.0, 8.0])
    for call in (tf.zeros, tf.ones, lambda s: tf.fill(s, 1), lambda s: tf.reshape(x, s)):
        assert mode(lambda call=call: call(sizes))().shape == (2, 8)
    assert mode(lambda: tf.tile(x, np.array([1.0, 2.0, 1.0, 1.0])))().shape == (1, 8, 4, 1)
    assert mode(lambda: tf.pad(x, np.array([[0, 0], [1.0, 2.0], [0, 0], [0, 0]])))().shape == (1, 7, 4, 1)
    assert mode(lambda: tf.one_hot(np.array([0.0, 2.0]), 3))().numpy().tolist() == [[1, 0, 0], [0, 0, 1]]
    assert mode(lambda: tf.math.top_k(x[0, 0, :, 0], np.float64(2.0)))()[0].shape == (2,)
    assert mode(lambda: tf.tile(x, [1, tf.compat.v1.Dimension(2), 1, 1]))().shape == (1, 8, 4, 1)
    for wrong in (np.array([2.0, 7.5]), [2.0, 8.0]):
        with pytest.raises(TypeError):
            mode(lambda wrong=wrong: tf.zeros(wrong))()


def test_whole_floats_are_sizes_and_steps_of_windows() -> None:
    x, filters = tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1])
    size = np.sqrt(4)
    assert tf.nn.avg_pool2d(x, [1, size, size, 1], 1, "SAME").shape == (1, 4, 4, 1)
    assert tf.nn.max_pool2d(x, 2.0, [1, 2.0, 2.0, 1], "SAME").shape == (1, 2, 2, 1)
    assert tf.nn.conv2d(x, filters, size, "SAME").shape == (1, 2, 2, 1)
    assert tf.nn.pool(x, [2.0, 2.0], "MAX", strides=[2.0, 2.0]).shape == (1, 2, 2, 1)
    with pytest.raises(TypeError, match=r"avg_pool2d: ksize 2\.5 must be integers"):
        tf.nn.avg_pool2d(x, 2.5, 1, "SAME")


def test_the_number_of_batch_axes_may_be_a_tensor_whose_value_is_known() -> None:
    table, places = np.arange(12.0).reshape(2, 3, 2), np.array([[2, 0], [1, 1]])
    for lead in (1, np.int64(1), tf.constant(1), tf.rank(tf.zeros([3]))):
        np.testing.assert_array_equal(a.gather(table, places, batch_dims=lead)[1], table[1, [1, 1]])
        np.testing.assert_array_equal(
            a.gather_nd(table, places, batch_dims=lead), [table[0, 2, 0], table[1, 1, 1]]
        )
    with pytest.raises(TypeError, match="gather_nd: batch_dims must be known while tracing"):
        tf.function(lambda n: a.gather_nd(table, places, batch_dims=n))(tf.constant(1))


@pytest.mark.parametrize(
    ("start", "limit", "delta", "dtype", "count"),
    [
        (-2.0, 1.0, 3.0 / 800.0, tf.float32, 800),  # in float64, (1 - -2) / float32(0.00375) is above 800
        (-2.0, 1.0, 3.0 / 800.0, tf.float64, 800),
        (0.0, 1.0, 0.1, tf.float32, 10),
        (0.0, 0.3, 0.1, tf.float32, 3),
        (0.0, 0.3, 0.1, tf.float64, 3),
        (0.0, 1.0, 1.0 / 3.0, tf.float32, 3),
    ],
)
def test_a_range_counts_in_its_own_dtype(start, limit, delta, dtype, count):
    """TensorFlow's numbers of members."""
    tensors = [tf.constant(x, dtype) for x in (start, limit, delta)]
    assert tf.range(start, limit, delta, dtype).shape == [count]
    assert tf.range(*tensors).shape == [count]
    assert int(tf.function(lambda *xs: tf.size(tf.range(*xs)))(*tensors)) == count


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8])
@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
def test_a_shape_may_be_an_array_of_numpy(run, dtype):
    sizes = np.array([3, 2], dtype)
    made = run(
        lambda x: [
            tf.reshape(x, sizes),
            tf.broadcast_to(x[0], sizes),
            tf.zeros(sizes),
            tf.ensure_shape(x[:3, None] + [0.0, 0.0], sizes),
        ]
    )(tf.range(6.0))
    assert [x.shape for x in made] == [(3, 2)] * 4
    assert tf.reshape(tf.range(6), np.array(6, dtype)).shape == (6,)
    with pytest.raises(TypeError, match="reshape: shape has dtype float64; an integer dtype is needed"):
        tf.reshape(tf.range(6), np.array([6.5]))


def test_a_list_with_slices_is_a_key_like_a_tuple():
    x = tf.reshape(tf.range(6), [2, 3])
    for key in ([slice(None), 0], [slice(None, -1)], [..., 1], [None, 0]):
        assert x[key].numpy().tolist() == x[tuple(key)].numpy().tolist()
    assert tf.function(lambda x: x[[slice(1), slice(2)]])(x).numpy().tolist() == [[0, 1]]


def test_tuples_in_a_key_are_arrays():
    x = np.arange(24).reshape(2, 3, 4)
    for key in (np.s_[:, (True, False, True)], np.s_[1, (0, 0, 1), [0, 1, 1]], ((0, 1),), np.s_[..., (0, 2)]):
        for found in (tf.constant(x)[key], tf.function(lambda t, key=key: t[key])(x)):
            np.testing.assert_array_equal(found.numpy(), x[key])


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize("wrong", [[0, 2], [-1, 1]])
def test_the_number_of_no_part_is_refused(run: Callable[[Any], Any], wrong: list[int]) -> None:
    """Its slice used to be lost."""
    f = run(lambda p: tf.dynamic_partition([1.0, 2.0], p, 2))
    assert [part.numpy().tolist() for part in f(tf.constant([1, 0]))] == [[2.0], [1.0]]
    with pytest.raises(ValueError, match=r"dynamic_partition: .*must be from 0 to 1"):
        f(tf.constant(wrong))


def test_numbers_of_several_kinds_are_stacked_as_a_constant() -> None:
    for values, dtype in (([1, 2.5], tf.float32), ([1, 2], tf.int32), ([1, 2j], tf.complex128)):
        found = tf.stack(values)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.numpy(), values)


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
def test_one_number_puts_the_whole_in_a_part(run: Callable[[Any], Any]) -> None:
    parts = run(lambda p: tf.dynamic_partition([10.0, 13.0], p, 3))(tf.constant(1))
    assert [part.numpy().tolist() for part in parts] == [[], [[10.0, 13.0]], []]
    assert parts[0].shape == (0, 2)


def test_one_shift_is_not_taken_for_several_axes() -> None:
    for shift in (1, [1], tf.constant(1), [1, 2, 3]):
        with pytest.raises(ValueError, match=r"roll|reshape"):
            tf.roll(tf.ones([2, 3]), shift, [0, 1])


@pytest.mark.parametrize(
    ("indices", "batch_dims"),
    [([2], 1), ([0], 2), ([3, 1], 1)],
    ids=["too few axes", "no axis", "other batch"],
)
def test_gather_nd_refuses_indices_without_the_batch_axes_of_params(
    indices: list[int], batch_dims: int
) -> None:
    params, places = tf.zeros([2, 3, 4]), tf.zeros(indices, tf.int64)
    for call in (tf.gather_nd, tf.function(tf.gather_nd)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"with batch_dims {batch_dims} the first"):
            call(params, places, batch_dims=batch_dims)


def test_repeat_refuses_a_matrix_of_counts() -> None:
    counts = tf.ones([2, 2], tf.int32)
    for call in (tf.repeat, tf.function(tf.repeat)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"repeats has shape \(2, 2\)"):
            call(tf.zeros([2, 3]), counts, axis=0)


def test_a_file_cannot_ask_for_segments_by_a_scalar() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="segment_sum: segment_ids is a scalar"):
        bind(SortedIds("segment_sum"), tf.constant(3))


@pytest.mark.parametrize("shift", [-11, -5, -1, 0, 1, 4, 5, 2**31 - 1])
@pytest.mark.parametrize("axis", [0, -1])
def test_a_compiled_roll_gives_the_bits_of_numpy(shift, axis):
    for dims in ((5, 3), (2, 5), (1, 1), (0, 5), (5, 0)):
        x = np.random.default_rng(0).normal(size=dims).astype(np.float32)

        @tf.function(jit_compile=True)
        def rolled(x):
            return tf.roll(x * 2.0, shift, axis) + x

        np.testing.assert_array_equal(rolled(tf.constant(x)).numpy(), np.roll(x * 2, shift, axis) + x)


@pytest.mark.parametrize("limit", [2**63 - 1, 2**62])
def test_a_range_longer_than_memory_is_refused(limit):
    for run in (tf.range, tf.function(tf.range)):
        with pytest.raises(MemoryError, match=rf"range: Unable to allocate an array of {limit} elements"):
            run(tf.constant(0, tf.int64), tf.constant(limit, tf.int64))


def test_a_traced_size_makes_vectors_of_ones_and_zeros() -> None:
    @tf.function
    def made(n: Any) -> Any:
        return tf.ones(n), tf.zeros(n, tf.int32)

    ones, zeros = made(tf.constant(3))
    np.testing.assert_array_equal(ones, [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(zeros, [0, 0, 0])


def test_dimensions_are_sizes() -> None:
    three = tf.compat.v1.Dimension(3)
    assert tf.tile(tf.ones([1, 2]), [three, 1]).shape == (3, 2)
    assert tf.one_hot(1, three).shape == (3,)
    assert tf.strided_slice(tf.ones([5]), [0], [three]).shape == (3,)


def test_empty_lists_are_shapes_of_scalars() -> None:
    assert tf.broadcast_dynamic_shape([2], []).numpy().tolist() == [2]
    assert tf.broadcast_dynamic_shape([], [3, 1]).numpy().tolist() == [3, 1]
    assert tf.broadcast_dynamic_shape([], []).dtype == tf.int32
    nothing = np.array([])  # of float64, for want of an element
    assert tf.reshape(tf.constant([3.0]), nothing).shape == tf.zeros(nothing).shape == ()
    with pytest.raises(tf.errors.InvalidArgumentError, match="an integer dtype is needed"):
        tf.broadcast_dynamic_shape([2.0], [])


def test_whole_floats_are_numbers_of_slices() -> None:
    assert [x.numpy().tolist() for x in tf.unstack([[1, 2], [3, 4]], num=2.0)] == [[1, 2], [3, 4]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="num"):
        tf.unstack(tf.zeros([2]), num=1.5)


@pytest.mark.parametrize(
    ("numbers", "dtype"),
    [
        ([np.int64(1), np.int64(2)], tf.int32),  # as in `constant`
        ([np.int64(1), 2], tf.int32),
        ([2, np.float64(1)], tf.float32),
        ([np.float64(1), 2], tf.float64),
        ([np.float32(1), np.float32(2)], tf.float32),
        ([np.bool_(True), np.bool_(False)], tf.bool),
        ([np.complex128(1), np.complex128(2)], tf.complex128),
    ],
)
def test_a_stack_of_numbers_is_their_constant(numbers, dtype) -> None:
    assert tf.stack(numbers).dtype == tf.constant(numbers).dtype == dtype


# -- what programs leave open --------------------------------------------------------------------------------------------


def test_a_stack_of_no_tensors_is_empty_as_the_constant_of_an_empty_list():
    for empty in (tf.stack([]), tf.stack(()), tf.function(lambda: tf.stack([]))()):
        assert empty.dtype is tf.float32
        assert empty.shape == (0,)


@pytest.mark.parametrize("numbers", [np.array([1, 0]), np.array([0.5, 0.0]), np.array([True, False])])
def test_numbers_of_numpy_choose_where_they_are_not_zero(numbers):
    x = tf.constant([1.0, 2.0])
    assert tf.where(numbers, x, -x).numpy().tolist() == [1.0, -2.0]
    assert tf.function(lambda x: tf.where(numbers, x, -x))(x).numpy().tolist() == [1.0, -2.0]


@pytest.mark.parametrize("numbers", [[1, 0], tf.constant([1, 0]), np.array(["a", "b"])])
def test_other_numbers_do_not_choose(numbers):
    with pytest.raises(TypeError):
        tf.where(numbers, [1.0, 2.0], [3.0, 4.0])


def test_no_axis_is_the_last_one_for_softmax_and_one_hot():
    x = tf.constant([[0.0, 1.0], [2.0, 2.0]])
    assert np.array_equal(tf.nn.softmax(x, axis=None), tf.nn.softmax(x))
    assert np.array_equal(tf.nn.log_softmax(x, axis=None), tf.nn.log_softmax(x))
    assert np.array_equal(tf.one_hot([1, 0], 2, axis=None), tf.one_hot([1, 0], 2))


@pytest.mark.parametrize("traced", [False, True])
def test_the_place_of_a_new_axis_may_be_an_array_of_one_number(traced: bool) -> None:
    x = np.arange(6.0).reshape(2, 3)

    def placed(x: Any, given: Any) -> Any:
        return tf.expand_dims(x, given)

    def placed_traced(x: Any, given: Any) -> Any:
        return tf.function(lambda x: tf.expand_dims(x, given))(x)

    for place in (0, 1, -1):
        for given in (np.array([place]), tf.constant([place]), tf.constant(place), (place,)):
            found = (placed_traced if traced else placed)(x, given)
            np.testing.assert_array_equal(found, np.expand_dims(x, place))
    with pytest.raises(TypeError, match="axis must be an integer"):
        tf.expand_dims(x, np.array([0, 1]))


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (1, 2)])
def test_a_negative_count_is_refused_of_no_slices_too(shape: tuple[int, ...], axis: int | None) -> None:
    x = a.zeros(shape)
    for jit in (None, False, True):
        for spec in (shape, (None, None)):
            f = tf.function(
                lambda x, n: a.repeat(x, n, axis),
                input_signature=[tf.TensorSpec(spec), tf.TensorSpec([], tf.int32)],
                jit_compile=jit,
            )
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"negative|repeats holds -2"):
                f(x, tf.constant(-2))
            assert f(x, tf.constant(2)).shape == a.repeat(x, 2, axis).shape
