"""`tf.experimental`: the NumPy namespace under TensorFlow's path."""

from graphad import numpy as numpy
from graphad.data.iterators import Optional as Optional
from graphad.experimental.extension_types import BatchableExtensionType as BatchableExtensionType
from graphad.experimental.extension_types import ExtensionType as ExtensionType
