"""Create, reshape, join, slice, gather, scatter, sort."""
