"""Random numbers: counter-based, seeded, the same on every machine."""

from graphad.ops.random.algorithm import Algorithm as Algorithm
from graphad.ops.random.candidates import all_candidate_sampler as all_candidate_sampler
from graphad.ops.random.candidates import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from graphad.ops.random.candidates import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from graphad.ops.random.candidates import uniform_candidate_sampler as uniform_candidate_sampler
from graphad.ops.random.categories import categorical as categorical
from graphad.ops.random.categories import stateless_categorical as stateless_categorical
from graphad.ops.random.distributions import create_rng_state as create_rng_state
from graphad.ops.random.distributions import fold_in as fold_in
from graphad.ops.random.distributions import gamma as gamma
from graphad.ops.random.distributions import poisson as poisson
from graphad.ops.random.distributions import split as split
from graphad.ops.random.distributions import stateless_binomial as stateless_binomial
from graphad.ops.random.distributions import stateless_gamma as stateless_gamma
from graphad.ops.random.distributions import (
    stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal,
)
from graphad.ops.random.distributions import stateless_poisson as stateless_poisson
from graphad.ops.random.generator import Generator as Generator
from graphad.ops.random.generator import get_global_generator as get_global_generator
from graphad.ops.random.generator import set_global_generator as set_global_generator
from graphad.ops.random.generator import set_seed as set_seed
from graphad.ops.random.variates import normal as normal
from graphad.ops.random.variates import shuffle as shuffle
from graphad.ops.random.variates import stateless_normal as stateless_normal
from graphad.ops.random.variates import stateless_truncated_normal as stateless_truncated_normal
from graphad.ops.random.variates import stateless_uniform as stateless_uniform
from graphad.ops.random.variates import truncated_normal as truncated_normal
from graphad.ops.random.variates import uniform as uniform
