"""The names of `tf.math`: the ops of `graphad.ops.math`, and those of other families that are found here as well."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
