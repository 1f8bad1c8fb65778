"""The optimizers under the names of those before TensorFlow 2.11, whose formulas are the same."""

from graphad.optimizers.adam import Adam as Adam
from graphad.optimizers.adam import Adamax as Adamax
from graphad.optimizers.adam import Nadam as Nadam
from graphad.optimizers.adaptive import Adadelta as Adadelta
from graphad.optimizers.adaptive import Adagrad as Adagrad
from graphad.optimizers.adaptive import Ftrl as Ftrl
from graphad.optimizers.adaptive import RMSprop as RMSprop
from graphad.optimizers.base import Optimizer as Optimizer
from graphad.optimizers.sgd import SGD as SGD
