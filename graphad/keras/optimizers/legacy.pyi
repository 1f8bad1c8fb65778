"""The optimizers under the names of those before TensorFlow 2.11, whose formulas are the same."""

from graphad.optimizers.legacy import *
