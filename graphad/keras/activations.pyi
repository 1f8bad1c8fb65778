"""Activation functions."""

from graphad.layers.activations import celu as celu
from graphad.layers.activations import deserialize as deserialize
from graphad.layers.activations import elu as elu
from graphad.layers.activations import exponential as exponential
from graphad.layers.activations import gelu as gelu
from graphad.layers.activations import get as get
from graphad.layers.activations import glu as glu
from graphad.layers.activations import hard_shrink as hard_shrink
from graphad.layers.activations import hard_sigmoid as hard_sigmoid
from graphad.layers.activations import hard_silu as hard_silu
from graphad.layers.activations import hard_tanh as hard_tanh
from graphad.layers.activations import leaky_relu as leaky_relu
from graphad.layers.activations import linear as linear
from graphad.layers.activations import log_sigmoid as log_sigmoid
from graphad.layers.activations import log_softmax as log_softmax
from graphad.layers.activations import mish as mish
from graphad.layers.activations import relu as relu
from graphad.layers.activations import relu6 as relu6
from graphad.layers.activations import selu as selu
from graphad.layers.activations import serialize as serialize
from graphad.layers.activations import sigmoid as sigmoid
from graphad.layers.activations import silu as silu
from graphad.layers.activations import soft_shrink as soft_shrink
from graphad.layers.activations import softmax as softmax
from graphad.layers.activations import softplus as softplus
from graphad.layers.activations import softsign as softsign
from graphad.layers.activations import sparse_plus as sparse_plus
from graphad.layers.activations import sparse_sigmoid as sparse_sigmoid
from graphad.layers.activations import sparsemax as sparsemax
from graphad.layers.activations import squareplus as squareplus
from graphad.layers.activations import tanh as tanh
from graphad.layers.activations import tanh_shrink as tanh_shrink
from graphad.layers.activations import threshold as threshold

hard_swish = hard_silu
swish = silu
