"""CUDA: the same kernels, printed with another header and compiled by numba-cuda for one compute capability."""
