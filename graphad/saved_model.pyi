"""Saving and loading models; see the package `serialization`."""

from serialization.saved_model import ASSETS_DIRECTORY as ASSETS_DIRECTORY
from serialization.saved_model import DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY
from serialization.saved_model import SERVING as SERVING
from serialization.saved_model import VARIABLES_DIRECTORY as VARIABLES_DIRECTORY
from serialization.saved_model import Asset as Asset
from serialization.saved_model import LoadOptions as LoadOptions
from serialization.saved_model import SaveOptions as SaveOptions
from serialization.saved_model import contains_saved_model as contains_saved_model
from serialization.saved_model import load as load
from serialization.saved_model import save as save
