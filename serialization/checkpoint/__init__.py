"""Checkpoints: the variables of a program, saved and restored by structure."""

from serialization.checkpoint.checkpoint import Checkpoint, CheckpointOptions
from serialization.checkpoint.keras import load_keras_weights
from serialization.checkpoint.manager import CheckpointManager, checkpoints_iterator
from serialization.checkpoint.reader import CheckpointReader, list_variables, load_checkpoint, load_variable
from serialization.checkpoint.latest import get_checkpoint_state, latest_checkpoint
from serialization.checkpoint.view import CheckpointView, TrackableView

__all__ = [
    "Checkpoint",
    "CheckpointManager",
    "CheckpointOptions",
    "CheckpointReader",
    "CheckpointView",
    "TrackableView",
    "checkpoints_iterator",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_keras_weights",
    "load_variable",
]
