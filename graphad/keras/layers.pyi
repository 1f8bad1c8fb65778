"""Layers: modules that make their variables when they first see an input."""

from graphad.layers import *
