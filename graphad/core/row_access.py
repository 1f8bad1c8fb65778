"""How an op accesses a single slice of a tensor."""

from __future__ import annotations

from graphad.core.light import NamedTuple

TAKES, PUTS, SPREADS = "takes", "puts", "spreads"


class RowAccess(NamedTuple):
    """How an op accesses one slice of a tensor, at an index that is an input.

    Attributes:
      way: TAKES a slice of the first input, PUTS one in its place there, SPREADS one among zeros.
      axis: The axis of the slices.
      row: The input that is put or spread; -1: it is taken.
      coordinates: The index, the second input, has shape [1, 1], as of `gather_nd`; else it is a scalar.
    """

    way: str
    axis: int | None
    row: int = -1
    coordinates: bool = False
