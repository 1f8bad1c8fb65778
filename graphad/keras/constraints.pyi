"""What an optimizer makes of a weight after each update."""

from graphad.layers.constraints import Constraint as Constraint
from graphad.layers.constraints import MaxNorm as MaxNorm
from graphad.layers.constraints import MinMaxNorm as MinMaxNorm
from graphad.layers.constraints import NonNeg as NonNeg
from graphad.layers.constraints import UnitNorm as UnitNorm
from graphad.layers.constraints import deserialize as deserialize
from graphad.layers.constraints import get as get
from graphad.layers.constraints import serialize as serialize

max_norm = MaxNorm
min_max_norm = MinMaxNorm
non_neg = NonNeg
unit_norm = UnitNorm
