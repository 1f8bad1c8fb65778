"""One row for every op of graphad.ops.nn, and more where shapes, strides, padding or edges differ."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.ops import nn
from graphad.ops.array import constant, identity
from tests.support.op_case import OpCase, integer, positive, real

SIZES = ("sizes",)


def _elu(x: Any) -> Any:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _gelu(x: Any) -> Any:
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def _gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x)
    return e / e.sum(axis, keepdims=True)


def _log_softmax(x: Any, axis: int = -1) -> Any:
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


ACTIVATION = [
    OpCase(nn.relu, real(3, 4), expected=lambda x: np.maximum(x, 0)),
    OpCase(nn.relu, integer(3, 4), expected=lambda x: np.maximum(x, 0)),
    OpCase(nn.relu, real(), expected=lambda x: np.maximum(x, 0)),
    OpCase(nn.relu6, real(3, 4, low=-2, high=8), expected=lambda x: np.clip(x, 0, 6)),
    OpCase(nn.elu, real(3, 4), expected=_elu),
    OpCase(nn.elu, real(0, 3), expected=_elu),
    OpCase(
        nn.selu,
        real(3, 4),
        expected=lambda x: np.where(x > 0, x, 1.6732632423543772 * _elu(x)) * 1.0507009873554805,
    ),
    OpCase(nn.leaky_relu, real(3, 4), expected=lambda x: np.where(x > 0, x, 0.2 * x)),
    OpCase(nn.leaky_relu, real(3, 4), alpha=0.5, expected=lambda x: np.where(x > 0, x, 0.5 * x)),
    OpCase(nn.gelu, real(3, 4), expected=_gelu),
    OpCase(nn.gelu, real(3, 4), approximate=True, expected=_gelu_tanh),
    OpCase(nn.silu, real(3, 4), expected=lambda x: x * _sigmoid(x)),
    OpCase(nn.silu, real(3, 4), beta=1.5, expected=lambda x: x * _sigmoid(1.5 * x)),
]


def sparse(labels: Any) -> Any:
    def sparse_cross_entropy(logits: Any) -> Any:
        return nn.sparse_softmax_cross_entropy_with_logits(labels, logits)

    return sparse_cross_entropy


def _sparse(labels: Any, logits: Any) -> Any:
    return -np.take_along_axis(_log_softmax(logits), labels[..., None].astype(int), -1)[..., 0]


def _bernoulli(z: Any, x: Any) -> Any:
    return -z * np.log(_sigmoid(x)) - (1 - z) * np.log(1 - _sigmoid(x))


LABELS = integer(2, 3, low=0, high=4)
SOFTMAX = [
    OpCase(nn.softmax, real(3, 4), expected=_softmax),
    OpCase(nn.softmax, real(5), expected=_softmax),
    OpCase(nn.softmax, real(2, 3, 4), axis=1, unknown=SIZES, expected=lambda x: _softmax(x, 1)),
    OpCase(nn.softmax, real(2, 3, 4), axis=-2, expected=lambda x: _softmax(x, -2)),
    OpCase(nn.softmax, real(3, 1), expected=_softmax),
    OpCase(nn.softmax, real(0, 3), expected=lambda x: x),
    OpCase(nn.softmax, real(3, 0), expected=lambda x: x),
    OpCase(nn.log_softmax, real(3, 4), expected=_log_softmax),
    OpCase(nn.log_softmax, real(2, 3, 4), axis=0, unknown=SIZES, expected=lambda x: _log_softmax(x, 0)),
    OpCase(nn.log_softmax, real(2, 0, 3), expected=lambda x: x),
    OpCase(
        nn.softmax_cross_entropy_with_logits,
        real(3, 4),
        real(3, 4, seed=1),
        expected=lambda t, x: -(t * _log_softmax(x)).sum(-1),
    ),
    OpCase(
        nn.softmax_cross_entropy_with_logits,
        real(3, 4),
        real(3, 4, seed=1),
        axis=0,
        unknown=SIZES,
        expected=lambda t, x: -(t * _log_softmax(x, 0)).sum(0),
    ),
    OpCase(nn.sparse_softmax_cross_entropy_with_logits, LABELS, real(2, 3, 4), expected=_sparse),
    OpCase(
        nn.sparse_softmax_cross_entropy_with_logits,
        integer(3, low=0, high=4, dtype=np.uint8),
        real(3, 4),
        expected=_sparse,
    ),
    OpCase(
        nn.sparse_softmax_cross_entropy_with_logits,
        integer(3, low=0, high=4, dtype=np.int64),
        real(3, 4),
        expected=_sparse,
    ),
    OpCase(
        nn.sparse_softmax_cross_entropy_with_logits, np.zeros((0,), np.int32), real(0, 4), expected=_sparse
    ),
    OpCase(sparse(LABELS), real(2, 3, 4), expected=lambda x: _sparse(LABELS, x), label="constant labels"),
    OpCase(nn.sigmoid_cross_entropy_with_logits, positive(3, 4), real(3, 4), expected=_bernoulli),
]


def moments(x: Any, axes: Any, keepdims: bool = False) -> Any:
    return nn.moments(x, axes, keepdims=keepdims)


def normalized(x: Any, mean: Any, variance: Any, offset: Any, scale: Any) -> Any:
    return nn.batch_normalization(x, mean, variance, offset, scale, 1e-3)


def plainly_normalized(x: Any, mean: Any, variance: Any) -> Any:
    return nn.batch_normalization(x, mean, variance, None, None, 0.1)


def batch_statistics(x: Any, offset: Any, scale: Any) -> Any:
    """What a layer does while it is trained: the moments depend on x as well."""
    mean, variance = nn.moments(x, [0])
    return nn.batch_normalization(x, mean, variance, offset, scale, 1e-3)


def _batch_statistics(x: Any, offset: Any, scale: Any) -> Any:
    return (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-3) * scale + offset


def layer_normalized(x: Any, offset: Any, scale: Any, axis: Any = -1) -> Any:
    return nn.layer_normalization(x, axis, offset, scale)


def group_normalized(x: Any, offset: Any, scale: Any, groups: int, axis: int = -1) -> Any:
    return nn.group_normalization(x, groups, axis, offset, scale)


def instance_normalized(x: Any, offset: Any, scale: Any, axis: int = -1) -> Any:
    return nn.instance_normalization(x, axis, offset, scale)


def _normalized(x: Any, axes: Any) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-3)


def _in_groups(x: Any, offset: Any, scale: Any, groups: int) -> Any:
    """Channel by channel, those of a group looked up by their number."""
    y = np.empty_like(x)
    each = x.shape[-1] // groups
    for k in range(x.shape[-1]):
        first = k // each * each
        group = x[..., first : first + each]
        axes = tuple(range(1, x.ndim))
        mean, variance = group.mean(axes, keepdims=True)[..., 0], group.var(axes, keepdims=True)[..., 0]
        y[..., k] = (x[..., k] - mean) / np.sqrt(variance + 1e-3) * scale[k] + offset[k]
    return y


def looked_up(params: Any, ids: Any, max_norm: float | None = None) -> Any:
    # The gradient of an identity is a tensor, where that of a plain lookup is IndexedSlices.
    return nn.embedding_lookup(identity(params), ids, max_norm)


def undropped(x: Any) -> Any:
    return nn.dropout(x, 0.0)


NORMALIZE = [
    OpCase(moments, real(4, 3), axes=[0], expected=lambda x: [x.mean(0), x.var(0)]),
    OpCase(
        moments,
        real(2, 3, 4),
        axes=[0, -1],
        unknown=SIZES,
        expected=lambda x: [x.mean((0, 2)), x.var((0, 2))],
    ),
    OpCase(
        moments,
        real(2, 3),
        axes=[1],
        keepdims=True,
        expected=lambda x: [x.mean(1, keepdims=True), x.var(1, keepdims=True)],
    ),
    OpCase(
        normalized,
        real(4, 3),
        real(3),
        positive(3),
        real(3, seed=1),
        real(3, seed=2),
        expected=lambda x, m, v, b, s: (x - m) / np.sqrt(v + 1e-3) * s + b,
    ),
    OpCase(
        plainly_normalized,
        real(4, 3),
        real(3),
        positive(3),
        expected=lambda x, m, v: (x - m) / np.sqrt(v + 0.1),
    ),
    OpCase(
        layer_normalized,
        real(2, 3, 4),
        real(4),
        real(4, seed=1),
        unknown=SIZES,
        expected=lambda x, b, s: _normalized(x, -1) * s + b,
    ),
    OpCase(
        layer_normalized,
        real(2, 3, 4),
        real(2, 4),
        real(2, 4, seed=1),
        axis=[2, 0],
        unknown=(),
        expected=lambda x, b, s: _normalized(x, (0, 2)) * s[:, None] + b[:, None],
    ),
    OpCase(
        group_normalized,
        real(2, 3, 2, 4),
        real(4),
        real(4, seed=1),
        groups=2,
        unknown=(),
        expected=lambda x, b, s: _in_groups(x, b, s, 2),
    ),
    OpCase(
        group_normalized,
        real(2, 6, 3),
        real(6),
        real(6, seed=1),
        groups=3,
        axis=1,
        unknown=(),
        expected=lambda x, b, s: _in_groups(x.swapaxes(1, 2), b, s, 3).swapaxes(1, 2),
    ),
    OpCase(
        group_normalized,
        real(3, 4),
        real(4),
        real(4, seed=1),
        groups=2,
        unknown=(),
        expected=lambda x, b, s: _in_groups(x, b, s, 2),
    ),
    OpCase(
        instance_normalized,
        real(2, 5, 3),
        real(3),
        real(3, seed=1),
        unknown=(),
        expected=lambda x, b, s: _normalized(x, 1) * s + b,
    ),
    OpCase(batch_statistics, real(5, 2), real(2), real(2, seed=1), expected=_batch_statistics),
    OpCase(nn.bias_add, real(2, 3, 4), real(4), expected=np.add),
    OpCase(
        nn.bias_add,
        real(2, 3, 4),
        real(3),
        data_format="NCW",
        unknown=SIZES,
        expected=lambda x, b: x + b[:, None],
    ),
    OpCase(nn.l2_loss, real(3, 4), expected=lambda x: np.float64((x * x).sum() / 2)),
    OpCase(undropped, real(3, 4), expected=lambda x: x),
    OpCase(looked_up, real(4, 2), integer(3, low=0, high=4), expected=lambda x, i: x[i]),
    OpCase(
        looked_up,
        real(4, 2),
        integer(3, low=0, high=4),
        max_norm=0.2,
        unknown=SIZES,
        expected=lambda x, i: x[i] * 0.2 / np.linalg.norm(x[i], axis=1, keepdims=True),
    ),
]


def _padded(x: Any, window: Sequence[int], strides: Sequence[int], padding: Any, value: float = 0.0) -> Any:
    if padding == "VALID":
        return x
    if padding == "SAME":
        pads = []
        for n, k, s in zip(x.shape[1:-1], window, strides, strict=True):
            total = max((math.ceil(n / s) - 1) * s + k - n, 0)
            pads.append((total // 2, total - total // 2))
        padding = [(0, 0), *pads, (0, 0)]
    return np.pad(x, padding, constant_values=value)


def _conv(strides: Sequence[int], padding: Any, dilations: Sequence[int] | None = None) -> Any:
    """Convolution as loops over everything."""
    rank = len(strides)
    apart = dilations or (1,) * rank

    def convolve(x: Any, kernel: Any) -> Any:
        spans = [(k - 1) * d + 1 for k, d in zip(kernel.shape[:rank], apart, strict=True)]
        x = _padded(x, spans, strides, padding)
        counts = [(n - k) // s + 1 for n, k, s in zip(x.shape[1:-1], spans, strides, strict=True)]
        out = np.zeros((x.shape[0], *counts, kernel.shape[-1]))
        for at in np.ndindex(*counts):
            window = [
                slice(i * s, i * s + k, d) for i, s, k, d in zip(at, strides, spans, apart, strict=True)
            ]
            out[(slice(None), *at)] = np.tensordot(x[(slice(None), *window)], kernel, rank + 1)
        return out

    return convolve


def transposed(x: Any, kernel: Any, **options: Any) -> Any:
    return nn.conv2d_transpose(x, kernel, [2, 4, 5, 1], **options)


def transposed_1(x: Any, kernel: Any, **options: Any) -> Any:
    return nn.conv1d_transpose(x, kernel, [2, 5, 1], **options)


def transposed_3(x: Any, kernel: Any, **options: Any) -> Any:
    return nn.conv3d_transpose(x, kernel, [1, 3, 2, 3, 2], **options)


def transposed_any(x: Any, kernel: Any, **options: Any) -> Any:
    return nn.conv_transpose(x, kernel, [2, 5, 1], **options)


def _transposed(
    strides: Sequence[int],
    padding: Any,
    shape: Sequence[int] = (2, 4, 5, 1),
    dilations: Sequence[int] | None = None,
) -> Any:
    def transpose(x: Any, kernel: Any) -> Any:
        forward = _conv(strides, padding, dilations)
        out = np.zeros(shape)
        for index in np.ndindex(out.shape):
            one = np.zeros_like(out)
            one[index] = 1
            out[index] = (forward(one, kernel) * x).sum()
        return out

    return transpose


def _depthwise(strides: Sequence[int], padding: Any, dilations: Sequence[int] | None = None) -> Any:
    forward = _conv(strides, padding, dilations)
    return lambda x, k: np.concatenate(
        [forward(x[..., c : c + 1], k[:, :, c : c + 1]) for c in range(x.shape[-1])], -1
    )


FILTERS = real(2, 2, 2, 3, seed=5)


def by_fixed_filters(x: Any) -> Any:
    """The shape of the filters is known, that of the images may not be."""
    return nn.depthwise_conv2d(x, constant(FILTERS, x.dtype), [1, 1, 1, 1], "SAME")


EXPLICIT = [[0, 0], [1, 0], [0, 2], [0, 0]]
CONV = [
    OpCase(
        nn.conv2d,
        real(2, 3, 4, 2),
        real(2, 2, 2, 3),
        strides=1,
        padding="VALID",
        expected=_conv((1, 1), "VALID"),
    ),
    OpCase(
        nn.conv2d,
        real(1, 4, 3, 1),
        real(3, 2, 1, 2),
        strides=1,
        padding="SAME",
        expected=_conv((1, 1), "SAME"),
    ),
    OpCase(
        nn.conv2d,
        real(2, 4, 5, 1),
        real(2, 3, 1, 2),
        strides=[1, 2, 3, 1],
        padding="SAME",
        expected=_conv((2, 3), "SAME"),
    ),
    OpCase(
        nn.conv2d,
        real(1, 5, 4, 1),
        real(2, 2, 1, 1),
        strides=2,
        padding="VALID",
        expected=_conv((2, 2), "VALID"),
    ),
    OpCase(
        nn.conv2d,
        real(1, 4, 4, 1),
        real(2, 2, 1, 1),
        strides=1,
        padding="VALID",
        dilations=[2, 1],
        expected=_conv((1, 1), "VALID", (2, 1)),
    ),
    OpCase(
        nn.conv2d,
        real(1, 3, 3, 1),
        real(2, 2, 1, 2),
        strides=[2, 1],
        padding=EXPLICIT,
        expected=_conv((2, 1), EXPLICIT),
    ),
    OpCase(
        nn.conv2d,
        real(0, 3, 3, 2),
        real(2, 2, 2, 1),
        strides=1,
        padding="VALID",
        expected=_conv((1, 1), "VALID"),
        label="empty batch",
    ),
    OpCase(
        transposed,
        real(2, 2, 3, 2),
        real(3, 2, 1, 2),
        strides=2,
        unknown=(),
        expected=_transposed((2, 2), "SAME"),
    ),
    OpCase(
        transposed,
        real(2, 3, 4, 1),
        real(2, 2, 1, 1),
        strides=1,
        padding="VALID",
        unknown=(),
        expected=_transposed((1, 1), "VALID"),
    ),
    OpCase(
        nn.conv1d,
        real(2, 4, 2),
        real(3, 2, 1),
        stride=2,
        padding="SAME",
        expected=lambda x, k: _conv((1, 2), "SAME")(x[:, None], k[None])[:, 0],
    ),
    OpCase(
        nn.depthwise_conv2d,
        real(2, 3, 3, 2),
        real(2, 2, 2, 2),
        strides=[1, 1, 1, 1],
        padding="SAME",
        expected=lambda x, k: np.concatenate(
            [_conv((1, 1), "SAME")(x[..., c : c + 1], k[:, :, c : c + 1]) for c in range(2)], -1
        ),
    ),
]


FURTHER = [
    OpCase(nn.conv1d, real(1, 6, 2), real(2, 2, 3), stride=1, padding="VALID", dilations=2,
           expected=_conv((1,), "VALID", (2,))),
    OpCase(nn.conv1d, real(2, 5, 1), real(3, 1, 2), stride=2, padding=[[0, 0], [2, 1], [0, 0]],
           expected=_conv((2,), [[0, 0], [2, 1], [0, 0]])),
    OpCase(nn.conv1d, real(2, 1, 5, 2), real(2, 2, 1), stride=1, padding="SAME", unknown=SIZES,
           expected=lambda x, k: _conv((1,), "SAME")(x[:, 0], k)[:, None], label="two axes of batches"),
    OpCase(nn.conv3d, real(1, 3, 2, 4, 2), real(2, 2, 3, 2, 1), strides=[1, 1, 1, 2, 1], padding="SAME",
           expected=_conv((1, 1, 2), "SAME")),
    OpCase(nn.conv3d, real(2, 3, 3, 2, 1), real(2, 1, 2, 1, 2), strides=1, padding="VALID", dilations=[2, 1, 1],
           expected=_conv((1, 1, 1), "VALID", (2, 1, 1))),
    OpCase(nn.convolution, real(1, 3, 3, 2, 1), real(2, 2, 2, 1, 1), unknown=SIZES,
           padding="SAME", expected=_conv((1, 1, 1), "SAME")),
    OpCase(nn.atrous_conv2d, real(1, 4, 5, 1), real(2, 2, 1, 2), rate=2, padding="SAME",
           expected=_conv((1, 1), "SAME", (2, 2))),
    OpCase(transposed_1, real(2, 3, 2), real(3, 1, 2), strides=2, unknown=(), expected=_transposed((2,), "SAME", (2, 5, 1))),
    OpCase(transposed_any, real(2, 4, 2), real(2, 1, 2), strides=1, padding="VALID", unknown=(),
           expected=_transposed((1,), "VALID", (2, 5, 1))),
    OpCase(transposed_3, real(1, 2, 1, 3, 1), real(2, 2, 2, 2, 1), strides=[2, 2, 1], unknown=(),
           expected=_transposed((2, 2, 1), "SAME", (1, 3, 2, 3, 2))),
    OpCase(transposed, real(2, 4, 5, 1), real(2, 2, 1, 1), strides=1, dilations=2, unknown=(),
           expected=_transposed((1, 1), "SAME", (2, 4, 5, 1), (2, 2))),
    OpCase(nn.depthwise_conv2d, real(1, 5, 4, 2), real(2, 2, 2, 1), strides=[1, 2, 2, 1], padding="VALID", dilations=[2, 1],
           expected=_depthwise((2, 2), "VALID", (2, 1))),
    OpCase(by_fixed_filters, real(1, 3, 4, 2), expected=lambda x: _depthwise((1, 1), "SAME")(x, FILTERS)),
    OpCase(nn.separable_conv2d, real(1, 3, 4, 2), real(2, 2, 2, 2), real(1, 1, 4, 3), strides=[1, 1, 1, 1], padding="SAME",
           unknown=(), expected=lambda x, d, p: _depthwise((1, 1), "SAME")(x, d) @ p[0, 0]),
]  # fmt: skip


def _pool(
    window: Sequence[int],
    strides: Sequence[int],
    padding: Any,
    combine: Any,
    dilations: Sequence[int] | None = None,
) -> Any:
    apart = dilations or (1,) * len(window)

    def pool(x: Any) -> Any:
        spans = [(k - 1) * d + 1 for k, d in zip(window, apart, strict=True)]
        x = _padded(x, spans, strides, padding, np.nan)
        counts = [(n - k) // s + 1 for n, k, s in zip(x.shape[1:-1], spans, strides, strict=True)]
        out = np.zeros((x.shape[0], *counts, x.shape[-1]))
        for at in np.ndindex(*counts):
            inside = [
                slice(i * s, i * s + k, d) for i, s, k, d in zip(at, strides, spans, apart, strict=True)
            ]
            out[(slice(None), *at)] = combine(
                x[(slice(None), *inside)], axis=tuple(range(1, len(window) + 1))
            )
        return out

    return pool


def _pool_case(
    function: Any, shape: Sequence[int], ksize: Any, strides: Any, padding: Any, **options: Any
) -> OpCase:
    combine = np.nanmax if "max" in function.__name__ else np.nanmean
    window, steps = (x if isinstance(x, list) else [x] * (len(shape) - 2) for x in (ksize, strides))
    return OpCase(
        function,
        real(*shape),
        ksize=ksize,
        strides=strides,
        padding=padding,
        expected=_pool(window, steps, padding, combine),
        **options,
    )


POOL = [
    case
    for function in (nn.max_pool2d, nn.avg_pool2d)
    for case in (
        _pool_case(function, (2, 4, 3, 2), 2, 1, "VALID"),
        _pool_case(function, (1, 5, 4, 1), [2, 3], [2, 1], "VALID"),
        _pool_case(function, (1, 4, 5, 2), 3, 2, "SAME"),
        _pool_case(function, (0, 4, 4, 1), 2, 2, "SAME"),
    )
]
POOL.append(_pool_case(nn.max_pool2d, (1, 3, 3, 1), 2, 2, [[0, 0], [1, 0], [1, 1], [0, 0]]))
POOL += [
    _pool_case(nn.max_pool1d, (2, 5, 2), 2, 2, "SAME"),
    _pool_case(nn.avg_pool1d, (2, 5, 2), 3, 1, "VALID"),
    _pool_case(nn.max_pool3d, (1, 3, 4, 2, 2), 2, [1, 2, 1], "VALID"),
    _pool_case(nn.max_pool3d, (1, 3, 2, 3, 1), [2, 1, 2], 2, "SAME"),
    _pool_case(nn.avg_pool3d, (1, 3, 2, 3, 1), 2, [1, 1, 2], "SAME"),
    _pool_case(nn.avg_pool3d, (2, 2, 3, 2, 1), [2, 2, 1], 1, "VALID"),
    _pool_case(nn.max_pool1d, (1, 4, 1), 3, 1, [[0, 0], [1, 2], [0, 0]]),
    _pool_case(nn.max_pool, (1, 4, 3, 1), 2, 1, "SAME", unknown=SIZES),
    _pool_case(nn.avg_pool, (1, 4, 1), 2, 1, "SAME", unknown=SIZES),
    *(
        OpCase(
            nn.pool,
            real(1, 6, 5, 2),
            window_shape=[2, 3],
            pooling_type=word,
            dilations=[3, 2],
            expected=_pool((2, 3), (1, 1), "VALID", combine, (3, 2)),
        )
        for word, combine in (("MAX", np.nanmax), ("AVG", np.nanmean))
    ),
]


# -- channels right behind the batch, and in groups ----------------------------------------------------------------------


def _behind_batch(expected: Any) -> Any:
    """A formula for images whose channels come last, for images where they come right behind the batch."""
    return lambda x, *rest: np.moveaxis(expected(np.moveaxis(x, 1, -1), *rest), -1, 1)


def _grouped(convolve: Any) -> Any:
    """A convolution in groups, each by itself."""

    def grouped(x: Any, kernel: Any) -> Any:
        n = x.shape[-1] // kernel.shape[-2]
        parts = zip(np.split(x, n, -1), np.split(kernel, n, -1), strict=True)
        return np.concatenate([convolve(*part) for part in parts], -1)

    return grouped


def transposed_first(x: Any, kernel: Any, **options: Any) -> Any:
    return nn.conv2d_transpose(x, kernel, [2, 1, 4, 5], data_format="NCHW", **options)


def transposed_groups(x: Any, kernel: Any, **options: Any) -> Any:
    return nn.conv2d_transpose(x, kernel, [1, 3, 4, 4], **options)


def _transposed_groups(strides: Sequence[int], padding: Any) -> Any:
    single = _transposed(strides, padding, (1, 3, 4, 2))
    return lambda x, k: np.concatenate(
        [single(*part) for part in zip(np.split(x, 2, -1), np.split(k, 2, -1), strict=True)], -1
    )


def _argmax(window: Sequence[int], strides: Sequence[int], padding: Any, whole: bool = False) -> Any:
    """The largest elements and their places as loops over everything."""

    def pool(x: Any) -> Any:
        places = np.arange(x.size if whole else x[0].size).reshape(x.shape if whole else x.shape[1:])
        places = np.broadcast_to(places, x.shape)
        y = _padded(x, window, strides, padding, np.nan)
        places = _padded(places.astype(float), window, strides, padding, np.nan)
        counts = [(n - k) // s + 1 for n, k, s in zip(y.shape[1:-1], window, strides, strict=True)]
        found = np.zeros((2, x.shape[0], *counts, x.shape[-1]))
        for b, i, j, c in np.ndindex(found.shape[1:]):
            inside = tuple(slice(p * s, p * s + k) for p, s, k in zip((i, j), strides, window, strict=True))
            part, at = y[(b, *inside, c)], places[(b, *inside, c)]
            best = np.nanargmax(part)
            found[:, b, i, j, c] = part.ravel()[best], at.ravel()[best]
        return [found[0], found[1].astype(np.int64)]

    return pool


CHANNELS = [
    OpCase(nn.conv2d, real(2, 2, 3, 4), real(2, 2, 2, 3), strides=[1, 1, 2, 1], padding="SAME", data_format="NCHW",
           expected=_behind_batch(_conv((2, 1), "SAME"))),
    OpCase(nn.conv2d, real(1, 2, 4, 4), real(2, 2, 1, 2), strides=1, padding=[[0, 0], [0, 0], [1, 0], [0, 2]],
           dilations=[1, 1, 2, 1], data_format="NCHW",
           expected=_behind_batch(_grouped(_conv((1, 1), EXPLICIT, (2, 1))))),
    OpCase(nn.conv1d, real(2, 2, 5), real(3, 2, 2), stride=2, padding="SAME", data_format="NCW",
           expected=_behind_batch(_conv((2,), "SAME"))),
    OpCase(nn.conv3d, real(1, 2, 2, 3, 2), real(2, 1, 2, 2, 1), strides=[1, 1, 1, 2, 1], padding="VALID", data_format="NCDHW",
           expected=_behind_batch(_conv((1, 2, 1), "VALID"))),
    OpCase(nn.convolution, real(1, 1, 4, 3), real(2, 2, 1, 2), strides=[2, 1], padding="SAME", data_format="NCHW",
           unknown=SIZES, expected=_behind_batch(_conv((2, 1), "SAME"))),
    OpCase(transposed_first, real(2, 1, 2, 3), real(2, 2, 1, 1), strides=[1, 1, 2, 2], padding="SAME",
           expected=_behind_batch(_transposed((2, 2), "SAME"))),
    OpCase(nn.depthwise_conv2d, real(1, 2, 4, 3), real(2, 2, 2, 2), strides=[1, 1, 2, 2], padding="SAME", data_format="NCHW",
           unknown=SIZES, expected=_behind_batch(_depthwise((2, 2), "SAME"))),
    OpCase(nn.separable_conv2d, real(1, 2, 3, 4), real(2, 2, 2, 1), real(1, 1, 2, 3), strides=1, padding="SAME",
           data_format="NCHW", unknown=(),
           expected=lambda x, d, p: np.moveaxis(_depthwise((1, 1), "SAME")(np.moveaxis(x, 1, -1), d) @ p[0, 0], -1, 1)),
    OpCase(nn.max_pool2d, real(2, 2, 4, 3), ksize=[1, 1, 2, 3], strides=[1, 1, 2, 1], padding="SAME", data_format="NCHW",
           expected=_behind_batch(_pool((2, 3), (2, 1), "SAME", np.nanmax))),
    OpCase(nn.max_pool1d, real(1, 2, 4), ksize=3, strides=1, padding=[[0, 0], [0, 0], [1, 2]], data_format="NCW",
           expected=_behind_batch(_pool((3,), (1,), [(0, 0), (1, 2), (0, 0)], np.nanmax))),
    OpCase(nn.avg_pool2d, real(1, 2, 4, 3), ksize=2, strides=2, padding="SAME", data_format="NCHW",
           expected=_behind_batch(_pool((2, 2), (2, 2), "SAME", np.nanmean))),
    OpCase(nn.avg_pool3d, real(1, 2, 2, 3, 2), ksize=2, strides=[1, 2, 1], padding="SAME", data_format="NCDHW",
           expected=_behind_batch(_pool((2, 2, 2), (1, 2, 1), "SAME", np.nanmean))),
    OpCase(nn.avg_pool, real(1, 2, 5), ksize=2, strides=2, padding="VALID", data_format="NCW", unknown=SIZES,
           expected=_behind_batch(_pool((2,), (2,), "VALID", np.nanmean))),
    OpCase(nn.pool, real(1, 2, 5, 4), window_shape=[2, 2], pooling_type="MAX", dilations=[3, 2], data_format="NCHW",
           expected=_behind_batch(_pool((2, 2), (1, 1), "VALID", np.nanmax, (3, 2)))),
    OpCase(nn.conv2d, real(2, 3, 4, 4), real(2, 2, 2, 6), strides=[1, 2], padding="SAME",
           expected=_grouped(_conv((1, 2), "SAME"))),
    OpCase(nn.conv2d, real(1, 3, 3, 3), real(2, 2, 1, 3), strides=1, padding="VALID",
           expected=_grouped(_conv((1, 1), "VALID"))),
    OpCase(nn.conv2d, real(0, 3, 3, 2), real(2, 2, 1, 2), strides=1, padding="VALID",
           expected=_grouped(_conv((1, 1), "VALID"))),
    OpCase(nn.conv1d, real(2, 5, 4), real(3, 2, 2), stride=2, padding="SAME", expected=_grouped(_conv((2,), "SAME"))),
    OpCase(nn.conv3d, real(1, 2, 3, 2, 2), real(1, 2, 2, 1, 4), strides=1, padding="VALID",
           expected=_grouped(_conv((1, 1, 1), "VALID"))),
    OpCase(transposed_groups, real(1, 2, 2, 4), real(2, 2, 2, 4), strides=2, padding="SAME",
           expected=_transposed_groups((2, 2), "SAME")),
    OpCase(nn.max_pool_with_argmax, real(2, 4, 3, 2), ksize=2, strides=1, padding="VALID",
           expected=_argmax((2, 2), (1, 1), "VALID")),
    OpCase(nn.max_pool_with_argmax, real(2, 5, 4, 1), ksize=[1, 3, 2, 1], strides=[1, 2, 2, 1], padding="SAME",
           include_batch_in_index=True, batched=False, expected=_argmax((3, 2), (2, 2), "SAME", True)),
]  # fmt: skip


def sorted_down(x: Any, **options: Any) -> Any:
    return nn.isotonic_regression(x, **options)


def _isotonic(decreasing: bool = True, axis: int = -1) -> Any:
    """By the largest mean of the beginnings of what is left (minimax formula), not by pooling."""

    def fit(x: Any) -> list[Any]:
        rows = np.moveaxis(x if decreasing else -x, axis, -1)
        found = np.zeros(rows.shape)
        for place in np.ndindex(rows.shape[:-1]):
            row, n = rows[place], rows.shape[-1]
            for i in range(n):
                found[(*place, i)] = min(
                    max(row[a : b + 1].mean() for b in range(i, n)) for a in range(i + 1)
                )
        segments = np.cumsum(np.diff(found, axis=-1, prepend=found[..., :1]) != 0, -1)
        back = [
            np.moveaxis(y, -1, axis) for y in (found if decreasing else -found, segments.astype(np.int32))
        ]
        return back

    return fit


def beams(logs: Any, **options: Any) -> Any:
    found, score = nn.ctc_beam_search_decoder(logs, np.array([4, 2, 0], np.int32), **options)
    return [
        part
        for sparse_one in found
        for part in (sparse_one.indices, sparse_one.values, sparse_one.dense_shape)
    ], score


def _all_paths(x: Any, beam_width: int, top_paths: int) -> list[Any]:
    """By the sum over all sequences of classes, for few frames."""
    logs = x - np.log(np.exp(x).sum(-1, keepdims=True))
    frames, batch, classes = x.shape
    best = []
    for b, length in zip(range(batch), (4, 2, 0), strict=True):
        ways: dict[tuple[int, ...], list[float]] = {}
        for path in itertools.product(range(classes), repeat=length):
            said = tuple(c for c, _ in itertools.groupby(path) if c != classes - 1)
            ways.setdefault(said, []).append(sum(logs[t, b, c] for t, c in enumerate(path)))
        sums = {said: np.logaddexp.reduce(terms) for said, terms in ways.items()}
        best.append(sorted(sums.items(), key=lambda item: -item[1])[:top_paths])
    parts: list[Any] = []
    for k in range(top_paths):
        labels = [row[k][0] for row in best]
        places = [[b, t] for b, row in enumerate(labels) for t in range(len(row))]
        parts += [np.array(places, np.int64).reshape(-1, 2), np.array([c for row in labels for c in row], np.int64),
                  np.array([batch, max(map(len, labels))], np.int64)]  # fmt: skip
    return [*parts, np.array([[row[k][1] for k in range(top_paths)] for row in best])]


SORTED = [
    OpCase(sorted_down, real(2, 5), unknown=SIZES, expected=_isotonic()),
    OpCase(sorted_down, real(4, 2), decreasing=False, axis=0, unknown=SIZES, expected=_isotonic(False, 0)),
    OpCase(sorted_down, real(6), unknown=SIZES, expected=_isotonic()),
    OpCase(sorted_down, real(0, 3), unknown=SIZES),
    OpCase(
        beams,
        real(4, 3, 3),
        beam_width=60,
        top_paths=1,
        order=0,
        unknown=SIZES,
        batched=False,
        expected=lambda x: _all_paths(x, 60, 1),
    ),
]

CASES = [*ACTIVATION, *SOFTMAX, *NORMALIZE, *CONV, *FURTHER, *POOL, *CHANNELS, *SORTED]
