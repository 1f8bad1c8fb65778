"""The names of `tf.signal`."""

from graphad.ops.signal import *
