"""The names of `tf.math`: the ops of `graphad.ops.math`, and those of other families that are found here as well."""

from typing import TYPE_CHECKING

from graphad.core.late import late_names
from graphad.ops import math as _math
from graphad.ops.array import top_k, unsorted_segment_sum
from graphad.ops.math import *  # noqa: F403

if TYPE_CHECKING:
    from graphad.ops.linalg.norms import l2_normalize
else:
    __getattr__, __dir__ = late_names(__name__, {"graphad.ops.linalg.norms": "l2_normalize"})

__all__ = ["l2_normalize", "top_k", "unsorted_segment_sum"]
__all__ += _math.__all__
