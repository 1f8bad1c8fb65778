"""The names of `tf.math`."""

from graphad.math import special as special
from graphad.ops.array.approximate import approx_max_k as approx_max_k
from graphad.ops.array.approximate import approx_min_k as approx_min_k
from graphad.ops.array.scatter import unsorted_segment_sum as unsorted_segment_sum
from graphad.ops.array.sorting import top_k as top_k
from graphad.ops.linalg.norms import l2_normalize as l2_normalize
from graphad.ops.math import *
from graphad.ops.nn.composed import in_top_k as in_top_k
from graphad.ops.nn.softmaxes import log_softmax as log_softmax
from graphad.ops.nn.softmaxes import softmax as softmax
