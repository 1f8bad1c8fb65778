"""Every op with all its rules, one family per folder, one idea per file.

The modules beside the families by subject:

    tables and helpers    elementwise, rules, repeated, overwrite, accumulate, choice, library
    short ways            short, directly, native_steps
    tensors as arrays     operators, methods, numpy_protocols, hints, einops
    TensorFlow 1          older, older_arguments, older_names, older_nn, older_state, older_tensors
    raw ops               raw, raw_diagonals, raw_indices, raw_slopes
"""
