"""Labels, seeds, and names of what programs make."""

from graphad.core.registered import get_custom_objects as get_custom_objects
from graphad.core.registered import get_registered_name as get_registered_name
from graphad.core.registered import get_registered_object as get_registered_object
from graphad.core.registered import register_keras_serializable as register_keras_serializable
from graphad.losses.labels import to_categorical as to_categorical
from graphad.tools.seeds import set_random_seed as set_random_seed
