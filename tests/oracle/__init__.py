"""What TensorFlow computes, kept as data: `cases` and `programs` say what was run, `generate` ran it, the tests compare."""
