"""Random numbers: counter-based, seeded, the same on every machine."""

from graphad.ops.random import *
from graphad.random import experimental as experimental
