"""The paths inside a model's directory."""

from __future__ import annotations

import os
import re

from serialization.schema.model import AssetRecord

MANIFEST = "saved_model.msgpack"
VARIABLES = "variables"
ASSETS = "assets"
PAYLOAD_NAME = re.compile(r"[0-9a-f]{32}\.safetensors")
ASSET_DIRECTORY = re.compile(r"[0-9a-f]{32}")


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
