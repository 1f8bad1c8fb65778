"""The optimizers under the names of those before TensorFlow 2.11, whose formulas are the same."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
