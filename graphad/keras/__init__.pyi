"""The names under which Keras users know graphad's layers, losses, metrics and optimizers."""

from graphad.keras import activations as activations
from graphad.keras import backend as backend
from graphad.keras import constraints as constraints
from graphad.keras import initializers as initializers
from graphad.keras import layers as layers
from graphad.keras import losses as losses
from graphad.keras import metrics as metrics
from graphad.keras import models as models
from graphad.keras import optimizers as optimizers
from graphad.keras import regularizers as regularizers
from graphad.keras import utils as utils
from graphad.layers import Input as Input
from graphad.layers import Layer as Layer
from graphad.layers import Model as Model
from graphad.layers import Sequential as Sequential
