"""Initial values of weights: the names of `tf.keras.initializers`."""

from graphad.keras.initializers import *
