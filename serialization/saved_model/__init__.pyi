"""Saving and loading whole models."""

from serialization.convert.restored import Asset as Asset
from serialization.saved_model.load import contains_saved_model as contains_saved_model
from serialization.saved_model.load import load as load
from serialization.saved_model.options import ASSETS_DIRECTORY as ASSETS_DIRECTORY
from serialization.saved_model.options import (
    DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY,
)
from serialization.saved_model.options import SERVING as SERVING
from serialization.saved_model.options import VARIABLES_DIRECTORY as VARIABLES_DIRECTORY
from serialization.saved_model.options import LoadOptions as LoadOptions
from serialization.saved_model.options import SaveOptions as SaveOptions
from serialization.saved_model.save import save as save
