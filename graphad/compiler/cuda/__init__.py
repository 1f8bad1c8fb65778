"""CUDA: the same kernels printed with another header, compiled by numba-cuda to code for one compute capability."""
