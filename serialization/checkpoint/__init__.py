"""Checkpoints: the variables of a program, saved and restored by structure."""

from serialization.checkpoint.checkpoint import Checkpoint as Checkpoint
from serialization.checkpoint.checkpoint import CheckpointOptions as CheckpointOptions
from serialization.checkpoint.keras import load_keras_weights as load_keras_weights
from serialization.checkpoint.manager import CheckpointManager as CheckpointManager
from serialization.checkpoint.manager import checkpoints_iterator as checkpoints_iterator
from serialization.checkpoint.reader import CheckpointReader as CheckpointReader
from serialization.checkpoint.reader import list_variables as list_variables
from serialization.checkpoint.reader import load_checkpoint as load_checkpoint
from serialization.checkpoint.reader import load_variable as load_variable
from serialization.checkpoint.latest import get_checkpoint_state as get_checkpoint_state
from serialization.checkpoint.latest import latest_checkpoint as latest_checkpoint
from serialization.checkpoint.view import CheckpointView as CheckpointView
from serialization.checkpoint.view import TrackableView as TrackableView
