"""`save_weights` and `load_weights` of modules: a checkpoint of one object."""

from __future__ import annotations

import os
from typing import Any

from graphad.core.errors import InvalidArgumentError
from graphad.module import Module
from serialization.checkpoint.checkpoint import Checkpoint, CheckpointOptions
from serialization.checkpoint.keras import is_keras_file, load_into, open_keras_weights
from serialization.checkpoint.status import CheckpointLoadStatus
from serialization.saved_model.options import options_of, path_of_user
from serialization.storage.read import contains_model
from serialization.wire.limits import DEFAULT_LIMITS


def save_weights(
    model: Module, filepath: str | os.PathLike[str], overwrite: bool = True, options: Any = None
) -> None:
    """Write a checkpoint of a model's variables; see `Layer.save_weights`."""
    path = path_of_user("save_weights", filepath, "filepath")
    options = options_of("save_weights", CheckpointOptions, options)
    if path.endswith((".h5", ".hdf5", ".keras")):
        raise InvalidArgumentError(
            f"save_weights: {path!r} is the name of a file of Keras, which are read but not written here; give a path without "
            "such an ending, which becomes a directory."
        )
    if not overwrite and contains_model(path):
        raise InvalidArgumentError(
            f"save_weights: there are weights at {path!r} already, and overwrite is False."
        )
    Checkpoint(model).write(path, options)


def load_weights(
    model: Module,
    filepath: str | os.PathLike[str],
    options: Any = None,
    skip_mismatch: bool = False,
    by_name: bool = False,
) -> CheckpointLoadStatus | None:
    """Load the values of a file into a model; see `Layer.load_weights`."""
    path = path_of_user("load_weights", filepath, "filepath")
    options = options_of("load_weights", CheckpointOptions, options)
    if os.path.isfile(path) and (is_keras_file(path) or path.endswith((".h5", ".hdf5", ".keras"))):
        weights = open_keras_weights(path, options.limits or DEFAULT_LIMITS)
        load_into(model, weights, skip_mismatch, by_name)
        return None
    if skip_mismatch or by_name:
        raise InvalidArgumentError(
            f"load_weights: skip_mismatch and by_name are for files of Keras, and {path!r} is none; a checkpoint is restored by "
            "structure, and its status says what did not match."
        )
    return Checkpoint(model).read(path, options)
