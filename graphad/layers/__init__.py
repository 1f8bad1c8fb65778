"""Layers: modules that make their variables when they first see an input.

The modules by subject:

    what a layer is       base, named, sizes, inputs
    values of weights     initializers, regularizers, constraints
    TensorFlow 1          variable_scopes, older
    layers                dense, embedding, convolutions, pooling, cells, masks, activations, batch_normalization,
                          layer_normalization, group_normalization, parametric, wrapper
    shapes                reshaping, rearranging, merging
    models                model, sequential

`backend/` has Keras' own functions of arrays.
"""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
