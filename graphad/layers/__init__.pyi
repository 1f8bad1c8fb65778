"""Layers: modules that make their variables when they first see an input."""

from graphad.layers.base import Layer as Layer
from graphad.layers.batch_normalization import BatchNormalization as BatchNormalization
from graphad.layers.dense import Dense as Dense
from graphad.layers.reshaping import Dropout as Dropout
from graphad.layers.reshaping import Flatten as Flatten
from graphad.layers.sequential import Sequential as Sequential
