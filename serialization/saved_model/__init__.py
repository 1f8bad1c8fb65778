"""Saving and loading whole models."""

from serialization.convert.restored import Asset
from serialization.saved_model.load import contains_saved_model, load
from serialization.saved_model.options import LoadOptions, SaveOptions
from serialization.saved_model.save import save

__all__ = ["Asset", "LoadOptions", "SaveOptions", "contains_saved_model", "load", "save"]
