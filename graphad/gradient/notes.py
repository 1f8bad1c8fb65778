"""What a tape records besides its entries, so that `explain_none.py` can tell why a gradient is None."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphad.core.tensor import Handle, Tensor
    from graphad.gradient.tape import GradientTape

MOST_NOTES = 2_000


class Notes:
    """What a tape records for `why_none` besides its entries.

    Attributes:
      after: (op, input marks, output marks, line) of each op at which a path broke, and of each op on its results (with line
      None).
      marks: The marks of these results; they are not followed.
      exits: (way, mark, line) of followed values that left to Python or NumPy.
      is_told: Whether a warning has named an exit.
      is_full: The limit was reached, and something was not recorded.
    """

    __slots__ = ("after", "exits", "is_full", "is_told", "marks")

    def __init__(self) -> None:
        self.after: list[Any] = []
        self.marks: set[Any] = set()
        self.exits: list[Any] = []
        self.is_full = self.is_told = False

    def has_room(self) -> bool:
        if len(self.after) + len(self.exits) < MOST_NOTES:
            return True
        self.is_full = True
        self.marks = set()  # and ops on further results are not recorded
        return False


class Past:
    """What `why_none` needs from a tape whose record is gone, for the gradients that were None.

    Attributes:
      none: The pairs of marks of a target and a source.
      entries: The record without its values; empty if `notes` is empty.
      is_whole: Whether `entries` is complete.
      notes, tracked, follows_variables: Attributes of the tape.
    """

    __slots__ = ("entries", "follows_variables", "is_whole", "none", "notes", "tracked")

    def __init__(
        self,
        tape: GradientTape,
        targets: Sequence[Tensor],
        sources: Sequence[Handle | Tensor],
        entries: list[Any] | None,
    ) -> None:
        self.none = {(target.mark, source.mark) for target in targets for source in sources}
        self.entries, self.is_whole = entries or [], entries is not None
        self.notes, self.tracked, self.follows_variables = tape.notes, tape.tracked, tape.follows_variables


def without_values(entries: Sequence[Any]) -> list[Any]:
    """The entries of a tape with marks only, so that no value is kept alive."""
    found = []
    for op, inputs, _, marks, out_marks in entries:
        known = [
            getattr(x, "mark", None) if mark is None else mark for x, mark in zip(inputs, marks, strict=True)
        ]
        found.append((op, known, (), known, out_marks))
    return found
