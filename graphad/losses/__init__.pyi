"""Losses: functions of (labels, predictions), and classes that average them."""

from graphad.losses.base import Loss as Loss
from graphad.losses.classification import BinaryCrossentropy as BinaryCrossentropy
from graphad.losses.classification import CategoricalCrossentropy as CategoricalCrossentropy
from graphad.losses.classification import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from graphad.losses.classification import binary_crossentropy as binary_crossentropy
from graphad.losses.classification import categorical_crossentropy as categorical_crossentropy
from graphad.losses.classification import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from graphad.losses.regression import Huber as Huber
from graphad.losses.regression import KLDivergence as KLDivergence
from graphad.losses.regression import MeanAbsoluteError as MeanAbsoluteError
from graphad.losses.regression import MeanSquaredError as MeanSquaredError
from graphad.losses.regression import huber as huber
from graphad.losses.regression import kl_divergence as kl_divergence
from graphad.losses.regression import mean_absolute_error as mean_absolute_error
from graphad.losses.regression import mean_squared_error as mean_squared_error

MAE = mean_absolute_error
MSE = mean_squared_error
mae = mean_absolute_error
mse = mean_squared_error
