"""Initial values of weights."""

from graphad.layers.initializers import get as get
from graphad.layers.initializers import glorot_normal as glorot_normal
from graphad.layers.initializers import glorot_uniform as glorot_uniform
from graphad.layers.initializers import he_normal as he_normal
from graphad.layers.initializers import he_uniform as he_uniform
from graphad.layers.initializers import ones as ones
from graphad.layers.initializers import random_normal as random_normal
from graphad.layers.initializers import random_uniform as random_uniform
from graphad.layers.initializers import zeros as zeros
