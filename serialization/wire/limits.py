"""Limits on the contents of a file, checked before memory is allocated, when loading and when saving.

Each limit is named in the error that enforces it, and can be raised by passing `Limits(...)`.
"""

from __future__ import annotations

from serialization.wire.record import Record


class Limits(Record):
    """Bounds on what a reader accepts; the defaults are those of FORMAT.md, section 7."""

    manifest_bytes: int = 64 << 20
    nodes_per_graph: int = 200_000
    nodes: int = 2_000_000
    # of one graph, with all that it calls written out where it is called: what running it, or compiling it, may cost
    expanded_nodes: int = 2_000_000
    functions: int = 10_000
    graphs: int = 100_000
    tensors: int = 1_000_000
    objects: int = 250_000
    items: int = 1_000_000
    rank: int = 64  # what an array of NumPy may have
    nesting: int = 32
    text_bytes: int = 64 << 10
    data_bytes: int = 16 << 20
    # `verify=True` reads a whole file: no more than this, whatever a sparse file claims to hold
    payload_bytes: int = 1 << 40


LARGEST_DIM = 1 << 47
DEFAULT_LIMITS = Limits()
