"""`remove_model`: take away what `write_model` has put into a directory, and nothing else."""

from __future__ import annotations

import os
import re

from serialization.storage.places import ASSET_DIRECTORY, ASSETS, MANIFEST, PAYLOAD_NAME, VARIABLES
from serialization.wire.files import LOCK, TEMPORARY, FileSystem, Lock, remove_quietly


def remove_model(path: str, system: FileSystem | None = None) -> None:
    """Remove the model at `path`, the manifest first: whatever stops it, no reader finds half a model.

    Other files of the directory stay, and so does the directory then. A link is left alone.

    Raises: SaveFailedError: somebody is writing there. OSError: the manifest cannot be removed.
    """
    system = system or FileSystem()
    if os.path.islink(path) or not os.path.isdir(path):
        return
    with Lock(path):
        manifest = os.path.join(path, MANIFEST)
        if os.path.lexists(manifest):
            system.remove(manifest)
        variables = os.path.join(path, VARIABLES)
        _empty(system, variables, PAYLOAD_NAME)
        assets = os.path.join(path, ASSETS)
        for name in _names(assets):
            if ASSET_DIRECTORY.fullmatch(name):
                _empty(system, os.path.join(assets, name), re.compile(".*", re.DOTALL))
        _remove_directory(system, assets)
        stale = [name for name in _names(path) if name.startswith(TEMPORARY)]
        remove_quietly(system, (os.path.join(path, name) for name in stale))
    if set(_names(path)) <= {LOCK}:
        remove_quietly(system, [os.path.join(path, LOCK)] if _names(path) else [])
        _remove_directory(system, path)


def _empty(system: FileSystem, directory: str, names: re.Pattern[str]) -> None:
    """Remove the files of these names, and the directory if nothing is left."""
    found = [name for name in _names(directory) if names.fullmatch(name) or name.startswith(TEMPORARY)]
    remove_quietly(system, (os.path.join(directory, name) for name in found))
    _remove_directory(system, directory)


def _remove_directory(system: FileSystem, directory: str) -> None:
    try:
        if os.path.isdir(directory) and not os.path.islink(directory) and not os.listdir(directory):
            system.remove_directory(directory)
    except OSError:
        return


def _names(directory: str) -> list[str]:
    try:
        return [] if os.path.islink(directory) else sorted(os.listdir(directory))
    except OSError:
        return []
