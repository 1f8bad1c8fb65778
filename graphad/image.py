"""Images [..., height, width, channels]: sizes, places, colours, differences, boxes."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
