"""Functions of neural networks: activations, softmax and cross-entropies, normalisation, convolution, pooling."""

from graphad.ops.array.gather import gather as embedding_lookup
from graphad.ops.linalg import l2_normalize
from graphad.ops.math import sigmoid, softplus, tanh
from graphad.ops.nn.activation import elu, gelu, leaky_relu, relu, relu6, selu, silu, softsign
from graphad.ops.nn.conv import conv2d
from graphad.ops.nn.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from graphad.ops.nn.normalize import batch_normalization, bias_add, dropout, l2_loss, moments
from graphad.ops.nn.pool import avg_pool2d, max_pool2d
from graphad.ops.nn.softmax import log_softmax, softmax

swish = silu

__all__ = [
    "avg_pool2d",
    "batch_normalization",
    "bias_add",
    "conv2d",
    "dropout",
    "elu",
    "embedding_lookup",
    "gelu",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "log_softmax",
    "max_pool2d",
    "moments",
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
