"""Optimizers: rules that turn gradients into updates of variables."""

from graphad.optimizers.adam import Adam as Adam
from graphad.optimizers.base import Optimizer as Optimizer
from graphad.optimizers.sgd import SGD as SGD
