"""`tf.random.experimental`: seeds made of seeds, shuffles that depend on a seed alone."""

from graphad.ops.random.algorithm import Algorithm as Algorithm
from graphad.ops.random.distributions import create_rng_state as create_rng_state
from graphad.ops.random.distributions import fold_in, split
from graphad.ops.random.distributions import stateless_shuffle as stateless_shuffle
from graphad.ops.random.generator import Generator as Generator
from graphad.ops.random.generator import get_global_generator as get_global_generator
from graphad.ops.random.generator import set_global_generator as set_global_generator
from graphad.ops.random.index_shuffle import index_shuffle as index_shuffle

stateless_fold_in = fold_in
stateless_split = split
