"""Batching over a leading axis: the batch level, batched graphs, and `vectorized_map`."""
