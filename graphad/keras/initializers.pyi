"""Initial values of weights."""

from graphad.layers.initializers import Constant as Constant
from graphad.layers.initializers import GlorotNormal as GlorotNormal
from graphad.layers.initializers import GlorotUniform as GlorotUniform
from graphad.layers.initializers import HeNormal as HeNormal
from graphad.layers.initializers import HeUniform as HeUniform
from graphad.layers.initializers import Identity as Identity
from graphad.layers.initializers import Initializer as Initializer
from graphad.layers.initializers import LecunNormal as LecunNormal
from graphad.layers.initializers import LecunUniform as LecunUniform
from graphad.layers.initializers import Ones as Ones
from graphad.layers.initializers import Orthogonal as Orthogonal
from graphad.layers.initializers import RandomNormal as RandomNormal
from graphad.layers.initializers import RandomUniform as RandomUniform
from graphad.layers.initializers import TruncatedNormal as TruncatedNormal
from graphad.layers.initializers import VarianceScaling as VarianceScaling
from graphad.layers.initializers import Zeros as Zeros
from graphad.layers.initializers import deserialize as deserialize
from graphad.layers.initializers import get as get
from graphad.layers.initializers import serialize as serialize

constant = Constant
glorot_normal = GlorotNormal
glorot_uniform = GlorotUniform
he_normal = HeNormal
he_uniform = HeUniform
identity = Identity
lecun_normal = LecunNormal
lecun_uniform = LecunUniform
ones = Ones
orthogonal = Orthogonal
random_normal = RandomNormal
random_uniform = RandomUniform
truncated_normal = TruncatedNormal
variance_scaling = VarianceScaling
zeros = Zeros
