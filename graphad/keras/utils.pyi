"""Labels and seeds."""

from graphad.losses.labels import to_categorical as to_categorical
from graphad.tools.seeds import set_random_seed as set_random_seed
