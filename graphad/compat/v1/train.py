"""What of the trainings of TensorFlow 1 has a meaning without sessions: optimizers, their rates, the global step, checkpoints."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
