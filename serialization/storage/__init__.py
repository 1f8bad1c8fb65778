"""A model directory: records and arrays in, records and arrays out, with one commit point."""

from serialization.storage.places import ASSETS, MANIFEST, VARIABLES
from serialization.storage.read import LoadedArrays, contains_model, read_model
from serialization.storage.remove import remove_model
from serialization.storage.write import write_model

__all__ = [
    "ASSETS",
    "MANIFEST",
    "VARIABLES",
    "LoadedArrays",
    "contains_model",
    "read_model",
    "remove_model",
    "write_model",
]
