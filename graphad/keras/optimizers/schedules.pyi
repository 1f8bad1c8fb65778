"""Learning rates as functions of the number of steps."""

from graphad.optimizers.schedules import *
