"""Checkpoints of a training, see the package `serialization`, and averages of variables."""

from graphad.optimizers.averages import ExponentialMovingAverage as ExponentialMovingAverage
from serialization.checkpoint import Checkpoint as Checkpoint
from serialization.checkpoint import CheckpointManager as CheckpointManager
from serialization.checkpoint import CheckpointOptions as CheckpointOptions
from serialization.checkpoint import CheckpointView as CheckpointView
from serialization.checkpoint import TrackableView as TrackableView
from serialization.checkpoint import checkpoints_iterator as checkpoints_iterator
from serialization.checkpoint import get_checkpoint_state as get_checkpoint_state
from serialization.checkpoint import latest_checkpoint as latest_checkpoint
from serialization.checkpoint import list_variables as list_variables
from serialization.checkpoint import load_checkpoint as load_checkpoint
from serialization.checkpoint import load_keras_weights as load_keras_weights
from serialization.checkpoint import load_variable as load_variable
