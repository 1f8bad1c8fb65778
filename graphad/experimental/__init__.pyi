"""`tf.experimental`: the NumPy namespace under TensorFlow's path."""

from graphad import numpy as numpy
from graphad.experimental.extension_types import BatchableExtensionType as BatchableExtensionType
from graphad.experimental.extension_types import ExtensionType as ExtensionType
