"""What is known of a result's shape while tracing, where sizes or paddings are known in part; values agree with eager ones."""

import numpy as np
import pytest

import graphad as tf
from graphad import TensorSpec, float32, int32

X = np.arange(16, dtype=np.float32).reshape(4, 4)


def traced(function, *specs):
    """The function traced for (shape, dtype) pairs."""
    made = tf.function(function, input_signature=[TensorSpec(*spec) for spec in specs])
    return made, made.get_concrete_function().structured_outputs.shape.as_list()


@pytest.mark.parametrize(
    ("paddings", "known", "of"),
    [
        (lambda u: [[u, 0], [1, 2]], [None, 7], []),
        (lambda u: [[1, 2], [0, u]], [7, None], []),
        (lambda u: [[tf.constant(1), 2], [0, u]], [7, None], []),
        (lambda u: [[1, 2], u], [7, None], [2]),
        (lambda u: [tf.ones([2], int32), u], [6, None], [2]),
        (lambda u: u, [None, None], [2, 2]),
    ],
)
def test_rows_of_paddings_that_are_known_give_sizes(paddings, known, of):
    def padded(x, u):
        return tf.pad(x, paddings(u), constant_values=3)

    made, dims = traced(padded, ([4, 4], float32), (of, int32))
    assert dims == known
    for u in (np.full(of, 2, np.int32), np.full(of, 0, np.int32)):
        assert np.array_equal(made(X, u).numpy(), padded(tf.constant(X), tf.constant(u)).numpy())
    with pytest.raises(tf.errors.InvalidArgumentError):
        made(X, np.full(of, -1, np.int32))


def test_padding_with_rows_known_in_part_has_derivatives():
    def loss(x, u):
        return tf.reduce_sum(tf.pad(x, [[u, 0], [1, 2]]) ** 3)

    made, _ = traced(lambda x, u: tf.gradients(loss(x, u), x)[0], ([4, 4], float32), ([], int32))
    for u in (0, 2):
        assert np.allclose(made(X, u).numpy(), 3 * X**2)


def test_a_size_asked_for_at_run_time_keeps_the_size_that_is_there():
    made, dims = traced(lambda x, s: tf.broadcast_to(x, s), ([None, 5, 1], float32), ([4], int32))
    assert dims == [None, None, 5, None]
    x = np.arange(5, dtype=np.float32).reshape(1, 5, 1)
    for size in ([2, 3, 5, 7], [1, 1, 5, 1]):
        assert np.array_equal(made(x, size).numpy(), np.broadcast_to(x, size))
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError):
            made(x, [2, 3, 4, 7])


def chosen(x):
    return tf.boolean_mask(x, x > 0)


@pytest.mark.parametrize(
    "spread",
    [
        lambda x, n: tf.broadcast_to(x, [n]),
        lambda x, n: tf.broadcast_to(chosen(x), [n]),
        lambda x, n: tf.broadcast_to(chosen(x)[:, None], [n, 3]),
        lambda x, n: tf.broadcast_to(tf.broadcast_to(x, [n]), [3, 2]),
    ],
)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_a_size_that_a_call_asks_for_is_compared_with_that_of_the_operand(spread, jit_compile):
    """One element becomes as many as are asked for, and two only become two."""
    specs = [TensorSpec([None], float32), TensorSpec([], int32)]
    made = tf.function(spread, input_signature=specs, jit_compile=jit_compile)
    for have, want in ((2, 2), (1, 2), (1, 1), (2, 5), (1, 5), (2, 2)):
        x, n = tf.constant(X[0, 1 : 1 + have]), tf.constant(want)
        try:
            found = spread(x, n).numpy()
        except tf.errors.InvalidArgumentError:
            with pytest.raises(tf.errors.InvalidArgumentError):
                made(x, n)
        else:
            assert np.array_equal(made(x, n).numpy(), found)


def test_a_lookup_along_batches_knows_the_batch_of_either():
    def looked_up(x, at):
        return tf.gather(x, at, batch_dims=1)

    made, dims = traced(looked_up, ([None, 4], float32), ([3, 2], int32))
    assert dims == [3, 2]
    at = np.array([[0, 1], [3, 2], [1, 1]], np.int32)
    assert np.array_equal(made(X[:3], at).numpy(), np.take_along_axis(X[:3], at, 1))
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError):
            made(X, at)


def test_the_number_of_frequencies_is_known_from_fft_length():
    made, dims = traced(lambda x: tf.signal.rfft(x, [6]), ([None, None], float32))
    assert dims == [None, 4]
    for x in (X, X[:, :2], np.tile(X, 2)):
        assert np.allclose(made(x).numpy(), np.fft.rfft(x, 6), atol=1e-4)


@pytest.mark.parametrize("pad_end", [False, True])
def test_frames_of_a_batch_of_unknown_size(pad_end):
    def frames(x):
        return tf.signal.frame(x, 4, 2, pad_end=pad_end)

    made, dims = traced(frames, ([None, 9], float32))
    assert dims == [None, 5 if pad_end else 3, 4]
    x = np.arange(18, dtype=np.float32).reshape(2, 9)
    assert np.array_equal(made(x).numpy(), frames(x).numpy())
    assert np.array_equal(made(x).numpy()[:, 1], x[:, 2:6])


@pytest.mark.parametrize("back", [False, True])
def test_blocks_of_images_of_unknown_rank(back):
    image = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
    move = tf.nn.depth_to_space if back else tf.nn.space_to_depth
    made, dims = traced(lambda x: move(x, 2), (None, float32))
    assert dims == [None] * 4
    assert np.array_equal(made(image).numpy(), move(image, 2).numpy())
    with pytest.raises(tf.errors.InvalidArgumentError):
        made(image[0])


@pytest.mark.parametrize(
    "cut",
    [
        lambda x: tf.image.crop_to_bounding_box(x, 1, 0, 3, 4),
        lambda x: tf.image.pad_to_bounding_box(x, 1, 0, 9, 8),
        lambda x: tf.image.resize_with_crop_or_pad(x, 4, 9),
    ],
)
def test_images_have_the_size_that_is_asked_for(cut):
    image = np.arange(2 * 5 * 6, dtype=np.float32).reshape(2, 5, 6, 1)
    want = cut(image).numpy()
    for shape in ([None, None, None, 1], [2, 5, None, 1], [None, None, 1]):
        made, dims = traced(cut, (shape, float32))
        assert dims[-3:-1] == list(want.shape[1:3])
        assert np.array_equal(
            made(image if len(shape) == 4 else image[0]).numpy(), want if len(shape) == 4 else want[0]
        )


def test_a_crop_beyond_the_image_is_refused_at_run_time():
    made, _ = traced(lambda x: tf.image.crop_to_bounding_box(x, 4, 0, 3, 4), ([None, None, 1], float32))
    for _ in range(3):
        with pytest.raises(tf.errors.InvalidArgumentError):
            made(np.ones((5, 6, 1), np.float32))


def test_a_crop_of_a_size_and_place_that_a_call_gives_lies_inside():
    specs = ([None, None, 1], float32), ([], int32), ([], int32)
    made, dims = traced(lambda x, at, size: tf.image.crop_to_bounding_box(x, at, 0, size, 2), *specs)
    assert dims == [None, 2, 1]
    image = np.arange(15, dtype=np.float32).reshape(5, 3, 1)
    for _ in range(2):
        for at, size in ((0, 5), (4, 1), (1, 2)):
            assert np.array_equal(made(image, at, size), image[at : at + size, :2])
        for at, size in ((0, 6), (4, 2), (1, 0), (-2, 1), (2, -1)):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"on is not within the height of image"):
                made(image, at, size)


def test_one_size_of_square_matrices_gives_the_other():
    a = np.array([[[4.0, 1, 0], [1, 3, 1], [0, 1, 2]]], np.float32)
    for function, oracle in ((tf.linalg.inv, np.linalg.inv), (tf.linalg.cholesky, np.linalg.cholesky)):
        made, dims = traced(function, ([None, None, 3], float32))
        assert dims == [None, 3, 3]
        assert np.allclose(made(a).numpy(), oracle(a), atol=1e-5)


def test_losses_of_labels_have_their_shape():
    def loss(labels, logits):
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)

    made, dims = traced(loss, ([4], int32), ([None, 4], float32))
    assert dims == [4]
    labels = np.array([0, 3, 1, 2], np.int32)
    want = np.log(np.exp(X).sum(-1)) - X[np.arange(4), labels]
    assert np.allclose(made(labels, X).numpy(), want, rtol=1e-5)
    assert traced(loss, ([2, 4], int32), (None, float32))[1] == [2, 4]


def test_losses_of_labels_are_weighted_and_chosen_among():
    """Their sizes are those of other tensors, with which they are combined and to which gradients are summed."""

    def slope(labels, logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            loss = tf.reduce_sum(tf.where(labels > 0, losses * tf.ones([2, 1]), 0.0))
        return tape.gradient(loss, logits)

    labels = tf.constant([0, 3, 1, 2])
    for shape in ([4, 4], [None, 4], [None, None]):
        made, _ = traced(slope, ([4], int32), (shape, float32))
        assert np.allclose(made(labels, X), slope(labels, tf.constant(X)), rtol=1e-5)
