"""Saving and loading models; see the package `serialization`."""

from serialization.saved_model import Asset, LoadOptions, SaveOptions, contains_saved_model, load, save

__all__ = ["Asset", "LoadOptions", "SaveOptions", "contains_saved_model", "load", "save"]
