"""TensorFlow's results, stored as data: `cases` and `programs` define what was run, `generate` ran it, the tests compare."""
