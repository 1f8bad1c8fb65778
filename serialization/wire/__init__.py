"""Bytes: the frame of a manifest, typed msgpack, payload files and their layout, atomic commits.

It depends only on NumPy and msgpack, not on graphs or models.
"""
