"""What weights add to the loss for being large."""

from graphad.layers.regularizers import L1 as L1
from graphad.layers.regularizers import L1L2 as L1L2
from graphad.layers.regularizers import L2 as L2
from graphad.layers.regularizers import Regularizer as Regularizer
from graphad.layers.regularizers import deserialize as deserialize
from graphad.layers.regularizers import get as get
from graphad.layers.regularizers import serialize as serialize

l1 = L1
l2 = L2
l1_l2 = L1L2
