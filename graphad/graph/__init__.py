"""The immutable graph: what it is, how it is built, walked, printed, replayed and evaluated."""
