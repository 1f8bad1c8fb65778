"""`losses` as TensorFlow 1 has them."""

from graphad.losses.older import Reduction as Reduction
from graphad.losses.older import absolute_difference as absolute_difference
from graphad.losses.older import add_loss as add_loss
from graphad.losses.older import compute_weighted_loss as compute_weighted_loss
from graphad.losses.older import cosine_distance as cosine_distance
from graphad.losses.older import get_losses as get_losses
from graphad.losses.older import get_regularization_loss as get_regularization_loss
from graphad.losses.older import get_regularization_losses as get_regularization_losses
from graphad.losses.older import hinge_loss as hinge_loss
from graphad.losses.older import huber_loss as huber_loss
from graphad.losses.older import log_loss as log_loss
from graphad.losses.older import mean_pairwise_squared_error as mean_pairwise_squared_error
from graphad.losses.older import mean_squared_error as mean_squared_error
from graphad.losses.older import sigmoid_cross_entropy as sigmoid_cross_entropy
from graphad.losses.older import softmax_cross_entropy as softmax_cross_entropy
from graphad.losses.older import sparse_softmax_cross_entropy as sparse_softmax_cross_entropy
