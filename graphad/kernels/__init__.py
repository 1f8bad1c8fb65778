"""Kernel forms: what a loop computes, said without a backend, a size or an address.

op -> form (forms) -> fused form (fuse) -> Kernel and its numbers (collapse) -> source of a backend (in compiler)
"""
