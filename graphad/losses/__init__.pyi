"""Losses: functions of (labels, predictions), and classes that average them."""

from graphad.losses.base import Loss as Loss
from graphad.losses.base import Reduction as Reduction
from graphad.losses.classification import BinaryCrossentropy as BinaryCrossentropy
from graphad.losses.classification import BinaryFocalCrossentropy as BinaryFocalCrossentropy
from graphad.losses.classification import CategoricalCrossentropy as CategoricalCrossentropy
from graphad.losses.classification import CategoricalFocalCrossentropy as CategoricalFocalCrossentropy
from graphad.losses.classification import CategoricalHinge as CategoricalHinge
from graphad.losses.classification import Hinge as Hinge
from graphad.losses.classification import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from graphad.losses.classification import SquaredHinge as SquaredHinge
from graphad.losses.classification import binary_crossentropy as binary_crossentropy
from graphad.losses.classification import binary_focal_crossentropy as binary_focal_crossentropy
from graphad.losses.classification import categorical_crossentropy as categorical_crossentropy
from graphad.losses.classification import categorical_focal_crossentropy as categorical_focal_crossentropy
from graphad.losses.classification import categorical_hinge as categorical_hinge
from graphad.losses.classification import hinge as hinge
from graphad.losses.classification import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from graphad.losses.classification import squared_hinge as squared_hinge
from graphad.losses.names import deserialize as deserialize
from graphad.losses.names import get as get
from graphad.losses.names import serialize as serialize
from graphad.losses.regression import CosineSimilarity as CosineSimilarity
from graphad.losses.regression import Huber as Huber
from graphad.losses.regression import KLDivergence as KLDivergence
from graphad.losses.regression import LogCosh as LogCosh
from graphad.losses.regression import MeanAbsoluteError as MeanAbsoluteError
from graphad.losses.regression import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from graphad.losses.regression import MeanSquaredError as MeanSquaredError
from graphad.losses.regression import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from graphad.losses.regression import Poisson as Poisson
from graphad.losses.regression import cosine_similarity as cosine_similarity
from graphad.losses.regression import huber as huber
from graphad.losses.regression import kl_divergence as kl_divergence
from graphad.losses.regression import log_cosh as log_cosh
from graphad.losses.regression import mean_absolute_error as mean_absolute_error
from graphad.losses.regression import mean_absolute_percentage_error as mean_absolute_percentage_error
from graphad.losses.regression import mean_squared_error as mean_squared_error
from graphad.losses.regression import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from graphad.losses.regression import poisson as poisson

KLD = kl_divergence
MAE = mean_absolute_error
MAPE = mean_absolute_percentage_error
MSE = mean_squared_error
MSLE = mean_squared_logarithmic_error
kld = kl_divergence
mae = mean_absolute_error
mape = mean_absolute_percentage_error
mse = mean_squared_error
msle = mean_squared_logarithmic_error
kullback_leibler_divergence = kl_divergence
logcosh = log_cosh
