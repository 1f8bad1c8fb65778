"""Reading and writing variables, checks and prints: the ops with effects."""
