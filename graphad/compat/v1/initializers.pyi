"""Initializers as TensorFlow 1 has them; the names of `compat.v1` end in `_initializer`."""

from graphad.layers.initializers import HeNormal, HeUniform, LecunNormal, LecunUniform
from graphad.layers.older import (
    Constant,
    GlorotNormal,
    GlorotUniform,
    Identity,
    Ones,
    Orthogonal,
    RandomNormal,
    RandomUniform,
    TruncatedNormal,
    UniformUnitScaling,
    VarianceScaling,
    Zeros,
)

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
uniform_unit_scaling = UniformUnitScaling
variance_scaling = VarianceScaling
zeros = Zeros
