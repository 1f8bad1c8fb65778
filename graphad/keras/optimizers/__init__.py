"""Optimizers: rules that turn gradients into updates of variables."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
