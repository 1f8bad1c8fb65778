"""The tests mirror the trees of `graphad` and `serialization`."""
