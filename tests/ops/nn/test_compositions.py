"""Functions of `nn` that are made of other ops: against loops over everything, and what they refuse."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.ops import nn
from graphad.ops.nn.blocks import batch_to_space, space_to_batch
from graphad.ops.nn.ctc import ctc_loss
from graphad.ops.nn.morphology import dilation2d, erosion2d
from graphad.ops.nn.statistics import sufficient_statistics
from tests.support.op_case import OpCase, agreements, real

LABELS, LABEL_LENGTH, FRAMES = (
    np.array([[1, 1], [2, 0]], np.int32),
    np.array([2, 1], np.int32),
    np.array([4, 3], np.int32),
)


def spoken(logits: Any) -> Any:
    return ctc_loss(LABELS, logits, LABEL_LENGTH, FRAMES)


def _collapsed(path: Any) -> list[int]:
    """The labels that a class for each frame says; 0 says nothing."""
    return [k for k, _ in itertools.groupby(path) if k]


def _spoken(logits: Any) -> Any:
    """The sum over every choice of a class for each frame."""
    found = []
    for row, (labels, length, frames) in enumerate(zip(LABELS, LABEL_LENGTH, FRAMES, strict=True)):
        shares = np.exp(logits[:frames, row]) / np.exp(logits[:frames, row]).sum(1, keepdims=True)
        paths = itertools.product(range(logits.shape[2]), repeat=int(frames))
        found.append(sum(
            np.prod([shares[t, k] for t, k in enumerate(path)])
            for path in paths if _collapsed(path) == list(labels[:length])
        ))  # fmt: skip
    return -np.log(found)


def dilated(x: Any, kernel: Any) -> Any:
    return dilation2d(x, kernel, 2, "SAME", "NHWC", 1)


def _dilated(x: Any, kernel: Any) -> Any:
    y = np.pad(x, [(0, 0), (0, 1), (0, 1), (0, 0)], constant_values=-np.inf)
    return np.stack(
        [
            [[(y[b, i : i + 2, j : j + 2] + kernel).max((0, 1)) for j in (0, 2)] for i in (0, 2)]
            for b in range(len(x))
        ]
    )


def eroded(x: Any, kernel: Any) -> Any:
    return erosion2d(x, kernel, 1, "VALID", "NHWC", 1)


def _eroded(x: Any, kernel: Any) -> Any:
    turned = kernel[::-1, ::-1]
    return np.stack(
        [
            [[(x[b, i : i + 2, j : j + 2] - turned).min((0, 1)) for j in range(2)] for i in range(2)]
            for b in range(len(x))
        ]
    )


def there(x: Any) -> Any:
    return space_to_batch(x, [2, 3], [[1, 0], [0, 1]])


def back(x: Any) -> Any:
    return batch_to_space(x, [2, 3], [[1, 0], [0, 1]])


def _there(x: Any) -> Any:
    y = np.pad(x, [(0, 0), (1, 0), (0, 1), (0, 0)])
    return np.concatenate([y[:, i::2, j::3] for i in range(2) for j in range(3)])


def _back(x: Any) -> Any:
    y = np.zeros((len(x) // 6, x.shape[1] * 2, x.shape[2] * 3, x.shape[3]))
    for k, part in enumerate(np.split(x, 6)):
        y[:, k // 3 :: 2, k % 3 :: 3] = part
    return y[:, 1:, :-1]


def sums(x: Any) -> Any:
    return list(sufficient_statistics(x, [0]))[:3]


SIZES = ("sizes",)
CASES = [
    OpCase(spoken, real(4, 2, 3), unknown=SIZES, expected=_spoken, float32=False),
    OpCase(dilated, real(1, 3, 3, 2), real(2, 2, 2), unknown=(), expected=_dilated, tolerance=1e-4),
    OpCase(eroded, real(2, 3, 3, 1), real(2, 2, 1), unknown=(), expected=_eroded, tolerance=1e-4),
    OpCase(there, real(2, 3, 5, 1), unknown=SIZES, expected=_there),
    OpCase(back, real(6, 2, 2, 2), unknown=SIZES, expected=_back),
    OpCase(sums, real(3, 2), unknown=SIZES, expected=lambda x: [np.float64(3), x.sum(0), (x**2).sum(0)]),
    OpCase(nn.approx_max_k, real(5, 2), k=2, reduction_dimension=0, unknown=SIZES,
           expected=lambda x: [-np.sort(-x, 0)[:2], np.argsort(-x, 0)[:2].astype(np.int32)]),
    OpCase(nn.approx_min_k, real(2, 5), k=3, unknown=SIZES,
           expected=lambda x: [np.sort(x, 1)[:, :3], np.argsort(x, 1)[:, :3].astype(np.int32)]),
]  # fmt: skip


@pytest.mark.parametrize("check", agreements(CASES))
def test_rules_agree(check: Callable[[], None]) -> None:
    check()


def test_too_few_frames_cost_without_end_and_have_no_derivative():
    logits = tf.constant(np.random.default_rng(0).random((2, 2, 3)).astype(np.float32))
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.nn.ctc_loss([[1, 1], [2, 0]], logits, [2, 1], [2, 2])
        total = tf.reduce_sum(loss)
    assert np.isinf(loss[0]) and np.isfinite(loss[1])
    gradient = tape.gradient(total, logits).numpy()
    assert np.all(gradient[:, 0] == 0) and np.all(np.isfinite(gradient)) and np.any(gradient[:, 1])


def test_losses_of_frames_of_unknown_number_and_of_narrow_numbers():
    logits = np.random.default_rng(0).random((5, 2, 4)).astype(np.float32)
    spec = [tf.TensorSpec([None, None, 4]), tf.TensorSpec([None, None], tf.int32)]
    traced = tf.function(lambda x, y: tf.nn.ctc_loss(y, x, [2, 1], [5, 4]), input_signature=spec)
    want = tf.nn.ctc_loss([[1, 3], [2, 0]], logits, [2, 1], [5, 4])
    np.testing.assert_allclose(traced(logits, [[1, 3], [2, 0]]), want, rtol=1e-6)
    narrow = tf.nn.ctc_loss([[1, 3], [2, 0]], logits.astype(np.float16), [2, 1], [5, 4])
    assert narrow.dtype is tf.float16
    np.testing.assert_allclose(narrow, want, rtol=2e-3)


def test_dropouts_by_a_seed_or_a_function():
    x = tf.ones([200, 3])
    first = tf.nn.experimental.stateless_dropout(x, 0.25, [1, 2]).numpy()
    np.testing.assert_array_equal(first, tf.nn.experimental.stateless_dropout(x, 0.25, [1, 2]))
    assert set(first.ravel()) == {np.float32(0), np.float32(1 / 0.75)} and 0.15 < (first == 0).mean() < 0.35
    rows = tf.nn.experimental.stateless_dropout(x, 0.5, [1, 2], noise_shape=[None, 1]).numpy()
    assert np.all(rows == rows[:, :1])
    found = tf.nn.experimental.general_dropout(
        x, 0.5, lambda shape, dtype: tf.fill(shape, tf.constant(0.7, dtype))
    )
    np.testing.assert_array_equal(found, 2 * np.ones((200, 3)))
    with pytest.raises(ValueError, match=r"stateless_dropout: rate 1.5 is out of range"):
        tf.nn.experimental.stateless_dropout(x, 1.5, [1, 2])


IDS = tf.SparseTensor([[0, 0], [1, 1]], [1, 0], [2, 2])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.nn.ctc_loss([[1]], tf.ones([2, 3]), [1], [2]), r"logits have shape \(2, 3\); \[frames, batch, classes\]"),
        (lambda: tf.nn.ctc_loss([[1]], tf.ones([2, 1, 3]), [1], [2], blank_index=3), "blank_index is 3; there are 3 classes"),
        (lambda: tf.nn.ctc_loss([[1]], tf.ones([2, 1, 3]), None, [2]), "label_length is None"),
        (lambda: tf.nn.ctc_loss(IDS, tf.ones([2, 1, 3]), None, [2]), "blank_index must be given for labels that are sparse"),
        (lambda: tf.space_to_batch(tf.ones([1, 5]), [2], [[0, 0]]), "axis 1 has size 5 with its padding; .* the block's 2"),
        (lambda: tf.batch_to_space(tf.ones([3, 5]), [2], [[0, 0]]), "the batch has size 3; .* multiple of the block's 2"),
        (lambda: tf.batch_to_space(tf.ones([2, 1]), [2], [[2, 1]]), "axis 1 has 2 elements; 2 and 1 cannot be cropped"),
        (lambda: tf.space_to_batch(tf.ones([1, 4]), [2], [[0, -1]]), "1 pairs of numbers, 0 or more, are needed"),
        (lambda: tf.nn.dilation2d(tf.ones([1, 4, 4, 1]), tf.ones([2, 2]), 1, "SAME", "NHWC", 1), r"filters have shape \(2, 2\)"),
        (lambda: tf.nn.dilation2d(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1]), 1, "SAME", "NCHW", 1), "'NCHW' is not 'NHWC'"),
        (lambda: tf.nn.embedding_lookup_sparse(tf.ones([3, 2]), IDS, None, combiner="max"), "combiner 'max' is not one of"),
        (lambda: tf.nn.embedding_lookup_sparse(tf.ones([3, 2]), [1, 2], None), "a SparseTensor is needed"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(call, words):
    with pytest.raises((ValueError, TypeError, AttributeError), match=words):
        call()


def test_frames_behind_the_last_one_are_no_part_of_a_ctc_loss():
    logits = np.random.default_rng(0).standard_normal((7, 2, 4)).astype(np.float32)
    padded = logits.copy()
    padded[5:] = np.nan
    padded[3:, 1] = np.inf

    def loss_and_gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.nn.ctc_loss([[1, 2], [3, 0]], x, [2, 1], [5, 3], blank_index=0)
        return loss, tape.gradient(loss, x)

    loss, gradient = loss_and_gradient(tf.constant(logits))
    assert np.isfinite(loss).all() and not gradient[5:].numpy().any() and not gradient[3:, 1].numpy().any()
    for f in (loss_and_gradient, tf.function(loss_and_gradient)):
        again, same = f(tf.constant(padded))
        np.testing.assert_allclose(again, loss, rtol=1e-6)
        np.testing.assert_allclose(same, gradient, rtol=1e-5, atol=1e-7)


def test_a_list_of_tensors_is_the_parts_of_one_table_of_embeddings():
    table = tf.constant(np.random.default_rng(1).standard_normal((5, 2)))
    parts = [tf.Variable(table[:3]), table[3:]]
    ids = [[4, 0], [2, 3]]
    sparse = tf.sparse.from_dense([[1, 2], [4, 0]])
    for max_norm in (None, 0.5):
        for given in (parts, [table]):
            np.testing.assert_array_equal(
                tf.nn.embedding_lookup(given, ids, max_norm=max_norm),
                tf.nn.embedding_lookup(table, ids, max_norm=max_norm),
            )
            for look_up in (tf.nn.embedding_lookup_sparse, tf.nn.safe_embedding_lookup_sparse):
                np.testing.assert_array_equal(
                    look_up(given, sparse, None, max_norm=max_norm),
                    look_up(table, sparse, None, max_norm=max_norm),
                )
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.nn.embedding_lookup(parts, [4, 0, 0]))
    np.testing.assert_array_equal(tf.convert_to_tensor(tape.gradient(y, parts[0])), [[2, 2], [0, 0], [0, 0]])


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize(
    ("logits", "labels", "axis"),
    [
        ([3, 1], [3, 4], -1),
        ([3, 4], [3, 1], -1),
        ([1, 4], [3, 4], -1),
        ([1, 4], [3, 4], 0),
        ([1], [3, 4], -1),
    ],
)
def test_logits_and_labels_are_repeated_to_one_shape_before_the_softmax(run, logits, labels, axis):
    """One logit for all classes used to be a class of its own, and the loss 0."""
    rng = np.random.default_rng(3)
    x, p = rng.standard_normal(logits), rng.random(labels)
    wide = np.broadcast_to(x, np.broadcast_shapes(x.shape, p.shape))
    logs = wide - np.log(np.exp(wide).sum(axis, keepdims=True))
    loss = run(lambda p, x: tf.nn.softmax_cross_entropy_with_logits(p, x, axis))
    np.testing.assert_allclose(loss(tf.constant(p), tf.constant(x)).numpy(), -(p * logs).sum(axis))
    unknown = tf.function(
        lambda p, x: tf.nn.softmax_cross_entropy_with_logits(p, x, axis),
        input_signature=[
            tf.TensorSpec([None] * p.ndim, tf.float64),
            tf.TensorSpec([None] * x.ndim, tf.float64),
        ],
    )
    np.testing.assert_allclose(unknown(p, x).numpy(), -(p * logs).sum(axis))


def test_moments_by_weights_that_sum_to_0_and_a_mean_over_no_examples_are_0() -> None:
    x = tf.constant([[[1.0, np.inf], [3.0, 4.0]]])
    for found in tf.nn.weighted_moments(x, [0, 1], tf.zeros([1, 2, 1])):
        np.testing.assert_array_equal(found, [0.0, 0.0])
    mean, _ = tf.nn.weighted_moments(x, [0, 1], [[[1.0], [0.0]]])
    assert mean[0] == 1.0
    assert tf.nn.compute_average_loss([1.0, 2.0], global_batch_size=0) == 0.0
    assert tf.nn.compute_average_loss(tf.zeros([0])) == 0.0


def test_a_largest_element_has_a_place_of_int64_where_no_dtype_is_asked_for() -> None:
    assert tf.argmax([1.0, 2.0], 0, None).dtype == tf.argmin([1.0, 2.0], 0, None).dtype == tf.int64


@pytest.mark.parametrize(
    ("size", "error", "message"),
    [
        (2.0, TypeError, "compute_average_loss: global_batch_size has dtype float32"),
        ([1, 2], ValueError, r"compute_average_loss: global_batch_size has shape \(2,\); a scalar is needed"),
        (-2, ValueError, "compute_average_loss: global_batch_size is -2"),
    ],
)
@pytest.mark.parametrize("run", [lambda f: f, tf.function])
def test_the_number_of_examples_is_an_integer_that_is_not_negative(run, size, error, message) -> None:
    with pytest.raises(error, match=message):
        run(lambda x: tf.nn.compute_average_loss(x, global_batch_size=tf.constant(size)))(tf.ones([3]))


@pytest.mark.parametrize("strides", [3, [1, 1, 1, 3]])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_a_window_over_channels_takes_the_largest_of_neighbours(strides, padding):
    x = np.random.default_rng(0).normal(size=(2, 3, 2, 6))
    x[0, 0, 0] = [1, 2, 2, 5, 5, 5]  # the first of equal ones counts

    def pooled(x):
        return tf.nn.max_pool(x, [1, 1, 1, 3], strides, padding)

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(pooled(x) ** 2)
        return tape.gradient(y, x)

    want = x.reshape(2, 3, 2, 2, 3).max(-1)
    at = x.reshape(2, 3, 2, 2, 3).argmax(-1)[..., None]
    inner = np.zeros((2, 3, 2, 2, 3))
    np.put_along_axis(inner, at, 2 * want[..., None], -1)
    unknown = [tf.TensorSpec(None, tf.float64)]
    some = [tf.TensorSpec([None, None, None, 6], tf.float64)]
    for run in (lambda f: f, *[lambda f, s=s: tf.function(f, input_signature=s) for s in (unknown, some)]):
        assert np.array_equal(run(pooled)(tf.constant(x)).numpy(), want)
        assert np.array_equal(run(slope)(tf.constant(x)).numpy(), inner.reshape(x.shape))
    traced = tf.function(pooled, input_signature=some).get_concrete_function()
    assert traced.structured_outputs.shape.as_list() == [None, None, None, 2]


def test_a_window_over_channels_fits():
    x = tf.ones([1, 2, 2, 6])
    for ksize, strides in (
        ([1, 1, 1, 4], [1, 1, 1, 4]),
        ([1, 2, 1, 3], [1, 1, 1, 3]),
        ([1, 1, 1, 3], [1, 1, 1, 2]),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"^max_pool2d: "):
            tf.nn.max_pool2d(x, ksize, strides, "VALID")


def test_a_window_over_channels_fits_in_what_a_call_knows():
    def pooled(x):
        return tf.nn.max_pool2d(x, [1, 1, 1, 2], [1, 1, 1, 2], "VALID")

    unknown = tf.function(pooled, input_signature=[tf.TensorSpec(None)])
    for shape in ([1, 4, 4, 3], [4, 4, 2], [1, 2, 3, 4, 1]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            unknown(tf.ones(shape))
    some = tf.function(pooled, input_signature=[tf.TensorSpec([None] * 4)])
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match="input has 3 channels"):
            some(tf.ones([1, 4, 4, 3]))
        assert some(tf.ones([1, 4, 4, 4])).shape == (1, 4, 4, 2)
