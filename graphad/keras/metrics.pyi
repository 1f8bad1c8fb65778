"""Metrics: running means over batches."""

from graphad.metrics import *
