"""nn ops where they meet their limits: kinks, infinities, labels out of range, padding, empty images, randomness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.ops import nn
from tests.support.op_case import integer, real

INF, NAN = np.inf, np.nan


def _gradient(function: Callable[[Any], Any], x: Any) -> Any:
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x).numpy()


@pytest.mark.parametrize(
    ("function", "at", "want"),
    [
        (nn.relu, 0.0, 0.0),
        (nn.relu6, 0.0, 0.0),
        (nn.relu6, 6.0, 0.0),
        (nn.elu, 0.0, 1.0),
        (nn.selu, 0.0, 1.0507009873554805),
        (nn.leaky_relu, 0.0, 0.2),
        (lambda x: nn.sigmoid_cross_entropy_with_logits(tf.constant(0.25, tf.float64), x), 0.0, 0.25),
    ],
)
def test_gradients_at_kinks(function: Callable[[Any], Any], at: float, want: float) -> None:
    np.testing.assert_allclose(_gradient(function, np.float64(at)), want, rtol=1e-12)


def test_second_derivative_of_sigmoid_cross_entropy_at_zero() -> None:
    found = _gradient(_inner, np.float64(0.0))
    np.testing.assert_allclose(found, 0.25)


def _inner(x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = nn.sigmoid_cross_entropy_with_logits(tf.constant(1.0, tf.float64), x)
    return tape.gradient(y, x)


@pytest.mark.parametrize("jit", [None, False, True], ids=["eager", "numpy", "compiled"])
@pytest.mark.parametrize(
    "function",
    [
        nn.relu,
        nn.relu6,
        nn.crelu,
        nn.leaky_relu,
        lambda x: nn.leaky_relu(x, alpha=np.float32(0.1)),
        lambda x: nn.max_pool1d(tf.reshape(x, [1, 6, 1]), 2, 2, "VALID"),
        lambda x: nn.max_pool2d(tf.reshape(x, [1, 2, 3, 1]), 2, 1, "SAME"),
        lambda x: nn.max_pool3d(tf.reshape(x, [1, 2, 3, 1, 1]), 2, 1, "SAME"),
    ],
    ids="relu relu6 crelu leaky_relu alpha pool1d pool2d pool3d".split(),
)
def test_the_second_derivative_of_what_is_flat_is_zeros(
    function: Callable[[Any], Any], jit: bool | None
) -> None:
    def derivatives(x: Any) -> Any:
        first = _gradient_of(function, x)
        return first, _gradient_of(lambda x: _gradient_of(function, x), x)

    run = derivatives if jit is None else tf.function(derivatives, jit_compile=jit)
    first, second = run(tf.constant([-7.0, -1.0, 0.5, 3.0, 2.0, 8.0]))
    assert np.any(first.numpy())
    np.testing.assert_array_equal(second.numpy(), np.zeros(6, np.float32))


def _gradient_of(function: Callable[[Any], Any], x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x)


def test_the_slope_of_leaky_relu_may_be_a_tensor() -> None:
    alpha = tf.constant(0.1)
    with tf.GradientTape() as tape:
        tape.watch(alpha)
        y = nn.leaky_relu(tf.constant([-3.0, 2.0]), alpha)
    np.testing.assert_allclose(tape.gradient(y, alpha), -3.0)


def test_leaky_relu_of_integers_is_float() -> None:
    y = nn.leaky_relu(tf.constant([-5, 5]))
    assert y.dtype == tf.float32
    np.testing.assert_allclose(y.numpy(), [-1.0, 5.0])


# -- softmax and cross-entropies ---------------------------------------------------------------------------------------


def test_softmax_of_infinities() -> None:
    np.testing.assert_array_equal(nn.softmax([0.0, -INF, 0.0]).numpy(), [0.5, 0.0, 0.5])
    assert np.isnan(nn.softmax([INF, 0.0]).numpy()).all()
    assert np.isnan(nn.softmax([-INF, -INF]).numpy()).all()
    np.testing.assert_array_equal(nn.log_softmax([1000.0, 0.0]).numpy(), [0.0, -1000.0])
    np.testing.assert_array_equal(nn.log_softmax([0.0, -INF]).numpy(), [0.0, -INF])


@pytest.mark.parametrize("jit", [False, True])
def test_softmax_of_large_numbers_stays_exact_when_compiled(jit: bool) -> None:
    x = np.float32([[1e4, 1e4 + 1, 1e4 - 3]])
    y = tf.function(nn.log_softmax, jit_compile=jit)(x)
    want = x.astype(np.float64) - 1e4
    want = want - np.log(np.exp(want).sum())
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-6)


def test_softmax_needs_an_axis() -> None:
    with pytest.raises(ValueError, match=r"softmax: "):
        nn.softmax(tf.constant(1.0))
    with pytest.raises(ValueError, match="axis 2 is out of range"):
        nn.softmax(tf.ones([2, 3]), axis=2)
    with pytest.raises(TypeError, match="a float dtype"):
        nn.softmax(tf.constant([1, 2]))


def test_label_out_of_range_is_an_error_at_once_and_nan_in_a_function() -> None:
    logits = tf.constant(real(3, 4))
    with pytest.raises(ValueError, match=r"label value of 4 which is outside the valid range of \[0, 4\)"):
        nn.sparse_softmax_cross_entropy_with_logits([0, 4, 1], logits)
    with pytest.raises(ValueError, match="label value of -1"):
        nn.sparse_softmax_cross_entropy_with_logits([0, -1, 1], logits)
    for jit in (False, True):
        f = tf.function(nn.sparse_softmax_cross_entropy_with_logits, jit_compile=jit)
        found = f(tf.constant([0, 4, -1]), logits).numpy()
        assert np.isfinite(found[0]) and np.isnan(found[1:]).all()


def test_small_label_dtypes_reach_all_classes() -> None:
    logits = tf.constant(real(2, 300))
    wide = nn.sparse_softmax_cross_entropy_with_logits(np.array([3, 120], np.int64), logits)
    for dtype in (np.int8, np.uint8, np.uint16):
        narrow = nn.sparse_softmax_cross_entropy_with_logits(np.array([3, 120], dtype), logits)
        np.testing.assert_array_equal(narrow.numpy(), wide.numpy())


def test_labels_must_fit_the_logits() -> None:
    with pytest.raises(ValueError, match=r"labels.shape must equal logits.shape\[:-1\]"):
        nn.sparse_softmax_cross_entropy_with_logits([1, 2], tf.ones([3, 4]))
    with pytest.raises(TypeError, match="an integer dtype"):
        nn.sparse_softmax_cross_entropy_with_logits([1.0], tf.ones([1, 4]))


def test_sigmoid_cross_entropy_of_large_logits() -> None:
    found = nn.sigmoid_cross_entropy_with_logits(
        labels=[0.0, 1.0, 0.0, 1.0], logits=[-300.0, -300.0, 300.0, 300.0]
    )
    np.testing.assert_array_equal(found.numpy(), [0.0, 300.0, 300.0, 0.0])


# -- normalisation and dropout -----------------------------------------------------------------------------------------


def test_moments_of_half_precision_do_not_overflow() -> None:
    mean, variance = nn.moments(tf.fill([1000], tf.constant(200.0, tf.float16)), [0])
    assert mean.dtype == variance.dtype == tf.float16
    assert float(mean) == 200.0 and float(variance) == 0.0


def test_gradient_of_normalised_values_sums_to_zero() -> None:
    weights = real(6, 2, seed=3)

    def loss(x: Any) -> Any:
        mean, variance = nn.moments(x, [0])
        return tf.reduce_sum(nn.batch_normalization(x, mean, variance, None, 2.0, 1e-3) * weights)

    np.testing.assert_allclose(_gradient(loss, real(6, 2)).sum(0), 0.0, atol=1e-12)


def test_bias_add_checks_sizes() -> None:
    with pytest.raises(ValueError, match="bias has 1 elements, axis 1 of value"):
        nn.bias_add(tf.ones([2, 3]), [1.0])
    with pytest.raises(ValueError, match="a vector is needed"):
        nn.bias_add(tf.ones([2, 3]), [[1.0]])
    np.testing.assert_array_equal(
        nn.bias_add(tf.zeros([1, 2, 2]), [1.0, 2.0], "NCW").numpy(), [[[1, 1], [2, 2]]]
    )


def test_dropout_keeps_the_mean_and_the_part() -> None:
    tf.random.set_seed(0)
    y = nn.dropout(tf.ones([200, 200]), 0.25).numpy()
    assert set(np.unique(y)) == {np.float32(0.0), np.float32(1 / 0.75)}
    assert abs((y == 0).mean() - 0.25) < 0.01
    assert abs(y.mean() - 1) < 0.02


def test_dropout_draws_anew_in_each_call_of_a_function() -> None:
    f = tf.function(lambda x: nn.dropout(x, 0.5))
    x = tf.ones([64])
    draws = {f(x).numpy().tobytes() for _ in range(4)}
    assert len(draws) == 4


def test_dropout_of_whole_columns_and_its_gradient() -> None:
    x = tf.constant(np.ones((5, 40)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = nn.dropout(x, tf.constant(0.5), noise_shape=[1, None])
    g = tape.gradient(y, x).numpy()
    np.testing.assert_array_equal(y.numpy(), g)
    assert (g == g[:1]).all() and set(np.unique(g)) == {0.0, 2.0}


def test_dropout_says_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"rate 1.0 is out of range; 0 <= rate < 1"):
        nn.dropout(tf.ones([2]), 1.0)
    with pytest.raises(TypeError, match="a float dtype is needed"):
        nn.dropout(tf.constant([1, 2]), 0.5)
    x = tf.ones([2])
    assert nn.dropout(x, 0) is x


# -- images ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"padding": "FULL"}, "padding 'FULL' is neither 'SAME' nor 'VALID'"),
        ({"padding": [[1, 0], [1, 1], [1, 1], [0, 0]]}, "is not allowed; give 'SAME', 'VALID', or"),
        ({"strides": [2, 1, 1, 1]}, "is not 1 for batch and channels"),
        ({"strides": 0}, "must be 2 positive numbers, one for all, or 4 with 1 for batch and channels"),
        ({"data_format": "NWC"}, "data_format 'NWC' is neither 'NHWC' nor 'NCHW'"),
        ({"data_format": "NCHW", "strides": [1, 2, 2, 1]}, "is not 1 for batch and channels"),
        (
            {"data_format": "NCHW", "padding": [[0, 0], [1, 1], [1, 1], [0, 0]]},
            r"give 'SAME', 'VALID', or \[\[0, 0\], \[0, 0\], \[top, bottom\], \[left, right\]\]",
        ),
        (
            {"data_format": "NCHW"},
            "the input has 4 channels and the filters .* take 2: they are 2 groups, .* the 1 outputs",
        ),
        (
            {"filters": np.ones((2, 2, 0, 1), np.float32)},
            "take 0; the numbers must be equal, or the first a multiple",
        ),
        (
            {"filters": np.ones((2, 2, 3, 1), np.float32)},
            "the input has 2 channels, the filters with shape .* take 3",
        ),
        (
            {"filters": np.ones((6, 2, 2, 1), np.float32)},
            "the window covers 6 elements, the input has only 4",
        ),
        ({"dilations": 5}, "the window covers 6 elements, the input has only 4"),
        ({"filters": np.ones((2, 2, 2), np.float32)}, "filters have shape"),
        ({"input": np.ones((4, 4, 2), np.float32)}, "is needed"),
    ],
)
def test_convolution_says_what_is_wrong(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "input": np.ones((1, 4, 4, 2), np.float32),
        "filters": np.ones((2, 2, 2, 1), np.float32),
        "strides": 1,
        "padding": "VALID",
    }
    with pytest.raises(ValueError, match=message):
        nn.conv2d(**{**given, **options})


def test_output_shape_of_a_transposed_convolution_must_fit() -> None:
    with pytest.raises(ValueError, match=r"it must have shape \(1, 3, 3, 1\)"):
        nn.conv2d_transpose(tf.ones([1, 2, 2, 1]), tf.ones([2, 2, 1, 1]), [1, 5, 5, 1], 2)


def test_convolution_in_half_precision_and_with_strings_in_small_letters() -> None:
    y = nn.conv2d(tf.ones([1, 2, 2, 1], tf.float16), tf.ones([1, 1, 1, 1], tf.float16), 1, "same")
    assert y.dtype == tf.float16


def test_convolution_of_unknown_sizes_in_a_function() -> None:
    kernel = tf.constant(real(2, 2, 2, 1))

    @tf.function(input_signature=[tf.TensorSpec([None, None, None, 2], tf.float64)])
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = nn.max_pool2d(nn.conv2d(x, kernel, 2, "SAME"), 2, 1, "VALID")
        return y, tape.gradient(y, x)

    for shape in ((1, 4, 5, 2), (2, 7, 4, 2), (1, 4, 6, 2)):
        x = tf.constant(real(*shape))
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = nn.max_pool2d(nn.conv2d(x, kernel, 2, "SAME"), 2, 1, "VALID")
        found = f(x)
        np.testing.assert_allclose(found[0].numpy(), y.numpy(), rtol=1e-12)
        np.testing.assert_allclose(found[1].numpy(), tape.gradient(y, x).numpy(), rtol=1e-12)


def test_each_example_has_its_own_gradient_of_the_filters() -> None:
    x, kernel = tf.constant(real(3, 4, 4, 1)), tf.constant(real(2, 2, 1, 2))

    def gradient(image: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(kernel)
            y = tf.reduce_sum(nn.conv2d(image[tf.newaxis], kernel, 1, "SAME") ** 2)
        return tape.gradient(y, kernel)

    found = tf.vectorized_map(gradient, x).numpy()
    for k in range(3):
        np.testing.assert_allclose(found[k], gradient(x[k]).numpy(), rtol=1e-12)


def test_first_of_equal_maxima_gets_the_gradient() -> None:
    g = _gradient(lambda x: nn.max_pool2d(x, 2, 2, "VALID"), np.ones((1, 2, 2, 1)))
    np.testing.assert_array_equal(g[0, :, :, 0], [[1, 0], [0, 0]])


@pytest.mark.parametrize("channels", [1, 3, 8])
@pytest.mark.parametrize(
    ("size", "stride", "padding", "dilation"),
    [
        ((2, 2), 2, "VALID", 1),
        ((3, 3), 2, "SAME", 1),
        ((3, 2), 1, "VALID", 2),
        ((1, 3), 1, "SAME", 1),
        ((1, 1), 2, "VALID", 1),
    ],
)
def test_pools_are_those_of_each_window_with_ties_and_nan(
    channels: int, size: Any, stride: int, padding: str, dilation: int
) -> None:
    rng = np.random.default_rng(8)
    x = rng.integers(-2, 3, (2, 9, 8, channels)).astype(np.float32)
    x[rng.random(x.shape) < 0.1] = np.nan
    with tf.GradientTape() as tape:
        v = tf.Variable(x)
        most = nn.pool(v, size, "MAX", stride, padding, dilations=dilation)
    upstream = rng.standard_normal(most.shape).astype(np.float32)
    found = tape.gradient(most, v, tf.constant(upstream)).numpy()
    mean = nn.pool(v, size, "AVG", stride, padding, dilations=dilation).numpy()
    want = np.zeros_like(x)
    for b, *at, c in np.ndindex(*most.shape):
        axes = []
        for i, n, count, whole in zip(at, size, most.shape[1:3], x.shape[1:3], strict=True):
            missing = max((count - 1) * stride + (n - 1) * dilation + 1 - whole, 0)
            start = i * stride - (missing // 2 if padding == "SAME" else 0)
            axes.append([k for k in range(start, start + n * dilation, dilation) if 0 <= k < whole])
        window = x[b][np.ix_(*axes)][..., c]
        np.testing.assert_array_equal(most.numpy()[(b, *at, c)], window.max())
        np.testing.assert_allclose(mean[(b, *at, c)], window.mean(), rtol=1e-6, atol=1e-6)
        row, column = np.unravel_index(window.argmax(), window.shape)
        want[b, axes[0][row], axes[1][column], c] += upstream[(b, *at, c)]
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_image_s_gradient_of_many_channels_is_that_of_few(dtype: Any, stride: int) -> None:
    rng = np.random.default_rng(9)
    x, kernel = rng.standard_normal((3, 9, 8, 12)), rng.standard_normal((3, 2, 12, 5))
    with tf.GradientTape() as tape:
        v = tf.Variable(x.astype(dtype))
        y = nn.conv2d(v, tf.constant(kernel.astype(dtype)), stride, "SAME")
    g = rng.standard_normal(y.shape).astype(dtype)
    found = tape.gradient(y, v, tf.constant(g)).numpy()
    for k in range(0, 12, 4):  # the parts of an image do not depend on each other
        with tf.GradientTape() as tape:
            part = tf.Variable(x[..., k : k + 4].astype(dtype))
            y = nn.conv2d(part, tf.constant(kernel[:, :, k : k + 4].astype(dtype)), stride, "SAME")
        few = tape.gradient(y, part, tf.constant(g)).numpy()
        np.testing.assert_allclose(
            found[..., k : k + 4], few, rtol=1e-5 if dtype is np.float32 else 1e-13, atol=1e-5
        )


def test_pools_of_integers_and_infinities() -> None:
    y = nn.max_pool2d(tf.constant(integer(1, 4, 4, 1)), 3, 2, "SAME")
    assert y.dtype == tf.int32
    y = nn.max_pool2d(tf.fill([1, 2, 2, 1], -INF), 3, 1, "SAME")
    assert (y.numpy() == -INF).all()
    np.testing.assert_array_equal(
        nn.avg_pool2d(tf.ones([1, 3, 3, 1]), 2, 1, "SAME").numpy(), np.ones((1, 3, 3, 1))
    )
    with pytest.raises(ValueError, match="give 'SAME', 'VALID'"):
        nn.avg_pool2d(tf.ones([1, 3, 3, 1]), 2, 1, [[0, 0], [1, 0], [1, 0], [0, 0]])


def test_empty_images() -> None:
    x = np.zeros((0, 4, 4, 2))
    y = nn.conv2d(x, tf.constant(real(2, 2, 2, 3)), 1, "VALID")
    assert y.shape == (0, 3, 3, 3)
    g = _gradient(lambda k: nn.conv2d(tf.constant(x), k, 1, "VALID"), real(2, 2, 2, 3))
    np.testing.assert_array_equal(g, np.zeros((2, 2, 2, 3)))


def test_embeddings_longer_than_max_norm_are_shortened() -> None:
    table = tf.constant([[3.0, 4.0], [0.3, 0.4]])
    np.testing.assert_allclose(
        nn.embedding_lookup(table, [0, 1], max_norm=1.0).numpy(), [[0.6, 0.8], [0.3, 0.4]]
    )
    np.testing.assert_array_equal(
        nn.embedding_lookup(table, [[1]]).numpy(), [[[np.float32(0.3), np.float32(0.4)]]]
    )


def test_jacobians_of_a_small_network_in_a_function_with_unknown_batch() -> None:
    kernel = tf.constant(real(2, 2, 1, 2))

    def jacobians(x: Any, labels: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, kernel])
            y = tf.reshape(nn.conv2d(x, kernel, 1, "VALID"), [-1, 8])
            losses = nn.sparse_softmax_cross_entropy_with_logits(labels, y)
        return tape.batch_jacobian(y, x), tape.jacobian(losses, kernel)

    specs = [tf.TensorSpec([None, 3, 3, 1], tf.float64), tf.TensorSpec([None], tf.int32)]
    f = tf.function(jacobians, input_signature=specs)
    for n in (1, 3, 5):
        x, labels = tf.constant(real(n, 3, 3, 1)), tf.constant(integer(n, low=0, high=8))
        for y, z in zip(f(x, labels), jacobians(x, labels), strict=True):
            np.testing.assert_allclose(y.numpy(), z.numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("op", [nn.softmax_cross_entropy_with_logits, nn.sigmoid_cross_entropy_with_logits])
def test_cross_entropies_name_themselves_and_both_operands(op: Callable[..., Any]) -> None:
    name = op.__name__
    with pytest.raises(ValueError, match=rf"^{name}: .*labels has shape \(2, 3\), logits \(2, 4\)"):
        op(tf.ones([2, 3]), tf.ones([2, 4]))
    with pytest.raises(TypeError, match=f"^{name}: labels have dtype float64, logits has float32"):
        op(tf.ones([2, 3], tf.float64), tf.ones([2, 3]))


def test_losses_of_each_element_refuse_labels_that_would_broadcast() -> None:
    labels, logits = tf.ones([3]), tf.ones([3, 1])
    for loss in (
        nn.sigmoid_cross_entropy_with_logits,
        lambda z, x: tf.nn.weighted_cross_entropy_with_logits(z, x, 2.0),
        tf.nn.log_poisson_loss,
    ):
        for f in (loss, tf.function(loss)):
            with pytest.raises(ValueError, match=r"has shape \(3,\), log\w+ \(3, 1\); they must be the same"):
                f(labels, logits)
        some = tf.function(loss, input_signature=[tf.TensorSpec([None, 1]), tf.TensorSpec(None)])
        assert some(logits, logits).shape == (3, 1)
    for from_logits in (False, True):
        with pytest.raises(ValueError, match=r"binary_crossentropy: .*they must be the same"):
            tf.keras.losses.binary_crossentropy(tf.ones([3, 1]), tf.ones([3, 2]), from_logits=from_logits)
    assert tf.nn.softmax_cross_entropy_with_logits(tf.ones([1, 3]), tf.ones([2, 3])).shape == (2,)


@pytest.mark.parametrize("run", [None, False, True])
def test_a_window_that_just_does_not_fit_gives_an_empty_result_and_zero_gradients(run):
    image, kernel = tf.constant(np.ones((2, 3, 5, 1), np.float32)), tf.ones([4, 2, 1, 3])

    def whole(x, k):
        with tf.GradientTape() as tape:
            tape.watch([x, k])
            ys = [
                tf.nn.conv2d(x, k, 1, "VALID"),
                tf.nn.max_pool2d(x, [4, 2], 1, "VALID"),
                tf.nn.avg_pool2d(x, [4, 2], 1, "VALID"),
            ]
        return ys, tape.gradient(ys, [x, k])

    ys, (x_bar, k_bar) = (whole if run is None else tf.function(whole, jit_compile=run))(image, kernel)
    assert [y.shape.as_list() for y in ys] == [[2, 0, 4, 3], [2, 0, 4, 1], [2, 0, 4, 1]]
    assert not x_bar.numpy().any() and x_bar.shape == image.shape
    assert not k_bar.numpy().any() and k_bar.shape == kernel.shape
    with pytest.raises(ValueError, match="the window covers 5 elements"):
        tf.nn.max_pool2d(image, [5, 1], 1, "VALID")


def test_pool_and_convolution_are_those_of_their_number_of_axes():
    x, kernel = real(2, 6, 7, 3), real(2, 3, 3, 4, seed=1)
    assert (
        (tf.nn.pool(x, [2, 3], "MAX", [1, 2], "SAME") == nn.max_pool2d(x, [2, 3], [1, 2], "SAME"))
        .numpy()
        .all()
    )
    assert (tf.nn.pool(x, [2, 3], "AVG") == nn.avg_pool2d(x, [2, 3], 1, "VALID")).numpy().all()
    found = tf.nn.convolution(x, kernel, [2, 1], "SAME", dilations=None)
    assert (found == nn.conv2d(x, kernel, [2, 1], "SAME")).numpy().all()
    row, taps = x[0], kernel[0]
    assert (tf.nn.convolution(row, taps, 2) == nn.conv1d(row, taps, 2, "VALID")).numpy().all()
    np.testing.assert_array_equal(
        tf.nn.pool(row, [2], "MAX").numpy(), np.maximum(np.asarray(row)[:, :-1], np.asarray(row)[:, 1:])
    )
    for call, words in (
        (lambda: tf.nn.pool(x, [2], "MAX"), "axes between batch and channels"),
        (lambda: tf.nn.pool(x, [2, 2], "SUM"), "neither 'MAX' nor 'AVG'"),
        (lambda: tf.nn.pool(x, [2, 2], "MAX", dilations=0), "2 positive numbers"),
        (lambda: tf.nn.convolution(x, kernel, [1, 2, 3]), "2 positive numbers"),
        (lambda: tf.nn.convolution(row, taps, data_format="NCW"), "the filters .* take 3"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_nan_passes_through_every_activation() -> None:
    x = tf.constant([float("nan"), 1.0])
    for name in "relu relu6 elu selu leaky_relu gelu silu softplus softsign tanh sigmoid log_sigmoid".split():
        f = getattr(tf.math if name == "log_sigmoid" else tf.nn, name)
        for g in (f, tf.function(f), tf.function(f, jit_compile=True)):
            assert np.isnan(g(x).numpy()).tolist() == [True, False], name


def test_the_gradient_of_relu6_is_zero_on_both_bounds() -> None:
    x = tf.constant([-1.0, 0.0, 3.0, 6.0, 7.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.relu6(x)
    assert y.numpy().tolist() == [0.0, 0.0, 3.0, 6.0, 6.0]
    assert tape.gradient(y, x).numpy().tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]


def test_padding_of_a_pool_is_smaller_than_its_window() -> None:
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"max_pool2d: padding .* is not smaller than the window \(2, 3\)",
    ):
        nn.max_pool2d(np.zeros((1, 4, 4, 1), np.float32), (2, 3), 1, [[0, 0], [0, 2], [0, 0], [0, 0]])


def test_a_pool_or_convolution_of_other_ranks_says_what_it_takes() -> None:
    volume, row = tf.ones([1, 3, 3, 3, 1]), tf.ones([1, 3, 1])
    for call, words in (
        (
            lambda: nn.max_pool3d(tf.ones([1, 3, 3, 1]), 2, 1, "VALID"),
            "batch, depth, height, width, channels",
        ),
        (
            lambda: nn.avg_pool1d(row, [2, 2], 1, "VALID"),
            "ksize .* must be 1 positive number, or 3 with 1 for batch",
        ),
        (lambda: nn.max_pool(tf.ones([1, 3]), 2, 1, "VALID"), "axes between batch and channels"),
        (lambda: nn.max_pool3d(volume, 2, [2, 1, 1, 1, 1], "VALID"), "is not 1 for batch and channels"),
        (lambda: nn.avg_pool(volume, 2, 1, "VALID", "NCHW"), "neither 'NDHWC' nor 'NCDHW'"),
        (lambda: nn.max_pool_with_argmax(row, 2, 1, "VALID"), "axes between batch and channels"),
        (lambda: nn.max_pool_with_argmax(tf.ones([1, 2, 2, 1]), 2, 1, "VALID", "NCHW"), "it must be 'NHWC'"),
        (
            lambda: nn.max_pool_with_argmax(tf.ones([1, 2, 2, 1]), 2, 1, "VALID", output_dtype=tf.int16),
            "output_dtype is int16; int32 or int64 is needed",
        ),
        (
            lambda: nn.max_pool_with_argmax(tf.ones([1, 2, 2, 1]), 2, 1, [[0, 0], [1, 1], [1, 1], [0, 0]]),
            "give 'SAME', 'VALID'",
        ),
        (lambda: nn.max_pool1d(row, 4, 1, "VALID"), None),
        (lambda: nn.conv3d(volume, tf.ones([2, 2, 2, 2, 1]), 1, "VALID"), "conv3d: the input has 1 channels"),
        (
            lambda: nn.conv1d(row, tf.ones([2, 1]), 1, "VALID"),
            r"\[width, channels in, channels out\] is needed",
        ),
        (lambda: nn.conv1d(row, tf.ones([2, 1, 1]), 1, [[0, 0], [1, 0]]), r"\[left, right\]"),
        (
            lambda: nn.conv3d_transpose(volume, tf.ones([2, 2, 2, 1, 1]), [1, 9, 6, 6, 1], 2),
            "must have shape",
        ),
        (
            lambda: nn.separable_conv2d(
                tf.ones([1, 3, 3, 1]), tf.ones([2, 2, 1, 1]), tf.ones([2, 1, 1, 1]), 1, "SAME"
            ),
            "pointwise_filter has shape",
        ),
    ):
        if words is None:
            assert call().shape == [1, 0, 1]
            continue
        with pytest.raises(ValueError, match=words):
            call()


def test_a_window_and_its_strides_are_for_the_same_axes() -> None:
    from graphad.core.registry import lookup

    for strides, padding, dilations in (
        ((1,), "SAME", (1, 1)),
        ((1, 1), ((0, 0),), (1, 1)),
        ((1, 1), "SAME", (1,)),
    ):
        with pytest.raises(ValueError, match="are not for the same number of axes"):
            lookup("max_pool")((2, 2), strides, padding, dilations).infer(tf.TensorSpec([1, 4, 4, 1]))


@pytest.mark.parametrize("run", [False, True])
def test_the_shape_of_a_transposed_convolution_may_be_data(run: bool) -> None:
    kernel, x = tf.constant(real(3, 2, 1, 2)), tf.constant(real(2, 2, 3, 2))
    known = nn.conv2d_transpose(x, kernel, [2, 4, 5, 1], 2)

    @tf.function(jit_compile=run)
    def f(x: Any, sizes: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = nn.conv2d_transpose(x, kernel, sizes, 2)
        return y, tape.gradient(y, x)

    y, x_bar = f(x, tf.constant([2, 4, 5, 1]))
    np.testing.assert_allclose(y, known)
    np.testing.assert_allclose(x_bar, nn.conv2d(tf.ones([2, 4, 5, 1], tf.float64), kernel, 2, "SAME"))
    np.testing.assert_allclose(nn.conv2d_transpose(x, kernel, [4, 5], 2), known)

    @tf.function(
        jit_compile=run, input_signature=[tf.TensorSpec([None] * 4, tf.float64), tf.TensorSpec([], tf.int32)]
    )
    def g(x: Any, width: Any) -> Any:
        return nn.conv2d_transpose(x, kernel, [4, width], 2)

    np.testing.assert_allclose(g(x, tf.constant(5)), known)


def test_convolution_over_several_axes_of_batches() -> None:
    x, kernel = tf.constant(real(2, 3, 5, 4, 2)), tf.constant(real(2, 2, 2, 3))
    wanted = np.stack([nn.conv2d(row, kernel, 2, "SAME").numpy() for row in x])
    np.testing.assert_allclose(nn.conv2d(x, kernel, 2, "SAME"), wanted)
    np.testing.assert_allclose(nn.convolution(x, kernel, 2, "SAME"), wanted)
    unknown = tf.function(
        lambda x: nn.conv2d(x, kernel, 2, "SAME"), input_signature=[tf.TensorSpec([None] * 5, tf.float64)]
    )
    np.testing.assert_allclose(unknown(x), wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("channels", [2, 32])
@pytest.mark.parametrize("padding", ["SAME", [[0, 0], [1, 1], [1, 1], [0, 0]]], ids=["same", "explicit"])
def test_the_gradient_of_a_window_of_minus_infinity_stays_in_the_image(
    dtype: str, channels: int, padding: Any
) -> None:
    lowest = tf.fill([1, 3, 3, channels], tf.constant(-np.inf, dtype))
    one = tf.tensor_scatter_nd_update(lowest, [[0, 1, 1, 0]], tf.constant([1.0], dtype))

    def derivatives(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.max_pool2d(x, 3, 1, padding)
        with tf.autodiff.ForwardAccumulator(x, _counted(x)) as accumulator:
            again = tf.nn.max_pool2d(x, 3, 1, padding)
        return tape.gradient(y, x), accumulator.jvp(again), tf.nn.max_pool_with_argmax(x, 3, 1, "SAME").argmax

    compiled = tf.function(derivatives)
    for x in (lowest, one):
        slope, tangent, argmax = [y.numpy() for y in derivatives(x)]
        for y, again in zip((slope, tangent, argmax), compiled(x), strict=True):
            np.testing.assert_array_equal(y, again)
        # the first element of each window that is inside
        first = np.maximum(np.arange(3) - 1, 0)[:, None] * 3 + np.maximum(np.arange(3) - 1, 0)
        places = first[..., None] * channels + np.arange(channels)
        if x is one:
            places[..., 0] = 4 * channels
        np.testing.assert_array_equal(argmax[0], places)
        np.testing.assert_array_equal(tangent[0], (places + 1).astype(dtype))
        np.testing.assert_array_equal(
            slope.reshape(-1), np.bincount(places.reshape(-1), minlength=9 * channels)
        )


def _counted(x: Any) -> Any:
    """1, 2, ... in the shape and dtype of x."""
    return tf.reshape(tf.cast(tf.range(1, 1 + tf.size(x)), x.dtype), x.shape)


def test_the_gradient_of_a_three_dimensional_pool_goes_to_the_first_maximum() -> None:
    g = _gradient(lambda x: nn.max_pool3d(x, 2, 2, "VALID"), np.ones((1, 2, 2, 2, 1)))
    assert g.ravel().tolist() == [1, 0, 0, 0, 0, 0, 0, 0]


def test_depthwise_convolution_of_filters_of_any_size() -> None:
    x, kernel = tf.constant(real(2, 5, 4, 3)), tf.constant(real(2, 3, 3, 2))

    def loss(x: Any, kernel: Any) -> Any:
        return tf.reduce_sum(nn.depthwise_conv2d(x, kernel, [1, 2, 2, 1], "SAME") ** 3)

    def second(x: Any, kernel: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch([x, kernel])
            with tf.GradientTape() as tape:
                tape.watch([x, kernel])
                y = loss(x, kernel)
            bars = tape.gradient(y, [x, kernel])
            z = tf.reduce_sum(bars[0] ** 2) + tf.reduce_sum(bars[1] ** 2)
        return y, *bars, *outer.gradient(z, [x, kernel])

    for spec in (tf.TensorSpec([None] * 4, tf.float64), tf.TensorSpec(None, tf.float64)):
        for found, wanted in zip(
            tf.function(second, input_signature=[spec] * 2)(x, kernel), second(x, kernel)
        ):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
        with pytest.raises(tf.errors.InvalidArgumentError, match="reshape: "):
            tf.function(loss, input_signature=[spec] * 2)(x, tf.constant(real(2, 3, 4, 1)))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"depthwise_conv2d: the input has 3 channels, filter .* takes 4"
    ):
        loss(x, tf.constant(real(2, 3, 4, 1)))


@pytest.mark.parametrize("known", [True, False])
def test_space_and_depth_with_channels_first(known: bool) -> None:
    x = tf.constant(real(2, 3, 4, 6))
    blocks = [
        lambda x: nn.space_to_depth(x, 2, "NCHW"),
        lambda y: nn.depth_to_space(y, 2, data_format="NCHW"),
    ]
    if not known:
        spec = tf.TensorSpec([None] * 4, tf.float64)
        blocks = [tf.function(f, input_signature=[spec]) for f in blocks]
    y = blocks[0](x)
    for two in (2, np.int64(2), 2.0):  # a whole float is a size, as for strides
        last = nn.space_to_depth(tf.transpose(x, [0, 2, 3, 1]), two)
    np.testing.assert_array_equal(y, tf.transpose(last, [0, 3, 1, 2]))
    np.testing.assert_array_equal(blocks[1](y), x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = blocks[0](x)
    np.testing.assert_array_equal(tape.gradient(y, x, output_gradients=y), x)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: nn.conv2d(tf.zeros([2, 3, 5]), tf.zeros([3, 3, 3, 4]), 1, "SAME", "NCHW"), r"conv2d: input has shape (2, 3, 5)"),
        (lambda: nn.max_pool2d(tf.zeros([1, 2, 3, 5, 6]), 2, 1, "SAME", "NCHW"), "max_pool2d: input has shape (1, 2, 3, 5, 6)"),
        (
            lambda: nn.conv2d_transpose(tf.zeros([2, 3, 5, 6]), tf.zeros([3, 3, 4, 2]), [2, 4, 5, 6], 1, "SAME", "NCHW"),
            "conv2d_transpose: input has shape (2, 3, 5, 6); for output_shape (2, 4, 5, 6) and filters with shape "
            "(3, 3, 4, 2) it must have shape (2, 2, 5, 6)",
        ),
        (lambda: nn.depthwise_conv2d(tf.zeros([2, 3, 5]), tf.zeros([3, 3, 3, 1]), 1, "SAME", "NCHW"), "shape (2, 3, 5); "),
        (lambda: nn.space_to_depth(tf.zeros([1, 2, 3, 5]), 2, "NCHW"), "input has shape (1, 2, 3, 5)"),
        (lambda: nn.depth_to_space(tf.zeros([1, 2, 3, 5]), 2, "NCHW"), "input has shape (1, 2, 3, 5)"),
    ],
)  # fmt: skip
def test_messages_about_channels_first_show_the_shape_that_was_given(call: Any, said: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        call()
    assert said in str(caught.value)
    if "must have" not in said:
        assert "[batch, channels, height, width]" in str(caught.value)


def test_sizes_of_windows_may_be_whole_floats() -> None:
    x = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    expected = tf.nn.avg_pool2d(x, 3, 1, "SAME")
    np.testing.assert_array_equal(tf.nn.avg_pool2d(x, (1, np.float64(3), 3.0, 1), 1.0, "SAME"), expected)
    with pytest.raises(TypeError, match=r"ksize 2\.5 must be integers"):
        tf.nn.avg_pool2d(x, 2.5, 1, "SAME")
