"""The paths inside a model's directory."""

from __future__ import annotations

import os

from serialization.schema.model import AssetRecord

MANIFEST = "saved_model.msgpack"
VARIABLES = "variables"
ASSETS = "assets"
_DIGITS = frozenset("0123456789abcdef")


def is_payload_name(name: str) -> bool:
    """Whether a save could give this name to a file of arrays: a digest, and the ending."""
    digest, _, ending = name.partition(".")
    return ending == "safetensors" and is_asset_directory(digest)


def is_asset_directory(name: str) -> bool:
    """Whether a save could give this name to the directory of an asset: a digest of 32 digits."""
    return len(name) == 32 and _DIGITS.issuperset(name)


def asset_directory(asset: AssetRecord) -> str:
    """The name of the directory of an asset."""
    return asset.sha256[:16].hex()


def asset_path(directory: str, asset: AssetRecord) -> str:
    """The path of an asset of the model in a directory."""
    return os.path.join(directory, ASSETS, asset_directory(asset), asset.name)


def names_in(directory: str) -> list[str]:
    """The sorted names in a directory; none if it is a link or cannot be read."""
    try:
        return [] if os.path.islink(directory) else sorted(os.listdir(directory))
    except OSError:
        return []
