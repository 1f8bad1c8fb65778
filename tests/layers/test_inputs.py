"""What says of a model's inputs what they are, layers of functions, and the sizes of what is sparse."""

import gc
import threading

import numpy as np
import pytest

import graphad as tf
from graphad.layers import base

layers = tf.keras.layers


@pytest.mark.parametrize(
    "first",
    [
        lambda: tf.keras.Input(shape=(3,)),
        lambda: layers.Input((3,), batch_size=2),
        lambda: layers.InputLayer(input_shape=(3,)),
        lambda: layers.InputLayer(batch_shape=(None, 3)),
    ],
)
def test_an_input_makes_the_weights_with_the_model(first):
    model = tf.keras.Sequential([first(), layers.Dense(4, activation="tanh"), layers.Dense(1)])
    assert [w.shape.as_list() for w in model.weights] == [[3, 4], [4], [4, 1], [1]]
    assert model.count_params() == 21 and len(model.layers) == 2
    assert model(tf.ones([2, 3])).shape == (2, 1)


def test_layers_that_are_added_behind_an_input_are_built():
    model = tf.keras.Sequential()
    model.add(tf.keras.Input(shape=(None,), dtype="int32"))
    model.add(layers.Embedding(7, 2))
    assert model.count_params() == 14
    model.add(layers.Lambda(lambda x, by: x * by, arguments={"by": 3.0}))
    model.layers[0].set_weights([np.ones([7, 2], np.float32)])
    np.testing.assert_array_equal(model(np.array([[1, 2]])), np.full([1, 2, 2], 3.0))


def test_an_input_is_no_tensor_and_stands_first():
    with pytest.raises(
        TypeError, match=r"keras\.Input: models of symbolic inputs .* first element of a keras\.Sequential"
    ):
        layers.Dense(2)(tf.keras.Input(shape=(3,)))
    with pytest.raises(TypeError, match=r"models of symbolic inputs"):
        tf.exp(tf.keras.Input(shape=(3,)))
    with pytest.raises(TypeError, match=r"says what the inputs are; it must come first"):
        tf.keras.Sequential([layers.Dense(2), layers.InputLayer((3,), name="late")])
    with pytest.raises(TypeError, match="none of shape, batch_shape and input_shape given"):
        tf.keras.Input()
    with pytest.raises(ValueError, match="is not built yet; call it"):
        layers.Dense(2).count_params()


def test_a_function_is_a_layer():
    scale = tf.Variable(2.0)
    model = tf.keras.Sequential(
        [layers.Dense(1, use_bias=False, kernel_initializer="ones"), layers.Lambda(lambda x: x * scale)]
    )
    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        y = model(x, training=True)
    assert float(y[0, 0]) == 6.0 and float(tape.gradient(y, scale)) == 3.0
    with pytest.raises(TypeError, match="Lambda: function must be callable, got 3"):
        layers.Lambda(3)


def test_a_sparse_tensor_has_a_shape_a_rank_and_a_size():
    sparse = tf.sparse.SparseTensor([[0, 1], [1, 2]], [1.0, 2.0], [2, 5])

    def sizes(x):
        return tf.shape(x), tf.shape(x, out_type=tf.int64), tf.rank(x), tf.size(x), tf.shape_n([x])[0]

    for found in (sizes(sparse), tf.function(sizes)(sparse)):
        assert [y.numpy().tolist() for y in found] == [[2, 5], [2, 5], 2, 10, [2, 5]]
        assert [y.dtype.name for y in found] == ["int32", "int64", "int32", "int32", "int32"]
    unknown = tf.function(sizes, input_signature=[tf.SparseTensorSpec([None, None], tf.float32)])
    assert [y.numpy().tolist() for y in unknown(sparse)] == [[2, 5], [2, 5], 2, 10, [2, 5]]


def test_classes_as_rows():
    rows = tf.keras.utils.to_categorical([[0], [2], [1]])
    assert type(rows) is np.ndarray and rows.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert tf.keras.utils.to_categorical([], 3).shape == (0, 3)
    found = tf.keras.utils.to_categorical(tf.constant([1, 0]), num_classes=3)
    assert isinstance(found, tf.Tensor) and found.numpy().tolist() == [[0, 1, 0], [1, 0, 0]]
    traced = tf.function(lambda x: tf.keras.utils.to_categorical(x, 3))(tf.constant([1, 0]))
    np.testing.assert_array_equal(traced, found)
    with pytest.raises(ValueError, match=r"to_categorical: class 5 is not in \[0, 3\)"):
        tf.keras.utils.to_categorical([0, 5], 3)
    with pytest.raises(ValueError, match=r"class -1 is not in \[0, 2\)"):
        tf.keras.utils.to_categorical([-1, 1])
    with pytest.raises(TypeError, match="not all are whole numbers"):
        tf.keras.utils.to_categorical([0.5])


def test_one_seed_for_all():
    import random

    def drawn():
        tf.keras.utils.set_random_seed(3)
        return random.random(), np.random.rand(), float(tf.random.normal([]))

    assert drawn() == drawn()
    with pytest.raises(ValueError, match="seed is -1; an integer"):
        tf.keras.utils.set_random_seed(-1)


class Kept(layers.Layer):
    """Adds a tenth of the sum of its input to the losses."""

    def call(self, x):
        self.add_loss(0.1 * tf.reduce_sum(x))
        return x


def test_losses_are_those_of_the_last_call():
    kept = Kept()
    model = tf.keras.Sequential(
        [kept, layers.Dense(2, use_bias=False, kernel_initializer="ones"), Kept(), kept]
    )
    for _ in range(2):
        model(tf.ones([1, 2]))
        np.testing.assert_allclose(model.losses, [0.2, 0.4, 0.4], rtol=1e-6)
    kept(tf.ones([3]))
    np.testing.assert_allclose(kept.losses, [0.3], rtol=1e-6)
    assert layers.Dense(2).losses == [] and tf.keras.Sequential([tf.keras.Input((2,)), Kept()]).losses == []


def test_losses_have_derivatives_in_functions_too():
    model = tf.keras.Sequential([layers.Dense(2, use_bias=False, kernel_initializer="ones"), Kept()])

    def slope(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(x)) + tf.add_n(model.losses)
        return tape.gradient(loss, model.trainable_variables)[0]

    x = tf.constant([[1.0, 2.0]])
    traced = tf.function(slope)
    for _ in range(2):
        np.testing.assert_allclose(slope(x), [[1.1, 1.1], [2.2, 2.2]], rtol=1e-6)
        np.testing.assert_array_equal(traced(x), slope(x))


def test_a_call_that_fails_leaves_no_call_behind():
    class Failing(layers.Layer):
        def call(self, x):
            self.add_loss(1.0)
            raise ValueError("no")

    failing, kept = Failing(), Kept()
    with pytest.raises(ValueError, match="no"):
        failing(tf.ones([1]))
    for _ in range(2):
        kept(tf.ones([1]))
        assert len(kept.losses) == 1


def test_regularizers_add_to_the_losses():
    r = tf.keras.regularizers
    dense = layers.Dense(
        2,
        kernel_regularizer="l2",
        bias_regularizer=r.L1(0.5),
        kernel_initializer="ones",
        bias_initializer="ones",
    )
    model = tf.keras.Sequential([tf.keras.Input((3,)), dense, Kept()])
    np.testing.assert_allclose(model.losses, [0.06, 1.0], rtol=1e-6)
    model(tf.ones([1, 3]))
    np.testing.assert_allclose(model.losses, [0.8, 0.06, 1.0], rtol=1e-6)
    with tf.GradientTape() as tape:
        loss = tf.add_n(dense.losses)
    np.testing.assert_allclose(tape.gradient(loss, dense.kernel), np.full([3, 2], 0.02), rtol=1e-6)
    dense.trainable = False
    assert len(dense.losses) == 0
    np.testing.assert_allclose(r.L1L2(0.1, 0.2)([1.0, -2.0]), 1.3, rtol=1e-6)
    assert float(r.L1L2()(tf.ones([2]))) == 0.0 and r.get(None) is None and r.get("l1").l1 == 0.01
    convolution = layers.Conv2D(1, 2, kernel_regularizer=tf.reduce_sum, kernel_initializer="ones")
    convolution(tf.ones([1, 3, 3, 1]))
    assert float(convolution.losses[0]) == 4.0

    class Own(layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(shape=[2], initializer="ones", regularizer=r.l2(0.5))

        def call(self, x):
            return x * self.w

    own = Own()
    own(tf.ones([2]))
    assert float(own.losses[0]) == 1.0


def test_arguments_that_a_layer_has_not_are_told_with_those_it_has():
    with pytest.raises(
        TypeError,
        match=r"Dense: there is no argument 'unit_count'; it takes units, .*kernel_regularizer.* dtype",
    ):
        layers.Dense(2, unit_count=3)
    with pytest.raises(TypeError, match=r"Embedding: there is no argument 'kernel_regularizer'"):
        layers.Embedding(2, 3, kernel_regularizer="l2")
    with pytest.raises(ValueError, match=r"'l3' is none; there are l1, l2"):
        layers.Dense(2, bias_regularizer="l3")
    with pytest.raises(ValueError, match=r"l2 is -1; a number that is not negative"):
        tf.keras.regularizers.L2(-1)


def test_losses_of_another_thread_are_forgotten_too():
    kept = Kept()
    thread = threading.Thread(target=kept, args=(tf.ones([2]),))
    thread.start()
    thread.join()
    assert len(kept.losses) == 1
    kept(tf.ones([1]))
    np.testing.assert_allclose(kept.losses, [0.1], rtol=1e-6)


def test_layers_whose_losses_are_gone_are_walked_no_more():
    before = dict(base._with_losses)
    kept = Kept()
    kept(tf.ones([1]))
    assert len(base._with_losses) == len(before) + 1
    del kept
    gc.collect()
    assert base._with_losses.keys() <= before.keys()


def test_shapes_of_a_sequential_are_known_once_its_inputs_are():
    model = tf.keras.Sequential()
    with pytest.raises(
        AttributeError, match=r"has no output_shape yet: begin it with a keras.Input, or call it"
    ):
        print(model.output_shape)
    model.add(layers.Dense(6, input_shape=(4,)))
    assert (model.input_shape, model.output_shape) == ((None, 4), (None, 6))
    model.add(layers.Reshape((3, 2)))
    assert model.output_shape == (None, 3, 2)
    later = tf.keras.Sequential([layers.Dense(3)])
    assert not hasattr(later, "input_shape")
    later(np.ones([2, 4], np.float32))
    assert (later.input_shape, later.output_shape) == ((2, 4), (2, 3))


def test_layers_of_several_tensors_refuse_what_they_cannot_merge():
    one = tf.ones([2, 3])
    with pytest.raises(
        ValueError, match=r"Add: it is called on a list of tensors, got one of shape \(2, 3\)"
    ):
        layers.Add()(one)
    with pytest.raises(ValueError, match=r"Concatenate: it is called on a list of tensors, got one of shape"):
        layers.concatenate(one)
    with pytest.raises(ValueError, match=r"Subtract: it is called on two tensors, got 3"):
        layers.subtract([one, one, one])
    with pytest.raises(ValueError, match=r"Concatenate: axis 0 is that of the batch"):
        layers.Concatenate(axis=0)
    functions = [layers.add, layers.multiply, layers.average, layers.maximum, layers.minimum]
    np.testing.assert_array_equal([f([one, 3 * one])[0, 0] for f in functions], [4, 3, 2, 3, 1])
    assert layers.concatenate([one, one], axis=1).shape == (2, 6)


def test_layers_that_rearrange_refuse_sizes_out_of_range():
    with pytest.raises(
        ValueError, match=r"Permute: dims is \(3, 1\); it must name each axis from 1 to 2 once"
    ):
        layers.Permute((3, 1))
    with pytest.raises(TypeError, match=r"RepeatVector: n must be an integer, got 2.5"):
        layers.RepeatVector(2.5)
    with pytest.raises(
        ValueError, match=r"RepeatVector: the input must be \[batch, features\], got shape \(2, 3, 4\)"
    ):
        layers.RepeatVector(2)(tf.ones([2, 3, 4]))
    with pytest.raises(
        ValueError, match=r"ZeroPadding2D: padding is \(1, -1\); it must be an integer from 0, 2 of them"
    ):
        layers.ZeroPadding2D((1, -1))
    with pytest.raises(ValueError, match=r"UpSampling2D: interpolation is 'area'; it must be one of bicubic"):
        layers.UpSampling2D(interpolation="area")
    first = tf.transpose(tf.ones([2, 3, 3, 4]), [0, 3, 1, 2])
    assert layers.UpSampling2D((1, 2), "channels_first", "bilinear")(first).shape == (2, 4, 3, 6)
    assert layers.ZeroPadding2D(1, data_format="channels_first")(first).shape == (2, 4, 5, 5)


def test_a_masked_softmax_gives_zeros_where_it_is_masked():
    soft, mask = layers.Softmax(), [[True, False, True], [False, False, False]]
    want = [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]
    np.testing.assert_array_equal(soft(tf.ones([2, 3]), mask=mask), want)
    np.testing.assert_array_equal(soft(tf.ones([2, 3]), mask=np.array(mask, np.float32)), want)
    assert layers.Rescaling(1 / 255)(np.full([2], 255, np.uint8)).dtype == tf.float32


def test_an_embedding_takes_its_table_and_says_that_masks_are_not_handed_on():
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    for given in (table, [table]):
        made = layers.Embedding(3, 2, weights=given, trainable=False, mask_zero=False)
        np.testing.assert_array_equal(made([[2, 0]]), [[[4, 5], [0, 1]]])
        assert made.trainable_variables == [] and len(made.weights) == 1
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        layers.Embedding(3, 2, weights=[table.T])
    with pytest.raises(
        ValueError, match=r"Embedding: mask_zero is True; graphad's layers hand no masks on. Leave it"
    ):
        layers.Embedding(3, 2, mask_zero=True)


def test_constraints_hold_after_each_update():
    c = tf.keras.constraints
    dense = layers.Dense(2, kernel_constraint="non_neg", bias_constraint=c.MaxNorm(0.5), use_bias=True)
    optimizer = tf.keras.optimizers.SGD(1.0)
    x = tf.ones([1, 3])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(dense(x))
    optimizer.apply_gradients(
        zip(tape.gradient(loss, dense.trainable_variables), dense.trainable_variables, strict=True)
    )
    assert (dense.kernel.numpy() >= 0).all() and (dense.kernel.numpy() == 0).any()
    np.testing.assert_allclose(np.linalg.norm(dense.bias), 0.5, rtol=1e-5)

    class Own(layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(shape=[2], initializer="ones", constraint=lambda w: w * 0.0)

    own = Own()
    own.build([None, 2])
    optimizer.apply_gradients([(tf.ones([2]), own.w)])
    assert own.w.numpy().tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="constraints: 'large' is none; there are max_norm"):
        layers.Dense(2, kernel_constraint="large")
    with pytest.raises(TypeError, match=r"Dense: there is no argument 'gamma_constraint'; .*bias_constraint"):
        layers.Dense(2, gamma_constraint="non_neg")


@pytest.mark.parametrize(
    ("make", "expected"),  # by Keras
    [
        (lambda c: c.NonNeg(), [[3.0, 0.0], [4.0, 0.25]]),
        (lambda c: c.MaxNorm(1.0), [[0.6, -0.5], [0.8, 0.25]]),
        (lambda c: c.UnitNorm(), [[0.6, -0.894427], [0.8, 0.447214]]),
        (lambda c: c.MinMaxNorm(1.0, 2.0, rate=0.5), [[2.1, -0.697214], [2.8, 0.348607]]),
        (lambda c: c.unit_norm(axis=[0, 1]), [[0.596285, -0.099381], [0.795046, 0.04969]]),
        (lambda c: c.get("max_norm"), [[1.2, -0.5], [1.6, 0.25]]),
    ],
)
def test_constraints_give_keras_weights(make, expected):
    w = make(tf.keras.constraints)(tf.constant([[3.0, -0.5], [4.0, 0.25]]))
    np.testing.assert_allclose(w, expected, rtol=2e-5)


def test_a_layer_is_made_again_from_its_configuration():
    class Scaled(layers.Layer):
        def __init__(self, factor, **options):
            super().__init__(**options)
            self.factor = factor

        def call(self, inputs):
            return inputs * self.factor

        def get_config(self):
            return super().get_config() | {"factor": self.factor}

    again = Scaled.from_config(Scaled(3.0, name="s").get_config())
    assert again.name == "s" and again(tf.ones([2])).numpy().tolist() == [3.0, 3.0]
    dense = layers.Dense(3, "tanh", kernel_regularizer="l2", name="d")
    config = dense.get_config()
    assert config["units"] == 3 and config["activation"] == "tanh" and config["use_bias"] is True
    assert config["name"] == "d" and config["kernel_regularizer"] == "l2" and config["dtype"] == "float32"
    twin = layers.Dense.from_config(config)
    assert twin(tf.ones([1, 2])).shape == [1, 3] and twin.get_config() == config


def test_no_activation_is_the_identity():
    for name in (None, "linear"):
        assert tf.keras.activations.get(name)(2.5) == 2.5
    dense = layers.Dense(1, kernel_initializer="ones")
    dense.activation = None
    assert dense(tf.ones([1, 2])).numpy() == 2.0


@pytest.mark.parametrize(
    "run", [lambda f, *xs: f(*xs), lambda f, *xs: tf.function(f)(*xs)], ids=["eager", "traced"]
)
def test_sparse_inputs_have_a_shape_and_are_cast_like_dense_ones(run):
    class Neighbours(layers.Layer):
        def build(self, shapes):
            self.seen = shapes
            super().build(shapes)

        def call(self, inputs):
            x, edges = inputs
            assert (x.dtype, edges.dtype) == (tf.float32, tf.float32)
            return tf.sparse.sparse_dense_matmul(edges, x)

    layer = Neighbours()
    edges = tf.sparse.from_dense(np.array([[0.0, 2.0], [1.0, 0.0]]))
    y = run(lambda a, b: layer([a, b]), tf.constant([[1.0], [3.0]], tf.float64), edges)
    np.testing.assert_array_equal(y, [[6.0], [1.0]])
    assert layer.seen == [(2, 1), (2, 2)]
    alone = layers.Identity()
    assert alone(edges).dtype is tf.float32
    assert alone(tf.sparse.from_dense([[1, 0]])).dtype is tf.int32
