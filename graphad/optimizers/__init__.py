"""Optimizers: rules that turn gradients into updates of variables."""

from graphad.optimizers.adam import Adam
from graphad.optimizers.base import Optimizer
from graphad.optimizers.sgd import SGD

__all__ = ["SGD", "Adam", "Optimizer"]
