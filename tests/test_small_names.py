"""Small names of real programs, against what TensorFlow gave for them."""

import inspect
from typing import Any

import numpy as np
import pytest

import graphad as tf


def test_bits_of_integers():
    a, b = tf.constant([5, 3, 12]), tf.constant([3, 9, 10])
    found = {
        name: getattr(tf.bitwise, name)(a, b).numpy().tolist() for name in dir(tf.bitwise) if name != "invert"
    }
    assert found == {
        "bitwise_and": [1, 1, 8],
        "bitwise_or": [7, 11, 14],
        "bitwise_xor": [6, 10, 6],
        "left_shift": [40, 1536, 12288],
        "right_shift": [0, 0, 0],
    }
    assert tf.bitwise.invert(a).numpy().tolist() == [-6, -4, -13]
    assert tf.bitwise.invert(tf.constant([1, 2], tf.uint8)).numpy().tolist() == [254, 253]
    shifted = tf.bitwise.left_shift(tf.constant([-1, -5, -3], tf.int8), tf.constant([5, 0, 7], tf.int8))
    assert shifted.numpy().tolist() == [-32, -5, -128]
    with pytest.raises(ValueError, match="bitwise_and"):
        tf.bitwise.bitwise_and(1.0, 2.0)


def test_an_empty_tensor_array_is_stacked_and_elements_out_of_range_are_named():
    assert tf.TensorArray(tf.float32, size=0).stack().shape == [0]
    assert tf.TensorArray(tf.float32, size=0, element_shape=[2]).stack().shape == [0, 2]
    for use in (lambda a: a.read(5), lambda a: a.read(-1), lambda a: a.write(5, 1.0)):
        with pytest.raises(tf.errors.OutOfRangeError, match="array") as caught:
            use(tf.TensorArray(tf.float32, size=2))
        assert isinstance(caught.value, IndexError | ValueError)


def test_generators_skip_and_make_seeds():
    one, two = tf.random.Generator.from_seed(3), tf.random.Generator.from_seed(3)
    one.skip(2)
    two.normal([1])
    two.normal([4])
    np.testing.assert_array_equal(one.normal([3]), two.normal([3]))
    tf.function(lambda: one.skip(1))()
    two.normal([])
    np.testing.assert_array_equal(one.state, two.state)
    seeds = one.make_seeds(4)
    assert seeds.shape == [2, 4] and seeds.dtype == tf.int64 and len(set(seeds[0].numpy())) == 4
    assert np.all(seeds[1].numpy() == 0)
    tf.random.stateless_normal([2], seeds[:, 0])


def test_any_number_is_a_seed():
    drawn = []
    for seed in (3, 3.0, np.float32(3), 1.5, 1.5, 2**70):
        tf.random.set_seed(seed)
        drawn.append(tf.random.uniform([]).numpy())
    assert drawn[0] == drawn[1] == drawn[2] and drawn[3] == drawn[4] and len(set(drawn)) == 3
    with pytest.raises(TypeError, match=r"set_seed: seed is 'a'; a number is needed"):
        tf.random.set_seed("a")


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_an_optimizer_names_the_variable_whose_gradient_does_not_fit(momentum):
    v = tf.Variable([1.0, 2.0], name="w")
    optimizer = tf.keras.optimizers.SGD(0.1, momentum=momentum)
    with pytest.raises(
        ValueError, match=r"sgd: the gradient of variable 'w:0' has shape \(3,\), the variable \(2,\)"
    ):
        optimizer.apply_gradients([(tf.constant([1.0, 2.0, 3.0]), v)])
    assert optimizer.iterations.numpy() == 0
    optimizer.apply_gradients([(tf.constant([1.0, 1.0]), v)])
    np.testing.assert_allclose(v, [0.9, 1.9])


def test_variables_are_assigned_by_the_older_functions_too():
    v = tf.Variable([1.0, 2.0])
    assert tf.compat.v1.assign(v, [3.0, 4.0]) is v
    tf.compat.v1.assign_add(v, [0.0, 1.0])
    tf.compat.v1.assign(v[0], 4.0)
    with pytest.raises(TypeError, match=r"assign"):
        tf.compat.v1.assign([1.0], 2.0)

    @tf.function
    def down(x):
        tf.compat.v1.assign_sub(v, x)
        return v + 0.0

    assert down(tf.constant([2.0, 1.0])).numpy().tolist() == [2.0, 4.0]
    with pytest.raises(TypeError, match=r"assign_add: ref is EagerTensor; a tf.Variable is needed"):
        tf.compat.v1.assign_add(tf.constant(1.0), 1.0)


def test_slices_are_raised_and_lowered_in_functions_and_by_rows():
    x, at, y = tf.constant([1.0, 5.0, 3.0]), tf.constant([[0], [2], [0]]), tf.constant([7.0, 3.0, 7.0])
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = tf.function(tf.tensor_scatter_nd_max)(x, at, y) * tf.constant([1.0, 2.0, 4.0])
    assert z.numpy().tolist() == [7.0, 10.0, 12.0]
    assert [g.numpy().tolist() for g in tape.gradient(z, [x, y])] == [[0.0, 2.0, 2.0], [0.5, 2.0, 0.5]]
    rows = tf.vectorized_map(lambda v: tf.tensor_scatter_nd_min(v, at, y), tf.stack([x, 2 * x]))
    assert rows.numpy().tolist() == [[1.0, 5.0, 3.0], [2.0, 10.0, 3.0]]
    with pytest.raises(TypeError, match="tensor_scatter_nd_max: tensor has dtype complex64"):
        tf.tensor_scatter_nd_max(tf.zeros([2], tf.complex64), [[0]], tf.zeros([1], tf.complex64))


# -- older names and kinds of functions ----------------------------------------------------------------------------------------


def test_reductions_of_version_1_take_the_older_names_of_arguments():
    v1, x = tf.compat.v1, tf.constant([[1.0, 2.0], [3.0, 5.0]])
    for name in "sum mean max min prod logsumexp".split():
        older, newer = getattr(v1, f"reduce_{name}"), getattr(tf, f"reduce_{name}")
        want = newer(x, 1, True).numpy().tolist()
        assert older(x, 1, True).numpy().tolist() == want
        assert older(x, reduction_indices=1, keep_dims=True).numpy().tolist() == want
        assert older(x).numpy() == newer(x).numpy()
    for name in "all any".split():
        assert getattr(v1, f"reduce_{name}")(x > 2.0, reduction_indices=[0]).numpy().tolist() == [
            name == "any",
            name == "any",
        ]
    with pytest.raises(TypeError, match="axis and reduction_indices are the same argument"):
        v1.reduce_sum(x, axis=0, reduction_indices=0)
    assert v1.argmax(x, dimension=1).numpy().tolist() == [1, 1] and v1.argmin(x, 0).numpy().tolist() == [0, 0]
    assert v1.expand_dims(x, dim=0).shape == (1, 2, 2) and v1.squeeze(x[None], squeeze_dims=[0]).shape == (
        2,
        2,
    )
    with pytest.raises(TypeError, match="axis must be given"):
        v1.expand_dims(x)


def test_where_of_version_1_chooses_rows_by_a_vector():
    x, y = tf.constant([[1, 2], [3, 4]]), tf.constant([[5, 6], [7, 8]])
    assert tf.compat.v1.where([True, False], x, y).numpy().tolist() == [[1, 2], [7, 8]]
    assert tf.compat.v1.where([[True, False], [False, True]], x, y).numpy().tolist() == [[1, 6], [7, 4]]
    assert tf.compat.v1.where([True, False, True]).numpy().tolist() == [[0], [2]]
    assert tf.where([True, False], x, y).numpy().tolist() == [[1, 6], [3, 8]]


def test_numbers_of_version_1():
    v1 = tf.compat.v1
    assert [v1.div(a, 2).numpy() for a in (7, -7)] == [3, -4] and v1.div(7.0, 2).numpy() == 3.5
    made = {v1.to_float(3).dtype, v1.to_double(3).dtype, v1.to_int32(3.7).dtype, v1.to_int64(3).dtype}
    assert made == {tf.float32, tf.float64, tf.int32, tf.int64}
    assert v1.py_func(lambda x: x + 1.0, [tf.constant(1.0)], tf.float32).numpy() == 2.0


def test_control_flow_of_version_1_takes_single_results_out_of_their_lists(capfd):
    v1 = tf.compat.v1
    assert v1.cond(tf.constant(True), lambda: [1], lambda: [2]) == 1
    assert v1.cond(tf.constant(True), lambda: [1], lambda: [2], strict=True) == [1]
    assert v1.cond(tf.constant(False), fn1=lambda: 1, fn2=lambda: 2) == 2
    assert v1.case([(tf.constant(True), lambda: [5])]) == 5
    with pytest.raises(TypeError, match="cond: true_fn must be given, once"):
        v1.cond(tf.constant(True), false_fn=lambda: 1)

    @tf.function
    def f(n, same):
        return v1.while_loop(lambda i: i < n, lambda i: i + 1, [0], return_same_structure=same)

    assert f(tf.constant(3), False).numpy() == 3
    assert [x.numpy() for x in f(tf.constant(3), True)] == [3]
    start = [tf.constant(0)]
    assert int(v1.while_loop(lambda i: i < 3, lambda i: i + 1, start)) == 3
    assert v1.while_loop(lambda i: i < 3, lambda i: [i + 1], start) == [3]
    assert v1.while_loop(lambda i: i < 3, lambda i: i + 1, start, return_same_structure=True) == [3]

    @tf.function
    def g(x):
        return v1.Print(x, [tf.constant([1, 2]), x, "text"], message="now ")

    assert g(tf.constant(1.5)).numpy() == 1.5
    printed = capfd.readouterr()
    assert (printed.out + printed.err).strip() == "now [1 2][1.5]text"
    with pytest.raises(ValueError, match="first_n"):
        v1.Print(1.0, [], first_n=3)


def test_name_scope_of_version_1_takes_a_default_and_values():
    for given, want in (((None, "sum", [1.0]), "sum/"), (("mine", "sum"), "mine/"), (("mine",), "mine/")):
        with tf.compat.v1.name_scope(*given) as scope:
            assert scope == want
    with tf.compat.v1.name_scope("a", values=[1.0]):
        assert tf.Variable(1.0, name="v").name == "a/v:0"
    with pytest.raises(ValueError, match="one of them must be a string"):
        tf.compat.v1.name_scope(None)


def test_kinds_of_functions_can_be_asked_about(tmp_path):
    kinds = tf.types.experimental
    f = tf.function(lambda x: x)
    concrete = f.get_concrete_function(tf.TensorSpec([]))
    module = tf.Module()
    module.f = f
    tf.saved_model.save(module, tmp_path)
    loaded = tf.saved_model.load(tmp_path).f
    for kind, want in (
        (kinds.Callable, [True, True, True, True]),
        (kinds.GenericFunction, [True, False, True, False]),
        (kinds.PolymorphicFunction, [True, False, False, False]),
        (kinds.ConcreteFunction, [False, True, False, True]),
    ):
        assert [isinstance(x, kind) for x in (f, concrete, loaded, loaded.concrete_functions[0])] == want
        assert not isinstance(len, kind)
    with pytest.raises(AttributeError, match="as_graph_def': graphad's graphs are data of its own"):
        concrete.graph.as_graph_def()


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
def test_a_placeholder_with_a_default_is_the_default(run):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(lambda x: tf.compat.v1.placeholder_with_default(x, [None]))(x)
    assert y.numpy().tolist() == [1.0, 2.0] and tape.gradient(y, x).numpy().tolist() == [1.0, 1.0]


def test_rows_of_searchsorted_are_counted_not_compared():
    for run in (lambda f: f, tf.function):
        found = run(lambda s, x: tf.searchsorted(s, x, side="right"))
        assert found([[1.0, 3.0]], [0.0, 1.0, 9.0]).numpy().tolist() == [0, 1, 2]
        assert found([1.0, 3.0], [[0.0, 1.0, 9.0]]).numpy().tolist() == [[0, 1, 2]]
        assert found([[[1.0, 3.0], [0.0, 5.0]]], [[2.0], [2.0]]).numpy().tolist() == [[1], [1]]
    with pytest.raises(ValueError, match="searchsorted: sorted_sequence has shape"):
        tf.searchsorted([[1.0, 3.0], [0.0, 5.0]], [2.0])


def test_sizes_computed_with_floats_are_sizes_where_they_are_whole():
    n = tf.floor(tf.constant(7.9))
    assert tf.zeros((n - 2.0, 2)).shape == [5, 2] and tf.ones([n]).shape == [7]
    assert tf.eye(n, n - 3.0).shape == [7, 4]
    with pytest.raises(TypeError, match="sizes are integers"):
        tf.zeros((n / 2.0,))
    for refused in (lambda: tf.zeros((2.0,)), lambda: tf.eye(n / 2.0), lambda: tf.eye(2.0)):
        with pytest.raises(TypeError, match="integer"):
            refused()


def test_arguments_of_numpy_functions_have_numpys_names():
    x = np.arange(6.0).reshape(2, 3)
    n = tf.numpy
    for ours, theirs in [
        (n.take(a=x, indices=[0], axis=1), np.take(a=x, indices=[0], axis=1)),
        (n.take_along_axis(arr=x, indices=[[0], [1]], axis=1), x[[0, 1], [0, 1]][:, None]),
        (n.moveaxis(a=x, source=0, destination=1), x.T),
        (n.squeeze(a=x[:1], axis=0), x[0]),
        (n.expand_dims(a=x, axis=0), x[None]),
        (n.flip(m=x, axis=1), x[:, ::-1]),
        (n.roll(a=x, shift=1, axis=0), np.roll(x, 1, 0)),
        (n.tile(A=x, reps=[1, 2]), np.tile(x, [1, 2])),
        (n.repeat(a=x, repeats=2, axis=1), np.repeat(x, 2, 1)),
        (n.repeat(x, 2, 0), np.repeat(x, 2, 0)),
        (n.stack(arrays=[x, x], axis=1), np.stack([x, x], 1)),
        (n.tril(m=x, k=1), np.tril(x, 1)),
        (n.outer(a=x[0], b=x[1]), np.outer(x[0], x[1])),
        (n.linspace(start=0.0, stop=1.0, num=3), np.linspace(0.0, 1.0, 3)),
        (n.round(a=x + 0.26, decimals=1), np.round(x + 0.26, 1)),
    ]:
        np.testing.assert_array_equal(ours, theirs)


def test_neural_networks_of_tensorflow_1_are_those_that_mean_the_same():
    nn = tf.compat.v1.nn
    assert nn.relu is tf.nn.relu and nn.elu is tf.nn.elu
    others = {
        "nce_loss": "partition_strategy",
        "sampled_softmax_loss": "partition_strategy",
        "pool": "dilation_rate",
    }
    for name, argument in others.items():
        assert argument in inspect.signature(getattr(nn, name)).parameters
        assert argument not in inspect.signature(getattr(tf.nn, name)).parameters
    with pytest.raises(AttributeError, match=r"compat.v1.nn.dynamic_rnn"):
        nn.dynamic_rnn


def test_namespaces_of_tensorflow_1_take_its_arguments() -> None:
    v1, x = tf.compat.v1, tf.constant([[1.0, 2.0], [3.0, 5.0]])
    np.testing.assert_array_equal(v1.math.reduce_sum(x, reduction_indices=1, keep_dims=True), [[3.0], [8.0]])
    np.testing.assert_array_equal(v1.math.argmax(x, 0, "name"), [1, 1])
    np.testing.assert_array_equal(v1.nn.softmax(x, dim=0), tf.nn.softmax(x, 0))
    np.testing.assert_array_equal(v1.nn.log_softmax(x), tf.nn.log_softmax(x))
    np.testing.assert_array_equal(v1.linalg.l2_normalize(x, dim=0), tf.math.l2_normalize(x, 0))
    np.testing.assert_array_equal(v1.linalg.norm(x, keep_dims=True), tf.norm(x, keepdims=True))
    np.testing.assert_array_equal(v1.math.in_top_k(x, [0, 1], 1), tf.math.in_top_k([0, 1], x, 1))
    kept = v1.nn.moments(x, [0], keep_dims=True)
    np.testing.assert_array_equal(kept, tf.nn.moments(x, [0], keepdims=True))
    np.testing.assert_array_equal(v1.nn.dropout(x, keep_prob=1.0), x)
    with pytest.raises(TypeError, match="give keep_prob or rate"):
        v1.nn.dropout(x)
    labels = tf.constant([[0.25, 0.75], [1.0, 0.0]])
    with tf.GradientTape() as tape:
        tape.watch([labels, x])
        loss = v1.nn.softmax_cross_entropy_with_logits(labels=labels, logits=x)
    by_labels, by_logits = tape.gradient(loss, [labels, x])
    assert by_labels is None
    np.testing.assert_allclose(by_logits, tf.nn.softmax(x) - labels, rtol=1e-5)
    along = v1.nn.softmax_cross_entropy_with_logits_v2(labels, x, dim=0)
    np.testing.assert_array_equal(along, tf.nn.softmax_cross_entropy_with_logits(labels, x, 0))
    v1.debugging.assert_equal(1, 1, [x], 3, "of numbers")
    v1.debugging.assert_rank_in(x, [1, 2], [x])
    v1.assert_near(x, x, 0.0, 0.0, [x], 3, "of numbers")
    np.testing.assert_array_equal(v1.debugging.assert_all_finite(x, "of numbers"), x)
    assert v1.math.sin is tf.math.sin and v1.linalg.cholesky is tf.linalg.cholesky
    with pytest.raises(TypeError, match="the same argument"):
        v1.nn.softmax(x, axis=0, dim=0)


def test_what_is_sparse_may_stay_so_where_a_tensor_is_made() -> None:
    v1, x = tf.compat.v1, tf.sparse.eye(2)
    slices = tf.IndexedSlices(tf.ones([1, 2]), [0], [3, 2])
    assert v1.convert_to_tensor_or_sparse_tensor(x) is x
    assert v1.convert_to_tensor_or_indexed_slices(slices, tf.float32) is slices
    for f in (v1.convert_to_tensor_or_sparse_tensor, v1.convert_to_tensor_or_indexed_slices):
        assert f([1, 2], tf.float64).dtype == tf.float64
    with pytest.raises(TypeError, match="the SparseTensor has dtype float32, dtype=float64 is asked for"):
        v1.convert_to_tensor_or_sparse_tensor(x, tf.float64)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_fused_batch_norm_normalises_and_gives_what_is_to_be_kept(layout) -> None:
    norm = tf.compat.v1.nn.fused_batch_norm
    x = np.random.default_rng(0).normal(size=(2, 3, 3, 4)).astype(np.float32)
    center, spread = x.mean((0, 1, 2)), x.var((0, 1, 2))
    scale, offset = np.full(4, 2, np.float32), np.ones(4, np.float32)
    given = x if layout == "NHWC" else x.transpose(0, 3, 1, 2)

    def shown(y: Any) -> Any:
        return y.numpy() if layout == "NHWC" else y.numpy().transpose(0, 2, 3, 1)

    y, mean, variance = norm(given, scale, offset, epsilon=0.01, data_format=layout)
    np.testing.assert_allclose(shown(y), (x - center) / np.sqrt(spread + 0.01) * 2 + 1, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(mean, center, atol=1e-6)
    np.testing.assert_allclose(variance, spread * 18 / 17, rtol=1e-5)
    half, three = np.full(4, 0.5, np.float32), np.full(4, 3, np.float32)
    moving = norm(given, scale, offset, half, three, data_format=layout, exponential_avg_factor=0.1)
    np.testing.assert_allclose(moving[1], 0.45 + 0.1 * center, rtol=1e-5)
    np.testing.assert_allclose(moving[2], 2.7 + 0.1 * spread * 18 / 17, rtol=1e-5)
    fixed = norm(given, scale, offset, half, three, data_format=layout, is_training=False)
    np.testing.assert_allclose(shown(fixed[0]), (x - 0.5) / np.sqrt(3.001) * 2 + 1, rtol=2e-5, atol=2e-6)
    assert norm(given.astype(np.float16), scale, offset, data_format=layout)[0].dtype == tf.float16
    with pytest.raises(ValueError, match="mean and variance are needed"):
        norm(given, scale, offset, is_training=False)


def test_classes_that_act_as_tensors_take_the_operators_by_their_names():
    class Scaled:
        def __init__(self, value):
            self.value = value

    for name in tf.Tensor.OVERLOADABLE_OPERATORS:
        setattr(
            Scaled, name, lambda self, *others, name=name: getattr(tf.constant(self.value) * 2, name)(*others)
        )
    x = Scaled([1.0, 2.0])
    assert (x + 1.0).numpy().tolist() == [3, 5] and (1.0 - x).numpy().tolist() == [-1, -3]
    assert (-x)[1] == -4 and (x >= 3.0).numpy().tolist() == [False, True]
    assert {"__radd__", "__matmul__", "__getitem__", "__eq__"} <= tf.Tensor.OVERLOADABLE_OPERATORS
    assert "__array_namespace__" not in tf.Tensor.OVERLOADABLE_OPERATORS  # a namespace of tensors, not of x
    Scaled.__nonzero__ = tf.Tensor.__nonzero__
    Scaled.__bool__ = lambda self: self.value != [0.0]
    assert Scaled([1.0]).__nonzero__() and not Scaled([0.0]).__nonzero__() and tf.constant(1).__nonzero__()


def test_comparisons_take_two_tensors_and_a_name_as_wrappers_pass_all_arguments_on():
    for compare in (tf.equal, tf.not_equal, tf.less):
        assert list(inspect.signature(compare).parameters) == ["x", "y", "name"]
    given = {"x": [1, 2], "y": [1, 2, 3], "incompatible_shape_error": False}
    assert not tf.raw_ops.Equal(**given) and tf.raw_ops.NotEqual(**given)
    with pytest.raises(ValueError, match="equal"):
        tf.raw_ops.Equal(x=[1, 2], y=[1, 2, 3])


def test_variables_need_no_first_values_from_initializers():
    v = tf.Variable(2.0)
    v1 = tf.compat.v1
    made = [
        v1.global_variables_initializer(),
        v1.local_variables_initializer(),
        v1.variables_initializer([v]),
    ]
    assert made == [None] * 3 and v1.tables_initializer() is None and v.numpy() == 2


def test_an_array_that_is_divided_in_place_by_a_tensor_becomes_one_where_that_is_followed():
    v = tf.Variable([2.0, 4.0])

    def quotient():
        x = np.array([1.0, 2.0], np.float32)
        before = x
        x /= v * 1.0
        assert before.tolist() == [1, 2]
        return tf.reduce_sum(x)

    with tf.GradientTape() as tape:
        y = quotient()
    assert y == 1 and tape.gradient(y, v).numpy().tolist() == [-0.25, -0.125]
    assert tf.function(quotient)() == 1
    x = np.array([1.0, 2.0], np.float32)
    x /= tf.constant([2.0, 4.0])
    assert type(x) is np.ndarray and x.tolist() == [0.5, 0.5]


def test_numbers_in_where_of_version_1_take_the_dtype_of_the_other_value():
    x = tf.constant(2.0, tf.float64)
    for found in (tf.compat.v1.where(x > 3, x, 1.0), tf.compat.v1.where(x < 3, 1.0, x)):
        assert found.dtype is tf.float64 and found == 1


def test_fused_batch_norm_of_no_images_has_a_gradient_of_zeros() -> None:
    x, scale, offset = tf.zeros([0, 2, 2, 3]), tf.ones([3]), tf.zeros([3])
    with tf.GradientTape() as tape:
        tape.watch([x, scale, offset])
        y, mean, _ = tf.compat.v1.nn.fused_batch_norm(x, scale, offset)
    assert np.isnan(mean.numpy()).all()
    for slope, source in zip(tape.gradient(y, [x, scale, offset]), (x, scale, offset), strict=True):
        np.testing.assert_array_equal(slope.numpy(), np.zeros(source.shape, np.float32))


def test_the_default_graph_says_which_function_is_traced():
    seen = []

    @tf.function
    def f(x):
        graph = tf.compat.v1.get_default_graph()
        with graph.as_default() as same:
            seen.append(
                (graph.building_function, graph.name, graph.seed, same == tf.compat.v1.get_default_graph())
            )
        return x

    f(tf.constant(1.0))
    assert seen == [(True, "f", None, True)]
    outside = tf.compat.v1.get_default_graph()
    assert not outside.building_function and len({outside, tf.compat.v1.get_default_graph()}) == 1
    with pytest.raises(AttributeError, match="get_operations: there is no graph of operations to look at"):
        outside.get_operations()


def test_the_default_graph_gives_names_once_within_a_scope():
    seen = []

    @tf.function
    def f(x):
        graph = tf.compat.v1.get_default_graph()
        seen.extend(
            [graph.unique_name("a"), graph.unique_name("a"), graph.unique_name("a", mark_as_used=False)]
        )
        with tf.name_scope("s"):
            again = tf.compat.v1.get_default_graph()
            seen.extend([again.unique_name("a"), again.unique_name("A"), graph.get_name_scope()])
        return x

    f(tf.constant(1.0))
    assert seen == ["a", "a_1", "a_2", "s/a", "s/A_1", "s"]
    f(tf.constant([1.0]))
    assert seen[6:] == seen[:6]  # another trace, other names
    outside = tf.compat.v1.get_default_graph()
    names = [outside.unique_name("once") for _ in range(2)]
    assert names == ["once", "once_1"] and outside.get_name_scope() == ""


def test_random_functions_of_tensorflow_1_take_their_arguments_in_its_order() -> None:
    older = tf.compat.v1.random
    assert (
        older.poisson([1.0, 2.0, 3.0], [2]).shape
        == tf.compat.v1.random_poisson([1.0, 2.0, 3.0], [2]).shape
        == [2, 3]
    )
    assert older.set_random_seed is tf.compat.v1.set_random_seed
    assert (
        older.multinomial([[0.0, 0.0]], 4).shape
        == older.stateless_multinomial([[0.0, 0.0]], 4, [1, 2]).shape
        == [1, 4]
    )
    assert older.normal is tf.random.normal


def test_the_optimizers_are_there_under_the_names_before_tensorflow_2_11():
    assert tf.optimizers.legacy.Adam is tf.keras.optimizers.legacy.Adam is tf.keras.optimizers.Adam


@pytest.mark.parametrize("name", ["dynamic_rnn", "static_rnn", "bidirectional_dynamic_rnn"])
def test_what_runs_a_cell_names_the_loop_that_does(name):
    with pytest.raises(AttributeError, match=rf"compat\.v1\.nn\.{name}: .*a cell.* in a loop over tf\.range"):
        getattr(tf.compat.v1.nn, name)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "int8", "uint64", "complex64", "bool"])
def test_all_dtypes_but_bool_are_numeric(name):
    assert tf.as_dtype(name).is_numeric is (name != "bool")


def test_fused_batch_norm_takes_arrays_in_the_dtype_of_the_images() -> None:
    x = tf.constant(np.arange(8.0).reshape(2, 1, 2, 2), tf.float32)
    for is_training in (True, False):
        arrays = tf.compat.v1.nn.fused_batch_norm(
            x, np.ones(2), np.zeros(2), np.zeros(2), np.ones(2), is_training=is_training
        )
        tensors = tf.compat.v1.nn.fused_batch_norm(
            x, tf.ones(2), tf.zeros(2), tf.zeros(2), tf.ones(2), is_training=is_training
        )
        for y, z in zip(arrays, tensors, strict=True):
            assert y.dtype == tf.float32
            np.testing.assert_array_equal(y, z)
