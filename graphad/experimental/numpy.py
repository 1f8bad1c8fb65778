"""`import tensorflow.experimental.numpy as tnp`: the path leads to the NumPy namespace itself."""

import sys

from graphad import numpy

sys.modules[__name__] = numpy
