"""Bytes: the frame of a manifest, typed msgpack, payload files and their layout, atomic commits.

Stands on NumPy and msgpack alone and knows nothing of graphs or models.
"""
