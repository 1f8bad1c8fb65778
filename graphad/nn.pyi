"""Functions of neural networks: activations, softmax and cross-entropies, normalisation, convolution, pooling."""

from graphad.ops.nn import *
