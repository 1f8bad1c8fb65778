"""Metrics: running means over batches."""

from graphad.metrics.mean import Mean, SparseCategoricalAccuracy

__all__ = ["Mean", "SparseCategoricalAccuracy"]
