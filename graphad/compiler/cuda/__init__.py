"""CUDA: the same kernels, printed with another header and compiled by numba-cuda for one compute capability.

The modules by subject:

    the device            backend
    texts of kernels      emit, emit_stages, written, written_texts
    into code             intrinsics, compile, build, simulate
    a launch              geometry, shared
    library steps         products, epilogues, routines
    written kernels       launches, indexed, ordered, placed, in_turn, complexes
    a run                 plans, walk, captures
"""
