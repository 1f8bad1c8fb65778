"""What of the trainings of TensorFlow 1 has a meaning without sessions: optimizers, their rates, the global step, checkpoints."""

from graphad.optimizers.averages import ExponentialMovingAverage as ExponentialMovingAverage
from graphad.optimizers.classic import AdadeltaOptimizer as AdadeltaOptimizer
from graphad.optimizers.classic import AdagradDAOptimizer as AdagradDAOptimizer
from graphad.optimizers.classic import AdagradOptimizer as AdagradOptimizer
from graphad.optimizers.classic import AdamOptimizer as AdamOptimizer
from graphad.optimizers.classic import FtrlOptimizer as FtrlOptimizer
from graphad.optimizers.classic import GradientDescentOptimizer as GradientDescentOptimizer
from graphad.optimizers.classic import MomentumOptimizer as MomentumOptimizer
from graphad.optimizers.classic import Optimizer as Optimizer
from graphad.optimizers.classic import ProximalAdagradOptimizer as ProximalAdagradOptimizer
from graphad.optimizers.classic import ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer
from graphad.optimizers.classic import RMSPropOptimizer as RMSPropOptimizer
from graphad.optimizers.older import cosine_decay as cosine_decay
from graphad.optimizers.older import cosine_decay_restarts as cosine_decay_restarts
from graphad.optimizers.older import create_global_step as create_global_step
from graphad.optimizers.older import exponential_decay as exponential_decay
from graphad.optimizers.older import get_global_step as get_global_step
from graphad.optimizers.older import get_or_create_global_step as get_or_create_global_step
from graphad.optimizers.older import inverse_time_decay as inverse_time_decay
from graphad.optimizers.older import linear_cosine_decay as linear_cosine_decay
from graphad.optimizers.older import natural_exp_decay as natural_exp_decay
from graphad.optimizers.older import piecewise_constant as piecewise_constant
from graphad.optimizers.older import polynomial_decay as polynomial_decay
from serialization.checkpoint import Checkpoint as Checkpoint
from serialization.checkpoint import CheckpointManager as CheckpointManager
from serialization.checkpoint import CheckpointOptions as CheckpointOptions
from serialization.checkpoint import checkpoints_iterator as checkpoints_iterator
from serialization.checkpoint import get_checkpoint_state as get_checkpoint_state
from serialization.checkpoint import latest_checkpoint as latest_checkpoint
from serialization.checkpoint import list_variables as list_variables
from serialization.checkpoint import load_checkpoint as load_checkpoint
from serialization.checkpoint import load_variable as load_variable

piecewise_constant_decay = piecewise_constant
