"""Saving and loading whole models."""

from serialization.convert.restored import Asset
from serialization.saved_model.load import contains_saved_model, load
from serialization.saved_model.options import (
    ASSETS_DIRECTORY,
    DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    SERVING,
    VARIABLES_DIRECTORY,
    LoadOptions,
    SaveOptions,
)
from serialization.saved_model.save import save

__all__ = [
    "ASSETS_DIRECTORY",
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "SERVING",
    "VARIABLES_DIRECTORY",
    "Asset",
    "LoadOptions",
    "SaveOptions",
    "contains_saved_model",
    "load",
    "save",
]
