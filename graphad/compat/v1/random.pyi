"""`random` with the arguments that functions had in TensorFlow 1."""

from graphad.ops.older_state import multinomial as multinomial
from graphad.ops.older_state import random_poisson
from graphad.random import Algorithm as Algorithm
from graphad.random import Generator as Generator
from graphad.random import all_candidate_sampler as all_candidate_sampler
from graphad.random import categorical as categorical
from graphad.random import create_rng_state as create_rng_state
from graphad.random import experimental as experimental
from graphad.random import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from graphad.random import fold_in as fold_in
from graphad.random import gamma as gamma
from graphad.random import get_global_generator as get_global_generator
from graphad.random import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from graphad.random import normal as normal
from graphad.random import set_global_generator as set_global_generator
from graphad.random import set_seed as set_seed
from graphad.random import shuffle as shuffle
from graphad.random import split as split
from graphad.random import stateless_binomial as stateless_binomial
from graphad.random import stateless_categorical as stateless_categorical
from graphad.random import stateless_gamma as stateless_gamma
from graphad.random import stateless_normal as stateless_normal
from graphad.random import (
    stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal,
)
from graphad.random import stateless_poisson as stateless_poisson
from graphad.random import stateless_truncated_normal as stateless_truncated_normal
from graphad.random import stateless_uniform as stateless_uniform
from graphad.random import truncated_normal as truncated_normal
from graphad.random import uniform as uniform
from graphad.random import uniform_candidate_sampler as uniform_candidate_sampler

poisson = random_poisson
set_random_seed = set_seed
stateless_multinomial = stateless_categorical
