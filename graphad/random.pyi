"""Random numbers: counter-based, seeded, the same on every machine."""

from graphad.ops.random import *
