"""Functions of neural networks: activations, softmax and cross-entropies, normalisation, convolution, pooling."""

from graphad.nn import experimental as experimental
from graphad.ops.array import top_k as top_k
from graphad.ops.math.composed import zero_fraction as zero_fraction
from graphad.ops.nn import *
