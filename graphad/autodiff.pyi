"""Forward-mode differentiation."""

from graphad.gradient.forward import ForwardAccumulator as ForwardAccumulator
from graphad.gradient.tape import GradientTape as GradientTape
