"""`remove_model`: removes exactly the files that `write_model` has put into a directory."""

from __future__ import annotations

import os
from collections.abc import Callable

from serialization.storage.places import (
    ASSETS,
    MANIFEST,
    VARIABLES,
    is_asset_directory,
    is_payload_name,
    names_in,
)
from serialization.wire.files import LOCK, TEMPORARY, FileSystem, Lock, remove_quietly


def remove_model(path: str, system: FileSystem | None = None) -> None:
    """Remove the model at `path`, the manifest first, so that no reader finds half a model after an interruption.

    Other files of the directory stay, and then the directory too. Links are not followed.

    Raises: SaveFailedError: a save is in progress there. OSError: the manifest cannot be removed.
    """
    system = system or FileSystem()
    if os.path.islink(path) or not os.path.isdir(path):
        return
    with Lock(path):
        manifest = os.path.join(path, MANIFEST)
        if os.path.lexists(manifest):
            system.remove(manifest)
        variables = os.path.join(path, VARIABLES)
        _empty(system, variables, is_payload_name)
        assets = os.path.join(path, ASSETS)
        for name in names_in(assets):
            if is_asset_directory(name):
                _empty(system, os.path.join(assets, name), lambda name: True)
        _remove_directory(system, assets)
        stale = [name for name in names_in(path) if name.startswith(TEMPORARY)]
        remove_quietly(system, (os.path.join(path, name) for name in stale))
    if set(names_in(path)) <= {LOCK}:
        remove_quietly(system, [os.path.join(path, LOCK)] if names_in(path) else [])
        _remove_directory(system, path)


def _empty(system: FileSystem, directory: str, is_one: Callable[[str], bool]) -> None:
    """Remove the files whose names pass the test, and the directory if nothing is left."""
    found = [name for name in names_in(directory) if is_one(name) or name.startswith(TEMPORARY)]
    remove_quietly(system, (os.path.join(directory, name) for name in found))
    _remove_directory(system, directory)


def _remove_directory(system: FileSystem, directory: str) -> None:
    try:
        if os.path.isdir(directory) and not os.path.islink(directory) and not os.listdir(directory):
            system.remove_directory(directory)
    except OSError:
        return
