"""Layers: modules that make their variables when they first see an input."""

from graphad.layers.base import Layer
from graphad.layers.batch_normalization import BatchNormalization
from graphad.layers.dense import Dense
from graphad.layers.reshaping import Dropout, Flatten
from graphad.layers.sequential import Sequential

__all__ = ["BatchNormalization", "Dense", "Dropout", "Flatten", "Layer", "Sequential"]
