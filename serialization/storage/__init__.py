"""A model directory: records and arrays in, records and arrays out, with one commit point."""

from serialization.storage.places import ASSETS as ASSETS
from serialization.storage.places import MANIFEST as MANIFEST
from serialization.storage.places import VARIABLES as VARIABLES
from serialization.storage.read import LoadedArrays as LoadedArrays
from serialization.storage.read import contains_model as contains_model
from serialization.storage.read import read_model as read_model
from serialization.storage.remove import remove_model as remove_model
from serialization.storage.write import write_model as write_model
