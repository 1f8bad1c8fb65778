"""Types to ask about."""

from graphad.types import experimental as experimental
