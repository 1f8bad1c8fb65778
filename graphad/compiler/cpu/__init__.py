"""The CPU: kernels as source for Numba, object code loaded without it, and the native runtime that calls them."""
