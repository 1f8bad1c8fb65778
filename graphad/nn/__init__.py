"""Functions of neural networks: activations, softmax and cross-entropies, normalisation, convolution, pooling."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
