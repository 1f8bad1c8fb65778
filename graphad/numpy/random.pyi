"""Random numbers by NumPy's names."""

from graphad.ops.numpy.random import poisson as poisson
from graphad.ops.numpy.random import rand as rand
from graphad.ops.numpy.random import randint as randint
from graphad.ops.numpy.random import randn as randn
from graphad.ops.numpy.random import random as random
from graphad.ops.numpy.random import seed as seed
from graphad.ops.numpy.random import standard_normal as standard_normal
from graphad.ops.numpy.random import uniform as uniform
