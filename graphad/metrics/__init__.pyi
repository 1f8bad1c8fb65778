"""Metrics: sums, means and counts over batches."""

from graphad.losses.classification import binary_crossentropy as binary_crossentropy
from graphad.losses.classification import binary_focal_crossentropy as binary_focal_crossentropy
from graphad.losses.classification import categorical_crossentropy as categorical_crossentropy
from graphad.losses.classification import categorical_focal_crossentropy as categorical_focal_crossentropy
from graphad.losses.classification import categorical_hinge as categorical_hinge
from graphad.losses.classification import hinge as hinge
from graphad.losses.classification import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from graphad.losses.classification import squared_hinge as squared_hinge
from graphad.losses.regression import huber as huber
from graphad.losses.regression import kl_divergence as kl_divergence
from graphad.losses.regression import log_cosh as log_cosh
from graphad.losses.regression import mean_absolute_error as mean_absolute_error
from graphad.losses.regression import mean_absolute_percentage_error as mean_absolute_percentage_error
from graphad.losses.regression import mean_squared_error as mean_squared_error
from graphad.losses.regression import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from graphad.losses.regression import poisson as poisson
from graphad.metrics.accuracies import Accuracy as Accuracy
from graphad.metrics.accuracies import BinaryAccuracy as BinaryAccuracy
from graphad.metrics.accuracies import CategoricalAccuracy as CategoricalAccuracy
from graphad.metrics.accuracies import SparseCategoricalAccuracy as SparseCategoricalAccuracy
from graphad.metrics.accuracies import SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy
from graphad.metrics.accuracies import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from graphad.metrics.accuracies import binary_accuracy as binary_accuracy
from graphad.metrics.accuracies import categorical_accuracy as categorical_accuracy
from graphad.metrics.accuracies import sparse_categorical_accuracy as sparse_categorical_accuracy
from graphad.metrics.accuracies import sparse_top_k_categorical_accuracy as sparse_top_k_categorical_accuracy
from graphad.metrics.accuracies import top_k_categorical_accuracy as top_k_categorical_accuracy
from graphad.metrics.base import Mean as Mean
from graphad.metrics.base import MeanMetricWrapper as MeanMetricWrapper
from graphad.metrics.base import Metric as Metric
from graphad.metrics.base import Sum as Sum
from graphad.metrics.counts import AUC as AUC
from graphad.metrics.counts import FalseNegatives as FalseNegatives
from graphad.metrics.counts import FalsePositives as FalsePositives
from graphad.metrics.counts import MeanIoU as MeanIoU
from graphad.metrics.counts import Precision as Precision
from graphad.metrics.counts import Recall as Recall
from graphad.metrics.counts import TrueNegatives as TrueNegatives
from graphad.metrics.counts import TruePositives as TruePositives
from graphad.metrics.means import BinaryCrossentropy as BinaryCrossentropy
from graphad.metrics.means import CategoricalCrossentropy as CategoricalCrossentropy
from graphad.metrics.means import CategoricalHinge as CategoricalHinge
from graphad.metrics.means import CosineSimilarity as CosineSimilarity
from graphad.metrics.means import Hinge as Hinge
from graphad.metrics.means import KLDivergence as KLDivergence
from graphad.metrics.means import LogCoshError as LogCoshError
from graphad.metrics.means import MeanAbsoluteError as MeanAbsoluteError
from graphad.metrics.means import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from graphad.metrics.means import MeanSquaredError as MeanSquaredError
from graphad.metrics.means import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from graphad.metrics.means import Poisson as Poisson
from graphad.metrics.means import RootMeanSquaredError as RootMeanSquaredError
from graphad.metrics.means import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from graphad.metrics.means import SquaredHinge as SquaredHinge
from graphad.metrics.names import deserialize as deserialize
from graphad.metrics.names import get as get
from graphad.metrics.names import serialize as serialize

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
