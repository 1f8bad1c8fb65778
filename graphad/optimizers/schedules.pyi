"""Learning rates as functions of the number of steps."""

from graphad.optimizers.decay import CosineDecay as CosineDecay
from graphad.optimizers.decay import CosineDecayRestarts as CosineDecayRestarts
from graphad.optimizers.decay import ExponentialDecay as ExponentialDecay
from graphad.optimizers.decay import InverseTimeDecay as InverseTimeDecay
from graphad.optimizers.decay import LearningRateSchedule as LearningRateSchedule
from graphad.optimizers.decay import PiecewiseConstantDecay as PiecewiseConstantDecay
from graphad.optimizers.decay import PolynomialDecay as PolynomialDecay
from graphad.optimizers.decay import deserialize as deserialize
from graphad.optimizers.decay import serialize as serialize
