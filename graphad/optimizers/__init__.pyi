"""Optimizers: rules that turn gradients into updates of variables."""

from graphad.optimizers import legacy as legacy
from graphad.optimizers import schedules as schedules
from graphad.optimizers.adafactor import Adafactor as Adafactor
from graphad.optimizers.adam import Adam as Adam
from graphad.optimizers.adam import Adamax as Adamax
from graphad.optimizers.adam import AdamW as AdamW
from graphad.optimizers.adam import Lamb as Lamb
from graphad.optimizers.adam import Lion as Lion
from graphad.optimizers.adam import Nadam as Nadam
from graphad.optimizers.adaptive import Adadelta as Adadelta
from graphad.optimizers.adaptive import Adagrad as Adagrad
from graphad.optimizers.adaptive import Ftrl as Ftrl
from graphad.optimizers.adaptive import RMSprop as RMSprop
from graphad.optimizers.base import Optimizer as Optimizer
from graphad.optimizers.names import deserialize as deserialize
from graphad.optimizers.names import get as get
from graphad.optimizers.names import serialize as serialize
from graphad.optimizers.sgd import SGD as SGD
