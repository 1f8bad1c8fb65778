"""Small names of real programs, against what TensorFlow gave for them."""

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
