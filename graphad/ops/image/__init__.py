"""Images [..., height, width, channels]: resizing, flips and crops, colours, differences, boxes. Nearly all functions are
composed of other ops."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
