"""Optimizers: rules that turn gradients into updates of variables."""

from graphad.optimizers import *
