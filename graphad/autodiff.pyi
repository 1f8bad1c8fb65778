"""Forward-mode differentiation."""

from graphad.gradient.forward import ForwardAccumulator as ForwardAccumulator
