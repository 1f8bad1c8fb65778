"""Forward-mode differentiation."""

from graphad.gradient.forward import ForwardAccumulator

__all__ = ["ForwardAccumulator"]
