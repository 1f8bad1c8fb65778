"""Functions of neural networks: activations, softmax and cross-entropies, normalisation, convolution, pooling."""

from graphad.ops.linalg import l2_normalize
from graphad.ops.math import log_sigmoid, sigmoid, softplus, softsign, tanh
from graphad.ops.nn.activation import elu, gelu, leaky_relu, relu, relu6, selu, silu
from graphad.ops.nn.convolutions import (
    conv1d,
    conv2d,
    conv2d_transpose,
    convolution,
    depthwise_conv2d,
)
from graphad.ops.nn.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from graphad.ops.nn.normalize import (
    batch_normalization,
    bias_add,
    dropout,
    embedding_lookup,
    l2_loss,
    moments,
)
from graphad.ops.nn.pooling import avg_pool2d, max_pool2d, pool
from graphad.ops.nn.softmax import log_softmax, softmax

swish = silu

__all__ = [
    "avg_pool2d",
    "batch_normalization",
    "bias_add",
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "convolution",
    "depthwise_conv2d",
    "dropout",
    "elu",
    "embedding_lookup",
    "gelu",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
    "max_pool2d",
    "moments",
    "pool",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "silu",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softplus",
    "softsign",
    "sparse_softmax_cross_entropy_with_logits",
    "swish",
    "tanh",
]
