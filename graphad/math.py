"""The names of `tf.math`: the ops of `graphad.ops.math`, and those of other families that are found here as well."""

from graphad.ops import math as _math
from graphad.ops.array import top_k, unsorted_segment_sum
from graphad.ops.linalg import l2_normalize
from graphad.ops.math import *  # noqa: F403

__all__ = ["l2_normalize", "top_k", "unsorted_segment_sum"]
__all__ += _math.__all__
