"""Sparse tensors in functions, tapes and files, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

X = tf.SparseTensor([[0, 1], [1, 0], [1, 2]], [1.0, 2.0, 3.0], [2, 3])
WHOLE = np.float32([[0, 1, 0], [2, 0, 3]])
D = tf.reshape(tf.range(6.0), [3, 2])


def whole(x):
    return tf.sparse.to_dense(x).numpy()


def test_one_trace_serves_any_number_of_values():
    @tf.function
    def f(x, d):
        return {"product": tf.sparse.sparse_dense_matmul(x, d), "twice": x * 2.0, "shape": x.shape}[
            "product"
        ], x * 2.0

    product, twice = f(X, D)
    np.testing.assert_array_equal(product, WHOLE @ D.numpy())
    np.testing.assert_array_equal(whole(twice), 2 * WHOLE)
    assert twice.shape == [2, 3]
    f(tf.SparseTensor([[0, 0]], [1.0], [2, 3]), D)
    f(tf.SparseTensor(np.zeros((0, 2)), np.zeros(0, np.float32), [2, 3]), D)
    assert f.experimental_get_tracing_count() == 1
    f(tf.SparseTensor([[0, 0]], [1.0], [4, 3]), D)
    assert f.experimental_get_tracing_count() == 2


def test_one_trace_serves_any_number_of_values_within_a_nest():
    f = tf.function(lambda d: tf.sparse.reduce_sum(d["s"]) + d["x"])
    for count in (1, 2, 3):
        sparse = tf.SparseTensor([[0, k] for k in range(count)], [1.0] * count, [1, 4])
        assert f({"s": sparse, "x": tf.constant(1.0)}).numpy() == count + 1.0
    assert f.experimental_get_tracing_count() == 1


def test_signatures_take_specs():
    @tf.function(input_signature=[tf.SparseTensorSpec([None, 3])])
    def f(x):
        assert x.shape.as_list() == [None, 3]
        return tf.sparse.reduce_sum(x, 1)

    np.testing.assert_array_equal(f(X), [1, 5])
    np.testing.assert_array_equal(f(tf.SparseTensor([[3, 1]], [5.0], [4, 3])), [0, 0, 0, 5])
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError, match="Can not cast"):
        f(tf.SparseTensor([[0, 1]], np.float64([5]), [4, 3]))
    with pytest.raises(TypeError):
        f(D)


def test_branches_and_loops_carry_them():
    @tf.function
    def f(x, n):
        if tf.reduce_sum(x.values) > 0:
            x = x * 3.0
        for _ in tf.range(n):
            x = tf.sparse.add(x, x)
        return x

    np.testing.assert_array_equal(whole(f(X, 3)), 24 * WHOLE)


def test_loops_may_change_the_number_of_values():
    @tf.function
    def f(x):
        for k in tf.range(2):
            x = tf.sparse.add(x, tf.sparse.from_dense(tf.one_hot([k, k], 3)))
        return x

    np.testing.assert_array_equal(whole(f(X)), WHOLE + [[1, 1, 0], [1, 1, 0]])


def test_gradients_are_sparse_with_the_same_indices():
    with tf.GradientTape() as tape:
        tape.watch([X, D])
        loss = tf.reduce_sum(tf.sparse.sparse_dense_matmul(X, D) ** 2)
    by_x, by_d = tape.gradient(loss, [X, D])
    bar = 2 * WHOLE @ D.numpy()
    assert by_x.indices is X.indices
    np.testing.assert_array_equal(by_x.values, (bar @ D.numpy().T)[WHOLE != 0])
    np.testing.assert_array_equal(by_d, WHOLE.T @ bar)


def test_gradients_go_through_functions_and_jacobians():
    f = tf.function(lambda x: tf.sparse.softmax(x))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = f(X).values
    a = 1 / (1 + np.exp(-1.0))
    want = np.zeros((3, 3))
    want[1:, 1:] = a * (1 - a) * np.array([[1, -1], [-1, 1]])
    np.testing.assert_allclose(tape.jacobian(y, X), want, atol=1e-6)
    with tf.autodiff.ForwardAccumulator(X, X.with_values([0.0, 1.0, 0.0])) as acc:
        y = f(X)
    np.testing.assert_allclose(acc.jvp(y).values, want[:, 1], atol=1e-6)


@pytest.mark.parametrize("convert", [np.array, list, tf.constant, tf.Variable])
def test_slices_become_a_tensor_whatever_their_parts_are(convert):
    slices = tf.IndexedSlices(convert([[1.0, 2.0], [3.0, 4.0]]), convert([1, 1]), convert([3, 2]))
    np.testing.assert_array_equal(tf.convert_to_tensor(slices), [[0, 0], [4, 6], [0, 0]])
    np.testing.assert_array_equal(slices.numpy(), [[0, 0], [4, 6], [0, 0]])


def test_slices_are_arguments_of_functions():
    slices = tf.IndexedSlices(tf.ones([2, 3]), tf.constant([0, 2]), tf.constant([4, 3]))

    @tf.function
    def f(s):
        return tf.IndexedSlices(s.values * 2.0, s.indices, s.dense_shape), tf.convert_to_tensor(s)

    doubled, dense = f(slices)
    assert isinstance(doubled, tf.IndexedSlices)
    np.testing.assert_array_equal(doubled.values, 2 * np.ones((2, 3)))
    np.testing.assert_array_equal(dense, [[1, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 0]])
    f(tf.IndexedSlices(tf.ones([1, 3]), tf.constant([1]), tf.constant([4, 3])))
    assert f.experimental_get_tracing_count() == 1


def by_while(s):
    def body(i, s):
        return i + 1, tf.IndexedSlices(s.values * 2.0, s.indices, s.dense_shape)

    return tf.while_loop(lambda i, s: i < 3, body, (tf.constant(0), s))[1]


def by_for(s):
    for _ in tf.range(3):
        s = tf.IndexedSlices(s.values * 2.0, s.indices, s.dense_shape)
    return s


def by_cond(s):
    larger = tf.IndexedSlices(s.values * 8.0, s.indices, s.dense_shape)
    return tf.cond(tf.reduce_sum(s.values) > 0.0, lambda: larger, lambda: s)


def by_growing(s):
    for _ in tf.range(3):
        s = tf.IndexedSlices(tf.repeat(s.values, 2, 0), tf.repeat(s.indices, 2), s.dense_shape)
    return s


@pytest.mark.parametrize("by", [by_while, by_for, by_cond, by_growing])
@pytest.mark.parametrize("how", [lambda f: f, tf.function], ids=["eager", "function"])
def test_slices_stay_slices_in_branches_and_loops(by, how):
    slices = tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([0, 2]), tf.constant([3, 2]))
    with tf.GradientTape() as tape:
        tape.watch(slices.values)
        out = how(by)(slices)
        total = tf.reduce_sum(out.values)
    assert isinstance(out, tf.IndexedSlices)
    np.testing.assert_array_equal(tf.convert_to_tensor(out), [[8, 16], [0, 0], [24, 32]])
    np.testing.assert_array_equal(tape.gradient(total, slices.values), np.full((2, 2), 8.0))


def test_slices_on_one_side_alone_are_refused_and_those_of_map_fn_are_dense():
    slices = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1]), tf.constant([2, 2]))
    with pytest.raises(TypeError, match="must have the same number, type, and overall structure"):
        tf.function(lambda p: tf.cond(p, lambda: tf.ones([2, 2]), lambda: slices))(tf.constant(True))
    one, shape = tf.constant([1]), tf.constant([2, 1])
    rows = tf.map_fn(lambda x: tf.IndexedSlices(tf.reshape(x, [1, 1]), one, shape), tf.constant([1.0, 2.0]))
    np.testing.assert_array_equal(rows, [[[0], [1]], [[0], [2]]])


def test_files_hold_functions_of_them(tmp_path):
    class Model(tf.Module):
        @tf.function(input_signature=[tf.SparseTensorSpec([None, 3])])
        def total(self, x):
            return tf.sparse.reduce_sum(x, 0), x

    tf.saved_model.save(Model(), tmp_path / "m", signatures={})
    total, x = tf.saved_model.load(tmp_path / "m").total(X)
    np.testing.assert_array_equal(total, WHOLE.sum(0))
    np.testing.assert_array_equal(x.indices, X.indices)
    np.testing.assert_array_equal(x.values, X.values)


def test_a_sparse_tensor_is_what_it_says():
    assert tf.is_tensor(X) and isinstance(X, tf.SparseTensor) and not isinstance(X, tf.Tensor)
    assert (
        X.shape == [2, 3]
        and X.get_shape().rank == 2
        and X.dtype is tf.float32
        and X.indices.dtype is tf.int64
    )
    assert tf.nest.flatten(X) == [X]
    assert len(tf.nest.flatten(X, expand_composites=True)) == 3
    again = tf.nest.map_structure(lambda x: x * 2, X, expand_composites=True)
    assert isinstance(again, tf.SparseTensor)
    assert tf.SparseTensorSpec.from_value(X) == tf.SparseTensorSpec([2, 3])
    assert tf.SparseTensorSpec([None, 3]).is_compatible_with(X)
    assert not tf.SparseTensorSpec([None, 4]).is_compatible_with(X)
    np.testing.assert_array_equal(whole(tf.SparseTensor.from_value(X)), WHOLE)
    y = tf.SparseTensor([[0]], [1], tf.TensorShape([3]))
    np.testing.assert_array_equal(whole(y), [1, 0, 0])
    np.testing.assert_array_equal(whole(2.0 * X / np.float32([[4], [2]])), WHOLE * [[0.5], [1]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.SparseTensor([0, 1], [1.0], [2, 3]), r"indices has shape \(2,\); \[n, rank\] is needed"),
        (lambda: tf.SparseTensor([[0, 1]], [1.0, 2.0], [2, 3]), r"values \(2,\) and dense_shape \(2,\)"),
        (lambda: tf.SparseTensor([[0]], [1.0], [2, 3]), r"indices has shape \(1, 1\)"),
        (lambda: X.with_values([1.0]), r"values has shape \(1,\); as many as before, \(3,\)"),
        (lambda: tf.add(X, 1.0), r"SparseTensor of shape \(2, 3\) is used where a dense tensor is needed"),
        (lambda: tf.sparse.to_dense(D), "sparse.to_dense: sp_input is .*a SparseTensor is needed"),
        (
            lambda: tf.sparse.to_dense(tf.SparseTensor([[1], [0]], [1.0, 2.0], [2])),
            "are not in row-major order",
        ),
        (
            lambda: tf.sparse.sparse_dense_matmul(X, tf.ones([4, 2])),
            r"the inner sizes differ: .* \[2 3\] .* \[4 2\]",
        ),
        (lambda: tf.sparse.add(X, tf.sparse.eye(2)), r"sparse.add: shapes \[2 3\] and \[2 2\] differ"),
        (
            lambda: tf.sparse.concat(0, [X, tf.sparse.eye(2)]),
            r"shapes \[2 3\] and \[2 2\] differ along an axis other than 0",
        ),
        (lambda: tf.sparse.reshape(X, [4, 2]), r"a shape with 8 elements does not fit .* \[2 3\]"),
        (lambda: tf.sparse.reset_shape(X, [1, 9]), r"new_shape \[1 9\] is smaller than the shape \[2 3\]"),
        (lambda: tf.sparse.map_values(tf.abs, 1.0), "there is no SparseTensor among the arguments"),
        (
            lambda: tf.sparse.map_values(
                tf.add, *(tf.SparseTensor([[0, 1]], [1.0], shape) for shape in ([2, 2], [25, 25]))
            ),
            "map_values: sparse tensors have different shapes",
        ),
        (lambda: tf.sparse.split(X, 0, 1), "num_split is 0"),
        (lambda: tf.sparse.bincount([1, 2], axis=1), "axis is 1; 0, None and -1 are possible"),
        (lambda: tf.sparse.cross([X, X]), "cross: not part of graphad, out of scope"),
        (
            lambda: tf.sets.union([1, 2], [1, 2]),
            r"sets.union: a has shape \(2,\); a known rank of at least 2",
        ),
        (lambda: tf.sets.union([[1.0]], [[1.0]]), "a has dtype float32; an integer dtype is needed"),
        (
            lambda: tf.sets.union([[1]], [[1], [2]]),
            r"the leading sizes differ: \[1\] and \[2\]",
        ),
        (lambda: tf.sets.size([[1]]), "a SparseTensor is needed"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call, words):
    with pytest.raises((ValueError, TypeError, AttributeError), match=words):
        call()


# -- sizes that change in loops and branches -----------------------------------------------------------------------------


def test_a_sparse_spec_is_a_spec_as_others_are():
    narrow, wide = tf.SparseTensorSpec([2, 3]), tf.SparseTensorSpec([None, 3])
    assert isinstance(narrow, tf.TypeSpec) and narrow.value_type is tf.SparseTensor
    assert tf.TensorSpec([2]).value_type is tf.Tensor
    assert narrow.is_subtype_of(wide) and not wide.is_subtype_of(narrow)
    assert not narrow.is_subtype_of(tf.TensorSpec([2, 3]))
    assert narrow.most_specific_common_supertype([tf.SparseTensorSpec([4, 3])]) == wide
    assert narrow.most_specific_compatible_type(wide) == wide
    for other in (tf.TensorSpec([2, 3]), tf.SparseTensorSpec([2, 3], tf.float64)):
        assert narrow.most_specific_common_supertype([other]) is None
        with pytest.raises(ValueError, match="compatible with both"):
            narrow.most_specific_compatible_type(other)


def small():
    return tf.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0], [3, 3])


def doubled(x, axis=0):
    return tf.sparse.concat(axis, [x, x])


def with_invariants(n):
    shapes = [tf.TensorShape([]), tf.TensorShape([None, 3])]
    return tf.while_loop(
        lambda i, x: i < n, lambda i, x: (i + 1, doubled(x)), [0, small()], shape_invariants=shapes
    )[1]


def without(n):
    return tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, doubled(x)), [0, small()])[1]


def by_branches(n):
    x = small()
    if n > 1:
        x = doubled(x)
    for _ in tf.range(n - 1):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None, None]))])
        x = doubled(x, 1)
    while n > 1:
        x, n = doubled(x), n - 1
    return x


def chosen(n):
    return tf.cond(n > 1, lambda: doubled(doubled(small())), small)


@pytest.mark.parametrize("f", [with_invariants, without, by_branches, chosen])
def test_sizes_that_a_loop_or_branch_changes_are_not_claimed(f):
    for n in (1, 2):
        want = tf.sparse.to_dense(f(tf.constant(n)))
        traced = tf.function(lambda n, f=f: tf.sparse.to_dense(f(n)))(tf.constant(n))
        np.testing.assert_array_equal(traced, want)


def test_a_shape_invariant_of_another_rank_is_refused():
    shapes = [tf.TensorShape([]), tf.TensorShape([3])]

    @tf.function
    def f(n):
        body = lambda i, x: (i + 1, x)  # noqa: E731
        return tf.while_loop(lambda i, x: i < n, body, [0, small()], shape_invariants=shapes)[1]

    with pytest.raises(
        ValueError, match=r"a SparseTensor, has shape \(3, 3\), which .* \(3,\) does not allow"
    ):
        f(tf.constant(1))


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "traced"])
@pytest.mark.parametrize("function", [tf.abs, tf.negative, tf.sign, tf.square, tf.math.tanh, tf.nn.relu])
def test_a_function_that_is_0_at_0_maps_the_values(function, run):
    x = tf.SparseTensor([[0, 1], [2, 0]], [-2.0, 3.0], [3, 2])
    y = run(function)(x)
    assert isinstance(y, tf.SparseTensor) and y.shape == [3, 2]
    np.testing.assert_array_equal(tf.sparse.to_dense(y), function(tf.sparse.to_dense(x)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(function)(x).values
    dense = tf.sparse.to_dense(x)
    with tf.GradientTape() as dense_tape:
        dense_tape.watch(dense)
        z = tf.gather_nd(function(dense), x.indices)
    want = tf.gather_nd(dense_tape.gradient(z, dense), x.indices)
    np.testing.assert_array_equal(tape.gradient(y, x).values, want)


@pytest.mark.parametrize("function", [tf.exp, tf.math.bessel_i0e, tf.sigmoid, tf.math.log])
def test_a_function_that_is_not_0_at_0_is_refused_for_sparse_tensors(function):
    with pytest.raises(TypeError, match=r"sparse\.to_dense"):
        function(tf.SparseTensor([[0, 1]], [2.0], [3, 2]))


def test_slices_whose_rows_repeat_are_added_up_before_a_function_of_elements():
    x = tf.IndexedSlices(tf.constant([[2.0], [3.0]]), tf.constant([1, 1]), tf.constant([2, 1]))
    np.testing.assert_array_equal(tf.square(x), [[0.0], [25.0]])


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "traced"])
def test_casts_and_copies_keep_the_places(run):
    x = tf.SparseTensor([[0, 1], [2, 0]], [-2.0, 3.0], [3, 2])
    slices = tf.IndexedSlices(tf.constant([[2.5]]), tf.constant([1]), tf.constant([2, 1]))
    for value in (x, slices):
        cast = run(lambda x: tf.cast(x, tf.int32))(value)
        copy = run(tf.identity)(value)
        assert type(cast) is type(copy) is type(value) and cast.dtype is tf.int32 and copy is not value
        np.testing.assert_array_equal(cast.values, tf.cast(value.values, tf.int32))
        np.testing.assert_array_equal(copy.values, value.values)
        np.testing.assert_array_equal(cast.indices, value.indices)


def test_checks_of_shape_and_dtype_take_sparse_tensors():
    x = tf.SparseTensor([[0, 1]], [-2.0], [3, 2])
    tf.debugging.assert_type(x, tf.float32)
    tf.debugging.assert_same_float_dtype([x, tf.ones([])])
    tf.debugging.assert_shapes([(x, ("n", 2)), (tf.ones([3]), ("n",))])
    with pytest.raises(TypeError, match="must be of type int32"):
        tf.debugging.assert_type(x, tf.int32)
    with pytest.raises(ValueError, match=r"shape \(3, 2\)"):
        tf.debugging.assert_shapes([(x, ("n", 3))])


def test_sparse_rows_are_not_walked():
    x = tf.SparseTensor([[0, 1], [2, 0]], [-2.0, 3.0], [3, 2])
    with pytest.raises(TypeError, match=r"map_fn: elems holds a SparseTensor.*sparse\.to_dense"):
        tf.map_fn(lambda row: row, x)


def test_sets_may_be_sparse_and_dense_in_any_order():
    rows = [[1, 2, 3], [4, 5, 5]]
    dense, sparse = tf.constant(rows), tf.sparse.from_dense(rows)
    other = tf.sparse.from_dense([[2, 9, 0], [5, 0, 0]])
    dense_other = tf.constant([[2, 9], [5, 5]])
    for a, b in ((dense, other), (sparse, dense_other), (sparse, other), (dense, dense_other)):
        assert tf.sets.intersection(a, b).values.numpy().tolist() == [2, 5]
        assert tf.sets.difference(a, b).values.numpy().tolist() == [1, 3, 4]
        assert tf.sets.difference(a, b, aminusb=False).values.numpy().tolist() == [9]
        assert tf.sets.union(a, b).values.numpy().tolist() == [1, 2, 3, 9, 4, 5]


def test_filled_rows_keep_the_order_of_their_values():
    """They used to be sorted by column too."""
    x = tf.SparseTensor([[2, 1], [2, 0], [0, 2], [0, 1]], [1.0, 2.0, 3.0, 4.0], [4, 3])
    filled, empty = tf.sparse.fill_empty_rows(x, 7.0)
    assert filled.indices.numpy().tolist() == [[0, 2], [0, 1], [1, 0], [2, 1], [2, 0], [3, 0]]
    assert filled.values.numpy().tolist() == [3.0, 4.0, 7.0, 1.0, 2.0, 7.0]
    assert empty.numpy().tolist() == [False, True, False, True]


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
def test_counts_are_of_numbers_that_are_not_negative_with_weights_at_their_places(run):
    """A negative number used to change the counts of others, and weights were taken in the order in which they stand."""
    count = run(lambda v, w=None, axis=0: tf.sparse.bincount(v, weights=w, axis=axis))
    places, values = [[0, 0], [1, 1], [1, 2]], [1, 2, 2]
    x = tf.SparseTensor(places, values, [2, 3])
    right = tf.SparseTensor(places, [1.0, 2.0, 3.0], [2, 3])
    assert count(x, right).values.numpy().tolist() == [1.0, 5.0]
    for wrong, words in (
        (tf.SparseTensor([[0, 0], [1, 0], [1, 2]], [1.0, 2.0, 3.0], [2, 3]), "must have the same indices"),
        (tf.SparseTensor(places, [1.0, 2.0, 3.0], [2, 4]), "must have the same shape"),
        (
            tf.SparseTensor(places[:2], [1.0, 2.0], [2, 3]),
            "there are 2 weights for 3 values|Incompatible shapes",
        ),
        (tf.constant([1.0, 2.0, 3.0]), "weights must be a SparseTensor"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            count(x, wrong)
    for negative in (tf.constant([1, -2, 3]), tf.SparseTensor(places, [1, 2, -1], [2, 3])):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"the values are .*; they must be non-negative"
        ):
            count(negative)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"weights have shape \(1, 4\), values \(2, 2\)"):
        count(tf.constant([[1, 2], [3, 4]]), tf.ones([1, 4]), -1)


def test_values_of_the_first_version_become_sparse_tensors() -> None:
    parts = tf.compat.v1.SparseTensorValue([[0, 1], [1, 0], [1, 2]], [1.0, 2.0, 3.0], [2, 3])
    assert parts._fields == ("indices", "values", "dense_shape")
    for made in (
        tf.SparseTensor.from_value(parts),
        tf.compat.v1.convert_to_tensor_or_sparse_tensor(parts),
    ):
        np.testing.assert_array_equal(whole(made), WHOLE)
    with pytest.raises(TypeError, match="dtype"):
        tf.compat.v1.convert_to_tensor_or_sparse_tensor(parts, tf.int32)


def test_operations_take_values_of_the_first_version() -> None:
    parts = tf.compat.v1.SparseTensorValue([[0, 1], [1, 0], [1, 2]], [1.0, 2.0, 3.0], [2, 3])
    sp = tf.sparse
    for run in (lambda f: f, tf.function):
        np.testing.assert_array_equal(run(sp.to_dense)(parts), WHOLE)
        np.testing.assert_array_equal(whole(run(sp.transpose)(parts)), WHOLE.T)
        np.testing.assert_array_equal(run(sp.sparse_dense_matmul)(parts, tf.eye(3)), WHOLE)
        np.testing.assert_array_equal(whole(run(sp.add)(parts, parts)), 2 * WHOLE)
        np.testing.assert_array_equal(run(sp.add)(parts, tf.ones([2, 3])), WHOLE + 1)
        np.testing.assert_array_equal(
            whole(run(lambda x: sp.concat(0, [x, x]))(parts)), np.concatenate([WHOLE, WHOLE])
        )
