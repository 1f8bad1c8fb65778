"""Losses: functions of (labels, predictions), and classes that average them."""

from graphad.losses.base import Loss
from graphad.losses.classification import (
    CategoricalCrossentropy,
    SparseCategoricalCrossentropy,
    categorical_crossentropy,
    sparse_categorical_crossentropy,
)
from graphad.losses.regression import (
    MeanAbsoluteError,
    MeanSquaredError,
    mean_absolute_error,
    mean_squared_error,
)

__all__ = [
    "CategoricalCrossentropy",
    "Loss",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "SparseCategoricalCrossentropy",
    "categorical_crossentropy",
    "mean_absolute_error",
    "mean_squared_error",
    "sparse_categorical_crossentropy",
]
