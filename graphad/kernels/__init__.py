"""Kernel forms: descriptions of loops without backend, sizes or addresses.

op -> form (forms) -> fused form (fuse) -> Kernel and its numbers (collapse) -> source of a backend (in compiler)
"""
