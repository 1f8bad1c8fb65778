"""Models: layers made of layers."""

from graphad.layers import Model as Model
from graphad.layers import Sequential as Sequential
