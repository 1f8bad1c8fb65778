"""Functions that `keras.backend` lists besides ops: those whose arguments, defaults or results are other ones."""
