"""Images [..., height, width, channels]: sizes, places, colours, differences, boxes."""

from graphad.ops.image import *
