"""Functions of neural networks: activations, softmax and cross-entropies, normalisation, convolution, pooling.

The modules by subject:

    activations           activation, softmaxes, isotonic
    normalisation         normalize, own_moments, statistics
    convolutions          convolutions, depthwise, convolution_ops, windows, halves, morphology
    pools                 pools, pooling_ops, fractional
    on both               arguments, direct, blocks
    losses                cross_entropy, logits, sampled, ctc, ctc_beams, ranks
    others                embeddings, composed
"""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
