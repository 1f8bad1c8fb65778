"""TensorFlow's names for the settings of compilation."""

from graphad.tools.devices import get_autoclustering, set_autoclustering
from graphad.tools.devices import get_experimental_options as get_experimental_options
from graphad.tools.devices import set_experimental_options as set_experimental_options

get_jit = get_autoclustering
set_jit = set_autoclustering
