"""What replaces an op that was removed, where it takes several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphad.core.op import Op


class Composed:
    """Ops that together replace an op that was removed.

    Attributes:
      nodes: (op, its operands). Operands are numbered: first the inputs, then the outputs of the nodes.
      outputs: Which outputs of the last node are the outputs of the removed op; None for all.
    """

    __slots__ = ("nodes", "outputs")

    def __init__(
        self, nodes: Sequence[tuple[Op, tuple[int, ...]]], outputs: tuple[int, ...] | None = None
    ) -> None:
        self.nodes = nodes
        self.outputs = outputs
