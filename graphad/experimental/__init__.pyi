"""`tf.experimental`: the NumPy namespace under TensorFlow's path."""

from graphad import numpy as numpy
