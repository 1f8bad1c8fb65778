"""Metrics: running means over batches."""

from graphad.metrics.mean import Mean as Mean
from graphad.metrics.mean import SparseCategoricalAccuracy as SparseCategoricalAccuracy
