"""Images, with the sizes of TensorFlow 1: `resize` counts from pixels that are points."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
